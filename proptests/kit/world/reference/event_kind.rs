//! [`EventKind`]: the kind of an event, without its content.

use mcp_sansio::{ClientEvent, ServerEvent};

/// The kind of an event of either role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EventKind {
    Nothing,
    Request,
    Subscribed,
    Cancelled,
    Notification,
    Opened,
    Ready,
    Progress,
    Page,
    ListRestarted,
    CallEnded,
    Subscription,
    TaskAnswer,
    Task,
    AbandonedTask,
    Unresponsive,
    Connected,
    ConnectFailed,
    Draining,
    Closed,
    Violation,
    Unmatched,
    UnsolicitedError,
    /// An event that this model does not know.
    Other,
}

impl EventKind {
    /// Returns the kind of an event of a server.
    pub(super) const fn by_server(event: Option<&ServerEvent<'_>>) -> Self {
        let Some(event) = event else { return Self::Nothing };
        match event {
            ServerEvent::Request(_) => Self::Request,
            ServerEvent::Subscribed(_) => Self::Subscribed,
            ServerEvent::Cancelled(_) => Self::Cancelled,
            ServerEvent::Notification(_) => Self::Notification,
            ServerEvent::Opened(_) => Self::Opened,
            ServerEvent::Ready => Self::Ready,
            ServerEvent::Progress(_) => Self::Progress,
            ServerEvent::Page(_) => Self::Page,
            ServerEvent::ListRestarted(_) => Self::ListRestarted,
            ServerEvent::CallEnded(_) => Self::CallEnded,
            ServerEvent::TaskAnswer(_) => Self::TaskAnswer,
            ServerEvent::Task(_) => Self::Task,
            ServerEvent::AbandonedTask(_) => Self::AbandonedTask,
            ServerEvent::Unresponsive { .. } => Self::Unresponsive,
            ServerEvent::Draining { .. } => Self::Draining,
            ServerEvent::Closed { .. } => Self::Closed,
            ServerEvent::Violation(_) => Self::Violation,
            ServerEvent::UnmatchedResponse(_) => Self::Unmatched,
            ServerEvent::UnsolicitedError(_) => Self::UnsolicitedError,
            _ => Self::Other,
        }
    }

    /// Returns the kind of an event of a client.
    pub(super) const fn by_client(event: Option<&ClientEvent<'_>>) -> Self {
        let Some(event) = event else { return Self::Nothing };
        match event {
            ClientEvent::Request(_) => Self::Request,
            ClientEvent::Cancelled(_) => Self::Cancelled,
            ClientEvent::Notification(_) => Self::Notification,
            ClientEvent::Progress(_) => Self::Progress,
            ClientEvent::Page(_) => Self::Page,
            ClientEvent::ListRestarted(_) => Self::ListRestarted,
            ClientEvent::CallEnded(_) => Self::CallEnded,
            ClientEvent::Subscription(_) => Self::Subscription,
            ClientEvent::TaskAnswer(_) => Self::TaskAnswer,
            ClientEvent::Task(_) => Self::Task,
            ClientEvent::AbandonedTask(_) => Self::AbandonedTask,
            ClientEvent::Unresponsive { .. } => Self::Unresponsive,
            ClientEvent::Connected(_) => Self::Connected,
            ClientEvent::ConnectFailed(_) => Self::ConnectFailed,
            ClientEvent::Draining { .. } => Self::Draining,
            ClientEvent::Closed { .. } => Self::Closed,
            ClientEvent::Violation(_) => Self::Violation,
            ClientEvent::UnmatchedResponse(_) => Self::Unmatched,
            ClientEvent::UnsolicitedError(_) => Self::UnsolicitedError,
            _ => Self::Other,
        }
    }
}
