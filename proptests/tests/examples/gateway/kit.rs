//! A running gateway, with all of its output.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use crate::kit::{example, gateway};

/// A timeout longer than any operation of these tests takes.
const A_LONG_TIME: Duration = Duration::from_secs(120);

/// The `_meta` members of a modern client.
pub(super) const ALONE: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}},"sampling":{},"roots":{}}"#;

/// The end of a modern response of the gateway.
pub(super) const GATEWAY: &str =
    r#""_meta":{"io.modelcontextprotocol/serverInfo":{"name":"gateway","version":"0.1.0"}}"#;

/// Returns the command of an `everything_server` of one revision.
pub(super) fn everything(revision: &str) -> String {
    format!("'{}' --revision {revision}", example("everything_server").display())
}

/// Returns the same command with a copy of its input on standard error.
pub(super) fn everything_with_stderr_copy(revision: &str) -> String {
    format!(r#"sh -c "tee /dev/stderr | {}""#, everything(revision))
}

pub(super) struct Gateway {
    child: Child,
    stdin: Option<ChildStdin>,
    output: Receiver<String>,
    errors: Receiver<String>,
}

impl Gateway {
    pub(super) fn start(upstreams: &[(&str, &str)], options: &[&str]) -> Self {
        let mut command = Command::new(gateway());
        for (name, start) in upstreams {
            command.args(["--upstream", &format!("{name}={start}")]);
        }
        let pipes = command.args(options).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = pipes.stderr(Stdio::piped()).spawn().unwrap();
        let stdin = child.stdin.take();
        let output = lines(child.stdout.take().unwrap());
        let errors = lines(child.stderr.take().unwrap());
        Self { child, stdin, output, errors }
    }

    /// Starts a gateway with a legacy and a modern server.
    pub(super) fn of_both_eras() -> Self {
        let (old, new) = (everything("2025-11-25"), everything("2026-07-28"));
        Self::start(&[("old", &old), ("new", &new)], &[])
    }

    /// Opens a session with these capabilities.
    pub(super) fn open(&mut self, capabilities: &str) {
        let params = format!(
            r#"{{"protocolVersion":"2025-11-25","capabilities":{capabilities},"clientInfo":{{"name":"t","version":"1"}}}}"#
        );
        let opened = self.ask(&format!(
            r#"{{"jsonrpc":"2.0","id":"open","method":"initialize","params":{params}}}"#
        ));
        assert!(opened.contains(r#""protocolVersion":"2025-11-25""#), "{opened}");
        self.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    }

    pub(super) fn send(&mut self, line: &str) {
        writeln!(self.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Returns the next line of output.
    #[track_caller]
    pub(super) fn next(&self) -> String {
        self.output.recv_timeout(A_LONG_TIME).unwrap()
    }

    #[track_caller]
    pub(super) fn ask(&mut self, line: &str) -> String {
        self.send(line);
        self.next()
    }

    /// Waits for a line on standard error.
    #[track_caller]
    pub(super) fn error(&self, is_it: impl Fn(&str) -> bool) -> String {
        loop {
            let line = self.errors.recv_timeout(A_LONG_TIME).unwrap();
            if is_it(&line) {
                return line;
            }
        }
    }

    /// Closes the input, and expects the gateway to end without further output or errors.
    #[track_caller]
    pub(super) fn end(mut self) {
        self.close_input();
        self.is_over(0);
    }

    pub(super) fn close_input(&mut self) {
        drop(self.stdin.take());
    }

    /// Waits for the end of the gateway with this exit code.
    #[track_caller]
    pub(super) fn is_over(&mut self, code: i32) {
        assert_eq!(self.output.recv_timeout(A_LONG_TIME).ok(), None);
        assert_eq!(self.child.wait().unwrap().code(), Some(code));
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        // The process has ended already, unless a test has failed.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

fn lines(pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            _ = sender.send(line);
        }
    });
    lines
}

/// Returns a modern request with these members in its params.
pub(super) fn modern_gateway_request(id: &str, method: &str, members: &str) -> String {
    modern_gateway_request_with_meta(id, method, members, "")
}

/// Returns a modern request with additional metadata, which begins with a comma.
pub(super) fn modern_gateway_request_with_meta(
    id: &str,
    method: &str,
    members: &str,
    meta: &str,
) -> String {
    let comma = if members.is_empty() { "" } else { "," };
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{members}{comma}"_meta":{{{ALONE}{meta}}}}}}}"#
    )
}

/// Returns a request in a session.
pub(super) fn in_session(id: &str, method: &str, members: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{members}}}}}"#)
}

/// Returns the params of a tool call.
pub(super) fn tool(name: &str, arguments: &str) -> String {
    format!(r#""name":"{name}","arguments":{arguments}"#)
}

/// Returns the modern response of a tool with this text.
pub(super) fn modern_tool_response(id: &str, text: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","content":[{{"type":"text","text":"{text}"}}],{GATEWAY}}}}}"#
    )
}

/// Whether a process exists.
pub(super) fn is_alive(process: &str) -> bool {
    let mut kill = Command::new("kill");
    kill.args(["-0", process]).stderr(Stdio::null()).status().unwrap().success()
}

pub(super) fn signal(name: &str, process: &str) {
    assert!(Command::new("kill").args([name, process]).status().unwrap().success());
}
