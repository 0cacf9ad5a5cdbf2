//! `ClientEvent`: the events of a client.

use alloc::vec::Vec;

use super::connected::{ConnectFailure, Connected};
use super::server_request::ServerRequest;
use crate::connection::{
    AbandonedTask, CallEnded, Cancelled, Cause, CommonEvent, IncomingRequest, InputRequested,
    ListPage, ListRestarted, Notification, ProgressUpdate, RequestContext, SubscriptionUpdate,
    TaskAnswer, TaskUpdate, UnmatchedResponse, Violation, meta_to_pass_on,
};
use crate::dialect::methods::owned_method;
use crate::handle::{CallId, IncomingId};
use crate::json::{Object, Raw, Str};
use crate::rpc::ErrorObject;
use crate::schema::{EncodeError, Payload, WrittenResult};
use crate::time::Instant;

/// An event on a connection to a server.
///
/// It borrows the frame that caused it. [`into_owned`](Self::into_owned) returns an owned copy.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[must_use = "a request in the event must be answered"]
pub enum ClientEvent<'a> {
    /// The connection is open: the revision was negotiated, or is assumed without a response of the server
    /// ([`Connected::basis`](crate::event::Connected::basis)). Queued calls have been sent.
    Connected(Connected<'a>),
    /// The negotiation failed. `Closed` follows.
    ConnectFailed(ConnectFailure<'a>),
    /// A page of a list that is read page by page. The last page comes as the outcome of the call.
    Page(ListPage<'a>),
    /// A list that is read page by page starts again from its first page.
    ListRestarted(ListRestarted),
    /// An update of a subscription ([`Client::subscribe`](crate::Client::subscribe)).
    Subscription(SubscriptionUpdate<'a>),
    /// The outcome of a call.
    CallEnded(CallEnded<'a>),
    /// The outcome of a request that a task of this side has sent.
    TaskAnswer(TaskAnswer<'a>),
    /// A status update of a call that has become a task.
    Task(TaskUpdate<'a>),
    /// A call that was given up has become a task after all.
    AbandonedTask(AbandonedTask),
    /// The server has not answered a ping.
    Unresponsive {
        /// The number of consecutive unanswered pings.
        missed: u32,
    },
    /// A progress notification for a call.
    Progress(ProgressUpdate<'a>),
    /// A notification.
    Notification(Notification<'a>),
    /// A request from the server. Answer it with [`Client::respond`](crate::Connection::respond) or
    /// [`Client::reject`](crate::Connection::reject), in any order, now or later.
    Request(RequestFromServer<'a>),
    /// A request that must not be answered any more.
    Cancelled(Cancelled<'a>),
    /// The connection ends at the deadline, or when no call and no request is open, whichever is first. Calls that have
    /// become tasks are not waited for.
    Draining {
        /// The latest time at which the connection ends.
        deadline: Instant,
    },
    /// The connection has ended. No event follows.
    Closed {
        /// The cause of the end.
        cause: Cause,
    },
    /// The server violated the protocol, for instance by printing to the wire.
    Violation(Violation<'a>),
    /// A response that matches no open call.
    UnmatchedResponse(UnmatchedResponse<'a>),
    /// An error that names no call: the server could not read a message.
    UnsolicitedError(ErrorObject<'a>),
}

impl ClientEvent<'_> {
    /// Returns an owned copy.
    pub fn into_owned(self) -> ClientEvent<'static> {
        match self {
            Self::Connected(connected) => ClientEvent::Connected(connected.into_owned()),
            Self::ConnectFailed(failure) => ClientEvent::ConnectFailed(failure.into_owned()),
            Self::Page(page) => ClientEvent::Page(page.into_owned()),
            Self::ListRestarted(restarted) => ClientEvent::ListRestarted(restarted),
            Self::Subscription(update) => ClientEvent::Subscription(update.into_owned()),
            Self::CallEnded(ended) => ClientEvent::CallEnded(ended.into_owned()),
            Self::TaskAnswer(answer) => ClientEvent::TaskAnswer(answer.into_owned()),
            Self::Task(update) => ClientEvent::Task(update.into_owned()),
            Self::AbandonedTask(orphan) => ClientEvent::AbandonedTask(orphan),
            Self::Unresponsive { missed } => ClientEvent::Unresponsive { missed },
            Self::Progress(update) => ClientEvent::Progress(update.into_owned()),
            Self::Notification(notification) => {
                ClientEvent::Notification(notification.into_owned())
            }
            Self::Request(request) => ClientEvent::Request(request.into_owned()),
            Self::Cancelled(cancelled) => ClientEvent::Cancelled(cancelled.into_owned()),
            Self::Draining { deadline } => ClientEvent::Draining { deadline },
            Self::Closed { cause } => ClientEvent::Closed { cause },
            Self::Violation(violation) => ClientEvent::Violation(violation.into_owned()),
            Self::UnmatchedResponse(unmatched) => {
                ClientEvent::UnmatchedResponse(unmatched.into_owned())
            }
            Self::UnsolicitedError(error) => ClientEvent::UnsolicitedError(error.into_owned()),
        }
    }
}

impl<'a> From<CommonEvent<'a>> for ClientEvent<'a> {
    fn from(event: CommonEvent<'a>) -> Self {
        match event {
            CommonEvent::Cancelled(cancelled) => Self::Cancelled(cancelled),
            CommonEvent::Progress(update) => Self::Progress(update),
            CommonEvent::Page(page) => Self::Page(page),
            CommonEvent::ListRestarted(restarted) => Self::ListRestarted(restarted),
            CommonEvent::Subscription(update) => Self::Subscription(update),
            CommonEvent::CallEnded(ended) => Self::CallEnded(ended),
            CommonEvent::TaskAnswer(answer) => Self::TaskAnswer(answer),
            CommonEvent::Task(update) => Self::Task(update),
            CommonEvent::AbandonedTask(orphan) => Self::AbandonedTask(orphan),
            CommonEvent::Unresponsive { missed } => Self::Unresponsive { missed },
            CommonEvent::UnsolicitedError(error) => Self::UnsolicitedError(error),
            CommonEvent::UnmatchedResponse(unmatched) => Self::UnmatchedResponse(unmatched),
            CommonEvent::Violation(violation) => Self::Violation(violation),
            CommonEvent::Draining { deadline } => Self::Draining { deadline },
            CommonEvent::Closed { cause } => Self::Closed { cause },
        }
    }
}

/// A request that the server sent, with the context in which the client answers it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct RequestFromServer<'a> {
    /// The handle for the response.
    pub id: IncomingId,
    /// The rules under which the request is served.
    pub context: RequestContext,
    /// The method with its params.
    pub kind: ServerRequest<'a>,
    /// The method.
    pub method: Str<'a>,
    /// The complete params, an object.
    pub params: Option<Raw<'a>>,
    /// The `_meta` of the params.
    pub meta: Option<Raw<'a>>,
    /// The call that needs the response, if known. In the modern era the server sends no requests: the machine makes
    /// this one from an input that the call requires. In a session it is the call of the task that the
    /// request names, or the call on whose HTTP response the request came.
    pub needed_for: Option<CallId>,
}

impl<'a> RequestFromServer<'a> {
    pub(super) fn new(
        id: IncomingId,
        kind: ServerRequest<'a>,
        request: &IncomingRequest<'_, 'a>,
    ) -> Self {
        let IncomingRequest { params, meta, context, .. } = *request;
        let method = request.method.clone();
        let raw = |object: Object<'_, 'a>| Raw::trusted(object.text());
        let (params, meta) = (params.map(raw), meta.map(raw));
        Self { id, context, kind, method, params, meta, needed_for: None }
    }

    /// Wraps an input that the server requires before it can answer a call. Returns `None` if its params are invalid.
    pub(super) fn needed(input: InputRequested) -> Option<RequestFromServer<'static>> {
        let InputRequested { id, context, kind, params, call } = input;
        let needed_for = Some(call);
        let method = Str::from(kind.rule().name);
        let kind = ServerRequest::read(Some(kind), params.as_deref())?.into_owned();
        let params = params.map(|params| Raw::trusted(&params).into_owned());
        let meta = params.as_ref().and_then(|params| params.get("_meta")).map(Raw::into_owned);
        Some(RequestFromServer { id, context, kind, method, params, meta, needed_for })
    }

    /// The metadata that a gateway may pass on: without the progress token, the sender's own identity and the related
    /// task, which belong to one connection. `None` if no member is left.
    pub fn meta_to_pass_on(&self) -> Option<Raw<'static>> {
        meta_to_pass_on(self.meta.as_ref()?)
    }

    /// Writes the result of this request into a buffer, in the form of the request's revision. The old content of the
    /// buffer is discarded. [`respond`](crate::Connection::respond) sends the result.
    ///
    /// Use this if the machine is behind a lock: the `Serialize` of the application then runs before the lock is
    /// taken, and the machine only copies.
    ///
    /// # Errors
    ///
    /// [`EncodeError`] as from [`respond`](crate::Connection::respond), but never [`Full`](EncodeError::Full). The
    /// caller is at fault.
    pub fn write_result<'b>(
        &self,
        result: &(impl Payload + ?Sized),
        buffer: &'b mut Vec<u8>,
    ) -> Result<WrittenResult<'b>, EncodeError> {
        WrittenResult::new(&self.method, self.context.revision, result, buffer)
    }

    /// Returns an owned copy, for a response that takes time.
    pub fn into_owned(self) -> RequestFromServer<'static> {
        RequestFromServer {
            id: self.id,
            context: self.context,
            kind: self.kind.into_owned(),
            method: owned_method(self.method),
            params: self.params.map(Raw::into_owned),
            meta: self.meta.map(Raw::into_owned),
            needed_for: self.needed_for,
        }
    }
}
