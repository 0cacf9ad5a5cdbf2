//! The machine as a host of tasks.

#![allow(unnameable_types, reason = "nobody but this crate has machines")]

use mcp_sansio::task::{TaskCall, TaskNews, Tasks};
use mcp_sansio::{
    Client, ClientRequest, IncomingId, Instant, Request, RequestFromServer, RespondError, Server,
    ServerRequest,
};

use crate::machine::Machine;
use crate::out::Out;

/// A request that no handler sees where there are tasks.
#[derive(Debug)]
pub enum Chore {
    /// About tasks.
    Task(TaskCall<'static>),
    /// A subscription, which may be about tasks.
    Listen,
}

/// A machine whose requests may become tasks.
pub trait Host {
    /// What no handler sees.
    fn chore(request: &Self::Request) -> Option<Chore>
    where
        Self: Machine;
    fn serve_chore(
        &mut self,
        id: IncomingId,
        chore: &Chore,
        tasks: &mut Tasks,
        now: Instant,
        out: &mut Out,
    ) -> Result<Option<TaskNews>, RespondError>;
}

impl Host for Server {
    fn chore(request: &Request<'static>) -> Option<Chore> {
        match &request.kind {
            ClientRequest::Task(call) => Some(Chore::Task(call.clone())),
            ClientRequest::Listen(_) => Some(Chore::Listen),
            _ => None,
        }
    }

    fn serve_chore(
        &mut self,
        id: IncomingId,
        chore: &Chore,
        tasks: &mut Tasks,
        now: Instant,
        out: &mut Out,
    ) -> Result<Option<TaskNews>, RespondError> {
        match chore {
            Chore::Task(call) => self.serve_task(id, call, tasks, now, out),
            Chore::Listen => self.grant_with_tasks(id, None, tasks, now, out).map(|()| None),
        }
    }
}

impl Host for Client {
    fn chore(request: &RequestFromServer<'static>) -> Option<Chore> {
        match &request.kind {
            ServerRequest::Task(call) => Some(Chore::Task(call.clone())),
            _ => None,
        }
    }

    fn serve_chore(
        &mut self,
        id: IncomingId,
        chore: &Chore,
        tasks: &mut Tasks,
        now: Instant,
        out: &mut Out,
    ) -> Result<Option<TaskNews>, RespondError> {
        match chore {
            Chore::Task(call) => self.serve_task(id, call, tasks, now, out),
            // Nobody subscribes to a client.
            Chore::Listen => Ok(None),
        }
    }
}
