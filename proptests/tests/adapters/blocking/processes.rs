//! Servers in child processes, well-behaved and not.

use std::process::Command;
use std::time::{Duration, Instant};

use mcp_sansio::event::ConnectFailure;
use mcp_sansio::{CallOptions, ClientConfig, RevisionSet};
use mcp_sansio_std::{
    Connection, ConnectionOptions, OpenError, ProcessOptions, RefuseAll, spawn_with,
};

fn client_config() -> ClientConfig {
    let mut config = ClientConfig::new("c", "1");
    config.revisions = RevisionSet::LEGACY;
    config
}

/// Creates a server in the shell, which responds to `initialize` and then runs the given commands.
fn shell(rest: &str) -> Command {
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"sh","version":"1"}}}"#;
    let mut command = Command::new("sh");
    command.args(["-c", &format!("read line; echo '{answer}'; {rest}")]);
    command
}

fn config() -> ClientConfig {
    let mut config = client_config();
    config.connection.timeouts.handshake = Some(Duration::from_secs(5));
    config
}

/// Short timeouts, for servers that use them up.
fn impatient() -> ConnectionOptions {
    let mut options = ProcessOptions::default();
    options.exit = Duration::from_millis(200);
    options.terminate = Duration::from_millis(200);
    ConnectionOptions::new().process(options)
}

/// A grace period that suffices for a server that ends by itself, even on a busy computer.
fn patient() -> ConnectionOptions {
    let mut options = ProcessOptions::default();
    // Too large to be added to an `Instant`.
    options.exit = Duration::MAX;
    options.terminate = Duration::from_secs(60);
    ConnectionOptions::new().process(options)
}

fn spawn(command: Command) -> Result<Connection, OpenError> {
    spawn_with(config(), &impatient(), command, RefuseAll::new())
}

/// Proves L-LIFE-30, M-STDIO-08: a server that ends with its input is not killed.
#[test]
fn a_server_that_goes_by_itself_is_not_killed() {
    let command = shell("cat > /dev/null; exit 7");
    let connection = spawn_with(config(), &patient(), command, RefuseAll::new()).unwrap();
    let status = connection.close(Duration::ZERO).wait().unwrap().unwrap();
    assert_eq!(status.code(), Some(7));
}

/// Pain 83: a server that ignores the end of its input is asked to terminate, then killed. Proves
/// L-LIFE-30, M-STDIO-08.
#[test]
fn a_server_that_does_not_go_is_made_to() {
    use std::os::unix::process::ExitStatusExt;
    let table =
        [("exec sleep 60", Some(15)), ("trap '' TERM; while true; do sleep 0.05; done", Some(9))];
    for (script, signal) in table {
        let started = Instant::now();
        let connection = spawn(shell(script)).unwrap();
        let status = connection.close(Duration::ZERO).wait().unwrap().unwrap();
        assert_eq!(status.signal(), signal, "{script}");
        assert!(started.elapsed() < Duration::from_secs(20));
    }
}

/// The child processes of a server end with it: `npx` and `uvx` put a process in between, which can end first.
#[test]
fn the_children_of_a_server_go_too() {
    let directory = std::env::temp_dir().join(format!("mcp-sansio-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let scripts = [
        "sleep 600 & echo $! > 'FILE'; wait",
        "sleep 600 & echo $! > 'FILE'; exec cat > /dev/null",
        "sh -c 'trap \"\" TERM; sleep 600' & echo $! > 'FILE'; exec cat > /dev/null",
    ];
    for (number, script) in scripts.into_iter().enumerate() {
        for close in [false, true] {
            let file = directory.join(format!("{number} {close}"));
            let script = script.replace("FILE", &file.display().to_string());
            let connection = spawn(shell(&script)).unwrap();
            let grandchild = soon(|| {
                let text = std::fs::read_to_string(&file).unwrap_or_default();
                text.ends_with('\n').then(|| text.trim().to_string())
            });
            if close {
                connection.close(Duration::ZERO).wait().unwrap();
            } else {
                drop(connection);
            }
            // The reaping of the process may take a moment.
            soon(|| (!is_running(&grandchild)).then_some(()));
        }
    }
    std::fs::remove_dir_all(directory).unwrap();
}

/// A server that rejects the handshake is ended like any other, and has time to clean up.
#[test]
fn a_failed_handshake_ends_the_server_gently() {
    let file = std::env::temp_dir().join(format!("mcp-sansio-clean-{}", std::process::id()));
    let answer = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no"}}"#;
    let script =
        format!("read line; echo '{answer}'; cat > /dev/null; echo clean > '{}'", file.display());
    let mut command = Command::new("sh");
    command.args(["-c", &script]);
    let error = spawn_with(config(), &patient(), command, RefuseAll::new());
    assert!(matches!(error, Err(OpenError::Connect(ConnectFailure::PeerError(_)))), "{error:?}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "clean\n");
    std::fs::remove_file(file).unwrap();
}

/// Polls `look` until it returns a value.
fn soon<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(started.elapsed() < Duration::from_secs(60), "it never came");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether a process exists and is not a zombie.
fn is_running(pid: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = status.rsplit(") ").next().and_then(|rest| rest.chars().next());
    !matches!(state, None | Some('Z' | 'X'))
}

#[test]
fn a_command_that_does_not_exist_says_so() {
    let error = spawn(Command::new("/no/such/server")).unwrap_err();
    assert!(matches!(error, OpenError::Spawn(_)));
    assert!(error.to_string().starts_with("the server could not be started: "), "{error}");
}

#[test]
fn a_server_that_dies_at_once_says_how() {
    let mut command = Command::new("sh");
    command.args(["-c", "exit 3"]);
    let error = spawn(command).unwrap_err();
    assert_eq!(error.to_string(), "the server ended before it answered (exit status: 3)");
}

/// Pain 41: a server that prints garbage, or nothing, costs the handshake timeout and no more.
#[test]
fn a_server_that_never_answers_times_out() {
    for script in ["while read line; do echo garbage; done", "exec sleep 60"] {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let mut config = config();
        config.connection.timeouts.handshake = Some(Duration::from_millis(300));
        let started = Instant::now();
        let error = spawn_with(config, &impatient(), command, RefuseAll::new()).unwrap_err();
        assert!(matches!(error, OpenError::Connect(ConnectFailure::TimedOut)), "{error}");
        assert_eq!(error.to_string(), "the server did not answer in time");
        assert!(started.elapsed() < Duration::from_secs(10));
    }
}

#[test]
fn handshake_errors_have_readable_messages() {
    let answers = [
        (
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"too old"}}"#,
            "the server refused with error -32602: too old",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"1999-01-01","capabilities":{}}}"#,
            r#"the server speaks revision "1999-01-01", this client 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"result":[]}"#,
            "the response to the first request is invalid: malformed response",
        ),
    ];
    for (answer, text) in answers {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("read line; echo '{answer}'; cat > /dev/null")]);
        assert_eq!(spawn(command).unwrap_err().to_string(), text);
    }
}

/// A server that floods its standard error does not block the session.
#[test]
fn standard_error_is_not_ours_to_read() {
    let mut command = shell(
        "head -c 1000000 /dev/zero >&2; read line; read line; echo '{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}'; cat > /dev/null",
    );
    command.stderr(std::process::Stdio::null());
    let connection = spawn(command).unwrap();
    connection.handle().call_method("ping", &(), CallOptions::new()).wait().unwrap();
}
