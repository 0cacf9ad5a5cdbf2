//! [`Exchange`], a request of HTTP that was made and its response, and [`Purpose`], the message that it carries.
//!
//! A number names one exchange for the whole life of a client.

use super::pending_call::PendingCall;
use super::resumption::Resumption;
use super::tool_refresh::Refresh;
use crate::connection::TransportFailure;
use crate::handle::CallId;
use crate::time::Instant;

/// The number of an exchange: a request of HTTP and its response. They count up and are never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExchangeNumber(pub(super) u64);

/// A request of HTTP, or one that is to be made.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Exchange {
    pub(super) purpose: Purpose,
    /// It belongs to a session, so nothing that happens to it is a cancellation.
    pub(super) in_session: bool,
    /// The id of the session went with it.
    pub(super) names_session: bool,
    /// The response has begun.
    pub(super) has_head: bool,
    /// A response has been an event stream.
    pub(super) was_open: bool,
    /// What the head of the response has said that settles it, whatever becomes of the body.
    pub(super) verdict: Option<Verdict>,
    /// The answer has come.
    pub(super) is_answered: bool,
    /// From where and when its event stream goes on.
    pub(super) resumption: Resumption,
    /// When to ask for that, if nothing is being asked now.
    due: Option<Instant>,
}

/// What the head of a response says of the request.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum Verdict {
    /// The server has taken it, and there is nothing more to say on this exchange.
    Taken,
    /// It has refused it, with this status.
    Refused(u16, TransportFailure<'static>),
}

/// What an exchange is for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Purpose {
    /// It carries a request of ours.
    Request(PendingCall),
    /// It lists the tools because of a call that was refused.
    Refresh(Refresh),
    /// It carries several messages at once.
    Batch,
    /// It carries a notification, or an answer of ours.
    Notice {
        /// It is the one by which the session begins.
        completes_handshake: bool,
    },
    /// It listens to what belongs to no request.
    Standalone,
    /// It is the one stream of a server of 2024-11-05.
    OneStream,
    /// It ends the session.
    Farewell,
}

/// Without the id of an event, by which others could read on.
impl core::fmt::Debug for Exchange {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        formatter
            .debug_struct("Exchange")
            .field("purpose", &self.purpose)
            .field("has_head", &self.has_head)
            .field("is_answered", &self.is_answered)
            .field("due", &self.due)
            .finish_non_exhaustive()
    }
}

impl Exchange {
    pub(super) const fn new(purpose: Purpose, in_session: bool) -> Self {
        Self {
            purpose,
            in_session,
            names_session: false,
            has_head: false,
            was_open: false,
            verdict: None,
            is_answered: false,
            resumption: Resumption::new(),
            due: None,
        }
    }

    pub(super) const fn due(&self) -> Option<Instant> {
        self.due
    }

    /// For one that is not [open](super::exchange_table::ExchangeTable), or not open any more.
    pub(super) const fn set_due(&mut self, due: Option<Instant>) {
        self.due = due;
    }

    /// The call whose request it carries, unless that has been answered.
    pub(super) const fn waiting_call(&self) -> Option<CallId> {
        match &self.purpose {
            Purpose::Request(asked) if !self.is_answered => Some(asked.call),
            _ => None,
        }
    }

    /// Whether it is the event stream of HTTP+SSE.
    pub(super) fn is_one_stream(&self) -> bool {
        self.purpose == Purpose::OneStream
    }

    /// Whether it carries `initialize`.
    pub(super) const fn opens_session(&self) -> bool {
        matches!(&self.purpose, Purpose::Request(asked) if asked.opens.is_some())
    }

    /// Whether it carries `notifications/initialized`.
    pub(super) const fn completes_handshake(&self) -> bool {
        matches!(self.purpose, Purpose::Notice { completes_handshake: true })
    }
}
