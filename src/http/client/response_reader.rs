//! [`ResponseReader`], the partial body of a response, and [`Form`], the format of the body.
//!
//! A reader holds at most one event or one JSON text of at most `most_bytes`, and one message.

use alloc::vec::Vec;
use core::fmt;
use core::mem::take;

use super::exchange::{Exchange, ExchangeNumber, Purpose};
use crate::connection::{Received, TransportFailure};
use crate::frame::Rest;
use crate::http::{Headers, SseDecoder, SseEvent, has_content_type};

/// The partial body of one response. Pass received bytes to
/// [`ClientTransport::chunk`](super::ClientTransport::chunk), and the end to
/// [`ClientTransport::end`](super::ClientTransport::end).
///
/// A reader holds at most one event, or one JSON text, of at most
/// [`Limits::frame_bytes`](crate::Limits::frame_bytes).
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ResponseReader {
    pub(super) exchange: ExchangeNumber,
    pub(super) status: u16,
    pub(super) form: Form,
    pub(super) most_bytes: usize,
    /// The message that is being processed.
    pub(super) message: Vec<u8>,
    /// The unprocessed rest of the message, and its context.
    pub(super) rest: Option<(Rest, Received)>,
    /// Whether the last call left data unprocessed.
    pub(super) has_more: bool,
    /// The refusal, if the status is not a success.
    pub(super) refusal: Option<TransportFailure<'static>>,
    /// Whether a JSON-RPC error in the body of the refusal decides how the call ends.
    pub(super) may_have_error: bool,
    /// Whether the rest of the body is irrelevant.
    pub(super) is_done: bool,
}

/// The format of a body.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum Form {
    /// A JSON text, as far as received.
    Json(Vec<u8>),
    Events(SseDecoder),
    /// A body that is read and dropped.
    Ignored,
    /// A format that cannot answer a request.
    Unusable,
}

/// A part of a body.
pub(super) enum Part<'b> {
    /// The rest of the body is irrelevant.
    End,
    /// The JSON text is too long.
    TooLong,
    /// An event of a stream.
    Event(SseEvent<'b>),
    /// An event that is too long and was skipped.
    LongEvent,
}

impl Form {
    /// Returns the format of the body of a response with this head.
    pub(super) fn of(
        exchange: &Exchange,
        status: u16,
        headers: Headers<'_>,
        is_streamable: bool,
        most_bytes: usize,
    ) -> Self {
        let is_fine = (200..300).contains(&status);
        match &exchange.purpose {
            Purpose::Notice { .. } | Purpose::Farewell if is_fine => Self::Ignored,
            Purpose::Farewell => Self::Ignored,
            // All messages of the server arrive on the one stream.
            Purpose::Request(_) | Purpose::Batch(_) if is_fine && !is_streamable => Self::Ignored,
            _ if has_content_type(headers, "text/event-stream") && is_fine => {
                let last_event = exchange.resumption.last_event().unwrap_or_default();
                Self::Events(SseDecoder::new(most_bytes).behind(last_event))
            }
            Purpose::Request(_)
            | Purpose::Refresh(_)
            | Purpose::Batch(_)
            | Purpose::Notice { .. }
                if has_content_type(headers, "application/json") && status != 202 =>
            {
                Self::Json(Vec::new())
            }
            _ => Self::Unusable,
        }
    }

    /// Reads the next part of the body. Returns `None` if the chunk is used up.
    ///
    /// The body of a refusal is ignored if it is too long, because the status suffices.
    pub(super) fn read(
        &mut self,
        chunk: &mut &[u8],
        most_bytes: usize,
        is_refusal: bool,
    ) -> Option<Part<'_>> {
        match self {
            Self::Ignored | Self::Unusable => {
                *chunk = &[];
                Some(Part::End)
            }
            Self::Json(body) if most_bytes < body.len() + chunk.len() => {
                if !is_refusal {
                    return Some(Part::TooLong);
                }
                *self = Self::Unusable;
                *chunk = &[];
                Some(Part::End)
            }
            Self::Json(body) => {
                body.extend_from_slice(take(chunk));
                None
            }
            Self::Events(decoder) => {
                let event = decoder.next(chunk)?;
                Some(event.map_or(Part::LongEvent, Part::Event))
            }
        }
    }
}

impl ResponseReader {
    pub(super) const fn new(
        exchange: ExchangeNumber,
        status: u16,
        form: Form,
        most_bytes: usize,
    ) -> Self {
        Self {
            exchange,
            status,
            form,
            most_bytes,
            message: Vec::new(),
            rest: None,
            has_more: false,
            refusal: None,
            may_have_error: false,
            is_done: false,
        }
    }

    /// Returns the exchange of the response.
    pub const fn exchange(&self) -> ExchangeNumber {
        self.exchange
    }

    /// Whether [`HttpClient`](super::HttpClient) left data unprocessed, because it returns one event at a time: call
    /// the same method again.
    pub const fn has_more(&self) -> bool {
        self.has_more
    }

    /// Whether the head has decided, and the body can only explain that: the status is a refusal whose body contains no
    /// JSON-RPC error, or the content type is that of no message. Do not wait long for the body of such a response: pass
    /// its end to [`ClientTransport::end`](super::ClientTransport::end) instead.
    pub const fn is_decided(&self) -> bool {
        (self.refusal.is_some() && !self.may_have_error)
            || matches!(self.form, Form::Ignored | Form::Unusable)
    }

    /// Whether the status is a refusal. If it is not [decided](Self::is_decided), a JSON-RPC error in the body decides
    /// how the call ends. Wait longer for such a body, within a limit.
    pub const fn is_refusal(&self) -> bool {
        self.refusal.is_some()
    }

    /// Whether the rest of the body is irrelevant: the response can be dropped.
    pub const fn is_done(&self) -> bool {
        self.is_done
    }
}

impl fmt::Debug for ResponseReader {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ResponseReader")
            .field("exchange", &self.exchange)
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_an_error_unless_it_is_refused() {
        let mut form = Form::Json(Vec::new());
        let mut chunk = &b"{}"[..];
        assert!(form.read(&mut chunk, 2, false).is_none() && chunk.is_empty());
        let mut chunk = &b" "[..];
        assert!(matches!(form.read(&mut chunk, 2, false), Some(Part::TooLong)));
        assert!(matches!(form.read(&mut chunk, 2, true), Some(Part::End)));
        assert!(chunk.is_empty() && form == Form::Unusable);
    }

    #[test]
    fn events_come_one_by_one() {
        let mut form = Form::Events(SseDecoder::new(100));
        let mut chunk = &b"data: a\n\ndata: b\n\n"[..];
        for _ in 0..2 {
            assert!(matches!(form.read(&mut chunk, 100, false), Some(Part::Event(_))));
        }
        assert!(form.read(&mut chunk, 100, false).is_none());
    }

    #[test]
    fn the_form_is_that_of_the_head() {
        let form = |purpose, status, content_type: &str, is_streamable| {
            let fields = [("Content-Type", content_type.as_bytes())];
            let exchange = Exchange::new(purpose, true);
            Form::of(&exchange, status, Headers::from(&fields[..]), is_streamable, 100)
        };
        let notice = Purpose::Notice { completes_handshake: false };
        let batch = || Purpose::Batch(Default::default());
        assert!(form(notice.clone(), 202, "application/json", true) == Form::Ignored);
        assert!(form(notice, 400, "application/json", true) == Form::Json(Vec::new()));
        assert!(form(batch(), 200, "application/json", false) == Form::Ignored);
        let events = form(batch(), 200, "text/event-stream", true);
        assert!(matches!(events, Form::Events(_)));
        assert!(form(batch(), 500, "text/event-stream", true) == Form::Unusable);
        assert!(form(Purpose::Standalone, 200, "application/json", true) == Form::Unusable);
    }
}
