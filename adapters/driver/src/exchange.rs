//! A request that a handler is working on.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use mcp_sansio::capability::CapabilitySet;
use mcp_sansio::error::{ErrorObject, NotifyError};
use mcp_sansio::json::Raw;
use mcp_sansio::model::method::Notification;
use mcp_sansio::model::{InputRequired, TaskSupport};
use mcp_sansio::progress::{Progress, ProgressReport};
use mcp_sansio::request::TaskMode;
use mcp_sansio::subscription::{Delivery, Log};
use mcp_sansio::task::{NewTask, TaskError};
use mcp_sansio::{CallOptions, ErrorCode, IncomingId, Instant, Payload, RespondError, Server};
use serde::Serialize;

use crate::handle::Handle;
use crate::machine::Machine;
use crate::out::Out;
use crate::requests::{Permit, Requests, Started};
use crate::serialized::with_buffer;
use crate::signal::{Notified, Signal, Signalled};
use crate::task_handle::TaskHandle;
use crate::trace;
use crate::wire::Wire;

/// A request to answer, once.
///
/// Nothing here waits: an answer is accepted at once and leaves when the peer reads. Clones are of the same
/// request. If the last of them is dropped without an answer, because the handler forgot or panicked, the
/// answer is `-32603`.
#[must_use = "an exchange that is dropped is answered with an error"]
pub struct Exchange<M: Machine = Server> {
    inner: Arc<Inner<M>>,
}

struct Inner<M: Machine> {
    id: IncomingId,
    request: M::Request,
    signal: Signal,
    handle: Handle<M>,
    answered: AtomicBool,
    /// How many exchanges there are of it, beside whoever runs its handler.
    exchanges: AtomicUsize,
    /// What it has of a bound that connections share.
    permit: Option<Permit>,
}

/// Keeps the place of a request among those that are served at the same time, until it is dropped.
pub struct Place {
    _inner: Arc<dyn Send + Sync>,
}

impl fmt::Debug for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Place").finish_non_exhaustive()
    }
}

impl<M: Machine> Exchange<M> {
    #[inline]
    pub(crate) fn new(started: Started<M>, wire: &Arc<Wire<M>>) -> Self {
        let Started { id, request, permit } = started;
        let inner = Inner {
            id,
            request,
            signal: Signal::default(),
            handle: Handle::new(wire),
            answered: AtomicBool::new(false),
            exchanges: AtomicUsize::new(1),
            permit,
        };
        Self { inner: Arc::new(inner) }
    }

    /// What finds out that the answer is not wanted any more.
    pub(crate) fn signalled(&self) -> Weak<dyn Signalled> {
        Arc::<Inner<M>>::downgrade(&self.inner)
    }

    /// What keeps others from being served in its place, also when this exchange has been given away. It is
    /// held as long as this exchange is; whoever runs a handler holds it as long as that goes on.
    pub fn place(&self) -> Place {
        Place { _inner: Arc::<Inner<M>>::clone(&self.inner) }
    }

    /// The request.
    pub fn request(&self) -> &M::Request {
        &self.inner.request
    }

    /// The connection it came on, for calls and notifications.
    pub fn handle(&self) -> &Handle<M> {
        &self.inner.handle
    }

    /// Options for a call that is made because of this request.
    pub fn call_options(&self) -> CallOptions {
        CallOptions::new().parent(self.inner.id)
    }

    /// Answers it. The result serialises to an object; `()` is an empty one.
    ///
    /// # Errors
    ///
    /// [`RespondError`] says why the answer was not sent. After [`RespondError::Encode`] and
    /// [`RespondError::NotAllowed`] another one can be.
    pub fn respond<T: Payload + ?Sized>(&self, result: &T) -> Result<(), RespondError> {
        let id = self.inner.id;
        with_buffer(|buffer| {
            if let Ok(result) = M::write_result(self.request(), result, buffer) {
                return self.answer(|machine, out| machine.respond(id, &result, out));
            }
            // What is wrong with it may be that nobody waits for it, which the machine knows.
            let result = Raw::from_payload(result)?;
            self.answer(|machine, out| machine.respond(id, &result, out))
        })
    }

    /// Answers it with an error. The message is one short sentence.
    ///
    /// # Errors
    ///
    /// As for [`respond`](Self::respond).
    pub fn reject(&self, code: ErrorCode, message: &str) -> Result<(), RespondError> {
        self.answer(|machine, out| machine.reject(self.inner.id, code, message, out))
    }

    /// Answers it with an error and something more to say, any JSON.
    ///
    /// # Errors
    ///
    /// As for [`respond`](Self::respond).
    pub fn reject_with<T: Serialize + ?Sized>(
        &self,
        code: ErrorCode,
        message: &str,
        data: &T,
    ) -> Result<(), RespondError> {
        let data = Raw::from_serialize(data)?;
        self.answer(|machine, out| machine.reject_with(self.inner.id, code, message, &data, out))
    }

    /// Answers it with an error as it came from elsewhere: code, message and data. For gateways.
    ///
    /// # Errors
    ///
    /// As for [`respond`](Self::respond).
    pub fn reject_as(&self, error: &ErrorObject<'_>) -> Result<(), RespondError> {
        self.answer(|machine, out| machine.reject_as(self.inner.id, error, out))
    }

    /// Tells the peer how far the work is, if it asked for that.
    ///
    /// # Errors
    ///
    /// As for [`respond`](Self::respond).
    pub fn progress(&self, progress: Progress<'_>) -> Result<ProgressReport, RespondError> {
        self.inner
            .handle
            .wire()
            .with(|machine, out, now| machine.progress(self.inner.id, progress, now, out))
    }

    /// Sends a notification that belongs to this request.
    ///
    /// # Errors
    ///
    /// As for [`Handle::notify`].
    pub fn notify<N: Notification>(&self, params: &N::Params<'_>) -> Result<Delivery, NotifyError> {
        self.notify_method(N::NAME, params)
    }

    /// Sends a notification that belongs to this request, by name.
    ///
    /// # Errors
    ///
    /// As for [`Handle::notify`].
    pub fn notify_method<T: Payload + ?Sized>(
        &self,
        method: &str,
        params: &T,
    ) -> Result<Delivery, NotifyError> {
        self.inner.handle.notify_about(method, params, Some(self.inner.id))
    }

    /// Whether the answer is not wanted any more, or has been given. Work should stop.
    pub fn is_cancelled(&self) -> bool {
        self.inner.signal.is_raised()
    }

    /// Waits, at most so long, until the answer is not wanted any more. Says whether that is so.
    ///
    /// A handler on a thread of its own that has to wait waits here.
    pub fn wait_cancelled(&self, patience: Duration) -> bool {
        self.inner.signal.wait(patience)
    }

    /// Waits until the answer is not wanted any more, because the peer has cancelled the request or the
    /// connection has ended, or has been given.
    pub fn cancelled(&self) -> Notified<'_> {
        self.inner.signal.notified()
    }

    /// Answers it with a task that is worked on from now on, on this thread or on any other; see
    /// [`new_task`](crate::new_task) for something to begin it with. This exchange is over then, and what
    /// there is to say is said with the handle. While this handler goes on, others run all the same.
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
    /// [`TaskError`] says why there is no task; [`TaskError::NotWanted`] also if this connection has none
    /// ([`SharedTasks`](crate::SharedTasks)). The request is still open.
    pub fn begin_task(&self, new: NewTask) -> Result<TaskHandle, TaskError> {
        let wire = self.inner.handle.wire();
        let task = wire.begin_task(self.inner.id, new)?;
        wire.act(|state| {
            state.requests.lend(self.inner.id);
            state.requests.answered(self.inner.id, self.token());
        });
        self.is_answered();
        Ok(task)
    }

    /// What tells this run of the handler from others.
    fn token(&self) -> *const () {
        Arc::as_ptr(&self.inner).cast()
    }

    fn is_answered(&self) {
        trace::answered(self.inner.id);
        self.inner.answered.store(true, Ordering::Relaxed);
        self.inner.signal.raise();
    }

    fn answer(
        &self,
        send: impl FnOnce(&mut M, &mut Out) -> Result<(), RespondError>,
    ) -> Result<(), RespondError> {
        self.answer_in(|machine, _, out, _| send(machine, out))
    }

    /// The same with the time, and with what is known of the requests that have handlers.
    fn answer_in(
        &self,
        send: impl FnOnce(&mut M, Instant, &mut Out, &mut Requests<M>) -> Result<(), RespondError>,
    ) -> Result<(), RespondError> {
        let sent = self.inner.handle.wire().answer_in(|machine, now, out, requests| {
            let sent = send(machine, now, out, requests);
            if !is_open_after(&sent) {
                requests.answered(self.inner.id, self.token());
            }
            sent
        });
        if !is_open_after(&sent) {
            self.is_answered();
        }
        sent
    }
}

/// Whether another answer can be given to a request.
const fn is_open_after(sent: &Result<(), RespondError>) -> bool {
    matches!(
        sent,
        Err(RespondError::Encode(_) | RespondError::NotAllowed(_) | RespondError::TooManyRounds)
    )
}

impl Exchange<Server> {
    /// Sends a log message about this request, if the client wants messages of its level. Says what
    /// became of it.
    ///
    /// # Errors
    ///
    /// As for [`Handle::notify_method`].
    pub fn log<T: Serialize + ?Sized>(&self, log: &Log<'_, T>) -> Result<Delivery, NotifyError> {
        self.inner.handle.log(&log.about(self.inner.id))
    }

    /// Answers a call of a tool whose arguments do not fit it:
    /// see [`Server::reject_arguments`].
    ///
    /// # Errors
    ///
    /// As for [`respond`](Self::respond).
    pub fn reject_arguments(&self, text: &str) -> Result<(), RespondError> {
        self.answer(|server, out| server.reject_arguments(self.inner.id, text, out))
    }

    /// Ends this exchange because something is needed of the client before the request can be answered. The
    /// handler gets the request again, in another exchange, with
    /// [`inputs`](mcp_sansio::Request::inputs) and [`state`](mcp_sansio::Request::state): see
    /// [`Server::require_input`].
    ///
    /// # Errors
    ///
    /// As for [`Server::require_input`].
    pub fn require_input(&self, required: &InputRequired<'_>) -> Result<(), RespondError> {
        let (id, request) = (self.inner.id, &self.inner.request);
        self.answer_in(|server, now, out, requests| {
            server.require_input(request, required, now, out)?;
            // Without a session the client makes another request, and this one is over.
            if server.context(id).is_some() {
                requests.wait_for_input(id, self.inner.permit.clone());
            }
            Ok(())
        })
    }

    /// Refuses the request because the client has not declared what it takes to serve it: see
    /// [`Server::reject_missing`].
    ///
    /// # Errors
    ///
    /// As for [`respond`](Self::respond).
    pub fn reject_missing(&self, needed: CapabilitySet) -> Result<(), RespondError> {
        self.answer(|server, out| server.reject_missing(self.inner.id, needed, out))
    }
}

/// # Tasks
impl Exchange<Server> {
    /// Says how the call of a tool with this `taskSupport` is to be served; `None` means that it has been
    /// rejected: see [`Server::task_mode`].
    ///
    /// # Errors
    ///
    /// As for [`Server::task_mode`].
    pub fn task_mode(&self, support: &TaskSupport<'_>) -> Result<Option<TaskMode>, RespondError> {
        let wire = self.inner.handle.wire();
        let mode = wire.answer_in(|server, _, out, requests| {
            let mode = server.task_mode(self.inner.id, support, out)?;
            if mode.is_none() {
                requests.answered(self.inner.id, self.token());
            }
            Ok::<_, RespondError>(mode)
        })?;
        if mode.is_none() {
            self.is_answered();
        }
        Ok(mode)
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
        // Whoever drops the last one sees what the others have done with theirs.
        if inner.exchanges.fetch_sub(1, Ordering::AcqRel) == 1
            && !inner.answered.load(Ordering::Relaxed)
        {
            trace::unanswered(inner.id);
            // If it has been cancelled or the connection has ended, nobody waits.
            inner.handle.wire().refuse_unanswered(inner.id);
        }
    }
}

/// No handler runs any more, and nobody has the exchange.
impl<M: Machine> Drop for Inner<M> {
    fn drop(&mut self) {
        self.handle.wire().finished(self.id);
    }
}

impl<M: Machine> Signalled for Inner<M> {
    fn signal(&self) -> &Signal {
        &self.signal
    }
}

impl<M: Machine> fmt::Debug for Exchange<M> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Exchange").field("request", self.request()).finish_non_exhaustive()
    }
}
