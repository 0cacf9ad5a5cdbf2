//! An OAuth authorization server for tests: a value without sockets, clock and randomness.
//!
//! [`AuthorizationServer::handle`] takes a request and the time, and gives a response. Whoever has it served over HTTP sends
//! the response on, after its [delay](Response::delay). Tokens, codes and secrets are made from a seed and a counter: who
//! does not know the seed cannot guess them, which is enough for a test and for nothing else. Anybody who asks is logged
//! in, so it must not protect anything of worth.
//!
//! It has the code grant with PKCE, refresh tokens that rotate, client credentials, dynamic registration (RFC 7591), client
//! ID metadata documents, access tokens that are JWTs (RFC 9068), and a [`Misbehaviour`] if one is wanted.

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
    /// What it is like. It may be changed between two requests.
    pub options: Options,
    /// What it was asked for.
    pub counts: Counts,
    signer: Signer,
    seed: [u8; 32],
    /// How many texts were made from the seed.
    drawn: u64,
    registered: HashMap<String, Registration>,
    codes: HashMap<String, Code>,
    families: Vec<Family>,
    refresh_tokens: HashMap<String, RefreshToken>,
    /// Access tokens that have not expired, with the family that each belongs to.
    access_tokens: HashMap<String, (Claims, usize)>,
    /// A misbehaviour that happens once has happened.
    has_misbehaved: bool,
}

/// How many requests came to each endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// For metadata, wherever they were looked for.
    pub metadata: u64,
    /// To the authorization endpoint.
    pub authorize: u64,
    /// To the token endpoint.
    pub token: u64,
    /// Those of them that were refreshes.
    pub refresh: u64,
    /// To the registration endpoint.
    pub register: u64,
    /// For the keys.
    pub jwks: u64,
    /// Anywhere else.
    pub other: u64,
}

impl AuthorizationServer {
    /// A server that is like this, signs with this key, and makes its tokens from this seed.
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

    /// Answers a request at this time, in seconds since the Unix epoch.
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

    /// The claims of an access token that this server has issued, if it is still good at this time.
    pub fn introspect(&self, token: &str, now: u64) -> Option<&Claims> {
        let (claims, family) = self.access_tokens.get(token)?;
        let is_revoked = self.families.get(*family).is_none_or(|family| family.is_revoked);
        (now < claims.exp && !is_revoked).then_some(claims)
    }

    /// Makes every access token invalid, as an administrator can. Refresh tokens stay.
    pub fn revoke_access_tokens(&mut self) {
        self.access_tokens.clear();
    }

    /// Forgets every client that has registered.
    pub fn forget_clients(&mut self) {
        self.registered.clear();
    }

    /// How many grants were revoked because a code or a refresh token came a second time.
    pub fn revoked_grants(&self) -> usize {
        self.families.iter().filter(|family| family.is_revoked).count()
    }

    /// A text that nobody guesses who does not know the seed. It is another one each time.
    fn unguessable(&mut self) -> String {
        self.drawn += 1;
        let mut hash = Sha256::new();
        hash.update(self.seed);
        hash.update(self.drawn.to_be_bytes());
        base64url(&hash.finalize())
    }

    /// Whether this misbehaviour is wanted.
    fn is(&self, misbehaviour: Misbehaviour) -> bool {
        self.options.misbehaviour == Some(misbehaviour)
    }

    /// Whether this misbehaviour is wanted and has not happened yet.
    fn is_once(&mut self, misbehaviour: Misbehaviour) -> bool {
        let is_due = self.is(misbehaviour) && !self.has_misbehaved;
        self.has_misbehaved |= is_due;
        is_due
    }
}

/// Without tokens and keys.
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
