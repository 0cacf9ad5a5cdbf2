//! A host that drives an authorizer by hand, and documents for it.

use std::sync::Arc;
use std::time::Duration;

use mcp_sansio::Instant;
use mcp_sansio::auth::{
    AuthorizationFailure, Authorizer, AuthorizerConfig, Challenged, Challenges, ClientMetadata,
    Effect, Fetch, FetchError, FetchedResponse, JobId, LoginMaterial, Permit, Redirected,
    RequestKey, Saved, Stage, Verdict,
};
use serde_json::{Value, json};

pub(crate) const SERVER: &str = "https://mcp.example/mcp";
pub(crate) const ISSUER: &str = "https://as.example";
pub(crate) const REDIRECT: &str = "http://127.0.0.1:4000/callback";
pub(crate) const PRM_PLACE: &str = "https://mcp.example/.well-known/oauth-protected-resource/mcp";

/// Returns a configuration with dynamic registration.
pub(crate) fn config() -> AuthorizerConfig {
    let mut config = AuthorizerConfig::new(SERVER).unwrap();
    config.registration = Some(ClientMetadata::native("Example"));
    config
}

pub(crate) fn resource_metadata() -> Value {
    json!({ "resource": SERVER, "authorization_servers": [ISSUER] })
}

pub(crate) fn server_metadata() -> Value {
    json!({
        "issuer": ISSUER,
        "authorization_endpoint": "https://as.example/authorize",
        "token_endpoint": "https://as.example/token",
        "registration_endpoint": "https://as.example/register",
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none", "client_secret_basic", "client_secret_post"],
    })
}

/// An authorizer and its host.
#[derive(Clone)]
pub(crate) struct Lab {
    pub(crate) authorizer: Authorizer,
    pub(crate) now: Instant,
    pub(crate) saved: Option<Saved>,
    requests: u64,
    logins: u8,
}

impl Lab {
    pub(crate) fn new(config: AuthorizerConfig) -> Self {
        let authorizer = Authorizer::new(Arc::new(config));
        let now = Instant::from_millis(1_800_000_000_000);
        Self { authorizer, now, saved: None, requests: 0, logins: 0 }
    }

    pub(crate) fn wait(&mut self, seconds: u64) {
        self.now = self.now + Duration::from_secs(seconds);
        self.authorizer.handle_timeout(self.now);
    }

    /// Reports a response with this status and this challenge.
    pub(crate) fn refused(&mut self, status: u16, challenge: &str) -> RequestKey {
        self.refused_for(status, challenge, "")
    }

    pub(crate) fn refused_for(
        &mut self,
        status: u16,
        challenge: &str,
        operation: &str,
    ) -> RequestKey {
        let generation = self.generation();
        self.refused_with(status, challenge, operation, generation)
    }

    pub(crate) fn refused_with(
        &mut self,
        status: u16,
        challenge: &str,
        operation: &str,
        generation: Option<u64>,
    ) -> RequestKey {
        let key = self.key();
        let challenges = Challenges::parse(challenge);
        let challenged =
            Challenged::new(status, &challenges).generation(generation).operation(operation);
        self.authorizer.challenged(key, challenged, self.now);
        key
    }

    pub(crate) fn key(&mut self) -> RequestKey {
        self.requests += 1;
        RequestKey(self.requests)
    }

    /// Returns the generation of the token that a request would be sent with.
    pub(crate) fn generation(&self) -> Option<u64> {
        let mut other = self.authorizer.clone();
        match other.permit(RequestKey(0), SERVER, self.now) {
            Permit::Send(token) => token.map(|token| token.generation()),
            Permit::Wait => None,
        }
    }

    /// Returns the `Authorization` field that a request would be sent with.
    pub(crate) fn field(&self) -> Option<String> {
        let mut other = self.authorizer.clone();
        match other.permit(RequestKey(0), SERVER, self.now) {
            Permit::Send(token) => token.map(|token| token.field().expose().to_owned()),
            Permit::Wait => None,
        }
    }

    /// Returns the next effect other than `Save`, whose value is kept.
    pub(crate) fn effect(&mut self) -> Option<Effect> {
        loop {
            match self.authorizer.poll_effect()? {
                Effect::Save(saved) => self.saved = Some(saved),
                effect => return Some(effect),
            }
        }
    }

    #[track_caller]
    pub(crate) fn fetch(&mut self) -> Fetch {
        match self.effect() {
            Some(Effect::Fetch(fetch)) => fetch,
            other => panic!("no request: {other:?}"),
        }
    }

    pub(crate) fn answer(&mut self, fetch: &Fetch, status: u16, body: &Value) {
        self.answer_text(fetch, status, &body.to_string());
    }

    pub(crate) fn answer_text(&mut self, fetch: &Fetch, status: u16, body: &str) {
        let response = FetchedResponse::new(status, body.as_bytes());
        self.authorizer.fetched(fetch.job, response, self.now);
    }

    pub(crate) fn fail(&mut self, fetch: &Fetch, error: FetchError) {
        self.authorizer.fetch_failed(fetch.job, error, self.now);
    }

    /// Responds to the next HTTP request.
    #[track_caller]
    pub(crate) fn serve(&mut self, status: u16, body: &Value) -> Fetch {
        let fetch = self.fetch();
        self.answer(&fetch, status, body);
        fetch
    }

    /// Responds to the two requests of a discovery.
    #[track_caller]
    pub(crate) fn discover(&mut self, resource: &Value, server: &Value) {
        self.serve(200, resource);
        self.serve(200, server);
    }

    #[track_caller]
    pub(crate) fn prepare(&mut self) -> (JobId, Option<String>) {
        match self.effect() {
            Some(Effect::PrepareLogin { job, registered }) => (job, registered),
            other => panic!("no login: {other:?}"),
        }
    }

    /// Prepares a login.
    #[track_caller]
    pub(crate) fn prepared(&mut self) -> Option<String> {
        let (job, registered) = self.prepare();
        self.logins += 1;
        let material = LoginMaterial::new([self.logins; 64], REDIRECT);
        self.authorizer.login_prepared(job, &material, self.now);
        registered
    }

    /// Returns the parameters of the URL that the browser opens.
    #[track_caller]
    pub(crate) fn opened(&mut self) -> Opened {
        match self.effect() {
            Some(Effect::OpenUrl(url)) => Opened::read(url.as_str()),
            other => panic!("no browser: {other:?}"),
        }
    }

    pub(crate) fn back(&mut self, query: &str) -> Redirected {
        self.authorizer.redirected(&format!("{REDIRECT}?{query}"), self.now)
    }

    /// Runs from a challenge to the browser, with a registration if there is none.
    #[track_caller]
    pub(crate) fn until_browser(&mut self, challenge: &str) -> Opened {
        self.refused(401, challenge);
        self.discover(&resource_metadata(), &server_metadata());
        self.prepared();
        if self.authorizer.stage() == Stage::Registering {
            self.serve(201, &json!({ "client_id": "c1" }));
        }
        self.opened()
    }

    /// Runs from the browser to the token request.
    #[track_caller]
    pub(crate) fn agree(&mut self, opened: &Opened) -> Fetch {
        let query = format!("code=the-code&state={}", opened.get("state"));
        assert_eq!(self.back(&query), Redirected::Accepted);
        self.fetch()
    }

    /// Runs a complete login, which ends with this token response.
    #[track_caller]
    pub(crate) fn log_in(&mut self, tokens: &Value) {
        let opened = self.until_browser("Bearer");
        let fetch = self.agree(&opened);
        self.answer(&fetch, 200, tokens);
        assert_eq!(self.released().pop().map(|(_, verdict)| verdict), Some(Verdict::Send));
        let generation = self.generation();
        self.authorizer.accepted(generation, None);
    }

    /// Logs in at this server with a signed assertion.
    #[track_caller]
    pub(crate) fn log_in_signed(&mut self, server: &Value) {
        self.refused(401, "Bearer");
        self.discover(&resource_metadata(), server);
        self.prepared();
        let state = self.opened().get("state").to_owned();
        self.back(&format!("code=the-code&state={state}"));
        let Some(Effect::Sign(signing)) = self.effect() else { panic!("nothing to sign") };
        self.authorizer.signed(signing.job, b"signature", self.now);
        self.serve(200, &tokens());
        assert_eq!(self.released().len(), 1);
    }

    /// Returns the requests that are released now; any other effect fails the test.
    #[track_caller]
    pub(crate) fn released(&mut self) -> Vec<(RequestKey, Verdict)> {
        let mut released = Vec::new();
        while let Some(effect) = self.effect() {
            match effect {
                Effect::Release { request, verdict } => released.push((request, verdict)),
                Effect::Unclaim => {}
                other => panic!("something else is wanted: {other:?}"),
            }
        }
        released
    }

    /// Returns the failure with which all requests are released.
    #[track_caller]
    pub(crate) fn failure(&mut self) -> AuthorizationFailure {
        let mut released = self.released();
        match released.pop() {
            Some((_, Verdict::Fail(failure))) => failure,
            other => panic!("no failure: {other:?}"),
        }
    }

    /// Hands the storage with its content to the authorizer.
    #[track_caller]
    pub(crate) fn claim(&mut self, stored: Option<Saved>) {
        match self.effect() {
            Some(Effect::Claim { job }) => self.authorizer.claimed(job, stored, self.now),
            other => panic!("no claim: {other:?}"),
        }
    }
}

/// A URL with parameters.
#[derive(Clone, Debug)]
pub(crate) struct Opened {
    pub(crate) endpoint: String,
    pub(crate) params: Vec<(String, String)>,
}

impl Opened {
    pub(crate) fn read(url: &str) -> Self {
        let (endpoint, query) = url.split_once('?').unwrap_or((url, ""));
        Self { endpoint: endpoint.into(), params: form(query) }
    }

    pub(crate) fn find(&self, name: &str) -> Option<&str> {
        let param = self.params.iter().find(|(known, _)| known == name);
        param.map(|(_, value)| value.as_str())
    }

    #[track_caller]
    pub(crate) fn get(&self, name: &str) -> &str {
        self.find(name).unwrap_or_else(|| panic!("no {name} in {:?}", self.params))
    }
}

/// Parses a form.
pub(crate) fn form(text: &str) -> Vec<(String, String)> {
    let decoded = |text: &str| {
        let text = text.replace('+', " ");
        let mut parts = text.split('%');
        let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
        for part in parts {
            bytes.push(u8::from_str_radix(&part[..2], 16).unwrap());
            bytes.extend_from_slice(&part.as_bytes()[2..]);
        }
        String::from_utf8(bytes).unwrap()
    };
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            pair.split_once('=').map(|(name, value)| (decoded(name), decoded(value))).unwrap()
        })
        .collect()
}

/// Returns the members of a form in their order.
pub(crate) fn pairs(fetch: &Fetch) -> Vec<(String, String)> {
    form(fetch.body.expose())
}

/// Returns one member of a form.
pub(crate) fn field(fetch: &Fetch, name: &str) -> Option<String> {
    pairs(fetch).into_iter().find(|(known, _)| known == name).map(|(_, value)| value)
}

pub(crate) fn tokens() -> Value {
    json!({ "access_token": "t1", "token_type": "Bearer", "expires_in": 3600, "refresh_token": "r1" })
}
