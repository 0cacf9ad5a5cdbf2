//! Servers in child processes.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use mcp_sansio::event::ConnectFailure;
use mcp_sansio::{CallOptions, RevisionSet};
use mcp_sansio_driver::{
    CallFailure, Connection, ConnectionOptions, KillSwitch, OpenError, ProcessOptions, Stderr,
};

use crate::suite::kit::{A_LONG_TIME, client_config};
use crate::suite::runtimes::Adapter;

/// Creates a server in the shell, which responds to `initialize` and then runs the given commands.
fn shell(rest: &str) -> Command {
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"sh","version":"1"}}}"#;
    let mut command = Command::new("sh");
    command.args(["-c", &format!("read line; echo '{answer}'; {rest}")]);
    command
}

fn options(exit: Duration, terminate: Duration) -> ConnectionOptions {
    let mut options = ProcessOptions::default();
    (options.exit, options.terminate) = (exit, terminate);
    ConnectionOptions::new().process(options)
}

/// Short timeouts, for servers that use them up.
fn impatient() -> ConnectionOptions {
    options(Duration::from_millis(100), Duration::from_millis(100))
}

/// A grace period that suffices for a server that ends by itself.
fn patient() -> ConnectionOptions {
    options(A_LONG_TIME, A_LONG_TIME)
}

/// Returns a path that no other test uses.
fn file() -> PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("mcp-sansio-adapters-{}-{number}", std::process::id()))
}

/// Whether a process exists and is not a zombie.
fn is_alive(process: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/stat"));
    status.is_ok_and(|status| !status.rsplit(')').next().unwrap().trim_start().starts_with('Z'))
}

/// Waits until the file exists, and returns its content.
fn content(file: &Path) -> String {
    let started = Instant::now();
    loop {
        if let Ok(content) = std::fs::read_to_string(file) {
            std::fs::remove_file(file).unwrap();
            return content;
        }
        assert!(started.elapsed() < A_LONG_TIME, "there is no {}", file.display());
        thread::yield_now();
    }
}

/// Waits until a process has ended: a signal takes its time.
fn wait_gone(process: u32) {
    let started = Instant::now();
    while is_alive(process) {
        assert!(started.elapsed() < A_LONG_TIME, "{process} is still there");
        thread::yield_now();
    }
}

pub(crate) fn a_server_that_ends_with_its_input<A: Adapter>() {
    let command = shell("cat > /dev/null; exit 7");
    let adapter = A::new();
    let connection = adapter.spawn_with(client_config(), patient(), command).unwrap();
    let status = connection.close(Duration::ZERO).wait().unwrap().unwrap();
    assert_eq!(status.code(), Some(7));
}

/// Pain 83: a server that ignores the end of its input is asked to terminate, then killed.
pub(crate) fn a_server_that_ignores_end_of_input_is_killed<A: Adapter>() {
    let table = [("exec sleep 600", 15), ("trap '' TERM; while true; do sleep 0.01; done", 9)];
    for (script, signal) in table {
        let adapter = A::new();
        let connection = adapter.spawn_with(client_config(), impatient(), shell(script)).unwrap();
        let process = connection.process().unwrap().id();
        let status = connection.close(Duration::ZERO).wait().unwrap().unwrap();
        assert_eq!(status.signal(), Some(signal), "{script}");
        assert!(!is_alive(process));
    }
}

/// Returns commands that write the process id to a file, and then run forever.
fn stubborn(file: &Path) -> String {
    let reported = "echo $$ > FILE.new; mv FILE.new FILE; while true; do sleep 0.01; done";
    reported.replace("FILE", &file.to_string_lossy())
}

/// Closes a connection on another thread, and pulls the kill switch when the file exists.
fn pulled(connection: Connection, grace: Duration, file: &Path, switch: &KillSwitch) -> ExitStatus {
    let closing = thread::spawn(move || connection.close(grace).wait());
    content(file);
    switch.pull();
    let started = Instant::now();
    while !closing.is_finished() {
        assert!(started.elapsed() < A_LONG_TIME / 2, "it is still waited for");
        thread::yield_now();
    }
    closing.join().unwrap().unwrap().unwrap()
}

/// A kill switch kills the server at once, for any options.
pub(crate) fn a_kill_switch_kills_a_running_server_at_once<A: Adapter>() {
    let adapter = A::new();
    let start = |rest: &str, file: &Path, switch: &KillSwitch| {
        let command = shell(&format!("trap '' TERM; {rest} {}", stubborn(file)));
        let options = patient().kill_switch(switch);
        adapter.spawn_with(client_config(), options, command).unwrap()
    };
    // The server has seen the end of its input.
    let (path, switch) = (file(), KillSwitch::default());
    let connection = start("cat > /dev/null;", &path, &switch);
    let status = pulled(connection, Duration::ZERO, &path, &switch);
    assert_eq!(status.signal(), Some(9));
    // The server has an open call, with a long grace period.
    let (path, switch) = (file(), KillSwitch::default());
    let connection = start("", &path, &switch);
    let call = connection.handle().call_method("ping", &(), CallOptions::new());
    let status = pulled(connection, 2 * A_LONG_TIME, &path, &switch);
    assert_eq!(status.signal(), Some(9));
    assert!(matches!(call.wait(), Err(CallFailure::Closed(_) | CallFailure::NotSent)));
}

/// The kill switch also ends a server during the handshake.
pub(crate) fn a_kill_switch_kills_a_server_during_the_handshake<A: Adapter>() {
    let (path, switch) = (file(), KillSwitch::default());
    let mut command = Command::new("sh");
    command.args(["-c", &format!("trap '' TERM; {}", stubborn(&path))]);
    let options = patient().kill_switch(&switch);
    let pulling = thread::spawn(move || {
        let server = content(&path).trim().parse().unwrap();
        switch.pull();
        server
    });
    let mut config = client_config();
    config.connection.timeouts.handshake = Some(A_LONG_TIME);
    let error = A::new().spawn_with(config, options.clone(), command).unwrap_err();
    assert!(matches!(error, OpenError::Connect(ConnectFailure::Closed(_))), "{error}");
    assert!(!is_alive(pulling.join().unwrap()));
    // A pulled switch leaves no time for later servers.
    let mut command = Command::new("sleep");
    command.arg("600");
    let error = A::new().spawn_with(client_config(), options, command).unwrap_err();
    assert!(matches!(error, OpenError::Connect(ConnectFailure::Closed(_))), "{error}");
}

/// Pain 83: `npx` and `uvx` put a process in between.
pub(crate) fn child_processes_of_a_server_end_with_the_server<A: Adapter>() {
    let scripts = [
        "sleep 600 & echo $! > FILE.new; mv FILE.new FILE; wait",
        "sleep 600 & echo $! > FILE.new; mv FILE.new FILE; exec cat > /dev/null",
        // A child that ignores the signal, and whose parent has ended.
        "sh -c 'trap \"\" TERM; sleep 600' & echo $! > FILE.new; mv FILE.new FILE; exec cat > /dev/null",
    ];
    for script in scripts {
        let file = file();
        let command = shell(&script.replace("FILE", &file.to_string_lossy()));
        let adapter = A::new();
        let connection = adapter.spawn_with(client_config(), impatient(), command).unwrap();
        let child = content(&file).trim().parse().unwrap();
        assert!(is_alive(child));
        connection.close(Duration::ZERO).wait().unwrap();
        wait_gone(child);
    }
}

/// Pain 84: also without a runtime.
pub(crate) fn a_server_that_was_dropped_is_gone<A: Adapter>() {
    let adapter = A::new();
    let command = shell("exec sleep 600");
    let connection = adapter.spawn_with(client_config(), impatient(), command).unwrap();
    let process = connection.process().unwrap().id();
    assert!(is_alive(process));
    drop(adapter);
    drop(connection);
    assert!(!is_alive(process));
}

/// Pain 12: open calls end, and the exit status shows the cause.
pub(crate) fn a_server_that_is_killed<A: Adapter>() {
    let adapter = A::new();
    let command = shell("exec sleep 600");
    let mut connection = adapter.spawn_with(client_config(), patient(), command).unwrap();
    let call = connection.handle().call_method("ping", &(), CallOptions::new());
    let process = connection.process().unwrap().id().to_string();
    assert!(Command::new("kill").args(["-9", &process]).status().unwrap().success());
    assert!(matches!(call.wait(), Err(CallFailure::Closed(_) | CallFailure::NotSent)));
    assert_eq!(connection.exit_status().wait().unwrap().signal(), Some(9));
    let status = connection.close(Duration::ZERO).wait().unwrap().unwrap();
    assert_eq!(status.signal(), Some(9));
}

pub(crate) fn standard_error_never_fills_up<A: Adapter>() {
    let pong =
        r#"read line; read line; echo '{"jsonrpc":"2.0","id":2,"result":{}}'; cat > /dev/null"#;
    let noise = format!("head -c 1000000 /dev/zero >&2; echo the end >&2; {pong}");
    // The last one is a pipe that the command asks for.
    for policy in [Stderr::Capture(100), Stderr::Discard, Stderr::Inherit] {
        let mut process = ProcessOptions::default();
        process.stderr = policy;
        let options = ConnectionOptions::new().process(process);
        let adapter = A::new();
        let mut command = shell(&noise);
        command.stderr(Stdio::piped());
        let connection = adapter.spawn_with(client_config(), options, command).unwrap();
        connection.handle().call_method("ping", &(), CallOptions::new()).wait().unwrap();
        let kept = || connection.process().unwrap().stderr();
        if let Stderr::Capture(most) = policy {
            // Another task reads standard error, and may not have finished yet.
            while !kept().ends_with(b"\0the end\n") {
                thread::yield_now();
            }
            assert_eq!(kept().len(), most);
        } else {
            assert_eq!(kept(), b"");
        }
        connection.close(Duration::ZERO).wait().unwrap();
    }
}

pub(crate) fn a_server_that_is_not_there<A: Adapter>() {
    let command = Command::new("/nowhere/at/all");
    let adapter = A::new();
    let error = adapter.spawn_with(client_config(), patient(), command).unwrap_err();
    assert!(matches!(error, OpenError::Spawn(_)), "{error}");
}

pub(crate) fn a_server_that_ends_at_once<A: Adapter>() {
    let mut command = Command::new("sh");
    command.args(["-c", "exit 3"]);
    let adapter = A::new();
    let error = adapter.spawn_with(client_config(), patient(), command).unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, OpenError::Ended { status, .. } if status.code() == Some(3)), "{text}");
    // A silent server is given up at the handshake timeout, and ended.
    let mut config = client_config();
    config.connection.timeouts.handshake = Some(Duration::from_millis(50));
    let mut command = Command::new("sleep");
    command.arg("600");
    let adapter = A::new();
    let error = adapter.spawn_with(config, impatient(), command).unwrap_err();
    assert!(matches!(error, OpenError::Connect(ConnectFailure::TimedOut)), "{error}");
}

/// The reason why a server did not start is usually in its standard error.
pub(crate) fn a_server_that_ends_at_once_leaves_its_standard_error<A: Adapter>() {
    let error = |script: &str, stderr: Stderr| {
        let mut process = ProcessOptions::default();
        process.stderr = stderr;
        let options = ConnectionOptions::new().process(process);
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let error = A::new().spawn_with(client_config(), options, command).unwrap_err();
        let text = error.to_string();
        let OpenError::Ended { status, stderr } = error else { panic!("{text}") };
        assert_eq!(status.code(), Some(3), "{text}");
        (text, stderr)
    };
    let plain = "the server ended before it answered (exit status: 3)";
    let script = "head -c 1000000 /dev/zero >&2; printf '!\\377\\nno module\\r\\n \\n' >&2; exit 3";
    let (text, stderr) = error(script, Stderr::Capture(17));
    assert_eq!((text, &*stderr), (format!("{plain}: no module"), "\0!\u{fffd}\nno module\r\n \n"));
    for options in [Stderr::Capture(0), Stderr::Discard] {
        assert_eq!(error(script, options), (plain.to_owned(), String::new()));
    }
    // A process that the server leaves behind may keep its standard error open.
    let script = "echo gone >&2; sleep 600 > /dev/null < /dev/null & exit 3";
    assert_eq!(
        error(script, Stderr::Capture(100)),
        (format!("{plain}: gone"), "gone\n".to_owned())
    );
}

/// A second process can only help if the first one has read the `server/discover` request.
pub(crate) fn a_server_is_started_again_only_for_the_question<A: Adapter>() {
    for (script, starts) in [("exit 3", 1), ("read asked; exit 3", 2)] {
        // Other systems give no way to know.
        if starts == 1 && !cfg!(target_os = "linux") {
            continue;
        }
        let file = file();
        let mut command = Command::new("sh");
        command.args(["-c", &format!("echo start >> $FILE; {script}")]).env("FILE", &file);
        let mut config = client_config();
        config.revisions = RevisionSet::ALL;
        let adapter = A::new();
        let error = adapter.spawn_with(config, patient(), command).unwrap_err();
        let text = error.to_string();
        assert!(
            matches!(error, OpenError::Ended { status, .. } if status.code() == Some(3)),
            "{text}"
        );
        let started = std::fs::read_to_string(&file).unwrap();
        assert_eq!(started.lines().count(), starts, "{script}");
        std::fs::remove_file(&file).unwrap();
    }
}

/// The process has the environment and the working directory of the command.
pub(crate) fn a_server_process_gets_its_environment_and_directory<A: Adapter>() {
    let file = file();
    let mut command =
        shell("pwd > \"$FILE.new\"; echo $WORD >> \"$FILE.new\"; mv $FILE.new $FILE; cat");
    command.env("FILE", &file).env("WORD", "found").current_dir("/");
    let adapter = A::new();
    let connection = adapter.spawn_with(client_config(), patient(), command).unwrap();
    connection.close(Duration::ZERO).wait().unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "/\nfound\n");
    std::fs::remove_file(&file).unwrap();
}
