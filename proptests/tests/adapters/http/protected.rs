//! Endpoints that require access tokens.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http_body_util::Full;
use mcp_sansio::auth::Scopes;
use mcp_sansio::auth::resource_server::{Claims, ProtectedResource};
use mcp_sansio::http::RequestSource;
use mcp_sansio::{Instant, Principal};
use mcp_sansio_http::{
    Endpoint, EndpointOptions, OneStreamPaths, Protection, RefuseAll, TokenVerifier, Verification,
    VerificationFuture,
};
use serde_json::json;

use super::kit::{Served, let_pass, server_config};
use super::raw::{
    Answer, Raw, legacy, listen, modern, modern_body, modern_fields, post, request, text_of,
};

/// The URL by which clients know the endpoint, which differs from its listening address.
const URL: &str = "https://mcp.example/a/mcp";
const ISSUER: &str = "https://as.example";
const METADATA: &str = "https://mcp.example/.well-known/oauth-protected-resource/a/mcp";

/// Tokens by their text.
struct Table(HashMap<&'static str, Verification>);

impl TokenVerifier for Table {
    fn verify<'a>(&'a self, token: &'a str) -> VerificationFuture<'a> {
        let known = self.0.get(token).cloned();
        Box::pin(async { known.unwrap_or(Verification::Invalid) })
    }
}

fn claims(subject: &str, scopes: &str) -> Claims {
    let mut claims = Claims::new(ISSUER, subject);
    claims.audience = vec![URL.into()];
    claims.expires_at = Some(Instant::from(SystemTime::now()) + Duration::from_secs(100));
    claims.scopes = Scopes::parse(scopes);
    claims
}

fn protection() -> Protection {
    let mut expired = claims("alice", "use");
    expired.expires_at = Some(Instant::from(SystemTime::now() - Duration::from_secs(100)));
    let mut elsewhere = claims("alice", "use");
    elsewhere.audience = vec!["https://other.example/mcp".into()];
    let tokens = [
        ("alice", claims("alice", "use")),
        ("bob", claims("bob", "use")),
        ("useless", claims("carol", "")),
        ("noting", claims("alice", "use notes")),
        ("admin", claims("root", "admin")),
        ("expired", expired),
        ("elsewhere", elsewhere),
    ];
    let mut table: HashMap<_, _> =
        tokens.into_iter().map(|(token, claims)| (token, Verification::Valid(claims))).collect();
    table.insert("down", Verification::Unavailable);
    table.insert("revoked", Verification::Invalid);
    let resource = ProtectedResource::new(URL, ISSUER)
        .unwrap()
        .scopes(Scopes::parse("use"))
        .supported_scopes(Scopes::parse("notes deletes"));
    Protection::new(resource, Table(table)).scopes_for(|operation| {
        let name = operation.name.as_ref().map(|name| name.to_str());
        match name.as_deref() {
            Some("note") => Scopes::parse("notes"),
            Some("gate") => Scopes::parse("notes deletes"),
            _ => Scopes::none(),
        }
    })
}

async fn served(protection: Protection) -> Served {
    let mut options = EndpointOptions::new().protect(protection);
    options.one_stream = Some(OneStreamPaths::default());
    Served::with(server_config(), options, Duration::ZERO).await
}

fn bearer(token: &str) -> String {
    format!("Authorization: Bearer {token}\r\n")
}

/// Returns a request with additional header fields.
fn with(request: &str, fields: &str) -> String {
    request.replacen("\r\n", &format!("\r\n{fields}"), 1)
}

async fn ask(served: &Served, request: &str) -> Answer {
    let mut raw = Raw::connect(served.address).await;
    raw.send(request).await;
    raw.answer().await
}

async fn open_session(served: &Served, token: &str, version: &str) -> String {
    let params = json!({
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": { "name": "c", "version": "1" },
    });
    let body = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
    let answer = ask(served, &post(&bearer(token), &body.to_string())).await;
    let session = answer.field("mcp-session-id").unwrap().to_owned();
    let noted = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let fields = format!("{}Mcp-Session-Id: {session}\r\n", bearer(token));
    assert_eq!(ask(served, &post(&fields, noted)).await.status(), "202");
    session
}

/// Proves A-CHAL-01, A-CHAL-03, A-CHAL-05, A-RS-03, A-RS-04, A-RS-05, A-RS-08, A-RS-15: without a valid token nothing
/// is read, opened or disclosed, for any request.
#[tokio::test]
async fn without_a_good_token_nothing_happens() {
    let mut served = served(protection()).await;
    let session = open_session(&served, "alice", "2025-11-25").await;
    let rest = format!(r#"resource_metadata="{METADATA}", scope="use""#);
    let invalid =
        |text: &str| format!(r#"Bearer error="invalid_token", error_description="{text}", {rest}"#);
    let cases = [
        (String::new(), format!("Bearer {rest}")),
        ("Authorization: Basic YTpi\r\n".into(), format!("Bearer {rest}")),
        (bearer("garbage"), invalid("the token is not valid")),
        (bearer("revoked"), invalid("the token is not valid")),
        (bearer("expired"), invalid("the token has expired")),
        (bearer("elsewhere"), invalid("the token is for another resource")),
    ];
    for (fields, challenge) in cases {
        let expected = Some(challenge.as_str());
        let requests = [
            // Only the head: the body never arrives, so it has not been read.
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: 100\r\n\r\n".into(),
            "POST /messages?session=1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n".into(),
            "GET /sse HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n".into(),
            "PUT /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n".into(),
            listen(&session, ""),
            listen("0123456789abcdef0123456789abcdef", ""),
            listen("no session", ""),
            listen(&session, "").replacen("GET", "DELETE", 1),
            legacy(&session, 1, "note", "a"),
            modern(1, "note", "a"),
        ];
        for request in requests {
            let answer = ask(&served, &with(&request, &fields)).await;
            assert_eq!(answer.status(), "401", "{request}");
            assert_eq!((answer.field("www-authenticate"), &*answer.body), (expected, ""));
        }
    }
    assert_eq!(served.endpoint.sessions(), 1);
    assert!(served.log.is_silent());
}

/// A handler sees the claims of the token that the endpoint has checked.
#[tokio::test]
async fn a_handler_sees_the_claims_of_the_token() {
    let served = served(protection()).await;
    for token in ["alice", "bob"] {
        let answer = ask(&served, &with(&modern(1, "who", "a"), &bearer(token))).await;
        let expected = format!("POST /mcp [] [] [true] [127.0.0.1] [{token}] []");
        assert_eq!(text_of(&answer.json()), expected);
    }
}

/// Proves A-RS-09: a handler cannot pass the token on, unless the host asks for the token.
#[tokio::test]
async fn a_handler_sees_the_token_only_if_the_host_asks_for_it() {
    for (protection, seen) in [
        (protection(), "[] []"),
        (protection().exposes_token(true), "[Bearer alice] [Bearer alice]"),
    ] {
        let served = served(protection).await;
        let session = open_session(&served, "alice", "2025-11-25").await;
        for request in [modern(1, "token", "a"), legacy(&session, 1, "token", "a")] {
            let answer = ask(&served, &with(&request, &bearer("alice"))).await;
            assert_eq!(text_of(&answer.json()), seen);
        }
    }
    // A field that the endpoint has not checked is no token of its own.
    let open = Served::new().await;
    let answer = ask(&open, &with(&modern(1, "token", "a"), &bearer("alice"))).await;
    assert_eq!(text_of(&answer.json()), "[Bearer alice] [Bearer alice]");
}

/// Proves A-CHAL-02, A-RS-01, A-RS-07: a malformed field gets 400, and a verifier that cannot decide gets 503.
#[tokio::test]
async fn other_refusals_have_other_statuses() {
    let served = served(protection()).await;
    let twice = format!("{}{}", bearer("alice"), bearer("alice"));
    let answer = ask(&served, &with(&modern(1, "echo", "a"), &twice)).await;
    assert_eq!(answer.status(), "400");
    assert!(answer.field("www-authenticate").unwrap().contains(r#"error="invalid_request""#));
    let answer = ask(&served, &with(&modern(1, "echo", "a"), &bearer("down"))).await;
    assert_eq!((answer.status(), answer.field("retry-after")), ("503", Some("5")));
    assert_eq!(answer.field("www-authenticate"), None);
}

/// Proves A-CHAL-06, A-CHAL-07, A-CHAL-08, A-CHAL-09, A-RS-13: 403 names all scopes of the operation, the same every
/// time, and the handler is not called.
#[tokio::test]
async fn scopes_are_asked_for_before_the_handler() {
    let mut served = served(protection()).await;
    let insufficient = |scopes: &str| {
        format!(
            r#"Bearer error="insufficient_scope", resource_metadata="{METADATA}", scope="{scopes}""#
        )
    };
    let session = open_session(&served, "alice", "2025-03-26").await;
    let cases = [
        ("alice", "echo", None),
        ("alice", "note", Some("use notes")),
        ("alice", "gate", Some("use notes deletes")),
        ("noting", "gate", Some("use notes deletes")),
        ("useless", "note", Some("use notes")),
        ("useless", "echo", Some("use")),
    ];
    for (token, tool, needed) in cases {
        for request in [modern(1, tool, "a"), legacy(&session, 1, tool, "a"), modern(1, tool, "a")]
        {
            if token == "useless" && request.contains("Session") {
                continue;
            }
            let answer = ask(&served, &with(&request, &bearer(token))).await;
            let expected = needed.map(&insufficient);
            assert_eq!(answer.field("www-authenticate"), expected.as_deref(), "{token} {tool}");
            assert_eq!(answer.status(), if needed.is_some() { "403" } else { "200" });
            assert_eq!(answer.body.is_empty(), needed.is_some());
        }
    }
    // One such request in a batch is enough.
    let call = |id: u32, tool: &str| modern_body(id, tool, "a").replace("2026-07-28", "x");
    let batch = format!("[{},{}]", call(1, "echo"), call(2, "note"));
    let fields = format!("{}Mcp-Session-Id: {session}\r\n", bearer("alice"));
    let answer = ask(&served, &post(&fields, &batch)).await;
    assert_eq!(answer.field("www-authenticate"), Some(&*insufficient("use notes")));
    // An event stream, and the termination of a session, need the scopes that every request needs.
    for request in [
        listen(&session, &bearer("useless")),
        listen(&session, &bearer("useless")).replacen("GET", "DELETE", 1),
        format!(
            "GET /sse HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n{}\r\n",
            bearer("useless")
        ),
    ] {
        let answer = ask(&served, &request).await;
        assert_eq!(answer.field("www-authenticate"), Some(&*insufficient("use")), "{request}");
    }
    assert!(served.log.is_silent());
    let answer = ask(&served, &with(&modern(1, "note", "a"), &bearer("noting"))).await;
    assert_eq!(answer.status(), "200");
    assert_eq!(served.log.next().await, "note a");
}

/// Proves A-STEP-09: the host defines which scope includes which.
#[tokio::test]
async fn scopes_have_a_hierarchy_if_the_host_says_so() {
    let flat = served(protection()).await;
    let request = with(&modern(1, "note", "a"), &bearer("admin"));
    assert_eq!(ask(&flat, &request).await.status(), "403");
    let implies = |granted: &str, needed: &str| granted == needed || granted == "admin";
    let mut deep = served(protection().implies(implies)).await;
    assert_eq!(ask(&deep, &request).await.status(), "200");
    assert_eq!(deep.log.next().await, "note a");
}

/// Proves A-RS-10, A-RS-11: a session belongs to the principal of the token that opened it, and every
/// request in it needs a token of that principal. Other principals get the response for an unknown session id.
#[tokio::test]
async fn a_session_belongs_to_the_principal_of_its_token() {
    let protection = protection();
    let served = served(protection.clone()).await;
    let session = open_session(&served, "alice", "2025-11-25").await;
    let unknown = "0123456789abcdef0123456789abcdef";
    for (of_alice, made_up) in [
        (legacy(&session, 1, "echo", "a"), legacy(unknown, 1, "echo", "a")),
        (listen(&session, ""), listen(unknown, "")),
        (
            listen(&session, "").replacen("GET", "DELETE", 1),
            listen(unknown, "").replacen("GET", "DELETE", 1),
        ),
    ] {
        let answer = ask(&served, &with(&of_alice, &bearer("bob"))).await;
        assert_eq!(answer.status(), "404");
        assert_eq!(answer, ask(&served, &with(&made_up, &bearer("bob"))).await);
    }
    // Another token of the same user is accepted.
    let answer = ask(&served, &with(&legacy(&session, 1, "echo", "a"), &bearer("noting"))).await;
    assert_eq!(answer.status(), "200");
    // Handlers look the claims up by the principal.
    let known = protection.claims(claims("alice", "").principal()).unwrap();
    assert_eq!((&*known.subject, known.scopes.to_string()), ("alice", "use notes".into()));
    assert!(protection.claims(claims("carol", "").principal()).is_none());
}

/// Proves A-PRM-01, A-PRM-03, A-PRM-04, A-PRM-05: the document is public at both places. Its content comes from the
/// host's configuration and not from the `Host` field.
#[tokio::test]
async fn protected_resource_metadata_is_public() {
    let served = served(protection()).await;
    for path in
        ["/.well-known/oauth-protected-resource/a/mcp", "/.well-known/oauth-protected-resource"]
    {
        let head = "Host: evil.example\r\nOrigin: https://page.example\r\n";
        let answer = ask(&served, &format!("GET {path} HTTP/1.1\r\n{head}\r\n")).await;
        assert_eq!(answer.status(), "200");
        assert_eq!(answer.field("content-type"), Some("application/json"));
        assert_eq!(answer.field("access-control-allow-origin"), Some("*"));
        let expected = json!({
            "resource": URL,
            "authorization_servers": [ISSUER],
            "scopes_supported": ["use", "notes", "deletes"],
            "bearer_methods_supported": ["header"],
        });
        assert_eq!(answer.json(), expected);
        let posted = format!("POST {path} HTTP/1.1\r\n{head}Content-Length: 0\r\n\r\n");
        let answer = ask(&served, &posted).await;
        assert_eq!((answer.status(), answer.field("allow")), ("405", Some("GET, HEAD, OPTIONS")));
    }
    let other = "GET /.well-known/oauth-protected-resource/mcp HTTP/1.1\r\nHost: localhost\r\n\r\n";
    assert_eq!(ask(&served, other).await.status(), "404");
    let open = Served::new().await;
    let place = "GET /.well-known/oauth-protected-resource HTTP/1.1\r\nHost: localhost\r\n\r\n";
    assert_eq!(ask(&open, place).await.status(), "404");
}

/// Proves A-RS-16: a preflight request needs no token, and scripts may read the challenge.
#[tokio::test]
async fn scripts_of_browsers_can_log_in() {
    let served = served(protection()).await;
    let origin = "Origin: http://localhost:8080\r\n";
    let wanted = "Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: authorization, mcp-param-a\r\n";
    for path in ["/mcp", "/messages", "/sse"] {
        let preflight =
            format!("OPTIONS {path} HTTP/1.1\r\nHost: localhost\r\n{origin}{wanted}\r\n");
        let answer = ask(&served, &preflight).await;
        assert_eq!(answer.status(), "204");
        assert_eq!(answer.field("access-control-allow-origin"), Some("http://localhost:8080"));
        let fields = answer.field("access-control-allow-headers");
        assert_eq!(fields, Some("authorization, mcp-param-a"));
        assert_eq!(answer.field("vary"), Some("origin"));
        let evil = preflight.replace("http://localhost:8080", "https://evil.example");
        let answer = ask(&served, &evil).await;
        assert_eq!(answer.status(), "403");
        assert_eq!(answer.field("access-control-allow-origin"), None);
    }
    let answer = ask(&served, &with(&modern(1, "echo", "a"), origin)).await;
    assert_eq!(answer.status(), "401");
    assert_eq!(answer.field("access-control-allow-origin"), Some("http://localhost:8080"));
    let exposed = answer.field("access-control-expose-headers").unwrap();
    assert!(exposed.contains("WWW-Authenticate") && exposed.contains("Mcp-Session-Id"));
    // An `OPTIONS` request that is no preflight request needs a token like any other.
    let bare = format!("OPTIONS /mcp HTTP/1.1\r\nHost: localhost\r\n{origin}\r\n");
    assert_eq!(ask(&served, &bare).await.status(), "401");
    let quiet = self::served(protection().cors(false)).await;
    let answer = ask(&quiet, &with(&modern(1, "echo", "a"), origin)).await;
    assert_eq!(answer.field("access-control-allow-origin"), None);
}

/// Opens the event stream of a session, and returns the connection before any event.
async fn stream(served: &Served, session: &str) -> Raw {
    let mut raw = Raw::connect(served.address).await;
    raw.send(listen(session, &bearer("alice"))).await;
    assert!(raw.head().await.starts_with("HTTP/1.1 200 "));
    raw
}

/// Proves A-RS-12: a stream that is open when its token expires stays open, unless the host wants it to end.
#[tokio::test]
async fn a_stream_outlives_its_token_unless_the_host_says_otherwise() {
    for ends in [false, true] {
        let served = served(protection().ends_streams(ends)).await;
        let session = open_session(&served, "alice", "2025-11-25").await;
        let mut raw = stream(&served, &session).await;
        // The token has expired after 100 s. It is accepted for another 30 s.
        for seconds in [110, 40] {
            let_pass(Duration::from_secs(seconds)).await;
            if ends && seconds == 40 {
                while !raw.chunk().await.is_empty() {}
                break;
            }
            served.script.audience.list_changed(mcp_sansio::subscription::ChangedList::Tools);
            let mut reported = String::new();
            while !reported.contains("list_changed") {
                reported = raw.chunk().await;
                assert!(!reported.is_empty(), "the stream has ended");
            }
        }
        // The token itself has expired in any case.
        let answer = ask(&served, &with(&legacy(&session, 1, "echo", "a"), &bearer("alice"))).await;
        assert_eq!(answer.status(), "401");
    }
}

/// Tokens that expire at one time.
struct Ending(Arc<OnceLock<Instant>>);

impl TokenVerifier for Ending {
    fn verify<'a>(&'a self, _: &'a str) -> VerificationFuture<'a> {
        let mut claims = claims("alice", "use");
        claims.expires_at = self.0.get().copied();
        Box::pin(async { Verification::Valid(claims) })
    }
}

/// Waits until the wall clock shows another time, and returns that time.
fn later() -> Instant {
    let earlier = SystemTime::now();
    loop {
        let now = SystemTime::now();
        if earlier < now {
            return now.into();
        }
    }
}

/// Proves A-RS-05: the computer sleeps until a token has expired, and the clock of its timers with it.
#[tokio::test(start_paused = true)]
async fn a_server_sees_by_the_wall_clock_that_a_token_has_expired() {
    let ends = Arc::new(OnceLock::new());
    let resource = ProtectedResource::new(URL, ISSUER).unwrap().leeway(Duration::ZERO);
    let protection = Protection::new(resource, Ending(Arc::clone(&ends)));
    let options = EndpointOptions::new().protect(protection);
    let endpoint = Endpoint::with(server_config(), options, RefuseAll::new());
    ends.set(later()).unwrap();
    later();
    let request = hyper::Request::post("http://localhost/mcp")
        .header("Authorization", "Bearer any")
        .body(Full::new(Bytes::new()))
        .unwrap();
    let response = endpoint.handle(request).await;
    assert_eq!(response.status(), 401);
}

/// Proves A-RS-10: a request whose principal the host has determined itself needs no token.
#[tokio::test]
async fn a_request_with_a_host_principal_needs_no_token() {
    let served = served(protection()).await;
    let text = post(&modern_fields("echo"), &modern_body(1, "echo", "a"));
    let request = request(&served, text);
    let response = served.endpoint.handle_as(Principal::new(7), request).await;
    assert_eq!(response.status(), 200);
}

/// Proves A-RS-03: a host that only names the source of a request, as one with a listener of its own does for clients
/// of 2024-11-05, authorizes no request.
#[tokio::test]
async fn a_source_without_a_principal_needs_a_token() {
    let served = served(protection()).await;
    let anonymous = || RequestSource::default().address([127, 0, 0, 1]);
    let request = |method: &str, text: &str| {
        hyper::Request::builder()
            .method(method)
            .uri("http://localhost/mcp?session=0123456789abcdef0123456789abcdef")
            .header("Content-Type", "application/json")
            .header("Accept", "application/json, text/event-stream")
            .header("MCP-Protocol-Version", "2026-07-28")
            .header("Mcp-Method", "tools/call")
            .header("Mcp-Name", "echo")
            .body(Full::new(Bytes::from(text.to_owned())))
            .unwrap()
    };
    let body = modern_body(1, "echo", "a").to_string();
    let status = served.endpoint.handle_as(anonymous(), request("POST", &body)).await.status();
    assert_eq!(status, 401);
    let status =
        served.endpoint.handle_event_stream(anonymous(), request("GET", "")).await.status();
    assert_eq!((status.as_u16(), served.endpoint.sessions()), (401, 0));
    let status = served.endpoint.handle_message(anonymous(), request("POST", &body)).await.status();
    assert_eq!(status, 401);
}
