//! The clients of the server, and their authentication.

use mcp_sansio::auth::ClientAuthentication;
use serde_json::{Value, json};

use super::jwt::decode_base64;
use super::refusal::Refusal;
use super::{AuthorizationServer, Form, Request, Response};

/// A registered client.
#[derive(Clone, Debug)]
pub(super) struct Registration {
    secret: Option<String>,
    method: ClientAuthentication,
    redirect_uris: Vec<String>,
}

/// The credentials that a client presents.
struct Presented {
    id: String,
    secret: Option<String>,
    method: ClientAuthentication,
}

/// An authenticated client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Authenticated {
    pub(super) id: String,
    pub(super) is_public: bool,
}

const METHOD: Refusal = Refusal::new("invalid_client", "this way to authenticate is not supported");
const UNKNOWN: Refusal = Refusal::new("invalid_client", "the client is not known");
const SECRET: Refusal = Refusal::new("invalid_client", "the secret is missing or wrong");

impl AuthorizationServer {
    /// Whether a client may redirect the browser to this URI. Fails if the client is unknown.
    pub(super) fn allows_redirect(&self, client_id: &str, uri: &str) -> Result<bool, Refusal> {
        if let Some(client) = self.registered.get(client_id) {
            return Ok(client.redirect_uris.iter().any(|known| is_same(known, uri)));
        }
        let is_configured = self.options.clients.iter().any(|client| client.id == client_id);
        if is_configured || self.is_document(client_id) {
            return Ok(is_redirect_uri(uri));
        }
        Err(UNKNOWN)
    }

    fn is_document(&self, client_id: &str) -> bool {
        self.options.takes_metadata_documents && client_id.starts_with("https://")
    }

    /// Authenticates the client of a request to the token endpoint.
    pub(super) fn authenticate(
        &self,
        request: &Request,
        form: &Form,
    ) -> Result<Authenticated, Refusal> {
        let Presented { id, secret, method } = presented(request, form)?;
        if !self.options.authentication.contains(&method) {
            return Err(METHOD);
        }
        let registered = self.registered.get(&id);
        let configured = self.options.clients.iter().find(|client| client.id == id);
        let expected = match (registered, configured) {
            (Some(client), _) if client.method != method => return Err(METHOD),
            (Some(client), _) => client.secret.as_ref(),
            (None, Some(client)) => client.secret.as_ref(),
            (None, None) if self.is_document(&id) => None,
            (None, None) => return Err(UNKNOWN),
        };
        if expected != secret.as_ref() {
            return Err(SECRET);
        }
        Ok(Authenticated { id, is_public: secret.is_none() })
    }

    /// Registers a client (RFC 7591).
    pub(super) fn register(&mut self, request: &Request) -> Response {
        match self.registration(request) {
            Ok(body) => Response::json(201, &body),
            Err(refusal) => refusal.response(),
        }
    }

    fn registration(&mut self, request: &Request) -> Result<Value, Refusal> {
        const MALFORMED: Refusal = Refusal::new("invalid_client_metadata", "not a JSON object");
        const NO_URI: Refusal = Refusal::new("invalid_redirect_uri", "neither https nor loopback");
        const NO_METHOD: Refusal =
            Refusal::new("invalid_client_metadata", "token_endpoint_auth_method is not supported");
        if !request.is_of_type("application/json") {
            return Err(MALFORMED);
        }
        let asked: Value = serde_json::from_slice(&request.body).map_err(|_| MALFORMED)?;
        let mut answer = asked.as_object().ok_or(MALFORMED)?.clone();
        let uris = asked["redirect_uris"].as_array().ok_or(NO_URI)?;
        let uris: Option<Vec<String>> =
            uris.iter().map(|uri| uri.as_str().map(String::from)).collect();
        let redirect_uris = uris.filter(|uris| !uris.is_empty()).ok_or(NO_URI)?;
        if !redirect_uris.iter().all(|uri| is_redirect_uri(uri)) {
            return Err(NO_URI);
        }
        let method = asked["token_endpoint_auth_method"].as_str().unwrap_or("client_secret_basic");
        let method = self.options.authentication.iter().find(|known| known.name() == method);
        let method = *method.ok_or(NO_METHOD)?;
        let (id, secret) = (format!("client-{}", self.unguessable()), self.unguessable());
        let secret = Some(secret).filter(|_| method != ClientAuthentication::None);
        answer.insert("client_id".into(), json!(id));
        answer.insert("token_endpoint_auth_method".into(), json!(method.name()));
        if let Some(secret) = &secret {
            answer.insert("client_secret".into(), json!(secret));
            answer.insert("client_secret_expires_at".into(), json!(0));
        }
        self.registered.insert(id, Registration { secret, method, redirect_uris });
        Ok(answer.into())
    }
}

/// Returns the credentials of a client. It must present them in exactly one way (RFC 6749, section 2.3).
fn presented(request: &Request, form: &Form) -> Result<Presented, Refusal> {
    const TWICE: Refusal = Refusal::new("invalid_request", "the client authenticates in two ways");
    const MISSING: Refusal = Refusal::new("invalid_client", "there is no client_id");
    let (id, secret) = (form.find("client_id"), form.find("client_secret"));
    let Some(field) = &request.authorization else {
        let id = id.ok_or(MISSING)?.to_owned();
        let method = match secret {
            Some(_) => ClientAuthentication::SecretPost,
            None => ClientAuthentication::None,
        };
        return Ok(Presented { id, secret: secret.map(String::from), method });
    };
    let (user, password) = basic(field).ok_or(SECRET)?;
    if secret.is_some() || id.is_some_and(|id| id != user) {
        return Err(TWICE);
    }
    Ok(Presented { id: user, secret: Some(password), method: ClientAuthentication::SecretBasic })
}

/// Decodes the client id and the secret, each of which is form-encoded (RFC 6749, section 2.3.1).
fn basic(field: &str) -> Option<(String, String)> {
    let (scheme, credentials) = field.split_once(' ')?;
    let credentials =
        decode_base64(credentials).filter(|_| scheme.eq_ignore_ascii_case("Basic"))?;
    let credentials = String::from_utf8(credentials).ok()?;
    let (id, secret) = credentials.split_once(':')?;
    let decoded = |text: &str| {
        let form = Form::read(format!("value={text}").as_bytes());
        form.find("value").map(String::from)
    };
    Some((decoded(id)?, decoded(secret)?))
}

/// Whether a URI equals a registered one, apart from the port of a loopback address (RFC 8252, section 7.3).
fn is_same(registered: &str, uri: &str) -> bool {
    let without_port = |uri: &str| {
        let rest = uri.strip_prefix("http://")?;
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let host = host(authority);
        is_loopback(host).then(|| format!("{host}{path}"))
    };
    registered == uri || without_port(registered).is_some_and(|one| without_port(uri) == Some(one))
}

fn is_redirect_uri(uri: &str) -> bool {
    let authority = |rest: &str| rest.split(['/', '?', '#']).next().unwrap_or_default().to_owned();
    let is_local =
        uri.strip_prefix("http://").is_some_and(|rest| is_loopback(host(&authority(rest))));
    let is_far = uri.strip_prefix("https://").is_some_and(|rest| !authority(rest).is_empty());
    (is_local || is_far) && !uri.contains('#')
}

fn host(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => host,
        _ => authority,
    }
}

fn is_loopback(host: &str) -> bool {
    matches!(host, "localhost" | "127.0.0.1" | "[::1]")
}
