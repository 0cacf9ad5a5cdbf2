//! [`Run`]: the executor of handlers that an adapter supplies.

use std::task::Context;

use mcp_sansio::Server;

use crate::events::EventDelivery;
use crate::exchange::Exchange;
use crate::handle::Handle;
use crate::machine::Machine;

/// An executor of handlers: on threads, or as tasks of a runtime.
pub trait Run<M: Machine>: Send + Sync + 'static {
    /// Called with the connection before its first event.
    fn begin(&self, handle: &Handle<M>);

    /// Schedules a job on another thread or task. Returns at once.
    ///
    /// A dropped job counts as finished: the request of an exchange gets the error `-32603`.
    fn run(&self, job: Job<M>);

    /// Queues a job under the lock of the connection, for an executor that has a queue. Nothing may be woken, spawned or
    /// dropped here. Returns whether [`call`](Self::call) has to follow, without the lock.
    ///
    /// # Errors
    ///
    /// The job if there is no queue. It is passed to [`run`](Self::run), without the lock.
    fn queue(&self, job: Job<M>) -> Result<bool, Job<M>> {
        Err(job)
    }

    /// Calls a worker for the queued jobs.
    fn call(&self) {}

    /// Whether [`serve`](Self::serve) would run a handler in the calling task. Called under the lock of a connection.
    fn is_inline(&self) -> bool {
        false
    }

    /// Serves a request. An [inline](Self::is_inline) executor runs the handler in the calling task, which `context`
    /// wakes, until the handler waits. Then it continues in a task of its own.
    fn serve(&self, exchange: Exchange<M>, context: &mut Context<'_>) {
        _ = context;
        self.run(Job::Serve(exchange));
    }
}

/// A job for a handler.
#[derive(Debug)]
#[non_exhaustive]
pub enum Job<M: Machine = Server> {
    /// A request to serve.
    Serve(Exchange<M>),
    /// Events to deliver, in order.
    Deliver(EventDelivery<M>),
}

impl<M: Machine> Job<M> {
    /// Whether the peer has cancelled the request.
    pub(crate) fn is_cancelled(&self) -> bool {
        matches!(self, Self::Serve(exchange) if exchange.is_cancelled())
    }
}
