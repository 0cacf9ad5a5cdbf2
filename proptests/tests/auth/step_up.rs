//! Additional scopes for some operations.

use std::time::Duration;

use mcp_sansio::Revision;
use mcp_sansio::auth::{
    AuthorizationFailure, Effect, FetchError, FetchPurpose, Permit, Redirected, Saved, Stage,
    Verdict,
};
use serde_json::json;

use crate::kit::{Lab, Opened, SERVER, config, resource_metadata, server_metadata, tokens};

const MORE: &str = r#"Bearer error="insufficient_scope", scope="write""#;

/// Returns a client that is logged in with the scope `read`.
fn logged_in(config: mcp_sansio::auth::AuthorizerConfig) -> Lab {
    let mut lab = Lab::new(config);
    let opened = lab.until_browser(r#"Bearer scope="read""#);
    assert_eq!(opened.get("scope"), "read");
    let fetch = lab.agree(&opened);
    lab.answer(&fetch, 200, &tokens());
    lab.released();
    lab.authorizer.accepted(Some(1), None);
    lab
}

/// Returns the authorization request after a challenge.
fn stepped(lab: &mut Lab, challenge: &str, operation: &str) -> Opened {
    lab.refused_for(403, challenge, operation);
    lab.discover(&resource_metadata(), &server_metadata());
    lab.prepared();
    lab.opened()
}

/// Proves A-STEP-01, A-STEP-02, A-REF-10: a login and no refresh, with the old scopes and then the new ones.
#[test]
fn more_scopes_are_asked_of_the_user() {
    let challenge = r#"Bearer error="insufficient_scope", scope="write read""#;
    for (revision, scopes) in [
        (None, "read write"),
        (Some(Revision::V2026_07_28), "read write"),
        (Some(Revision::V2025_11_25), "write read"),
    ] {
        let mut lab = logged_in(config());
        lab.authorizer.accepted(Some(1), revision);
        let opened = stepped(&mut lab, challenge, "tools/call x");
        assert_eq!(opened.get("scope"), scopes, "{revision:?}");
        // Other requests are still sent with the existing token.
        assert_eq!(lab.field().as_deref(), Some("Bearer t1"));
        let fetch = lab.agree(&opened);
        lab.answer(&fetch, 200, &json!({ "access_token": "t2", "token_type": "Bearer" }));
        assert_eq!(lab.released().pop().map(|(_, verdict)| verdict), Some(Verdict::Send));
        assert_eq!(lab.field().as_deref(), Some("Bearer t2"));
    }
}

/// Proves A-STEP-04, A-STEP-05: an operation has three attempts, including the first login; another operation has its
/// own.
#[test]
fn an_operation_has_a_bounded_number_of_tries() {
    let mut lab = logged_in(config());
    for round in 0..2 {
        let challenge = format!(r#"Bearer error="insufficient_scope", scope="more{round}""#);
        let opened = stepped(&mut lab, &challenge, "tools/call x");
        let fetch = lab.agree(&opened);
        lab.answer(&fetch, 200, &json!({ "access_token": "t", "token_type": "Bearer" }));
        lab.released();
    }
    lab.refused_for(403, MORE, "tools/call x");
    assert_eq!(lab.failure(), AuthorizationFailure::ScopeUnavailable("write".into()));
    lab.refused_for(403, MORE, "tools/call x");
    assert_eq!(lab.failure(), AuthorizationFailure::ScopeUnavailable("write".into()));
    stepped(&mut lab, MORE, "tools/call y");
}

/// Proves A-STEP-04: a step-up that fails for now is no attempt of the operation.
#[test]
fn a_step_up_that_fails_for_now_does_not_count() {
    let mut lab = logged_in(config());
    for _ in 0..4 {
        lab.refused_for(403, MORE, "x");
        let fetch = lab.fetch();
        lab.fail(&fetch, FetchError::NotSent);
        assert!(lab.failure().is_temporary());
    }
    // Any other failure counts.
    for _ in 0..2 {
        let opened = stepped(&mut lab, MORE, "x");
        lab.back(&format!("error=access_denied&state={}", opened.get("state")));
        assert!(matches!(lab.failure(), AuthorizationFailure::Denied(_)));
    }
    lab.refused_for(403, MORE, "x");
    assert_eq!(lab.failure(), AuthorizationFailure::ScopeUnavailable("write".into()));
}

/// Proves A-STEP-04: the limit is for the steps after one login. Another login, whose token has fewer scopes again,
/// begins a new count.
#[test]
fn a_new_login_begins_a_new_count() {
    let mut lab = logged_in(config());
    let steps_up_twice = |lab: &mut Lab| {
        for round in 0..2 {
            let challenge = format!(r#"Bearer error="insufficient_scope", scope="more{round}""#);
            let opened = stepped(lab, &challenge, "x");
            let fetch = lab.agree(&opened);
            lab.answer(&fetch, 200, &json!({ "access_token": "t", "token_type": "Bearer" }));
            lab.released();
            let generation = lab.generation();
            lab.authorizer.accepted(generation, None);
        }
        lab.refused_for(403, MORE, "x");
        assert_eq!(lab.failure(), AuthorizationFailure::ScopeUnavailable("write".into()));
    };
    steps_up_twice(&mut lab);
    let opened = lab.until_browser(r#"Bearer scope="read""#);
    let fetch = lab.agree(&opened);
    lab.answer(&fetch, 200, &tokens());
    assert_eq!(lab.released().len(), 1);
    steps_up_twice(&mut lab);

    // Another process has logged in after the logout.
    let saved = lab.saved.clone().unwrap().to_text();
    lab.authorizer.log_out();
    assert_eq!(lab.effect(), None);
    let newer = saved.expose().replacen(r#""generation":6"#, r#""generation":8"#, 1);
    lab.authorizer.restore(Saved::from_text(&newer).unwrap());
    stepped(&mut lab, MORE, "x");
}

/// Proves A-STEP-04: a scope that was granted already is not requested again.
#[test]
fn step_up_does_not_request_already_granted_scopes() {
    let mut lab = logged_in(config());
    lab.refused_for(403, r#"Bearer error="insufficient_scope", scope="read""#, "x");
    assert_eq!(lab.failure(), AuthorizationFailure::ScopeUnavailable("read".into()));
    assert_eq!(lab.authorizer.stage(), Stage::Idle);
}

/// Proves A-STEP-04: a scope that was requested and not granted can be requested again.
#[test]
fn step_up_requests_scopes_that_were_not_granted() {
    let mut lab = Lab::new(config());
    let opened = lab.until_browser(r#"Bearer scope="read write""#);
    let fetch = lab.agree(&opened);
    let mut fewer = tokens();
    fewer["scope"] = json!("read");
    lab.answer(&fetch, 200, &fewer);
    lab.released();
    lab.authorizer.accepted(Some(1), None);
    assert_eq!(stepped(&mut lab, MORE, "x").get("scope"), "read write");
}

/// Proves A-STEP-06.
#[test]
fn a_challenge_without_scopes_means_those_of_the_resource() {
    let challenge = r#"Bearer error="insufficient_scope""#;
    let mut lab = logged_in(config());
    lab.refused_for(403, challenge, "x");
    let mut resource = resource_metadata();
    resource["scopes_supported"] = json!(["read", "write"]);
    lab.discover(&resource, &server_metadata());
    lab.prepared();
    assert_eq!(lab.opened().get("scope"), "read write");

    let mut lab = logged_in(config());
    lab.refused_for(403, challenge, "x");
    resource["scopes_supported"] = json!(["read"]);
    lab.discover(&resource, &server_metadata());
    assert_eq!(lab.failure(), AuthorizationFailure::ScopeUnavailable(String::new()));
}

/// Proves A-STEP-03, A-STEP-07.
#[test]
fn a_host_can_do_without() {
    let mut config = config();
    config.step_up = false;
    let mut lab = logged_in(config);
    lab.refused_for(403, MORE, "x");
    assert_eq!(lab.failure(), AuthorizationFailure::ScopeUnavailable("write".into()));
}

/// Proves A-STEP-08.
#[test]
fn a_denied_step_up_keeps_the_existing_token() {
    let mut lab = logged_in(config());
    let opened = stepped(&mut lab, MORE, "x");
    let query = format!("error=access_denied&state={}", opened.get("state"));
    assert_eq!(lab.back(&query), Redirected::Failed);
    assert!(matches!(lab.failure(), AuthorizationFailure::Denied(_)));
    assert_eq!(lab.field().as_deref(), Some("Bearer t1"));
}

/// Proves A-STEP-08: the old token expires while the user does not respond. Requests that need no more scopes wait,
/// and refresh the token after the step-up has failed.
#[test]
fn a_failed_step_up_fails_only_what_needs_its_scopes() {
    let mut lab = logged_in(config());
    let needing = lab.refused_for(403, MORE, "x");
    lab.discover(&resource_metadata(), &server_metadata());
    lab.prepared();
    lab.opened();
    let other = lab.refused_for(403, MORE, "y");
    // The server has revoked the token.
    let refused = lab.refused(401, "Bearer");
    lab.now = lab.now + Duration::from_secs(3600);
    let expired = lab.key();
    assert_eq!(lab.authorizer.permit(expired, SERVER, lab.now), Permit::Wait);
    lab.authorizer.abandoned(lab.now);
    let failed = Verdict::Fail(AuthorizationFailure::Abandoned);
    let expected = [
        (needing, failed.clone()),
        (other, failed),
        (refused, Verdict::Send),
        (expired, Verdict::Send),
    ];
    assert_eq!(lab.released(), expected);
    assert_eq!(lab.authorizer.permit(expired, SERVER, lab.now), Permit::Wait);
    lab.claim(None);
    assert_eq!(lab.fetch().purpose, FetchPurpose::Refresh);

    // Without a step-up, a failure concerns all.
    let mut lab = logged_in(config());
    lab.wait(3600);
    let refused = lab.refused_with(401, "Bearer", "", Some(1));
    let other = lab.refused_for(403, MORE, "x");
    let fetch = lab.fetch();
    lab.fail(&fetch, FetchError::NotSent);
    let released = lab.released();
    assert_eq!(released.iter().map(|(request, _)| *request).collect::<Vec<_>>(), [refused, other]);
    assert!(released.iter().all(|(_, verdict)| matches!(verdict, Verdict::Fail(_))));
}

/// Without a step-up, a request that needs more scopes fails.
#[test]
fn a_client_need_not_step_up() {
    let mut config = config();
    config.most_step_ups = 0;
    let mut lab = logged_in(config);
    lab.refused_for(403, MORE, "tools/call x");
    assert_eq!(lab.failure(), AuthorizationFailure::ScopeUnavailable("write".into()));
}

/// A login in place of a refused refresh asks for the scopes of the earlier login, if the server names no others.
#[test]
fn a_new_login_asks_for_the_earlier_scopes() {
    let mut lab = logged_in(config());
    lab.refused(401, "Bearer");
    lab.discover(&resource_metadata(), &server_metadata());
    lab.claim(None);
    lab.serve(400, &json!({ "error": "invalid_grant" }));
    assert_eq!(lab.effect(), Some(Effect::Unclaim));
    lab.prepared();
    assert_eq!(lab.opened().get("scope"), "read");
}
