//! Metadata and preflight requests of a protected endpoint.

use hyper::header::{
    ACCESS_CONTROL_ALLOW_ORIGIN, ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue, ORIGIN,
};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response};
use mcp_sansio::Principal;
use mcp_sansio::http::{Reply, RequestHead};

use super::access::Authentication;
use super::cors::{self, Exposed};
use crate::body::ResponseBody;
use crate::endpoint::{Endpoint, Inner};
use crate::exchange::reply;
use crate::identify::Sender;
use crate::request_head::{fields, head};
use crate::token_time;

/// The cache lifetime of the document, short enough that clients notice a change of issuers.
const KEPT: HeaderValue = HeaderValue::from_static("public, max-age=300");

/// # Protection
impl Endpoint {
    /// Handles a request for the protected resource metadata, on any path. Route the paths of
    /// [`ProtectedResource::metadata_paths`](mcp_sansio::auth::resource_server::ProtectedResource::metadata_paths)
    /// here; [`serve`](crate::serve) does so itself. Without a protection the response is 404.
    pub fn handle_metadata<B>(&self, request: &Request<B>) -> Response<ResponseBody> {
        let Some(protection) = &self.inner.options.protection else {
            return reply(Reply::empty(404));
        };
        let anybody = HeaderValue::from_static("*");
        match *request.method() {
            Method::GET | Method::HEAD => {
                let mut response =
                    Response::new(ResponseBody::whole(protection.resource().metadata()));
                let fields = response.headers_mut();
                fields.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
                fields.insert(CACHE_CONTROL, KEPT);
                fields.insert(ACCESS_CONTROL_ALLOW_ORIGIN, anybody);
                response
            }
            Method::OPTIONS => cors::preflight(request.headers(), &anybody, "GET, HEAD"),
            _ => {
                let mut response = reply(Reply::empty(405));
                let methods = HeaderValue::from_static("GET, HEAD, OPTIONS");
                response.headers_mut().insert(ALLOW, methods);
                response
            }
        }
    }

    /// Whether the protected resource metadata is served at this path.
    pub(crate) fn has_metadata_at(&self, path: &str) -> bool {
        let protection = self.inner.options.protection.as_ref();
        protection.is_some_and(|it| it.resource().metadata_paths().any(|known| known == path))
    }
}

impl Inner {
    /// Whether requests need a token.
    pub(crate) const fn has_protection(&self) -> bool {
        self.options.protection.is_some()
    }

    /// Checks the token of a request, unless the application has identified the sender itself. Returns `None` if no
    /// check is needed.
    ///
    /// A source with an address but without a principal does not count as identified.
    #[inline]
    pub(crate) fn authenticate<'a>(
        &'a self,
        sender: &Sender,
        head: &'a RequestHead<'a>,
    ) -> Option<Authentication<'a>> {
        let is_known = matches!(sender, Sender::Known(it) if it.principal != Principal::default());
        let protection = self.options.protection.as_ref().filter(|_| !is_known)?;
        Some(Box::pin(async {
            self.validator.check_access(head)?;
            protection.authenticate(head.headers, token_time::now(&self.clock)).await.map(Box::new)
        }))
    }

    /// Checks for a request of a script of another origin. A preflight request, which carries no token, is answered
    /// at once.
    pub(crate) fn exposed(
        &self,
        parts: &Parts,
        methods: &'static str,
    ) -> Result<Option<Box<Exposed>>, Box<Response<ResponseBody>>> {
        let protection = self.options.protection.as_ref().filter(|it| it.has_cors());
        let Some(origin) = protection.and_then(|_| parts.headers.get(ORIGIN)) else {
            return Ok(None);
        };
        let fields = fields(parts);
        if let Err(refusal) = self.validator.check_access(&head(parts, &fields)) {
            return Err(Box::new(reply(refusal)));
        }
        if cors::is_preflight(parts) {
            return Err(Box::new(cors::preflight(&parts.headers, origin, methods)));
        }
        Ok(Some(Box::new(Exposed(origin.clone()))))
    }
}
