//! The checks of a resource server.

use std::time::Duration;

use mcp_sansio::auth::resource_server::{
    AccessError, Claims, InvalidResource, Operation, ProtectedResource, TokenError, bearer_token,
    check_scopes,
};
use mcp_sansio::auth::{Scopes, UrlError};
use mcp_sansio::http::Headers;
use mcp_sansio::{Instant, Limits, Principal};

const URL: &str = "https://mcp.example/a/mcp";
const ISSUER: &str = "https://as.example";
const METADATA: &str = "https://mcp.example/.well-known/oauth-protected-resource/a/mcp";

fn resource() -> ProtectedResource {
    ProtectedResource::new(URL, ISSUER).unwrap().scopes(Scopes::parse("use"))
}

fn now() -> Instant {
    Instant::from_millis(1_000_000_000)
}

fn claims() -> Claims {
    let mut claims = Claims::new(ISSUER, "alice");
    claims.audience = vec![URL.into()];
    claims.expires_at = Some(now() + Duration::from_secs(60));
    claims.scopes = Scopes::parse("use");
    claims
}

fn token_of(fields: &[&str]) -> Result<String, AccessError> {
    let fields: Vec<(&str, &[u8])> =
        fields.iter().map(|value| ("Authorization", value.as_bytes())).collect();
    bearer_token(Headers::from(&fields[..])).map(String::from)
}

/// Proves A-RS-01, A-RS-02: the token is taken from one `Authorization` field with the scheme Bearer, in any case.
#[test]
fn a_token_is_in_one_field() {
    for field in ["Bearer abc", "bearer abc", "BEARER   abc", " Bearer abc\t"] {
        assert_eq!(token_of(&[field]).as_deref(), Ok("abc"), "{field}");
    }
    assert_eq!(token_of(&["Bearer aZ09-._~+/=="]).as_deref(), Ok("aZ09-._~+/=="));
    for field in [&[][..], &["Basic YTpi"], &["Negotiate"], &["Bearer2 abc"], &[""]] {
        assert_eq!(token_of(field), Err(AccessError::MissingToken), "{field:?}");
    }
    let malformed: [&[&str]; 8] = [
        &["Bearer"],
        &["Bearer "],
        &["Bearer =="],
        &["Bearer a b"],
        &["Bearer a,b"],
        &["Bearer a=b"],
        &["Bearer \u{e4}"],
        &["Bearer abc", "Bearer abc"],
    ];
    for field in malformed {
        let error = token_of(field).unwrap_err();
        assert!(matches!(error, AccessError::InvalidRequest(_)), "{field:?}");
    }
    let query: [(&str, &[u8]); 1] = [("X-Access-Token", b"abc")];
    assert_eq!(bearer_token(Headers::from(&query[..])), Err(AccessError::MissingToken));
}

/// Proves A-CHAL-01, A-CHAL-02, A-CHAL-03, A-CHAL-04, A-CHAL-05, A-CHAL-06, A-CHAL-08, A-CHAL-09, A-RS-07, A-RS-08,
/// A-RS-15: the exact status and challenge of each refusal, without a body.
#[test]
fn each_refusal_has_its_status_and_its_challenge() {
    let place = format!(r#"resource_metadata="{METADATA}""#);
    let needed = AccessError::InsufficientScope(Scopes::parse("use write"));
    let cases = [
        (AccessError::MissingToken, 401, format!(r#"Bearer {place}, scope="use""#)),
        (
            AccessError::InvalidToken(TokenError::Expired),
            401,
            format!(
                r#"Bearer error="invalid_token", error_description="the token has expired", {place}, scope="use""#
            ),
        ),
        (
            AccessError::InvalidRequest("two"),
            400,
            format!(
                r#"Bearer error="invalid_request", error_description="two", {place}, scope="use""#
            ),
        ),
        (needed, 403, format!(r#"Bearer error="insufficient_scope", {place}, scope="use write""#)),
    ];
    for (error, status, challenge) in cases {
        let reply = resource().reply(&error);
        assert_eq!((reply.status, reply.challenge), (status, Some(challenge)));
        assert_eq!((reply.body.len(), reply.retry_after), (0, None));
        assert_eq!(resource().reply(&error), resource().reply(&error));
    }
    let unavailable = resource().reply(&AccessError::VerifierUnavailable);
    assert_eq!((unavailable.status, unavailable.challenge), (503, None));
    assert_eq!(unavailable.retry_after.as_deref(), Some("5"));
}

/// Proves A-CHAL-05: a resource that needs no scopes names none.
#[test]
fn a_challenge_without_scopes_has_no_scope() {
    let resource = ProtectedResource::new(URL, ISSUER).unwrap();
    let reply = resource.reply(&AccessError::MissingToken);
    assert_eq!(reply.challenge, Some(format!(r#"Bearer resource_metadata="{METADATA}""#)));
}

/// Proves A-RS-14: texts are quoted, and control characters are removed.
#[test]
fn texts_in_a_challenge_are_quoted() {
    let reply =
        resource().reply(&AccessError::InvalidRequest("a \"b\" \\ c\r\nSet-Cookie: d\u{e4}"));
    let challenge = reply.challenge.unwrap();
    assert!(
        challenge.contains(r#"error_description="a \"b\" \\ cSet-Cookie: d", "#),
        "{challenge}"
    );
}

/// Proves A-CHAL-10: `offline_access` is in no challenge and not in the metadata.
#[test]
fn offline_access_is_not_named() {
    let resource = ProtectedResource::new(URL, ISSUER).unwrap();
    let resource = resource
        .scopes(Scopes::parse("offline_access use"))
        .supported_scopes(Scopes::parse("write offline_access"));
    assert_eq!(resource.needed().to_string(), "use");
    let metadata = String::from_utf8(resource.metadata()).unwrap();
    assert!(metadata.contains(r#""scopes_supported":["use","write"]"#), "{metadata}");
    let reply = resource.reply(&AccessError::MissingToken);
    assert!(!reply.challenge.unwrap().contains("offline"));
}

/// Proves A-PRM-02, A-PRM-05: the document is built from the configuration.
#[test]
fn the_metadata_name_the_resource_and_its_issuers() {
    let resource = resource()
        .issuer("https://two.example/tenant")
        .unwrap()
        .supported_scopes(Scopes::parse("write"))
        .name("Files")
        .documentation("https://mcp.example/docs");
    let expected = concat!(
        r#"{"resource":"https://mcp.example/a/mcp","#,
        r#""authorization_servers":["https://as.example","https://two.example/tenant"],"#,
        r#""scopes_supported":["use","write"],"bearer_methods_supported":["header"],"#,
        r#""resource_name":"Files","resource_documentation":"https://mcp.example/docs"}"#,
    );
    assert_eq!(String::from_utf8(resource.metadata()).unwrap(), expected);
}

/// Proves A-PRM-03: at the well-known path followed by the path of the endpoint, and at the well-known path alone.
#[test]
fn the_metadata_are_at_both_places() {
    let paths = |url| {
        let resource = ProtectedResource::new(url, ISSUER).unwrap();
        resource.metadata_paths().map(String::from).collect::<Vec<_>>()
    };
    const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";
    assert_eq!(paths(URL), [format!("{WELL_KNOWN}/a/mcp"), WELL_KNOWN.into()]);
    assert_eq!(paths("https://mcp.example/"), [WELL_KNOWN]);
    assert_eq!(paths("https://mcp.example"), [WELL_KNOWN]);
    assert_eq!(resource().metadata_url(), METADATA);
}

/// Proves A-PRM-02, A-SEC-01: invalid URLs are rejected.
#[test]
fn a_resource_has_usable_urls() {
    let error = |url, issuer| ProtectedResource::new(url, issuer).unwrap_err();
    assert_eq!(error("mcp", ISSUER), InvalidResource::Resource(UrlError::NotAbsolute));
    assert_eq!(error("http://mcp.example/", ISSUER), InvalidResource::NotHttps);
    assert_eq!(error(URL, ""), InvalidResource::Issuer(UrlError::NotAbsolute));
    assert_eq!(error(URL, "http://as.example"), InvalidResource::IssuerNotHttps);
    assert!(ProtectedResource::new("http://127.0.0.1:1/mcp", "http://localhost:2").is_ok());
}

/// Proves A-RS-04: a token is valid only if its audience contains this server, possibly beside others.
#[test]
fn the_audience_is_this_server() {
    let check = |audience: &[&str]| {
        let mut claims = claims();
        claims.audience = audience.iter().map(|audience| (*audience).into()).collect();
        resource().check(&claims, now())
    };
    for good in [&[URL][..], &["x", URL], &["HTTPS://MCP.example:443/a/mcp"]] {
        assert_eq!(check(good), Ok(()), "{good:?}");
    }
    let wrong = Err(AccessError::InvalidToken(TokenError::Audience));
    let bad: [&[&str]; 7] = [
        &[],
        &["https://mcp.example"],
        &["https://mcp.example/a/mcp/b"],
        &["https://mcp.example/a/mcp?x"],
        &["https://mcp.example/a/MCP"],
        &["https://other.example/a/mcp"],
        &["files"],
    ];
    for bad in bad {
        assert_eq!(check(bad), wrong, "{bad:?}");
    }
    let mut named = claims();
    named.audience = vec!["files".into()];
    assert_eq!(resource().audience("files").check(&named, now()), Ok(()));
}

/// Proves A-RS-06: the issuer is one of those in the metadata, letter by letter.
#[test]
fn the_issuer_is_known() {
    for issuer in ["https://as.example/", "https://AS.example", "https://evil.example", ""] {
        let mut claims = claims();
        claims.issuer = issuer.into();
        let wrong = Err(AccessError::InvalidToken(TokenError::Issuer));
        assert_eq!(resource().check(&claims, now()), wrong, "{issuer}");
    }
    let mut second = claims();
    second.issuer = "https://two.example".into();
    let resource = resource().issuer("https://two.example").unwrap();
    assert_eq!(resource.check(&second, now()), Ok(()));
}

/// Proves A-RS-05: expiry and start with a bounded leeway, to the nanosecond.
#[test]
fn a_token_has_its_time() {
    let seconds = Duration::from_secs;
    let check = |resource: &ProtectedResource, expires: Option<Instant>, begins| {
        let mut claims = claims();
        (claims.expires_at, claims.not_before) = (expires, begins);
        resource.check_token(&claims, now())
    };
    let (usual, strict) = (resource(), resource().leeway(Duration::ZERO));
    let nanos = Instant::from_nanos;
    let at = now().since_epoch().as_nanos() as u64;
    assert_eq!(check(&strict, Some(nanos(at)), None), Err(TokenError::Expired));
    assert_eq!(check(&strict, Some(nanos(at + 1)), None), Ok(()));
    let leeway = seconds(30).as_nanos() as u64;
    assert_eq!(check(&usual, Some(nanos(at - leeway)), None), Err(TokenError::Expired));
    assert_eq!(check(&usual, Some(nanos(at - leeway + 1)), None), Ok(()));
    let good = Some(now() + seconds(1));
    assert_eq!(check(&strict, good, Some(nanos(at))), Ok(()));
    assert_eq!(check(&strict, good, Some(nanos(at + 1))), Err(TokenError::NotYetValid));
    assert_eq!(check(&usual, good, Some(nanos(at + leeway))), Ok(()));
    assert_eq!(check(&usual, good, Some(nanos(at + leeway + 1))), Err(TokenError::NotYetValid));
    let lenient = resource().leeway(Duration::MAX);
    assert_eq!(check(&lenient, Some(now() - seconds(301)), None), Err(TokenError::Expired));
    assert_eq!(check(&usual, None, None), Err(TokenError::NoExpiry));
    assert_eq!(check(&resource().needs_expiry(false), None, None), Ok(()));
    assert_eq!(check(&usual, Some(nanos(u64::MAX)), None), Ok(()));
}

/// Proves A-CHAL-07, A-STEP-09: all required scopes are named at once, and a scope can include others.
#[test]
fn scopes_are_compared_all_at_once() {
    let (granted, needed) = (Scopes::parse("read"), Scopes::parse("read write delete"));
    let equal = |granted: &str, needed: &str| granted == needed;
    let missing = Err(AccessError::InsufficientScope(needed.clone()));
    assert_eq!(check_scopes(&granted, &needed, equal), missing);
    let implies = |granted: &str, needed: &str| granted == needed || granted == "admin";
    assert_eq!(check_scopes(&granted, &needed, implies), missing);
    assert_eq!(check_scopes(&Scopes::parse("admin"), &needed, implies), Ok(()));
    assert_eq!(check_scopes(&Scopes::none(), &Scopes::none(), equal), Ok(()));
}

/// Proves A-RS-11: issuer, subject and client determine the principal, and nothing else does.
#[test]
fn issuer_subject_and_client_determine_the_principal() {
    let principal = |issuer: &str, subject: &str, client: Option<&str>| {
        let mut claims = Claims::new(issuer, subject);
        claims.client = client.map(String::from);
        claims.principal()
    };
    let alice = principal(ISSUER, "alice", Some("c"));
    assert_eq!(claims().principal(), principal(ISSUER, "alice", None));
    let others = [
        principal("https://two.example", "alice", Some("c")),
        principal(ISSUER, "bob", Some("c")),
        principal(ISSUER, "alice", Some("d")),
        principal(ISSUER, "alice", None),
        principal(ISSUER, "alicec", None),
        principal("", "", None),
        Principal::default(),
    ];
    for (index, other) in others.iter().enumerate() {
        assert_ne!(alice, *other);
        assert!(!others[..index].contains(other));
    }
    // The value is the same on every platform.
    assert_eq!(alice.get(), ALICE);
}

/// The first 8 bytes of the SHA-256 of each part, preceded by its length in 8 bytes.
const ALICE: u64 = 7_257_098_528_026_927_734;

/// Proves A-SEC-03: `Debug` of claims does not show the subject.
#[test]
fn claims_do_not_show_the_subject() {
    assert!(!format!("{:?}", claims()).contains("alice"));
}

/// Proves A-RS-13: the operations of a body, also of a batch.
#[test]
fn a_body_is_a_list_of_operations() {
    let all = |body: &str| {
        let operations = Operation::all_in(body.as_bytes(), &Limits::default());
        let text = |operation: &Operation<'_>| {
            let name = operation.name.as_ref().map(|name| name.to_str().into_owned());
            (operation.method.to_str().into_owned(), name)
        };
        operations.iter().map(text).collect::<Vec<_>>()
    };
    let one = |method: &str, name: &str| (String::from(method), Some(String::from(name)));
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"de\u006cete"}}"#;
    assert_eq!(all(call), [one("tools/call", "delete")]);
    let hidden = r#"{"jsonrpc":"2.0","id":1,"method":"tools\/call","params":{"name":"a"}}"#;
    assert_eq!(all(hidden), [one("tools/call", "a")]);
    let read = r#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"a:b"}}"#;
    assert_eq!(all(read), [one("resources/read", "a:b")]);
    let subscribe =
        r#"{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"a:b"}}"#;
    assert_eq!(
        all(&format!("[{call},{subscribe}]")),
        [one("tools/call", "delete"), one("resources/subscribe", "a:b"),]
    );
    let unsubscribe = subscribe.replace("subscribe", "unsubscribe");
    assert_eq!(all(&unsubscribe), [one("resources/unsubscribe", "a:b")]);
    let task = r#"{"jsonrpc":"2.0","id":1,"method":"tasks/result","params":{"taskId":"t"}}"#;
    assert_eq!(all(task), [one("tasks/result", "t")]);
    let noted = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    assert_eq!(all(noted), [(String::from("notifications/initialized"), None)]);
    let unnamed = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":1}}"#;
    assert_eq!(all(unnamed), [(String::from("tools/call"), None)]);
    for nothing in [r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, "[]", "{", "", "1"] {
        assert_eq!(all(nothing), [], "{nothing}");
    }
    // A request with a wrong JSON-RPC version still counts as a request.
    assert_eq!(all(&call.replace("2.0", "1.0")), [one("tools/call", "delete")]);
}

/// Proves A-RS-13: a request beyond the limits needs no scopes, because a connection with these limits rejects it.
#[test]
fn a_request_beyond_the_limits_has_no_operation() {
    let mut limits = Limits::default();
    let id = "1".repeat(limits.id_bytes + 1);
    let call = format!(r#"{{"jsonrpc":"2.0","id":"{id}","method":"tools/call","params":{{}}}}"#);
    assert_eq!(Operation::all_in(call.as_bytes(), &limits).len(), 0);
    limits.id_bytes = id.len() + 2;
    assert_eq!(Operation::all_in(call.as_bytes(), &limits).len(), 1);
}
