//! `JwtVerifier`: access tokens that are JSON Web Tokens ([RFC 9068](https://www.rfc-editor.org/rfc/rfc9068)).

use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::jwk::{Jwk, JwkSet, PublicKeyUse};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey, Validation, decode, decode_header};
use mcp_sansio::Instant;
use mcp_sansio::auth::Scopes;
use mcp_sansio::auth::resource_server::Claims;
use serde::Deserialize;
use serde::de::IgnoredAny;
use tokio::time::Instant as Monotonic;

use super::verifier::{TokenVerifier, Verification, VerificationFuture};

/// Verifies tokens that are JSON Web Tokens, with the keys of their issuer.
///
/// The verifier accepts signatures by RSA, by ECDSA on P-256 and P-384, and by Ed25519, but no HMAC signatures. The
/// claims that it reads are `iss`, `sub`, `aud`, `exp`, `nbf`, `client_id` (or `azp`), and `scope` (or `scp`). A
/// token without `iss` or `sub` is rejected. So is a token that is bound to a key (`cnf`), because the proof of
/// possession is not checked.
///
/// Any issuer whose keys are in the set can sign tokens in the name of the others. Give each issuer an endpoint of
/// its own, or write a [`TokenVerifier`] that checks `iss` first.
///
/// ```
/// use mcp_sansio_http::JwtVerifier;
///
/// let keys = r#"{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"1","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#;
/// let verifier = JwtVerifier::new(keys).unwrap();
/// assert!(JwtVerifier::new("no keys").is_err());
/// ```
pub struct JwtVerifier {
    source: Option<Arc<dyn KeySource>>,
    fetched: Arc<Mutex<Fetched>>,
    /// Held by the fetch in progress.
    fetching: Arc<tokio::sync::Mutex<()>>,
}

/// The source of an issuer's keys: the document at the `jwks_uri` of its metadata.
///
/// The trait is implemented for functions that return a future.
pub trait KeySource: Send + Sync + 'static {
    /// Fetches the JSON Web Key Set ([RFC 7517, section 5](https://www.rfc-editor.org/rfc/rfc7517#section-5)). The
    /// fetch must have a timeout and a size limit.
    ///
    /// # Errors
    ///
    /// Any error. The next token that needs the keys repeats the fetch, after 10 s at the earliest.
    fn fetch(&self) -> Pin<Box<dyn Future<Output = io::Result<String>> + Send + '_>>;
}

impl<F, R> KeySource for F
where
    F: Fn() -> R + Send + Sync + 'static,
    R: Future<Output = io::Result<String>> + Send + 'static,
{
    fn fetch(&self) -> Pin<Box<dyn Future<Output = io::Result<String>> + Send + '_>> {
        Box::pin(self())
    }
}

/// The keys and the times of the fetches.
#[derive(Default)]
struct Fetched {
    keys: Option<Arc<JwkSet>>,
    tried: Option<Monotonic>,
    succeeded: Option<Monotonic>,
    /// Whether a fetch is in progress. Verifications that need it wait for it.
    is_under_way: bool,
}

/// The minimum time between two fetches. An unknown key id causes a fetch, and any client can send one.
const FETCH_AGAIN_AFTER: Duration = Duration::from_secs(10);

/// The age at which a key set is fetched again, so that withdrawn keys are dropped.
const GOOD_FOR: Duration = Duration::from_secs(3600);

/// The number of keys that a token without a key id is tried with.
const MOST_KEYS: usize = 16;

impl JwtVerifier {
    /// Creates a verifier with fixed keys: the text of a JSON Web Key Set.
    ///
    /// # Errors
    ///
    /// If `keys` is not a JSON Web Key Set.
    pub fn new(keys: &str) -> io::Result<Self> {
        let fetched = Fetched { keys: Some(Arc::new(read(keys)?)), ..Fetched::default() };
        Ok(Self { source: None, fetched: Arc::new(Mutex::new(fetched)), fetching: Arc::default() })
    }

    /// Creates a verifier that fetches its keys for the first token, every hour, and when a token names an unknown
    /// key, but at most every 10 s. Until the next fetch, a token with an unknown key is
    /// [`Verification::Unavailable`]. If fetching fails, the old keys stay valid up to two hours after the last
    /// success. Each fetch is a task of the tokio runtime.
    ///
    /// The program supplies the fetch. This server accepts the tokens of one issuer:
    ///
    /// ```no_run
    /// use std::io;
    /// use std::time::Duration;
    ///
    /// use mcp_sansio_http::mcp_sansio::auth::Scopes;
    /// use mcp_sansio_http::mcp_sansio::auth::resource_server::ProtectedResource;
    /// use mcp_sansio_http::mcp_sansio::json::Raw;
    /// use mcp_sansio_http::mcp_sansio::model::Tool;
    /// use mcp_sansio_http::{
    ///     Endpoint, EndpointOptions, Exchange, HttpRequest, JwtVerifier, Protection, Router, serve,
    /// };
    ///
    /// /// Fetches the document at the `jwks_uri` of the issuer. The example `everything_http` does so with hyper.
    /// async fn keys() -> io::Result<String> {
    /// #   Err(io::Error::other("an example"))
    ///     // …
    /// }
    ///
    /// async fn who_am_i(_: (), exchange: Exchange) -> String {
    ///     let claims = exchange.extension::<HttpRequest>().and_then(HttpRequest::claims);
    ///     claims.map_or_else(String::new, |claims| format!("{} with {}", claims.subject, claims.scopes))
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let router = Router::new();
    /// let tool = Tool::new("who_am_i", Raw::new(r#"{"type":"object"}"#)?);
    /// router.async_tool_with(tool, who_am_i);
    ///
    /// let resource = ProtectedResource::new("https://mcp.example.com/mcp", "https://login.example.com")?;
    /// let resource = resource.scopes(Scopes::parse("mcp:use"));
    /// let protection = Protection::new(resource, JwtVerifier::fetching(keys));
    /// let mut options = EndpointOptions::new().protect(protection);
    /// options.http.hosts = options.http.hosts.allow("mcp.example.com")?;
    ///
    /// // A proxy in front terminates TLS.
    /// let endpoint = Endpoint::with(router.config("who", "1.0"), options, router);
    /// let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
    /// serve(endpoint, "/mcp", listener, std::future::pending(), Duration::from_secs(5)).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn fetching(source: impl KeySource) -> Self {
        let (fetched, fetching) = (Arc::default(), Arc::default());
        Self { source: Some(Arc::new(source)), fetched, fetching }
    }

    /// Returns the keys, after a fetch if the keys are old or lack the key with this id.
    ///
    /// Any client can name an unknown key, so only verifications that need a fetch wait for it.
    async fn keys(&self, id: Option<&str>) -> Option<Arc<JwkSet>> {
        let Some(source) = &self.source else { return self.fetched().keys.clone() };
        if !self.fetched().is_wanted(id) {
            return self.fetched().keys.clone();
        }
        let fetching = Arc::clone(&self.fetching).lock_owned().await;
        if !self.fetched().begin(id) {
            return self.fetched().keys.clone();
        }
        let (source, fetched) = (Arc::clone(source), Arc::clone(&self.fetched));
        // The task continues if its client disconnects, so the next verification need not start over.
        let fetch = tokio::spawn(async move {
            let _fetching = fetching;
            let keys = source.fetch().await.and_then(|text| read(&text));
            lock(&fetched).end(keys.ok());
        });
        _ = fetch.await;
        self.fetched().keys.clone()
    }

    /// Whether the issuer may have published a key that was not fetched since `asked`: the last fetch was too recent
    /// to repeat, or it failed.
    fn may_be_newer_than_keys(&self, asked: Monotonic) -> bool {
        self.source.is_some() && self.fetched().succeeded.is_none_or(|at| at < asked)
    }

    fn fetched(&self) -> MutexGuard<'_, Fetched> {
        lock(&self.fetched)
    }
}

/// Locks the state. The lock is never held across an await.
fn lock(fetched: &Mutex<Fetched>) -> MutexGuard<'_, Fetched> {
    fetched.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Fetched {
    /// Whether a token that names this key needs a fetch.
    fn is_wanted(&self, id: Option<&str>) -> bool {
        let lacks = |keys: &Arc<JwkSet>| id.is_some_and(|id| keys.find(id).is_none());
        let is_old = age(self.succeeded).is_none_or(|age| age >= GOOD_FOR);
        let is_wanted = is_old || self.keys.as_ref().is_none_or(lacks);
        is_wanted
            && (self.is_under_way || age(self.tried).is_none_or(|age| age >= FETCH_AGAIN_AFTER))
    }

    /// Begins a fetch, if it is still needed.
    fn begin(&mut self, id: Option<&str>) -> bool {
        // A fetch whose source panicked is no longer in progress.
        self.is_under_way = false;
        self.is_under_way = self.is_wanted(id);
        if self.is_under_way {
            self.tried = Some(Monotonic::now());
        }
        self.is_under_way
    }

    /// Ends a fetch. `None` if it failed.
    fn end(&mut self, keys: Option<JwkSet>) {
        self.is_under_way = false;
        if let Some(keys) = keys {
            self.keys = Some(Arc::new(keys));
            self.succeeded = self.tried;
        } else if age(self.succeeded).is_none_or(|age| age >= 2 * GOOD_FOR) {
            self.keys = None;
        }
    }
}

fn age(at: Option<Monotonic>) -> Option<Duration> {
    at.map(|at| Monotonic::now().saturating_duration_since(at))
}

impl TokenVerifier for JwtVerifier {
    fn verify<'a>(&'a self, token: &'a str) -> VerificationFuture<'a> {
        Box::pin(async move {
            let Ok(header) = decode_header(token) else { return Verification::Invalid };
            let is_access_token = header.typ.as_deref().is_none_or(|kind| {
                let kind = kind.strip_prefix("application/").unwrap_or(kind);
                kind.eq_ignore_ascii_case("JWT") || kind.eq_ignore_ascii_case("at+jwt")
            });
            let is_signed_by_key = header.alg.family() != AlgorithmFamily::Hmac;
            if !is_access_token || !is_signed_by_key || header.crit.is_some() {
                return Verification::Invalid;
            }
            let (id, asked) = (header.kid.as_deref(), Monotonic::now());
            let Some(keys) = self.keys(id).await else { return Verification::Unavailable };
            if id.is_some_and(|id| keys.find(id).is_none()) && self.may_be_newer_than_keys(asked) {
                return Verification::Unavailable;
            }
            let may_be = |key: &&Jwk| id.is_none() || key.common.key_id.as_deref() == id;
            let payload = keys
                .keys
                .iter()
                .filter(may_be)
                .take(MOST_KEYS)
                .find_map(|key| verified(token, header.alg, key));
            match payload.and_then(Payload::claims) {
                Some(claims) => Verification::Valid(claims),
                None => Verification::Invalid,
            }
        })
    }
}

/// Parses a key set. Keys of an unsupported type are dropped
/// ([RFC 7517, section 5](https://www.rfc-editor.org/rfc/rfc7517#section-5)): no accepted token is signed with them.
fn read(keys: &str) -> io::Result<JwkSet> {
    #[derive(Deserialize)]
    struct Set {
        keys: Vec<serde_json::Value>,
    }

    let Set { keys } = serde_json::from_str(keys)?;
    let keys = keys.into_iter().filter_map(|key| serde_json::from_value(key).ok()).collect();
    Ok(JwkSet { keys })
}

/// Returns the claims of a token, if this key signed it.
fn verified(token: &str, algorithm: Algorithm, key: &Jwk) -> Option<Payload> {
    let is_for_signatures =
        key.common.public_key_use.as_ref().is_none_or(|it| *it == PublicKeyUse::Signature);
    let is_for_this =
        key.common.key_algorithm.is_none_or(|it| it.to_string().parse() == Ok(algorithm));
    let decoding = DecodingKey::from_jwk(key).ok()?;
    if !is_for_signatures || !is_for_this || decoding.family() != algorithm.family() {
        return None;
    }
    let mut validation = Validation::new(algorithm);
    // The claims are compared by the resource.
    validation.required_spec_claims.clear();
    validation.validate_exp = false;
    validation.validate_aud = false;
    match decode(token, &decoding, &validation) {
        Ok(decoded) => Some(decoded.claims),
        Err(error) => {
            debug_assert!(!matches!(error.kind(), ErrorKind::ExpiredSignature), "not looked at");
            None
        }
    }
}

/// The supported claims.
#[derive(Deserialize)]
struct Payload {
    iss: Option<String>,
    sub: Option<String>,
    aud: Option<OneOrMore>,
    exp: Option<f64>,
    nbf: Option<f64>,
    scope: Option<String>,
    scp: Option<OneOrMore>,
    client_id: Option<String>,
    azp: Option<String>,
    cnf: Option<IgnoredAny>,
}

/// A string or a list of strings.
#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl OneOrMore {
    fn into_list(self) -> Vec<String> {
        match self {
            Self::One(text) => vec![text],
            Self::More(texts) => texts,
        }
    }
}

impl Payload {
    fn claims(self) -> Option<Claims> {
        if self.cnf.is_some() {
            return None;
        }
        let mut claims = Claims::new(self.iss?, self.sub?);
        claims.client = self.client_id.or(self.azp);
        claims.audience = self.aud.map(OneOrMore::into_list).unwrap_or_default();
        claims.expires_at = self.exp.map(instant);
        claims.not_before = self.nbf.map(instant);
        let scopes = self.scope.or_else(|| self.scp.map(|scopes| scopes.into_list().join(" ")));
        claims.scopes = Scopes::parse(&scopes.unwrap_or_default());
        Some(claims)
    }
}

/// Converts seconds since the epoch. Values out of range are clamped.
fn instant(seconds: f64) -> Instant {
    Instant::EPOCH + Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX)
}

impl fmt::Debug for JwtVerifier {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("JwtVerifier").finish_non_exhaustive()
    }
}
