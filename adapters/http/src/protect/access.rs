//! `Access`: the verified token of a request, and the check of its scopes.

use std::pin::Pin;
use std::sync::Arc;

use hyper::Response;
use mcp_sansio::auth::resource_server::{Claims, Operation};
use mcp_sansio::http::{Reply, RequestSource};
use mcp_sansio::{Instant, Principal};

use super::protection::Protection;
use crate::body::ResponseBody;
use crate::endpoint::Inner;
use crate::http_request::HttpRequest;
use crate::token_time;

/// The pending check of a request's token.
pub(crate) type Authentication<'a> =
    Pin<Box<dyn Future<Output = Result<Box<Access>, Reply>> + Send + 'a>>;

/// A request with a valid token whose scopes are not checked yet.
pub(crate) struct Access {
    pub(super) protection: Protection,
    pub(super) claims: Arc<Claims>,
    pub(crate) principal: Principal,
    /// The time at which the response must end.
    pub(super) ends_at: Option<Instant>,
}

impl Access {
    fn permit(&self) -> Result<(), Reply> {
        self.protection.permit(&self.claims.scopes, &[])
    }
}

/// Notes the sender of an HTTP request, and the claims of its token, for the handler. The token itself is removed,
/// unless the protection exposes it: a handler could pass it on to another server.
pub(crate) fn identify(request: &mut HttpRequest, source: RequestSource, access: Option<&Access>) {
    request.identify(source);
    if let Some(access) = access {
        request.set_claims(Arc::clone(&access.claims));
        if !access.protection.has_exposed_token() {
            request.remove_token();
        }
    }
}

/// Checks the scopes that every request needs. Succeeds without a protection.
pub(crate) fn permit(access: Option<&Access>) -> Result<(), Reply> {
    access.map_or(Ok(()), Access::permit)
}

impl Inner {
    /// Checks the scopes that a body needs. All scopes are checked at once, so that one challenge names them all.
    pub(crate) fn permit_body(&self, access: Option<&Access>, body: &[u8]) -> Result<(), Reply> {
        let Some(access) = access else { return Ok(()) };
        let operations = Operation::all_in(body, &self.limits);
        access.protection.permit(&access.claims.scopes, &operations)
    }

    /// Ends a stream at the expiry of the token, if that is configured.
    #[inline]
    pub(crate) fn until_expiry(
        &self,
        response: Response<ResponseBody>,
        access: Option<&Access>,
    ) -> Response<ResponseBody> {
        let end = access.and_then(|access| token_time::monotonic(&self.clock, access.ends_at?));
        match end {
            Some(end) => response.map(|body| body.until(end.into())),
            None => response,
        }
    }
}
