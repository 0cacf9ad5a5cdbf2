//! Handlers that are tasks of a runtime.

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
use crate::workers::Workers;

/// Serves requests and hears of everything else.
///
/// A function that takes an [`Exchange`] and gives a future with what answering it gave is a handler:
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
    /// Serves a request, in a task of its own. It may take its time, call the other side and await the
    /// result; other requests are served meanwhile. Work that blocks belongs on a thread, which the exchange
    /// can be sent to.
    fn serve(&self, exchange: Exchange<M>) -> impl Future<Output = ()> + Send;

    /// Told of the connection before anything happens on it: keep the handle to end it from elsewhere.
    fn begin(&self, handle: &Handle<M>) {
        _ = handle;
    }

    /// Told of everything that is not a request, one after the other in the order it came.
    ///
    /// Events that come while 1024 others wait, or as many bytes as four of the largest frames have,
    /// are dropped; those that tell of the end are not.
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
        // What can go wrong is that nobody wants the answer any more, or that it cannot be written;
        // in the latter case the exchange answers for itself.
        _ = self(exchange).await;
    }
}

/// A handler that rejects every request.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct RefuseAll;

impl RefuseAll {
    /// The handler.
    pub const fn new() -> Self {
        Self
    }
}

impl<M: Machine> Handler<M> for RefuseAll {
    async fn serve(&self, exchange: Exchange<M>) {
        _ = exchange.reject(ErrorCode::METHOD_NOT_FOUND, "method not found");
    }
}

/// Something to run to its end, in a task of its own.
pub type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Begins tasks of a runtime. A function that takes [`Work`] is one.
pub trait Spawn: Send + Sync + 'static {
    /// Runs a future to its end, in a task of its own. It is called on any thread, and returns at once.
    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static);

    /// Whether tasks can run at the same time, on several threads.
    fn is_parallel(&self) -> bool {
        true
    }
}

impl<S: Fn(Work) + Send + Sync + 'static> Spawn for S {
    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self(Box::pin(work));
    }
}

/// Runs a handler as tasks.
pub struct Spawner<M: Machine, H, S> {
    workers: Arc<Workers<M, H, S>>,
}

impl<M: Machine, H: Handler<M>, S: Spawn> Spawner<M, H, S> {
    /// Runs this handler as tasks that this begins.
    pub fn new(handler: H, spawn: S) -> Self {
        Self { workers: Workers::new(handler, spawn) }
    }
}

impl<M: Machine, H: Handler<M>, S: Spawn> Run<M> for Spawner<M, H, S> {
    fn begin(&self, handle: &Handle<M>) {
        self.workers.handler.begin(handle);
    }

    fn run(&self, job: Job<M>) {
        self.workers.push(job);
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
    /// Keeps a panic to itself. What has panicked is dropped, by which its request is answered; the panic has been
    /// reported by the panic hook.
    pub(crate) struct Contained<F> {
        #[pin]
        work: Option<F>,
    }
}

/// Runs a handler's future so that a panic of it ends nothing else.
pub(crate) const fn contained<F: Future<Output = ()>>(work: F) -> Contained<F> {
    Contained { work: Some(work) }
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
        // Dropping it can panic as well.
        _ = catch_unwind(AssertUnwindSafe(|| this.work.set(None)));
        Poll::Ready(())
    }
}
