//! What must hold at every step.

use std::collections::BTreeMap;

use mcp_sansio::auth::{Effect, FetchPurpose};

use super::World;

/// What must not get to everybody.
#[derive(Default)]
pub(super) struct Secrets {
    access: Vec<String>,
    /// Refresh tokens, each with the endpoint that has issued it.
    refresh: BTreeMap<String, String>,
    /// States of logins.
    hidden: Vec<String>,
}

/// An authorization makes at most so many requests: two and three to find the servers, three for registrations and six for
/// tokens.
const MOST_REQUESTS: u32 = 14;

impl Secrets {
    pub(super) fn access(&mut self, token: &str) {
        self.access.push(token.into());
    }

    pub(super) fn refresh(&mut self, token: &str, endpoint: &str) {
        self.refresh.insert(token.into(), endpoint.into());
    }

    pub(super) fn hide(&mut self, text: &str) {
        self.hidden.push(text.into());
    }
}

impl World<'_> {
    /// What an effect says, and to whom.
    pub(super) fn check_effect(&self, effect: &Effect) {
        let shown = format!("{effect:?}");
        assert!(!shown.contains("SECRET"), "{shown}");
        match effect {
            Effect::Fetch(fetch) => {
                let field = fetch.authorization.as_ref().map(|field| field.expose().to_owned());
                let said = format!("{} {} {field:?}", fetch.url, fetch.body.expose());
                for token in &self.secrets.access {
                    assert!(!ends_in(&said, token), "an access token goes to {}", fetch.url);
                }
                if fetch.purpose == FetchPurpose::Refresh {
                    // The storage is locked, so no other process has used its token.
                    let stored = self.storage.as_ref().map(|stored| stored.to_text());
                    let stored = stored.as_ref().map_or("", |text| text.expose());
                    let is_newest = self
                        .secrets
                        .refresh
                        .keys()
                        .any(|token| ends_in(&said, token) && ends_in(stored, token));
                    assert!(
                        is_newest,
                        "a refresh token is used that is not the one in the storage"
                    );
                }
                for (token, endpoint) in &self.secrets.refresh {
                    let may = fetch.purpose == FetchPurpose::Refresh && fetch.url == *endpoint;
                    assert!(may || !ends_in(&said, token), "a refresh token goes to {}", fetch.url);
                }
                let is_code = said.contains("SECRET-code") || said.contains("code_verifier");
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

    /// What a machine shows, and how long it goes on.
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
            assert_ne!(self.holder, Some(at), "it holds the storage for ever");
        }
    }
}

impl World<'_> {
    /// Who waits, when a step is over.
    pub(super) fn check_waiting(&self) {
        for (at, process) in self.processes.iter().enumerate() {
            assert_eq!(process.authorizer.waiting(), process.waiting.len());
            let is_empty = process.waiting.is_empty();
            assert!(is_empty || self.is_busy(at), "never released: {:?}", process.waiting);
        }
    }
}

/// Whether a text names a token: not as the beginning of another one.
fn ends_in(text: &str, token: &str) -> bool {
    text.match_indices(token)
        .any(|(at, _)| !text[at + token.len()..].starts_with(|next: char| next.is_ascii_digit()))
}
