//! [`Frames`], an iterator over the messages of a body in memory.
//!
//! A batch is checked whole before its first element is yielded.

use core::fmt;

use super::batch::Batch;
use super::message::{Frame, LONGEST_FRAME, Origin};
use crate::json::trim;
use crate::limits::Limits;

/// An iterator over the frames of a body: one message, or the elements of one JSON-RPC batch.
///
/// A body is JSON text that arrived whole, so unlike a line it may contain newlines. A batch is checked whole before
/// its first element is yielded.
///
/// ```
/// use mcp_sansio::{Frames, Limits};
///
/// let limits = Limits::default();
/// let batch = br#"[{"jsonrpc":"2.0","id":1,"method":"ping"}, {"jsonrpc":"2.0","method":"x"}]"#;
/// assert_eq!(Frames::of(batch, &limits).count(), 2);
/// assert_eq!(Frames::of(b"  \n", &limits).count(), 0);
/// ```
#[doc(alias("JSONRPCBatchRequest", "JSONRPCBatchResponse"))]
#[derive(Clone)]
pub struct Frames<'a> {
    body: &'a [u8],
    rest: Rest,
}

/// The unread part of a body. It holds no bytes.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) enum Rest {
    One(Origin),
    Elements(Batch),
    Nothing,
}

impl<'a> Frames<'a> {
    /// Returns an iterator over the frames of `body`.
    pub fn of(body: &'a [u8], limits: &Limits) -> Self {
        let body = trim(body);
        let rest = match body.first() {
            None => Rest::Nothing,
            Some(_) if limits.frame_bytes.min(LONGEST_FRAME) < body.len() => {
                Rest::One(Origin::TooLong { length: body.len() as u64 })
            }
            Some(b'[') => match Batch::open(body, limits.depth, limits.batch_elements) {
                Ok(batch) => Rest::Elements(batch),
                Err(origin) => Rest::One(origin),
            },
            Some(_) => Rest::One(Origin::Message),
        };
        Self { body, rest }
    }

    /// Continues with a body from an earlier [`rest`](Self::rest).
    #[cfg(feature = "http")]
    pub(crate) fn resume(body: &'a [u8], rest: Rest) -> Self {
        Self { body: trim(body), rest }
    }

    /// Returns the position of the unread part, for a caller that cannot keep the body borrowed.
    #[cfg(feature = "http")]
    pub(crate) fn rest(self) -> Rest {
        self.rest
    }
}

impl<'a> Iterator for Frames<'a> {
    type Item = Frame<'a>;

    fn next(&mut self) -> Option<Frame<'a>> {
        match &mut self.rest {
            Rest::Nothing => None,
            Rest::One(origin) => {
                let bytes = if let Origin::TooLong { .. } = origin { &[] } else { self.body };
                let frame = Frame::new(bytes, *origin);
                self.rest = Rest::Nothing;
                Some(frame)
            }
            Rest::Elements(batch) => {
                let (range, element) = batch.next(self.body)?;
                Some(Frame::new(self.body.get(range)?, Origin::Element(element)))
            }
        }
    }
}

impl fmt::Debug for Frames<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Frames").field("bytes", &self.body.len()).finish_non_exhaustive()
    }
}
