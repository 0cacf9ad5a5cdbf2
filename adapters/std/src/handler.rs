//! [`Handler`]: handlers that run on threads.

use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use mcp_sansio::{ErrorCode, RespondError, Server};
use mcp_sansio_driver::{Exchange, Handle, Job, Machine, Pool, Run, Sleep};

/// A handler of requests and events.
///
/// A function that takes an [`Exchange`] and returns the result of responding is a handler:
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
    /// Serves a request, on a thread of a pool. It may take long, call the peer and block for the result. Other
    /// requests are served in the meantime, by other threads once this one has taken half a millisecond.
    ///
    /// A function returns the result of `respond` or `reject`. If that is an error and the request is still open, the
    /// client receives the error `-32603` with the reason: dropping an [`Exchange`] does that.
    fn serve(&self, exchange: &Exchange<M>);

    /// Called with the connection before its first event. Keep the handle to end the connection from elsewhere.
    fn begin(&self, handle: &Handle<M>) {
        _ = handle;
    }

    /// Called with each event that is not a request, one after the other in order of arrival.
    ///
    /// An event is dropped if 1024 others wait, or if the waiting events would hold more bytes than four frames of the
    /// largest size. Events that report the end of the connection are never dropped.
    fn event(&self, handle: &Handle<M>, event: M::Event) {
        _ = (handle, event);
    }
}

impl<M: Machine, F> Handler<M> for F
where
    F: Fn(&Exchange<M>) -> Result<(), RespondError> + Send + Sync + 'static,
{
    fn serve(&self, exchange: &Exchange<M>) {
        // The possible errors are that the response is no longer wanted, or that it does not fit. In the latter case
        // the dropped exchange responds with the reason.
        _ = self(exchange);
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
    fn serve(&self, exchange: &Exchange<M>) {
        _ = exchange.reject(ErrorCode::METHOD_NOT_FOUND, "method not found");
    }
}

/// Runs a handler on threads, which are reused for further requests.
pub(crate) struct Threads<M: Machine, H> {
    handler: Arc<H>,
    pool: Pool<Job<M>>,
}

impl<M: Machine, H: Handler<M>> Threads<M, H> {
    pub(crate) fn new(handler: H) -> Self {
        let handler = Arc::new(handler);
        let served = Arc::clone(&handler);
        // A panic drops the job, which responds to its request with an error.
        let run = move |job| match job {
            Job::Serve(exchange) => exchange.in_span(|| served.serve(&exchange)),
            Job::Deliver(mut delivery) => {
                let handle = delivery.handle().clone();
                (&mut delivery).for_each(|event| served.event(&handle, event));
            }
            // No other jobs exist in this version.
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

/// A timer that blocks the thread, for [`Process::end`](crate::Process::end) in a program without a runtime.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Sleeps;

impl Sleeps {
    /// Creates the timer.
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
