//! An MCP server that requires tokens, and its authorization server, at one address.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

/// The configurable behaviour of the servers.
#[derive(Clone, Copy, Default)]
pub(crate) struct Rules {
    /// Whether the user denies the authorization.
    pub(crate) denies: bool,
    /// Whether clients cannot register.
    pub(crate) has_no_registration: bool,
    /// Whether only calls of tools need a token.
    pub(crate) guards_calls_only: bool,
}

/// A received request.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// The method and the path, without the query.
    pub(crate) target: String,
    pub(crate) query: String,
    pub(crate) authorization: Option<String>,
    pub(crate) body: String,
}

/// The servers, which run until the end of the test.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
}

pub(crate) const TOKEN: &str = "the-access-token";
pub(crate) const CODE: &str = "the-code";

impl Server {
    pub(crate) fn start(rules: Rules) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (log, stream) = (Arc::clone(&log), stream.unwrap());
                thread::spawn(move || serve(stream, address, rules, &log));
            }
        });
        Self { address, asked }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// Returns the requests with this method and path, in their order.
    pub(crate) fn asked(&self, target: &str) -> Vec<Asked> {
        let asked = self.asked.lock().unwrap();
        asked.iter().filter(|asked| asked.target == target).cloned().collect()
    }
}

/// Serves one request. A connection without a request is ignored.
fn serve(mut stream: TcpStream, address: SocketAddr, rules: Rules, log: &Mutex<Vec<Asked>>) {
    let Some(asked) = read(&stream) else { return };
    log.lock().unwrap().push(asked.clone());
    let (status, fields, body) = answer(&asked, address, rules);
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nConnection: close\r\n{fields}Content-Length: {length}\r\n\r\n"
    );
    _ = stream.write_all((head + &body).as_bytes());
}

fn read(stream: &TcpStream) -> Option<Asked> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split(' ');
    let (method, target) = (words.next()?, words.next()?);
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut asked = Asked {
        target: format!("{method} {path}"),
        query: query.into(),
        authorization: None,
        body: String::new(),
    };
    let mut length = 0;
    loop {
        let mut field = String::new();
        reader.read_line(&mut field).ok()?;
        let Some((name, value)) = field.split_once(':') else { break };
        match &*name.to_ascii_lowercase() {
            "content-length" => length = value.trim().parse().unwrap(),
            "authorization" => asked.authorization = Some(value.trim().into()),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    asked.body = String::from_utf8(body).unwrap();
    Some(asked)
}

type Answer = (&'static str, String, String);

fn json_answer(status: &'static str, body: &Value) -> Answer {
    (status, "Content-Type: application/json\r\n".into(), body.to_string())
}

fn answer(asked: &Asked, address: SocketAddr, rules: Rules) -> Answer {
    let origin = format!("http://{address}");
    match &*asked.target {
        "POST /mcp"
            if asked.authorization.as_deref() != Some(&format!("Bearer {TOKEN}"))
                && (!rules.guards_calls_only || asked.body.contains("tools/call")) =>
        {
            let place = format!("{origin}/.well-known/oauth-protected-resource/mcp");
            let field = format!("WWW-Authenticate: Bearer resource_metadata=\"{place}\"\r\n");
            ("401 Unauthorized", field, String::new())
        }
        "POST /mcp" => message(&serde_json::from_str(&asked.body).unwrap()),
        "GET /.well-known/oauth-protected-resource/mcp" => {
            let resource = format!("{origin}/mcp");
            let body = json!({ "resource": resource, "authorization_servers": [origin] });
            json_answer("200 OK", &body)
        }
        "GET /.well-known/oauth-authorization-server" => {
            let mut body = json!({
                "issuer": origin,
                "authorization_endpoint": format!("{origin}/authorize"),
                "token_endpoint": format!("{origin}/token"),
                "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported": ["none", "client_secret_basic"],
            });
            if !rules.has_no_registration {
                body["registration_endpoint"] = json!(format!("{origin}/register"));
            }
            json_answer("200 OK", &body)
        }
        "POST /register" => json_answer("201 Created", &json!({ "client_id": "registered" })),
        "GET /authorize" => {
            let back = decoded(&parameter(&asked.query, "redirect_uri").unwrap());
            let state = parameter(&asked.query, "state").unwrap();
            let query = match rules.denies {
                true => "error=access_denied".to_owned(),
                false => format!("code={CODE}"),
            };
            ("302 Found", format!("Location: {back}?{query}&state={state}\r\n"), String::new())
        }
        "POST /token" => {
            assert_eq!(parameter(&asked.body, "code").as_deref(), Some(CODE));
            let body = json!({
                "access_token": TOKEN, "token_type": "Bearer", "expires_in": 3600,
                "refresh_token": "the-refresh-token",
            });
            json_answer("200 OK", &body)
        }
        _ => ("404 Not Found", String::new(), String::new()),
    }
}

/// Responds to a message of a session.
fn message(message: &Value) -> Answer {
    let result = match message["method"].as_str() {
        Some("initialize") => json!({
            "protocolVersion": "2025-11-25", "capabilities": { "tools": {} },
            "serverInfo": { "name": "guarded", "version": "1" },
        }),
        Some("tools/list") => {
            json!({ "tools": [{ "name": "secret_tool", "inputSchema": { "type": "object" } }] })
        }
        _ => return ("202 Accepted", String::new(), String::new()),
    };
    json_answer("200 OK", &json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }))
}

/// Returns a parameter of a query, without decoding.
pub(crate) fn parameter(query: &str, name: &str) -> Option<String> {
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.filter(|(known, _)| *known == name).map(|(_, value)| value.to_owned()).next()
}

/// Decodes the percent-encoding of a URI in a query.
fn decoded(text: &str) -> String {
    text.replace("%3A", ":").replace("%2F", "/")
}

/// Requests a URL as a browser would. Returns the head of the response and its body.
pub(crate) fn get(url: &str) -> (String, String) {
    let (address, target) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET /{target} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")
        .unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    (head.into(), body.into())
}
