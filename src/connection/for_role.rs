//! `ForRole`: what a role has to look at before the machine goes on with a message.

use super::common_event::CommonEvent;
use super::event::{Notification, Outcome};
use super::incoming_request::IncomingRequest;
use super::inputs::InputRequested;
use super::late_probe::LateProbe;
use super::resumed::Resumed;
use crate::dialect::methods::{NotificationKind, RequestKind};

/// What is left for the role.
#[derive(Debug)]
pub(crate) enum ForRole<'e, 'a> {
    /// Something that both roles surface in the same way.
    Event(CommonEvent<'a>),
    /// `initialize`, with nothing in its way but its params.
    Initialize(IncomingRequest<'e, 'a>),
    /// A request of the session; if MCP has it, its params are in order.
    Request(Option<RequestKind>, IncomingRequest<'e, 'a>),
    /// A notification other than those about requests; if MCP has it, its params are in order.
    Notification(Option<NotificationKind>, Notification<'a>),
    /// What came of `initialize`.
    HandshakeEnded(Outcome<'a>),
    /// A question that was given up has been answered.
    LateProbe(LateProbe<'a>),
    /// Something that the peer needs before it answers a call.
    Input(InputRequested),
    /// A request that can go on, now that the peer has given what was needed for it.
    Resumed(Resumed),
}
