//! The configuration file: what it may contain, and how mistakes are explained.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::time::Duration;

use mcp_sansio_gateway::config::file::ConfigFile;
use mcp_sansio_gateway::config::{Sharing, UpstreamTransport};

fn variable(name: &str) -> Option<String> {
    (name == "TOKEN").then(|| "secret".to_owned())
}

fn parse(text: &str) -> ConfigFile {
    ConfigFile::parse(text, variable).unwrap()
}

/// A file of another host, with members that only that host knows.
#[test]
fn a_file_of_another_host_is_a_configuration() {
    let file = parse(
        r#"{
            // A comment.
            "inputs": [{"id": "key"}],
            "mcpServers": {
                "files": {
                    "type": "stdio", "command": "npx", "args": ["-y", "server", "${HOME_DIR:-/tmp}"],
                    "env": {"TOKEN": "${env:TOKEN}"}, "cwd": "/tmp", "autoApprove": ["${input:key}"],
                },
                "off": {"disabled": true, "command": "${NO_SUCH}"},
                "web": {"serverUrl": "https://web.example/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}},
            },
        }"#,
    );
    let [files, web] = &file.gateway.upstreams[..] else { panic!("{file:?}") };
    let UpstreamTransport::Command(command) = &files.transport else { panic!("{files:?}") };
    assert_eq!(
        (&*command.program, &command.arguments[..]),
        ("npx", &["-y", "server", "/tmp"].map(String::from)[..])
    );
    assert_eq!(command.environment["TOKEN"], "secret");
    let UpstreamTransport::Http(http) = &web.transport else { panic!("{web:?}") };
    assert_eq!(
        (&*http.url, &*http.headers["Authorization"]),
        ("https://web.example/mcp", "Bearer secret")
    );
    assert_eq!(web.names.prefix, "web__");
    assert_eq!(file.serve.listen, None);
    // No secret is shown.
    assert!(!format!("{file:?}").contains("secret"));
}

/// The first server comes first, whatever it is called: of servers with the same resource or name, it serves them. The last
/// one of a repeated name counts, in the place of the first.
#[test]
fn servers_keep_the_order_of_the_file() {
    let file = parse(
        r#"{"mcpServers": {
            "trusted": {"command": "x"}, "off": {"disabled": true, "command": "x"}, "attic": {"command": "x"},
            "b": {"command": "x"}, "trusted": {"command": "y"}
        }}"#,
    );
    let names: Vec<&str> = file.gateway.upstreams.iter().map(|one| &*one.name).collect();
    assert_eq!(names, ["trusted", "attic", "b"]);
    let UpstreamTransport::Command(command) = &file.gateway.upstreams[0].transport else {
        panic!()
    };
    assert_eq!(command.program, "y");
}

#[test]
fn members_of_the_gateway_are_read() {
    let file = parse(
        r#"{
            "mcpServers": {"a": {"command": "x", "gateway": {
                "prefix": "", "allow": ["r*"], "deny": ["*s"], "rename": {"read": "get"},
                "sessions": "perClient", "mostSessions": 3, "sessionIdleSeconds": 1.5,
                "mostCalls": 5, "callSeconds": 7, "connectSeconds": 8, "listSeconds": 9, "listAgeSeconds": 10,
                "pingSeconds": 0, "drainSeconds": 11}}},
            "gateway": {"name": "n", "instructions": "i", "listen": "127.0.0.1:1", "path": "/p", "admin": "127.0.0.1:2",
                "hosts": ["h"], "origins": ["https://o"], "pageSize": 3,
                "stateKey": "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1eFF"}
        }"#,
    );
    let config = &file.gateway.upstreams[0];
    let seconds = Duration::from_secs;
    assert_eq!(config.sharing, Sharing::PerClient { most: 3, idle: Duration::from_millis(1_500) });
    assert_eq!((config.most_calls, config.most_calls_of_client), (5, 5));
    assert_eq!((config.call_timeout, config.connect_timeout), (seconds(7), seconds(8)));
    assert_eq!((config.list_timeout, config.list_age), (seconds(9), seconds(10)));
    assert_eq!((config.ping_every, config.drain), (None, seconds(11)));
    assert_eq!(config.names.shown("read").as_deref(), Some("get"));
    let key = file.gateway.state_key.unwrap();
    assert_eq!((key[0], key[1], key[31]), (0, 1, 255));
    assert_eq!((&*file.gateway.name, file.gateway.page_size, &*file.serve.path), ("n", 3, "/p"));
}

/// Each mistake names its place, and no value.
#[test]
fn mistakes_in_the_file_name_their_place() {
    let of_server = |members: &str| format!(r#"{{"mcpServers": {{"a": {{{members}}}}}}}"#);
    let of_both =
        |members: &str| of_server(&format!(r#""command": "x", "gateway": {{{members}}}"#));
    let of_gateway = |members: &str| format!(r#"{{"mcpServers": {{}}, "gateway": {{{members}}}}}"#);
    let table = [
        (String::new(), "the file: it is empty"),
        ("{".into(), "the file: "),
        ("[]".into(), "the file: "),
        ("{}".into(), "the file: missing field `mcpServers`"),
        (of_server(""), "mcpServers.a: a server needs a command or a url"),
        (of_server(r#""command": "x", "url": "y""#), "mcpServers.a: a server has either a command or a url"),
        (of_server(r#""command": 7"#), "mcpServers.a.command: invalid type, expected a string"),
        (of_server(r#""command": "x", "args": ["a", 7]"#), "mcpServers.a.args[1]: invalid type, expected a string"),
        (of_server(r#""command": "x", "args": ["${NO_SUCH}"]"#), "mcpServers.a.args[0]: the variable NO_SUCH is not set"),
        (of_both(r#""mostCals": 1"#), "mcpServers.a.gateway.mostCals: unknown field `mostCals`"),
        (of_both(r#""mostCalls": 0"#), "mcpServers.a.gateway.mostCalls: at least 1 is needed"),
        (of_both(r#""mostCalls": 1001"#), "mcpServers.a.gateway.mostCalls: at most 1000 are possible"),
        (of_both(r#""callSeconds": -1"#), "mcpServers.a.gateway.callSeconds: not a number of seconds"),
        (of_both(r#""callSeconds": 1e300"#), "mcpServers.a.gateway.callSeconds: not a number of seconds"),
        (of_both(r#""mostSessions": 2"#), "mcpServers.a.gateway.sessions: limits of sessions need `perClient`"),
        (of_both(r#""sessions": "own""#), "mcpServers.a.gateway.sessions: unknown value, expected "),
        (of_server(r#""command": "x", "disabled": "true""#), "mcpServers.a.disabled: it is true or false"),
        (of_server(r#""command": "x" "args": []"#), "the file: "),
        (of_server(r#"'command': "x""#), "the file: "),
        (of_server(r#"command: "x""#), "the file: "),
        (of_both(r#""mostCalls": 0x10"#), "the file: "),
        (of_both(r#""scopes": ["a b"]"#), "mcpServers.a.gateway.scopes[0]: not a scope"),
        (of_both(r#""scopes": ["a"]"#), "mcpServers.a.gateway.scopes: no client has scopes without"),
        (of_both(r#""rename": {"x": "z", "y": "z"}"#), "mcpServers.a.gateway.rename: two names become z"),
        (of_both(r#""oauth": {"clientId": "i", "clientSecret": "s"}"#), "mcpServers.a.gateway.oauth: a program needs no token"),
        (of_server(r#""url": "http://h/", "headers": {"X Y": "z"}"#), "mcpServers.a.headers.X Y: "),
        (of_server(r#""url": "http://h/", "headers": {"Host": "z"}"#), "mcpServers.a.headers.Host: "),
        (
            of_server(r#""url": "h", "gateway": {"oauth": {"clientId": "i", "clientSecret": "s"}}"#),
            "mcpServers.a.url: ",
        ),
        (r#"{"mcpServers": {"a b": {"command": "x"}}}"#.into(), "mcpServers.a b: the name of a server has letters"),
        (
            r#"{"mcpServers": {"a": {"command": "x", "gateway": {"prefix": "p"}}, "b": {"command": "x", "gateway": {"prefix": "p"}}}}"#.into(),
            "mcpServers.b.gateway.prefix: one of `p` and `p` (a) begins with the other",
        ),
        (of_gateway(r#""listen": "nowhere""#), "gateway.listen: "),
        (of_gateway(r#""path": "mcp""#), "gateway.path: a path begins with /"),
        (of_gateway(r#""pageSize": 0"#), "gateway.pageSize: a page has at least one item"),
        (of_gateway(r#""stateKey": "00""#), "gateway.stateKey: a key has 64 hexadecimal digits"),
        (of_gateway(&format!(r#""stateKey": "{}""#, "+f".repeat(32))), "gateway.stateKey: a key has 64 hexadecimal digits"),
        (of_gateway(r#""tls": {"certificate": "c"}"#), "gateway.tls: missing field `key`"),
    ];
    for (text, expected) in table {
        let mistake = ConfigFile::parse(&text, variable).unwrap_err().to_string();
        assert!(mistake.starts_with(expected), "{text}: {mistake}");
    }
    let secret = of_server(r#""command": "x", "env": {"A": ["secret"]}"#);
    let mistake = ConfigFile::parse(&secret, variable).unwrap_err().to_string();
    assert!(
        mistake.starts_with("mcpServers.a.env.A: ") && !mistake.contains("secret"),
        "{mistake}"
    );
}
