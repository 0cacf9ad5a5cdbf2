//! [`NodeBody`]: the body of a response of a node.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::{Body, Frame, SizeHint};
use mcp_sansio_http::ResponseBody;

/// The error of a body that ends too early: its client reconnects.
pub type BodyError = Box<dyn Error + Send + Sync>;

/// The body of a response: that of the node's endpoint, or that of another node.
pub struct NodeBody(UnsyncBoxBody<Bytes, BodyError>);

impl NodeBody {
    /// A body from anywhere.
    pub fn new(body: impl Body<Data = Bytes, Error = BodyError> + Send + 'static) -> Self {
        Self(UnsyncBoxBody::new(body))
    }

    pub(crate) fn whole(body: ResponseBody) -> Self {
        Self::new(body.map_err(|never| match never {}))
    }
}

impl Body for NodeBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        Pin::new(&mut self.0).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.size_hint()
    }
}

/// An event stream each part of which is sent only after it was stored: a client never has an event that another node could
/// not continue from.
pub(crate) struct StoredStream<F, C> {
    body: ResponseBody,
    /// Stores what a part tells.
    store: F,
    /// The part that waits, and the write that it waits for.
    waiting: Option<(Frame<Bytes>, Pin<Box<C>>)>,
    is_over: bool,
}

impl<F, C> StoredStream<F, C> {
    pub(crate) const fn new(body: ResponseBody, store: F) -> Self {
        Self { body, store, waiting: None, is_over: false }
    }
}

impl<F, C> Body for StoredStream<F, C>
where
    F: FnMut(&[u8]) -> C + Unpin,
    C: Future<Output = Result<(), BodyError>>,
{
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let Self { body, store, waiting, is_over } = self.get_mut();
        if *is_over {
            return Poll::Ready(None);
        }
        if waiting.is_none() {
            match ready!(Pin::new(body).poll_frame(context)) {
                Some(Ok(frame)) => {
                    let write = store(frame.data_ref().map_or(&[], |data| data));
                    *waiting = Some((frame, Box::pin(write)));
                }
                Some(Err(never)) => match never {},
                None => {
                    *is_over = true;
                    return Poll::Ready(None);
                }
            }
        }
        let Some((frame, write)) = waiting.take() else { return Poll::Pending };
        let mut write = write;
        match write.as_mut().poll(context) {
            Poll::Pending => {
                *waiting = Some((frame, write));
                Poll::Pending
            }
            Poll::Ready(Ok(())) => Poll::Ready(Some(Ok(frame))),
            Poll::Ready(Err(error)) => {
                *is_over = true;
                Poll::Ready(Some(Err(error)))
            }
        }
    }
}

/// The body of a response of another node, which ends with it: when a future is ready, with the error that it returns, if any.
pub(crate) struct ForwardedBody<E> {
    /// `None` after its end.
    body: Option<NodeBody>,
    end: Pin<Box<E>>,
}

impl<E> ForwardedBody<E> {
    pub(crate) fn new(body: NodeBody, end: E) -> Self {
        Self { body: Some(body), end: Box::pin(end) }
    }
}

impl<E: Future<Output = Result<(), BodyError>>> Body for ForwardedBody<E> {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let Self { body, end } = self.get_mut();
        let Some(open) = body else { return Poll::Ready(None) };
        if let Poll::Ready(frame) = Pin::new(open).poll_frame(context) {
            return Poll::Ready(frame);
        }
        let ended = ready!(end.as_mut().poll(context));
        *body = None;
        Poll::Ready(ended.err().map(Err))
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(NodeBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(SizeHint::default, NodeBody::size_hint)
    }
}

impl fmt::Debug for NodeBody {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("NodeBody").finish_non_exhaustive()
    }
}
