//! The end of a server that is recorded.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// A file that is removed at the end of its test.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        _ = std::fs::remove_file(&self.0);
    }
}

/// Sends a signal, and returns whether there is such a process.
fn kill(signal: &str, process: &str) -> bool {
    let mut kill = Command::new("kill");
    kill.args([signal, process]).stderr(Stdio::null()).status().unwrap().success()
}

/// The second signal ends the program before the server has had its time.
#[test]
fn a_second_signal_kills_the_server() {
    let name = format!("second-signal-{}", std::process::id());
    let file = Scratch(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name));
    let script = "echo $$; trap '' TERM; while :; do sleep 0.1; done";
    let mut recorder = Command::new(env!("CARGO_BIN_EXE_mcp-inspect"))
        .args(["--record", file.0.to_str().unwrap(), "--", "sh", "-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(recorder.stdout.take().unwrap());
    let mut server = String::new();
    output.read_line(&mut server).unwrap();
    let id = recorder.id().to_string();
    assert!(kill("-TERM", &id));
    // Signals of one second count as one. The first one kills the server as well, after four seconds.
    thread::sleep(Duration::from_millis(1_200));
    // The program may have ended already on a slow machine.
    kill("-TERM", &id);
    recorder.wait().unwrap();
    // The server would ignore any other signal for ever.
    assert!(!kill("-KILL", server.trim_end()), "the server was still running");
}
