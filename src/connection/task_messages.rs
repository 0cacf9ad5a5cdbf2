//! Requests about a task of the peer, and their results.

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::call_cx::CallCx;
use super::call_options::{CallError, CallOptions, Timeout};
use super::check_result::judged;
use super::common_event::CommonEvent;
use super::cx::Cx;
use super::event::Outcome;
use super::messages::Messages;
use super::outgoing_request::{Owner, PollKind};
use super::task_snapshot::Snapshot;
use super::task_update::{TaskTicket, TaskUpdate};
use crate::codes::ViolationKind;
use crate::dialect::methods::RequestKind;
use crate::handle::CallId;
use crate::json::{Raw, Str, member};
use crate::rpc::{ErrorObject, Recycle, ResultType};
use crate::schema::serialized;
use crate::task::EXTENSION;

/// The number of table entries that one call may take, including the requests about its task.
const POLLS: u32 = 4;

/// The params of a request about a task.
struct About<'t> {
    id: &'t str,
    /// The responses to inputs that the task requires, as a JSON object.
    inputs: Option<&'t str>,
}

serialized! { About<'_> }

impl Serialize for About<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut params = serializer.serialize_map(None)?;
        params.serialize_entry("taskId", self.id)?;
        if let Some(inputs) = self.inputs {
            params.serialize_entry("inputResponses", &Raw::trusted(inputs))?;
        }
        params.end()
    }
}

/// Sends a request about the task of a call.
pub(super) fn poll<C: Recycle>(
    below: &mut Messages<C>,
    cx: &mut Cx<'_, '_>,
    (of, kind): (CallId, PollKind),
    id: &str,
    (inputs, is_over): (Option<&str>, bool),
) -> Result<CallId, CallError> {
    let (asks, options) = match kind {
        PollKind::Get => (RequestKind::GetTask, CallOptions::new()),
        PollKind::Result if is_over => (RequestKind::TaskResult, CallOptions::new()),
        // The response comes only after the task has ended.
        PollKind::Result => (RequestKind::TaskResult, CallOptions::new().idle(Timeout::Never)),
        PollKind::Update => (RequestKind::UpdateTask, CallOptions::new()),
        PollKind::Cancel => (RequestKind::CancelTask, CallOptions::new()),
    };
    let method = asks.rule().name;
    // This separate limit keeps calls that have become tasks from blocking each other's polls.
    if cx.config.limits.outbound_calls.saturating_mul(POLLS) <= below.outgoing.len() {
        return Err(CallError::TooManyCalls);
    }
    let mut order = below.order(cx, method, Owner::Poll { of, kind }, options, true)?;
    let poll = below.ask(cx, &mut order, method, &About { id, inputs })?;
    below.outgoing.set_uncounted(poll.0);
    below.outgoing.set_quiet(poll.0);
    Ok(poll)
}

/// Reads a task from the result of a call. Returns `Some(None)` if the result claims to be a task, but is malformed
/// or was not asked for.
pub(super) fn task_in<'a, C: Recycle>(
    below: &Messages<C>,
    call: CallId,
    result: &Raw<'a>,
    result_type: ResultType,
) -> Option<Option<Snapshot<'a>>> {
    let asked = below.outgoing.get(call.0)?;
    let text = result.borrowed()?;
    let session = &below.session;
    if session.rules().reads_result_types {
        // A result of a method that MCP does not have, or that is relayed unchecked, may be anything.
        asked.kind?;
        if result_type != ResultType::Task {
            return None;
        }
        let has_extension = session.identity().and_then(|own| own.extension(EXTENSION)).is_some();
        let may_be = has_extension && asked.kind == Some(RequestKind::CallTool);
        return Some(may_be.then(|| Snapshot::read(text)).flatten());
    }
    let capability = asked.kind?.task_capability()?;
    // If the peer does not support tasks for the method, its result is never a task.
    session.negotiated.filter(|negotiated| negotiated.theirs.contains(capability))?;
    let task = member(text, "task").filter(|task| task.starts_with('{'))?;
    if asked.task.is_some() {
        let meta = member(text, "_meta");
        return Some(Snapshot::read(task).map(|task| Snapshot { meta, ..task }));
    }
    let is_result = ["content", "action"].iter().any(|name| member(text, name).is_some());
    (!is_result && member(task, "taskId").is_some()).then_some(None)
}

/// Returns the outcome of a task that is included in its status.
pub(super) fn inlined<'a, C: Recycle>(
    at: &mut CallCx<'_, '_, '_, C>,
    text: &'a str,
    bytes: &'a [u8],
) -> Outcome<'a> {
    let error = member(text, "error").and_then(ErrorObject::from_literal);
    let result = member(text, "result").filter(|result| result.starts_with('{'));
    let is_result = |result: &&str| {
        let kind = member(result, "resultType").map(Str::from_literal);
        kind.is_none_or(|kind| kind.is_some_and(|kind| kind == "complete"))
    };
    let outcome = match (result.filter(is_result), error) {
        (Some(result), None) => Outcome::Result(Raw::trusted(result)),
        (None, Some(error)) => Outcome::PeerError(error),
        _ => {
            let kind = ViolationKind::InvalidResult;
            return Outcome::Malformed { kind, message: bytes.into() };
        }
    };
    judged(at.below, at.cx, at.call, outcome, bytes)
}

/// Returns the event that reports the status of a task.
pub(super) fn update_of<'a, C: Recycle>(
    below: &Messages<C>,
    call: CallId,
    snapshot: Snapshot<'a>,
) -> CommonEvent<'a> {
    let method = method_of(below, call);
    let Snapshot { id, status, message, text, meta, .. } = snapshot;
    let (task, meta) = (Raw::trusted(text), meta.map(Raw::trusted));
    let ticket = TaskTicket::new(id.to_str().into_owned(), method);
    CommonEvent::Task(TaskUpdate { call, ticket, status, message, task, meta })
}

/// Returns the method of the request of a call, or an empty string if MCP does not have it.
pub(super) fn method_of<C: Recycle>(below: &Messages<C>, call: CallId) -> &'static str {
    let kind = below.outgoing.get(call.0).and_then(|asked| asked.kind);
    kind.map(|kind| kind.rule().name).unwrap_or_default()
}
