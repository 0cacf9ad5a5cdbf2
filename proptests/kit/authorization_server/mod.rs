//! An OAuth authorization server for tests: a value without sockets, clock and randomness.
//!
//! [`AuthorizationServer::handle`] takes a request and the time, and returns a response. An HTTP driver sends the
//! response after its [delay](Response::delay). Tokens, codes and secrets derive from a seed and a counter, so they
//! are unguessable without the seed. That suffices for tests only. Every user is logged in without proof, so the
//! server must not protect anything of value.
//!
//! It supports the code grant with PKCE, rotating refresh tokens, client credentials, dynamic registration
//! (RFC 7591), client ID metadata documents, access tokens as JWTs (RFC 9068), and optionally a [`Misbehaviour`].

mod authorize;
mod clients;
mod exchange;
mod form;
mod grants;
mod jwt;
mod metadata;
mod misbehaviour;
mod options;
mod refusal;
mod token;

pub use exchange::{Request, Response};
pub use form::{Form, form_encode};
pub use jwt::{Claims, Sign, Signer, base64url};
pub use misbehaviour::Misbehaviour;
pub use options::{Client, Consent, MetadataPlace, Options};

use std::collections::HashMap;

use sha2::{Digest, Sha256};

use self::clients::Registration;
use self::grants::{Code, Family, RefreshToken};

/// An OAuth authorization server for tests. It owns every code and token that it has issued.
pub struct AuthorizationServer {
    /// The options. They may change between two requests.
    pub options: Options,
    /// The number of requests so far.
    pub counts: Counts,
    signer: Signer,
    seed: [u8; 32],
    /// The number of texts derived from the seed.
    drawn: u64,
    registered: HashMap<String, Registration>,
    codes: HashMap<String, Code>,
    families: Vec<Family>,
    refresh_tokens: HashMap<String, RefreshToken>,
    /// The access tokens that have not expired, each with its family.
    access_tokens: HashMap<String, (Claims, usize)>,
    /// Whether a one-time misbehaviour has already happened.
    has_misbehaved: bool,
}

/// The number of requests per endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Requests for metadata, at any path.
    pub metadata: u64,
    /// Requests to the authorization endpoint.
    pub authorize: u64,
    /// Requests to the token endpoint.
    pub token: u64,
    /// Refresh requests to the token endpoint.
    pub refresh: u64,
    /// Requests to the registration endpoint.
    pub register: u64,
    /// Requests for the key set.
    pub jwks: u64,
    /// All other requests.
    pub other: u64,
}

impl AuthorizationServer {
    /// Creates a server with these options. It signs with this key and derives its tokens from this seed.
    pub fn new(options: Options, signer: Signer, seed: [u8; 32]) -> Self {
        Self {
            options,
            counts: Counts::default(),
            signer,
            seed,
            drawn: 0,
            registered: HashMap::new(),
            codes: HashMap::new(),
            families: Vec::new(),
            refresh_tokens: HashMap::new(),
            access_tokens: HashMap::new(),
            has_misbehaved: false,
        }
    }

    /// Handles a request at this time, in seconds since the Unix epoch.
    pub fn handle(&mut self, request: &Request, now: u64) -> Response {
        let mut response = self.route(request, now);
        if self.options.misbehaviour == Some(Misbehaviour::Slow) {
            response.delay = Some(self.options.delay);
        }
        response
    }

    fn route(&mut self, request: &Request, now: u64) -> Response {
        let path = request.path();
        if self.options.is_metadata(path) {
            self.counts.metadata += 1;
            return self.metadata();
        }
        if path.contains("/.well-known/") {
            self.counts.metadata += 1;
            return Response::text(404, "There are no metadata here.");
        }
        let endpoint = path.strip_prefix(self.options.path()).unwrap_or_default();
        match (endpoint, request.method.as_str()) {
            ("/authorize", method) => {
                self.counts.authorize += 1;
                if method == "GET" { self.authorize(request, now) } else { not_allowed("GET") }
            }
            ("/token", method) => {
                self.counts.token += 1;
                if method == "POST" { self.token(request, now) } else { not_allowed("POST") }
            }
            ("/register", method) if self.options.registers => {
                self.counts.register += 1;
                if method == "POST" { self.register(request) } else { not_allowed("POST") }
            }
            ("/jwks", "GET") => {
                self.counts.jwks += 1;
                Response::json(200, &serde_json::json!({ "keys": [self.signer.public_key()] }))
            }
            _ => {
                self.counts.other += 1;
                Response::text(404, "There is nothing here.")
            }
        }
    }

    /// Returns the claims of an access token that this server has issued, if it is still valid.
    pub fn introspect(&self, token: &str, now: u64) -> Option<&Claims> {
        let (claims, family) = self.access_tokens.get(token)?;
        let is_revoked = self.families.get(*family).is_none_or(|family| family.is_revoked);
        (now < claims.exp && !is_revoked).then_some(claims)
    }

    /// Invalidates every access token, like an administrator. Refresh tokens stay valid.
    pub fn revoke_access_tokens(&mut self) {
        self.access_tokens.clear();
    }

    /// Deletes every registered client.
    pub fn forget_clients(&mut self) {
        self.registered.clear();
    }

    /// Returns the number of grants that were revoked because a code or a refresh token was used twice.
    pub fn revoked_grants(&self) -> usize {
        self.families.iter().filter(|family| family.is_revoked).count()
    }

    /// Returns a new text that is unguessable without the seed.
    fn unguessable(&mut self) -> String {
        self.drawn += 1;
        let mut hash = Sha256::new();
        hash.update(self.seed);
        hash.update(self.drawn.to_be_bytes());
        base64url(&hash.finalize())
    }

    /// Whether this misbehaviour is configured.
    fn is(&self, misbehaviour: Misbehaviour) -> bool {
        self.options.misbehaviour == Some(misbehaviour)
    }

    /// Whether this misbehaviour is configured and has not happened yet.
    fn is_once(&mut self, misbehaviour: Misbehaviour) -> bool {
        let is_due = self.is(misbehaviour) && !self.has_misbehaved;
        self.has_misbehaved |= is_due;
        is_due
    }
}

/// Omits tokens and keys.
impl std::fmt::Debug for AuthorizationServer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("AuthorizationServer")
            .field("options", &self.options)
            .field("counts", &self.counts)
            .finish_non_exhaustive()
    }
}

fn not_allowed(method: &str) -> Response {
    Response::text(405, "There is no such method here.").field("allow", method)
}
