//! [`Arrived`], the result of an exchange for the caller, and [`Step`], the same while its text is in a reader.

use core::fmt;

use super::response::error_in;
use crate::connection::{ExchangeEnd, Received};
use crate::handle::CallId;
use crate::limits::Limits;

/// Something that has come of an exchange.
#[derive(Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Arrived<'r> {
    /// Messages for the machine: its [`Frames`](crate::Frames), mostly one, each with this context.
    Messages {
        /// The text.
        text: &'r [u8],
        /// What comes with it.
        received: Received,
    },
    /// A call has no answer: hand this to [`Client::exchange_ended`](crate::Client::exchange_ended).
    Ended {
        /// The call.
        call: CallId,
        /// How its exchange has ended.
        end: ExchangeEnd<'r>,
    },
    /// The server has not taken a notification, or an answer, of ours. That is for a log.
    NotTaken {
        /// The status of HTTP, if a response came.
        status: Option<u16>,
    },
    /// The server has ended the session, or does not know it: tell the machine
    /// ([`Cause::SessionLost`](crate::Cause::SessionLost)). Its
    /// [reconnected](crate::Client::reconnect) client can ask for another session.
    SessionLost,
    /// The one stream of a server of 2024-11-05 has ended, and the connection with it: tell the machine.
    ConnectionLost,
}

/// Without the text of messages.
impl fmt::Debug for Arrived<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Messages { text, received } => formatter
                .debug_struct("Messages")
                .field("bytes", &text.len())
                .field("received", received)
                .finish(),
            Self::Ended { call, end } => {
                formatter.debug_struct("Ended").field("call", call).field("end", end).finish()
            }
            Self::NotTaken { status } => {
                formatter.debug_struct("NotTaken").field("status", status).finish()
            }
            Self::SessionLost => formatter.write_str("SessionLost"),
            Self::ConnectionLost => formatter.write_str("ConnectionLost"),
        }
    }
}

/// What comes next of a body, without what it borrows of its reader.
pub(super) enum Step {
    /// The message in the reader, with this context.
    Message(Received),
    /// The error in the reader ends this call.
    Error(CallId, u16),
    /// Nothing that is borrowed.
    Other(Arrived<'static>),
}

impl Step {
    /// What there is to tell if no message has come.
    pub(super) fn without_message(self) -> Option<Arrived<'static>> {
        match self {
            Self::Other(arrived) => Some(arrived),
            Self::Message(_) | Self::Error(..) => None,
        }
    }

    /// What the step means, with the message in the reader.
    pub(super) fn arrived<'r>(self, message: &'r [u8], limits: &Limits) -> Option<Arrived<'r>> {
        match self {
            Self::Message(received) => Some(Arrived::Messages { text: message, received }),
            Self::Error(call, status) => {
                let error = error_in(message, limits)?;
                let end = ExchangeEnd::Error { error, status, is_mended: false };
                Some(Arrived::Ended { call, end })
            }
            Self::Other(arrived) => Some(arrived),
        }
    }
}
