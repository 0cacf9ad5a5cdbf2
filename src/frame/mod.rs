//! Framing: splits the byte stream into messages without interpreting them.
//!
//! [`Inbox`] splits bytes into frames and owns the partial input; [`Outbox`] owns the unsent output. Nothing is
//! buffered between them.

mod batch;
mod body;
mod bytes;
mod inbox;
mod message;
mod outbox;
mod queue;

pub use body::Frames;
pub use bytes::MessageBytes;
pub use inbox::Inbox;
pub use message::Frame;
#[cfg(feature = "http")]
pub(crate) use outbox::OutboxBounds;
pub use outbox::{Framing, Messages, Outbox};

#[cfg(feature = "http")]
pub(crate) use body::Rest;
pub(crate) use message::{Element, Origin};
pub(crate) use outbox::{Room, Tag};
pub(crate) use queue::{Queue, Serial};

#[cfg(test)]
mod outbox_tests;
#[cfg(test)]
mod tests;
