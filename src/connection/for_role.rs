//! `ForRole`: the input that a role handles before the machine continues with a message.

use super::common_event::CommonEvent;
use super::event::{Notification, Outcome};
use super::incoming_request::IncomingRequest;
use super::inputs::InputRequested;
use super::late_probe::LateProbe;
use super::resumed::Resumed;
use crate::dialect::methods::{NotificationKind, RequestKind};

/// The part of a message that is left to the role.
#[derive(Debug)]
pub(crate) enum ForRole<'e, 'a> {
    /// An event that both roles surface in the same way.
    Event(CommonEvent<'a>),
    /// An `initialize` request that has passed every check except that of its params.
    Initialize(&'e IncomingRequest<'e, 'a>),
    /// A request that may be served. If MCP defines its method, its params are valid.
    Request(Option<RequestKind>, &'e mut IncomingRequest<'e, 'a>),
    /// A notification that is not about a request. If MCP defines its method, its params are valid.
    Notification(Option<NotificationKind>, Notification<'a>),
    /// The outcome of `initialize`.
    HandshakeEnded(Outcome<'a>),
    /// The response to a probe that was given up.
    LateProbe(LateProbe<'a>),
    /// An input that the peer requires before it responds to a call.
    Input(InputRequested),
    /// A request that can continue, because the peer has provided the input for it.
    Resumed(Resumed),
}
