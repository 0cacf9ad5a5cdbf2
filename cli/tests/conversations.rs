//! `--record` and `--replay` with servers that hang.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Longer than any of these programs may take, even on a busy computer.
const A_LONG_TIME: Duration = Duration::from_secs(60);

fn inspect() -> Command {
    Command::new(env!("CARGO_BIN_EXE_mcp-inspect"))
}

/// Returns the path of a file that does not exist yet.
fn scratch(name: &str) -> String {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.jsonl"));
    _ = fs::remove_file(&file);
    file.to_str().unwrap().to_owned()
}

/// Writes a recording with a request that is larger than a pipe. Returns the path of the file.
fn recording(name: &str) -> String {
    let file = scratch(name);
    let params = "x".repeat(1 << 20);
    let line = format!(
        r#"{{"at":0,"from":"client","message":{{"jsonrpc":"2.0","id":1,"method":"m","params":{{"x":"{params}"}}}}}}"#
    );
    let answer = r#"{"at":1,"from":"server","message":{"jsonrpc":"2.0","id":1,"result":{}}}"#;
    fs::write(&file, format!("{line}\n{answer}\n")).unwrap();
    file
}

#[test]
fn a_replay_does_not_wait_for_a_server_that_does_not_read() {
    let file = recording("does-not-read");
    let began = Instant::now();
    let mut replay = inspect();
    replay.args(["--replay", &file, "--timeout", "1", "--", "sleep", "3600"]);
    let output = replay.output().unwrap();
    assert!(began.elapsed() < A_LONG_TIME, "{:?}", began.elapsed());
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert_eq!(stdout, "response #1: 1 recorded, 0 now\n");
    assert_eq!(output.status.code(), Some(1));
}

/// Whether there is a process with this id.
fn is_running(id: &str) -> bool {
    Command::new("kill").args(["-0", id]).stderr(Stdio::null()).status().unwrap().success()
}

#[test]
fn a_signal_ends_the_server_of_a_replay() {
    let file = recording("signal");
    let mut replay = inspect();
    replay.args(["--replay", &file, "--timeout", "3600", "--", "sh", "-c"]);
    // Standard error is that of the program.
    replay.arg("echo $$ >&2; exec sleep 3600").stdout(Stdio::null()).stderr(Stdio::piped());
    let mut replay = replay.spawn().unwrap();
    let mut server = String::new();
    BufReader::new(replay.stderr.take().unwrap()).read_line(&mut server).unwrap();
    let server = server.trim();
    assert!(is_running(server));
    let interrupt = ["-INT", &replay.id().to_string()];
    assert!(Command::new("kill").args(interrupt).status().unwrap().success());
    assert_eq!(replay.wait().unwrap().code(), Some(130));
    let began = Instant::now();
    while is_running(server) {
        assert!(began.elapsed() < A_LONG_TIME, "the server goes on");
        thread::sleep(Duration::from_millis(10));
    }
}

/// A server has closed its output and does not read. Its host still writes.
#[test]
fn a_recorded_server_that_hangs_is_ended() {
    let file = scratch("hangs");
    let mut record = inspect();
    record.arg("--record").arg(&file).args(["--", "sh", "-c", "exec sleep 3600 > /dev/null"]);
    let mut record = record.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut input = record.stdin.take().unwrap();
    thread::spawn(move || while input.write_all(&[b' '; 1 << 16]).is_ok() {});
    let began = Instant::now();
    while record.try_wait().unwrap().is_none() {
        assert!(began.elapsed() < A_LONG_TIME, "the server is not ended");
        thread::sleep(Duration::from_millis(10));
    }
}

/// A server writes to the same standard error, and would split a line of several writes.
#[test]
fn a_line_on_standard_error_is_one_write() {
    let (ours, theirs) = UnixDatagram::pair().unwrap();
    ours.set_read_timeout(Some(A_LONG_TIME)).unwrap();
    let mut replay = inspect();
    replay.args(["--replay", "/nonexistent.jsonl", "--", "sleep", "1"]);
    let status = replay.stderr(Stdio::from(OwnedFd::from(theirs))).status().unwrap();
    assert_eq!(status.code(), Some(1));
    let mut buffer = [0; 1 << 10];
    let count = ours.recv(&mut buffer).unwrap();
    let line = str::from_utf8(&buffer[..count]).unwrap();
    assert_eq!(line, "inspect: /nonexistent.jsonl: No such file or directory (os error 2)\n");
}
