//! Servers in child processes on Windows, where no shell can play them: this program does.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, Read, Write};
use std::os::windows::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use mcp_sansio::CallOptions;
use mcp_sansio_driver::{
    CallFailure, Connection, ConnectionOptions, KillSwitch, OpenError, ProcessOptions,
};

use crate::suite::kit::{A_LONG_TIME, client_config};
use crate::suite::runtimes::Adapter;

/// The variables that make this program a server: its behaviour, and a file that it keeps open.
const BEHAVIOUR: &str = "MCP_SANSIO_SERVER";
const FILE: &str = "MCP_SANSIO_FILE";

/// Starts this program as a server.
fn server(behaviour: &str, file: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "suite::processes_on_windows::server_process", "--nocapture"]);
    command.env(BEHAVIOUR, behaviour).env(FILE, file);
    command
}

/// Opens a file that no other process can open meanwhile.
fn open(file: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).truncate(true).write(true).share_mode(0).open(file)
}

/// The server, if this process was started as one.
#[test]
fn server_process() {
    let Ok(behaviour) = std::env::var(BEHAVIOUR) else { return };
    let file = PathBuf::from(std::env::var(FILE).unwrap());
    if behaviour == "ends at once" {
        std::process::exit(3);
    }
    let mut stdin = io::stdin().lock();
    if behaviour != "is a child" {
        stdin.read_line(&mut String::new()).unwrap();
    }
    let has_child = ["has a child", "leaves a child"].contains(&&*behaviour);
    let _held = (!has_child).then(|| open(&file).unwrap());
    if has_child {
        server("is a child", &file).spawn().unwrap();
        while !is_held(&file) {
            thread::yield_now();
        }
    }
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}"#;
    // The harness has printed an unfinished line.
    io::stdout().write_all(format!("\n{answer}\n").as_bytes()).unwrap();
    if ["ends with its input", "leaves a child"].contains(&&*behaviour) {
        stdin.read_to_end(&mut Vec::new()).unwrap();
        std::process::exit(7);
    }
    thread::sleep(10 * A_LONG_TIME);
}

/// Whether a running process keeps the file open.
fn is_held(file: &Path) -> bool {
    file.exists() && open(file).is_err()
}

/// Waits until no process keeps the file open.
fn wait_gone(file: &Path) {
    let started = Instant::now();
    while is_held(file) {
        assert!(started.elapsed() < A_LONG_TIME, "it still runs");
        thread::yield_now();
    }
    std::fs::remove_file(file).unwrap();
}

/// Returns a path that no other test uses.
fn file() -> PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("mcp-sansio-adapters-{}-{number}", std::process::id()))
}

/// The options of a server that has this long to end by itself.
fn within(exit: Duration) -> ConnectionOptions {
    let mut options = ProcessOptions::default();
    options.exit = exit;
    ConnectionOptions::new().process(options)
}

/// A short time, for servers that use it up.
fn impatient() -> ConnectionOptions {
    within(Duration::from_millis(100))
}

/// Starts a server. The connection needs the adapter.
fn start<A: Adapter>(behaviour: &str, options: ConnectionOptions) -> (A, Connection, PathBuf) {
    let (adapter, file) = (A::new(), file());
    let mut config = client_config();
    config.connection.timeouts.handshake = Some(A_LONG_TIME);
    let connection = adapter.spawn_with(config, options, server(behaviour, &file)).unwrap();
    assert!(is_held(&file), "the server runs");
    (adapter, connection, file)
}

pub(crate) fn a_server_that_ends_with_its_input<A: Adapter>() {
    let (_adapter, connection, file) = start::<A>("ends with its input", within(A_LONG_TIME));
    let status = connection.close(Duration::ZERO).wait().unwrap().unwrap();
    assert_eq!(status.code(), Some(7));
    wait_gone(&file);
}

/// Pain 83: Windows has no way to ask, so the server is killed.
pub(crate) fn a_server_that_ignores_end_of_input_is_killed<A: Adapter>() {
    let (_adapter, connection, file) = start::<A>("ignores the end", impatient());
    let status = connection.close(Duration::ZERO).wait().unwrap().unwrap();
    assert_ne!(status.code(), Some(7));
    wait_gone(&file);
}

/// Pain 83: `npx` and `uvx` put a process in between.
pub(crate) fn child_processes_of_a_server_end_with_the_server<A: Adapter>() {
    let table = [("has a child", impatient()), ("leaves a child", within(A_LONG_TIME))];
    for (behaviour, options) in table {
        let (_adapter, connection, file) = start::<A>(behaviour, options);
        connection.close(Duration::ZERO).wait().unwrap();
        wait_gone(&file);
    }
}

/// Pain 84: also without a runtime.
pub(crate) fn a_server_that_was_dropped_is_gone<A: Adapter>() {
    for behaviour in ["ignores the end", "has a child"] {
        let (adapter, connection, file) = start::<A>(behaviour, impatient());
        drop(adapter);
        drop(connection);
        wait_gone(&file);
    }
}

/// A kill switch kills the server at once, for any options.
pub(crate) fn a_kill_switch_kills_a_running_server_at_once<A: Adapter>() {
    let switch = KillSwitch::default();
    let options = within(A_LONG_TIME).kill_switch(&switch);
    let (_adapter, connection, file) = start::<A>("ignores the end", options);
    let call = connection.handle().call_method("ping", &(), CallOptions::new());
    let closing = thread::spawn(move || connection.close(2 * A_LONG_TIME).wait());
    switch.pull();
    wait_gone(&file);
    closing.join().unwrap().unwrap().unwrap();
    assert!(matches!(call.wait(), Err(CallFailure::Closed(_) | CallFailure::NotSent)));
}

pub(crate) fn a_server_that_is_not_there<A: Adapter>() {
    let (adapter, command) = (A::new(), Command::new("C:\\nowhere\\at\\all"));
    let error = adapter.spawn_with(client_config(), within(A_LONG_TIME), command).unwrap_err();
    assert!(matches!(error, OpenError::Spawn(_)), "{error}");
}

pub(crate) fn a_server_that_ends_at_once<A: Adapter>() {
    let (adapter, command) = (A::new(), server("ends at once", &file()));
    let error = adapter.spawn_with(client_config(), within(A_LONG_TIME), command).unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, OpenError::Ended { status, .. } if status.code() == Some(3)), "{text}");
}
