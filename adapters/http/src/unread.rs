//! Bodies that a response does not wait for.

use std::pin::{Pin, pin};
use std::time::Duration;

use bytes::Buf;
use http_body_util::BodyExt;
use hyper::body::Body;
use hyper::header::{CONNECTION, EXPECT, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Response, Version};
use mcp_sansio::http::Reply;
use tokio::time::{Instant, timeout_at};

use crate::body::ResponseBody;
use crate::exchange::reply;
use crate::http_request::HttpRequest;

/// The most bytes of a body that are read and dropped.
const MOST: usize = 64 << 10;

/// The longest time for that.
const WITHIN: Duration = Duration::from_secs(1);

/// Reads the rest of the body of a refused request, so that its connection stays usable: clients send the body after the
/// head, often in another packet. If a body remained unread, hyper would close the connection after the response, and a
/// client that sends its next request on it would get no response.
///
/// A body that is long, slow or waits for `100 Continue` is not read. The response announces the end of the connection
/// then.
async fn discard<B>(body: Pin<&mut B>, request: &Parts, response: &mut Response<ResponseBody>)
where
    B: Body<Data: Buf>,
{
    // The streams of HTTP/2 end one by one.
    if Version::HTTP_2 <= request.version {
        return;
    }
    let is_awaited = request.headers.contains_key(EXPECT) && !body.is_end_stream();
    if is_awaited || !reads_to_the_end(body).await {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
}

/// Reads a body. Returns whether it has ended within the bounds.
async fn reads_to_the_end<B: Body<Data: Buf>>(mut body: Pin<&mut B>) -> bool {
    if body.is_end_stream() {
        return true;
    }
    if (MOST as u64) < body.size_hint().lower() {
        return false;
    }
    let (until, mut left) = (Instant::now() + WITHIN, MOST);
    loop {
        let Ok(frame) = timeout_at(until, body.frame()).await else { return false };
        let Some(frame) = frame else { return true };
        let Ok(frame) = frame else { return false };
        let length = frame.data_ref().map_or(0, Buf::remaining);
        match left.checked_sub(length) {
            Some(rest) => left = rest,
            None => return false,
        }
    }
}

/// Returns the response to a refused request. The request is missing if its handler has it, whose body has been read.
pub(crate) async fn refused<B>(
    refusal: Reply,
    request: Option<&HttpRequest>,
    body: Pin<&mut B>,
) -> Response<ResponseBody>
where
    B: Body<Data: Buf>,
{
    let mut response = reply(refusal);
    if let Some(request) = request {
        discard(body, request.parts(), &mut response).await;
    }
    response
}

/// As [`discard`], for a body that nothing else reads.
pub(crate) async fn discard_all<B>(body: B, request: &Parts, response: &mut Response<ResponseBody>)
where
    B: Body<Data: Buf>,
{
    discard(pin!(body), request, response).await;
}
