//! [`Run`]: runs the handlers of an adapter.

use mcp_sansio::Server;

use crate::events::EventDelivery;
use crate::exchange::Exchange;
use crate::handle::Handle;
use crate::machine::Machine;

/// Runs handlers: on threads, or as tasks of a runtime.
pub trait Run<M: Machine>: Send + Sync + 'static {
    /// Called with the connection before its first event.
    fn begin(&self, handle: &Handle<M>);

    /// Schedules a job on another thread or task. Returns at once.
    ///
    /// A job that is dropped is over: the request of an exchange is answered with `-32603`.
    fn run(&self, job: Job<M>);
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
