//! Refreshes that bring no new tokens, and tokens that expire without one.

use std::time::Duration;

use mcp_sansio::auth::{Effect, Permit, Stage};
use serde_json::json;

use crate::kit::{Lab, SERVER, config, tokens};

/// Returns a client so many seconds after its login.
fn logged_in_before(seconds: u64) -> Lab {
    let mut lab = Lab::new(config());
    lab.log_in(&tokens());
    lab.wait(seconds);
    lab
}

/// A token that is still good is not refreshed again at once.
#[test]
fn a_refresh_that_could_not_begin_is_tried_again_later() {
    let mut lab = logged_in_before(3540);
    let Some(Effect::Claim { job }) = lab.effect() else { panic!("no refresh") };
    lab.authorizer.job_failed(job, lab.now);
    assert_eq!(lab.released(), []);
    assert_eq!(lab.authorizer.poll_timeout(), Some(lab.now + Duration::from_secs(30)));
}

/// The next request refreshes an expired token, so there is no deadline.
#[test]
fn an_expired_token_has_no_deadline() {
    let mut lab = logged_in_before(3600);
    assert_eq!((lab.authorizer.poll_timeout(), lab.effect()), (None, None));
}

/// Without a refresh token, an expired access token is of no use.
#[test]
fn a_refused_refresh_of_an_expired_token_leaves_no_tokens() {
    let mut lab = logged_in_before(3600);
    let key = lab.key();
    assert_eq!(lab.authorizer.permit(key, SERVER, lab.now), Permit::Wait);
    lab.claim(None);
    lab.serve(400, &json!({ "error": "invalid_grant" }));
    assert_eq!(lab.authorizer.granted(), None);
    assert_eq!(lab.effect(), Some(Effect::Unclaim));
    assert_eq!(lab.saved.as_ref().and_then(|saved| saved.scopes()), None);
    assert_eq!(lab.authorizer.stage(), Stage::FindingResource);
}
