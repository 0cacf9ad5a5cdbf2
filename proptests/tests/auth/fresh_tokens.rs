//! Tokens that the server refuses soon after they were issued.

use mcp_sansio::auth::{AuthorizationFailure, FetchedResponse, Stage, Verdict};

use crate::kit::{Lab, config, field, resource_metadata, server_metadata, tokens};

/// Proves A-USE-08, A-REF-04: a token that was not used for a minute is not fresh. The server may have lost its tokens
/// since then, and a refresh brings another one.
#[test]
fn a_token_that_was_not_used_for_long_is_not_fresh() {
    for (seconds, is_fresh) in [(59, true), (60, false)] {
        let mut lab = Lab::new(config());
        lab.log_in(&tokens());
        lab.wait(3540);
        lab.claim(None);
        lab.serve(200, &tokens());
        assert_eq!((lab.released(), lab.generation()), (Vec::new(), Some(2)));
        lab.wait(seconds);
        let key = lab.refused(401, "Bearer");
        if is_fresh {
            assert_eq!(lab.failure(), AuthorizationFailure::FreshTokenRefused);
            continue;
        }
        lab.discover(&resource_metadata(), &server_metadata());
        lab.claim(lab.saved.clone());
        let fetch = lab.serve(200, &tokens());
        assert_eq!(field(&fetch, "refresh_token").as_deref(), Some("r1"));
        assert_eq!(lab.released(), [(key, Verdict::Send)]);
        // The refusal of that token ends the request.
        lab.refused(401, "Bearer");
        assert_eq!(lab.failure(), AuthorizationFailure::FreshTokenRefused);
    }
}

/// Proves A-USE-08: a server that forbids a request has accepted its token.
#[test]
fn a_token_of_a_forbidden_request_is_not_fresh() {
    for challenge in ["Bearer", r#"Bearer error="insufficient_scope""#] {
        let mut lab = Lab::new(config());
        let opened = lab.until_browser("Bearer");
        let fetch = lab.agree(&opened);
        lab.answer(&fetch, 200, &tokens());
        assert_eq!(lab.released().len(), 1);
        lab.refused(403, challenge);
        lab.authorizer.abandoned(lab.now);
        while lab.effect().is_some() {}
        lab.refused(401, "Bearer");
        assert_eq!(lab.authorizer.stage(), Stage::FindingResource, "{challenge}");
    }
}

/// The pause after the refusal of a fresh token is for its user. Another user logs in at once.
#[test]
fn a_logout_ends_the_pause_after_a_refusal() {
    let mut lab = Lab::new(config());
    let opened = lab.until_browser("Bearer");
    let fetch = lab.agree(&opened);
    lab.answer(&fetch, 200, &tokens());
    assert_eq!(lab.released().len(), 1);
    for _ in 0..2 {
        lab.refused(401, "Bearer");
        assert_eq!(lab.failure(), AuthorizationFailure::FreshTokenRefused);
    }
    lab.authorizer.log_out();
    lab.log_in(&tokens());
    assert_eq!(lab.field().as_deref(), Some("Bearer t1"));
}

/// Proves A-TOK-12: a pause that a server has asked for does not end with a logout.
#[test]
fn a_logout_does_not_end_the_pause_of_a_server() {
    let mut lab = Lab::new(config());
    lab.refused(401, "Bearer");
    let fetch = lab.fetch();
    let response = FetchedResponse::new(503, b"").retry_after(Some("20"));
    lab.authorizer.fetched(fetch.job, response, lab.now);
    let failure = lab.failure();
    assert!(matches!(failure, AuthorizationFailure::Transient { status: Some(503), .. }));
    lab.authorizer.log_out();
    lab.refused(401, "Bearer");
    assert_eq!(lab.failure(), failure);
}
