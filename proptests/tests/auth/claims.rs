//! Tokens of any content, compared with the rules one by one.

use std::time::Duration;

use mcp_sansio::Instant;
use mcp_sansio::auth::Scopes;
use mcp_sansio::auth::resource_server::{AccessError, Claims, ProtectedResource, TokenError};
use mcp_sansio::testing::Choices;

const RESOURCE: &str = "https://mcp.example/mcp";
const ISSUERS: [&str; 3] = ["https://as.example", "https://two.example", "https://as.example/"];
const AUDIENCES: [&str; 4] = [RESOURCE, "https://mcp.example/other", "named", "unknown"];
const SCOPES: [&str; 4] = ["", "read", "write", "read write"];

/// Returns a time near `now`, or none.
fn near(choices: &mut Choices, now: Instant) -> Option<Instant> {
    let offset = Duration::from_secs(choices.below(100));
    let time = if choices.one_in(2) { now + offset } else { now - offset };
    (!choices.one_in(4)).then_some(time)
}

/// Proves A-RS-04, A-RS-05, A-RS-06: issuer, audience, time and scopes decide, in this order.
#[test]
fn tokens_are_accepted_by_the_rules() {
    let now = Instant::from_millis(1_000_000_000);
    let mut accepted = 0;
    for seed in 0..5_000 {
        let mut choices = Choices::seeded(seed);
        let needed = Scopes::parse(choices.pick(&SCOPES).unwrap());
        let (leeway, needs_expiry) = (choices.below(60), !choices.one_in(3));
        let resource = ProtectedResource::new(RESOURCE, ISSUERS[0]).unwrap();
        let resource = resource.issuer(ISSUERS[1]).unwrap().audience("named");
        let resource = resource.scopes(needed.clone()).needs_expiry(needs_expiry);
        let resource = resource.leeway(Duration::from_secs(leeway));
        let mut claims = Claims::new(choices.pick(&ISSUERS).unwrap(), "alice");
        let audiences = (0..choices.below(3)).map(|_| choices.pick(&AUDIENCES).unwrap().into());
        claims.audience = audiences.collect();
        claims.expires_at = near(&mut choices, now);
        claims.not_before = near(&mut choices, now);
        claims.scopes = Scopes::parse(choices.pick(&SCOPES).unwrap());

        let leeway = Duration::from_secs(leeway);
        let is_meant = |audience: &String| [RESOURCE, "named"].contains(&&**audience);
        let expected = if claims.issuer == ISSUERS[2] {
            Err(AccessError::InvalidToken(TokenError::Issuer))
        } else if !claims.audience.iter().any(is_meant) {
            Err(AccessError::InvalidToken(TokenError::Audience))
        } else if claims.expires_at.is_none() && needs_expiry {
            Err(AccessError::InvalidToken(TokenError::NoExpiry))
        } else if claims.expires_at.is_some_and(|end| end + leeway <= now) {
            Err(AccessError::InvalidToken(TokenError::Expired))
        } else if claims.not_before.is_some_and(|begin| now + leeway < begin) {
            Err(AccessError::InvalidToken(TokenError::NotYetValid))
        } else if !needed.iter().all(|scope| claims.scopes.contains(scope)) {
            Err(AccessError::InsufficientScope(needed))
        } else {
            Ok(())
        };
        accepted += u32::from(expected.is_ok());
        assert_eq!(resource.check(&claims, now), expected, "seed {seed}: {claims:?}");
    }
    assert!(200 < accepted, "few tokens are valid: {accepted}");
}

/// The subject is not shown.
#[test]
fn debug_output_of_claims_names_no_user() {
    let mut claims = Claims::new("https://as.example", "alice");
    claims.audience = vec![RESOURCE.into()];
    let shown = format!("{claims:?}");
    let start = r#"Claims { issuer: "https://as.example", audience: ["https://mcp.example/mcp"], "#;
    assert!(shown.starts_with(start) && shown.ends_with(", .. }"), "{shown}");
    assert!(!shown.contains("alice"));
}
