//! The authorization server, run as a process.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use mcp_sansio_proptests::authorization_server::{Misbehaviour, form_encode};
use p256::ecdsa::signature::Verifier;
use p256::ecdsa::{Signature, VerifyingKey};
use serde_json::{Value, json};

use crate::kit::example;

const REDIRECT: &str = "http://127.0.0.1:4000/callback";
const RESOURCE: &str = "http://127.0.0.1:3000/mcp";
/// The verifier and the challenge of the examples of RFC 7636.
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

/// A listening server, which is killed on drop.
struct Listening {
    server: Child,
    issuer: String,
}

impl Listening {
    fn new(arguments: &[&str]) -> Self {
        let mut command = Command::new(example("authorization_server"));
        command.args(["--listen", "127.0.0.1:0"]).args(arguments).stdout(Stdio::piped());
        let mut server = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let issuer = line.strip_prefix("Issuer: ").unwrap().trim_end().to_owned();
        Self { server, issuer }
    }

    /// Returns the authority of the issuer.
    fn authority(&self) -> &str {
        self.issuer.strip_prefix("http://").unwrap().split('/').next().unwrap()
    }

    /// Sends a request. Returns the status, the head and the body.
    fn send(&self, head: &str, fields: &str, body: &str) -> (u16, String, String) {
        let mut stream = TcpStream::connect(self.authority()).unwrap();
        let (host, length) = (self.authority(), body.len());
        let text = format!(
            "{head} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Length: {length}\r\n{fields}\r\n{body}"
        );
        stream.write_all(text.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, head.to_owned(), body.to_owned())
    }

    fn json(&self, head: &str, fields: &str, body: &str) -> Value {
        let (status, _, body) = self.send(head, fields, body);
        assert!(matches!(status, 200 | 201), "{status}: {body}");
        serde_json::from_str(&body).unwrap()
    }

    fn code(&self, client_id: &str) -> String {
        let query = form(&[
            ("response_type", "code"),
            ("client_id", client_id),
            ("redirect_uri", REDIRECT),
            ("state", "s"),
            ("code_challenge", CHALLENGE),
            ("code_challenge_method", "S256"),
            ("resource", RESOURCE),
            ("scope", "read"),
        ]);
        let (status, head, _) = self.send(&format!("GET /authorize?{query}"), "", "");
        assert_eq!(status, 302, "{head}");
        let location = head.lines().find_map(|line| line.strip_prefix("location: ")).unwrap();
        let query = location.strip_prefix(&format!("{REDIRECT}?code=")).unwrap();
        let (code, rest) = query.split_once('&').unwrap();
        assert_eq!(rest, format!("state=s&iss={}", form_encode(&self.issuer)));
        code.to_owned()
    }

    fn token(&self, parameters: &[(&str, &str)]) -> Value {
        self.json("POST /token", FORM, &form(parameters))
    }
}

const FORM: &str = "Content-Type: application/x-www-form-urlencoded\r\n";

impl Drop for Listening {
    fn drop(&mut self) {
        self.server.kill().unwrap();
        self.server.wait().unwrap();
    }
}

fn form(parameters: &[(&str, &str)]) -> String {
    let pairs = parameters.iter().map(|(name, value)| format!("{name}={}", form_encode(value)));
    pairs.collect::<Vec<_>>().join("&")
}

/// Decodes base64url.
fn decoded(text: &str) -> Vec<u8> {
    const ALPHABET: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let bits = text.chars().flat_map(|char| {
        let sextet = ALPHABET.find(char).unwrap();
        (0..6).rev().map(move |bit| (sextet >> bit & 1) as u8)
    });
    let bits: Vec<u8> = bits.collect();
    let octet = |bits: &[u8]| bits.iter().fold(0, |octet, bit| octet << 1 | bit);
    bits.chunks_exact(8).map(octet).collect()
}

/// Returns the claims of a token, after verifying its signature with the key that the server publishes.
fn claims(server: &Listening, token: &str) -> Value {
    let keys = server.json("GET /jwks", "", "");
    let key = &keys["keys"][0];
    let parts: Vec<&str> = token.split('.').collect();
    let header: Value = serde_json::from_slice(&decoded(parts[0])).unwrap();
    assert_eq!(header, json!({ "alg": "ES256", "kid": key["kid"], "typ": "at+jwt" }));
    let coordinate = |name: &str| decoded(key[name].as_str().unwrap());
    let point = [vec![4], coordinate("x"), coordinate("y")].concat();
    let signature = Signature::from_slice(&decoded(parts[2])).unwrap();
    let input = format!("{}.{}", parts[0], parts[1]);
    VerifyingKey::from_sec1_bytes(&point).unwrap().verify(input.as_bytes(), &signature).unwrap();
    serde_json::from_slice(&decoded(parts[1])).unwrap()
}

#[test]
fn a_client_registers_and_logs_in() {
    let server = Listening::new(&["--access-token-seconds", "90", "--scope", "read"]);
    let metadata = server.json("GET /.well-known/oauth-authorization-server", "", "");
    assert_eq!(metadata["issuer"], server.issuer.as_str());
    assert_eq!(metadata["scopes_supported"], json!(["read"]));
    let body =
        json!({ "redirect_uris": [REDIRECT], "token_endpoint_auth_method": "none" }).to_string();
    let client = server.json("POST /register", "Content-Type: application/json\r\n", &body);
    let client = client["client_id"].as_str().unwrap();
    let code = server.code(client);
    let answer = server.token(&[
        ("grant_type", "authorization_code"),
        ("code", &code),
        ("redirect_uri", REDIRECT),
        ("code_verifier", VERIFIER),
        ("client_id", client),
        ("resource", RESOURCE),
    ]);
    assert_eq!((&answer["token_type"], &answer["expires_in"]), (&json!("Bearer"), &json!(90)));
    let claims = claims(&server, answer["access_token"].as_str().unwrap());
    assert_eq!((&claims["iss"], &claims["aud"]), (&json!(server.issuer), &json!(RESOURCE)));
    assert_eq!((&claims["client_id"], &claims["scope"]), (&json!(client), &json!("read")));
    let lifetime = claims["exp"].as_u64().unwrap() - claims["iat"].as_u64().unwrap();
    assert_eq!(lifetime, 90);
    // The refresh token is valid once.
    let old = answer["refresh_token"].as_str().unwrap();
    let refresh = [("grant_type", "refresh_token"), ("refresh_token", old), ("client_id", client)];
    assert_ne!(server.token(&refresh)["refresh_token"], old);
    let (status, _, body) = server.send("POST /token", FORM, &form(&refresh));
    assert_eq!((status, body.contains("invalid_grant")), (400, true), "{body}");
}

#[test]
fn a_client_that_is_known_acts_for_itself() {
    let server = Listening::new(&["--client", "robot:secret", "--metadata", "none"]);
    let answer = server.token(&[
        ("grant_type", "client_credentials"),
        ("client_id", "robot"),
        ("client_secret", "secret"),
        ("resource", RESOURCE),
    ]);
    assert_eq!(claims(&server, answer["access_token"].as_str().unwrap())["sub"], "robot");
    let (status, ..) = server.send("GET /.well-known/oauth-authorization-server", "", "");
    assert_eq!(status, 404);
}

#[test]
fn the_issuer_can_be_another_url() {
    let arguments = ["--issuer", "https://as.example/tenant", "--metadata", "openid-appended"];
    let mut command = Command::new(example("authorization_server"));
    command.args(["--listen", "127.0.0.1:0"]).args(arguments).stdout(Stdio::piped());
    let mut server = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "Issuer: https://as.example/tenant\n");
    server.kill().unwrap();
    server.wait().unwrap();
}

#[test]
fn misbehaviour_has_a_name() {
    let server = Listening::new(&["--misbehave", "other-issuer"]);
    let metadata = server.json("GET /.well-known/oauth-authorization-server", "", "");
    assert_eq!(metadata["issuer"], "https://other.example");
    let help = Command::new(example("authorization_server")).arg("--help").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    for misbehaviour in Misbehaviour::ALL {
        assert!(help.contains(misbehaviour.name()), "{misbehaviour:?}");
    }
}

#[cfg(unix)]
#[test]
fn it_ends_when_it_is_interrupted() {
    let mut listening = Listening::new(&[]);
    let pid = listening.server.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    assert_eq!(listening.server.wait().unwrap().code(), Some(0));
}

#[test]
fn wrong_arguments_are_explained() {
    for (arguments, text) in [
        (&["--listen", "0.0.0.0:9000"][..], "not a loopback address"),
        (&["--listen", "9000"], "not of the form ADDRESS:PORT"),
        (&["--issuer", "as.example"], "invalid value 'as.example' for '--issuer <URL>'"),
        (&["--issuer", "https://as.example/?x=1"], "an issuer has no query"),
        (&["--access-token-seconds", "0"], "not a number from 1 to "),
        (&["--metadata", "here"], "[possible values: oauth, openid, openid-appended, none]"),
        (&["--consent", "maybe"], "[possible values: automatic, ask, deny]"),
        (&["--client", ":x"], "the ID is empty"),
        (&["--client", "x:"], "the secret is empty"),
        (&["--client", "x", "--client", "x:y"], "two clients are called x"),
        (&["--scope", "a b"], "not a scope"),
        (&["--misbehave", "badly"], "not one of wrong-iss, missing-iss"),
        (&["more"], "unexpected argument 'more'"),
    ] {
        let output = Command::new(example("authorization_server")).args(arguments).output();
        let output = output.unwrap();
        let reported = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{reported}");
        assert!(reported.contains(text), "{arguments:?}: {reported}");
    }
    // An address in use is no error of the command line.
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output =
        Command::new(example("authorization_server")).args(["--listen", &address]).output();
    let output = output.unwrap();
    let reported = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    let expected = format!("authorization_server: cannot listen on {address}: ");
    assert!(reported.starts_with(&expected), "{reported}");
}
