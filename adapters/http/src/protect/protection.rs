//! `Protection`: the resource server of an endpoint.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mcp_sansio::auth::Scopes;
use mcp_sansio::auth::resource_server::{
    AccessError, Claims, Operation, ProtectedResource, TokenError, bearer_token, check_scopes,
};
use mcp_sansio::http::{Headers, Reply};
use mcp_sansio::{Instant, Principal};

use super::access::Access;
use super::known_claims::KnownClaims;
use super::verifier::{TokenVerifier, Verification};

/// The access control of an endpoint whose clients need an access token.
///
/// Every request is checked before its body is read and before its session is looked up: a session id does not
/// replace a token. Requests that are passed to [`Endpoint::handle_as`](crate::Endpoint::handle_as) with a principal
/// other than the default are not checked. The principal of a request is [`Claims::principal`]: it owns sessions,
/// tasks and request state. Handlers can read the claims ([`HttpRequest::claims`](crate::HttpRequest::claims),
/// [`claims`](Self::claims)). The token is removed from the [header fields](crate::HttpRequest::headers) of the
/// request, so that no handler passes it on to another server ([`exposes_token`](Self::exposes_token)).
///
/// The endpoint serves the metadata of the resource at its well-known paths. The endpoint also answers CORS
/// preflight requests, which carry no token. Clones share one protection.
///
/// ```
/// use mcp_sansio_http::mcp_sansio::auth::Scopes;
/// use mcp_sansio_http::mcp_sansio::auth::resource_server::{Claims, ProtectedResource};
/// use mcp_sansio_http::{EndpointOptions, Protection, TokenVerifier, Verification, VerificationFuture};
///
/// struct Introspection;
///
/// impl TokenVerifier for Introspection {
///     fn verify<'a>(&'a self, token: &'a str) -> VerificationFuture<'a> {
///         Box::pin(async move {
///             # async fn introspect(_: &str) -> Option<Claims> { None }
///             match introspect(token).await {
///                 Some(claims) => Verification::Valid(claims),
///                 None => Verification::Invalid,
///             }
///         })
///     }
/// }
///
/// let resource = ProtectedResource::new("https://mcp.example/mcp", "https://as.example")?
///     .scopes(Scopes::parse("files:read"))
///     .supported_scopes(Scopes::parse("files:write"));
/// let protection = Protection::new(resource, Introspection).scopes_for(|operation| {
///     let writes = operation.name.as_ref().is_some_and(|tool| *tool == "write_file");
///     if writes { Scopes::parse("files:write") } else { Scopes::none() }
/// });
/// let options = EndpointOptions::new().protect(protection);
/// # Ok::<(), mcp_sansio_http::mcp_sansio::auth::resource_server::InvalidResource>(())
/// ```
#[derive(Clone)]
pub struct Protection {
    shared: Arc<Shared>,
}

struct Shared {
    resource: ProtectedResource,
    verifier: Box<dyn TokenVerifier>,
    scopes_for: Box<ScopesFor>,
    implies: Box<Implies>,
    ends_streams: bool,
    cors: bool,
    exposes_token: bool,
    known: Mutex<KnownClaims>,
}

type ScopesFor = dyn Fn(&Operation<'_>) -> Scopes + Send + Sync;
type Implies = dyn Fn(&str, &str) -> bool + Send + Sync;

/// # Configuration
impl Protection {
    /// Protects `resource`. `verifier` verifies its tokens.
    pub fn new(resource: ProtectedResource, verifier: impl TokenVerifier) -> Self {
        let shared = Shared {
            resource,
            verifier: Box::new(verifier),
            scopes_for: Box::new(|_| Scopes::none()),
            implies: Box::new(|granted, needed| granted == needed),
            ends_streams: false,
            cors: true,
            exposes_token: false,
            known: Mutex::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Sets a function that returns the scopes of a method, tool, prompt or resource, in addition to those that
    /// every request needs ([`ProtectedResource::scopes`]). The function is called before the handler, once for each
    /// request and notification of a body. A request that lacks scopes gets 403 with all the scopes that it needs.
    ///
    /// # Panics
    ///
    /// If the protection was already cloned. The other configuration methods panic as well.
    #[must_use]
    pub fn scopes_for(
        self,
        scopes: impl Fn(&Operation<'_>) -> Scopes + Send + Sync + 'static,
    ) -> Self {
        self.with(|shared| shared.scopes_for = Box::new(scopes))
    }

    /// Sets a function that decides whether a granted scope includes a needed one, for scopes with a hierarchy. By
    /// default no scope includes another.
    #[must_use]
    pub fn implies(self, implies: impl Fn(&str, &str) -> bool + Send + Sync + 'static) -> Self {
        self.with(|shared| shared.implies = Box::new(implies))
    }

    /// Sets whether an open response ends when its token expires, with the
    /// [`leeway`](ProtectedResource::leeway) with which requests are checked. By default the response continues, because the
    /// token was valid for the request.
    #[must_use]
    pub fn ends_streams(self, ends: bool) -> Self {
        self.with(|shared| shared.ends_streams = ends)
    }

    /// Sets whether the endpoint answers preflight requests and adds the fields that let scripts of other origins
    /// read responses. Default true. Disable it if another layer does so. The
    /// [`origins`](mcp_sansio::http::HttpServerConfig::origins) of the endpoint are the allowed origins.
    #[must_use]
    pub fn cors(self, cors: bool) -> Self {
        self.with(|shared| shared.cors = cors)
    }

    /// Sets whether handlers see the token, in the [header fields](crate::HttpRequest::headers) of a request. Default
    /// false: a token is for this server, and must not be passed on to another one.
    #[must_use]
    pub fn exposes_token(self, exposes: bool) -> Self {
        self.with(|shared| shared.exposes_token = exposes)
    }

    fn with(mut self, change: impl FnOnce(&mut Shared)) -> Self {
        change(Arc::get_mut(&mut self.shared).expect("the protection is not shared yet"));
        self
    }

    /// Returns the resource.
    pub fn resource(&self) -> &ProtectedResource {
        &self.shared.resource
    }

    pub(super) fn has_cors(&self) -> bool {
        self.shared.cors
    }

    pub(super) fn has_exposed_token(&self) -> bool {
        self.shared.exposes_token
    }
}

/// # Requests
impl Protection {
    /// Returns the newest claims of this principal, for handlers. `None` after requests of 10,000 other principals.
    ///
    /// A user can have several tokens at a time. The scopes here are those of the newest token, not necessarily
    /// those of the current request. [`scopes_for`](Self::scopes_for) decides whether a request is allowed.
    pub fn claims(&self, principal: Principal) -> Option<Arc<Claims>> {
        self.known().get(principal)
    }

    /// Verifies the token in a request head. Returns the access of the request.
    pub(super) async fn authenticate(
        &self,
        headers: Headers<'_>,
        now: Instant,
    ) -> Result<Access, Reply> {
        let claims = self.verified(headers, now).await.map_err(|error| self.reply(&error))?;
        let (principal, claims) = (claims.principal(), Arc::new(claims));
        self.known().see(principal, &claims);
        let ends_at = self.shared.resource.ends_at(&claims).filter(|_| self.shared.ends_streams);
        Ok(Access { protection: self.clone(), claims, principal, ends_at })
    }

    async fn verified(&self, headers: Headers<'_>, now: Instant) -> Result<Claims, AccessError> {
        let token = bearer_token(headers)?;
        match self.shared.verifier.verify(token).await {
            Verification::Valid(claims) => {
                let checked = self.shared.resource.check_token(&claims, now);
                checked.map(|()| claims).map_err(AccessError::InvalidToken)
            }
            Verification::Invalid => Err(AccessError::InvalidToken(TokenError::Invalid)),
            Verification::Unavailable => Err(AccessError::VerifierUnavailable),
        }
    }

    /// Checks that a token with these scopes allows all these operations.
    pub(super) fn permit(
        &self,
        granted: &Scopes,
        operations: &[Operation<'_>],
    ) -> Result<(), Reply> {
        let mut needed = self.shared.resource.needed().clone();
        for operation in operations {
            needed = needed.union(&(self.shared.scopes_for)(operation));
        }
        check_scopes(granted, &needed, &self.shared.implies).map_err(|error| self.reply(&error))
    }

    fn reply(&self, error: &AccessError) -> Reply {
        self.shared.resource.reply(error)
    }

    fn known(&self) -> MutexGuard<'_, KnownClaims> {
        self.shared.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Protection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Protection")
            .field("resource", &self.shared.resource)
            .finish_non_exhaustive()
    }
}
