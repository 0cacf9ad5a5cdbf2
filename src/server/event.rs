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
use crate::dialect::methods::owned_method;
use crate::handle::IncomingId;
use crate::json::{Object, Raw, Str, TextCopy};
use crate::model::Implementation;
use crate::rpc::ErrorObject;
use crate::schema::{EncodeError, Payload, WrittenResult};
use crate::time::Instant;
use crate::version::Revision;

/// Something that happened on a connection to a client.
///
/// It borrows the frame it came from. [`into_owned`](Self::into_owned) keeps it longer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[must_use = "a request in the event must be answered"]
pub enum ServerEvent<'a> {
    /// A request to answer, with [`Server::respond`](crate::Connection::respond) or
    /// [`Server::reject`](crate::Connection::reject), in any order, now or later.
    Request(Request<'a>),
    /// A request is not to be answered any more.
    Cancelled(Cancelled<'a>),
    /// A client keeps a subscription open, and what the server offers of it has been granted.
    Subscribed(Subscribed<'a>),
    /// A notification.
    Notification(Notification<'a>),
    /// `initialize` has been answered. Requests can follow at once.
    Opened(Opened<'a>),
    /// The handshake is complete: calls that were held have been sent.
    Ready,
    /// How far a call is.
    Progress(ProgressUpdate<'a>),
    /// A page of a list that is read page by page, and not its last one.
    Page(ListPage<'a>),
    /// Such a list is read from its beginning again.
    ListRestarted(ListRestarted),
    /// The outcome of a call.
    CallEnded(CallEnded<'a>),
    /// What came of something that a task of this side has asked for.
    TaskAnswer(TaskAnswer<'a>),
    /// How far a task is that a call has become.
    Task(TaskUpdate<'a>),
    /// A call that was given up has become a task after all.
    AbandonedTask(AbandonedTask),
    /// The client has not answered a ping, the latest of so many in a row.
    Unresponsive {
        /// How many pings in a row have not been answered.
        missed: u32,
    },
    /// The connection will end at the deadline or when everything has been answered, whichever is
    /// first. Requests in flight should be answered now; they are not cancelled.
    Draining {
        /// When the connection ends at the latest.
        deadline: Instant,
    },
    /// The connection has ended. Nothing follows. What is in the outbox may still be sent.
    Closed {
        /// Why.
        cause: Cause,
    },
    /// The client did something it may not do.
    Violation(Violation<'a>),
    /// A response that no call waits for.
    UnmatchedResponse(UnmatchedResponse<'a>),
    /// An error that names no request: the client could not read something it was sent.
    UnsolicitedError(ErrorObject<'a>),
}

impl ServerEvent<'_> {
    /// The same with its own copy of the text.
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
            Self::UnmatchedResponse(stray) => ServerEvent::UnmatchedResponse(stray.into_owned()),
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
            // A server has no subscriptions of its own: it cannot send what opens one.
            CommonEvent::Subscription(SubscriptionUpdate { call, .. }) => {
                let outcome = Outcome::Closed(Cause::ShutDown);
                Self::CallEnded(CallEnded::new(call, outcome))
            }
            CommonEvent::Unresponsive { missed } => Self::Unresponsive { missed },
            CommonEvent::UnsolicitedError(error) => Self::UnsolicitedError(error),
            CommonEvent::UnmatchedResponse(stray) => Self::UnmatchedResponse(stray),
            CommonEvent::Violation(violation) => Self::Violation(violation),
            CommonEvent::Draining { deadline } => Self::Draining { deadline },
            CommonEvent::Closed { cause } => Self::Closed { cause },
        }
    }
}

/// A client keeps a subscription open
/// ([subscriptions](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions)).
///
/// It ends with [`ServerEvent::Cancelled`], or when the request is answered: [`Server::respond`] with
/// `()` tells the client that nothing more will come.
///
/// [`Server::respond`]: crate::Connection::respond
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Subscribed<'a> {
    /// The request that keeps it open.
    pub id: IncomingId,
    /// The rules under which it is served.
    pub context: RequestContext,
    /// What was asked for, a [`SubscriptionFilter`](crate::model::SubscriptionFilter). Of that the server
    /// tells what it offers.
    pub requested: Raw<'a>,
}

impl Subscribed<'_> {
    /// The same with its own copy of the text.
    pub fn into_owned(self) -> Subscribed<'static> {
        Subscribed { requested: self.requested.into_owned(), ..self }
    }
}

/// A request that the client sent, with the context in which the server answers it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Request<'a> {
    /// What to answer it by.
    pub id: IncomingId,
    /// The rules under which it is served.
    pub context: RequestContext,
    /// What is asked for.
    pub kind: ClientRequest<'a>,
    /// The method.
    pub method: Str<'a>,
    /// Everything that came with it, an object.
    pub params: Option<Raw<'a>>,
    /// The `_meta` of the params.
    pub meta: Option<Raw<'a>>,
    /// What the client was asked for when it made this request before
    /// ([`Server::require_input`](crate::Server::require_input)): an object with an answer under each key.
    ///
    /// Anything can stand there, also on the first occasion: ask again for what is missing, and pass over
    /// what is too much.
    pub inputs: Option<Raw<'a>>,
    /// The state that it was given to bring back. Where requests stand alone a client can bring back
    /// anything: verify it.
    pub state: Option<Str<'a>>,
}

impl<'a> Request<'a> {
    #[inline(always)]
    pub(super) fn new(
        id: IncomingId,
        context: RequestContext,
        kind: ClientRequest<'a>,
        request: &IncomingRequest<'_, 'a>,
    ) -> Self {
        let (params, meta) = (request.params, request.meta);
        let method = request.method.clone();
        let brings = kind.may_need_input() && context.revision.rules().input_by_rounds;
        let brought = |name| params.as_ref().filter(|_| brings)?.get(name);
        let inputs = brought("inputResponses").filter(|inputs| inputs.starts_with('{'));
        let state = brought("requestState").and_then(Str::from_literal);
        let raw = |object: Object<'_, 'a>| Raw::trusted(object.text());
        let (params, meta) = (params.map(raw), meta.map(raw));
        Self { id, context, kind, method, params, meta, inputs: inputs.map(Raw::trusted), state }
    }

    /// What the client answered to the request for input with this key: the result of its method.
    pub fn input(&self, key: &str) -> Option<Raw<'_>> {
        self.inputs.as_ref()?.get(key)
    }

    /// Who the client is, if the request itself says so: where it stands alone. In a session
    /// [`Opened::client_info`] has said so.
    pub fn client_info(&self) -> Option<Implementation<'_>> {
        let meta = self.meta.as_ref().filter(|_| self.context.revision.rules().names_in_meta)?;
        modern_client_info(meta)
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
    /// [`EncodeError`] as from [`respond`](crate::Connection::respond), but never [`Full`](EncodeError::Full): the caller is at
    /// fault.
    pub fn write_result<'b>(
        &self,
        result: &(impl Payload + ?Sized),
        buffer: &'b mut Vec<u8>,
    ) -> Result<WrittenResult<'b>, EncodeError> {
        WrittenResult::new(&self.method, self.context.revision, result, buffer)
    }

    /// The same with its own copy of the text, for a handler that takes its time.
    ///
    /// It takes one allocation: all its parts share the copy of the params. So a part that is kept longer than the
    /// request keeps all of the text; `String::from` makes a copy of a [`Str`] alone.
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

/// A session has been opened.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Opened<'a> {
    /// The revision it uses.
    pub revision: Revision,
    /// What the client offers, as far as the revision knows it.
    pub capabilities: CapabilitySet,
    /// Everything the client said: an [`InitializeParams`](crate::model::InitializeParams).
    pub params: Raw<'a>,
}

impl Opened<'_> {
    /// Who the client is, for people to read; nothing may depend on it. `None` if it has not said so in a form
    /// that can be read.
    pub fn client_info(&self) -> Option<Implementation<'_>> {
        client_info(&self.params)
    }

    /// The same with its own copy of the text.
    pub fn into_owned(self) -> Opened<'static> {
        Opened { params: self.params.into_owned(), ..self }
    }
}
