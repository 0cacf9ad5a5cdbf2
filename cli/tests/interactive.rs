//! The end of the interactive mode by a signal.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

/// A legacy server without capabilities.
const SERVER: &str = r#"read opening
    echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}'
    cat > /dev/null"#;

/// A signal ends the program while it reads commands from a pipe, as it does on a terminal.
#[test]
fn a_signal_ends_the_reading_of_commands() {
    for signal in ["TERM", "HUP", "INT"] {
        let mut inspect = Command::new(env!("CARGO_BIN_EXE_mcp-inspect"))
            .args(["--interactive", "--revision", "2025-11-25", "--", "sh", "-c", SERVER])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut commands = inspect.stdin.take().unwrap();
        let mut output = BufReader::new(inspect.stdout.take().unwrap());
        commands.write_all(b"tools\n").unwrap();
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        // The result of the command has been printed, so the next command is being read soon.
        thread::sleep(Duration::from_millis(300));
        let number = inspect.id().to_string();
        let kill = format!("kill -{signal} {number}");
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
        let (sender, ended) = channel();
        thread::spawn(move || sender.send(inspect.wait().unwrap().code()));
        let code = ended.recv_timeout(Duration::from_secs(20));
        // The end of the commands would end the program, too.
        drop(commands);
        assert_eq!(code, Ok(Some(130)), "SIG{signal} after {line:?}");
    }
}

/// A legacy server with a tool that sends a signal to its client instead of a response.
const SIGNALLING: &str = r#"read opening
    echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}'
    while read -r line; do
        id=${line##*'"id":'}; id=${id%%[,\}]*}
        case "$line" in
            *'"tools/list"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"tools":[]}}' ;;
            *'"tools/call"'*) kill -"$0" $PPID ;;
        esac
    done"#;

/// A Ctrl-C ends the request that is waited for, any other signal the program.
#[test]
fn a_signal_during_a_request_ends_the_program() {
    for (signal, expected) in [("TERM", 130), ("HUP", 130), ("INT", 1)] {
        let mut inspect = Command::new(env!("CARGO_BIN_EXE_mcp-inspect"))
            .args([
                "--interactive",
                "--revision",
                "2025-11-25",
                "--",
                "sh",
                "-c",
                SIGNALLING,
                signal,
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut commands = inspect.stdin.take().unwrap();
        let mut output = BufReader::new(inspect.stdout.take().unwrap());
        commands.write_all(b"call t\n").unwrap();
        if signal == "INT" {
            // The next command is performed.
            commands.write_all(b"tools\nquit\n").unwrap();
            let mut line = String::new();
            output.read_line(&mut line).unwrap();
            assert_eq!(line, "none\n");
        }
        let (sender, ended) = channel();
        thread::spawn(move || sender.send(inspect.wait().unwrap().code()));
        let code = ended.recv_timeout(Duration::from_secs(60));
        // The end of the commands would end the program, too.
        drop(commands);
        assert_eq!(code, Ok(Some(expected)), "SIG{signal}");
    }
}
