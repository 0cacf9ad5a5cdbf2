//! Stubs for access tokens in a build without the feature `auth`.

use std::future::Ready;

use hyper::Response;
use hyper::header::HeaderMap;
use hyper::http::request::Parts;
use mcp_sansio::Principal;
use mcp_sansio::http::{Reply, RequestHead, RequestSource};

use crate::body::ResponseBody;
use crate::endpoint::{Endpoint, Inner};
use crate::http_request::HttpRequest;
use crate::identify::Sender;

/// The access of a request; never created.
pub(crate) struct Access {
    pub(crate) principal: Principal,
}

/// The CORS fields of a response; never created.
pub(crate) struct Exposed;

impl Exposed {
    pub(crate) fn expose(self, _: &mut HeaderMap) {}
}

/// The check of a request's token; never created.
pub(crate) type Authentication = Ready<Result<Box<Access>, Reply>>;

pub(crate) const fn identify(request: &mut HttpRequest, source: RequestSource, _: Option<&Access>) {
    request.identify(source);
}

pub(crate) const fn permit(_: Option<&Access>) -> Result<(), Reply> {
    Ok(())
}

impl Endpoint {
    pub(crate) const fn has_metadata_at(&self, _: &str) -> bool {
        false
    }

    pub(crate) fn handle_metadata<B>(&self, _: &hyper::Request<B>) -> Response<ResponseBody> {
        crate::exchange::reply(Reply::empty(404))
    }
}

impl Inner {
    pub(crate) const fn has_protection(&self) -> bool {
        false
    }

    pub(crate) fn exposed(
        &self,
        _: &Parts,
        _: &'static str,
    ) -> Result<Option<Box<Exposed>>, Box<Response<ResponseBody>>> {
        Ok(None)
    }

    pub(crate) const fn authenticate(
        &self,
        _: &Sender,
        _: &RequestHead<'_>,
    ) -> Option<Authentication> {
        None
    }

    pub(crate) const fn permit_body(&self, _: Option<&Access>, _: &[u8]) -> Result<(), Reply> {
        Ok(())
    }

    pub(crate) fn until_expiry(
        &self,
        response: Response<ResponseBody>,
        _: Option<&Access>,
    ) -> Response<ResponseBody> {
        response
    }
}
