//! Refreshing and storing tokens.

use std::sync::Arc;
use std::time::Duration;

use mcp_sansio::auth::{
    AuthorizationFailure, Authorizer, ConfiguredClient, Effect, FetchError, FetchPurpose,
    FetchedResponse, Permit, Saved, Stage, Verdict,
};
use serde_json::{Value, json};

use crate::kit::{Lab, SERVER, config, field, pairs, resource_metadata, server_metadata, tokens};

fn second() -> Value {
    json!({ "access_token": "t2", "token_type": "Bearer", "expires_in": 3600, "refresh_token": "r2" })
}

/// Returns a client that is logged in, at the time of its refresh.
fn due() -> Lab {
    let mut lab = Lab::new(config());
    lab.log_in(&tokens());
    lab.wait(3540);
    lab
}

/// Proves A-REF-01, A-REF-04, A-REF-05, A-REF-06.
#[test]
fn a_token_is_refreshed_before_its_end_and_saved_before_it_is_used() {
    let mut lab = Lab::new(config());
    lab.log_in(&tokens());
    let deadline = lab.authorizer.poll_timeout().expect("a refresh is planned");
    assert_eq!((deadline - lab.now).as_secs(), 3540);
    lab.wait(3539);
    assert_eq!(lab.effect(), None);
    lab.wait(1);
    assert_eq!(lab.field().as_deref(), Some("Bearer t1"), "it is good meanwhile");
    lab.claim(None);
    let fetch = lab.fetch();
    assert_eq!((fetch.purpose, &*fetch.url), (FetchPurpose::Refresh, "https://as.example/token"));
    let expected = [
        ("grant_type", "refresh_token"),
        ("refresh_token", "r1"),
        ("resource", SERVER),
        ("client_id", "c1"),
    ];
    assert_eq!(pairs(&fetch), expected.map(|(name, value)| (name.into(), value.into())));
    let response = second().to_string();
    lab.authorizer.fetched(fetch.job, FetchedResponse::new(200, response.as_bytes()), lab.now);
    let Some(Effect::Save(saved)) = lab.authorizer.poll_effect() else { panic!("it is not saved") };
    assert_eq!(saved.generation(), 2);
    assert!(saved.to_text().expose().contains(r#""refresh_token":"r2""#));
    assert_eq!(lab.authorizer.poll_effect(), Some(Effect::Unclaim));
    assert_eq!(lab.authorizer.poll_effect(), None);
    assert_eq!(lab.field().as_deref(), Some("Bearer t2"));
}

/// Proves A-REF-05: a refresh token that is not replaced remains valid.
#[test]
fn a_refresh_token_that_is_not_replaced_is_kept() {
    let mut lab = due();
    lab.claim(None);
    let kept = json!({ "access_token": "t2", "token_type": "Bearer", "expires_in": 3600 });
    lab.serve(200, &kept);
    lab.released();
    lab.wait(3540);
    lab.claim(None);
    assert_eq!(field(&lab.fetch(), "refresh_token").as_deref(), Some("r1"));
}

/// Proves A-REF-05, A-TOK-09: scopes that a refresh response omits stay those that were granted before, and a lifetime
/// that it omits is unknown.
#[test]
fn a_refresh_response_need_not_repeat_everything() {
    let mut lab = Lab::new(config());
    let opened = lab.until_browser(r#"Bearer scope="a b""#);
    let fetch = lab.agree(&opened);
    let mut fewer = tokens();
    fewer["scope"] = json!("a");
    lab.answer(&fetch, 200, &fewer);
    lab.released();
    lab.authorizer.accepted(Some(1), None);
    lab.wait(3540);
    lab.claim(None);
    lab.serve(200, &json!({ "access_token": "t2", "token_type": "Bearer" }));
    lab.released();
    assert_eq!(lab.authorizer.granted().map(ToString::to_string).as_deref(), Some("a"));
    assert_eq!(lab.authorizer.poll_timeout(), None);
    lab.wait(1_000_000);
    assert_eq!(lab.field().as_deref(), Some("Bearer t2"));
}

/// Proves A-REF-01: a token whose whole life is short is refreshed after half of it.
#[test]
fn a_short_token_is_used_for_half_of_its_life() {
    let mut lab = Lab::new(config());
    let mut short = tokens();
    short["expires_in"] = json!(60);
    lab.log_in(&short);
    let deadline = lab.authorizer.poll_timeout().expect("a refresh is planned");
    assert_eq!((deadline - lab.now).as_secs(), 30);
}

/// Proves A-SEC-11: tokens that expire at once do not cause refreshes without end. Only a request refreshes them.
#[test]
fn a_token_that_expires_at_once_is_refreshed_by_requests_only() {
    for (lifetime, due) in [(1, None), (30, None), (31, Some(30)), (59, Some(30)), (62, Some(31))] {
        let mut lab = Lab::new(config());
        let mut short = tokens();
        short["expires_in"] = json!(lifetime);
        lab.log_in(&short);
        let waits = lab.authorizer.poll_timeout().map(|deadline| (deadline - lab.now).as_secs());
        assert_eq!(waits, due, "{lifetime}");
        lab.wait(due.unwrap_or(lifetime));
        if due.is_none() {
            assert_eq!((lab.effect(), lab.authorizer.stage()), (None, Stage::Idle));
            let key = lab.key();
            assert_eq!(lab.authorizer.permit(key, SERVER, lab.now), Permit::Wait);
        }
        lab.claim(None);
        lab.serve(200, &short);
    }
}

/// Proves A-REF-04, A-REF-07, A-CHAL-17, A-PRM-15: after a 401 the client repeats discovery, then refreshes the token
/// once for all waiting requests.
#[test]
fn all_waiting_requests_share_one_token_refresh() {
    let mut lab = Lab::new(config());
    lab.log_in(&tokens());
    let mut keys: Vec<_> = (0..10).map(|_| lab.refused_with(401, "Bearer", "", Some(1))).collect();
    lab.discover(&resource_metadata(), &server_metadata());
    // Further requests wait instead of being sent with a refused token.
    let key = lab.key();
    assert_eq!(lab.authorizer.permit(key, SERVER, lab.now), Permit::Wait);
    keys.push(key);
    lab.claim(None);
    lab.serve(200, &second());
    let expected: Vec<_> = keys.into_iter().map(|key| (key, Verdict::Send)).collect();
    assert_eq!(lab.released(), expected);
    // A late refusal of the old token causes no other refresh.
    let late = lab.refused_with(401, "Bearer", "", Some(1));
    assert_eq!(lab.released(), [(late, Verdict::Send)]);
}

/// Proves A-REF-02, A-REF-03, A-SEC-12: after a restart.
#[test]
fn a_token_that_ran_out_before_a_restart_is_refreshed_before_the_first_request() {
    let mut lab = Lab::new(config());
    lab.log_in(&tokens());
    let text = lab.saved.clone().expect("it is saved").to_text();
    let saved = Saved::from_text(text.expose()).unwrap();
    let mut later = Lab::new(config());
    later.now = later.now + Duration::from_secs(7200);
    later.authorizer.restore(saved.clone());
    assert_eq!(later.field(), None);
    let key = later.key();
    assert_eq!(later.authorizer.permit(key, SERVER, later.now), Permit::Wait);
    later.claim(Some(saved));
    let fetch = later.serve(200, &second());
    assert_eq!(fetch.url, "https://as.example/token");
    assert_eq!(field(&fetch, "refresh_token").as_deref(), Some("r1"));
    assert_eq!(later.released(), [(key, Verdict::Send)]);
    assert_eq!(later.field().as_deref(), Some("Bearer t2"));

    // A token that is still valid is used, and refreshed at the same time as before.
    let mut soon = Lab::new(config());
    soon.authorizer.restore(Saved::from_text(text.expose()).unwrap());
    assert_eq!(soon.field().as_deref(), Some("Bearer t1"));
    assert_eq!(soon.authorizer.poll_timeout(), lab.authorizer.poll_timeout());
}

/// Proves A-REF-08.
#[test]
fn a_token_stored_by_another_process_replaces_a_refresh() {
    let mut first = due();
    first.claim(None);
    first.serve(200, &second());
    first.released();
    let stored = first.saved.clone();

    let mut lab = due();
    lab.claim(stored.clone());
    assert_eq!(lab.released(), []);
    assert_eq!(lab.field().as_deref(), Some("Bearer t2"));
    assert_eq!(lab.authorizer.stage(), Stage::Idle);

    // The host may restore stored tokens at any other time, too; older ones are ignored.
    let mut lab = due();
    let old = lab.saved.clone().expect("it is saved");
    lab.authorizer.restore(stored.expect("it is saved"));
    assert_eq!(lab.field().as_deref(), Some("Bearer t2"));
    lab.authorizer.restore(old);
    assert_eq!(lab.field().as_deref(), Some("Bearer t2"));
}

/// Returns the stored state after another process has logged in at another authorization server.
fn logged_in_elsewhere(lab: &Lab) -> Saved {
    let moved = |document: Value| -> Value {
        serde_json::from_str(&document.to_string().replace("as.example", "two.example")).unwrap()
    };
    let mut other = Lab::new(config());
    other.now = lab.now;
    other.authorizer.restore(lab.saved.clone().expect("it is saved"));
    other.refused(401, "Bearer");
    other.discover(&moved(resource_metadata()), &moved(server_metadata()));
    other.prepared();
    other.serve(201, &json!({ "client_id": "c2" }));
    let opened = other.opened();
    let fetch = other.agree(&opened);
    other.answer(&fetch, 200, &second());
    assert_eq!(other.released().len(), 1);
    other.saved.expect("it is saved")
}

/// Proves A-REF-08, A-REF-12: the response to a refresh does not change tokens that were restored meanwhile. Tokens
/// of two authorization servers are not mixed.
#[test]
fn tokens_that_are_restored_during_a_refresh_stay() {
    let responses = [
        (200, json!({ "access_token": "t3", "token_type": "Bearer", "refresh_token": "r3" })),
        (200, json!({})),
        (400, json!({ "error": "invalid_grant" })),
        (401, json!({ "error": "invalid_client" })),
        (503, json!({})),
    ];
    for (status, body) in responses {
        let mut lab = Lab::new(config());
        lab.log_in(&tokens());
        let stored = logged_in_elsewhere(&lab);
        let key = lab.refused(401, "Bearer");
        lab.discover(&resource_metadata(), &server_metadata());
        lab.claim(lab.saved.clone());
        let fetch = lab.fetch();
        assert_eq!(field(&fetch, "refresh_token").as_deref(), Some("r1"));
        lab.authorizer.restore(stored.clone());
        assert_eq!(lab.authorizer.poll_effect(), Some(Effect::Unclaim));
        assert_eq!(lab.released(), [(key, Verdict::Send)]);
        lab.answer(&fetch, status, &body);
        assert_eq!(lab.authorizer.poll_effect(), None, "{status} {body}");
        assert_eq!(lab.authorizer.saved(), &stored, "{status} {body}");
        assert_eq!(lab.field().as_deref(), Some("Bearer t2"));
    }
}

/// Proves A-REF-08: tokens that are restored while the storage is being claimed are not refreshed.
#[test]
fn tokens_that_are_restored_before_a_refresh_are_taken_instead() {
    let mut lab = due();
    let Some(Effect::Claim { job }) = lab.effect() else { panic!("no claim") };
    let stored = logged_in_elsewhere(&lab);
    lab.authorizer.restore(stored.clone());
    assert_eq!((lab.effect(), lab.authorizer.stage()), (None, Stage::Idle));
    lab.authorizer.claimed(job, Some(stored), lab.now);
    assert_eq!(lab.authorizer.poll_effect(), Some(Effect::Unclaim));
    assert_eq!(lab.authorizer.poll_effect(), None);
}

/// Proves A-REF-08, A-REF-12: an assertion that was signed for one authorization server is not sent to another one.
#[test]
fn an_assertion_goes_with_the_token_that_it_was_signed_for() {
    let mut config = config();
    config.clients.push(ConfiguredClient::new("known").key("ES256", None));
    let mut lab = Lab::new(config);
    let mut server = server_metadata();
    server["token_endpoint_auth_methods_supported"] = json!(["private_key_jwt"]);
    lab.log_in_signed(&server);

    lab.wait(3540);
    lab.claim(lab.saved.clone());
    let Some(Effect::Sign(signing)) = lab.effect() else { panic!("nothing to sign") };
    // The times of this text are whole seconds. The tokens are the same, so the refresh continues.
    let text = lab.saved.as_ref().expect("it is saved").to_text();
    let mut same = lab.clone();
    same.authorizer.restore(Saved::from_text(text.expose()).unwrap());
    same.authorizer.signed(signing.job, b"signature", same.now);
    assert_eq!(field(&same.fetch(), "refresh_token").as_deref(), Some("r1"));

    lab.authorizer.restore(logged_in_elsewhere(&lab));
    assert_eq!(lab.authorizer.poll_effect(), Some(Effect::Unclaim));
    lab.authorizer.signed(signing.job, b"signature", lab.now);
    assert_eq!((lab.effect(), lab.authorizer.stage()), (None, Stage::Idle));
    assert_eq!(lab.field().as_deref(), Some("Bearer t2"));
}

/// A claim that arrives too late is released.
#[test]
fn a_claim_that_comes_too_late_is_given_back() {
    let mut lab = due();
    let Some(Effect::Claim { job }) = lab.effect() else { panic!("no claim") };
    lab.wait(30);
    assert_eq!(lab.authorizer.stage(), Stage::Idle);
    lab.authorizer.claimed(job, None, lab.now);
    assert_eq!(lab.authorizer.poll_effect(), Some(Effect::Unclaim));
    assert_eq!(lab.authorizer.poll_effect(), None);
    // The refresh is retried, but not at once.
    let again = lab.authorizer.poll_timeout().expect("it is tried again");
    assert!(again - lab.now <= Duration::from_secs(30));
}

/// Proves A-REF-09.
#[test]
fn a_refresh_that_is_refused_leaves_the_access_token() {
    let mut lab = due();
    lab.claim(None);
    lab.serve(400, &json!({ "error": "invalid_grant" }));
    assert_eq!(lab.released(), []);
    assert_eq!(lab.field().as_deref(), Some("Bearer t1"));
    assert_eq!(lab.authorizer.poll_timeout(), None, "there is nothing to refresh with");
    assert!(!lab.saved.clone().unwrap().to_text().expose().contains("r1"));
    // After the end of the token, a request has to wait again.
    lab.wait(60);
    assert_eq!(lab.field(), None);

    // A refused refresh of an expired token leads to a login, with the same scopes.
    let mut lab = Lab::new(config());
    let opened = lab.until_browser(r#"Bearer scope="a b""#);
    let fetch = lab.agree(&opened);
    lab.answer(&fetch, 200, &tokens());
    lab.released();
    lab.now = lab.now + Duration::from_secs(3600);
    let key = lab.key();
    assert_eq!(lab.authorizer.permit(key, SERVER, lab.now), Permit::Wait);
    lab.claim(None);
    lab.serve(400, &json!({ "error": "invalid_grant" }));
    assert_eq!(lab.effect(), Some(Effect::Unclaim), "a user takes long");
    lab.discover(&resource_metadata(), &server_metadata());
    lab.prepared();
    assert_eq!(lab.opened().get("scope"), "a b");
}

/// Proves A-TOK-12, A-TOK-13: a temporary failure of the server, or a lost response, loses nothing.
#[test]
fn a_refresh_that_goes_wrong_for_now_forgets_nothing() {
    // A server cannot ask for refreshes without a pause.
    for (retry_after, seconds) in
        [(None, 30), (Some("0"), 30), (Some("20"), 30), (Some("40"), 40), (Some("soon"), 30)]
    {
        let mut lab = due();
        lab.claim(None);
        let fetch = lab.fetch();
        if retry_after.is_none() {
            lab.fail(&fetch, FetchError::Broken);
        } else {
            let response = FetchedResponse::new(503, b"").retry_after(retry_after);
            lab.authorizer.fetched(fetch.job, response, lab.now);
        }
        assert_eq!(lab.released(), []);
        assert_eq!(lab.field().as_deref(), Some("Bearer t1"));
        let again = lab.authorizer.poll_timeout().expect("it is tried again") - lab.now;
        assert_eq!(again.as_secs(), seconds, "{retry_after:?}");
        lab.wait(again.as_secs());
        lab.claim(None);
        assert_eq!(field(&lab.fetch(), "refresh_token").as_deref(), Some("r1"));
    }
    // After the end of the token, the waiting requests fail if the metadata do not lead to another endpoint.
    let mut lab = due();
    lab.claim(None);
    let fetch = lab.fetch();
    lab.now = lab.now + Duration::from_secs(60);
    let key = lab.key();
    assert_eq!(lab.authorizer.permit(key, SERVER, lab.now), Permit::Wait);
    lab.fail(&fetch, FetchError::NotSent);
    assert_eq!(lab.effect(), Some(Effect::Unclaim));
    let fetch = lab.fetch();
    assert_eq!(fetch.purpose, FetchPurpose::ResourceMetadata);
    lab.fail(&fetch, FetchError::NotSent);
    let place = "the metadata of the server";
    let failure = AuthorizationFailure::Transient { place, status: None, retry_after: None };
    assert_eq!(lab.released(), [(key, Verdict::Fail(failure))]);
}

/// Proves A-TOK-12: during the pause that a server has asked for, no request causes a refresh.
#[test]
fn no_refresh_begins_during_a_pause() {
    let mut lab = due();
    lab.claim(None);
    let fetch = lab.fetch();
    // The token expires meanwhile.
    lab.now = lab.now + Duration::from_secs(60);
    let response = FetchedResponse::new(503, b"").retry_after(Some("20"));
    lab.authorizer.fetched(fetch.job, response, lab.now);
    assert_eq!(lab.released(), []);
    let (place, retry_after) = ("the token endpoint", Some(Duration::from_secs(20)));
    let failure = AuthorizationFailure::Transient { place, status: Some(503), retry_after };
    for _ in 0..2 {
        let key = lab.key();
        assert_eq!(lab.authorizer.permit(key, SERVER, lab.now), Permit::Wait);
        assert_eq!(lab.released(), [(key, Verdict::Fail(failure.clone()))]);
        lab.now = lab.now + Duration::from_nanos(9_999_999_999);
    }
    lab.now = lab.now + Duration::from_nanos(2);
    let key = lab.key();
    assert_eq!(lab.authorizer.permit(key, SERVER, lab.now), Permit::Wait);
    lab.claim(None);
}

/// Proves A-TOK-12: a pause that a server has asked for before the expiry of the token holds after it, and for a
/// step-up.
#[test]
fn a_pause_lasts_longer_than_the_token() {
    let mut lab = due();
    lab.claim(None);
    let fetch = lab.fetch();
    let response = FetchedResponse::new(503, b"").retry_after(Some("120"));
    lab.authorizer.fetched(fetch.job, response, lab.now);
    assert_eq!(lab.released(), []);
    assert_eq!(lab.field().as_deref(), Some("Bearer t1"));
    let (place, retry_after) = ("the token endpoint", Some(Duration::from_secs(120)));
    let failure = AuthorizationFailure::Transient { place, status: Some(503), retry_after };
    lab.refused(403, r#"Bearer error="insufficient_scope", scope="more""#);
    assert_eq!(lab.failure(), failure);
    lab.wait(119);
    let key = lab.key();
    assert_eq!(lab.authorizer.permit(key, SERVER, lab.now), Permit::Wait);
    assert_eq!(lab.released(), [(key, Verdict::Fail(failure))]);
    lab.wait(1);
    let key = lab.key();
    assert_eq!(lab.authorizer.permit(key, SERVER, lab.now), Permit::Wait);
    lab.claim(None);
}

/// A client of the configuration is not registered again: its refresh token stays.
#[test]
fn a_refused_refresh_keeps_a_configured_client() {
    let mut config = config();
    config.clients.push(ConfiguredClient::new("c1"));
    let mut lab = Lab::new(config);
    lab.log_in(&tokens());
    lab.wait(3540);
    lab.claim(None);
    lab.serve(401, &json!({ "error": "invalid_client" }));
    assert_eq!(lab.released(), []);
    assert_eq!(lab.authorizer.stage(), Stage::Idle);
    assert!(lab.authorizer.saved().to_text().expose().contains(r#""refresh_token":"r1""#));
}

/// Proves A-REG-19 for a refresh.
#[test]
fn a_refresh_of_a_forgotten_client_registers_it_again() {
    let mut lab = Lab::new(config());
    lab.log_in(&tokens());
    lab.refused(401, "Bearer");
    lab.discover(&resource_metadata(), &server_metadata());
    lab.claim(None);
    lab.serve(401, &json!({ "error": "invalid_client" }));
    assert_eq!(lab.effect(), Some(Effect::Unclaim));
    assert_eq!(lab.prepared(), None);
    assert_eq!(lab.fetch().purpose, FetchPurpose::Registration);
}

/// Proves A-REF-12, A-SEC-04: the stored state is one value, which only its text shows.
#[test]
fn saved_state_round_trips_and_hides_tokens_in_debug() {
    let mut lab = Lab::new(config());
    lab.log_in(&tokens());
    let saved = lab.saved.clone().expect("it is saved");
    let text = saved.to_text();
    assert_eq!(Saved::from_text(text.expose()), Ok(saved.clone()));
    assert!(text.expose().contains("t1") && text.expose().contains("r1"));
    let shown = format!("{saved:?} {text:?}");
    assert!(!shown.contains("t1") && !shown.contains("r1"), "{shown}");
    for broken in [
        "",
        "{}",
        "null",
        &text.expose()[1..],
        r#"{"version":2,"generation":0,"clients":[],"grant":null}"#,
    ] {
        assert!(Saved::from_text(broken).is_err(), "{broken}");
    }
    lab.authorizer.log_out();
    assert_eq!(lab.effect(), None);
    assert!(!lab.saved.clone().unwrap().to_text().expose().contains("t1"));
    assert_eq!(lab.field(), None);
    // The registration is kept.
    lab.refused(401, "Bearer");
    lab.discover(&resource_metadata(), &server_metadata());
    assert!(lab.prepared().is_some());
}

/// An authorizer without a challenge has no effects.
#[test]
fn without_a_challenge_nothing_is_wanted() {
    let mut authorizer = Authorizer::new(Arc::new(config()));
    let mut lab = Lab::new(config());
    for _ in 0..3 {
        let key = lab.key();
        assert_eq!(authorizer.permit(key, SERVER, lab.now), Permit::Send(None));
        authorizer.accepted(None, None);
    }
    assert_eq!((authorizer.poll_effect(), authorizer.poll_timeout()), (None, None));
}

/// Proves A-REG-01, A-REF-08: another process has dropped the client id, and the server accepts no more
/// registrations.
#[test]
fn a_client_id_that_another_process_has_dropped_is_asked_for() {
    let mut config = config();
    config.can_name_client = true;
    let mut lab = Lab::new(config.clone());
    lab.log_in(&tokens());
    let mut other = Lab::new(config);
    other.now = lab.now;
    other.authorizer.restore(lab.saved.clone().expect("it is saved"));
    other.wait(3540);
    other.claim(lab.saved.clone());
    other.serve(401, &json!({ "error": "invalid_client" }));
    assert_eq!(other.effect(), Some(Effect::Unclaim));

    lab.refused_with(401, "Bearer", "", Some(1));
    let mut server = server_metadata();
    server.as_object_mut().expect("an object").remove("registration_endpoint");
    lab.discover(&resource_metadata(), &server);
    lab.claim(other.saved.clone());
    assert_eq!(lab.authorizer.stage(), Stage::NamingClient);
}
