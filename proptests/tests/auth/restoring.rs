//! States from the storage of the application: which of two counts, and what a restored one changes.

use mcp_sansio::auth::{
    AuthorizationFailure, ConfiguredClient, Effect, FetchPurpose, Redirected, Saved, Stage, Verdict,
};
use serde_json::{Value, json};

use crate::kit::{ISSUER, Lab, Opened, config, resource_metadata, server_metadata, tokens};

const OTHER: &str = "https://other.example";

/// Returns the state with other values at these places.
fn altered(saved: &Saved, changes: &[(&str, Value)]) -> Saved {
    let mut stored: Value = serde_json::from_str(saved.to_text().expose()).unwrap();
    for (pointer, value) in changes {
        *stored.pointer_mut(pointer).unwrap() = value.clone();
    }
    Saved::from_text(&stored.to_string()).unwrap()
}

/// Returns the state after a login.
fn logged_in() -> Saved {
    let mut lab = Lab::new(config());
    lab.log_in(&tokens());
    lab.saved.unwrap()
}

/// Returns a client that knows another issuer only.
fn elsewhere(config: mcp_sansio::auth::AuthorizerConfig, source: &str) -> Lab {
    let mut lab = Lab::new(config);
    let changes = [
        ("/grant", Value::Null),
        ("/clients/0/issuer", json!(OTHER)),
        ("/clients/0/client_id", json!("old")),
        ("/clients/0/source", json!(source)),
    ];
    lab.authorizer.restore(altered(&logged_in(), &changes));
    lab
}

/// Proves A-REF-08: a refresh goes on if the restored state has the same tokens, or is older.
#[test]
fn a_refresh_ends_when_other_tokens_are_restored() {
    let mut lab = Lab::new(config());
    lab.log_in(&tokens());
    let saved = lab.saved.clone().unwrap();
    lab.wait(3540);
    lab.claim(None);
    assert_eq!(lab.fetch().purpose, FetchPurpose::Refresh);
    for (change, goes_on) in [
        (("/grant/issued_at", json!(1)), true),
        (("/clients", json!([])), true),
        (("/grant/issuer", json!(OTHER)), false),
        (("/grant/access_token", json!("t2")), false),
        (("/grant/refresh_token", json!("r2")), false),
        (("/grant/refresh_token", Value::Null), false),
        (("/grant", Value::Null), false),
    ] {
        let mut lab = lab.clone();
        lab.authorizer.restore(altered(&saved, std::slice::from_ref(&change)));
        let expected = if goes_on { Stage::Refreshing } else { Stage::Idle };
        assert_eq!(lab.authorizer.stage(), expected, "{change:?}");
    }
    let older = [("/generation", json!(0)), ("/grant/access_token", json!("t0"))];
    lab.authorizer.restore(altered(&saved, &older));
    assert_eq!(lab.authorizer.stage(), Stage::Refreshing);
    assert_eq!(lab.authorizer.saved(), &saved);
}

/// Only a refresh belongs to tokens.
#[test]
fn a_login_goes_on_when_tokens_are_restored() {
    let mut lab = Lab::new(config());
    lab.until_browser("Bearer");
    lab.authorizer.restore(logged_in());
    assert_eq!(lab.authorizer.stage(), Stage::AwaitingUser);
    assert!(lab.authorizer.granted().is_some());
}

/// Every login and every logout makes a state newer.
#[test]
fn the_generation_tells_which_state_is_newer() {
    let saved = logged_in();
    let newer = altered(&saved, &[("/generation", json!(2)), ("/grant", Value::Null)]);
    let same = altered(&saved, &[("/grant", Value::Null)]);
    assert!(newer.is_newer_than(&saved));
    assert!(!saved.is_newer_than(&newer) && !saved.is_newer_than(&same));
}

/// A logout discards the tokens that are known, and makes every state that was stored before older.
#[test]
fn a_logout_is_newer_than_the_states_before() {
    let saved = logged_in();
    let mut lab = Lab::new(config());
    lab.authorizer.restore(saved.clone());
    for generation in 2..4 {
        lab.authorizer.log_out();
        assert_eq!(lab.effect(), None);
        let stored = lab.saved.clone().unwrap();
        assert_eq!((stored.generation(), stored.scopes()), (generation, None));
        assert!(stored.is_newer_than(&saved));
        lab.authorizer.restore(saved.clone());
        assert_eq!(lab.authorizer.saved(), &stored);
    }
}

/// Performs the next step of a login.
fn next_step(lab: &mut Lab, opened: &mut Option<Opened>) {
    match lab.authorizer.stage() {
        Stage::PreparingLogin => _ = lab.prepared(),
        Stage::AwaitingUser if opened.is_none() => *opened = Some(lab.opened()),
        Stage::AwaitingUser => {
            let state = opened.as_ref().unwrap().get("state").to_owned();
            assert_eq!(lab.back(&format!("code=c&state={state}")), Redirected::Accepted);
        }
        _ => {
            let fetch = lab.fetch();
            let document = match fetch.purpose {
                FetchPurpose::ResourceMetadata => resource_metadata(),
                FetchPurpose::ServerMetadata => server_metadata(),
                FetchPurpose::Registration => json!({ "client_id": "c1" }),
                _ => tokens(),
            };
            lab.answer(&fetch, 200, &document);
        }
    }
}

/// A logout ends a login at every stage, also one for further scopes: the tokens that it brings would undo the logout.
#[test]
fn a_logout_ends_a_login() {
    for is_step_up in [false, true] {
        let mut lab = Lab::new(config());
        let waiting = if is_step_up {
            lab.log_in(&tokens());
            lab.refused(403, r#"Bearer error="insufficient_scope", scope="more""#)
        } else {
            lab.refused(401, "Bearer")
        };
        let (mut stages, mut opened) = (Vec::new(), None);
        while lab.authorizer.stage() != Stage::Idle {
            let stage = lab.authorizer.stage();
            if stages.last() != Some(&stage) {
                stages.push(stage);
            }
            let mut out = lab.clone();
            // The host carries out this effect after the logout.
            let effect = out.effect();
            out.authorizer.log_out();
            let failed = Verdict::Fail(AuthorizationFailure::Abandoned);
            assert_eq!(out.released(), [(waiting, failed)], "{stage:?}");
            assert_eq!(out.authorizer.stage(), Stage::Idle);
            if let Some(Effect::Fetch(fetch)) = effect {
                out.answer(&fetch, 200, &tokens());
            }
            assert_eq!((out.effect(), out.field()), (None, None), "{stage:?}");
            assert_eq!(out.saved.unwrap().scopes(), None);
            next_step(&mut lab, &mut opened);
        }
        assert_eq!(lab.field().as_deref(), Some("Bearer t1"));
        let all = [
            Stage::FindingResource,
            Stage::FindingServer,
            Stage::PreparingLogin,
            Stage::Registering,
            Stage::AwaitingUser,
            Stage::RequestingToken,
        ];
        let expected: Vec<_> =
            all.into_iter().filter(|it| !is_step_up || *it != Stage::Registering).collect();
        assert_eq!(stages, expected);
    }
}

/// The host has not carried out the effects of a login that ends. It asks no server and no user for it.
#[test]
fn a_login_that_ends_wants_nothing_more() {
    let mut lab = Lab::new(config());
    let waiting = lab.refused(401, "Bearer");
    let (mut opened, mut withdrawn) = (None, Vec::new());
    while lab.authorizer.stage() != Stage::Idle {
        let failed = Verdict::Fail(AuthorizationFailure::Abandoned);
        let mut abandoned = lab.clone();
        abandoned.authorizer.abandoned(lab.now);
        if abandoned.authorizer.stage() == Stage::Idle {
            assert_eq!(abandoned.released(), [(waiting, failed.clone())]);
        }
        let mut out = lab.clone();
        out.authorizer.log_out();
        assert_eq!(out.released(), [(waiting, failed)]);
        // No effect asks for the return of the browser.
        let wanted = lab.clone().effect();
        withdrawn.extend(wanted.map(|_| lab.authorizer.stage()));
        next_step(&mut lab, &mut opened);
    }
    let all = [
        Stage::FindingResource,
        Stage::FindingServer,
        Stage::PreparingLogin,
        Stage::Registering,
        Stage::AwaitingUser,
        Stage::RequestingToken,
    ];
    assert_eq!(withdrawn, all);
}

/// The lock of the storage is of no use for a refresh that ends before the storage was locked.
#[test]
fn a_refresh_that_ends_does_not_lock_the_storage() {
    let mut lab = Lab::new(config());
    lab.log_in(&tokens());
    lab.wait(3540);
    assert_eq!(lab.authorizer.stage(), Stage::Claiming);
    let changes = [("/generation", json!(2)), ("/grant/access_token", json!("t2"))];
    lab.authorizer.restore(altered(&logged_in(), &changes));
    assert_eq!((lab.effect(), lab.authorizer.stage()), (None, Stage::Idle));
    assert_eq!(lab.field().as_deref(), Some("Bearer t2"));
}

/// A refresh ends by itself after a logout, because it holds the storage. Its tokens are ignored.
#[test]
fn a_logout_leaves_a_refresh_without_effect() {
    let mut lab = Lab::new(config());
    lab.log_in(&tokens());
    lab.wait(3540);
    lab.claim(None);
    let fetch = lab.fetch();
    lab.authorizer.log_out();
    assert_eq!((lab.effect(), lab.authorizer.stage()), (None, Stage::Refreshing));
    let stored = lab.saved.clone();
    lab.answer(&fetch, 200, &tokens());
    assert_eq!(lab.authorizer.poll_effect(), Some(Effect::Unclaim));
    assert_eq!(lab.authorizer.poll_effect(), None);
    assert_eq!(Some(lab.authorizer.saved()), stored.as_ref());
    assert_eq!((lab.authorizer.stage(), lab.field()), (Stage::Idle, None));
}

/// A client id is for one issuer: that of another issuer is not replaced.
#[test]
fn clients_of_other_issuers_are_kept() {
    let mut lab = elsewhere(config(), "Registered");
    assert_eq!(lab.until_browser("Bearer").get("client_id"), "c1");
    let stored: Value = serde_json::from_str(lab.saved.unwrap().to_text().expose()).unwrap();
    let clients = stored["clients"].as_array().unwrap();
    let issuers: Vec<_> = clients.iter().map(|client| &client["issuer"]).collect();
    assert_eq!(issuers, [OTHER, ISSUER]);
}

/// Returns the issuers of the clients in the latest saved state.
fn issuers(lab: &Lab) -> Vec<String> {
    let stored: Value =
        serde_json::from_str(lab.saved.as_ref().unwrap().to_text().expose()).unwrap();
    let clients = stored["clients"].as_array().unwrap();
    clients.iter().map(|client| client["issuer"].as_str().unwrap().to_owned()).collect()
}

/// Runs a challenge and the discovery of this issuer.
fn discover_at(lab: &mut Lab, issuer: &str) {
    let at = |document: Value| -> Value {
        serde_json::from_str(&document.to_string().replace(ISSUER, issuer)).unwrap()
    };
    lab.refused(401, "Bearer");
    lab.discover(&at(resource_metadata()), &at(server_metadata()));
}

/// Registers the client at an issuer, whose user then gives up.
fn register_at(lab: &mut Lab, issuer: &str, before_response: impl FnOnce(&mut Lab)) {
    discover_at(lab, issuer);
    lab.prepared();
    let fetch = lab.fetch();
    before_response(lab);
    lab.answer(&fetch, 201, &json!({ "client_id": "c1" }));
    lab.opened();
    lab.authorizer.abandoned(lab.now);
    assert_eq!(lab.failure(), AuthorizationFailure::Abandoned);
}

/// Proves A-PRM-14: an issuer gets nothing that belongs to another one, and both registrations are kept.
#[test]
fn registrations_and_tokens_of_two_issuers_are_separate() {
    const TWO: &str = "https://two.example";
    let mut lab = Lab::new(config());
    lab.log_in(&tokens());
    let of_two = json!({ "access_token": "t2", "token_type": "Bearer", "refresh_token": "r2" });
    for (issuer, client, others, issued, field) in [
        (TWO, "c2", ["c1", "t1", "r1"], &of_two, "Bearer t2"),
        (ISSUER, "c1", ["c2", "t2", "r2"], &tokens(), "Bearer t1"),
    ] {
        lab.wait(60);
        // A token of another issuer is not refreshed.
        discover_at(&mut lab, issuer);
        lab.prepared();
        let mut sent = Vec::new();
        if issuer == TWO {
            sent.push(lab.serve(201, &json!({ "client_id": client })));
        }
        let opened = lab.opened();
        assert_eq!(opened.get("client_id"), client);
        sent.push(lab.agree(&opened));
        for fetch in &sent {
            let text = format!("{} {:?}", fetch.body.expose(), fetch.authorization);
            assert!(fetch.url.starts_with(issuer) && fetch.authorization.is_none(), "{text}");
            assert!(others.iter().all(|other| !text.contains(other)), "{text}");
        }
        lab.answer(&sent.pop().unwrap(), 200, issued);
        assert_eq!(lab.released().len(), 1);
        assert_eq!(lab.field().as_deref(), Some(field));
        let generation = lab.generation();
        lab.authorizer.accepted(generation, None);
        // Of the tokens only those of this issuer are stored.
        let text = lab.saved.as_ref().unwrap().to_text();
        let stored: Value = serde_json::from_str(text.expose()).unwrap();
        assert_eq!(stored["grant"]["issuer"], issuer);
        assert!(others[1..].iter().all(|other| !text.expose().contains(other)));
        let clients = stored["clients"].as_array().unwrap().iter();
        let clients: Vec<_> = clients.map(|it| [&it["issuer"], &it["client_id"]]).collect();
        assert_eq!(clients, [[ISSUER, "c1"], [TWO, "c2"]]);
    }
}

/// A server that names another issuer each time does not make the saved state grow: the oldest registration is
/// dropped. That of the tokens stays.
#[test]
fn the_number_of_registrations_is_bounded() {
    let issuer = |number: usize| format!("https://as{number}.example");
    let mut lab = Lab::new(config());
    for number in 0..20 {
        register_at(&mut lab, &issuer(number), |_| {});
        let kept: Vec<_> = (number.saturating_sub(15)..=number).map(issuer).collect();
        assert_eq!(issuers(&lab), kept);
    }
    // Another process has logged in, and its client is the oldest one.
    let others = lab.saved.clone().unwrap().to_text();
    let others: Value = serde_json::from_str(others.expose()).unwrap();
    let own: Value = serde_json::from_str(logged_in().to_text().expose()).unwrap();
    let mut clients = own["clients"].as_array().unwrap().clone();
    clients.extend(others["clients"].as_array().unwrap()[1..].iter().cloned());
    let stored = altered(&logged_in(), &[("/clients", json!(clients))]);
    register_at(&mut lab, &issuer(20), |lab| lab.authorizer.restore(stored));
    let mut kept = vec![ISSUER.to_owned()];
    kept.extend((6..=20).map(issuer));
    assert_eq!(issuers(&lab), kept);
}

/// A configured client id is bound to the issuer that it was first used with, not to that of another client id.
#[test]
fn another_client_id_does_not_bind_a_configured_one() {
    for source in ["Configured", "Registered"] {
        let mut config = config();
        config.clients.push(ConfiguredClient::new("new"));
        let mut lab = elsewhere(config, source);
        lab.refused(401, "Bearer");
        lab.discover(&resource_metadata(), &server_metadata());
        lab.prepared();
        assert_eq!(lab.opened().get("client_id"), "new", "{source}");
    }
}
