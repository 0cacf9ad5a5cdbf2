//! Middleware around the functions of a router.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use super::Router;
use super::function::{Function, FunctionFuture, FunctionResult, RunsOn};
use crate::exchange::Exchange;

/// A middleware with a uniform signature.
pub(super) type Middleware = Arc<dyn Fn(Exchange, Next) -> FunctionFuture + Send + Sync>;

/// A function in the middleware of its own router, for another router.
pub(super) struct Wrapped {
    pub(super) middleware: Arc<[Middleware]>,
    pub(super) function: Function,
}

impl Wrapped {
    pub(super) fn next(&self, runs_on: RunsOn) -> Next {
        Next::new(Arc::clone(&self.middleware), self.function.clone(), runs_on)
    }
}

/// The rest of the way to a function: the middleware that was added later, and the function.
#[must_use = "the function runs only if this does"]
pub struct Next {
    middleware: Arc<[Middleware]>,
    /// The index of the middleware that runs next.
    index: usize,
    function: Function,
    runs_on: RunsOn,
}

impl Next {
    pub(super) const fn new(
        middleware: Arc<[Middleware]>,
        function: Function,
        runs_on: RunsOn,
    ) -> Self {
        Self { middleware, index: 0, function, runs_on }
    }

    /// Runs the rest, and returns the result for the client. A panic of the function is a failure here
    /// ([`Failed::is_panic`](crate::Failed::is_panic)).
    ///
    /// # Errors
    ///
    /// The failure of the function, or of a middleware that was added later.
    pub async fn run(mut self, exchange: Exchange) -> FunctionResult {
        match self.middleware.get(self.index).cloned() {
            Some(middleware) => {
                self.index += 1;
                middleware(exchange, self).await
            }
            None => self.function.run(exchange, self.runs_on).await,
        }
    }
}

impl fmt::Debug for Next {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let left = self.middleware.len().saturating_sub(self.index);
        formatter.debug_struct("Next").field("middleware", &left).finish_non_exhaustive()
    }
}

/// # Middleware
impl Router {
    /// Wraps all functions of the router in a middleware: it logs, limits or authorizes requests, for example. The
    /// middleware that was added first runs first. It runs before the arguments are read, for every request that an
    /// entry has a function for; lists and refusals of unknown names have none.
    ///
    /// ```
    /// use std::time::Instant;
    ///
    /// use mcp_sansio::{ClientRequest, ErrorCode};
    /// use mcp_sansio_driver::{Failed, Router};
    ///
    /// # /// The user of a request.
    /// # struct User { may_write: bool }
    /// let router = Router::new();
    /// router.wrap(async |exchange, next| {
    ///     let begun = Instant::now();
    ///     let result = next.run(exchange).await;
    ///     eprintln!("{} after {:?}", if result.is_ok() { "done" } else { "failed" }, begun.elapsed());
    ///     result
    /// });
    /// router.wrap(async |exchange, next| match &exchange.request().kind {
    ///     ClientRequest::CallTool(call) if call.name == "write" => {
    ///         match exchange.extension::<User>() {
    ///             Some(user) if user.may_write => next.run(exchange).await,
    ///             _ => Err(Failed::refused(ErrorCode::INVALID_REQUEST, "you may not write")),
    ///         }
    ///     }
    ///     _ => next.run(exchange).await,
    /// });
    /// ```
    pub fn wrap<F>(&self, middleware: impl Fn(Exchange, Next) -> F + Send + Sync + 'static) -> &Self
    where
        F: Future<Output = FunctionResult> + Send + 'static,
    {
        let middleware: Middleware =
            Arc::new(move |exchange, next| Box::pin(middleware(exchange, next)));
        let mut shared = self.lock();
        let all = shared.middleware.iter().cloned().chain([middleware]).collect();
        let old = std::mem::replace(&mut shared.middleware, all);
        // Dropped without the lock.
        drop(shared);
        drop(old);
        self
    }
}
