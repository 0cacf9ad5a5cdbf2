//! [`Run`]: runs the handlers of an adapter.

use mcp_sansio::Server;

use crate::events::Telling;
use crate::exchange::Exchange;
use crate::handle::Handle;
use crate::machine::Machine;

/// Runs handlers: on threads, or as tasks of a runtime.
pub trait Run<M: Machine>: Send + Sync + 'static {
    /// Told of the connection before anything happens on it.
    fn begin(&self, handle: &Handle<M>);

    /// Sees to it that a job is done, soon and elsewhere. This returns at once.
    ///
    /// A job that is dropped is over: the request of an exchange is answered with `-32603`.
    fn run(&self, job: Job<M>);
}

/// Something for a handler.
#[derive(Debug)]
#[non_exhaustive]
pub enum Job<M: Machine = Server> {
    /// A request to serve.
    Serve(Exchange<M>),
    /// Events to tell, in order.
    Tell(Telling<M>),
}
