//! [`ResponseId`], the handle of a response.

/// The handle of an HTTP response, which is stale once another response carries the same stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResponseId {
    pub(super) stream: u32,
    pub(super) generation: u32,
}

impl ResponseId {
    /// Returns the number of the stream that the response carries: see [`Streams::woken`](super::Streams::woken).
    pub const fn stream(self) -> u32 {
        self.stream
    }
}
