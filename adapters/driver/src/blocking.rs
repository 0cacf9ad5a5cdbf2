//! [`Blocking`]: blocking handlers where handlers are tasks.

use std::fmt;
use std::future::Future;
use std::sync::{Arc, PoisonError};

use mcp_sansio::{RespondError, Server};

use crate::asynchronous::Handler;
use crate::exchange::Exchange;
use crate::machine::Machine;
use crate::pool::Pool;
use crate::signal::Signal;
use crate::spans::SpanScope;
use crate::sync::Mutex;

/// A handler that runs a blocking function on its own threads, where handlers are tasks of a runtime.
///
/// It has as many threads as requests that it serves at the same time and that block. These are limited per client:
/// by [`ConnectionOptions::handlers`](crate::ConnectionOptions::handlers) on a stream, and by the options of an
/// endpoint over HTTP. So a client takes no threads from other clients, and the function cannot block the runtime.
/// The threads are not part of the runtime: a function that needs the runtime, for example to spawn a task, has to
/// capture a handle of it. A paused clock of a test may also advance while the threads work.
///
/// ```
/// use std::{thread, time::Duration};
///
/// use mcp_sansio::model::CallToolResult;
/// use mcp_sansio_driver::{Blocking, Exchange};
///
/// let handler = Blocking::new(|exchange: &Exchange| {
///     thread::sleep(Duration::from_millis(10));
///     exchange.respond(&CallToolResult::text("done"))
/// });
///
/// fn is_handler(_: impl mcp_sansio_driver::asynchronous::Handler) {}
/// is_handler(handler);
/// ```
pub struct Blocking<M: Machine = Server> {
    pool: Pool<Exchange<M>>,
}

impl<M: Machine> Blocking<M> {
    /// Creates a handler that calls this function for each request. It has no threads yet.
    pub fn new(
        serve: impl Fn(&Exchange<M>) -> Result<(), RespondError> + Send + Sync + 'static,
    ) -> Self {
        let run = move |exchange: Exchange<M>| {
            // The possible errors are that the response is no longer wanted, or that it does not fit. In the latter
            // case the dropped exchange responds with the reason.
            _ = exchange.in_span(|| serve(&exchange));
        };
        Self { pool: Pool::new("mcp handler", run) }
    }
}

impl<M: Machine> Handler<M> for Blocking<M> {
    async fn serve(&self, exchange: Exchange<M>) {
        // The exchange holds the slot of the request.
        self.pool.push(exchange);
    }
}

impl<M: Machine> fmt::Debug for Blocking<M> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Blocking").field("pool", &self.pool).finish()
    }
}

/// Threads for blocking functions whose results are awaited.
pub(crate) struct Threads {
    pool: Pool<Box<dyn FnOnce() + Send>>,
}

impl Threads {
    pub(crate) fn new() -> Self {
        Self { pool: Pool::new("mcp handler", |run: Box<dyn FnOnce() + Send>| run()) }
    }

    /// Runs a function. The output is `None` if the function panics, or if the operating system has no thread for
    /// it.
    pub(crate) fn run<T: Send + 'static, F: FnOnce() -> T + Send + 'static>(
        &self,
        run: F,
    ) -> impl Future<Output = Option<T>> + Send + use<T, F> {
        let shared = Arc::new(Shared { done: Signal::default(), result: Mutex::new(None) });
        let running = Running(Arc::clone(&shared));
        let scope = SpanScope::current();
        self.pool.push(Box::new(move || {
            let result = scope.run(run);
            // No code panics while it holds this lock.
            *running.0.result.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        }));
        async move {
            shared.done.notified().await;
            shared.result.lock().unwrap_or_else(PoisonError::into_inner).take()
        }
    }
}

struct Shared<T> {
    /// Raised when the function has run, or will not run any more.
    done: Signal,
    result: Mutex<Option<T>>,
}

/// A guard that raises `done` when it is dropped, for whatever reason.
struct Running<T>(Arc<Shared<T>>);

impl<T> Drop for Running<T> {
    fn drop(&mut self) {
        self.0.done.raise();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::block_on;

    #[test]
    fn a_task_gets_the_result_and_finds_out_about_a_panic() {
        let threads = Threads::new();
        assert_eq!(block_on(threads.run(|| 7)), Some(7));
        assert_eq!(block_on(threads.run(|| -> u8 { panic!("as asked") })), None);
        assert_eq!(block_on(threads.run(|| "again")), Some("again"));
    }
}
