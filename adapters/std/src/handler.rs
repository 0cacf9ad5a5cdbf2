//! Handlers that run on threads.

use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use mcp_sansio::{ErrorCode, RespondError, Server};
use mcp_sansio_driver::{Exchange, Handle, Job, Machine, Pool, Run, Sleep};

/// Serves requests and hears of everything else.
///
/// A function that takes an [`Exchange`] and returns what answering it gave is a handler:
///
/// ```
/// use mcp_sansio::{ErrorCode, RespondError};
/// use mcp_sansio_std::{Exchange, Handler};
///
/// fn refuse(exchange: &Exchange) -> Result<(), RespondError> {
///     exchange.reject(ErrorCode::METHOD_NOT_FOUND, "I do nothing")
/// }
///
/// fn is_handler(_: impl Handler) {}
/// is_handler(refuse);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no handler",
    note = "a function that is one takes an `&Exchange` and returns what `respond` and `reject` \
            return: `Result<(), RespondError>`",
    note = "`Router`, made of tools, prompts and resources, is one too"
)]
pub trait Handler<M: Machine = Server>: Send + Sync + 'static {
    /// Serves a request, on a thread of a pool. It may take its time, call the other side and wait
    /// for it; other requests are served meanwhile, by other threads as soon as this one has taken half a millisecond.
    fn serve(&self, exchange: &Exchange<M>);

    /// Told of the connection before anything happens on it: keep the handle to end it from elsewhere.
    fn begin(&self, handle: &Handle<M>) {
        _ = handle;
    }

    /// Told of everything that is not a request, one after the other in the order it came.
    ///
    /// Events that come while 1024 others wait, or as many bytes as four of the largest frames have,
    /// are dropped; those that tell of the end are not.
    fn event(&self, handle: &Handle<M>, event: M::Event) {
        _ = (handle, event);
    }
}

impl<M: Machine, F> Handler<M> for F
where
    F: Fn(&Exchange<M>) -> Result<(), RespondError> + Send + Sync + 'static,
{
    fn serve(&self, exchange: &Exchange<M>) {
        // What can go wrong is that nobody wants the answer any more, or that it cannot be written;
        // in the latter case the exchange answers for itself.
        _ = self(exchange);
    }
}

/// A handler that offers nothing.
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
    fn serve(&self, exchange: &Exchange<M>) {
        _ = exchange.reject(ErrorCode::METHOD_NOT_FOUND, "method not found");
    }
}

/// Runs a handler on threads that are kept for the next request.
pub(crate) struct Threads<M: Machine, H> {
    handler: Arc<H>,
    pool: Pool<Job<M>>,
}

impl<M: Machine, H: Handler<M>> Threads<M, H> {
    pub(crate) fn new(handler: H) -> Self {
        let handler = Arc::new(handler);
        let served = Arc::clone(&handler);
        // What panics drops its job, which has been answered by that.
        let run = move |job| match job {
            Job::Serve(exchange) => served.serve(&exchange),
            Job::Deliver(mut telling) => {
                let handle = telling.handle().clone();
                (&mut telling).for_each(|event| served.event(&handle, event));
            }
            // There are no others.
            _ => {}
        };
        Self { handler, pool: Pool::new("mcp handler", run) }
    }
}

impl<M: Machine, H: Handler<M>> Run<M> for Threads<M, H> {
    fn begin(&self, handle: &Handle<M>) {
        self.handler.begin(handle);
    }

    fn run(&self, job: Job<M>) {
        self.pool.push(job);
    }
}

/// Waits by sleeping: what [`Process::end`](crate::Process::end) waits with in a program without a runtime.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Sleeps;

impl Sleeps {
    /// What sleeps.
    pub const fn new() -> Self {
        Self
    }
}

impl Sleep for Sleeps {
    fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        thread::sleep(time);
        Box::pin(ready(()))
    }

    fn blocks(&self) -> bool {
        true
    }
}
