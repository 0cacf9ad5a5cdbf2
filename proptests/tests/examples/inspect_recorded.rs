//! `inspect` between a host and its server, and the recordings that it writes.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use crate::inspect::{OLD, inspect, texts};
use crate::kit::example;

/// A file in the directory of the tests, which is removed at the end of its test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let name = format!("{name}-{}", std::process::id());
        Self(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name))
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        _ = fs::remove_file(&self.0);
    }
}

/// Calls a tool of the everything server, with another `inspect` in between that records.
fn record(file: &Scratch, revision: &[&str]) {
    let (recorder, server) = (example("inspect"), example("everything_server"));
    let arguments = [
        "--call",
        "test_sampling",
        r#"{"prompt":"what"}"#,
        "--call",
        "echo",
        r#"{"text":"here"}"#,
        "--sample",
        "that",
        "--",
        recorder.to_str().unwrap(),
        "--record",
        file.path(),
        "--",
        server.to_str().unwrap(),
    ];
    let (stdout, _) = texts(&inspect(&[revision, &arguments].concat()), 0);
    assert_eq!(stdout, "LLM response: that\nhere\n");
}

#[test]
fn a_recorded_conversation_is_drawn_and_replayed() {
    let server = example("everything_server");
    let server = server.to_str().unwrap();
    for (number, revision) in [&OLD[..], &[]].into_iter().enumerate() {
        let file = Scratch::new(&format!("recorded-{number}"));
        record(&file, revision);
        let mode = fs::metadata(&file.0).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "only its owner can read it");
        let (drawn, _) = texts(&inspect(&["--diagram", file.path()]), 0);
        assert!(drawn.trim_start().starts_with("client  "), "{drawn}");
        let is_new = number == 1;
        let expected = if is_new {
            ["--- server/discover #1 ---", "--- tools/call #3 ---"]
        } else {
            ["--- initialize #1 ---", "--- sampling/createMessage #1 ---"]
        };
        for line in expected {
            assert!(drawn.contains(line), "{drawn}");
        }
        assert!(!drawn.contains("here"), "a diagram shows no contents");
        let svg = Scratch::new(&format!("drawn-{number}"));
        texts(&inspect(&["--diagram", file.path(), "--svg", svg.path()]), 0);
        assert!(fs::read_to_string(&svg.0).unwrap().starts_with("<svg "));

        // In the modern era the state of a request is sealed by a key of the process.
        if is_new {
            continue;
        }
        let replay = ["--replay", file.path(), "--", server];
        let (stdout, _) = texts(&inspect(&replay), 0);
        assert_eq!(stdout, "The server sends the same.\n");
        let recorded = fs::read_to_string(&file.0).unwrap();
        fs::write(&file.0, recorded.replace(r#"[{"type":"text","text":"here"}]"#, "[]")).unwrap();
        let (stdout, _) = texts(&inspect(&replay), 1);
        let expected = "response #3: /result/content/0 was missing, is {\"text\":\"here\",\"type\":\"text\"}\n";
        assert_eq!(stdout, expected);
    }
}

#[test]
fn the_server_in_between_ends_as_it_does_alone() {
    let file = Scratch::new("ended");
    let ended = |script: &str| inspect(&["--record", file.path(), "--", "sh", "-c", script]);
    let (stdout, _) = texts(&ended("echo no JSON; echo half; exit 7"), 7);
    assert_eq!(stdout, "no JSON\nhalf\n");
    let recorded = fs::read_to_string(&file.0).unwrap();
    assert_eq!(recorded.lines().count(), 2);
    assert!(recorded.contains(r#""from":"server","text":"no JSON""#), "{recorded}");
    let (drawn, _) = texts(&inspect(&["--diagram", file.path()]), 0);
    assert!(drawn.contains("not JSON"), "{drawn}");

    fs::write(&file.0, "{\"at\":1,\"from\":\"client\",\"message\":{}}\n{\"at\":2}\n").unwrap();
    let (_, stderr) = texts(&inspect(&["--diagram", file.path()]), 1);
    assert!(stderr.contains(": line 2: missing field `from`"), "{stderr}");
    let (_, stderr) = texts(&inspect(&["--replay", file.path(), "http://127.0.0.1:9/mcp"]), 2);
    assert_eq!(stderr, "inspect: --record needs a server, and --replay a server to start\n");
    let nowhere = format!("{}/nowhere", file.path());
    let (_, stderr) = texts(&inspect(&["--record", &nowhere, "--", "true"]), 1);
    assert!(stderr.starts_with(&format!("inspect: {nowhere}: ")), "{stderr}");
    let file = Scratch::new("no-program");
    let (_, stderr) = texts(&inspect(&["--record", file.path(), "--", "/no/such/program"]), 1);
    assert!(stderr.starts_with("inspect: /no/such/program: "), "{stderr}");
}

/// Records a server of this shell script; the output stays open, and its first line is read.
fn recording(file: &Scratch, script: &str) -> (Child, BufReader<ChildStdout>, String) {
    let mut recorder = Command::new(example("inspect"));
    recorder.args(["--record", file.path(), "--", "sh", "-c", script]);
    recorder.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut recorder = recorder.spawn().unwrap();
    let mut output = BufReader::new(recorder.stdout.take().unwrap());
    let mut first = String::new();
    output.read_line(&mut first).unwrap();
    (recorder, output, first.trim_end().to_owned())
}

/// Sends the signal TERM, and waits for the end of the process.
fn terminate(process: &mut Child) {
    let id = process.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    process.wait().unwrap();
}

/// Hosts end a server by the signal TERM if it does not end with its input.
#[test]
fn a_signal_ends_the_server_as_well() {
    let file = Scratch::new("signal");
    let script = "echo $$; trap '' TERM; while :; do sleep 0.1; done";
    let (mut recorder, _output, server) = recording(&file, script);
    let is_running = || Path::new("/proc").join(&server).exists();
    assert!(is_running() || cfg!(not(target_os = "linux")));
    let signalled = Instant::now();
    terminate(&mut recorder);
    assert!(Duration::from_secs(1) < signalled.elapsed(), "the server has time to end by itself");
    assert!(!is_running());
}

/// Hosts start a server again, and several at once.
#[test]
fn a_recording_is_never_overwritten() {
    let file = Scratch::new("again");
    let others = [2, 3].map(|number| Scratch(PathBuf::from(format!("{}.{number}", file.path()))));
    for number in 1..=3 {
        let (_, stderr) = texts(&inspect(&["--record", file.path(), "--", "echo", "no JSON"]), 0);
        let numbered = format!("inspect: recording in {}.{number}\n", file.path());
        assert_eq!(stderr, if number == 1 { String::new() } else { numbered });
    }
    let directory = env!("CARGO_TARGET_TMPDIR");
    let (_, stderr) = texts(&inspect(&["--record", directory, "--", "echo"]), 1);
    assert!(stderr.starts_with(&format!("inspect: {directory}: ")), "{stderr}");
    let (_, stderr) = texts(&inspect(&["--diagram", file.path(), "--svg", file.path()]), 1);
    assert_eq!(stderr, format!("inspect: {}: this is the recording\n", file.path()));
    for file in [&file, &others[0], &others[1]] {
        assert_eq!(fs::read_to_string(&file.0).unwrap().lines().count(), 1);
    }
}

/// A process that the server has started holds its output, and ends with it.
#[test]
fn the_processes_of_a_server_end_with_it() {
    let file = Scratch::new("group");
    let script = "sleep 1000 & echo $!; trap '' TERM; wait; wait";
    let (mut recorder, _output, sleep) = recording(&file, script);
    terminate(&mut recorder);
    let is_running =
        Command::new("kill").args(["-0", &sleep]).stderr(Stdio::null()).status().unwrap();
    assert!(!is_running.success());
}

/// A recording is text of a stranger.
#[test]
fn a_diagram_of_nested_batches_is_drawn() {
    let file = Scratch::new("nested");
    let nested = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let line = format!(r#"{{"at":1,"from":"server","message":{nested}}}"#);
    fs::write(&file.0, line).unwrap();
    let (drawn, _) = texts(&inspect(&["--diagram", file.path()]), 0);
    assert!(drawn.contains("bytes of noise"), "{drawn}");
}

/// A host goes to the server by the proxy, in both eras, and one recording has it all.
#[test]
fn a_server_at_a_url_is_recorded() {
    let served = |mut command: Command| {
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let output = process.stdout.take().unwrap();
        let mut lines = BufReader::new(output).lines();
        (Running(process), lines.next().unwrap().unwrap())
    };
    let mut everything = Command::new(example("everything_http"));
    everything.args(["--port", "0"]);
    let (_everything, url) = served(everything);
    for (number, revision) in [&OLD[..], &[]].into_iter().enumerate() {
        let file = Scratch::new(&format!("proxied-{number}"));
        let mut proxy = Command::new(example("inspect"));
        proxy.args(["--record", file.path(), &url]);
        let (_proxy, url) = served(proxy);
        assert_eq!(status_of(&url, "evil.example.com", None), "403");
        assert_eq!(status_of(&url, "localhost", Some("http://evil.example.com")), "403");
        assert_eq!(
            status_of(&url, "localhost", None),
            "400",
            "the server refuses an empty request"
        );
        let calls = ["--call", "test_sampling", r#"{"prompt":"what"}"#, "--sample", "that", &url];
        let (stdout, _) = texts(&inspect(&[revision, &calls].concat()), 0);
        assert_eq!(stdout, "LLM response: that\n");
        let (drawn, _) = texts(&inspect(&["--diagram", file.path()]), 0);
        let asked = if number == 0 { "sampling/createMessage #1" } else { "input_required" };
        for line in ["tools/call #", asked] {
            assert!(drawn.contains(line), "{drawn}");
        }
    }
    let file = Scratch::new("unreachable");
    let mut proxy = Command::new(example("inspect"));
    proxy.args(["--record", file.path(), "http://127.0.0.1:9/mcp"]);
    let (_proxy, url) = served(proxy);
    let (_, stderr) = texts(&inspect(&[&OLD[..], &[&url]].concat()), 1);
    assert!(stderr.contains("502"), "{stderr}");
}

/// A process that is killed at the end of the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

/// Sends an empty POST by hand, and returns the status of its response.
fn status_of(url: &str, host: &str, origin: Option<&str>) -> String {
    let (address, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let origin = origin.map(|origin| format!("Origin: {origin}\r\n")).unwrap_or_default();
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    let request = format!(
        "POST /{path} HTTP/1.1\r\nHost: {host}\r\n{origin}Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    );
    std::io::Write::write_all(&mut stream, request.as_bytes()).unwrap();
    let mut response = String::new();
    std::io::Read::read_to_string(&mut stream, &mut response).unwrap();
    response.split(' ').nth(1).unwrap().to_owned()
}
