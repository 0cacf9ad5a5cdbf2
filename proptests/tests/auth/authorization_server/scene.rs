//! A client and its authorization server.

use mcp_sansio::Instant;
use mcp_sansio::auth::{
    AuthorizationFailure, AuthorizerConfig, Effect, Fetch, LoginMaterial, Redirected, RequestKey,
    Verdict,
};
use mcp_sansio_proptests::authorization_server::{
    AuthorizationServer, Claims, Misbehaviour, Options, Request, Response, Signer, form_encode,
};
use serde_json::{Value, json};

use crate::kit::{ISSUER, Lab, PRM_PLACE, REDIRECT, SERVER, config};
pub(super) const FORM: &str = "application/x-www-form-urlencoded";

/// A client and its authorization server.
pub(super) struct Scene {
    pub(super) lab: Lab,
    pub(super) server: AuthorizationServer,
    pub(super) logins: u8,
}

impl Scene {
    pub(super) fn new(options: Options) -> Self {
        Self::with(config(), options)
    }

    pub(super) fn with(config: AuthorizerConfig, options: Options) -> Self {
        let server = AuthorizationServer::new(options, Signer::worthless(), [7; 32]);
        Self { lab: Lab::new(config), server, logins: 0 }
    }

    pub(super) fn seconds(&self) -> u64 {
        (self.lab.now - Instant::EPOCH).as_secs()
    }

    pub(super) fn ask(&mut self, request: &Request) -> Response {
        self.server.handle(request, self.seconds())
    }

    /// Reports a 401 response to the authorizer, and carries out all of its effects.
    pub(super) fn challenge(&mut self) -> Vec<(RequestKey, Verdict)> {
        self.lab.refused(401, r#"Bearer scope="read write""#);
        self.carry_out()
    }

    pub(super) fn log_in(&mut self) {
        let released = self.challenge();
        assert_eq!(released.last().map(|(_, verdict)| verdict), Some(&Verdict::Send));
        self.accept();
    }

    /// Reports that the MCP server has accepted the token.
    pub(super) fn accept(&mut self) {
        let generation = self.lab.generation();
        self.lab.authorizer.accepted(generation, None);
    }

    #[track_caller]
    pub(super) fn failure(&mut self) -> AuthorizationFailure {
        match self.challenge().pop() {
            Some((_, Verdict::Fail(failure))) => failure,
            other => panic!("no failure: {other:?}"),
        }
    }

    pub(super) fn carry_out(&mut self) -> Vec<(RequestKey, Verdict)> {
        let mut released = Vec::new();
        while let Some(effect) = self.lab.effect() {
            match effect {
                Effect::Fetch(fetch) => self.fetch(&fetch),
                Effect::PrepareLogin { job, .. } => {
                    self.logins += 1;
                    let material = LoginMaterial::new([self.logins; 64], REDIRECT);
                    self.lab.authorizer.login_prepared(job, &material, self.lab.now);
                }
                Effect::OpenUrl(url) => self.browse(url.as_str()),
                Effect::Claim { job } => {
                    let stored = self.lab.saved.clone();
                    self.lab.authorizer.claimed(job, stored, self.lab.now);
                }
                Effect::Unclaim => {}
                Effect::Release { request, verdict } => released.push((request, verdict)),
                other => panic!("something else is wanted: {other:?}"),
            }
        }
        released
    }

    pub(super) fn fetch(&mut self, fetch: &Fetch) {
        if fetch.url == PRM_PLACE {
            let issuer = &self.server.options.issuer;
            let document = json!({ "resource": SERVER, "authorization_servers": [issuer] });
            return self.lab.answer(fetch, 200, &document);
        }
        let target = fetch.url.strip_prefix(ISSUER).unwrap();
        let authorization = fetch.authorization.as_ref().map(|field| field.expose());
        let request = match fetch.method {
            "GET" => Request::get(target),
            _ => Request::post(target, fetch.content_type.unwrap(), fetch.body.expose()),
        };
        let response = self.ask(&request.authorization(authorization));
        if response.delay.is_some_and(|delay| delay >= fetch.within) {
            return self.lab.wait(fetch.within.as_secs());
        }
        let body = String::from_utf8_lossy(&response.body).into_owned();
        self.lab.answer_text(fetch, response.status, &body);
    }

    /// Plays a user who allows every request.
    pub(super) fn browse(&mut self, url: &str) {
        let mut response = self.ask(&Request::get(url.strip_prefix(ISSUER).unwrap()));
        if response.status == 200 {
            let [allow, _] = links(&response);
            response = self.ask(&Request::get(allow));
        }
        let location = response.find("location").unwrap().to_owned();
        let redirected = self.lab.authorizer.redirected(&location, self.lab.now);
        assert_ne!(redirected, Redirected::Unknown);
    }

    /// Returns the claims of the client's token.
    pub(super) fn claims(&self) -> Option<Claims> {
        let field = self.lab.field().unwrap();
        let token = field.strip_prefix("Bearer ").unwrap();
        self.server.introspect(token, self.seconds()).cloned()
    }

    /// Returns the last refresh token that the client has stored.
    pub(super) fn refresh_token(&self) -> Option<String> {
        let saved = self.lab.saved.as_ref().unwrap().to_text();
        let saved: Value = serde_json::from_str(saved.expose()).unwrap();
        saved["grant"]["refresh_token"].as_str().map(String::from)
    }

    pub(super) fn client_id(&self) -> String {
        self.claims().unwrap().client_id
    }

    /// Sends a hand-written refresh request.
    pub(super) fn refresh(&mut self, client_id: &str, token: &str) -> Response {
        let body = [("client_id", client_id), ("refresh_token", token)];
        self.post(&[&body[..], &[("grant_type", "refresh_token"), ("resource", SERVER)]].concat())
    }

    pub(super) fn post(&mut self, parameters: &[(&str, &str)]) -> Response {
        self.ask(&Request::post("/token", FORM, form(parameters)))
    }
}

pub(super) fn form(parameters: &[(&str, &str)]) -> String {
    let pairs = parameters.iter().map(|(name, value)| format!("{name}={}", form_encode(value)));
    pairs.collect::<Vec<_>>().join("&")
}

pub(super) fn body(response: &Response) -> Value {
    serde_json::from_slice(&response.body).unwrap()
}

/// Returns the status and the code of an error response.
pub(super) fn error(response: &Response) -> (u16, String) {
    (response.status, body(response)["error"].as_str().unwrap().into())
}

/// Returns the targets of the two links of a page.
pub(super) fn links(response: &Response) -> [String; 2] {
    let page = String::from_utf8(response.body.clone()).unwrap();
    let links = page.split("href=\"").skip(1);
    let links = links.map(|rest| rest.split('"').next().unwrap().replace("&amp;", "&"));
    links.collect::<Vec<_>>().try_into().unwrap()
}

pub(super) fn options() -> Options {
    Options::new(ISSUER)
}

pub(super) fn misbehaving(misbehaviour: Misbehaviour) -> Scene {
    let mut options = options();
    options.misbehaviour = Some(misbehaviour);
    Scene::new(options)
}
