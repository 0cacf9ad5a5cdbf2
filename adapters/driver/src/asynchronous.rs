//! Handlers that run as tasks of a runtime.

use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use mcp_sansio::{ErrorCode, RespondError, Server};
use pin_project_lite::pin_project;

use crate::exchange::Exchange;
use crate::handle::Handle;
use crate::machine::Machine;
use crate::run::{Job, Run};
pub use crate::workers::InlineWorker;
use crate::workers::Workers;

/// A handler of requests and events.
///
/// A function that takes an [`Exchange`] and returns a future of the result of responding is a handler:
///
/// ```
/// use mcp_sansio::{ErrorCode, RespondError};
/// use mcp_sansio_driver::{Exchange, asynchronous::Handler};
///
/// async fn refuse(exchange: Exchange) -> Result<(), RespondError> {
///     exchange.reject(ErrorCode::METHOD_NOT_FOUND, "I do nothing")
/// }
///
/// fn is_handler(_: impl Handler) {}
/// is_handler(refuse);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no handler",
    note = "a function that is one takes an `Exchange` and gives a future of what `respond` and \
            `reject` give: `Result<(), RespondError>`",
    note = "`Router`, made of tools, prompts and resources, is one too"
)]
pub trait Handler<M: Machine = Server>: Send + Sync + 'static {
    /// Serves a request. The future may take long, call the peer and await the result; other requests are served in the
    /// meantime. Blocking work belongs on a thread, to which the exchange can be sent.
    ///
    /// The future runs as a task of its own. On a runtime with one thread it may begin in the task that has received the
    /// request, and gets its own task when it waits. Its first poll then finds the task-local values of that task.
    ///
    /// A function returns the result of `respond` or `reject`. If that is an error and the request is still open, the
    /// client receives the error `-32603` with the reason: dropping an [`Exchange`] does that.
    fn serve(&self, exchange: Exchange<M>) -> impl Future<Output = ()> + Send;

    /// Called with the connection before its first event. Keep the handle to end the connection from elsewhere.
    fn begin(&self, handle: &Handle<M>) {
        _ = handle;
    }

    /// Called with each event that is not a request, one after the other in order of arrival.
    ///
    /// An event is dropped if 1024 others wait, or if the waiting events would hold more bytes than four frames of the
    /// largest size. Events that report the end of the connection are never dropped.
    fn event(&self, handle: &Handle<M>, event: M::Event) -> impl Future<Output = ()> + Send {
        _ = (handle, event);
        async {}
    }
}

impl<M: Machine, F, A> Handler<M> for F
where
    F: Fn(Exchange<M>) -> A + Send + Sync + 'static,
    A: Future<Output = Result<(), RespondError>> + Send,
{
    async fn serve(&self, exchange: Exchange<M>) {
        // The possible errors are that the response is no longer wanted, or that it does not fit. In the latter case
        // the dropped exchange responds with the reason.
        _ = self(exchange).await;
    }
}

/// A handler that rejects every request.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct RefuseAll;

impl RefuseAll {
    /// Creates the handler.
    pub const fn new() -> Self {
        Self
    }
}

impl<M: Machine> Handler<M> for RefuseAll {
    async fn serve(&self, exchange: Exchange<M>) {
        _ = exchange.reject(ErrorCode::METHOD_NOT_FOUND, "method not found");
    }
}

/// A future to run to its end, in its own task.
pub type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Spawns tasks of a runtime. A function that takes [`Work`] implements it.
pub trait Spawn: Send + Sync + 'static {
    /// Runs a future to its end, in its own task. It is called on any thread, and returns at once.
    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static);

    /// Whether tasks can run in parallel, on several threads.
    fn is_parallel(&self) -> bool {
        true
    }

    /// Whether the calling thread is in the context of the runtime, so that a future can use its timers and its IO.
    fn is_current(&self) -> bool {
        false
    }
}

impl<S: Fn(Work) + Send + Sync + 'static> Spawn for S {
    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self(Box::pin(work));
    }
}

/// Runs a handler as tasks of a runtime.
pub struct Spawner<M: Machine, H, S> {
    workers: Arc<Workers<M, H, S>>,
}

impl<M: Machine, H: Handler<M>, S: Spawn> Spawner<M, H, S> {
    /// Creates a runner for this handler, whose tasks `spawn` starts.
    pub fn new(handler: H, spawn: S) -> Self {
        Self { workers: Workers::new(handler, spawn) }
    }

    /// Returns a worker for the task that reads and writes the connection ([`Wire::streams`](crate::Wire::streams)): a
    /// handler that does not wait then runs in that task. `None` if tasks run in parallel, because reading would have to
    /// wait for such a handler, and after the first call.
    pub fn inline_worker(&self) -> Option<InlineWorker> {
        self.workers.inline()
    }
}

impl<M: Machine, H: Handler<M>, S: Spawn> Run<M> for Spawner<M, H, S> {
    fn begin(&self, handle: &Handle<M>) {
        self.workers.handler.begin(handle);
    }

    fn run(&self, job: Job<M>) {
        self.workers.push(job);
    }

    fn queue(&self, job: Job<M>) -> Result<bool, Job<M>> {
        Ok(self.workers.queue(job))
    }

    fn call(&self) {
        self.workers.call_for_jobs();
    }

    /// True on a runtime with one thread. On several threads the task of an HTTP request has to stay free, to notice that
    /// the client has disconnected.
    fn is_inline(&self) -> bool {
        self.workers.is_inline()
    }

    fn serve(&self, exchange: Exchange<M>, context: &mut Context<'_>) {
        if self.workers.is_inline() {
            self.workers.serve_inline(exchange, context);
        } else {
            self.run(Job::Serve(exchange));
        }
    }
}

impl<M: Machine, H, S> Drop for Spawner<M, H, S> {
    fn drop(&mut self) {
        self.workers.end();
    }
}

impl<M: Machine, H, S> fmt::Debug for Spawner<M, H, S> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Spawner").finish_non_exhaustive()
    }
}

pin_project! {
    /// A future that contains a panic. After a panic the inner future is dropped, which responds to its request
    /// with an error. The panic hook has already reported the panic.
    pub(crate) struct Contained<F> {
        #[pin]
        work: Option<F>,
    }
}

/// Wraps the future of a handler so that its panic ends nothing else.
pub(crate) const fn contained<F: Future<Output = ()>>(work: F) -> Contained<F> {
    Contained { work: Some(work) }
}

/// Drops a value that the application observes by its subscriber, or has put values of its own into, so that a panic
/// ends nothing else.
pub(crate) fn drop_contained<T>(value: T) {
    _ = catch_unwind(AssertUnwindSafe(|| drop(value)));
}

impl<F: Future<Output = ()>> Future for Contained<F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut this = self.project();
        let Some(work) = this.work.as_mut().as_pin_mut() else { return Poll::Ready(()) };
        let polled = catch_unwind(AssertUnwindSafe(|| work.poll(context)));
        if matches!(polled, Ok(Poll::Pending)) {
            return Poll::Pending;
        }
        // Dropping the future can panic as well.
        _ = catch_unwind(AssertUnwindSafe(|| this.work.set(None)));
        Poll::Ready(())
    }
}
