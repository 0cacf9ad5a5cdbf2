//! Discoveries that no challenge began, after a refresh that brought no tokens.

use std::time::Duration;

use mcp_sansio::auth::{
    AuthorizationFailure, AuthorizerConfig, Effect, Fallback, FetchError, FetchPurpose, NotAllowed,
    Permit, Saved, Stage, Verdict,
};
use serde_json::{Value, json};

use crate::kit::{Lab, SERVER, config, field, resource_metadata, server_metadata, tokens};
use crate::refresh_ends::restarted;

/// Returns a restarted client that has looked in vain for the metadata of the resource, because the token endpoint
/// answered like this. No authorization was challenged, so the request that waits is sent without a token.
fn restarted_in_vain(config: AuthorizerConfig, saved: &Saved, status: u16, body: &str) -> Lab {
    let mut lab = restarted(config, saved);
    let fetch = lab.fetch();
    lab.answer_text(&fetch, status, body);
    assert_eq!(lab.effect(), Some(Effect::Unclaim));
    for _ in 0..2 {
        assert_eq!(lab.serve(404, &json!({})).purpose, FetchPurpose::ResourceMetadata);
    }
    assert_eq!(lab.released().into_iter().map(|(_, it)| it).collect::<Vec<_>>(), [Verdict::Send]);
    let key = lab.key();
    assert_eq!(lab.authorizer.permit(key, SERVER, lab.now), Permit::Send(None));
    assert_eq!(lab.authorizer.stage(), Stage::Idle);
    lab
}

/// Proves A-REF-02: a proxy answers instead of the token endpoint, and the server names its metadata only in a
/// challenge. The tokens stay, and are refreshed after the challenge.
#[test]
fn tokens_outlive_a_discovery_that_no_challenge_began() {
    let mut lab = Lab::new(config());
    lab.log_in(&tokens());
    let saved = lab.saved.unwrap();
    for fallback in [Fallback::UnlessNewer, Fallback::Always, Fallback::Never] {
        let config = || {
            let mut config = config();
            config.fallback = fallback;
            config
        };
        let mut lab = restarted_in_vain(config(), &saved, 302, "<html>");
        assert_eq!(lab.authorizer.saved(), &saved);

        // The next requests do not refresh the tokens again at once.
        let mut later = lab.clone();
        for (seconds, expected) in [(29, Permit::Send(None)), (1, Permit::Wait)] {
            later.now = later.now + Duration::from_secs(seconds);
            let key = later.key();
            assert_eq!(later.authorizer.permit(key, SERVER, later.now), expected);
        }

        // The challenge leads to the token endpoint, which has moved.
        lab.refused(401, r#"Bearer resource_metadata="https://mcp.example/meta""#);
        assert_eq!(lab.serve(200, &resource_metadata()).url, "https://mcp.example/meta");
        let mut server = server_metadata();
        server["token_endpoint"] = json!("https://as.example/moved");
        lab.serve(200, &server);
        lab.claim(Some(saved.clone()));
        let mut fresh = tokens();
        fresh["access_token"] = json!("t2");
        let fetch = lab.serve(200, &fresh);
        assert_eq!(fetch.url, "https://as.example/moved");
        assert_eq!(field(&fetch, "refresh_token").as_deref(), Some("r1"));
        assert_eq!(lab.released().len(), 1);
        assert_eq!(lab.field().as_deref(), Some("Bearer t2"));
    }
}

/// A challenge without metadata leads to the authorization of 2025-03-26. Tokens of another issuer stay until a login
/// has brought new ones.
#[test]
fn tokens_of_another_issuer_outlive_a_login_at_the_server_itself() {
    let mut lab = Lab::new(config());
    lab.log_in(&tokens());
    let saved = lab.saved.unwrap();
    let mut lab = restarted_in_vain(config(), &saved, 302, "<html>");
    lab.refused(401, "Bearer");
    for _ in 0..3 {
        lab.serve(404, &json!({}));
    }
    lab.prepared();
    lab.serve(201, &json!({ "client_id": "c2" }));
    let opened = lab.opened();
    assert_eq!(opened.endpoint, "https://mcp.example/authorize");
    let mut other = lab.clone();
    other.authorizer.abandoned(other.now);
    assert_eq!(other.failure(), AuthorizationFailure::Abandoned);
    assert!(other.saved.unwrap().to_text().expose().contains(r#""refresh_token":"r1""#));
    let fetch = lab.agree(&opened);
    lab.answer(&fetch, 200, &json!({ "access_token": "t2", "token_type": "Bearer" }));
    assert_eq!(lab.released().len(), 1);
    assert_eq!(lab.field().as_deref(), Some("Bearer t2"));
}

/// Proves A-REF-09: after `invalid_grant` the challenge tells where the metadata are, and not their absence at the
/// well-known places that the server is one of 2025-03-26.
#[test]
fn a_refused_refresh_waits_for_a_challenge_if_there_are_no_metadata() {
    let mut lab = Lab::new(config());
    lab.log_in(&tokens());
    let saved = lab.saved.unwrap();
    let refused = json!({ "error": "invalid_grant" }).to_string();
    let mut lab = restarted_in_vain(config(), &saved, 400, &refused);
    assert_eq!(lab.authorizer.granted(), None);
    lab.refused(401, r#"Bearer resource_metadata="https://mcp.example/meta""#);
    assert_eq!(lab.serve(200, &resource_metadata()).url, "https://mcp.example/meta");
    lab.serve(200, &server_metadata());
    lab.prepared();
    assert_eq!(lab.opened().endpoint, "https://as.example/authorize");
}

/// A proxy may answer at the well-known places with the metadata of another resource. Only a challenge tells where those
/// of the server are.
#[test]
fn metadata_of_another_resource_prove_nothing_without_a_challenge() {
    let mut lab = Lab::new(config());
    lab.log_in(&tokens());
    let saved = lab.saved.unwrap();
    let mut lab = restarted(config(), &saved);
    let fetch = lab.fetch();
    lab.answer_text(&fetch, 302, "<html>");
    assert_eq!(lab.effect(), Some(Effect::Unclaim));
    let mut other = resource_metadata();
    other["resource"] = json!("https://mcp.example/other");
    lab.serve(200, &other);
    lab.serve(200, &other);
    assert_eq!(lab.released().into_iter().map(|(_, it)| it).collect::<Vec<_>>(), [Verdict::Send]);
    assert_eq!(lab.authorizer.saved(), &saved);
    let key = lab.key();
    assert_eq!(lab.authorizer.permit(key, SERVER, lab.now), Permit::Send(None));
    lab.refused(401, r#"Bearer resource_metadata="https://mcp.example/meta""#);
    lab.discover(&resource_metadata(), &server_metadata());
    lab.claim(Some(saved));
    assert_eq!(lab.fetch().purpose, FetchPurpose::Refresh);
    // With a challenge, such metadata are a fault of the server.
    let mut lab = Lab::new(config());
    lab.refused(401, "Bearer");
    lab.serve(200, &other);
    let named = "https://mcp.example/other".to_owned();
    assert_eq!(lab.failure(), AuthorizationFailure::ResourceMismatch(named));
}

/// The scopes of tokens that were discarded are requested again, also after a later challenge that names none, until
/// there are other tokens.
#[test]
fn the_scopes_of_discarded_tokens_are_requested_again() {
    let mut lab = Lab::new(config());
    let opened = lab.until_browser(r#"Bearer scope="a b""#);
    let fetch = lab.agree(&opened);
    lab.answer(&fetch, 200, &tokens());
    assert_eq!(lab.released().len(), 1);
    let saved = lab.saved.unwrap();
    let refused = json!({ "error": "invalid_grant" }).to_string();
    let mut lab = restarted_in_vain(config(), &saved, 400, &refused);
    assert_eq!(lab.authorizer.granted(), None);
    for _ in 0..2 {
        assert_eq!(lab.until_browser("Bearer").get("scope"), "a b");
        lab.authorizer.abandoned(lab.now);
        assert_eq!(lab.failure(), AuthorizationFailure::Abandoned);
    }
    // The user who logs out has no earlier scopes.
    let mut out = lab.clone();
    out.authorizer.log_out();
    assert_eq!(out.until_browser("Bearer").find("scope"), None);
    let opened = lab.until_browser(r#"Bearer scope="c""#);
    let fetch = lab.agree(&opened);
    lab.answer(&fetch, 200, &json!({ "access_token": "t2", "token_type": "Bearer" }));
    assert_eq!(lab.released().len(), 1);
    lab.authorizer.accepted(Some(2), None);
    lab.wait(60);
    assert_eq!(lab.until_browser("Bearer").get("scope"), "c");
}

/// How a request to the token endpoint ends without a response.
#[derive(Clone, Copy, Debug)]
enum Silence {
    Failed(FetchError),
    TimedOut,
    /// The policy does not allow the stored endpoint.
    Forbidden,
}

const SILENCES: [Silence; 5] = [
    Silence::Failed(FetchError::NotSent),
    Silence::Failed(FetchError::Broken),
    Silence::Failed(FetchError::NotAllowed),
    Silence::TimedOut,
    Silence::Forbidden,
];

/// Returns a restarted client whose token endpoint does not answer, and its tokens.
fn restarted_in_silence(silence: Silence) -> (Lab, Saved) {
    let mut lab = Lab::new(config());
    lab.log_in(&tokens());
    let mut saved = lab.saved.unwrap();
    if let Silence::Forbidden = silence {
        let text =
            saved.to_text().expose().replace("https://as.example/token", "https://10.0.0.1/");
        saved = Saved::from_text(&text).unwrap();
    }
    let mut lab = restarted(config(), &saved);
    match silence {
        Silence::Failed(error) => {
            let fetch = lab.fetch();
            lab.fail(&fetch, error);
        }
        Silence::TimedOut => {
            assert_eq!(lab.fetch().purpose, FetchPurpose::Refresh);
            lab.wait(30);
        }
        Silence::Forbidden => {}
    }
    assert_eq!(lab.effect(), Some(Effect::Unclaim), "{silence:?}");
    assert_eq!(lab.authorizer.saved(), &saved, "{silence:?}");
    (lab, saved)
}

/// Proves A-PRM-15, A-REF-02: the authorization server of the tokens is gone for good. The metadata of the server name
/// another one.
#[test]
fn an_authorization_server_that_is_gone_is_replaced() {
    let moved = |document: Value| -> Value {
        serde_json::from_str(&document.to_string().replace("as.example", "two.example")).unwrap()
    };
    for silence in SILENCES {
        let (mut lab, _) = restarted_in_silence(silence);
        lab.discover(&moved(resource_metadata()), &moved(server_metadata()));
        lab.prepared();
        assert_eq!(lab.saved.as_ref().unwrap().scopes(), None, "{silence:?}");
        let fetch = lab.serve(201, &json!({ "client_id": "c2" }));
        assert_eq!(fetch.url, "https://two.example/register", "{silence:?}");
        assert_eq!(lab.opened().endpoint, "https://two.example/authorize", "{silence:?}");
    }
}

/// Proves A-TOK-12: the authorization server of the tokens is down for a while, which loses nothing.
#[test]
fn an_authorization_server_that_is_down_keeps_its_tokens() {
    let failed = |place: &'static str| {
        let failure = AuthorizationFailure::Transient { place, status: None, retry_after: None };
        Verdict::Fail(failure)
    };
    for silence in SILENCES {
        let (mut down, saved) = restarted_in_silence(silence);
        down.serve(200, &resource_metadata());
        let mut up = down.clone();
        let fetch = down.fetch();
        assert_eq!(fetch.url, "https://as.example/.well-known/oauth-authorization-server");
        down.fail(&fetch, FetchError::NotSent);
        let released: Vec<_> = down.released().into_iter().map(|(_, verdict)| verdict).collect();
        assert_eq!(released, [failed("the metadata of the authorization server")], "{silence:?}");
        assert_eq!(down.authorizer.saved(), &saved, "{silence:?}");

        // Its metadata are there, and its token endpoint fails again.
        up.serve(200, &server_metadata());
        up.claim(Some(saved.clone()));
        let fetch = up.fetch();
        assert_eq!(
            (fetch.purpose, &*fetch.url),
            (FetchPurpose::Refresh, "https://as.example/token")
        );
        let mut forbidden = up.clone();
        up.fail(&fetch, FetchError::NotSent);
        let released: Vec<_> = up.released().into_iter().map(|(_, verdict)| verdict).collect();
        assert_eq!(released, [failed("the token endpoint")], "{silence:?}");
        assert_eq!(up.authorizer.saved(), &saved, "{silence:?}");
        forbidden.fail(&fetch, FetchError::NotAllowed);
        let (place, reason) = ("the token endpoint", NotAllowed::Policy);
        assert_eq!(forbidden.failure(), AuthorizationFailure::NotAllowed { place, reason });
        assert_eq!(forbidden.authorizer.saved(), &saved, "{silence:?}");
    }
}
