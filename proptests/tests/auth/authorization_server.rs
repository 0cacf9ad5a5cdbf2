//! The authorization server of the kit, and the machine of a client against it, all in memory.

use std::time::Duration;

use mcp_sansio::Instant;
use mcp_sansio::auth::{
    AuthorizationFailure, AuthorizerConfig, ClientAuthentication, ConfiguredClient, Effect, Fetch,
    Flow, IssuerPlace, LoginMaterial, OAuthErrorCode, Redirected, RequestKey, Scopes, Verdict,
};
use mcp_sansio_proptests::authorization_server::{
    AuthorizationServer, Claims, Client, Consent, Counts, Form, MetadataPlace, Misbehaviour,
    Options, Request, Response, Signer, base64url, form_encode,
};
use serde_json::{Value, json};

use crate::kit::{ISSUER, Lab, PRM_PLACE, REDIRECT, SERVER, config};

const FORM: &str = "application/x-www-form-urlencoded";

/// A client and its authorization server.
struct Scene {
    lab: Lab,
    server: AuthorizationServer,
    logins: u8,
}

impl Scene {
    fn new(options: Options) -> Self {
        Self::with(config(), options)
    }

    fn with(config: AuthorizerConfig, options: Options) -> Self {
        let server = AuthorizationServer::new(options, Signer::worthless(), [7; 32]);
        Self { lab: Lab::new(config), server, logins: 0 }
    }

    fn seconds(&self) -> u64 {
        (self.lab.now - Instant::EPOCH).as_secs()
    }

    fn ask(&mut self, request: &Request) -> Response {
        self.server.handle(request, self.seconds())
    }

    /// A request is answered with 401; carries out everything that comes of it.
    fn challenge(&mut self) -> Vec<(RequestKey, Verdict)> {
        self.lab.refused(401, r#"Bearer scope="read write""#);
        self.carry_out()
    }

    fn log_in(&mut self) {
        let released = self.challenge();
        assert_eq!(released.last().map(|(_, verdict)| verdict), Some(&Verdict::Send));
        self.accept();
    }

    /// The MCP server takes the token.
    fn accept(&mut self) {
        let generation = self.lab.generation();
        self.lab.authorizer.accepted(generation, None);
    }

    #[track_caller]
    fn failure(&mut self) -> AuthorizationFailure {
        match self.challenge().pop() {
            Some((_, Verdict::Fail(failure))) => failure,
            other => panic!("no failure: {other:?}"),
        }
    }

    fn carry_out(&mut self) -> Vec<(RequestKey, Verdict)> {
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

    fn fetch(&mut self, fetch: &Fetch) {
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

    /// A user who allows everything.
    fn browse(&mut self, url: &str) {
        let mut response = self.ask(&Request::get(url.strip_prefix(ISSUER).unwrap()));
        if response.status == 200 {
            let [allow, _] = links(&response);
            response = self.ask(&Request::get(allow));
        }
        let location = response.find("location").unwrap().to_owned();
        let redirected = self.lab.authorizer.redirected(&location, self.lab.now);
        assert_ne!(redirected, Redirected::Unknown);
    }

    /// What the token of the client says.
    fn claims(&self) -> Option<Claims> {
        let field = self.lab.field().unwrap();
        let token = field.strip_prefix("Bearer ").unwrap();
        self.server.introspect(token, self.seconds()).cloned()
    }

    /// The last refresh token that the client has stored.
    fn refresh_token(&self) -> Option<String> {
        let saved = self.lab.saved.as_ref().unwrap().to_text();
        let saved: Value = serde_json::from_str(saved.expose()).unwrap();
        saved["grant"]["refresh_token"].as_str().map(String::from)
    }

    fn client_id(&self) -> String {
        self.claims().unwrap().client_id
    }

    /// Refreshes by hand.
    fn refresh(&mut self, client_id: &str, token: &str) -> Response {
        let body = [("client_id", client_id), ("refresh_token", token)];
        self.post(&[&body[..], &[("grant_type", "refresh_token"), ("resource", SERVER)]].concat())
    }

    fn post(&mut self, parameters: &[(&str, &str)]) -> Response {
        self.ask(&Request::post("/token", FORM, form(parameters)))
    }
}

fn form(parameters: &[(&str, &str)]) -> String {
    let pairs = parameters.iter().map(|(name, value)| format!("{name}={}", form_encode(value)));
    pairs.collect::<Vec<_>>().join("&")
}

fn body(response: &Response) -> Value {
    serde_json::from_slice(&response.body).unwrap()
}

/// The status and the code of a refusal.
fn error(response: &Response) -> (u16, String) {
    (response.status, body(response)["error"].as_str().unwrap().into())
}

/// The targets of the two links of a page.
fn links(response: &Response) -> [String; 2] {
    let page = String::from_utf8(response.body.clone()).unwrap();
    let links = page.split("href=\"").skip(1);
    let links = links.map(|rest| rest.split('"').next().unwrap().replace("&amp;", "&"));
    links.collect::<Vec<_>>().try_into().unwrap()
}

fn options() -> Options {
    Options::new(ISSUER)
}

fn misbehaving(misbehaviour: Misbehaviour) -> Scene {
    let mut options = options();
    options.misbehaviour = Some(misbehaviour);
    Scene::new(options)
}

/// Every place of metadata with every way to authenticate, for an issuer with and without a path.
#[test]
fn a_client_gets_a_token_wherever_the_metadata_are() {
    let places =
        [(MetadataPlace::OAuth, 1), (MetadataPlace::OpenId, 2), (MetadataPlace::OpenIdAppended, 3)];
    let methods = [
        ClientAuthentication::None,
        ClientAuthentication::SecretBasic,
        ClientAuthentication::SecretPost,
    ];
    for path in ["", "/", "/tenant/1"] {
        for ((place, asked), method) in
            places.iter().flat_map(|place| methods.map(|method| (*place, method)))
        {
            let mut options = Options::new(format!("{ISSUER}{path}"));
            (options.metadata, options.authentication) = (place, vec![method]);
            let mut scene = Scene::new(options);
            scene.log_in();
            let claims = scene.claims().unwrap();
            assert_eq!((claims.iss, claims.sub), (format!("{ISSUER}{path}"), "user".into()));
            assert_eq!((claims.aud.as_str(), claims.scope.as_str()), (SERVER, "read write"));
            assert_eq!((claims.iat, claims.exp), (scene.seconds(), scene.seconds() + 3600));
            // Without a path the second and the third place are the same.
            let metadata = if path.len() < 2 { asked.min(2) } else { asked };
            let counts = counts(metadata, 1, 1, 1);
            assert_eq!(scene.server.counts, counts, "{path} {place:?} {method:?}");
        }
    }
}

/// The counts of requests for metadata, of logins, token requests and registrations.
fn counts(metadata: u64, authorize: u64, token: u64, register: u64) -> Counts {
    let mut counts = Counts::default();
    (counts.metadata, counts.authorize) = (metadata, authorize);
    (counts.token, counts.register) = (token, register);
    counts
}

#[test]
fn a_server_without_metadata_is_not_found() {
    let mut options = options();
    options.metadata = MetadataPlace::None;
    let failure = AuthorizationFailure::NoServerMetadata { issuer: ISSUER.into() };
    assert_eq!(Scene::new(options).failure(), failure);
}

#[test]
fn a_client_that_is_known_beforehand_does_not_register() {
    for secret in [None, Some("a:b c%")] {
        for method in [ClientAuthentication::SecretBasic, ClientAuthentication::SecretPost] {
            let mut config = AuthorizerConfig::new(SERVER).unwrap();
            let client = ConfiguredClient::new("me: %");
            config.clients =
                vec![secret.map_or_else(|| client.clone(), |secret| client.clone().secret(secret))];
            let mut options = options();
            options.authentication = match secret {
                Some(_) => vec![method],
                None => vec![ClientAuthentication::None],
            };
            options.clients = vec![Client::new("me: %", secret)];
            let mut scene = Scene::with(config, options);
            scene.log_in();
            assert_eq!(scene.client_id(), "me: %");
            assert_eq!(scene.server.counts, counts(1, 1, 1, 0));
        }
    }
}

#[test]
fn a_metadata_document_is_a_client_id() {
    let mut config = AuthorizerConfig::new(SERVER).unwrap();
    config.metadata_document("https://client.example/me.json").unwrap();
    let mut scene = Scene::with(config.clone(), options());
    scene.log_in();
    assert_eq!(scene.client_id(), "https://client.example/me.json");
    assert_eq!(scene.server.counts, counts(1, 1, 1, 0));
    let mut options = options();
    options.takes_metadata_documents = false;
    let failure = AuthorizationFailure::NoRegistration { issuer: ISSUER.into() };
    assert_eq!(Scene::with(config, options).failure(), failure);
}

#[test]
fn a_client_gets_a_token_for_itself() {
    for method in [ClientAuthentication::SecretBasic, ClientAuthentication::SecretPost] {
        let mut config = AuthorizerConfig::new(SERVER).unwrap();
        config.flow = Flow::ClientCredentials;
        config.clients = vec![ConfiguredClient::new("robot").secret("s")];
        let mut options = options();
        options.authentication = vec![method];
        options.clients = vec![Client::new("robot", Some("s"))];
        let mut scene = Scene::with(config, options);
        scene.log_in();
        let claims = scene.claims().unwrap();
        assert_eq!((claims.sub.as_str(), claims.scope.as_str()), ("robot", "read write"));
        assert_eq!(scene.refresh_token(), None);
        assert_eq!(scene.server.counts, counts(1, 0, 1, 0));
    }
}

#[test]
fn a_user_can_be_asked() {
    let mut asks = options();
    asks.consent = Consent::Ask;
    let mut scene = Scene::new(asks);
    scene.log_in();
    assert_eq!(scene.server.counts.authorize, 2);
    assert!(scene.claims().is_some());
    // And say no.
    let mut denies = options();
    denies.consent = Consent::Deny;
    match Scene::new(denies).failure() {
        AuthorizationFailure::Denied(error) => assert_eq!(error.code, OAuthErrorCode::AccessDenied),
        other => panic!("{other:?}"),
    }
}

#[test]
fn fewer_scopes_can_be_granted() {
    let mut options = options();
    options.grantable = Some(vec!["write".into(), "other".into()]);
    let mut scene = Scene::new(options);
    scene.log_in();
    assert_eq!(scene.claims().unwrap().scope, "write");
    assert_eq!(scene.lab.authorizer.granted(), Some(&Scopes::parse("write")));
}

/// Each way to misbehave has the failure that the machine names.
#[test]
fn each_misbehaviour_has_a_failure_of_its_own() {
    let mismatch = |place| AuthorizationFailure::IssuerMismatch { place, expected: ISSUER.into() };
    let (metadata, token) = ("the metadata of the authorization server", "the token endpoint");
    let transient =
        |place, status| AuthorizationFailure::Transient { place, status, retry_after: None };
    let expected = |misbehaviour| match misbehaviour {
        Misbehaviour::WrongIssuer | Misbehaviour::MissingIssuer => {
            Some(mismatch(IssuerPlace::Response))
        }
        Misbehaviour::OtherIssuer => Some(mismatch(IssuerPlace::Metadata)),
        Misbehaviour::NoPkce => Some(AuthorizationFailure::NoPkce),
        Misbehaviour::Slow => Some(transient(metadata, None)),
        Misbehaviour::TokenUnavailable => Some(transient(token, Some(503))),
        Misbehaviour::RedirectsToken => {
            Some(AuthorizationFailure::UnexpectedStatus { place: token, status: 307 })
        }
        Misbehaviour::GarbageMetadata => {
            Some(AuthorizationFailure::NoServerMetadata { issuer: ISSUER.into() })
        }
        Misbehaviour::GarbageToken => Some(AuthorizationFailure::InvalidToken("access_token")),
        Misbehaviour::HugeMetadata => Some(AuthorizationFailure::TooLarge { place: metadata }),
        Misbehaviour::HugeToken => Some(AuthorizationFailure::TooLarge { place: token }),
        // The login goes well.
        Misbehaviour::ForgetsClients
        | Misbehaviour::DropsRefreshTokens
        | Misbehaviour::NoRotation => None,
    };
    for misbehaviour in Misbehaviour::ALL.iter().copied() {
        assert_eq!(misbehaviour.name().parse(), Ok(misbehaviour));
        let mut scene = misbehaving(misbehaviour);
        match expected(misbehaviour) {
            Some(failure) => assert_eq!(scene.failure(), failure, "{misbehaviour:?}"),
            None => scene.log_in(),
        }
    }
    assert!(
        "no-such-thing".parse::<Misbehaviour>().unwrap_err().starts_with("not one of wrong-iss, ")
    );
}

#[test]
fn a_server_that_was_out_of_order_once_is_good_later() {
    let mut scene = misbehaving(Misbehaviour::TokenUnavailable);
    scene.failure();
    scene.log_in();
    assert_eq!(scene.server.counts.token, 2);
}

#[test]
fn a_forgotten_client_registers_once_more() {
    let mut scene = misbehaving(Misbehaviour::ForgetsClients);
    scene.log_in();
    assert_eq!(scene.server.counts, counts(1, 2, 2, 2));
}

/// The token is refreshed before its end; an old refresh token is refused, and ends the whole grant.
#[test]
fn refresh_tokens_rotate_and_one_that_comes_again_ends_the_grant() {
    let mut scene = Scene::new(options());
    scene.log_in();
    let (client, old, first) =
        (scene.client_id(), scene.refresh_token().unwrap(), scene.claims().unwrap());
    scene.lab.wait(3550);
    assert_eq!(scene.carry_out(), []);
    scene.accept();
    let second = scene.claims().unwrap();
    assert_ne!(second.jti, first.jti);
    assert_eq!(second.exp, scene.seconds() + 3600);
    let new = scene.refresh_token().unwrap();
    assert_ne!(new, old);
    assert_eq!((scene.server.counts.token, scene.server.counts.refresh), (2, 1));
    assert_eq!(scene.server.revoked_grants(), 0);

    assert_eq!(error(&scene.refresh(&client, &old)), (400, "invalid_grant".into()));
    assert_eq!(scene.server.revoked_grants(), 1);
    assert_eq!(scene.claims(), None, "nothing of the grant is good any more");
    assert_eq!(error(&scene.refresh(&client, &new)), (400, "invalid_grant".into()));
    // The user has to log in again.
    scene.log_in();
    assert_eq!(scene.server.counts.authorize, 2);
    assert!(scene.claims().is_some());
}

#[test]
fn a_server_need_not_rotate() {
    let mut scene = misbehaving(Misbehaviour::NoRotation);
    scene.log_in();
    let (client, token) = (scene.client_id(), scene.refresh_token().unwrap());
    for _ in 0..2 {
        let answer = scene.refresh(&client, &token);
        assert_eq!((answer.status, &body(&answer)["refresh_token"]), (200, &Value::Null));
    }
    scene.lab.wait(3550);
    assert_eq!(scene.carry_out(), []);
    assert_eq!(scene.refresh_token(), Some(token));
    assert_eq!(scene.server.revoked_grants(), 0);
}

#[test]
fn a_lost_refresh_token_means_a_new_login() {
    let mut scene = misbehaving(Misbehaviour::DropsRefreshTokens);
    scene.log_in();
    scene.lab.wait(3601);
    scene.log_in();
    assert_eq!((scene.server.counts.authorize, scene.server.counts.refresh), (2, 1));
}

#[test]
fn tokens_end_and_can_be_revoked() {
    let mut options = options();
    options.access_token_seconds = 60;
    let mut scene = Scene::new(options);
    scene.log_in();
    let token = scene.lab.field().unwrap().split_off("Bearer ".len());
    let now = scene.seconds();
    assert!(scene.server.introspect(&token, now + 59).is_some());
    assert_eq!(scene.server.introspect(&token, now + 60), None);
    assert_eq!(scene.server.introspect("other", now), None);
    scene.server.revoke_access_tokens();
    assert_eq!(scene.server.introspect(&token, now), None);
}

/// The verifier of the examples of RFC 7636, and its challenge.
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

/// A server that knows the client `me`, and what a good authorization request to it has.
fn by_hand() -> (Scene, Vec<(&'static str, &'static str)>) {
    let mut options = options();
    options.clients = vec![Client::new("me", None), Client::new("robot", Some("s"))];
    let good = vec![
        ("response_type", "code"),
        ("client_id", "me"),
        ("redirect_uri", REDIRECT),
        ("state", "s t"),
        ("code_challenge", CHALLENGE),
        ("code_challenge_method", "S256"),
        ("resource", SERVER),
    ];
    (Scene::new(options), good)
}

fn without<'a>(all: &[(&'a str, &'a str)], name: &str) -> Vec<(&'a str, &'a str)> {
    all.iter().copied().filter(|(known, _)| *known != name).collect()
}

/// The same with another value, or with none if it is empty.
fn but<'a>(all: &[(&'a str, &'a str)], name: &'a str, value: &'a str) -> Vec<(&'a str, &'a str)> {
    let mut changed = without(all, name);
    changed.extend((!value.is_empty()).then_some((name, value)));
    changed
}

/// Where the browser is sent to.
fn location(scene: &mut Scene, parameters: &[(&str, &str)]) -> Option<Form> {
    let response = scene.ask(&Request::get(format!("/authorize?{}", form(parameters))));
    let location = response.find("location")?;
    let query = location.strip_prefix(REDIRECT).unwrap().strip_prefix('?').unwrap();
    assert_eq!(response.status, 302);
    Some(Form::read(query.as_bytes()))
}

#[test]
fn bad_authorization_requests_are_refused() {
    let (mut scene, good) = by_hand();
    let back = location(&mut scene, &good).unwrap();
    assert_eq!((back.find("state"), back.find("iss")), (Some("s t"), Some(ISSUER)));
    assert_eq!(back.find("code").unwrap().len(), 43);
    // The client is told.
    for (name, value, error) in [
        ("response_type", "token", "unsupported_response_type"),
        ("response_type", "", "unsupported_response_type"),
        ("code_challenge", "", "invalid_request"),
        ("code_challenge", "short", "invalid_request"),
        ("code_challenge_method", "plain", "invalid_request"),
        ("code_challenge_method", "", "invalid_request"),
        ("resource", "", "invalid_target"),
        ("resource", "https://mcp.example/mcp#x", "invalid_target"),
    ] {
        let back = location(&mut scene, &but(&good, name, value)).unwrap();
        assert_eq!((back.find("error"), back.find("code")), (Some(error), None), "{name} {value}");
        assert_eq!((back.find("state"), back.find("iss")), (Some("s t"), Some(ISSUER)));
    }
    // The client cannot be told, because it is not known where it is.
    for (name, value) in [
        ("client_id", ""),
        ("client_id", "other"),
        ("redirect_uri", ""),
        ("redirect_uri", "http://far.example/callback"),
        ("redirect_uri", "http://127.0.0.1.far.example/callback"),
        ("redirect_uri", "http://127.0.0.1@far.example/callback"),
    ] {
        assert_eq!(location(&mut scene, &but(&good, name, value)), None, "{name} {value}");
    }
    let twice = [&good[..], &[("resource", SERVER)]].concat();
    assert_eq!(location(&mut scene, &twice), None);
}

#[test]
fn bad_token_requests_are_refused() {
    let (mut scene, asked) = by_hand();
    let mut good = vec![
        ("grant_type", "authorization_code"),
        ("redirect_uri", REDIRECT),
        ("code_verifier", VERIFIER),
        ("client_id", "me"),
        ("resource", SERVER),
    ];
    let code = location(&mut scene, &asked).unwrap().find("code").unwrap().to_owned();
    good.push(("code", &code));
    for (name, value, status, expected) in [
        ("grant_type", "password", 400, "unsupported_grant_type"),
        ("grant_type", "", 400, "unsupported_grant_type"),
        ("code", "other", 400, "invalid_grant"),
        ("code_verifier", CHALLENGE, 400, "invalid_grant"),
        ("code_verifier", "", 400, "invalid_grant"),
        ("redirect_uri", "http://127.0.0.1:4001/callback", 400, "invalid_grant"),
        ("resource", "https://mcp.example", 400, "invalid_target"),
        ("resource", "", 400, "invalid_target"),
        ("client_id", "", 401, "invalid_client"),
        ("client_id", "other", 401, "invalid_client"),
        ("client_id", "https://client.example/me.json", 400, "invalid_grant"),
        ("client_id", "robot", 401, "invalid_client"),
        ("client_secret", "x", 401, "invalid_client"),
        ("client_secret", "s", 401, "invalid_client"),
    ] {
        let refusal = error(&scene.post(&but(&good, name, value)));
        assert_eq!(refusal, (status, expected.into()), "{name} {value}");
    }
    let twice = [&good[..], &[("resource", SERVER)]].concat();
    assert_eq!(error(&scene.post(&twice)), (400, "invalid_request".into()));
    let json = scene.ask(&Request::post("/token", "application/json", form(&good)));
    assert_eq!(error(&json), (400, "invalid_request".into()));
    // None of this has used the code up, but its second use ends the first one's tokens.
    let answer = scene.post(&good);
    let token = body(&answer)["access_token"].as_str().unwrap().to_owned();
    assert_eq!(scene.server.introspect(&token, scene.seconds()).unwrap().client_id, "me");
    assert_eq!(error(&scene.post(&good)), (400, "invalid_grant".into()));
    assert_eq!(scene.server.introspect(&token, scene.seconds()), None);
    // A code that comes late.
    let code = location(&mut scene, &asked).unwrap().find("code").unwrap().to_owned();
    scene.lab.now = scene.lab.now + Duration::from_secs(60);
    assert_eq!(error(&scene.post(&but(&good, "code", &code))), (400, "invalid_grant".into()));
}

#[test]
fn clients_authenticate_in_one_way() {
    let (mut scene, _) = by_hand();
    let asked = [("grant_type", "client_credentials"), ("resource", SERVER)];
    let mut ask = |field: Option<&str>, more: &[(&str, &str)]| {
        let body = form(&[&asked[..], more].concat());
        let response = scene.ask(&Request::post("/token", FORM, body).authorization(field));
        match response.status {
            200 => (200, String::new()),
            _ => error(&response),
        }
    };
    let good = (200, String::new());
    let (invalid, both) = ((401, "invalid_client".into()), (400, "invalid_request".into()));
    // "robot:s", "robot:x", "robot", and what is no base64.
    assert_eq!(ask(Some("Basic cm9ib3Q6cw=="), &[]), good);
    assert_eq!(ask(Some("basic cm9ib3Q6cw=="), &[("client_id", "robot")]), good);
    assert_eq!(ask(None, &[("client_id", "robot"), ("client_secret", "s")]), good);
    assert_eq!(ask(Some("Basic cm9ib3Q6eA=="), &[]), invalid);
    assert_eq!(ask(Some("Basic cm9ib3Q="), &[]), invalid);
    assert_eq!(ask(Some("Basic %"), &[]), invalid);
    assert_eq!(ask(Some("Bearer cm9ib3Q6cw=="), &[]), invalid);
    assert_eq!(ask(Some("Basic cm9ib3Q6cw=="), &[("client_secret", "s")]), both);
    assert_eq!(ask(Some("Basic cm9ib3Q6cw=="), &[("client_id", "me")]), both);
    assert_eq!(ask(None, &[("client_id", "me")]), (400, "unauthorized_client".into()));
}

#[test]
fn registrations_are_checked() {
    let mut scene = Scene::new(options());
    let mut register = |body: &str| {
        let response = scene.ask(&Request::post("/register", "application/json", body));
        (response.status, body_of(&response))
    };
    fn body_of(response: &Response) -> Value {
        body(response)
    }
    let uri = |uri: &str| format!(r#"{{"redirect_uris":["{uri}"]}}"#);
    // Without a method it is the one that RFC 7591 names.
    let (status, answer) = register(&uri(REDIRECT));
    assert_eq!(
        (status, &answer["token_endpoint_auth_method"]),
        (201, &json!("client_secret_basic"))
    );
    assert_eq!(answer["client_secret"].as_str().unwrap().len(), 43);
    for bad in ["http://far.example/x", "https:///x", "https://a.example/#x", "custom:x", ""] {
        let (status, answer) = register(&uri(bad));
        assert_eq!((status, &answer["error"]), (400, &json!("invalid_redirect_uri")), "{bad}");
    }
    let method = r#"{"redirect_uris":["https://a.example/x"],"token_endpoint_auth_method":"mtls"}"#;
    for bad in ["[]", "{", method] {
        let (status, answer) = register(bad);
        assert_eq!((status, &answer["error"]), (400, &json!("invalid_client_metadata")), "{bad}");
    }
    let mut closed = options();
    closed.registers = false;
    let request = Request::post("/register", "application/json", uri(REDIRECT));
    assert_eq!(Scene::new(closed).ask(&request).status, 404);
}

/// The token is a JWT, as far as a client does not look into it.
#[test]
fn access_tokens_are_signed_with_the_key_that_is_published() {
    let jwk = json!({ "kty": "EC", "crv": "P-256", "x": "eA", "y": "eQ" });
    let sign = Box::new(|input: &[u8]| vec![u8::try_from(input.len() % 256).unwrap(); 64]);
    let signer = Signer { kid: "k1".into(), jwk, sign };
    let mut server = AuthorizationServer::new(options(), signer, [1; 32]);
    server.options.clients = vec![Client::new("robot", Some("s"))];
    let parameters = [
        ("grant_type", "client_credentials"),
        ("resource", SERVER),
        ("client_id", "robot"),
        ("client_secret", "s"),
        ("scope", "a b"),
    ];
    let answer = body(&server.handle(&Request::post("/token", FORM, form(&parameters)), 1000));
    let token = answer["access_token"].as_str().unwrap();
    let parts: Vec<&str> = token.split('.').collect();
    assert_eq!(parts[0], base64url(br#"{"alg":"ES256","kid":"k1","typ":"at+jwt"}"#));
    let claims = serde_json::to_vec(server.introspect(token, 1000).unwrap()).unwrap();
    assert_eq!(parts[1], base64url(&claims));
    let length = parts[0].len() + 1 + parts[1].len();
    assert_eq!(parts[2], base64url(&[u8::try_from(length % 256).unwrap(); 64]));
    let claims: Value = serde_json::from_slice(&claims).unwrap();
    let names: Vec<&String> = claims.as_object().unwrap().keys().collect();
    assert_eq!(names, ["aud", "client_id", "exp", "iat", "iss", "jti", "scope", "sub"]);
    assert_eq!((&claims["scope"], &claims["exp"]), (&json!("a b"), &json!(4600)));
    let keys = body(&server.handle(&Request::get("/jwks"), 1000));
    let key = json!({ "kty": "EC", "crv": "P-256", "x": "eA", "y": "eQ", "kid": "k1", "alg": "ES256", "use": "sig" });
    assert_eq!(keys, json!({ "keys": [key] }));
}

#[test]
fn other_requests_are_refused() {
    let mut scene = Scene::new(options());
    for (request, status) in [
        (Request::get("/token"), 405),
        (Request::get("/register"), 405),
        (Request::post("/authorize", FORM, ""), 405),
        (Request::get("/"), 404),
        (Request::get("/tokens"), 404),
        (Request::get("/.well-known/openid-configuration"), 404),
        (Request::get("/jwks").method("DELETE"), 404),
    ] {
        assert_eq!(scene.ask(&request).status, status, "{request:?}");
    }
}
