//! `ResponseId`: the handle of a response.

/// A response of HTTP. The handle is stale once another one has taken its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResponseId {
    pub(super) stream: u32,
    pub(super) generation: u32,
}

impl ResponseId {
    /// The number of the stream that it carries: see [`Streams::woken`](super::Streams::woken).
    pub const fn stream(self) -> u32 {
        self.stream
    }
}
