//! Hostile inputs, and events in the most harmful order.

use mcp_sansio::auth::{
    AuthorizationFailure, FetchPolicy, FetchPurpose, IssuerPlace, Redirected, Scopes, UrlError,
    WebUrl,
};
use mcp_sansio::testing::WorkMeter;

use crate::kit::{ISSUER, Lab, PRM_PLACE, config, resource_metadata, server_metadata, tokens};

/// Proves A-REF-08: a refresh that is under way does not restore the tokens of a user who has logged out.
#[test]
fn a_logout_during_a_refresh_lasts() {
    let mut lab = Lab::new(config());
    lab.log_in(&tokens());
    let stored = lab.saved.clone();
    assert!(stored.as_ref().is_some_and(|stored| stored.scopes().is_some()));
    lab.wait(3540);
    lab.authorizer.log_out();
    // The host has read the file before it carried out the effect that empties it.
    lab.claim(stored);
    assert_eq!(lab.released(), []);
    assert_eq!(lab.authorizer.granted(), None);
    assert_eq!(lab.saved.as_ref().and_then(|saved| saved.scopes()), None);
}

/// Proves A-AUTHZ-01: a query may contain question marks (RFC 3986, section 3.4).
#[test]
fn a_question_mark_in_a_query_is_part_of_a_value() {
    for url in ["", "?", "http://127.0.0.1:4000/callback?"] {
        let mut lab = Lab::new(config());
        let state = lab.until_browser("Bearer").get("state").to_owned();
        let url = format!("{url}code=a?b&state={state}");
        assert_eq!(lab.authorizer.redirected(&url, lab.now), Redirected::Accepted, "{url}");
        assert_eq!(crate::kit::field(&lab.fetch(), "code").as_deref(), Some("a?b"), "{url}");
    }
}

/// The error code of a server cannot control a terminal, nor begin a new line of a log.
#[test]
fn an_error_code_is_shown_without_its_control_characters() {
    let mut lab = Lab::new(config());
    let state = lab.until_browser("Bearer").get("state").to_owned();
    assert_eq!(lab.back(&format!("error=%1B[2J%0Aok&state={state}")), Redirected::Failed);
    let text = lab.failure().to_string();
    assert_eq!(text, r"authorization was denied: \u{1b}[2J\nok");
}

/// Proves A-SEC-05: a host name of this computer with a trailing dot is rejected.
#[test]
fn this_machine_has_no_second_name() {
    for url in ["https://localhost./", "http://localhost.:3000", "https://a.LOCALHOST."] {
        assert_eq!(WebUrl::parse(url), Err(UrlError::Host), "{url}");
    }
    assert!(WebUrl::parse("https://mcp.example./mcp").is_ok());
}

/// Proves A-SEC-05: an IPv6 address that embeds an IPv4 address is judged by that one.
#[test]
fn an_address_in_an_address_is_found() {
    let policy = FetchPolicy::default();
    for address in ["2002:7f00:1::1", "2002:a00:1::", "::127.0.0.1", "::10.0.0.1", "fec0::1"] {
        assert!(!policy.allows_address(address.parse().unwrap()), "{address}");
    }
    for address in ["64:ff9b:1::a00:1", "::", "::1"] {
        assert!(!policy.allows_address(address.parse().unwrap()), "{address}");
    }
    for address in ["2002:5db8:d822::1", "2606:2800:220:1::1"] {
        assert!(policy.allows_address(address.parse().unwrap()), "{address}");
    }
}

/// Proves A-SEC-06: a list of scopes that fills a header field is parsed quickly.
#[test]
fn a_very_long_list_of_scopes_is_read() {
    let text: Vec<String> = (0..300_000).map(|number| format!("{number:x}")).collect();
    let scopes = Scopes::parse(&text.join(" "));
    assert_eq!(scopes.iter().count(), text.len());
    assert!(scopes.covers(&scopes.union(&scopes)));
}

/// A server grants very many scopes and challenges with all of them.
#[test]
fn very_many_challenged_scopes_are_compared_quickly() {
    let names: Vec<String> = (0..4_000).map(|number| format!("s{number}")).collect();
    let challenge = format!(r#"Bearer scope="{}""#, names.join(" "));
    let mut lab = Lab::new(config());
    let opened = lab.until_browser(&challenge);
    let fetch = lab.agree(&opened);
    lab.answer(&fetch, 200, &tokens());
    assert_eq!(lab.released().len(), 1);
    lab.authorizer.accepted(Some(1), None);
    lab.refused(401, &challenge);
    let meter = WorkMeter::start();
    lab.discover(&resource_metadata(), &server_metadata());
    // The challenged, the granted and the requested scopes, each a few times.
    assert!((4_000..100_000).contains(&meter.steps()), "{} steps", meter.steps());
    lab.claim(lab.saved.clone());
    assert_eq!(lab.fetch().purpose, FetchPurpose::Refresh);
}

/// The output may go to a log, and a query may hold secrets.
#[test]
fn debug_output_of_a_fetch_shows_its_place() {
    let mut lab = Lab::new(config());
    lab.refused(401, "Bearer");
    let mut fetch = lab.fetch();
    let job = fetch.job;
    fetch.url.push_str("?secret");
    let expected = format!(
        r#"Fetch {{ job: {job:?}, purpose: ResourceMetadata, method: "GET", url: {PRM_PLACE:?}, .. }}"#
    );
    assert_eq!(format!("{fetch:?}"), expected);
}

/// A failure tells where the wrong issuer is named.
#[test]
fn the_place_of_an_issuer_is_shown() {
    for (place, shown) in [
        (IssuerPlace::Metadata, "the metadata of the authorization server"),
        (IssuerPlace::Response, "the answer of the authorization server"),
        (IssuerPlace::Client, "the configured client id"),
    ] {
        let failure = AuthorizationFailure::IssuerMismatch { place, expected: ISSUER.into() };
        let expected = format!("{shown} is of another issuer than {ISSUER:?}, or names none");
        assert_eq!(failure.to_string(), expected);
    }
}
