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

/// Something that happened on a connection to a server.
///
/// It borrows the frame it came from. [`into_owned`](Self::into_owned) keeps it longer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[must_use = "a request in the event must be answered"]
pub enum ClientEvent<'a> {
    /// The session is open, or there need not be one: calls that were held have been sent.
    Connected(Connected<'a>),
    /// There is no session. `Closed` follows.
    ConnectFailed(ConnectFailure<'a>),
    /// A page of a list that is read page by page, and not its last one.
    Page(ListPage<'a>),
    /// Such a list is read from its beginning again.
    ListRestarted(ListRestarted),
    /// News of a subscription ([`Client::subscribe`](crate::Client::subscribe)).
    Subscription(SubscriptionUpdate<'a>),
    /// The outcome of a call.
    CallEnded(CallEnded<'a>),
    /// What came of something that a task of this side has asked for.
    TaskAnswer(TaskAnswer<'a>),
    /// How far a task is that a call has become.
    Task(TaskUpdate<'a>),
    /// A call that was given up has become a task after all.
    AbandonedTask(AbandonedTask),
    /// The server has not answered a ping, the latest of so many in a row.
    Unresponsive {
        /// How many pings in a row have not been answered.
        missed: u32,
    },
    /// How far a call is.
    Progress(ProgressUpdate<'a>),
    /// A notification.
    Notification(Notification<'a>),
    /// A request to answer, with [`Client::respond`](crate::Connection::respond) or
    /// [`Client::reject`](crate::Connection::reject), in any order, now or later.
    Request(RequestFromServer<'a>),
    /// A request is not to be answered any more.
    Cancelled(Cancelled<'a>),
    /// The connection will end at the deadline or when nothing is in flight, whichever is first.
    Draining {
        /// When the connection ends at the latest.
        deadline: Instant,
    },
    /// The connection has ended. Nothing follows.
    Closed {
        /// Why.
        cause: Cause,
    },
    /// The server did something it may not do, such as printing to the wire.
    Violation(Violation<'a>),
    /// A response that no call waits for.
    UnmatchedResponse(UnmatchedResponse<'a>),
    /// An error that names no call: the server could not read something it was sent.
    UnsolicitedError(ErrorObject<'a>),
}

impl ClientEvent<'_> {
    /// The same with its own copy of the text.
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
            Self::UnmatchedResponse(stray) => ClientEvent::UnmatchedResponse(stray.into_owned()),
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
            CommonEvent::UnmatchedResponse(stray) => Self::UnmatchedResponse(stray),
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
    /// What to answer it by.
    pub id: IncomingId,
    /// The rules under which it is served.
    pub context: RequestContext,
    /// What is asked for.
    pub kind: ServerRequest<'a>,
    /// The method.
    pub method: Str<'a>,
    /// Everything that came with it, an object.
    pub params: Option<Raw<'a>>,
    /// The `_meta` of the params.
    pub meta: Option<Raw<'a>>,
    /// The call that the server needs it for, if it has said so: where there are no sessions a server asks
    /// only before it answers a call, and in a session a task of a call can ask for something.
    pub needed_for: Option<CallId>,
}

impl<'a> RequestFromServer<'a> {
    pub(super) fn new(
        id: IncomingId,
        context: RequestContext,
        kind: ServerRequest<'a>,
        request: IncomingRequest<'_, 'a>,
    ) -> Self {
        let IncomingRequest { method, params, meta, .. } = request;
        let raw = |object: Object<'_, 'a>| Raw::trusted(object.text());
        let (params, meta) = (params.map(raw), meta.map(raw));
        Self { id, context, kind, method, params, meta, needed_for: None }
    }

    /// One that the server has not made, but needs before it answers a call.
    pub(super) fn needed(input: InputRequested) -> Option<RequestFromServer<'static>> {
        let InputRequested { id, context, kind, params, call } = input;
        let needed_for = Some(call);
        let method = Str::from(kind.rule().name);
        let kind = ServerRequest::read(Some(kind), params.as_deref())?.into_owned();
        let params = params.map(|params| Raw::trusted(&params).into_owned());
        let meta = params.as_ref().and_then(|params| params.get("_meta")).map(Raw::into_owned);
        Some(RequestFromServer { id, context, kind, method, params, meta, needed_for })
    }

    /// The metadata for whoever is asked in turn, of a gateway: without what belongs to one connection, which is the
    /// progress token, what the sender says of itself, and the task that the request belongs to. `None` if nothing
    /// is left.
    pub fn meta_to_pass_on(&self) -> Option<Raw<'static>> {
        meta_to_pass_on(self.meta.as_ref()?)
    }

    /// Writes the result of this request into a buffer, in place of what was in there, as the revision of the request has
    /// it. [`respond`](crate::Connection::respond) sends it.
    ///
    /// Write results like this where the machine is behind a lock: the `Serialize` of the application runs before the
    /// lock is taken, and the machine only copies.
    ///
    /// # Errors
    ///
    /// [`EncodeError`] as from [`respond`](crate::Connection::respond), but never [`Full`](EncodeError::Full): the caller is at
    /// fault.
    pub fn write_result<'b>(
        &self,
        result: &(impl Payload + ?Sized),
        buffer: &'b mut Vec<u8>,
    ) -> Result<WrittenResult<'b>, EncodeError> {
        WrittenResult::new(&self.method, self.context.revision, result, buffer)
    }

    /// The same with its own copy of the text, for an answer that takes its time.
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
