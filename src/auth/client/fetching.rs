//! Requests to authorization servers and identity providers.

use alloc::string::String;

use super::config::Flow;
use super::effect::{Effect, Fetch, FetchPurpose};
use super::failure::{AuthorizationFailure, NotAllowed};
use super::inner::Inner;
use crate::auth::Secret;
use crate::auth::web_url::WebUrl;
use crate::version::Revision;

impl Inner {
    /// Fetches a document from a URL that a server named, or that is derived from a named URL.
    pub(super) fn ask_for(
        &mut self,
        purpose: FetchPurpose,
        url: &WebUrl,
    ) -> Result<(), AuthorizationFailure> {
        let spoken = self.revision.unwrap_or(Revision::LATEST_MODERN).name();
        self.fetch(purpose, url, |fetch| fetch.protocol_version = Some(spoken))
    }

    /// Sends a POST request to an endpoint.
    pub(super) fn send_to(
        &mut self,
        purpose: FetchPurpose,
        url: &WebUrl,
        content_type: &'static str,
        body: Secret,
        authorization: Option<Secret>,
    ) -> Result<(), AuthorizationFailure> {
        self.fetch(purpose, url, |fetch| {
            fetch.method = "POST";
            fetch.content_type = Some(content_type);
            fetch.body = body;
            fetch.authorization = authorization;
        })
    }

    fn fetch(
        &mut self,
        purpose: FetchPurpose,
        url: &WebUrl,
        complete: impl FnOnce(&mut Fetch),
    ) -> Result<(), AuthorizationFailure> {
        self.check(purpose.place(), url)?;
        let mut fetch = Fetch {
            job: self.next_job(),
            purpose,
            method: "GET",
            url: String::from(url.as_str()),
            content_type: None,
            authorization: None,
            protocol_version: None,
            body: Secret::default(),
            most_bytes: self.config.most_bytes,
            within: self.config.fetch_timeout,
        };
        complete(&mut fetch);
        self.effects.push_back(Effect::Fetch(fetch));
        Ok(())
    }

    /// Checks that a URL may be fetched.
    pub(super) fn check(
        &self,
        place: &'static str,
        url: &WebUrl,
    ) -> Result<(), AuthorizationFailure> {
        // The application itself configured this URL.
        let is_configured = match &self.config.flow {
            Flow::Enterprise(provider) => provider.token_endpoint == *url,
            _ => false,
        };
        let is_allowed = is_configured || self.config.policy.allows(url, &self.config.server);
        if is_allowed {
            return Ok(());
        }
        Err(AuthorizationFailure::NotAllowed { place, reason: NotAllowed::Policy })
    }
}

pub(super) const FORM: &str = "application/x-www-form-urlencoded";
pub(super) const JSON: &str = "application/json";
