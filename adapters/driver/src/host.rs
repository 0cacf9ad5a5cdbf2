//! [`Host`]: the machine as a host of tasks.

#![allow(unnameable_types, reason = "only this crate has machines")]

use mcp_sansio::task::{TaskCall, TaskNews, Tasks};
use mcp_sansio::{
    Client, ClientRequest, IncomingId, Instant, Request, RequestFromServer, RespondError, Server,
    ServerRequest,
};

use crate::machine::Machine;
use crate::out::Out;

/// A request that the task host serves, without a handler.
#[derive(Debug)]
pub enum HostRequest {
    /// A request about tasks.
    Task(TaskCall<'static>),
    /// A subscription, which can include tasks.
    Listen,
}

/// A machine whose incoming requests may become tasks.
pub trait Host {
    /// Returns the task request or subscription that no handler receives.
    fn host_request(request: &Self::Request) -> Option<HostRequest>
    where
        Self: Machine;
    fn serve_chore(
        &mut self,
        id: IncomingId,
        host_request: &HostRequest,
        tasks: &mut Tasks,
        now: Instant,
        out: &mut Out,
    ) -> Result<Option<TaskNews>, RespondError>;
}

impl Host for Server {
    fn host_request(request: &Request<'static>) -> Option<HostRequest> {
        match &request.kind {
            ClientRequest::Task(call) => Some(HostRequest::Task(call.clone())),
            ClientRequest::Listen(_) => Some(HostRequest::Listen),
            _ => None,
        }
    }

    fn serve_chore(
        &mut self,
        id: IncomingId,
        host_request: &HostRequest,
        tasks: &mut Tasks,
        now: Instant,
        out: &mut Out,
    ) -> Result<Option<TaskNews>, RespondError> {
        match host_request {
            HostRequest::Task(call) => self.tasks(tasks).serve(id, call, now, out),
            HostRequest::Listen => self.tasks(tasks).grant(id, None, now, out).map(|()| None),
        }
    }
}

impl Host for Client {
    fn host_request(request: &RequestFromServer<'static>) -> Option<HostRequest> {
        match &request.kind {
            ServerRequest::Task(call) => Some(HostRequest::Task(call.clone())),
            _ => None,
        }
    }

    fn serve_chore(
        &mut self,
        id: IncomingId,
        host_request: &HostRequest,
        tasks: &mut Tasks,
        now: Instant,
        out: &mut Out,
    ) -> Result<Option<TaskNews>, RespondError> {
        match host_request {
            HostRequest::Task(call) => self.tasks(tasks).serve(id, call, now, out),
            // A client has no subscribers.
            HostRequest::Listen => Ok(None),
        }
    }
}
