//! Draws the HTTP requests of a whole login.

use alloc::string::String;
use alloc::sync::Arc;

use super::compare;
use crate::Instant;
use crate::auth::{
    Authorizer, AuthorizerConfig, Challenged, Challenges, ClientMetadata, Effect, FetchedResponse,
    LoginMaterial, Permit, Redirected, RequestKey,
};
use crate::drawing::Sequence;

const SERVER: &str = "https://mcp.example.com/mcp";
const ISSUER: &str = "https://as.example.com";
const NOW: Instant = Instant::from_millis(1_800_000_000_000);
// The participants, from left to right.
const MCP_SERVER: usize = 0;
const HOST: usize = 1;
const AUTHORIZATION_SERVER: usize = 2;

/// Draws the request that the authorizer wants, and its response with this body.
fn fetch(authorizer: &mut Authorizer, sequence: &mut Sequence, status: u16, body: &str) {
    let Some(Effect::Fetch(fetch)) = authorizer.poll_effect() else { panic!("no request") };
    let (to, path) = match fetch.url.strip_prefix(ISSUER) {
        Some(path) => (AUTHORIZATION_SERVER, path),
        None => (MCP_SERVER, fetch.url.strip_prefix("https://mcp.example.com").unwrap()),
    };
    // The documents of both servers have long paths; their kind says enough.
    let path = path.replace("/.well-known/", "").replace("/mcp", "");
    sequence.message(HOST, to, alloc::format!("{} {path}", fetch.method));
    sequence.response(to, HOST, alloc::format!("{status}"));
    authorizer.fetched(fetch.job, FetchedResponse::new(status, body.as_bytes()), NOW);
}

fn sequence() -> Sequence {
    let mut sequence = Sequence::new(&["MCP server", "host", "authorization server"]);
    let mut config = AuthorizerConfig::new(SERVER).unwrap();
    config.registration = Some(ClientMetadata::native("Example client"));
    let mut authorizer = Authorizer::new(Arc::new(config));

    let request = RequestKey(1);
    assert_eq!(authorizer.permit(request, SERVER, NOW), Permit::Send(None));
    sequence.message(HOST, MCP_SERVER, "POST /mcp");
    sequence.response(MCP_SERVER, HOST, "401, WWW-Authenticate");
    let challenges = Challenges::parse(
        "Bearer resource_metadata=\"https://mcp.example.com/.well-known/oauth-protected-resource/mcp\"",
    );
    sequence.note(HOST, "challenged()");
    authorizer.challenged(request, Challenged::new(401, &challenges), NOW);
    let document = r#"{"resource":"https://mcp.example.com/mcp","authorization_servers":["https://as.example.com"]}"#;
    fetch(&mut authorizer, &mut sequence, 200, document);
    let document = r#"{"issuer":"https://as.example.com",
        "authorization_endpoint":"https://as.example.com/authorize",
        "token_endpoint":"https://as.example.com/token",
        "registration_endpoint":"https://as.example.com/register",
        "code_challenge_methods_supported":["S256"],
        "token_endpoint_auth_methods_supported":["none"],
        "authorization_response_iss_parameter_supported":true}"#;
    fetch(&mut authorizer, &mut sequence, 200, document);

    let Some(Effect::PrepareLogin { job, .. }) = authorizer.poll_effect() else { panic!() };
    sequence.note(HOST, "effect PrepareLogin: listen for the browser");
    let material = LoginMaterial::new([7; 64], "http://127.0.0.1:4000/callback");
    authorizer.login_prepared(job, &material, NOW);
    fetch(&mut authorizer, &mut sequence, 201, r#"{"client_id":"client-1"}"#);
    let Some(Effect::Save(_)) = authorizer.poll_effect() else { panic!() };
    let Some(Effect::OpenUrl(url)) = authorizer.poll_effect() else { panic!() };
    sequence.note(HOST, "effects Save and OpenUrl: the browser opens");
    sequence.message(HOST, AUTHORIZATION_SERVER, "GET /authorize, by the browser");
    let state = url.as_str().split('&').find_map(|pair| pair.strip_prefix("state=")).unwrap();
    let back = String::from("http://127.0.0.1:4000/callback?code=abc&state=")
        + state
        + "&iss=https%3A%2F%2Fas.example.com";
    sequence.response(AUTHORIZATION_SERVER, HOST, "a redirect with the code");
    assert_eq!(authorizer.redirected(&back, NOW), Redirected::Accepted);
    let tokens = r#"{"access_token":"token-1","token_type":"Bearer","expires_in":3600}"#;
    fetch(&mut authorizer, &mut sequence, 200, tokens);

    let Some(Effect::Save(_)) = authorizer.poll_effect() else { panic!() };
    let Some(Effect::Release { .. }) = authorizer.poll_effect() else { panic!() };
    sequence.note(HOST, "effects Save and Release: the request is sent again");
    let Permit::Send(Some(token)) = authorizer.permit(request, SERVER, NOW) else { panic!() };
    sequence.message(HOST, MCP_SERVER, "POST /mcp with the token");
    sequence.response(MCP_SERVER, HOST, "200");
    let generation = token.generation();
    authorizer.accepted(Some(generation), None);
    sequence
}

/// The requests of the chapter are those of the authorizer.
#[test]
fn the_login_diagram_matches_the_authorizer_requests() {
    compare("sequence_login.svg", &sequence().svg("The requests of a login"));
}
