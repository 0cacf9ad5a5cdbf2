//! The body of a response as it comes in.

use alloc::vec::Vec;
use core::fmt;

use super::exchange::ExchangeNumber;
use crate::frame::Rest;
use crate::http::SseDecoder;
use crate::peer::{Arrival, CarrierFailure};

/// The partial body of one response. Hand what comes in to [`Posts::chunk`](super::Posts::chunk), and the end of it
/// to [`Posts::end`](super::Posts::end).
///
/// It holds at most one event, or one JSON text, of at most
/// [`Limits::frame_bytes`](crate::Limits::frame_bytes).
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ResponseReader {
    pub(super) exchange: ExchangeNumber,
    pub(super) status: u16,
    pub(super) form: Form,
    pub(super) most_bytes: usize,
    /// The message that is being handed on.
    pub(super) message: Vec<u8>,
    /// What is still to be handed on of it, and with what.
    pub(super) rest: Option<(Rest, Arrival)>,
    /// Whether there is more to take than was taken last.
    pub(super) has_more: bool,
    /// The status says that the server has refused.
    pub(super) refusal: Option<CarrierFailure<'static>>,
    /// Nothing of what is to come matters.
    pub(super) is_done: bool,
}

/// What a body is.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum Form {
    /// A JSON text, as far as it has come.
    Json(Vec<u8>),
    Events(SseDecoder),
    /// Nobody's business.
    Ignored,
    /// Nothing that a request could be answered with.
    Unusable,
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
            is_done: false,
        }
    }

    /// The exchange that it belongs to.
    pub const fn exchange(&self) -> ExchangeNumber {
        self.exchange
    }

    /// Whether [`HttpClient`](super::HttpClient) has taken less than it was given, because it hands on one message
    /// at a time: call the same method again.
    pub const fn has_more(&self) -> bool {
        self.has_more
    }

    /// Whether the rest of the body does not matter: the response can be dropped.
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
