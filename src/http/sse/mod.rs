//! A decoder and an encoder for server-sent events
//! ([standard](https://html.spec.whatwg.org/multipage/server-sent-events.html)).

mod decoder;
mod encoder;

pub use decoder::{SseDecoder, SseError, SseEvent};
pub use encoder::{write_comment, write_event};

#[cfg(test)]
mod tests;
