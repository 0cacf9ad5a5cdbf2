//! The program over HTTP: its addresses, its reload, its signals.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]
#![cfg(unix)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

/// A server in the shell, of the newest legacy revision: its only tool is called like its argument.
const SERVER: &str = r#"while read -r line; do
    id=${line#*'"id":'}; id=${id%%,*}
    case "$line" in
        *server/discover*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id" ;;
        *'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}\n' "$id" ;;
        *tools/list*) printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"%s","inputSchema":{"type":"object"}}]}}\n' "$id" "$1" ;;
        *tools/call*) printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%s"}]}}\n' "$id" "$1" ;;
    esac
done"#;

struct Gateway {
    child: Child,
    errors: BufReader<ChildStderr>,
    clients: String,
    operators: String,
    directory: TempDir,
}

impl Gateway {
    fn start(servers: Value) -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("server.sh"), SERVER).unwrap();
        std::fs::write(directory.path().join("gateway.json"), text(&directory, &servers)).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_mcp-sansio-gateway"));
        command.arg("--config").arg(directory.path().join("gateway.json"));
        command.args(["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        let errors = BufReader::new(child.stderr.take().unwrap());
        let clients = url.trim().strip_prefix("http://").unwrap().split('/').next().unwrap();
        let clients = clients.to_owned();
        let mut gateway = Self { child, errors, clients, operators: String::new(), directory };
        let line = gateway.error("operators on ");
        gateway.operators = line.rsplit_once("//").unwrap().1.to_owned();
        gateway
    }

    /// Waits for a line on standard error with this text.
    fn error(&mut self, wanted: &str) -> String {
        loop {
            let mut line = String::new();
            assert_ne!(self.errors.read_line(&mut line).unwrap(), 0, "no line with {wanted}");
            if line.contains(wanted) {
                return line.trim_end().to_owned();
            }
        }
    }

    fn file(&self) -> PathBuf {
        self.directory.path().join("gateway.json")
    }

    fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
    }

    /// Sends a request of an operator. Returns the status and the body.
    fn operate(&self, method: &str, path: &str, fields: &str) -> (u16, String) {
        let head = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n{fields}\r\n");
        exchange(&self.operators, &head)
    }

    /// Calls a tool without a session. Returns the response.
    fn call(&self, tool: &str) -> String {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": tool, "_meta": meta}})
        .to_string();
        let fields = "content-type: application/json\r\naccept: application/json, text/event-stream\r\n\
            mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call";
        let (address, length) = (&self.clients, body.len());
        let head = format!(
            "POST /mcp HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n{fields}\r\nmcp-name: {tool}\r\n\
             content-length: {length}\r\n\r\n{body}"
        );
        exchange(address, &head).1
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        // It has ended already, unless a test has failed.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

fn exchange(address: &str, request: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

/// Returns a file with a server for each name.
fn text(directory: &TempDir, servers: &Value) -> String {
    let script = directory.path().join("server.sh");
    let servers = servers.as_array().unwrap().iter().map(|name| {
        let name = name.as_str().unwrap();
        (name.to_owned(), json!({"command": "sh", "args": [script, name]}))
    });
    json!({"mcpServers": servers.collect::<serde_json::Map<_, _>>()}).to_string()
}

fn connected(gateway: &mut Gateway, names: &[&str]) {
    for _ in names {
        gateway.error(": connected, revision 2025-11-25");
    }
}

#[test]
fn operators_see_and_reload_the_gateway() {
    let mut gateway = Gateway::start(json!(["a", "b"]));
    connected(&mut gateway, &["a", "b"]);
    let host = "host: 127.0.0.1\r\n";
    assert_eq!(gateway.operate("GET", "/health", host), (200, "ok\n".into()));
    assert_eq!(gateway.operate("GET", "/ready", host), (200, "ready\n".into()));
    for host in ["host: [::1]\r\n", "host: [::1]:80\r\n", "host: localhost:80\r\n"] {
        assert_eq!(gateway.operate("GET", "/health", host), (200, "ok\n".into()), "{host}");
    }
    assert!(gateway.call("b__b").contains(r#""text":"b""#));
    let (code, status) = gateway.operate("GET", "/status", host);
    let status: Value = serde_json::from_str(&status).unwrap();
    assert_eq!(code, 200);
    let states: Vec<_> = (0..2)
        .map(|at| {
            let upstream = &status["upstreams"][at];
            (&upstream["name"], &upstream["state"], &upstream["revision"], &upstream["answered"])
        })
        .collect();
    let state = |name: &str, answered: u64| {
        (json!(name), json!("connected"), json!("2025-11-25"), json!(answered))
    };
    let expected = [state("a", 0), state("b", 1)];
    let expected: Vec<_> = expected.iter().map(|(a, b, c, d)| (a, b, c, d)).collect();
    assert_eq!(states, expected);

    // A mistake changes nothing.
    std::fs::write(gateway.file(), r#"{"mcpServers": {"a": {"comand": "sh"}}}"#).unwrap();
    let (code, mistake) = gateway.operate("POST", "/reload", host);
    assert!(
        code == 422 && mistake.contains("mcpServers.a: a server needs a command or a url"),
        "{mistake}"
    );
    assert!(gateway.call("a__a").contains(r#""text":"a""#));

    std::fs::write(gateway.file(), text(&gateway.directory, &json!(["a", "c"]))).unwrap();
    let (code, reloaded) = gateway.operate("POST", "/reload", host);
    assert_eq!((code, &*reloaded), (200, r#"{"kept":["a"],"started":["c"],"stopped":["b"]}"#));
    assert!(gateway.error("eload").ends_with(": reloaded, started: c, stopped: b"));
    assert!(gateway.call("c__c").contains(r#""text":"c""#));
    assert!(gateway.call("b__b").contains("no server here has this name"));

    let changed = text(&gateway.directory, &json!(["a"]));
    let changed = changed.replacen('{', r#"{"gateway":{"pageSize":7},"#, 1);
    std::fs::write(gateway.file(), changed).unwrap();
    gateway.signal("-HUP");
    let expected =
        "the member `gateway` of the file has changed: a reload leaves it, a new start uses it";
    gateway.error(expected);
    gateway.error("reloaded, stopped: c");
    gateway.signal("-TERM");
    assert_eq!(gateway.child.wait().unwrap().code(), Some(0));
}

/// Web pages send an `Origin`, or reach the address by a name of theirs.
#[test]
fn web_pages_cannot_operate_the_gateway() {
    let gateway = Gateway::start(json!(["a"]));
    for (method, path, fields, code) in [
        ("POST", "/reload", "host: 127.0.0.1\r\norigin: http://evil.example\r\n", 403),
        ("GET", "/status", "host: evil.example\r\n", 403),
        ("GET", "/status", "host: 127.0.0.1:9\r\n", 200),
        ("GET", "/health", "host: [::1]:9\r\n", 200),
        ("GET", "/health", "host: LOCALHOST\r\n", 200),
        ("GET", "/reload", "host: localhost\r\n", 405),
        ("POST", "/status", "host: localhost\r\n", 405),
        ("GET", "/", "host: localhost\r\n", 404),
    ] {
        assert_eq!(gateway.operate(method, path, fields).0, code, "{method} {path} {fields}");
    }
}

/// A gateway whose servers do not connect serves all the same, is not ready, and ends at once.
#[test]
fn a_gateway_without_servers_is_not_ready() {
    let mut gateway = Gateway::start(json!([]));
    let servers =
        json!({"mcpServers": {"a": {"command": "/no/such", "env": {"X": "${NO_SUCH:-1}"}}}});
    std::fs::write(gateway.file(), servers.to_string()).unwrap();
    let host = "host: localhost\r\n";
    assert_eq!(gateway.operate("GET", "/ready", host).0, 200, "without servers it is");
    assert_eq!(gateway.operate("POST", "/reload", host).0, 200);
    gateway.error("a: the server could not be started: No such file or directory");
    assert_eq!(gateway.operate("GET", "/ready", host).0, 503);
    let failure = gateway.call("a__x");
    assert!(failure.contains("the server a: it is not connected"), "{failure}");
    let before = Instant::now();
    gateway.signal("-INT");
    assert_eq!(gateway.child.wait().unwrap().code(), Some(0));
    assert!(before.elapsed() < Duration::from_secs(30));
}

/// The gateway does not name a URL on standard output that it cannot serve, and starts no servers that it would kill.
#[test]
fn mistakes_are_found_before_anything_is_started() {
    let directory = tempfile::tempdir().unwrap();
    let [file, started, missing] =
        ["gateway.json", "started", "missing"].map(|name| directory.path().join(name));
    let server = json!({"command": "touch", "args": [started]});
    let busy = TcpListener::bind("127.0.0.1:0").unwrap();
    let busy = busy.local_addr().unwrap().to_string();
    let not_found = format!("{}: No such file or directory (os error 2)", missing.display());
    let (resource, issuer) = ("https://g.example/mcp", "https://as.example");
    let authorization = json!({"resource": resource, "issuer": issuer, "keys": missing});
    let any = "127.0.0.1:0";
    for (is_in_file, gateway, expected) in [
        (true, json!({"listen": any, "hosts": ["a b"]}), "the host a b: "),
        (true, json!({"listen": any, "origins": ["a"]}), "the origin a: "),
        (
            true,
            json!({"listen": any, "tls": {"certificate": missing, "key": missing}}),
            &*not_found,
        ),
        (true, json!({"listen": any, "authorization": authorization}), &not_found),
        (false, json!({"listen": busy}), &format!("{busy}: ")),
    ] {
        let text = json!({"mcpServers": {"a": server}, "gateway": gateway}).to_string();
        std::fs::write(&file, text).unwrap();
        let checks: &[&[&str]] = if is_in_file { &[&["--check"], &[]] } else { &[&[]] };
        for check in checks {
            let mut command = Command::new(env!("CARGO_BIN_EXE_mcp-sansio-gateway"));
            let output = command.arg("--config").arg(&file).args(*check).output().unwrap();
            let stderr = String::from_utf8(output.stderr).unwrap();
            assert!(stderr.starts_with(&format!("mcp-sansio-gateway: {expected}")), "{stderr}");
            assert_eq!((output.status.code(), stderr.lines().count()), (Some(1), 1), "{stderr}");
            assert_eq!(String::from_utf8(output.stdout).unwrap(), "");
            assert!(!started.exists(), "{expected}");
        }
    }
}
