//! Requests of a session that needs a login.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;

use clap::Parser;
use mcp_sansio::auth::{AuthorizerConfig, BrowserUrl, ClientMetadata, Stage};
use mcp_sansio::model::{CompleteParams, Reference};
use mcp_sansio_http::{AuthorizationHost, HostFuture};

use super::*;
use crate::login::Terminal;
use crate::remembered::Remembered;

/// A user who does nothing.
struct Absent;

impl AuthorizationHost for Absent {
    fn open_url<'a>(&'a self, _: &'a BrowserUrl, _: &'a Authorization) -> HostFuture<'a, ()> {
        Box::pin(async {})
    }
}

/// Serves a legacy server that requires a login for completions, and its authorization server.
/// With `is_silent`, the latter does not respond.
fn serve(mut stream: TcpStream, address: SocketAddr, is_silent: bool, registrations: &AtomicUsize) {
    let mut reader = BufReader::new(&stream);
    let (mut head, mut length) = (String::new(), 0);
    while !head.ends_with("\r\n\r\n") {
        let start = head.len();
        reader.read_line(&mut head).unwrap();
        let line = head[start..].to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let body = String::from_utf8(body).unwrap();
    let target = head.split(' ').nth(1).unwrap();
    while is_silent && target.starts_with("/.well-known/") {
        thread::park();
    }
    let origin = format!("http://{address}");
    let (status, body) = match target {
        "/mcp" if body.contains("completion/complete") => {
            ("401 Unauthorized\r\nWWW-Authenticate: Bearer", String::new())
        }
        "/mcp" if body.contains("\"initialize\"") => (
            "200 OK",
            r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"completions":{}},"serverInfo":{"name":"s","version":"1"}}}"#.into(),
        ),
        "/mcp" if !body.is_empty() => ("202 Accepted", String::new()),
        "/.well-known/oauth-protected-resource/mcp" => (
            "200 OK",
            format!(r#"{{"resource":"{origin}/mcp","authorization_servers":["{origin}"]}}"#),
        ),
        "/.well-known/oauth-authorization-server" => (
            "200 OK",
            format!(
                r#"{{"issuer":"{origin}","authorization_endpoint":"{origin}/authorize","token_endpoint":"{origin}/token","registration_endpoint":"{origin}/register","code_challenge_methods_supported":["S256"],"token_endpoint_auth_methods_supported":["none"]}}"#
            ),
        ),
        "/register" => {
            registrations.fetch_add(1, Ordering::Relaxed);
            ("201 Created", r#"{"client_id":"c"}"#.into())
        }
        _ => ("405 Method Not Allowed", String::new()),
    };
    let length = body.len();
    let text = format!(
        "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    _ = stream.write_all(text.as_bytes());
}

/// The line editor reads no key meanwhile.
#[test]
fn a_completion_does_not_wait_for_a_login() {
    for (has_terminal, is_silent) in [(false, false), (true, false), (true, true)] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let registrations = Arc::<AtomicUsize>::default();
        let registered = Arc::clone(&registrations);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, registered) = (stream.unwrap(), Arc::clone(&registered));
                thread::spawn(move || serve(stream, address, is_silent, &registered));
            }
        });
        let url = format!("http://{address}/mcp");
        let (done, ended) = channel();
        thread::spawn(move || {
            let arguments = ["inspect", "--revision", "2025-11-25", &url];
            let arguments = Arguments::try_parse_from(arguments).unwrap();
            let mut login = AuthorizerConfig::new(&url).unwrap();
            login.registration = Some(ClientMetadata::native("test"));
            let remembered = Remembered::of(login.server());
            let authorization = match has_terminal {
                true => Authorization::new(login, Terminal::new(false, remembered)),
                false => Authorization::new(login, Absent),
            };
            let ending = Arc::new(Ending::default());
            let answers = Answers::new(&arguments, Arc::default(), Arc::clone(&ending));
            let login = Some(authorization.clone());
            let opened = http::connect(config(&arguments), (&url, &[]), login, &ending, answers);
            let opened = opened.unwrap();
            let session = Session {
                authorization: opened.authorization,
                runtime: Some(opened.runtime),
                ..Session::with(opened.connection, &arguments, ending)
            };
            let params = CompleteParams::new(Reference::prompt("p"), "a", "b");
            let patience = Duration::from_secs(2);
            for _ in 0..2 {
                let asked = session.ask_quietly::<method::Complete>(&params, patience);
                done.send((asked.is_err(), authorization.stage())).unwrap();
            }
            session.close(Duration::ZERO);
        });
        for _ in 0..2 {
            let ended = ended.recv_timeout(Duration::from_secs(60));
            assert_eq!(ended, Ok((true, Stage::Idle)), "{has_terminal} {is_silent}");
        }
        // No client is registered for a login that the user does not see.
        let registered = registrations.load(Ordering::Relaxed);
        assert!(!has_terminal || registered == 0, "{registered} registrations");
    }
}
