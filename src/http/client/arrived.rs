//! [`Arrived`], a result of an exchange for the caller, and [`Step`], the same while its text is in a reader.

use core::fmt;

use super::response::error_in;
use crate::connection::{ExchangeEnd, Received};
use crate::handle::CallId;
use crate::limits::Limits;

/// A result of an exchange.
#[derive(Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Arrived<'r> {
    /// Messages for the machine: their [`Frames`](crate::Frames), usually one, each with this context.
    Messages {
        /// The text.
        text: &'r [u8],
        /// The context of each message.
        received: Received,
    },
    /// A call gets no response: pass this to [`Client::exchange_ended`](crate::Client::exchange_ended).
    Ended {
        /// The call.
        call: CallId,
        /// The end of its exchange.
        end: ExchangeEnd<'r>,
    },
    /// The server did not accept a notification or a response of this side. The event is for logging.
    NotTaken {
        /// The HTTP status, if a response arrived.
        status: Option<u16>,
    },
    /// The server has ended the session or does not know it: report it to the machine
    /// ([`Cause::SessionLost`](crate::Cause::SessionLost)). The [reconnected](crate::Client::reconnect) client can
    /// open another session.
    SessionLost,
    /// The one event stream of a server of 2024-11-05 has ended, and with it the connection: report it to the
    /// machine.
    ConnectionLost,
}

/// Omits the text of messages.
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

/// The next result of reading a body, without data borrowed from the reader.
pub(super) enum Step {
    /// The reader holds a message with this context.
    Message(Received),
    /// The reader holds an error that ends this call, with this status.
    Error(CallId, u16),
    /// A result without borrowed data.
    Other(Arrived<'static>),
}

impl Step {
    /// Returns the result if it needs no message.
    pub(super) fn without_message(self) -> Option<Arrived<'static>> {
        match self {
            Self::Other(arrived) => Some(arrived),
            Self::Message(_) | Self::Error(..) => None,
        }
    }

    /// Combines the step with the message in the reader.
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
