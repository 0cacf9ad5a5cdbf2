//! [`Exchange`]: an incoming request in its handler.

mod server;
mod span;

use std::any::{Any, TypeId};
use std::fmt;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use mcp_sansio::capability::CapabilitySet;
use mcp_sansio::error::{ErrorObject, NotifyError};
use mcp_sansio::json::Raw;
use mcp_sansio::model::InputRequired;
use mcp_sansio::model::method::Notification;
use mcp_sansio::progress::{Progress, ProgressReport};
use mcp_sansio::subscription::{Delivery, Log};
use mcp_sansio::task::{NewTask, TaskError};
use mcp_sansio::{CallOptions, ErrorCode, IncomingId, Instant, Payload, RespondError, Server};
use serde::Serialize;

use crate::extensions::AddedValues;
use crate::handle::Handle;
use crate::machine::Machine;
use crate::out::Out;
use crate::requests::{Admitted, Requests};
use crate::serialized::with_buffer;
use crate::signal::{Notified, Signal, Signalled};
use crate::spans::RequestSpan;
use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::task_handle::TaskHandle;
use crate::trace;
use crate::wire::Wire;

/// An incoming request, which gets exactly one response. In the core the request is an [`IncomingId`], and
/// [`Route::Exchange`](mcp_sansio::Route) is the route of its messages.
///
/// No method waits for the peer: a response is accepted at once and sent as the peer reads. Clones refer to the
/// same request. If the last clone is dropped without a response, because the handler forgot it or panicked, the
/// response is the error `-32603`. If the response of the handler did not fit, the error contains the reason.
#[must_use = "an exchange that is dropped is answered with an error"]
pub struct Exchange<M: Machine = Server> {
    inner: Arc<Inner<M>>,
}

struct Inner<M: Machine> {
    /// The request, and its share in a limit that connections share.
    admitted: Admitted<M>,
    signal: Signal,
    handle: Handle<M>,
    answered: AtomicBool,
    /// The error of the first response that could not be sent.
    failure: OnceLock<String>,
    /// The reason that the peer gave when it cancelled the request.
    cancel_reason: OnceLock<Box<str>>,
    /// The number of clones, not counting the [`RequestSlot`]s that runners hold.
    exchanges: AtomicUsize,
    /// The values that its handlers have added.
    added: AddedValues,
    span: RequestSpan,
}

/// The slot of a request among those that are served at the same time. Dropping it frees the slot.
pub struct RequestSlot {
    _inner: Arc<dyn Send + Sync>,
}

impl fmt::Debug for RequestSlot {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("RequestSlot").finish_non_exhaustive()
    }
}

impl<M: Machine> Exchange<M> {
    #[inline(always)]
    pub(crate) fn new(admitted: Admitted<M>, wire: &Arc<Wire<M>>) -> Self {
        let inner = Inner {
            admitted,
            signal: Signal::default(),
            handle: Handle::new(wire),
            answered: AtomicBool::new(false),
            failure: OnceLock::new(),
            cancel_reason: OnceLock::new(),
            exchanges: AtomicUsize::new(1),
            added: AddedValues::default(),
            span: RequestSpan::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Returns the signal that is raised when the response is no longer wanted.
    pub(crate) fn signalled(&self) -> Weak<dyn Signalled> {
        Arc::<Inner<M>>::downgrade(&self.inner)
    }

    /// For adapters. Returns the slot of the request, which stays taken while a [`RequestSlot`] or a clone of the
    /// exchange exists. A runner holds it until the handler returns, even if the handler gives the exchange away.
    pub fn place(&self) -> RequestSlot {
        RequestSlot { _inner: Arc::<Inner<M>>::clone(&self.inner) }
    }

    /// Returns the request.
    pub fn request(&self) -> &M::Request {
        &self.inner.admitted.request
    }

    /// Returns the value of this type that belongs to the request, or else to its connection
    /// ([`ConnectionOptions::extension`](crate::ConnectionOptions::extension)). Values that a handler
    /// [added](Self::insert_extension) come before those of the adapter.
    ///
    /// Over HTTP, `mcp_sansio_http::HttpRequest` is a value of each request: its fields, its sender, the claims of its
    /// access token, and the values of middleware.
    pub fn extension<T: Any>(&self) -> Option<&T> {
        let attached = || {
            let value = self.inner.admitted.permit.as_deref()?.value(TypeId::of::<T>())?;
            value.downcast_ref()
        };
        let connection = || self.handle().wire().extension();
        self.inner.added.get().or_else(attached).or_else(connection)
    }

    /// Adds a value to the request, for the code that handles it later: a middleware adds the user that it found, for
    /// example. All clones of the exchange have the value. A later value of the same type hides it.
    pub fn insert_extension<T: Any + Send + Sync>(&self, value: T) {
        self.inner.added.insert(value);
    }

    /// Returns the connection of the request, for calls and notifications.
    pub fn handle(&self) -> &Handle<M> {
        &self.inner.handle
    }

    /// Returns options for a call that is made on behalf of this request.
    pub fn call_options(&self) -> CallOptions {
        CallOptions::new().parent(self.inner.id())
    }

    /// Responds with a result. The result serialises to an object; `()` is an empty one.
    ///
    /// # Errors
    ///
    /// [`RespondError`] if no response was sent. After [`Encode`](RespondError::Encode),
    /// [`NotAllowed`](RespondError::NotAllowed) and [`TooManyRounds`](RespondError::TooManyRounds) the handler can
    /// still respond.
    pub fn respond<T: Payload + ?Sized>(&self, result: &T) -> Result<(), RespondError> {
        let id = self.inner.id();
        with_buffer(|buffer| {
            if let Ok(result) = M::write_result(self.request(), result, buffer) {
                let sent = self.answer(|machine, out| machine.respond(id, &result, out));
                return self.noted(sent, |span| span.result(|| Raw::from_payload(&result).ok()));
            }
            // The write may have failed because the request is no longer open. Only the machine can report that.
            let raw = Raw::from_payload(result);
            let result = raw.map_err(|error| self.failed(RespondError::from(error)))?;
            self.answer(|machine, out| machine.respond(id, &result, out))
        })
    }

    /// Responds with an error. The message is one short sentence.
    ///
    /// # Errors
    ///
    /// As for [`respond`](Self::respond).
    pub fn reject(&self, code: ErrorCode, message: &str) -> Result<(), RespondError> {
        let sent = self.answer(|machine, out| machine.reject(self.inner.id(), code, message, out));
        self.noted(sent, |span| span.error(self.code_on_the_wire(code)))
    }

    /// Responds with an error object: an error of the application with data ([`ErrorObject::with`]), or an error from
    /// another connection, which a gateway passes on.
    ///
    /// # Errors
    ///
    /// As for [`respond`](Self::respond).
    pub fn reject_with(&self, error: &ErrorObject<'_>) -> Result<(), RespondError> {
        let sent = self.answer(|machine, out| machine.reject_with(self.inner.id(), error, out));
        self.noted(sent, |span| span.error(self.code_on_the_wire(error.code)))
    }

    /// Sends a progress notification, if the peer requested progress.
    ///
    /// # Errors
    ///
    /// As for [`respond`](Self::respond).
    pub fn progress(&self, progress: Progress<'_>) -> Result<ProgressReport, RespondError> {
        self.inner
            .handle
            .wire()
            .with(|machine, out, now| machine.progress(self.inner.id(), progress, now, out))
    }

    /// Sends a notification that belongs to this request.
    ///
    /// # Errors
    ///
    /// As for [`Handle::notify`].
    pub fn notify<N: Notification>(&self, params: &N::Params<'_>) -> Result<Delivery, NotifyError> {
        self.notify_method(N::NAME, params)
    }

    /// Sends a notification that belongs to this request, with the method as a string.
    ///
    /// # Errors
    ///
    /// As for [`Handle::notify`].
    pub fn notify_method<T: Payload + ?Sized>(
        &self,
        method: &str,
        params: &T,
    ) -> Result<Delivery, NotifyError> {
        self.inner.handle.notify_about(method, params, Some(self.inner.id()))
    }

    /// Whether the response is no longer wanted, or has been given. The handler should stop then.
    pub fn is_cancelled(&self) -> bool {
        self.inner.signal.is_raised()
    }

    /// Returns the reason that the peer gave when it cancelled the request, for people.
    pub fn cancel_reason(&self) -> Option<&str> {
        self.inner.cancel_reason.get().map(|reason| &**reason)
    }

    /// Blocks until the response is no longer wanted or has been given, at most for `patience`. Returns whether
    /// that is the case.
    ///
    /// For a handler on its own thread that has to wait. A handler that stops returns
    /// `Err(RespondError::Cancelled)`, or the error of its `respond`.
    pub fn wait_cancelled(&self, patience: Duration) -> bool {
        self.inner.signal.wait(patience)
    }

    /// Returns a future that is ready once the peer has cancelled the request, the connection has ended, or a
    /// response has been given.
    pub fn cancelled(&self) -> Notified<'_> {
        self.inner.signal.notified()
    }

    /// Responds with a new task, whose work continues on this thread or on any other. [`new_task`](crate::new_task)
    /// returns a suitable [`NewTask`]. The exchange is finished then; the handle reports the progress and the
    /// result of the task. While this handler continues, other handlers run all the same.
    ///
    /// ```
    /// use mcp_sansio::model::{CallToolResult, TaskSupport};
    /// use mcp_sansio::request::TaskMode;
    /// use mcp_sansio::RespondError;
    /// use mcp_sansio_driver::{Exchange, new_task};
    ///
    /// fn slow_tool(exchange: &Exchange) -> Result<(), RespondError> {
    ///     match exchange.task_mode(&TaskSupport::Optional)? {
    ///         Some(TaskMode::Task) => {
    ///             let task = new_task().ok().map(|new| exchange.begin_task(new));
    ///             // Without a task the exchange answers for itself.
    ///             let Some(Ok(task)) = task else { return Ok(()) };
    ///             // … a lot of work, which looks at `task.is_cancelled()` now and then …
    ///             _ = task.complete(&CallToolResult::text("done"));
    ///             Ok(())
    ///         }
    ///         Some(TaskMode::Inline) => exchange.respond(&CallToolResult::text("done")),
    ///         None => Ok(()), // it has been rejected
    ///     }
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// [`TaskError`] if no task was created; [`TaskError::NotWanted`] also if this connection has no
    /// [`SharedTasks`](crate::SharedTasks). The request is still open.
    pub fn begin_task(&self, new: NewTask) -> Result<TaskHandle, TaskError> {
        let wire = self.inner.handle.wire();
        let task = wire.begin_task(self.inner.id(), new)?;
        wire.act(|state| {
            state.requests.lend(self.inner.id());
            state.requests.answered(self.inner.id(), self.token());
        });
        self.is_answered();
        Ok(task)
    }

    /// Returns an identity of this run of the handler.
    fn token(&self) -> *const () {
        Arc::as_ptr(&self.inner).cast()
    }

    fn is_answered(&self) {
        trace::answered(self.inner.id());
        self.inner.answered.store(true, Ordering::Relaxed);
        self.inner.signal.raise();
    }

    fn answer(
        &self,
        send: impl FnOnce(&mut M, &mut Out) -> Result<(), RespondError>,
    ) -> Result<(), RespondError> {
        let (wire, id) = (self.inner.handle.wire(), self.inner.id());
        let mut permit = None;
        let sent = wire.respond(id, |machine, out, requests| {
            let sent = send(machine, out);
            self.leave(requests, &sent);
            if sent.is_ok() {
                // A clone may have required input: the request is not repeated any more.
                permit = requests.input_came(id);
            }
            sent
        });
        // Without the lock: a permit is a value of the application.
        drop(permit);
        self.note_sent(sent)
    }

    /// As [`answer`](Self::answer), with the time and the table of requests.
    fn answer_in(
        &self,
        send: impl FnOnce(&mut M, Instant, &mut Out, &mut Requests<M>) -> Result<(), RespondError>,
    ) -> Result<(), RespondError> {
        let sent = self.inner.handle.wire().answer_in(|machine, now, out, requests| {
            let sent = send(machine, now, out, requests);
            self.leave(requests, &sent);
            sent
        });
        self.note_sent(sent)
    }

    /// Removes this run of the handler from the table, unless it can still respond.
    fn leave(&self, requests: &mut Requests<M>, sent: &Result<(), RespondError>) {
        if !is_open_after(sent) {
            requests.answered(self.inner.id(), self.token());
        }
    }

    /// Notes the result of a response.
    fn note_sent(&self, sent: Result<(), RespondError>) -> Result<(), RespondError> {
        match sent {
            Err(error) if is_open_after(&Err(error)) => Err(self.failed(error)),
            sent => {
                if sent == Err(RespondError::Cancelled) {
                    self.inner.span.cancelled();
                }
                self.is_answered();
                sent
            }
        }
    }

    /// Keeps the reason, for a handler that returns without another response.
    #[cold]
    fn failed(&self, error: RespondError) -> RespondError {
        _ = self.inner.failure.set(error.to_string());
        error
    }
}

/// Whether the request can still get another response.
const fn is_open_after(sent: &Result<(), RespondError>) -> bool {
    matches!(
        sent,
        Err(RespondError::Encode(_) | RespondError::NotAllowed(_) | RespondError::TooManyRounds)
    )
}

impl Exchange<Server> {
    /// Sends a log message that belongs to this request, if the client enabled its level. The [`Delivery`] says whether
    /// the message was sent, queued or omitted.
    ///
    /// # Errors
    ///
    /// As for [`Handle::notify_method`].
    pub fn log<T: Serialize + ?Sized>(&self, log: &Log<'_, T>) -> Result<Delivery, NotifyError> {
        self.inner.handle.log(&log.about(self.inner.id()))
    }

    /// Responds to a tool call with invalid arguments: see [`Server::reject_arguments`].
    ///
    /// # Errors
    ///
    /// As for [`respond`](Self::respond).
    pub fn reject_arguments(&self, text: &str) -> Result<(), RespondError> {
        let sent = self.answer(|server, out| server.reject_arguments(self.inner.id(), text, out));
        self.noted(sent, |span| span.failed("invalid_arguments"))
    }

    /// Ends this exchange with a request for client input. The handler is invoked again with the input, in another
    /// exchange, with [`inputs`](mcp_sansio::Request::inputs) and [`state`](mcp_sansio::Request::state): see
    /// [`Server::require_input`].
    ///
    /// # Errors
    ///
    /// As for [`Server::require_input`].
    pub fn require_input(&self, required: &InputRequired<'_>) -> Result<(), RespondError> {
        let (id, request) = (self.inner.id(), &self.inner.admitted.request);
        self.answer_in(|server, now, out, requests| {
            server.require_input(request, required, now, out)?;
            // In the modern era the client sends another request, and this one is finished.
            if server.in_flight().context(id).is_some() {
                requests.wait_for_input(id, self.inner.admitted.permit.clone());
            }
            Ok(())
        })
    }

    /// Refuses the request because the client has not declared the capabilities that it needs: see
    /// [`Server::reject_missing`].
    ///
    /// # Errors
    ///
    /// As for [`respond`](Self::respond).
    pub fn reject_missing(&self, needed: CapabilitySet) -> Result<(), RespondError> {
        let sent = self.answer(|server, out| server.reject_missing(self.inner.id(), needed, out));
        self.noted(sent, |span| span.failed("missing_capability"))
    }
}

impl<M: Machine> Clone for Exchange<M> {
    fn clone(&self) -> Self {
        self.inner.exchanges.fetch_add(1, Ordering::Relaxed);
        Self { inner: Arc::clone(&self.inner) }
    }
}

impl<M: Machine> Drop for Exchange<M> {
    fn drop(&mut self) {
        let inner = &self.inner;
        // The last drop has to see the responses that other clones have given.
        if inner.exchanges.fetch_sub(1, Ordering::AcqRel) == 1
            && !inner.answered.load(Ordering::Relaxed)
        {
            if inner.signal.is_raised() {
                inner.span.cancelled();
            } else {
                trace::unanswered(inner.id());
                inner.span.error(ErrorCode::INTERNAL_ERROR);
            }
            // The machine ignores the refusal if the request was cancelled or the connection has ended.
            inner.handle.wire().refuse_unanswered(inner.id(), inner.failure.get().cloned());
        }
    }
}

impl<M: Machine> Inner<M> {
    fn id(&self) -> IncomingId {
        self.admitted.id()
    }
}

/// Frees the slot once no handler runs and no exchange is left.
impl<M: Machine> Drop for Inner<M> {
    fn drop(&mut self) {
        self.handle.wire().finished(self.id());
    }
}

impl<M: Machine> Signalled for Inner<M> {
    fn signal(&self) -> &Signal {
        &self.signal
    }

    fn note_reason(&self, reason: &str) {
        _ = self.cancel_reason.set(reason.into());
    }
}

impl<M: Machine> fmt::Debug for Exchange<M> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Exchange").field("request", self.request()).finish_non_exhaustive()
    }
}
