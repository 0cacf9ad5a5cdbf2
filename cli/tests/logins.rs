//! The end of the program while its login is refreshed.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mcp_sansio::auth::WebUrl;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// How long the response with the new tokens takes: long enough for a program that does not wait to end.
const LATE: Duration = Duration::from_secs(2);

/// A legacy server with its authorization server. It responds to a call once a refresh has begun.
#[derive(Clone, Default)]
struct Server {
    is_refreshing: Arc<(Mutex<bool>, Condvar)>,
}

impl Server {
    fn start(&self) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = self.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (server, stream) = (server.clone(), stream.unwrap());
                thread::spawn(move || server.serve(stream));
            }
        });
        address
    }

    fn serve(&self, mut stream: TcpStream) {
        let Some((head, body)) = read(&stream) else { return };
        let (flag, change) = &*self.is_refreshing;
        let (status, body) = if head.starts_with("POST /token ") {
            assert!(body.contains("refresh_token=old-refresh"), "{body}");
            *flag.lock().unwrap() = true;
            change.notify_all();
            thread::sleep(LATE);
            let tokens = json!({
                "access_token": "new", "token_type": "Bearer", "expires_in": 3600,
                "refresh_token": "new-refresh",
            });
            ("200 OK", tokens.to_string())
        } else if head.starts_with("POST /mcp ") {
            let message: Value = serde_json::from_str(&body).unwrap();
            let result = match message["method"].as_str().unwrap() {
                "initialize" => json!({
                    "protocolVersion": "2025-11-25", "capabilities": { "tools": {} },
                    "serverInfo": { "name": "s", "version": "1" },
                }),
                "tools/call" => {
                    drop(change.wait_while(flag.lock().unwrap(), |begun| !*begun).unwrap());
                    json!({ "content": [{ "type": "text", "text": "done" }] })
                }
                _ => Value::Null,
            };
            match result {
                Value::Null => ("202 Accepted", String::new()),
                result => {
                    let response =
                        json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
                    ("200 OK", response.to_string())
                }
            }
        } else {
            ("405 Method Not Allowed", String::new())
        };
        let length = body.len();
        let text = format!(
            "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        );
        _ = stream.write_all(text.as_bytes());
    }
}

/// Reads a request. Returns its head and its body.
fn read(stream: &TcpStream) -> Option<(String, String)> {
    let mut reader = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        if line.trim_end().is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        head += &line;
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((head, String::from_utf8(body).unwrap()))
}

/// A folder for the state of the program, which is removed at the end.
struct State(PathBuf);

impl State {
    fn new(name: &str) -> Self {
        let name = format!("mcp-inspect-{name}-{}", std::process::id());
        Self(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name))
    }

    /// Returns the file of the login to this URL.
    fn file(&self, url: &str) -> PathBuf {
        let digest = Sha256::digest(WebUrl::parse(url).unwrap().canonical());
        let name: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        self.0.join("mcp-sansio").join("inspect").join(name + ".json")
    }
}

impl Drop for State {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Returns a login whose token is valid, and due for a refresh.
fn due(address: SocketAddr) -> Value {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let issuer = format!("http://{address}");
    let client = json!({
        "issuer": issuer, "client_id": "c", "secret": null, "secret_expires_at": null,
        "key": null, "method": null, "redirect_uri": null, "source": "Registered",
    });
    let grant = json!({
        "issuer": issuer, "resource": format!("{issuer}/mcp"),
        "token_endpoint": format!("{issuer}/token"), "client": client, "method": "none",
        "access_token": "old", "refresh_token": "old-refresh",
        // A token is refreshed in its last minute.
        "issued_at": now - 3600, "expires_at": now + 50, "requested": [], "granted": [],
    });
    json!({ "version": 1, "generation": 1, "clients": [client], "grant": grant })
}

/// The old refresh token is used up, so the new one has to be stored even if the program is done.
#[test]
fn the_end_of_the_program_waits_for_new_tokens() {
    let state = State::new("refresh");
    let address = Server::default().start();
    let url = format!("http://{address}/mcp");
    let file = state.file(&url);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, due(address).to_string()).unwrap();
    let mut inspect = Command::new(env!("CARGO_BIN_EXE_mcp-inspect"));
    inspect.args(["--revision", "2025-11-25", "--call", "t", "{}", &url]);
    for variable in ["XDG_STATE_HOME", "LOCALAPPDATA"] {
        inspect.env(variable, &state.0);
    }
    let output = inspect.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    assert_eq!((text(output.stdout).as_str(), output.status.code()), ("done\n", Some(0)));
    let stored: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(stored["grant"]["access_token"], "new", "{}", text(output.stderr));
    assert_eq!(stored["grant"]["refresh_token"], "new-refresh");
}
