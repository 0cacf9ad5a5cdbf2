//! [`BeforeMessage`]: work that a message of a client waits for.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use hyper::http::request::Parts;
use mcp_sansio::http::{Destination, Reply, RequestSource};
use mcp_sansio::request::Requestor;

/// A function that sees each message of a client before the endpoint processes it, an extension of the HTTP request. For a
/// host that has to fetch the state that the message is about.
///
/// The sender was authenticated and the message is valid JSON-RPC in a known session, or without one. The function gets
/// the body of the POST and the [`Requestor`] whose tasks the message reaches. If it returns a future, the message waits
/// for that, and is refused with the response that the future returns as its error.
///
/// ```
/// use hyper::Request;
/// use mcp_sansio_http::BeforeMessage;
/// use mcp_sansio_http::mcp_sansio::http::Reply;
///
/// let is_closed = true;
/// let before = BeforeMessage::new(move |body, _requestor| {
///     let is_tool = body.windows(10).any(|part| part == b"tools/call");
///     (is_tool && is_closed).then(|| async { Err(Reply::empty(503)) })
/// });
/// let mut request = Request::post("/mcp").body(())?;
/// request.extensions_mut().insert(before);
/// # Ok::<(), hyper::http::Error>(())
/// ```
#[derive(Clone)]
pub struct BeforeMessage(Arc<Function>);

type Function = dyn Fn(&[u8], Requestor) -> Option<Waiting> + Send + Sync;

type Waiting = Pin<Box<dyn Future<Output = Result<(), Reply>> + Send>>;

impl BeforeMessage {
    /// Wraps a function.
    pub fn new<F>(function: impl Fn(&[u8], Requestor) -> Option<F> + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<(), Reply>> + Send + 'static,
    {
        Self(Arc::new(move |body, requestor| {
            function(body, requestor).map(|future| Box::pin(future) as Waiting)
        }))
    }
}

/// Waits for the work of the host before a message, if there is any.
pub(crate) async fn wait_before(
    parts: &Parts,
    body: &[u8],
    source: RequestSource,
    destination: &Destination,
) -> Result<(), Reply> {
    let Some(BeforeMessage(before)) = parts.extensions.get() else { return Ok(()) };
    let session = match destination {
        Destination::Session(session) => Some(*session),
        _ => None,
    };
    match before(body, source.requestor(session)) {
        Some(waiting) => waiting.await,
        None => Ok(()),
    }
}

impl fmt::Debug for BeforeMessage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("BeforeMessage").finish_non_exhaustive()
    }
}
