//! [`McpEvent`]: an event of either role.

use std::fmt::{Debug, Display};

use mcp_sansio::event::{CallEnded, Cancelled, Notification, Subscribed, Violation};
use mcp_sansio::json::Raw;
use mcp_sansio::progress::ProgressUpdate;
use mcp_sansio::{CallId, ClientEvent, IncomingId, Outcome, ServerEvent};
use serde_json::{Map, Value, json};

use crate::text::McpText;

/// The kind of an event. The members that an event has depend on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub enum McpEventKind {
    /// An event without a kind of its own, for logs: `text` describes it.
    #[default]
    Other = 0,
    /// A request of the peer: `request`, `method`, and the params in `text` (empty if there are none). Answer it.
    Request = 1,
    /// A request that must not be answered any more, or the end of a subscription: `request`, and the reason of the peer
    /// in `text`.
    Cancelled = 2,
    /// A notification: `method`, and the params in `text`.
    Notification = 3,
    /// A client is connected, or a session with a server is open. `method` is the revision, `text` the result or the
    /// params of the opening. A server has no such event for requests of 2026-07-28, which need no opening.
    Ready = 4,
    /// Progress of a call: `call`, and in `text` an object with `progress`, and perhaps `total` and `message`.
    Progress = 5,
    /// The end of a call: `call`, and its result in `text`.
    Result = 6,
    /// The end of a call: `call`, and the error of the peer in `text`, an object with `code`, `message` and perhaps `data`.
    Error = 7,
    /// The end of a call that has neither a result nor an error of the peer, such as a timeout: `call`, and the reason in
    /// `text`. If `call` is zero, a client has failed to connect, and no call has ended by this event.
    Failed = 8,
    /// The peer violates the protocol: `text` describes it. The connection continues.
    Violation = 9,
    /// The connection ends soon: answer the open requests now.
    Draining = 10,
    /// The connection has ended: `text` is the cause. No event follows.
    Closed = 11,
    /// A client of 2026-07-28 has opened a subscription, which is acknowledged: `request`, and the filter in `text`. It
    /// needs no answer. A response with an empty result ends it; otherwise it ends with `Cancelled`.
    Subscribed = 12,
}

/// An event. Members that its kind does not have are zero or empty.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct McpEvent {
    /// The kind.
    pub kind: McpEventKind,
    /// The request of the peer.
    pub request: u64,
    /// The call of this side.
    pub call: u64,
    /// The method.
    pub method: McpText,
    /// The text; its meaning depends on the kind.
    pub text: McpText,
}

/// An event that owns its texts.
#[derive(Default)]
pub(crate) struct Translated {
    pub(crate) kind: McpEventKind,
    pub(crate) request: Option<IncomingId>,
    pub(crate) call: Option<CallId>,
    pub(crate) method: String,
    pub(crate) text: String,
}

fn object(members: impl Iterator<Item = (&'static str, Value)>) -> Value {
    members.map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>().into()
}

impl Translated {
    fn of(kind: McpEventKind, text: impl Display) -> Self {
        Self { kind, text: text.to_string(), ..Self::default() }
    }

    /// Whether the event begins a request, which gets a number.
    pub(crate) const fn begins_request(&self) -> bool {
        matches!(self.kind, McpEventKind::Request | McpEventKind::Subscribed)
    }

    fn request(id: IncomingId, method: impl Display, params: Option<&Raw<'_>>) -> Self {
        let text = params.map(|params| params.as_json().to_owned()).unwrap_or_default();
        let kind = McpEventKind::Request;
        Self { kind, request: Some(id), method: method.to_string(), text, call: None }
    }

    fn subscribed(subscribed: &Subscribed<'_>) -> Self {
        let kind = McpEventKind::Subscribed;
        Self { request: Some(subscribed.id), ..Self::of(kind, subscribed.requested.as_json()) }
    }

    fn cancelled(cancelled: &Cancelled<'_>) -> Self {
        let text = cancelled.reason.as_ref().map(|reason| reason.to_str().into_owned());
        let kind = McpEventKind::Cancelled;
        Self { request: Some(cancelled.id), ..Self::of(kind, text.unwrap_or_default()) }
    }

    fn notification(notification: &Notification<'_>) -> Self {
        let params = notification.params.as_ref().map_or("", |params| params.as_json());
        let method = notification.method.to_str().into_owned();
        Self { method, ..Self::of(McpEventKind::Notification, params) }
    }

    fn progress(update: &ProgressUpdate<'_>) -> Self {
        let total = update.total.as_ref().map(|total| ("total", json!(total)));
        let message = update.message.as_ref().map(|message| ("message", json!(message.to_str())));
        let text =
            object([("progress", json!(update.progress))].into_iter().chain(total).chain(message));
        Self { call: Some(update.call), ..Self::of(McpEventKind::Progress, text) }
    }

    fn ended(ended: &CallEnded<'_>) -> Self {
        let translated = match &ended.outcome {
            Outcome::Result(result) => Self::of(McpEventKind::Result, result.as_json()),
            Outcome::PeerError(error) => {
                let code = error.code.get();
                let message = json!(error.message.to_str());
                // As received: a `Value` keeps neither large integers nor lone surrogates.
                let data = error.data.as_ref().map(|data| format!(r#","data":{}"#, data.as_json()));
                let data = data.unwrap_or_default();
                let text = format!(r#"{{"code":{code},"message":{message}{data}}}"#);
                Self::of(McpEventKind::Error, text)
            }
            other => Self::of(McpEventKind::Failed, format_args!("{other:?}")),
        };
        Self { call: Some(ended.call), ..translated }
    }

    fn violation(violation: &Violation<'_>) -> Self {
        let Violation { kind, length, .. } = violation;
        Self::of(McpEventKind::Violation, format_args!("{kind} ({length} bytes)"))
    }

    fn ready(revision: impl Display, text: &Raw<'_>) -> Self {
        let method = revision.to_string();
        Self { method, ..Self::of(McpEventKind::Ready, text.as_json()) }
    }

    /// `Debug` of an event shows no payloads.
    fn other(event: &impl Debug) -> Self {
        Self::of(McpEventKind::Other, format_args!("{event:?}"))
    }
}

impl From<ServerEvent<'_>> for Translated {
    fn from(event: ServerEvent<'_>) -> Self {
        match &event {
            ServerEvent::Request(request) => {
                Self::request(request.id, request.method.to_str(), request.params.as_ref())
            }
            ServerEvent::Subscribed(subscribed) => Self::subscribed(subscribed),
            ServerEvent::Cancelled(cancelled) => Self::cancelled(cancelled),
            ServerEvent::Notification(notification) => Self::notification(notification),
            ServerEvent::Opened(opened) => Self::ready(opened.revision, &opened.params),
            ServerEvent::Progress(update) => Self::progress(update),
            ServerEvent::CallEnded(ended) => Self::ended(ended),
            ServerEvent::Draining { .. } => Self::of(McpEventKind::Draining, ""),
            ServerEvent::Closed { cause } => Self::of(McpEventKind::Closed, cause),
            ServerEvent::Violation(violation) => Self::violation(violation),
            other => Self::other(other),
        }
    }
}

impl From<ClientEvent<'_>> for Translated {
    fn from(event: ClientEvent<'_>) -> Self {
        match &event {
            ClientEvent::Request(request) => {
                Self::request(request.id, request.method.to_str(), request.params.as_ref())
            }
            ClientEvent::Cancelled(cancelled) => Self::cancelled(cancelled),
            ClientEvent::Notification(notification) => Self::notification(notification),
            ClientEvent::Connected(connected) => Self::ready(connected.revision, &connected.result),
            ClientEvent::ConnectFailed(failure) => Self::of(McpEventKind::Failed, failure),
            ClientEvent::Progress(update) => Self::progress(update),
            ClientEvent::CallEnded(ended) => Self::ended(ended),
            ClientEvent::Draining { .. } => Self::of(McpEventKind::Draining, ""),
            ClientEvent::Closed { cause } => Self::of(McpEventKind::Closed, cause),
            ClientEvent::Violation(violation) => Self::violation(violation),
            other => Self::other(other),
        }
    }
}
