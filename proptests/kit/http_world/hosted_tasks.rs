//! The tasks of the server: their work, and a model of them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use mcp_sansio::call::TaskTicket;
use mcp_sansio::json::Raw;
use mcp_sansio::model::{CallToolResult, ElicitParams, InputRequired, ObjectSchema, TaskSupport};
use mcp_sansio::request::{Requestor, TaskMode};
use mcp_sansio::task::{
    NewTask, Status, TaskCall, TaskError, TaskEvent, TaskKey, TaskNews, Tasks, TasksConfig,
};
use mcp_sansio::{
    Cause, ClientRequest, ConnectionNumber, ErrorCode, Instant, Outcome, Principal, Request,
    RespondError,
};
use serde::Deserialize;

use super::HttpWorld;
use super::client_side::Call;
use super::secrets::{client_in, of_task};

/// The tasks of the server, and their model.
pub(super) struct HostedTasks {
    /// Whether the server offers tasks.
    pub(super) is_offered: bool,
    pub(super) tasks: Tasks,
    /// The expected tasks that are not forgotten, by their ids.
    expected: BTreeMap<String, Expected>,
    /// The ends of each piece of work.
    ends: BTreeSet<(u64, End)>,
    begun: u64,
}

/// A piece of work that a client asks for.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct Work {
    #[serde(rename = "work")]
    pub(super) number: u64,
    /// The secret of the call, which belongs to every payload about the work.
    pub(super) secret: String,
}

/// The expected state of a task.
#[derive(Clone, Debug)]
struct Expected {
    /// The work that the task does, with the secret of the task.
    work: Work,
    key: TaskKey,
    owner: Requestor,
    status: Status,
    /// The time at which the task expires.
    until: Option<Instant>,
    /// The number of inputs that the task has required.
    inputs: u64,
}

/// How a piece of work has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum End {
    /// The request has been answered with the result.
    Inline,
    /// A task has ended with the result.
    Completed,
    /// A task has ended with an error.
    Failed,
    /// A task has been cancelled.
    Cancelled,
}

/// An open request of a client.
#[derive(Clone)]
pub(super) struct OpenRequest {
    pub(super) number: ConnectionNumber,
    pub(super) request: Request<'static>,
    pub(super) mode: TaskMode,
    /// The work that the request asks for, if it calls a tool.
    pub(super) work: Option<Work>,
}

impl HostedTasks {
    pub(super) fn new(is_offered: bool, config: TasksConfig) -> Self {
        Self {
            is_offered,
            tasks: Tasks::new(config),
            expected: BTreeMap::new(),
            ends: BTreeSet::new(),
            begun: 0,
        }
    }

    /// Whether a piece of work has ended like this.
    pub(super) fn has_ended(&self, work: u64, end: End) -> bool {
        self.ends.contains(&(work, end))
    }

    pub(super) fn note_end(&mut self, work: u64, end: End) {
        self.ends.insert((work, end));
    }

    /// Whether the time to live of a task is not over.
    fn keeps(&self, task: &TaskTicket, now: Instant) -> bool {
        let expected = self.expected.get(&task.task_id);
        expected.is_some_and(|one| one.until.is_none_or(|until| now < until))
    }

    /// Whether a requestor reaches a task by its id. Unknown requestors reach the tasks of each other.
    fn reaches(&self, requestor: Requestor, id: &str) -> bool {
        self.expected.get(id).is_some_and(|one| match (requestor, one.owner) {
            (Requestor::Unknown(_), Requestor::Unknown(_)) => true,
            (requestor, owner) => requestor == owner,
        })
    }

    /// Checks whether a new task of this owner is accepted.
    fn check_room(&self, owner: Requestor, is_accepted: bool) -> Result<(), String> {
        let (config, all) = (self.tasks.config(), self.expected.len());
        let own = self.expected.values().filter(|one| one.owner == owner).count();
        let is_crowded = config.tasks as usize <= all || config.tasks_of_owner as usize <= own;
        if is_accepted == is_crowded {
            return Err(format!("tasks: {all} tasks, {own} of {owner:?}, accepted: {is_accepted}"));
        }
        Ok(())
    }

    fn now_is(&mut self, key: TaskKey, status: Status) -> Result<(), String> {
        let Some(one) = self.expected.values_mut().find(|one| one.key == key) else {
            return Err(format!("tasks: {status} of a task that has expired"));
        };
        if one.status.is_final() {
            return Err(format!("tasks: {} becomes {status}", one.status));
        }
        one.status = status;
        let end = match status {
            Status::Completed => End::Completed,
            Status::Failed => End::Failed,
            Status::Cancelled => End::Cancelled,
            _ => return Ok(()),
        };
        self.ends.insert((one.work.number, end));
        Ok(())
    }

    /// Handles news of a request or a response about a task.
    pub(super) fn take(&mut self, news: Option<TaskNews>) -> Result<(), String> {
        match news {
            Some(TaskNews::Cancelled(key)) => self.now_is(key, Status::Cancelled),
            Some(TaskNews::Input(key)) => {
                let inputs = self.tasks.get(key).map(|task| task.inputs());
                let sender = inputs.as_ref().and_then(|inputs| client_in(inputs.as_json()));
                let owner = self.expected.values().find(|one| one.key == key);
                let owner = owner.and_then(|one| client_in(&one.work.secret));
                if sender.is_some() && sender != owner {
                    return Err(format!("tasks: {sender:?} gives the input of {owner:?}"));
                }
                self.now_is(key, Status::Working)
            }
            _ => Ok(()),
        }
    }

    /// Compares the tasks with the model.
    pub(super) fn check(&self, now: Instant) -> Result<(), String> {
        for (id, one) in &self.expected {
            let Some(task) = self.tasks.get(one.key) else {
                return Err(format!("tasks: {id} is gone at {now:?}: {one:?}"));
            };
            if task.status() != one.status || task.owner() != one.owner || task.id() != id {
                return Err(format!("tasks: {id} is {}, not {one:?}", task.status()));
            }
            if one.until.is_some_and(|until| until <= now) {
                return Err(format!("tasks: {id} has not expired at {now:?}: {one:?}"));
            }
        }
        if self.tasks.len() != self.expected.len() {
            return Err(format!("tasks: {} of {}", self.tasks.len(), self.expected.len()));
        }
        Ok(())
    }

    /// Checks that only tasks without a time to live are left, and no notices.
    pub(super) fn check_end(&self) -> Result<(), String> {
        let left = self.expected.iter().find(|(_, one)| one.until.is_some());
        if let Some((id, one)) = left {
            return Err(format!("end: {id} is left: {one:?}"));
        }
        match self.tasks.next_connection() {
            Some(number) => Err(format!("end: there is news for connection {}", number.get())),
            None => Ok(()),
        }
    }
}

/// Returns whether a tool runs as a task.
pub(super) fn support(tool: &str) -> TaskSupport<'static> {
    match tool {
        "either" => TaskSupport::Optional,
        "task" => TaskSupport::Required,
        _ => TaskSupport::Forbidden,
    }
}

impl HttpWorld {
    /// Serves a request about tasks.
    pub(super) fn serve_tasks(
        &mut self,
        number: ConnectionNumber,
        request: &Request<'static>,
    ) -> Result<(), String> {
        let ClientRequest::Task(call) = &request.kind else { return Ok(()) };
        let (now, hosted) = (self.now, &mut self.hosted);
        let named = match call {
            TaskCall::Get { task } | TaskCall::Cancel { task } | TaskCall::Update { task, .. } => {
                Some(task)
            }
            // The response to a request for the result may wait until the task has expired.
            _ => None,
        };
        let requestor = request.context.requestor;
        self.is_found = named.map(|task| hosted.reaches(requestor, &task.to_str()));
        let served = self.http.with(number, now, |server, out| {
            server.tasks(&mut hosted.tasks).serve(request.id, call, now, out)
        });
        match served {
            Some(Ok(news)) => {
                hosted.take(news)?;
                if news.is_some() && self.is_found == Some(false) {
                    return Err(format!("tasks: {requestor:?} changes a foreign task"));
                }
            }
            other => return Err(format!("tasks: a request is answered with {other:?}")),
        }
        self.settle_tasks();
        Ok(())
    }

    /// Begins the task that a request becomes. Returns whether the request has its response.
    pub(super) fn begin_task(&mut self, open: &OpenRequest) -> Result<bool, String> {
        let (now, hosted) = (self.now, &mut self.hosted);
        let OpenRequest { number, request, work: Some(work), .. } = open else { return Ok(false) };
        let owner = request.context.requestor;
        let work = Work { number: work.number, secret: of_task(&work.secret) };
        let id = format!("{}{}", work.secret, hosted.begun);
        let new = NewTask::new(&*id);
        let begun = self.http.with(*number, now, |server, out| {
            server.tasks(&mut hosted.tasks).begin(request.id, new, now, out)
        });
        match begun {
            Some(Ok(key)) => {
                hosted.check_room(owner, true)?;
                let until = kept_for(hosted.tasks.config(), request).map(|ttl| now + ttl);
                let status = Status::Working;
                let one = Expected { work, key, owner, status, until, inputs: 0 };
                hosted.expected.insert(id, one);
                hosted.begun += 1;
                Ok(true)
            }
            Some(Err(TaskError::TooManyTasks)) => {
                hosted.check_room(owner, false)?;
                let code = ErrorCode::INTERNAL_ERROR;
                let rejected = self.http.with(*number, now, |server, out| {
                    server.reject(request.id, code, "too many tasks", out)
                });
                Ok(rejected.is_some_and(|rejected| rejected.is_ok()))
            }
            // The client has gone, and the event of that follows.
            Some(Err(TaskError::Respond(RespondError::Closed | RespondError::Cancelled))) => {
                Ok(false)
            }
            other => Err(format!("tasks: none begins: {other:?}")),
        }
    }

    /// Makes a step of the work of a task.
    pub(super) fn work(&mut self, which: u64) -> Result<(), String> {
        let (now, hosted) = (self.now, &mut self.hosted);
        let length = hosted.expected.len() as u64;
        let Some(index) = which.checked_rem(length) else { return Ok(()) };
        let Some(one) = hosted.expected.values_mut().nth(index as usize) else { return Ok(()) };
        let (key, work, before) = (one.key, one.work.clone(), one.status);
        let kind = which / length % if self.features.inputs { 12 } else { 7 };
        let (done, status) = match kind {
            0 => {
                let result = CallToolResult::text(result_of(&work));
                (hosted.tasks.complete(key, &result, now), Status::Completed)
            }
            1 => {
                let message = failure_of(&work);
                (hosted.tasks.fail(key, FAILED, &message, now), Status::Failed)
            }
            2 => (hosted.tasks.cancel(key, now), Status::Cancelled),
            7..=11 => {
                one.inputs += 1;
                let form = ElicitParams::form(&*work.secret, ObjectSchema::default());
                let required = InputRequired::new().elicit(format!("key-{}", one.inputs), form);
                (hosted.tasks.require_input(key, &required, now), Status::InputRequired)
            }
            _ => (hosted.tasks.set_message(key, Some(&work.secret), now), before),
        };
        match done {
            Ok(()) => hosted.now_is(key, status)?,
            Err(TaskError::Final(_)) if before.is_final() => {}
            // The client has not declared elicitation, or has asked for the end of the task.
            Err(TaskError::NotAllowed(_) | TaskError::CancelRequested) if 7 <= kind => {}
            Err(error) => return Err(format!("tasks: {status} from {before}: {error:?}")),
        }
        self.note(format_args!("work {}: {status}", work.number));
        self.settle_tasks();
        Ok(())
    }

    /// Sends the news of the tasks on all connections that have any.
    pub(super) fn settle_tasks(&mut self) {
        let (now, hosted) = (self.now, &mut self.hosted);
        let numbers: Vec<ConnectionNumber> = hosted.tasks.connections_with_news().collect();
        for number in numbers {
            let settled = self.http.with(number, now, |server, out| {
                server.tasks(&mut hosted.tasks).settle(now, out);
            });
            if settled.is_none() {
                hosted.tasks.disconnected(number);
            }
        }
    }

    /// Forgets the tasks whose time to live is over.
    pub(super) fn expire_tasks(&mut self) -> Result<(), String> {
        let now = self.now;
        let mut has_expired = false;
        while let Some(event) = self.hosted.tasks.handle_timeout(now) {
            self.note_value(format_args!("server: {event:?}"), &event);
            let TaskEvent::Expired { id, was_going_on, .. } = event else {
                return Err(format!("tasks: unknown event {event:?}"));
            };
            let one = self.hosted.expected.remove(&id);
            let is_due = one.as_ref().is_some_and(|one| {
                one.until.is_some_and(|until| until <= now) && was_going_on != one.status.is_final()
            });
            if !is_due {
                return Err(format!("tasks: {id} expires at {now:?}: {one:?}"));
            }
            has_expired = true;
        }
        if has_expired {
            self.settle_tasks();
        }
        self.hosted.check(now)
    }
}

impl HttpWorld {
    /// Compares the outcome of a call with its work. A task that is kept is not lost.
    pub(super) fn check_outcome(
        &self,
        client: usize,
        call: &Call,
        outcome: &Outcome<'_>,
    ) -> Result<(), String> {
        let (hosted, Some(work)) = (&self.hosted, &call.work) else { return Ok(()) };
        let number = work.number;
        let of_task = Work { number, secret: of_task(&work.secret) };
        let is_right = match outcome {
            Outcome::Result(result) => {
                let is = |work: &Work, end| {
                    let text = format!("\"{}\"", result_of(work));
                    hosted.has_ended(number, end) && result.as_json().contains(&text)
                };
                // A forged response to a request for input ends the call in the same way as a wrong one.
                let is_without_input = self.features.replays
                    && result.as_json().contains("did not give what was needed");
                is(work, End::Inline) || is(&of_task, End::Completed) || is_without_input
            }
            Outcome::PeerError(error) if error.code == FAILED => {
                let is_own = error.message.to_str() == failure_of(&of_task);
                is_own && hosted.has_ended(number, End::Failed)
            }
            Outcome::TaskCancelled => hosted.has_ended(number, End::Cancelled),
            // A session without a principal does not reach the tasks of the session that it replaces.
            Outcome::TaskNotFound => {
                let is_of_session = self.clients[client].principal == Principal::default();
                let is_kept = |task| hosted.keeps(task, self.now);
                !call.ticket.as_ref().is_some_and(is_kept) || (call.is_resumed && is_of_session)
            }
            Outcome::TimedOut(_) => {
                let timeouts = &self.clients[client].machine.config().connection.timeouts;
                let first = [timeouts.idle, timeouts.total, timeouts.person];
                first.into_iter().flatten().any(|timeout| call.made + timeout <= self.now)
            }
            // Both sides are correct, and nothing changes the bytes of a message.
            Outcome::Malformed { .. } | Outcome::Truncated { .. } | Outcome::InputRequired(_) => {
                false
            }
            Outcome::TransportFailed(_) => self.features.fails_calls(),
            // The application of the server refuses calls by this text. A tool may need a task, too.
            Outcome::PeerError(error) => {
                error.message.to_str() == format!("no {}", work.secret)
                    || self.features.tasks
                    || self.features.fails_calls()
            }
            Outcome::Closed(cause) => {
                // A session ends early if its client takes long to read the first response.
                matches!(cause, Cause::ShutDown | Cause::DrainDeadline | Cause::SessionLost)
                    || self.features.fails_calls()
            }
            _ => true,
        };
        if is_right { Ok(()) } else { Err(format!("outcome: {outcome:?} of {call:?}")) }
    }
}

/// The error code of failed work.
const FAILED: ErrorCode = ErrorCode::new(-7);

/// The result text of a piece of work.
pub(super) fn result_of(work: &Work) -> String {
    format!("done {}. {}", work.number, work.secret)
}

/// The error message of a piece of work.
fn failure_of(work: &Work) -> String {
    format!("broken {}. {}", work.number, work.secret)
}

/// Returns the piece of work in the arguments of a call.
pub(super) fn work_in(arguments: Option<&Raw<'_>>) -> Option<Work> {
    arguments?.parse().ok()
}

/// How long the task of a request is kept, from the configuration and the request.
fn kept_for(config: &TasksConfig, request: &Request<'_>) -> Option<Duration> {
    let requested = request.context.task.and_then(|task| task.ttl).or(config.ttl);
    match (requested, config.longest_ttl) {
        (Some(ttl), Some(longest)) => Some(ttl.min(longest)),
        (ttl, longest) => ttl.or(longest),
    }
}
