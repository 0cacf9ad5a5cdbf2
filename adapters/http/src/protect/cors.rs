//! Access by scripts of other origins ([CORS](https://fetch.spec.whatwg.org/#http-cors-protocol)).

use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, HeaderMap, HeaderValue, ORIGIN, VARY,
};
use hyper::http::request::Parts;
use hyper::{Method, Response};
use mcp_sansio::http::Reply;

use crate::body::ResponseBody;
use crate::exchange::reply;

/// The response fields that scripts may read, besides those that are always readable.
const EXPOSED: HeaderValue =
    HeaderValue::from_static("WWW-Authenticate, Mcp-Session-Id, Retry-After");

/// The time in seconds that a browser may cache the response to a preflight request.
const REMEMBERED: HeaderValue = HeaderValue::from_static("600");

/// Whether a request is a CORS preflight request.
pub(super) fn is_preflight(parts: &Parts) -> bool {
    parts.method == Method::OPTIONS
        && parts.headers.contains_key(ORIGIN)
        && parts.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

/// Returns the response that permits these methods. The caller has checked the origin.
pub(super) fn preflight(
    asked: &HeaderMap,
    origin: &HeaderValue,
    methods: &'static str,
) -> Response<ResponseBody> {
    let mut response = reply(Reply::empty(204));
    let fields = response.headers_mut();
    fields.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    fields.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(methods));
    // The requested fields are echoed because `Mcp-Param-…` is an open set of names.
    if let Some(wanted) = asked.get(ACCESS_CONTROL_REQUEST_HEADERS) {
        fields.insert(ACCESS_CONTROL_ALLOW_HEADERS, wanted.clone());
    }
    fields.insert(ACCESS_CONTROL_MAX_AGE, REMEMBERED);
    fields.insert(VARY, HeaderValue::from_name(ORIGIN));
    response
}

/// The origin whose scripts may read the response to a request.
pub(crate) struct Exposed(pub(super) HeaderValue);

impl Exposed {
    /// Adds the fields that permit the origin to read the response.
    pub(crate) fn expose(self, fields: &mut HeaderMap) {
        fields.insert(ACCESS_CONTROL_ALLOW_ORIGIN, self.0);
        fields.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
        fields.append(VARY, HeaderValue::from_name(ORIGIN));
    }
}
