//! Middleware around the functions of a router.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use super::Router;
use super::function::{Function, FunctionFuture, FunctionResult, RunsOn, caught, without_panic};
use super::visibility::OwnFilters;
use crate::exchange::Exchange;

/// A middleware with a uniform signature.
pub(super) type Middleware = Arc<dyn Fn(Exchange, Next) -> FunctionFuture + Send + Sync>;

/// A function in the middleware of its own router, for another router.
pub(super) struct Wrapped {
    pub(super) middleware: Arc<[Middleware]>,
    /// The name of the entry in its own router.
    pub(super) name: Arc<str>,
    pub(super) function: Function,
    pub(super) filters: OwnFilters,
}

impl Wrapped {
    pub(super) fn next(&self, runs_on: RunsOn) -> Next {
        let (middleware, name) = (Arc::clone(&self.middleware), Arc::clone(&self.name));
        Next::new(middleware, name, self.function.clone(), runs_on)
    }
}

/// The rest of the way to a function: the middleware that was added later, and the function.
#[must_use = "the function runs only if this does"]
pub struct Next {
    middleware: Arc<[Middleware]>,
    /// The index of the middleware that runs next.
    index: usize,
    name: Arc<str>,
    function: Function,
    runs_on: RunsOn,
}

impl Next {
    pub(super) const fn new(
        middleware: Arc<[Middleware]>,
        name: Arc<str>,
        function: Function,
        runs_on: RunsOn,
    ) -> Self {
        Self { middleware, index: 0, name, function, runs_on }
    }

    /// Returns the name of the entry in the router of this middleware: the name of a tool or a prompt, the URI of a
    /// resource, or the URI template. For a mounted router it has no prefix, unlike the name in the request: decide by
    /// this name what a request may do.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Runs the rest, and returns the result for the client. A panic of the function, or of a later middleware, is a
    /// failure here ([`Failed::is_panic`](crate::Failed::is_panic)). A clone of the exchange is the same request.
    ///
    /// # Errors
    ///
    /// The failure of the function, or of a middleware that was added later.
    pub async fn run(mut self, exchange: Exchange) -> FunctionResult {
        match self.middleware.get(self.index).cloned() {
            Some(middleware) => {
                self.index += 1;
                let running = caught(|| middleware(exchange, self))?;
                without_panic(running).await
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
    /// middleware that was added first runs first. It runs before the arguments are read, for every call, prompt, read
    /// and completion of an entry, and for a subscription to a resource of an entry: `resources/subscribe`, and each
    /// resource of `subscriptions/listen` of 2026-07-28. A resource that it refuses is not granted there.
    ///
    /// Lists and refusals of unknown names have no function: a tool that a middleware refuses is listed nevertheless, unless
    /// [`show_if`](Self::show_if) hides it.
    ///
    /// ```
    /// use std::time::Instant;
    ///
    /// use mcp_sansio::ErrorCode;
    /// use mcp_sansio_driver::{Failed, Router};
    ///
    /// /// The user of a request: a value that an earlier middleware has inserted, or one of `ConnectionOptions`. Over
    /// /// HTTP see `HttpRequest`.
    /// struct User {
    ///     may_write: bool,
    /// }
    ///
    /// let router = Router::new();
    /// router.wrap(async |exchange, next| {
    ///     let begun = Instant::now();
    ///     let result = next.run(exchange).await;
    ///     eprintln!("{} after {:?}", if result.is_ok() { "done" } else { "failed" }, begun.elapsed());
    ///     result
    /// });
    /// router.wrap(async |exchange, next| {
    ///     let may_write = exchange.extension::<User>().is_some_and(|user| user.may_write);
    ///     match next.name() {
    ///         "read" => next.run(exchange).await,
    ///         "write" if may_write => next.run(exchange).await,
    ///         name => {
    ///             let text = format!("you may not use {name}");
    ///             Err(Failed::refused(ErrorCode::INVALID_REQUEST, text))
    ///         }
    ///     }
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
