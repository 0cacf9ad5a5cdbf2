//! The functions behind the entries of a router, with a uniform signature.

use std::any::Any;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::Poll;

use mcp_sansio::json::Raw;

use super::middleware::Wrapped;
use super::output::Failed;
use crate::blocking::Threads;
use crate::exchange::Exchange;

/// The result of a request, or the reason why there is none.
pub type FunctionResult = Result<Raw<'static>, Failed>;

pub(super) type FunctionFuture = Pin<Box<dyn Future<Output = FunctionResult> + Send>>;

/// A function that serves requests for one entry.
#[derive(Clone)]
pub(super) enum Function {
    Blocking(Arc<dyn Fn(&Exchange) -> FunctionResult + Send + Sync>),
    Asynchronous(Arc<dyn Fn(Exchange) -> FunctionFuture + Send + Sync>),
    /// A function of a mounted router, in the middleware of that router.
    Wrapped(Arc<Wrapped>),
}

/// The threads on which blocking functions run.
#[derive(Clone)]
pub(super) enum RunsOn {
    /// The thread that polls the future of the function.
    PollingThread,
    /// The threads of the router, which are started on first use.
    Threads(Arc<OnceLock<Threads>>),
}

impl Function {
    pub(super) fn blocking(
        run: impl Fn(&Exchange) -> FunctionResult + Send + Sync + 'static,
    ) -> Self {
        Self::Blocking(Arc::new(run))
    }

    pub(super) fn asynchronous<F: Future<Output = FunctionResult> + Send + 'static>(
        run: impl Fn(Exchange) -> F + Send + Sync + 'static,
    ) -> Self {
        Self::Asynchronous(Arc::new(move |exchange| Box::pin(run(exchange))))
    }

    /// Returns another function in the middleware of this one.
    pub(super) fn replaced_by(&self, other: Self) -> Self {
        let Self::Wrapped(wrapped) = self else { return other };
        Self::Wrapped(Arc::new(Wrapped {
            middleware: Arc::clone(&wrapped.middleware),
            name: Arc::clone(&wrapped.name),
            function: wrapped.function.replaced_by(other),
            filters: wrapped.filters.clone(),
        }))
    }

    /// Runs the function. If it panics, the result is the failure [`Failed::is_panic`].
    pub(super) async fn run(&self, exchange: Exchange, runs_on: RunsOn) -> FunctionResult {
        match (self, runs_on) {
            (Self::Wrapped(wrapped), runs_on) => {
                let next = wrapped.next(runs_on);
                Box::pin(next.run(exchange)).await
            }
            (Self::Asynchronous(run), _) => match caught(|| run(exchange)) {
                Ok(future) => without_panic(future).await,
                Err(failed) => Err(failed),
            },
            (Self::Blocking(run), RunsOn::PollingThread) => {
                caught(|| run(&exchange)).unwrap_or_else(Err)
            }
            (Self::Blocking(run), RunsOn::Threads(threads)) => {
                let run = Arc::clone(run);
                let threads = threads.get_or_init(Threads::new);
                let ran = threads.run(move || caught(|| run(&exchange)).unwrap_or_else(Err));
                ran.await.unwrap_or_else(|| Err(Failed::new("there is no thread for the function")))
            }
        }
    }
}

/// Calls a function, unless it panics.
pub(super) fn caught<T>(run: impl FnOnce() -> T) -> Result<T, Failed> {
    // Only state of the application can be inconsistent after the panic, as after a panic of one of its threads.
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic: Box<dyn Any + Send>| {
        // The drop of the payload may panic as well; the payload of that panic is given up.
        _ = catch_unwind(AssertUnwindSafe(|| drop(panic))).map_err(std::mem::forget);
        Failed::panicked()
    })
}

/// Polls a future until it is ready or panics.
pub(super) async fn without_panic(mut future: FunctionFuture) -> FunctionResult {
    poll_fn(|context| match caught(|| future.as_mut().poll(context)) {
        Ok(polled) => polled,
        Err(failed) => Poll::Ready(Err(failed)),
    })
    .await
}
