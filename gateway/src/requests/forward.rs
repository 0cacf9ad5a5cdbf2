//! Passes a request of a client on to the server that it is for.

use std::sync::Arc;

use mcp_sansio::call::TaskOptions;
use mcp_sansio::capability::Capability;
use mcp_sansio::error::ErrorObject;
use mcp_sansio::model::TaskSupport;
use mcp_sansio::request::TaskMode;
use mcp_sansio::{CallError, ClientRequest, ErrorCode, RespondError, Revision};
use mcp_sansio_tokio::Exchange;
use serde_json::json;
use tokio::time::Instant;

use super::call::{Call, MANY_CALLS, MOST_ATTEMPTS, PAUSE, options, tool_options};
use super::follow::Followed;
use super::params::{self, Subject};
use super::parking::Questions;
use super::responses::{refuse, unfollowed};
use super::routes::{Destination, Routes};
use super::state::State;
use crate::client_key::{ClientKey, for_limits};
use crate::config::Sharing;
use crate::gateway::Gateway;
use crate::upstream::list_kind::ListKind;
use crate::upstream::shared::NoLink;
use crate::upstream::{Counters, Place, Upstream};

impl Gateway {
    /// Serves a request that one server serves.
    pub(super) async fn forward(&self, exchange: Exchange) -> Result<(), RespondError> {
        let request = exchange.request();
        let Some(subject) = Subject::of(&request.kind) else {
            return exchange.reject(ErrorCode::METHOD_NOT_FOUND, "method not found");
        };
        let (mut server, mut state) = (None, None);
        if let Some(sealed) = &request.state {
            match self.states().open(sealed, request) {
                Ok(State::Parked(number)) => return self.come_back(exchange, number).await,
                Ok(State::OfServer { server: of, state: given }) => {
                    (server, state) = (Some(of), given);
                }
                Err(_) => {
                    let message = "requestState: it is not one of this request, or has expired";
                    return exchange.reject(ErrorCode::INVALID_PARAMS, message);
                }
            }
        }
        let routes = self.routes();
        let destination = tokio::select! {
            biased;
            () = exchange.cancelled() => return Err(RespondError::Cancelled),
            found = routes.destination(&exchange, &subject, server.as_deref()) => found,
        };
        let Some(destination) = destination else { return not_found(&routes, &exchange, &subject) };
        if matches!(request.kind, ClientRequest::CallTool(_)) {
            let support = tokio::select! {
                biased;
                () = exchange.cancelled() => return Err(RespondError::Cancelled),
                support = task_support(&exchange, &destination) => support,
            };
            match exchange.task_mode(&support)? {
                Some(TaskMode::Inline) => {}
                // The call was rejected.
                None => return Ok(()),
                Some(_) => return self.forward_as_task(exchange, destination, state).await,
            }
        }
        self.forward_to(exchange, destination, state).await
    }

    /// Passes a request on to its server, and to the next one if that server does not have the resource.
    async fn forward_to(
        &self,
        exchange: Exchange,
        destination: Destination,
        state: Option<String>,
    ) -> Result<(), RespondError> {
        let Destination { mut upstream, name, others } = destination;
        let (mut others, mut attempts, mut failed) = (others.into_iter(), 1, None);
        loop {
            let (name, state) = (name.as_deref(), state.as_deref());
            let made = async {
                let place = self.enter(&exchange, &upstream).await?;
                self.call(&exchange, place, (name, state), TaskOptions::new()).await
            };
            let made = tokio::select! {
                biased;
                () = exchange.cancelled() => return Err(RespondError::Cancelled),
                made = made => made,
            };
            let ended = match made {
                Ok(call) => self.follow(&exchange, call, Questions::default()).await,
                Err(problem) => Followed::Failed(problem),
            };
            let not_there = match ended {
                Followed::Responded(responded) => return responded,
                Followed::NotSent if attempts < MOST_ATTEMPTS => {
                    attempts += 1;
                    continue;
                }
                Followed::Task(_) | Followed::NotSent => return unfollowed(&exchange),
                Followed::NotThere(error) => Some(error),
                Followed::Failed(problem) => {
                    // Another server may have the resource, but its absence there proves nothing.
                    failed.get_or_insert(problem);
                    None
                }
            };
            match (others.next(), &failed, not_there) {
                (Some(next), _, _) => upstream = next,
                (None, Some(problem), _) => {
                    return exchange.reject(ErrorCode::INTERNAL_ERROR, problem);
                }
                (None, None, Some(error)) => return refuse(&exchange, &error),
                (None, None, None) => return unfollowed(&exchange),
            }
        }
    }

    /// Waits for a place among the calls of a server, as long as a call may take.
    pub(super) async fn enter(
        &self,
        exchange: &Exchange,
        upstream: &Arc<Upstream>,
    ) -> Result<Entered, String> {
        let entering = upstream.enter(for_limits(exchange));
        match tokio::time::timeout(upstream.config.call_timeout, entering).await {
            Ok(place) => Ok(Entered { upstream: Arc::clone(upstream), place: Arc::new(place) }),
            Err(_) => {
                Counters::add(&upstream.counters.failed);
                Err(format!("the server {}: {MANY_CALLS}", upstream.config.name))
            }
        }
    }

    /// Makes a call at a server on behalf of a request, with the name and the request state of the server.
    pub(super) async fn call(
        &self,
        exchange: &Exchange,
        entered: Entered,
        (name, state): (Option<&str>, Option<&str>),
        task: TaskOptions,
    ) -> Result<Call, String> {
        let (request, client) = (exchange.request(), ClientKey::of(exchange));
        let (mut entered, mut attempts) = (entered, 1);
        loop {
            let Entered { upstream, place } = &entered;
            let link = upstream.link((client, for_limits(exchange))).await;
            if let Err(NoLink::Stopped) = link
                && let Some(successor) = self.routes().successor(upstream)
            {
                // A reload has replaced the server while the call waited for its place. Its rules may be others.
                if !self.routes().serves_as(exchange, &successor, upstream, name) {
                    let reason = NoLink::Stopped;
                    return Err(format!("the server {}: {reason}", upstream.config.name));
                }
                entered = self.enter(exchange, &successor).await?;
                continue;
            }
            let link = link.map_err(|error| {
                Counters::add(&upstream.counters.failed);
                format!("the server {}: {error}", upstream.config.name)
            })?;
            if upstream.config.sharing != Sharing::All {
                self.note_session(exchange);
            }
            if let Some(level) = request.context.log_level.filter(|_| link.has_session()) {
                // The level of one request cannot be passed on to a session.
                self.raise_level(level);
            }
            let params = params::for_server(request, name, state, link.has_session());
            let mut options = options(&request.context);
            if let (ClientRequest::CallTool(_), Some(name)) = (&request.kind, name) {
                let tools = match link.has_session() && link.has(Capability::ServerTasksCallTool) {
                    // A tool that runs only as a task refuses other calls.
                    true => upstream.list_soon(ListKind::Tools, soon(upstream)).await,
                    false => None,
                };
                let support =
                    tools.map_or(TaskSupport::Forbidden, |tools| tools.tool_tasks.support(name));
                options = tool_options(options, &link, &support, task);
            }
            let (method, place) = (request.method.to_str(), Arc::clone(place));
            let sender = (client, for_limits(exchange));
            let call = Call::make(upstream, (link, place), sender, (&method, &params), options);
            match call.error() {
                // The connection has just ended, and another one is being opened.
                Some(CallError::Closed) if attempts < MOST_ATTEMPTS => {
                    attempts += 1;
                    tokio::time::sleep(PAUSE).await;
                }
                _ => return Ok(call),
            }
        }
    }
}

/// A place among the calls of a server.
pub(super) struct Entered {
    upstream: Arc<Upstream>,
    place: Arc<Place>,
}

/// Refuses a request that no server is for.
fn not_found(
    routes: &Routes,
    exchange: &Exchange,
    subject: &Subject<'_>,
) -> Result<(), RespondError> {
    match subject {
        Subject::Uri(uri) => {
            let (code, message) =
                (ErrorCode::RESOURCE_NOT_FOUND, "no server here has this resource");
            let data = json!({ "uri": uri });
            exchange.reject_with(&ErrorObject::with(code, message, &data)?)
        }
        Subject::Name(_) => match routes.unlisted(exchange) {
            Some(unknown) => {
                let name = &unknown.config.name;
                let problem = format!(
                    "no server here is known to have this name, and the list of the server {name} is missing"
                );
                exchange.reject(ErrorCode::INTERNAL_ERROR, &problem)
            }
            None => exchange.reject(ErrorCode::INVALID_PARAMS, "no server here has this name"),
        },
    }
}

/// Returns until when a call waits for a list that was never read.
fn soon(upstream: &Upstream) -> Instant {
    Instant::now() + upstream.config.list_timeout
}

/// Returns how a tool runs for a client. In a session with tasks the client knows from the list which tools run as tasks, and
/// the call has to keep to it. For all other clients the gateway follows a task itself, if necessary.
async fn task_support(exchange: &Exchange, destination: &Destination) -> TaskSupport<'static> {
    let Destination { upstream, name: Some(name), .. } = destination else {
        return TaskSupport::Optional;
    };
    if exchange.request().context.revision != Revision::V2025_11_25 {
        return TaskSupport::Optional;
    }
    let tools = upstream.list_soon(ListKind::Tools, soon(upstream)).await;
    tools.map_or(TaskSupport::Optional, |tools| tools.shown_support(name))
}
