//! What each login in a browser and each token request must have in common: verifier, state, redirect URI, resource.

use mcp_sansio::auth::{Fetch, FetchPurpose};
use sha2::{Digest, Sha256};

use super::documents::SERVER;
use crate::authorization_server::{Form, base64url};

/// The logins that a browser has opened, and the resource of each refresh token.
#[derive(Default)]
pub(super) struct Logins {
    opened: Vec<Login>,
    /// The resources that were named when the refresh tokens were issued.
    resources: Vec<(String, Option<String>)>,
}

/// The parameters of a URL that a browser has opened.
struct Login {
    url: String,
    state: String,
    challenge: String,
    redirect_uri: String,
    resource: Option<String>,
}

/// Returns the parameter of this name, which must occur.
fn needed(form: &Form, name: &str) -> String {
    form.find(name).unwrap_or_else(|| panic!("{name} is missing: {form:?}")).to_owned()
}

fn resource(form: &Form) -> Option<String> {
    form.find("resource").map(str::to_owned)
}

impl Logins {
    /// Records a URL that the browser opens. Its challenge and its state must be new, and must differ.
    pub(super) fn opened(&mut self, url: &str) {
        let query = url.split_once('?').map_or("", |(_, query)| query);
        let form = Form::read(query.as_bytes());
        assert_eq!(form.find("response_type"), Some("code"), "{url}");
        assert_eq!(form.find("code_challenge_method"), Some("S256"), "{url}");
        let login = Login {
            url: url.to_owned(),
            state: needed(&form, "state"),
            challenge: needed(&form, "code_challenge"),
            redirect_uri: needed(&form, "redirect_uri"),
            resource: resource(&form),
        };
        assert!(login.resource.as_deref().is_none_or(|resource| resource == SERVER), "{url}");
        assert!(32 <= login.state.len() && 32 <= login.challenge.len(), "{url}");
        let secrets = [&login.state, &login.challenge];
        let is_used =
            |one: &Login| secrets.contains(&&one.state) || secrets.contains(&&one.challenge);
        assert!(login.state != login.challenge && !self.opened.iter().any(is_used), "{url}");
        self.opened.push(login);
    }

    /// Checks a request to a token endpoint: a code goes with the verifier, the redirect URI and the resource of its
    /// login, and a refresh token with the resource for which it was issued.
    pub(super) fn check(&self, fetch: &Fetch) {
        let form = Form::read(fetch.body.expose().as_bytes());
        match (fetch.purpose, form.find("grant_type")) {
            (FetchPurpose::Token, Some("authorization_code")) => {
                let verifier = needed(&form, "code_verifier");
                let challenge = base64url(&Sha256::digest(&verifier));
                let login = self.opened.iter().find(|login| login.challenge == challenge);
                let login = login.expect("a verifier belongs to no login");
                assert!(!login.url.contains(&verifier), "the browser has seen the verifier");
                assert_eq!(needed(&form, "redirect_uri"), login.redirect_uri);
                assert_eq!(resource(&form), login.resource, "the token is for another resource");
            }
            (FetchPurpose::Refresh, _) => {
                let sent = needed(&form, "refresh_token");
                let known = self.resources.iter().find(|(token, _)| *token == sent);
                let known = known.expect("a refresh token was issued");
                assert_eq!(resource(&form), known.1, "the token is for another resource");
            }
            (FetchPurpose::Token | FetchPurpose::Assertion, _) => {
                assert_eq!(form.find("resource"), Some(SERVER), "the token is for any resource");
            }
            _ => {}
        }
    }

    /// Records a refresh token that is issued in response to a request.
    pub(super) fn issued(&mut self, token: &str, fetch: &Fetch) {
        let form = Form::read(fetch.body.expose().as_bytes());
        self.resources.push((token.to_owned(), resource(&form)));
    }
}
