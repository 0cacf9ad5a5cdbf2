//! The scopes of a token and of a request.

use std::pin::Pin;
use std::sync::Arc;

use hyper::Response;
use mcp_sansio::auth::resource_server::{Claims, Operation};
use mcp_sansio::http::Reply;
use mcp_sansio::{Instant, Principal};

use super::protection::Protection;
use crate::body::ResponseBody;
use crate::endpoint::Inner;

/// Finds out whether a request has a good token.
pub(crate) type Authentication<'a> =
    Pin<Box<dyn Future<Output = Result<Box<Access>, Reply>> + Send + 'a>>;

/// A request with a good token, whose scopes are still to be compared.
pub(crate) struct Access {
    pub(super) protection: Protection,
    pub(super) claims: Arc<Claims>,
    pub(crate) principal: Principal,
    /// When its response has to end.
    pub(super) ends_at: Option<Instant>,
}

impl Access {
    fn permit(&self) -> Result<(), Reply> {
        self.protection.permit(&self.claims.scopes, &[])
    }
}

/// Whether a request with this token may do what needs no more than every request. Without a protection it may.
pub(crate) fn permit(access: Option<&Access>) -> Result<(), Reply> {
    access.map_or(Ok(()), Access::permit)
}

impl Inner {
    /// Whether it may do what a body asks for. All scopes are compared at once, so that one challenge names them all.
    pub(crate) fn permit_body(&self, access: Option<&Access>, body: &[u8]) -> Result<(), Reply> {
        let Some(access) = access else { return Ok(()) };
        let operations = Operation::all_in(body, &self.limits);
        access.protection.permit(&access.claims.scopes, &operations)
    }

    /// Has a stream end with the token, if that is wanted.
    #[inline]
    pub(crate) fn until_expiry(
        &self,
        response: Response<ResponseBody>,
        access: Option<&Access>,
    ) -> Response<ResponseBody> {
        let end = access.and_then(|access| self.clock.monotonic(access.ends_at?));
        match end {
            Some(end) => response.map(|body| body.until(end.into())),
            None => response,
        }
    }
}
