//! `ResponseBody`: the body of a response.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use mcp_sansio::http::ResponsePart;
#[cfg(feature = "auth")]
use tokio::time::Instant;
use tokio::time::Sleep;

use crate::exchange::Carried;

/// The body of a response: complete at once, or a stream of events.
///
/// An event is produced when the body is polled, so a slow client delays only its own stream. Dropping the body
/// before its end reports that the client has disconnected.
pub struct ResponseBody {
    kind: Kind,
    /// The deadline of the body.
    until: Option<Pin<Box<Sleep>>>,
}

enum Kind {
    Whole(Bytes),
    Events(Box<Carried>),
}

impl ResponseBody {
    pub(crate) fn whole(bytes: impl Into<Bytes>) -> Self {
        Self { kind: Kind::Whole(bytes.into()), until: None }
    }

    pub(crate) fn events(carried: Carried) -> Self {
        Self { kind: Kind::Events(Box::new(carried)), until: None }
    }

    /// Returns the bytes of a body that is complete at once, and not read yet. `None` for a stream of events.
    pub fn as_whole(&self) -> Option<&[u8]> {
        match &self.kind {
            Kind::Whole(bytes) => Some(bytes),
            Kind::Events(_) => None,
        }
    }

    /// Ends a stream of events at this time, as if the client had disconnected.
    #[cfg(feature = "auth")]
    pub(crate) fn until(self, end: Instant) -> Self {
        let is_stream = matches!(self.kind, Kind::Events(_));
        let until = is_stream.then(|| Box::pin(tokio::time::sleep_until(end)));
        Self { until, ..self }
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Some(end) = &mut self.until
            && end.as_mut().poll(context).is_ready()
        {
            self.kind = Kind::Whole(Bytes::new());
        }
        let data = match &mut self.kind {
            Kind::Whole(bytes) if bytes.is_empty() => None,
            Kind::Whole(bytes) => Some(std::mem::take(bytes)),
            Kind::Events(carried) => match ready!(carried.poll_part(context)) {
                ResponsePart::Body => Some(carried.take()),
                _ => None,
            },
        };
        Poll::Ready(data.map(|data| Ok(Frame::data(data))))
    }

    fn is_end_stream(&self) -> bool {
        match &self.kind {
            Kind::Whole(bytes) => bytes.is_empty(),
            Kind::Events(carried) => carried.is_over(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Kind::Events(_) => SizeHint::default(),
        }
    }
}

impl fmt::Debug for ResponseBody {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = formatter.debug_struct("ResponseBody");
        match &self.kind {
            Kind::Whole(bytes) => debug.field("bytes", &bytes.len()).finish(),
            Kind::Events(_) => debug.finish_non_exhaustive(),
        }
    }
}
