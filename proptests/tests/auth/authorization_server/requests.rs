//! Hand-written requests, valid and invalid.

use std::time::Duration;

use mcp_sansio_proptests::authorization_server::{
    AuthorizationServer, Client, Form, Request, Response, Signer, base64url,
};
use serde_json::{Value, json};

use super::scene::*;
use crate::kit::{ISSUER, REDIRECT, SERVER};

/// The verifier of the examples of RFC 7636, and its challenge.
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

/// Returns a server that knows the client `me`, and the parameters of a valid authorization request.
fn by_hand() -> (Scene, Vec<(&'static str, &'static str)>) {
    let mut options = options();
    options.clients = vec![Client::new("me", None), Client::new("robot", Some("s"))];
    let good = vec![
        ("response_type", "code"),
        ("client_id", "me"),
        ("redirect_uri", REDIRECT),
        ("state", "s t"),
        ("code_challenge", CHALLENGE),
        ("code_challenge_method", "S256"),
        ("resource", SERVER),
    ];
    (Scene::new(options), good)
}

fn without<'a>(all: &[(&'a str, &'a str)], name: &str) -> Vec<(&'a str, &'a str)> {
    all.iter().copied().filter(|(known, _)| *known != name).collect()
}

/// Returns the parameters with another value of one, or without it if the value is empty.
fn but<'a>(all: &[(&'a str, &'a str)], name: &'a str, value: &'a str) -> Vec<(&'a str, &'a str)> {
    let mut changed = without(all, name);
    changed.extend((!value.is_empty()).then_some((name, value)));
    changed
}

/// Returns the query of the redirect.
fn location(scene: &mut Scene, parameters: &[(&str, &str)]) -> Option<Form> {
    let response = scene.ask(&Request::get(format!("/authorize?{}", form(parameters))));
    let location = response.find("location")?;
    let query = location.strip_prefix(REDIRECT).unwrap().strip_prefix('?').unwrap();
    assert_eq!(response.status, 302);
    Some(Form::read(query.as_bytes()))
}

#[test]
fn bad_authorization_requests_are_refused() {
    let (mut scene, good) = by_hand();
    let back = location(&mut scene, &good).unwrap();
    assert_eq!((back.find("state"), back.find("iss")), (Some("s t"), Some(ISSUER)));
    assert_eq!(back.find("code").unwrap().len(), 43);
    // The redirect reports the error to the client.
    for (name, value, error) in [
        ("response_type", "token", "unsupported_response_type"),
        ("response_type", "", "unsupported_response_type"),
        ("code_challenge", "", "invalid_request"),
        ("code_challenge", "short", "invalid_request"),
        ("code_challenge_method", "plain", "invalid_request"),
        ("code_challenge_method", "", "invalid_request"),
        ("resource", "", "invalid_target"),
        ("resource", "https://mcp.example/mcp#x", "invalid_target"),
    ] {
        let back = location(&mut scene, &but(&good, name, value)).unwrap();
        assert_eq!((back.find("error"), back.find("code")), (Some(error), None), "{name} {value}");
        assert_eq!((back.find("state"), back.find("iss")), (Some("s t"), Some(ISSUER)));
    }
    // Without a trusted redirect URI the error cannot be reported to the client.
    for (name, value) in [
        ("client_id", ""),
        ("client_id", "other"),
        ("redirect_uri", ""),
        ("redirect_uri", "http://far.example/callback"),
        ("redirect_uri", "http://127.0.0.1.far.example/callback"),
        ("redirect_uri", "http://127.0.0.1@far.example/callback"),
    ] {
        assert_eq!(location(&mut scene, &but(&good, name, value)), None, "{name} {value}");
    }
    let twice = [&good[..], &[("resource", SERVER)]].concat();
    assert_eq!(location(&mut scene, &twice), None);
}

#[test]
fn bad_token_requests_are_refused() {
    let (mut scene, asked) = by_hand();
    let mut good = vec![
        ("grant_type", "authorization_code"),
        ("redirect_uri", REDIRECT),
        ("code_verifier", VERIFIER),
        ("client_id", "me"),
        ("resource", SERVER),
    ];
    let code = location(&mut scene, &asked).unwrap().find("code").unwrap().to_owned();
    good.push(("code", &code));
    for (name, value, status, expected) in [
        ("grant_type", "password", 400, "unsupported_grant_type"),
        ("grant_type", "", 400, "unsupported_grant_type"),
        ("code", "other", 400, "invalid_grant"),
        ("code_verifier", CHALLENGE, 400, "invalid_grant"),
        ("code_verifier", "", 400, "invalid_grant"),
        ("redirect_uri", "http://127.0.0.1:4001/callback", 400, "invalid_grant"),
        ("resource", "https://mcp.example", 400, "invalid_target"),
        ("resource", "", 400, "invalid_target"),
        ("client_id", "", 401, "invalid_client"),
        ("client_id", "other", 401, "invalid_client"),
        ("client_id", "https://client.example/me.json", 400, "invalid_grant"),
        ("client_id", "robot", 401, "invalid_client"),
        ("client_secret", "x", 401, "invalid_client"),
        ("client_secret", "s", 401, "invalid_client"),
    ] {
        let refusal = error(&scene.post(&but(&good, name, value)));
        assert_eq!(refusal, (status, expected.into()), "{name} {value}");
    }
    let twice = [&good[..], &[("resource", SERVER)]].concat();
    assert_eq!(error(&scene.post(&twice)), (400, "invalid_request".into()));
    let json = scene.ask(&Request::post("/token", "application/json", form(&good)));
    assert_eq!(error(&json), (400, "invalid_request".into()));
    // None of these requests has used the code up, but a second use of the code revokes the tokens of the first.
    let answer = scene.post(&good);
    let token = body(&answer)["access_token"].as_str().unwrap().to_owned();
    assert_eq!(scene.server.introspect(&token, scene.seconds()).unwrap().client_id, "me");
    assert_eq!(error(&scene.post(&good)), (400, "invalid_grant".into()));
    assert_eq!(scene.server.introspect(&token, scene.seconds()), None);
    // An expired code.
    let code = location(&mut scene, &asked).unwrap().find("code").unwrap().to_owned();
    scene.lab.now = scene.lab.now + Duration::from_secs(60);
    assert_eq!(error(&scene.post(&but(&good, "code", &code))), (400, "invalid_grant".into()));
}

#[test]
fn clients_authenticate_in_one_way() {
    let (mut scene, _) = by_hand();
    let asked = [("grant_type", "client_credentials"), ("resource", SERVER)];
    let mut ask = |field: Option<&str>, more: &[(&str, &str)]| {
        let body = form(&[&asked[..], more].concat());
        let response = scene.ask(&Request::post("/token", FORM, body).authorization(field));
        match response.status {
            200 => (200, String::new()),
            _ => error(&response),
        }
    };
    let good = (200, String::new());
    let (invalid, both) = ((401, "invalid_client".into()), (400, "invalid_request".into()));
    // "robot:s", "robot:x", "robot", and invalid base64.
    assert_eq!(ask(Some("Basic cm9ib3Q6cw=="), &[]), good);
    assert_eq!(ask(Some("basic cm9ib3Q6cw=="), &[("client_id", "robot")]), good);
    assert_eq!(ask(None, &[("client_id", "robot"), ("client_secret", "s")]), good);
    assert_eq!(ask(Some("Basic cm9ib3Q6eA=="), &[]), invalid);
    assert_eq!(ask(Some("Basic cm9ib3Q="), &[]), invalid);
    assert_eq!(ask(Some("Basic %"), &[]), invalid);
    assert_eq!(ask(Some("Bearer cm9ib3Q6cw=="), &[]), invalid);
    assert_eq!(ask(Some("Basic cm9ib3Q6cw=="), &[("client_secret", "s")]), both);
    assert_eq!(ask(Some("Basic cm9ib3Q6cw=="), &[("client_id", "me")]), both);
    assert_eq!(ask(None, &[("client_id", "me")]), (400, "unauthorized_client".into()));
}

#[test]
fn registrations_are_checked() {
    let mut scene = Scene::new(options());
    let mut register = |body: &str| {
        let response = scene.ask(&Request::post("/register", "application/json", body));
        (response.status, body_of(&response))
    };
    fn body_of(response: &Response) -> Value {
        body(response)
    }
    let uri = |uri: &str| format!(r#"{{"redirect_uris":["{uri}"]}}"#);
    // Without a method, the default of RFC 7591 applies.
    let (status, answer) = register(&uri(REDIRECT));
    assert_eq!(
        (status, &answer["token_endpoint_auth_method"]),
        (201, &json!("client_secret_basic"))
    );
    assert_eq!(answer["client_secret"].as_str().unwrap().len(), 43);
    for bad in ["http://far.example/x", "https:///x", "https://a.example/#x", "custom:x", ""] {
        let (status, answer) = register(&uri(bad));
        assert_eq!((status, &answer["error"]), (400, &json!("invalid_redirect_uri")), "{bad}");
    }
    let method = r#"{"redirect_uris":["https://a.example/x"],"token_endpoint_auth_method":"mtls"}"#;
    for bad in ["[]", "{", method] {
        let (status, answer) = register(bad);
        assert_eq!((status, &answer["error"]), (400, &json!("invalid_client_metadata")), "{bad}");
    }
    let mut closed = options();
    closed.registers = false;
    let request = Request::post("/register", "application/json", uri(REDIRECT));
    assert_eq!(Scene::new(closed).ask(&request).status, 404);
}

/// The token is a JWT, although a client does not parse it.
#[test]
fn access_tokens_are_signed_with_the_key_that_is_published() {
    let jwk = json!({ "kty": "EC", "crv": "P-256", "x": "eA", "y": "eQ" });
    let sign = Box::new(|input: &[u8]| vec![u8::try_from(input.len() % 256).unwrap(); 64]);
    let signer = Signer { kid: "k1".into(), jwk, sign };
    let mut server = AuthorizationServer::new(options(), signer, [1; 32]);
    server.options.clients = vec![Client::new("robot", Some("s"))];
    let parameters = [
        ("grant_type", "client_credentials"),
        ("resource", SERVER),
        ("client_id", "robot"),
        ("client_secret", "s"),
        ("scope", "a b"),
    ];
    let answer = body(&server.handle(&Request::post("/token", FORM, form(&parameters)), 1000));
    let token = answer["access_token"].as_str().unwrap();
    let parts: Vec<&str> = token.split('.').collect();
    assert_eq!(parts[0], base64url(br#"{"alg":"ES256","kid":"k1","typ":"at+jwt"}"#));
    let claims = serde_json::to_vec(server.introspect(token, 1000).unwrap()).unwrap();
    assert_eq!(parts[1], base64url(&claims));
    let length = parts[0].len() + 1 + parts[1].len();
    assert_eq!(parts[2], base64url(&[u8::try_from(length % 256).unwrap(); 64]));
    let claims: Value = serde_json::from_slice(&claims).unwrap();
    let names: Vec<&String> = claims.as_object().unwrap().keys().collect();
    assert_eq!(names, ["aud", "client_id", "exp", "iat", "iss", "jti", "scope", "sub"]);
    assert_eq!((&claims["scope"], &claims["exp"]), (&json!("a b"), &json!(4600)));
    let keys = body(&server.handle(&Request::get("/jwks"), 1000));
    let key = json!({ "kty": "EC", "crv": "P-256", "x": "eA", "y": "eQ", "kid": "k1", "alg": "ES256", "use": "sig" });
    assert_eq!(keys, json!({ "keys": [key] }));
}

#[test]
fn other_requests_are_refused() {
    let mut scene = Scene::new(options());
    for (request, status) in [
        (Request::get("/token"), 405),
        (Request::get("/register"), 405),
        (Request::post("/authorize", FORM, ""), 405),
        (Request::get("/"), 404),
        (Request::get("/tokens"), 404),
        (Request::get("/.well-known/openid-configuration"), 404),
        (Request::get("/jwks").method("DELETE"), 404),
    ] {
        assert_eq!(scene.ask(&request).status, status, "{request:?}");
    }
}
