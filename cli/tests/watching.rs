//! The exit code of `--watch`.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Watches a server, which is a script. Returns the exit code, standard output and standard error.
fn watch(arguments: &[&str], script: &str) -> (Option<i32>, String, String) {
    let mut watching = Command::new(env!("CARGO_BIN_EXE_mcp-inspect"));
    watching.arg("--watch").args(arguments).args(["--", "sh", "-c", script]);
    let output = watching.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

const OLD: [&str; 2] = ["--revision", "2025-11-25"];
const MODERN: [&str; 2] = ["--revision", "2026-07-28"];

/// The beginning of a legacy server, up to the response to `resources/list`, with two resources.
const LEGACY: &str = r#"read opening
    echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"resources":{"subscribe":true}},"serverInfo":{"name":"s","version":"1"}}}'
    read opened; read list
    echo '{"jsonrpc":"2.0","id":2,"result":{"resources":[{"uri":"a:1","name":"1"},{"uri":"a:2","name":"2"}]}}'
    read first"#;

const OFFERED: &str = r#"read asked
    echo '{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}},"ttlMs":0,"cacheScope":"private"}}'
    read subscribed"#;

#[test]
fn a_refused_subscription_is_a_failure() {
    let script = format!(
        r#"{LEGACY}
        echo '{{"jsonrpc":"2.0","id":3,"error":{{"code":-32603,"message":"not today"}}}}'
        read second
        echo '{{"jsonrpc":"2.0","id":4,"result":{{}}}}'
        cat > /dev/null"#
    );
    let (code, stdout, stderr) = watch(&[&OLD[..], &["--for", "0.1"]].concat(), &script);
    let refused = "resources/subscribe failed: the peer answered with error -32603: not today";
    assert_eq!((stdout.as_str(), stderr), ("", format!("a:1: {refused}\nwatching\n")));
    assert_eq!(code, Some(1));
}

#[test]
fn a_refused_modern_subscription_is_a_failure() {
    let script = format!(
        r#"{OFFERED}
        echo '{{"jsonrpc":"2.0","id":2,"error":{{"code":-32603,"message":"not today"}}}}'
        cat > /dev/null"#
    );
    let (code, stdout, stderr) = watch(&[&MODERN[..], &["--for", "1"]].concat(), &script);
    assert_eq!(stderr, "the server tells no more: not today\n");
    assert_eq!((code, stdout.as_str()), (Some(1), ""));
}

/// Nothing is left to wait for.
#[test]
fn the_end_of_the_only_subscription_is_the_end_of_the_watching() {
    let script = format!(
        r#"{OFFERED}
        echo '{{"jsonrpc":"2.0","id":2,"error":{{"code":-32603,"message":"not today"}}}}'
        cat > /dev/null"#
    );
    let begun = Instant::now();
    let (code, _, stderr) = watch(&[&MODERN[..], &["--for", "60"]].concat(), &script);
    assert_eq!((code, &*stderr), (Some(1), "the server tells no more: not today\n"));
    assert!(begun.elapsed() < Duration::from_secs(60));
}

/// Standard output may be a pipe to `head`, which closes it.
#[test]
fn watching_ends_with_its_reader() {
    let script = r#"read opening
        echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"s","version":"1"}}}'
        read opened
        while echo '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'; do sleep 0.1; done"#;
    let begun = Instant::now();
    let mut watching = Command::new(env!("CARGO_BIN_EXE_mcp-inspect"))
        .args(["--watch", "--for", "60"])
        .args(OLD)
        .args(["--", "sh", "-c", script])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut first = String::new();
    BufReader::new(watching.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert_eq!(first, "tools changed\n");
    assert_eq!(watching.wait().unwrap().code(), Some(0));
    assert!(begun.elapsed() < Duration::from_secs(60));
}

#[test]
fn a_server_that_ends_while_it_is_watched_is_a_failure() {
    let legacy = format!(
        r#"{LEGACY}
        echo '{{"jsonrpc":"2.0","id":3,"result":{{}}}}'
        read second
        echo '{{"jsonrpc":"2.0","id":4,"result":{{}}}}'
        exit 3"#
    );
    let modern = format!("{OFFERED}; exit 3");
    for (revision, script) in [(OLD, legacy), (MODERN, modern)] {
        let (code, stdout, stderr) = watch(&[&revision[..], &["--for", "60"]].concat(), &script);
        let over = "inspect: the session has ended, and nothing is watched any more\n\
            The server has ended (exit status: 3).\n";
        assert!(stderr.ends_with(over), "{stderr}");
        assert_eq!((code, stdout.as_str()), (Some(1), ""));
    }
}

/// A server that ends at `server/discover` is started again, and then watched.
#[test]
fn the_end_of_the_first_process_is_not_the_end_of_the_watching() {
    let script = r#"read asked
        case $asked in *server/discover*) exit 1;; esac
        echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"s","version":"1"}}}'
        cat > /dev/null"#;
    let begun = Instant::now();
    let (code, _, stderr) = watch(&["--for", "1"], script);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(Duration::from_secs(1) <= begun.elapsed(), "{stderr}");
}

/// Reads a request. Returns its method and its body.
fn read(stream: &TcpStream) -> Option<(String, String)> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let method = line.split(' ').next()?.to_owned();
    let mut length = 0;
    loop {
        let mut field = String::new();
        reader.read_line(&mut field).ok()?;
        let Some((name, value)) = field.split_once(':') else { break };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((method, String::from_utf8(body).unwrap()))
}

/// Serves sessions with one resource. The event stream of a session ends at once, and then the session is unknown.
fn serve(listener: &TcpListener) {
    let (mut sessions, mut streams) = (0, 0);
    for stream in listener.incoming() {
        let mut stream = stream.unwrap();
        let Some((method, body)) = read(&stream) else { continue };
        let id = body.split(r#""id":"#).nth(1).unwrap_or_default();
        let id: String = id.chars().take_while(char::is_ascii_digit).collect();
        let result = |result: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
        let json = "200 OK\r\nContent-Type: application/json";
        let (head, body) = match &*method {
            "POST" if body.contains(r#""initialize""#) => {
                sessions += 1;
                let result = result(
                    r#"{"protocolVersion":"2025-11-25","capabilities":{"resources":{"subscribe":true}},"serverInfo":{"name":"s","version":"1"}}"#,
                );
                (format!("{json}\r\nMcp-Session-Id: {sessions}"), result)
            }
            "POST" if body.contains("resources/list") => {
                (json.into(), result(r#"{"resources":[{"uri":"a:1","name":"1"}]}"#))
            }
            "POST" if body.contains("resources/subscribe") => (json.into(), result("{}")),
            "POST" => ("202 Accepted".into(), String::new()),
            _ => {
                streams += 1;
                match streams {
                    1 => {
                        // Long enough for the subscription.
                        let head = "200 OK\r\nContent-Type: text/event-stream";
                        thread::spawn(move || {
                            _ = write!(stream, "HTTP/1.1 {head}\r\n\r\nretry: 10\n\n");
                            thread::sleep(Duration::from_secs(1));
                        });
                        continue;
                    }
                    2 => ("404 Not Found".into(), String::new()),
                    _ => ("405 Method Not Allowed".into(), String::new()),
                }
            }
        };
        let length = body.len();
        let text = format!(
            "HTTP/1.1 {head}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        stream.write_all(text.as_bytes()).unwrap();
    }
}

/// The subscriptions of a session end with it, so a session that is replaced is not watched any more.
#[test]
fn a_replaced_session_is_a_failure() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    thread::spawn(move || serve(&listener));
    let mut watching = Command::new(env!("CARGO_BIN_EXE_mcp-inspect"));
    watching.args(["--watch", "--for", "60"]).args(OLD).arg(url);
    let output = watching.output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    let lost = "inspect: the server has replaced the session, and nothing is watched any more\n";
    assert_eq!(stderr, format!("watching\n{lost}"));
    assert_eq!(output.status.code(), Some(1));
}
