//! [`Host`]: the machine as a host of tasks.

#![allow(unnameable_types, reason = "only this crate has machines")]

use mcp_sansio::config::Listening;
use mcp_sansio::event::Subscribed;
use mcp_sansio::task::{TaskCall, TaskNews, Tasks};
use mcp_sansio::{
    Client, ClientEvent, ClientRequest, IncomingId, Instant, Request, RequestFromServer,
    RespondError, Server, ServerEvent, ServerRequest,
};

use crate::machine::Machine;
use crate::out::Out;

/// A request that the task host serves, without a handler.
#[derive(Debug)]
pub enum HostRequest {
    /// A request about tasks.
    Task(TaskCall<'static>),
    /// A subscription, which can include tasks.
    Listen(Subscribed<'static>),
}

/// A machine whose incoming requests may become tasks.
pub trait Host {
    /// Returns the task request or subscription that no handler receives.
    fn host_request(&self, request: &Self::Request) -> Option<HostRequest>
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
    /// Returns the event that reports a request that has been served, and the bytes of the peer's data in the event.
    fn served(host_request: HostRequest) -> Option<(Self::Event, usize)>
    where
        Self: Machine;
}

impl Host for Server {
    fn host_request(&self, request: &Request<'static>) -> Option<HostRequest> {
        match &request.kind {
            ClientRequest::Task(call) => Some(HostRequest::Task(call.clone())),
            ClientRequest::Listen(_) if self.config().listening == Listening::AskedOfAdapter => {
                Subscribed::of(request).map(HostRequest::Listen)
            }
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
            HostRequest::Listen(_) => self.tasks(tasks).grant(id, None, now, out).map(|()| None),
        }
    }

    fn served(host_request: HostRequest) -> Option<(ServerEvent<'static>, usize)> {
        match host_request {
            HostRequest::Listen(subscribed) => {
                let bytes = subscribed.requested.as_json().len();
                Some((ServerEvent::Subscribed(subscribed), bytes))
            }
            HostRequest::Task(_) => None,
        }
    }
}

impl Host for Client {
    fn host_request(&self, request: &RequestFromServer<'static>) -> Option<HostRequest> {
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
            HostRequest::Listen(_) => Ok(None),
        }
    }

    fn served(_: HostRequest) -> Option<(ClientEvent<'static>, usize)> {
        None
    }
}
