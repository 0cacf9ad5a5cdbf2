//! `ServerEvent`: the events of a server.

use alloc::vec::Vec;

use super::client_request::ClientRequest;
use crate::capability::CapabilitySet;
use crate::connection::{
    AbandonedTask, CallEnded, Cancelled, Cause, CommonEvent, IncomingRequest, ListPage,
    ListRestarted, Notification, Outcome, ProgressUpdate, RequestContext, SubscriptionUpdate,
    TaskAnswer, TaskUpdate, UnmatchedResponse, Violation, client_info, meta_to_pass_on,
    modern_client_info,
};
use crate::dialect::methods::{RequestKind, owned_method};
use crate::handle::IncomingId;
use crate::json::{Object, Raw, Str, TextCopy};
use crate::model::Implementation;
use crate::rpc::ErrorObject;
use crate::schema::{EncodeError, Payload, WrittenResult};
use crate::time::Instant;
use crate::version::Revision;

/// An event on a connection to a client.
///
/// It borrows the frame that caused it. [`into_owned`](Self::into_owned) returns an owned copy.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[must_use = "a request in the event must be answered"]
pub enum ServerEvent<'a> {
    /// A request from the client. Answer it with [`Server::respond`](crate::Connection::respond) or
    /// [`Server::reject`](crate::Connection::reject), in any order, now or later.
    Request(Request<'a>),
    /// A request that must not be answered any more.
    Cancelled(Cancelled<'a>),
    /// A client has opened a subscription, and the machine has granted the part that the server offers.
    Subscribed(Subscribed<'a>),
    /// A notification.
    Notification(Notification<'a>),
    /// `initialize` has been answered. Requests can follow at once.
    Opened(Opened<'a>),
    /// The handshake of a session is complete. Queued calls have been sent. A connection with modern requests
    /// only has no handshake: it stays in [`Phase::Opening`](crate::Phase::Opening).
    Ready,
    /// A progress notification for a call.
    Progress(ProgressUpdate<'a>),
    /// A page of a list that is read page by page. The last page comes as the outcome of the call.
    Page(ListPage<'a>),
    /// A list that is read page by page starts again from its first page.
    ListRestarted(ListRestarted),
    /// The outcome of a call.
    CallEnded(CallEnded<'a>),
    /// The outcome of a request that a task of this side has sent.
    TaskAnswer(TaskAnswer<'a>),
    /// A status update of a call that has become a task.
    Task(TaskUpdate<'a>),
    /// A call that was given up has become a task after all.
    AbandonedTask(AbandonedTask),
    /// The client has not answered a ping.
    Unresponsive {
        /// The number of consecutive unanswered pings.
        missed: u32,
    },
    /// The connection ends at the deadline, or when every request has been answered and no call is pending, whichever
    /// is first. Requests in flight are not cancelled; answer them now.
    Draining {
        /// The latest time at which the connection ends.
        deadline: Instant,
    },
    /// The connection has ended. No event follows. The messages in the outbox may still be sent.
    Closed {
        /// The cause of the end.
        cause: Cause,
    },
    /// The client violated the protocol.
    Violation(Violation<'a>),
    /// A response that matches no open call.
    UnmatchedResponse(UnmatchedResponse<'a>),
    /// An error that names no request: the client could not read a message.
    UnsolicitedError(ErrorObject<'a>),
}

impl ServerEvent<'_> {
    /// Returns an owned copy.
    pub fn into_owned(self) -> ServerEvent<'static> {
        match self {
            Self::Request(request) => ServerEvent::Request(request.into_owned()),
            Self::Cancelled(cancelled) => ServerEvent::Cancelled(cancelled.into_owned()),
            Self::Subscribed(subscribed) => ServerEvent::Subscribed(subscribed.into_owned()),
            Self::Notification(notification) => {
                ServerEvent::Notification(notification.into_owned())
            }
            Self::Opened(opened) => ServerEvent::Opened(opened.into_owned()),
            Self::Ready => ServerEvent::Ready,
            Self::Progress(update) => ServerEvent::Progress(update.into_owned()),
            Self::Page(page) => ServerEvent::Page(page.into_owned()),
            Self::ListRestarted(restarted) => ServerEvent::ListRestarted(restarted),
            Self::CallEnded(ended) => ServerEvent::CallEnded(ended.into_owned()),
            Self::TaskAnswer(answer) => ServerEvent::TaskAnswer(answer.into_owned()),
            Self::Task(update) => ServerEvent::Task(update.into_owned()),
            Self::AbandonedTask(orphan) => ServerEvent::AbandonedTask(orphan),
            Self::Unresponsive { missed } => ServerEvent::Unresponsive { missed },
            Self::Draining { deadline } => ServerEvent::Draining { deadline },
            Self::Closed { cause } => ServerEvent::Closed { cause },
            Self::Violation(violation) => ServerEvent::Violation(violation.into_owned()),
            Self::UnmatchedResponse(unmatched) => {
                ServerEvent::UnmatchedResponse(unmatched.into_owned())
            }
            Self::UnsolicitedError(error) => ServerEvent::UnsolicitedError(error.into_owned()),
        }
    }
}

impl<'a> From<CommonEvent<'a>> for ServerEvent<'a> {
    fn from(event: CommonEvent<'a>) -> Self {
        match event {
            CommonEvent::Cancelled(cancelled) => Self::Cancelled(cancelled),
            CommonEvent::Progress(update) => Self::Progress(update),
            CommonEvent::Page(page) => Self::Page(page),
            CommonEvent::ListRestarted(restarted) => Self::ListRestarted(restarted),
            CommonEvent::CallEnded(ended) => Self::CallEnded(ended),
            CommonEvent::TaskAnswer(answer) => Self::TaskAnswer(answer),
            CommonEvent::Task(update) => Self::Task(update),
            CommonEvent::AbandonedTask(orphan) => Self::AbandonedTask(orphan),
            // A server cannot send the request that opens a subscription, so this is unreachable.
            CommonEvent::Subscription(SubscriptionUpdate { call, .. }) => {
                let outcome = Outcome::Closed(Cause::ShutDown);
                Self::CallEnded(CallEnded::new(call, outcome))
            }
            CommonEvent::Unresponsive { missed } => Self::Unresponsive { missed },
            CommonEvent::UnsolicitedError(error) => Self::UnsolicitedError(error),
            CommonEvent::UnmatchedResponse(unmatched) => Self::UnmatchedResponse(unmatched),
            CommonEvent::Violation(violation) => Self::Violation(violation),
            CommonEvent::Draining { deadline } => Self::Draining { deadline },
            CommonEvent::Closed { cause } => Self::Closed { cause },
        }
    }
}

/// A subscription that a client keeps open
/// ([subscriptions](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions)).
///
/// It ends with [`ServerEvent::Cancelled`], or when the application answers the request: [`Server::respond`] with
/// `()` informs the client that no more notifications follow.
///
/// [`Server::respond`]: crate::Connection::respond
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Subscribed<'a> {
    /// The request that keeps the subscription open.
    pub id: IncomingId,
    /// The rules under which the request is served.
    pub context: RequestContext,
    /// The requested [`SubscriptionFilter`](crate::model::SubscriptionFilter). The server grants the part that it
    /// offers.
    pub requested: Raw<'a>,
}

impl<'a> Subscribed<'a> {
    /// Returns the subscription that a `subscriptions/listen` request asks for; `None` for other requests. For hosts that
    /// [grant](crate::Server::grant) subscriptions themselves and report them afterwards, as the machine does.
    pub fn of(request: &Request<'a>) -> Option<Self> {
        match &request.kind {
            ClientRequest::Listen(requested) => Some(Self {
                id: request.id,
                context: request.context,
                requested: requested.clone(),
            }),
            _ => None,
        }
    }
}

impl Subscribed<'_> {
    /// Returns an owned copy.
    pub fn into_owned(self) -> Subscribed<'static> {
        Subscribed { requested: self.requested.into_owned(), ..self }
    }
}

/// A request that the client sent, with the context in which the server answers it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Request<'a> {
    /// The handle for the response.
    pub id: IncomingId,
    /// The rules under which the request is served.
    pub context: RequestContext,
    /// The method with its params.
    pub kind: ClientRequest<'a>,
    /// The method.
    pub method: Str<'a>,
    /// The complete params, an object.
    pub params: Option<Raw<'a>>,
    /// The `_meta` of the params.
    pub meta: Option<Raw<'a>>,
    /// The client's responses to the input that the server required when the request came before
    /// ([`Server::require_input`](crate::Server::require_input)): an object with one response under each key.
    ///
    /// A client can send any content here, even in the first request. Require missing inputs again, and ignore
    /// unknown keys.
    pub inputs: Option<Raw<'a>>,
    /// The state that the server gave the client to return. In the modern era a client can return any text: verify
    /// it.
    pub state: Option<Str<'a>>,
}

impl<'a> Request<'a> {
    #[inline(always)]
    pub(super) fn new(
        id: IncomingId,
        method: Option<RequestKind>,
        kind: ClientRequest<'a>,
        request: &IncomingRequest<'_, 'a>,
    ) -> Self {
        let IncomingRequest { params, meta, context, .. } = *request;
        let may_need_input = method.is_some_and(RequestKind::may_need_input);
        let brings = may_need_input && context.revision.rules().input_by_rounds;
        let method = request.method.clone();
        let brought = |name| params.as_ref().filter(|_| brings)?.get(name);
        let inputs = brought("inputResponses").filter(|inputs| inputs.starts_with('{'));
        let state = brought("requestState").and_then(Str::from_literal);
        let raw = |object: Object<'_, 'a>| Raw::trusted(object.text());
        let (params, meta) = (params.map(raw), meta.map(raw));
        Self { id, context, kind, method, params, meta, inputs: inputs.map(Raw::trusted), state }
    }

    /// The client's response to the input that was required under this key: the result of its method.
    pub fn input(&self, key: &str) -> Option<Raw<'_>> {
        self.inputs.as_ref()?.get(key)
    }

    /// The name and version of the client, if the request carries them: only a modern request does. In a session, see
    /// [`Opened::client_info`].
    pub fn client_info(&self) -> Option<Implementation<'_>> {
        let meta = self.meta.as_ref().filter(|_| self.context.revision.rules().names_in_meta)?;
        modern_client_info(meta)
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
    /// ```
    /// use std::sync::Mutex;
    ///
    /// use mcp_sansio::model::CallToolResult;
    /// use mcp_sansio::{Outbox, Request, RespondError, Server};
    ///
    /// fn answer(
    ///     connection: &Mutex<(Server, Outbox)>,
    ///     request: &Request<'_>,
    ///     buffer: &mut Vec<u8>,
    /// ) -> Result<(), RespondError> {
    ///     let result = request.write_result(&CallToolResult::text("done"), buffer)?;
    ///     let (server, outbox) = &mut *connection.lock().unwrap();
    ///     server.respond(request.id, &result, outbox)
    /// }
    /// # _ = answer;
    /// ```
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

    /// Returns an owned copy, for a handler that takes time.
    ///
    /// The copy takes one allocation, because all parts share the copy of the params. A part that outlives the
    /// request keeps the whole text alive. `String::from` copies a single [`Str`].
    // Inline, because the request is large and would be moved twice otherwise.
    #[inline]
    pub fn into_owned(self) -> Request<'static> {
        let Self { id, context, kind, method, params, meta, inputs, state } = self;
        let text = params.as_ref().and_then(Raw::borrowed);
        let copy = text.map(TextCopy::of);
        let copy = copy.as_ref();
        let raw = |raw: Option<Raw<'_>>| raw.map(|raw| raw.into_part(copy));
        Request {
            id,
            context,
            kind: kind.into_parts(copy),
            method: owned_method(method),
            meta: raw(meta),
            inputs: raw(inputs),
            state: state.map(|state| state.into_part(copy)),
            params: raw(params),
        }
    }
}

/// The parameters of a session that has been opened.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Opened<'a> {
    /// The revision of the session.
    pub revision: Revision,
    /// The capabilities of the client that the revision knows.
    pub capabilities: CapabilitySet,
    /// The complete params: an [`InitializeParams`](crate::model::InitializeParams).
    pub params: Raw<'a>,
}

impl Opened<'_> {
    /// The name and version of the client, for display only. `None` if they are not in a readable form.
    pub fn client_info(&self) -> Option<Implementation<'_>> {
        client_info(&self.params)
    }

    /// Returns an owned copy.
    pub fn into_owned(self) -> Opened<'static> {
        Opened { params: self.params.into_owned(), ..self }
    }
}
