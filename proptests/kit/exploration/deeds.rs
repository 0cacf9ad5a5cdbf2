//! The operations between a client and a server, and their execution.

use std::time::Duration;

use mcp_sansio::call::TaskOptions;
use mcp_sansio::model::{InputRequired, SubscriptionFilter};
use mcp_sansio::progress::Progress;
use mcp_sansio::subscription::ChangedList;
use mcp_sansio::task::{NewTask, TaskKey};
use mcp_sansio::testing::{Broken, MessageLink};
use mcp_sansio::{CallId, CallOptions, Cause, Era, IncomingId};
use serde_json::json;

use super::small::Small;

/// The maximum number of operations of each kind.
pub(super) type Budget = &'static [(&'static str, u8)];

/// An operation of an application, the transport or the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(
    missing_docs,
    clippy::exhaustive_enums,
    reason = "each is done by the function of its name"
)]
pub(super) enum Deed {
    Connect,
    Call,
    CallForTask,
    Subscribe,
    Cancel(CallId),
    CancelTask(CallId),
    Give(IncomingId),
    Answer(IncomingId),
    Require(IncomingId),
    Report(IncomingId),
    BeginTask(IncomingId),
    Complete(TaskKey),
    RequireForTask(TaskKey),
    CancelByServer(TaskKey),
    Change,
    Forge(&'static str),
    EndOfInput { client: bool },
    Break,
    ShutDown { client: bool },
    Wait,
}

impl Deed {
    /// Returns the kind of the operation, for the budget.
    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Call => "call",
            Self::CallForTask => "call for task",
            Self::Subscribe => "subscribe",
            Self::Cancel(_) => "cancel",
            Self::CancelTask(_) => "cancel task",
            Self::Give(_) => "give",
            Self::Answer(_) => "answer",
            Self::Require(_) => "require",
            Self::Report(_) => "report",
            Self::BeginTask(_) => "begin task",
            Self::Complete(_) => "complete",
            Self::RequireForTask(_) => "require for task",
            Self::CancelByServer(_) => "cancel by server",
            Self::Change => "change",
            Self::Forge(_) => "forge",
            Self::EndOfInput { .. } => "end of input",
            Self::Break => "break",
            Self::ShutDown { .. } => "shut down",
            Self::Wait => "wait",
        }
    }
}

impl Small {
    /// Performs an operation.
    pub(super) fn act_out(&mut self, deed: Deed) -> Result<(), Broken> {
        match deed {
            Deed::Connect
            | Deed::Call
            | Deed::CallForTask
            | Deed::Subscribe
            | Deed::Cancel(_)
            | Deed::CancelTask(_)
            | Deed::Give(_) => self.by_client(deed),
            Deed::Forge(text) => {
                self.upstream.add(text.as_bytes());
                Ok(())
            }
            Deed::EndOfInput { client: true } => {
                self.client.disconnected(Cause::EndOfInput, self.now);
                Ok(())
            }
            Deed::EndOfInput { client: false } => {
                self.server.disconnected(Cause::EndOfInput, self.now);
                Ok(())
            }
            Deed::Break => {
                (self.upstream, self.downstream) = (MessageLink::new(), MessageLink::new());
                self.client.disconnected(Cause::ReadFailed, self.now);
                self.server.disconnected(Cause::ReadFailed, self.now);
                Ok(())
            }
            Deed::ShutDown { client } => {
                let (grace, now) = (Duration::from_secs(1), self.now);
                if client {
                    self.client.shut_down(grace, now);
                } else {
                    self.server.shut_down(grace, now);
                }
                Ok(())
            }
            Deed::Wait => {
                let due = [
                    self.client.poll_timeout(),
                    self.server.poll_timeout(),
                    self.tasks.poll_timeout(),
                ];
                self.now =
                    due.into_iter().flatten().min().map_or(self.now, |due| due.max(self.now));
                Ok(())
            }
            _ => self.by_server(deed),
        }
    }

    fn by_client(&mut self, deed: Deed) -> Result<(), Broken> {
        let Self { client, client_out: out, ours, now, .. } = self;
        let params = json!({"name": "t"});
        let made = match deed {
            Deed::Connect => {
                _ = client.connect(*now, out);
                return Ok(());
            }
            Deed::Call => {
                let options = CallOptions::new().progress();
                client.call_method("tools/call", &params, options, *now, out)
            }
            Deed::CallForTask => {
                let options = CallOptions::new().task(TaskOptions::new());
                client.call_method("tools/call", &params, options, *now, out)
            }
            Deed::Subscribe => client.subscribe(&SubscriptionFilter::new().with_tools(), *now, out),
            Deed::Cancel(call) => {
                return match client.cancel(call, None, out) {
                    Ok(_) => ours.cancelled(call),
                    Err(_) => Ok(()),
                };
            }
            Deed::CancelTask(call) => {
                _ = client.cancel_task(call, *now, out);
                return Ok(());
            }
            Deed::Give(id) => {
                return match client.respond(id, &json!({"roots": []}), out) {
                    Ok(()) => ours.answered(id),
                    Err(_) => Ok(()),
                };
            }
            _ => return Ok(()),
        };
        made.map_or(Ok(()), |call| ours.called(call))
    }

    fn by_server(&mut self, deed: Deed) -> Result<(), Broken> {
        let Self { server, server_out: out, theirs, requests, tasks, now, .. } = self;
        match deed {
            Deed::Answer(id) if requests.contains_key(&id) => {
                let result = json!({"content": []});
                server.respond(id, &result, out).map_or(Ok(()), |()| theirs.answered(id))
            }
            // An empty result ends a subscription.
            Deed::Answer(id) => {
                server.respond(id, &(), out).map_or(Ok(()), |()| theirs.answered(id))
            }
            Deed::Report(id) => {
                _ = server.progress(id, Progress::new(1_u8), *now, out);
                Ok(())
            }
            Deed::Require(id) => {
                let Some(request) = requests.get(&id) else { return Ok(()) };
                let required = InputRequired::new().roots("r").state("s");
                let in_session = request.context.era() != Era::Modern;
                match server.require_input(request, &required, *now, out) {
                    Ok(()) if in_session => theirs.answered_for_now(id),
                    Ok(()) => theirs.answered(id),
                    Err(_) => Ok(()),
                }
            }
            Deed::BeginTask(id) => {
                self.begun += 1;
                let task =
                    NewTask::new(format!("task-{}", self.begun)).ttl(Some(Duration::from_secs(20)));
                _ = server.tasks(tasks).begin(id, task, *now, out);
                Ok(())
            }
            Deed::Complete(key) => {
                _ = tasks.complete(key, &json!({"content": []}), *now);
                Ok(())
            }
            Deed::RequireForTask(key) => {
                _ = tasks.require_input(key, &InputRequired::new().roots("r"), *now);
                Ok(())
            }
            Deed::CancelByServer(key) => {
                _ = tasks.cancel(key, *now);
                Ok(())
            }
            Deed::Change => {
                _ = server.notifications().list_changed(ChangedList::Tools, out);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
