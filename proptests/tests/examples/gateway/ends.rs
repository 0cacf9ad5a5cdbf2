//! The start and the end of the gateway and of its servers.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::kit::*;
use crate::kit::{example, gateway};

/// Returns a command that prints its process id on standard error, and then runs a server.
fn introduced(server: &str) -> String {
    format!(r#"sh -c "echo pid $$ >&2; exec {server}""#)
}

fn pid(gateway: &Gateway) -> String {
    let line = gateway.error(|line| line.starts_with("pid "));
    line.strip_prefix("pid ").unwrap().to_string()
}

/// Calls the slow tool of a server, and waits until it works on the call.
fn begin_slow(gateway: &mut Gateway, id: &str, server: &str) {
    let slow = tool(&format!("{server}__slow"), r#"{"ms":600000}"#);
    let members = format!(r#"{slow},"_meta":{{"progressToken":"p"}}"#);
    let first = gateway.ask(&in_session(id, "tools/call", &members));
    assert!(first.contains("notifications/progress"), "{first}");
}

/// Returns the next message that is no report of progress.
fn next_response(gateway: &Gateway) -> String {
    loop {
        let message = gateway.next();
        if !message.contains("notifications/progress") {
            return message;
        }
    }
}

/// The server is started again. Its lists are the same, so clients are not notified.
#[test]
fn a_killed_upstream_server_fails_only_its_own_calls() {
    let (mortal, other) = (introduced(&everything("2025-11-25")), everything("2026-07-28"));
    let mut gateway = Gateway::start(&[("mortal", &mortal), ("other", &other)], &[]);
    gateway.open("{}");
    let list = gateway.ask(&in_session("1", "tools/list", ""));
    assert!(list.contains("mortal__echo") && list.contains("other__echo"));
    let pid = pid(&gateway);
    begin_slow(&mut gateway, "2", "mortal");
    signal("-KILL", &pid);
    assert_eq!(
        next_response(&gateway),
        r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"the server mortal: the connection ended first: the peer ended the connection"}}"#
    );
    gateway.error(|line| {
        line == "mcp-sansio-gateway: mortal: the server has ended (signal: 9 (SIGKILL))"
    });
    gateway.error(|line| line == "mcp-sansio-gateway: mortal: connected, revision 2025-11-25");
    // The tools are those that the client has in its list, so it is not notified.
    for (id, server) in [("4", "mortal"), ("5", "other")] {
        let echo = tool(&format!("{server}__echo"), r#"{"text":"x"}"#);
        let answer = gateway.ask(&in_session(id, "tools/call", &echo));
        assert!(answer.contains(&format!(r#""id":{id},"result""#)), "{answer}");
    }
    gateway.end();
}

/// A server may close its output long before its process ends. Meanwhile, calls are not made on the old connection.
#[test]
fn a_connection_has_ended_before_the_exit_status_is_known() {
    let server = everything("2025-11-25");
    // The shell keeps no end of the pipes, and goes on after the server.
    let lingering = format!(
        r#"sh -c "exec 3<&0; {server} <&3 3<&- & echo pid $! >&2; exec <&- >&- 3<&-; wait; exec sleep 60 2>/dev/null""#
    );
    let mut gateway = Gateway::start(&[("a", &lingering)], &[]);
    let pid = pid(&gateway);
    gateway.open("{}");
    begin_slow(&mut gateway, "1", "a");
    signal("-KILL", &pid);
    let lost = next_response(&gateway);
    assert!(lost.contains("the connection ended first"), "{lost}");
    let echo = tool("a__echo", r#"{"text":"x"}"#);
    let answer = gateway.ask(&in_session("3", "tools/call", &echo));
    // A call after the next connection was opened, which a busy computer can have done already, has a result.
    let is_refused = answer.contains("the server a: it is not connected; the next attempt is in");
    assert!(is_refused || answer.contains(r#""id":3,"result""#), "{answer}");
    gateway.end();
}

/// A server that is a program writes to the same standard error, and would split a line of several writes.
#[test]
fn a_line_for_operators_is_one_write() {
    let (ours, theirs) = UnixDatagram::pair().unwrap();
    let mut check = Command::new(gateway());
    check.args(["--check", "--upstream", "a=true"]);
    let status = check.stderr(Stdio::from(OwnedFd::from(theirs))).status().unwrap();
    assert!(status.success());
    let mut buffer = [0; 1 << 10];
    let count = ours.recv(&mut buffer).unwrap();
    assert_eq!(str::from_utf8(&buffer[..count]), Ok("mcp-sansio-gateway: 1 servers\n"));
}

/// `printf '…' | gateway` gets its responses, and leaves no process behind.
#[test]
fn the_end_of_the_input_ends_everything() {
    let server = introduced(&everything("2025-11-25"));
    let mut gateway = Gateway::start(&[("a", &server)], &[]);
    gateway.send(&modern_gateway_request("1", "tools/call", &tool("a__slow", r#"{"ms":100}"#)));
    let pid = pid(&gateway);
    gateway.close_input();
    assert_eq!(gateway.next(), modern_tool_response("1", "slept 100 ms"));
    gateway.is_over(0);
    assert!(!is_alive(&pid));
}

#[test]
fn an_interrupt_ends_everything() {
    // This server ignores the end of its input.
    let server = r#"sh -c "echo pid $$ >&2; exec sleep 600""#;
    let mut gateway = Gateway::start(&[("a", server)], &[]);
    let pid = pid(&gateway);
    let ping = gateway.ask(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    assert_eq!(ping, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    signal("-INT", &gateway.id().to_string());
    gateway.is_over(130);
    assert!(!is_alive(&pid));
}

/// A server that sends nothing, and one that sends garbage.
#[test]
fn a_silent_upstream_server_does_not_block_the_others() {
    let babbling = format!(r#"sh -c "echo Welcome; exec {}""#, everything("2026-07-28"));
    let servers = [("silent", "sleep 600"), ("babbling", babbling.as_str())];
    let mut gateway = Gateway::start(&servers, &["--patience", "0.5"]);
    let echo = gateway.ask(&modern_gateway_request(
        "1",
        "tools/call",
        &tool("babbling__echo", r#"{"text":"x"}"#),
    ));
    assert_eq!(echo, modern_tool_response("1", "x"));
    let started = Instant::now();
    let list = gateway.ask(&modern_gateway_request("2", "tools/list", ""));
    assert!(Duration::from_millis(400) < started.elapsed());
    assert!(list.contains("babbling__echo") && !list.contains("silent__"));
    gateway.error(|line| {
        line == "mcp-sansio-gateway: silent: a client has got its tools without those of this server"
    });
    gateway.end();
}

/// Servers are probed before the client sends anything.
#[test]
fn servers_are_asked_at_once() {
    let gateway = Gateway::start(&[("a", &everything_with_stderr_copy("2026-07-28"))], &[]);
    for method in ["server/discover", "subscriptions/listen"] {
        gateway.error(|line| line.starts_with('{') && line.contains(method));
    }
    gateway.end();
}

/// A failure of a server is reported, and is an error of the requests that need the server.
#[test]
fn a_server_that_cannot_be_talked_to_is_named() {
    let alien = r#"{"protocolVersion":"2030-01-01","capabilities":{},"serverInfo":{"name":"s","version":"1"}}"#;
    let alien = format!(
        r#"while read -r line; do id=${{line#*'"id":'}}; printf '{{"jsonrpc":"2.0","id":%s,"result":{alien}}}\n' "${{id%%,*}}"; done"#
    );
    let alien = format!("sh -c \"{}\"", alien.replace('\\', r"\\").replace('"', r#"\""#));
    // The server reads before it ends, so that writing to it does not fail first.
    let table = [
        ("sh -c 'read -r line'", "the server ended before it answered (exit status: 0)"),
        (&alien, "2030-01-01"),
        ("/no/such", "the server could not be started: No such file or directory (os error 2)"),
    ];
    for (server, reported) in table {
        let mut gateway = Gateway::start(&[("a", server)], &[]);
        gateway
            .error(|line| line.starts_with("mcp-sansio-gateway: a: ") && line.contains(reported));
        let list = gateway.ask(&modern_gateway_request("1", "tools/list", ""));
        assert!(list.contains(r#""tools":[]"#), "{list}");
        let call = gateway.ask(&modern_gateway_request("2", "tools/call", &tool("a__x", "{}")));
        assert!(call.contains(r#""code":-32603,"message":"the server a: "#), "{call}");
        gateway.end();
    }
}

/// A server that ends when it is probed is started again without a probe.
#[test]
fn a_server_that_knows_only_sessions_is_started_again() {
    let shy = format!(
        r#"sh -c "read -r line; case \"$line\" in *server/discover*) exit 1 ;; esac; (echo \"$line\"; cat) | {}""#,
        everything("2025-06-18")
    );
    let mut gateway = Gateway::start(&[("shy", &shy)], &[]);
    gateway.send(&modern_gateway_request("1", "tools/call", &tool("shy__echo", r#"{"text":"x"}"#)));
    gateway.send(&modern_gateway_request("2", "prompts/list", ""));
    // Both requests wait for the server, and its responses arrive in any order.
    let mut answers = [gateway.next(), gateway.next()];
    answers.sort();
    assert_eq!(answers[0], modern_tool_response("1", "x"));
    assert!(answers[1].contains("shy__test_simple_prompt"), "{}", answers[1]);
    gateway.end();
}

#[test]
fn mistakes_on_the_command_line_are_explained() {
    let table: [(&[&str], i32, &str); 8] = [
        (&[], 2, "there is no server: name some with --upstream"),
        (&["--nonsense"], 2, "unexpected argument '--nonsense'"),
        (&["--upstream", "a"], 2, "not of the form NAME=COMMAND"),
        (
            &["--upstream", "a/b=c"],
            1,
            "mcpServers.a/b: the name of a server has letters, digits, `-`, `_` and `.` only",
        ),
        (&["--upstream", "a= "], 2, "there is no command"),
        (&["--upstream", "a='b"], 2, "there is a ' that is not closed"),
        (&["--upstream", "a=cat", "--upstream", "a=cat"], 1, "two servers are called a"),
        (&["--config", "/no/such"], 1, "gateway: /no/such: No such file"),
    ];
    for (arguments, code, reported) in table {
        let mut command = Command::new(gateway());
        let output = command.args(arguments).stdin(Stdio::null()).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(code), 0), "{stderr}");
        assert!(stderr.contains(reported), "{stderr}");
    }
}

/// `inspect` sees one server, for any servers behind the gateway.
#[test]
fn inspect_sees_one_server() {
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"] {
        let mut command = Command::new(example("inspect"));
        command.args(["--json", "--revision", revision, "--"]).arg(gateway());
        for (name, of) in [("old", "2024-11-05"), ("new", "2026-07-28")] {
            command.args(["--upstream", &format!("{name}={}", everything(of))]);
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(json["serverInfo"]["name"], "gateway");
        assert_eq!(json["tools"].as_array().unwrap().len(), 86);
        assert_eq!(
            (&json["tools"][0]["name"], &json["tools"][43]["name"]),
            (&"old__echo".into(), &"new__echo".into())
        );
    }
}
