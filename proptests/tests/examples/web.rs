//! `axum_server` and `https_server`.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use crate::inspect::texts;
use crate::kit::example;

/// A server that prints its URL, and is killed on drop.
struct Served {
    server: Child,
    url: String,
}

impl Served {
    fn new(name: &str, arguments: &[&str]) -> Self {
        let mut command = Command::new(example(name));
        let mut server = command.args(arguments).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self { server, url: line.trim().to_owned() }
    }

    /// Sends a request as it stands, and returns the response in lower case.
    fn send(&self, head: &str, body: &str) -> String {
        let address = self.url.strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        let length = body.len();
        let request = format!("{head}Connection: close\r\nContent-Length: {length}\r\n\r\n{body}");
        stream.write_all(request.as_bytes()).unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        response.to_lowercase()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.server.kill().unwrap();
        self.server.wait().unwrap();
    }
}

fn greet(served: &Served, token: &str) -> Output {
    let header = format!("Authorization: Bearer {token}");
    let mut inspect = Command::new(example("inspect"));
    inspect.args(["--header", &header, "--call", "greet", r#"{"word":"Hello"}"#, &served.url]);
    inspect.output().unwrap()
}

#[test]
fn an_endpoint_behind_the_layers_of_an_application() {
    let served = Served::new("axum_server", &["--port", "0", "--origin", "https://app.example"]);
    let health = served.send("GET /health HTTP/1.1\r\nHost: localhost\r\n", "");
    assert!(
        health.starts_with("http/1.1 200 ok\r\n") && health.ends_with("\r\n\r\nok"),
        "{health}"
    );
    assert_eq!(texts(&greet(&served, "alice-secret"), 0).0, "Hello, Alice!\n");
    assert_eq!(texts(&greet(&served, "bob-secret"), 0).0, "Hello, Bob!\n");
    let (_, refused) = texts(&greet(&served, "a guess"), 1);
    assert!(refused.contains("401"), "{refused}");

    let initialize = |token: &str, session: &str| {
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nOrigin: https://app.example\r\nAuthorization: Bearer {token}\r\n{session}"
        );
        let ping = r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#;
        let initialize = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
        served.send(&head, if session.is_empty() { initialize } else { ping })
    };
    let opened = initialize("alice-secret", "");
    assert!(opened.starts_with("http/1.1 200 ok\r\n"), "{opened}");
    assert!(opened.contains("access-control-allow-origin: https://app.example\r\n"), "{opened}");
    let id = opened.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap();
    // The session belongs to the user that the layer found.
    let session = format!("Mcp-Session-Id: {id}\r\nMCP-Protocol-Version: 2025-11-25\r\n");
    let (own, other) = (initialize("alice-secret", &session), initialize("bob-secret", &session));
    assert!(own.starts_with("http/1.1 200 ok\r\n"), "{own}");
    assert!(other.starts_with("http/1.1 404 not found\r\n"), "{other}");
}

#[test]
fn a_preflight_request_needs_no_token() {
    let served = Served::new("axum_server", &["--port", "0", "--origin", "https://app.example"]);
    let ask = |origin: &str| {
        let head = format!(
            "OPTIONS /mcp HTTP/1.1\r\nHost: localhost\r\nOrigin: {origin}\r\nAccess-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: authorization, mcp-param-city\r\n"
        );
        served.send(&head, "")
    };
    let allowed = ask("https://app.example");
    assert!(allowed.starts_with("http/1.1 200 ok\r\n"), "{allowed}");
    for field in [
        "access-control-allow-origin: https://app.example\r\n",
        "access-control-allow-methods: get,post,delete\r\n",
        "access-control-allow-headers: authorization, mcp-param-city\r\n",
    ] {
        assert!(allowed.contains(field), "{allowed}");
    }
    assert!(!ask("https://evil.example").contains("access-control-allow-origin"));
    let host = "POST /mcp HTTP/1.1\r\nHost: evil.example\r\nAuthorization: Bearer bob-secret\r\n";
    let refused = served.send(host, "{}");
    assert!(refused.starts_with("http/1.1 403 forbidden\r\n"), "{refused}");
    assert!(refused.contains("(httpserverconfig::hosts)"), "{refused}");
}

/// A folder with a certificate for `localhost` and its key, which is removed at the end.
struct Certificate(PathBuf);

impl Certificate {
    fn new(name: &str) -> Self {
        let name = format!("mcp-sansio-https-{}-{name}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        fs::write(folder.join("cert.pem"), made.cert.pem()).unwrap();
        fs::write(folder.join("key.pem"), made.signing_key.serialize_pem()).unwrap();
        Self(folder)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
}

impl Drop for Certificate {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn inspect_checks_the_certificate_of_a_server() {
    let certificate = Certificate::new("checked");
    let (chain, key) = (certificate.file("cert.pem"), certificate.file("key.pem"));
    let arguments = ["--certificate", &chain, "--key", &key, "--port", "0"];
    let served = Served::new("https_server", &arguments);
    let inspect = |roots: &str| {
        let mut inspect = Command::new(example("inspect"));
        inspect.env("SSL_CERT_FILE", roots).env_remove("SSL_CERT_DIR");
        inspect.args(["--call", "reverse", r#"{"text":"abc"}"#, &served.url]).output().unwrap()
    };
    assert_eq!(texts(&inspect(&chain), 0), ("cba\n".into(), String::new()));
    let other = Certificate::new("other");
    let (_, refused) = texts(&inspect(&other.file("cert.pem")), 1);
    assert!(refused.contains("the TLS handshake failed (localhost:"), "{refused}");
    assert!(refused.contains("caused by: invalid peer certificate: "), "{refused}");
    // A file without certificates is no reason to trust every server.
    let (_, refused) = texts(&inspect(&key), 1);
    assert!(
        refused.starts_with(&format!("inspect: {}: no certificate can be", served.url)),
        "{refused}"
    );
    // A client that does not speak TLS does not disturb the others.
    let address = served.url.strip_prefix("https://localhost:").unwrap();
    let port = address.strip_suffix("/mcp").unwrap().parse().unwrap();
    let mut garbage = TcpStream::connect(("127.0.0.1", port)).unwrap();
    garbage.write_all(b"POST /mcp HTTP/1.1\r\n\r\n").unwrap();
    garbage.read_to_end(&mut Vec::new()).unwrap();
    assert_eq!(texts(&inspect(&chain), 0).0, "cba\n");
}

#[test]
fn https_server_explains_a_wrong_certificate() {
    let (one, other) = (Certificate::new("one"), Certificate::new("two"));
    let (chain, key) = (one.file("cert.pem"), other.file("key.pem"));
    let missing = one.file("missing.pem");
    let table = [
        (&missing, &key, format!("https_server: {missing}: ")),
        (&chain, &key, "https_server: the certificate cannot be used: ".into()),
        (&key, &key, "https_server: there is no certificate in the chain\n".into()),
    ];
    for (chain, key, reason) in table {
        let mut server = Command::new(example("https_server"));
        server.args(["--certificate", chain, "--key", key, "--port", "0"]);
        let (stdout, stderr) = texts(&server.output().unwrap(), 1);
        assert!(stdout.is_empty() && stderr.starts_with(&reason), "{stderr}");
    }
}
