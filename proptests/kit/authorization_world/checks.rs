//! The invariants of every step.

use std::collections::{BTreeMap, BTreeSet};

use mcp_sansio::Instant;
use mcp_sansio::auth::{Effect, Fetch, FetchPurpose};

use super::World;

/// Secrets that must not leak.
#[derive(Default)]
pub(super) struct Secrets {
    access: Vec<String>,
    /// The expiry of each access token that has one.
    expires_at: BTreeMap<String, Instant>,
    /// Refresh tokens, each with the endpoint that issued it.
    refresh: BTreeMap<String, String>,
    /// Refresh tokens that a process has replaced with newer ones.
    replaced: BTreeSet<String>,
    /// States of logins.
    hidden: Vec<String>,
}

/// The maximum number of requests of one authorization: two and three for discovery, three for registrations and six
/// for tokens.
const MOST_REQUESTS: u32 = 14;

impl Secrets {
    pub(super) fn access(&mut self, token: &str, expires_at: Option<Instant>) {
        self.access.push(token.into());
        self.expires_at.extend(expires_at.map(|at| (token.into(), at)));
    }

    /// Checks that an `Authorization` field for the MCP server contains a token that was issued and has not expired.
    pub(super) fn check_field(&self, field: &str, now: Instant) {
        let token = field.strip_prefix("Bearer ").expect("a bearer token");
        assert!(self.access.iter().any(|known| known == token), "the token was not issued");
        let expires_at = self.expires_at.get(token);
        assert!(expires_at.is_none_or(|at| now < *at), "an expired token is sent");
    }

    pub(super) fn refresh(&mut self, token: &str, endpoint: &str) {
        self.refresh.insert(token.into(), endpoint.into());
    }

    /// Records the response body of a refresh, and the state that the process must store afterwards. If the process
    /// has adopted the tokens of the body, and a refresh token is among them, the sent refresh token is replaced.
    pub(super) fn refreshed(&mut self, fetch: &Fetch, body: &str, saved: &str) {
        let is_taken =
            self.access.iter().any(|token| ends_in(body, token) && ends_in(saved, token));
        if is_taken && self.refresh.keys().any(|token| ends_in(body, token)) {
            let sent = self.refresh.keys().filter(|token| ends_in(fetch.body.expose(), token));
            self.replaced.extend(sent.cloned());
        }
    }

    pub(super) fn hide(&mut self, text: &str) {
        self.hidden.push(text.into());
    }
}

impl World<'_> {
    /// Checks that an effect reveals secrets only to their recipients.
    pub(super) fn check_effect(&self, at: usize, effect: &Effect) {
        let shown = format!("{effect:?}");
        assert!(!shown.contains("SECRET"), "{shown}");
        match effect {
            Effect::Fetch(fetch) => {
                self.logins.check(fetch);
                let field = fetch.authorization.as_ref().map(|field| field.expose().to_owned());
                let request_text = format!("{} {} {field:?}", fetch.url, fetch.body.expose());
                for token in &self.secrets.access {
                    assert!(
                        !ends_in(&request_text, token),
                        "an access token goes to {}",
                        fetch.url
                    );
                }
                if fetch.purpose == FetchPurpose::Refresh {
                    self.check_refresh(at, &request_text);
                }
                for (token, endpoint) in &self.secrets.refresh {
                    let may = fetch.purpose == FetchPurpose::Refresh && fetch.url == *endpoint;
                    assert!(
                        may || !ends_in(&request_text, token),
                        "a refresh token goes to {}",
                        fetch.url
                    );
                }
                let is_code =
                    request_text.contains("SECRET-code") || request_text.contains("code_verifier");
                let is_token =
                    fetch.purpose == FetchPurpose::Token && fetch.url.ends_with("example/token");
                assert!(is_token || !is_code, "a code goes to {}", fetch.url);
                for evil in ["evil", "169.254", "10.0.0.1", "http://"] {
                    assert!(!fetch.url.contains(evil), "{} is asked", fetch.url);
                }
                assert!(!fetch.url.contains("SECRET"), "{}", fetch.url);
                if fetch.method == "GET" {
                    assert!(field.is_none() && fetch.body.is_empty());
                }
            }
            Effect::OpenUrl(url) => {
                assert!(url.as_str().starts_with("https://") && !url.as_str().contains("SECRET"));
                assert!(!url.as_str().contains("evil"), "{}", url.as_str());
            }
            _ => {}
        }
    }

    /// Checks that only one process at a time uses a refresh token. The process must have read it under the lock,
    /// because another one may have used it before. A login or a logout that another process saves later, without the
    /// lock, uses no refresh token.
    fn check_refresh(&self, at: usize, request_text: &str) {
        let Some((holder, stored)) = &self.holder else {
            panic!("a refresh token is used without the lock")
        };
        assert_eq!(*holder, at, "a refresh token is used under the lock of another process");
        let stored = stored.as_ref().map(|stored| stored.to_text());
        let stored = stored.as_ref().map_or("", |text| text.expose());
        let used = self.secrets.refresh.keys().find(|token| ends_in(request_text, token));
        let used = used.expect("a refresh has a refresh token");
        assert!(ends_in(stored, used), "a refresh token is used that was not read under the lock");
        assert!(!self.secrets.replaced.contains(used), "a refresh token is used again");
    }

    /// Checks the debug output of a machine, and that it always makes progress.
    pub(super) fn check(&mut self, at: usize) {
        let busy = self.is_busy(at);
        let process = &mut self.processes[at];
        let shown = format!("{:?}", process.authorizer);
        assert!(!shown.contains("SECRET"), "{shown}");
        for state in &self.secrets.hidden {
            assert!(!shown.contains(state), "the state of a login is shown");
        }
        assert!(process.asked <= MOST_REQUESTS, "it asks for ever");
        if !busy {
            process.asked = 0;
        }
        assert!(!busy || process.authorizer.poll_timeout().is_some(), "it waits for ever");
        if !busy {
            assert!(!self.is_holder(at), "it holds the storage for ever");
        }
    }
}

impl World<'_> {
    /// Checks the waiting requests after a step.
    pub(super) fn check_waiting(&self) {
        for (at, process) in self.processes.iter().enumerate() {
            assert_eq!(process.authorizer.waiting(), process.waiting.len());
            let is_empty = process.waiting.is_empty();
            assert!(is_empty || self.is_busy(at), "never released: {:?}", process.waiting);
        }
    }
}

/// Whether a text contains a token, but not as a prefix of a longer one.
fn ends_in(text: &str, token: &str) -> bool {
    text.match_indices(token)
        .any(|(at, _)| !text[at + token.len()..].starts_with(|next: char| next.is_ascii_digit()))
}
