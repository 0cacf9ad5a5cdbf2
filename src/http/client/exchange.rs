//! What is known of a request of HTTP that has been made.

use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use super::refresh::{CalledTool, Refresh};
use crate::handle::CallId;
use crate::peer::CarrierFailure;
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
    /// The id of the last event, by which the server can go on where it broke off.
    pub(super) last_event: Option<String>,
    /// How long the server wants to be left alone before that.
    pub(super) retry: Option<Duration>,
    /// How often it has been asked to in vain.
    pub(super) attempts: u32,
    /// How many streams in a row have brought nothing.
    pub(super) empty_streams: u32,
    /// When to ask, if nothing is being asked now.
    due: Option<Instant>,
}

/// What the head of a response says of the request.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum Verdict {
    /// The server has taken it, and there is nothing more to say on this exchange.
    Taken,
    /// It has refused it, with this status.
    Refused(u16, CarrierFailure<'static>),
}

/// What an exchange is for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Purpose {
    /// It carries a request of ours.
    Request(Asked),
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

/// A request of ours.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Asked {
    pub(super) call: CallId,
    /// Its id, as it stands on the wire.
    pub(super) id: String,
    /// It asks for the tools, of which the answer is looked at.
    pub(super) lists_tools: bool,
    /// It calls a tool where there are no sessions.
    pub(super) called: Option<CalledTool>,
    /// It does so again, because it was refused for its header fields.
    pub(super) is_mended: bool,
    /// It asks whether there has to be a session.
    pub(super) probes: bool,
    /// It asks for a session, and may have to be asked in another way: the whole message.
    pub(super) opens: Option<Vec<u8>>,
}

/// Without what it says.
impl core::fmt::Debug for Asked {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        formatter
            .debug_struct("Asked")
            .field("call", &self.call)
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
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
            last_event: None,
            retry: None,
            attempts: 0,
            empty_streams: 0,
            due: None,
        }
    }

    pub(super) const fn due(&self) -> Option<Instant> {
        self.due
    }

    /// For one that is not [open](super::exchanges::Exchanges), or not open any more.
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
}
