//! Server-sent events, read and written as the
//! [standard](https://html.spec.whatwg.org/multipage/server-sent-events.html) has them.

mod decoder;
mod encoder;

pub use decoder::{SseDecoder, SseError, SseEvent};
pub use encoder::{write_comment, write_event};

#[cfg(test)]
mod tests;
