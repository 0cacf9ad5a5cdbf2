//! Calls that become tasks of the peer
//! ([tasks](https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks), and the
//! extension from 2026-07-28 on).

use alloc::collections::BTreeMap;
use alloc::string::String;
use core::fmt;

use super::Peer;
use super::call::{Call, Whereabouts};
use super::call_options::{CallError, TaskOptions};
use super::cx::Cx;
use super::event::Outcome;
use super::gather::Gathered;
use super::incoming_request::IncomingRequest;
use super::peer_event::PeerEvent;
use super::rare::Empty;
use super::reception::Reception;
use super::task_update::{BegunTask, TaskTicket, TaskUpdate};
use super::tracking::{Snapshot, Tracked};
use crate::dialect::NotAllowed;
use crate::dialect::features::Feature;
use crate::dialect::methods::RequestKind;
use crate::error::ViolationKind;
use crate::handle::CallId;
use crate::json::{Raw, Str, member};
use crate::rpc::ResultType;
use crate::task::{EXTENSION, RELATED};

/// The calls that have become tasks, by the ids of those.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct TrackedCalls(pub(super) BTreeMap<String, CallId>);

impl Empty for TrackedCalls {
    const EMPTY: &'static Self = &Self(BTreeMap::new());
}

/// Without the ids.
impl fmt::Debug for TrackedCalls {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.0.values()).finish()
    }
}

impl Peer {
    /// How a request says that it asks for a task: a literal, or nothing if it does not or must not.
    pub(super) fn task_member(
        &self,
        kind: Option<RequestKind>,
        options: TaskOptions,
    ) -> Result<Option<String>, NotAllowed> {
        // Where it is not known yet what the peer can do, it is asked later; where there are no sessions
        // nobody asks.
        let Some(session) = self.session.filter(|_| self.rules().asks_for_tasks) else {
            return Ok(None);
        };
        let has_tasks = Feature::Tasks.is_in(session.revision);
        let capability = kind.and_then(RequestKind::task_capability);
        match capability {
            Some(capability) if has_tasks && session.theirs.contains(capability) => {}
            _ if !options.insist => return Ok(None),
            Some(capability) if has_tasks => return Err(NotAllowed::Capability(capability)),
            _ => return Err(NotAllowed::Revision),
        }
        Ok(Some(match options.ttl {
            Some(ttl) => alloc::format!(r#"{{"ttl":{}}}"#, ttl.as_millis()),
            None => String::from("{}"),
        }))
    }

    /// Whether a request that asks for a task may have been sent and has not been answered: such a request must not be
    /// cancelled like others.
    pub(super) fn may_become_task(&self, cx: &mut Cx<'_, '_>, call: CallId) -> bool {
        let asks = |entry: &Call| entry.task_options().is_some() && entry.awaits_answer();
        self.rules().asks_for_tasks
            && self.outbound.get(call.0).is_some_and(asks)
            && !self.is_unsent(cx, call)
    }

    /// Looks whether the result of a call is a task: `Some(None)` if it says so and is none, or is one that
    /// nobody has asked for.
    pub(super) fn task_in<'a>(
        &self,
        call: CallId,
        result: &Raw<'a>,
        result_type: ResultType,
    ) -> Option<Option<Snapshot<'a>>> {
        let entry = self.outbound.get(call.0)?;
        let text = result.borrowed()?;
        if self.rules().reads_result_types {
            // What MCP does not have, or the machine is not to look at, may be anything.
            entry.kind?;
            if result_type != ResultType::Task {
                return None;
            }
            let has_extension = self.identity().and_then(|own| own.extension(EXTENSION)).is_some();
            let may_be = has_extension
                && entry.narrowed.is_none()
                && entry.kind == Some(RequestKind::CallTool);
            return Some(may_be.then(|| Snapshot::read(text)).flatten());
        }
        let capability = entry.kind?.task_capability()?;
        // Nobody looks for tasks where there are none.
        self.session.filter(|session| session.theirs.contains(capability))?;
        let task = member(text, "task").filter(|task| task.starts_with('{'))?;
        if entry.task_options().is_some() {
            let meta = member(text, "_meta");
            return Some(Snapshot::read(task).map(|task| Snapshot { meta, ..task }));
        }
        let is_result = ["content", "action"].iter().any(|name| member(text, name).is_some());
        (!is_result && member(task, "taskId").is_some()).then_some(None)
    }

    /// Looks whether a call has become a task.
    pub(super) fn becomes_task<'a>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        call: CallId,
        result: &Raw<'a>,
        bytes: &'a [u8],
        reception: &Reception,
    ) -> Option<Gathered<'a>> {
        let snapshot = self.task_in(call, result, reception.result_type)?;
        let longest = cx.config.limits.uri_bytes;
        let Some(snapshot) = snapshot.filter(|task| task.id.as_wire().len() <= longest) else {
            let kind = ViolationKind::InvalidResult;
            return Some(Gathered::Ends(Outcome::Malformed { kind, message: bytes.into() }));
        };
        let entry = self.outbound.get(call.0)?;
        let options = entry.task_options().unwrap_or_default();
        let kind = entry.kind?;
        if options.by_hand {
            let id = snapshot.id.to_str().into_owned();
            let ticket = TaskTicket::new(id, kind.rule().name);
            let task = Raw::trusted(snapshot.text);
            let meta = snapshot.meta.map(Raw::trusted);
            return Some(Gathered::Ends(Outcome::Task(BegunTask { ticket, task, meta })));
        }
        let (now, most_kept) = (cx.now(), cx.config.limits.kept_bytes);
        self.track(call, Tracked::of(&snapshot, options, (now, most_kept)));
        let event = self.update_of(call, snapshot);
        self.look_after(cx, call);
        Some(Gathered::Became(event))
    }

    /// From now on a call is a task.
    pub(super) fn track(&mut self, call: CallId, tracked: Tracked) {
        self.tracked.0.insert(tracked.id.clone(), call);
        self.outbound.pause_for_ever(call.0);
        // What was asked for before it became a task has been answered.
        self.outbound.set_gathering(call.0, None);
        let Some(entry) = self.outbound.get_mut(call.0) else { return };
        entry.whereabouts = Whereabouts::Answered;
        entry.idle = None;
        entry.idle_deadline = None;
        entry.total_deadline = entry.total_deadline.filter(|_| entry.is_bounded);
        entry.params.clear();
        self.outbound.track(call.0, tracked);
        self.set_deadline(call);
    }

    pub(super) fn update_of<'a>(&self, call: CallId, snapshot: Snapshot<'a>) -> PeerEvent<'a> {
        let method = self.method_of(call);
        let Snapshot { id, status, message, text, meta, .. } = snapshot;
        let (task, meta) = (Raw::trusted(text), meta.map(Raw::trusted));
        let ticket = TaskTicket::new(id.to_str().into_owned(), method);
        PeerEvent::Task(TaskUpdate { call, ticket, status, message, task, meta })
    }

    pub(super) fn method_of(&self, call: CallId) -> &'static str {
        let kind = self.outbound.get(call.0).and_then(|entry| entry.kind);
        kind.map(|kind| kind.rule().name).unwrap_or_default()
    }

    /// The call that has become this task.
    pub(super) fn call_of_task(&self, id: &str) -> Option<CallId> {
        self.tracked.0.get(id).copied()
    }

    /// The call that a request of the peer belongs to, because the call has become a task.
    pub(crate) fn needed_for(&self, request: &IncomingRequest<'_, '_>) -> Option<CallId> {
        if self.tracked.0.is_empty() {
            return None;
        }
        let id = member(request.in_meta(RELATED)?, "taskId").and_then(Str::from_literal)?;
        self.call_of_task(&id.to_str())
    }

    /// Goes on with a task that has been begun on another connection.
    pub(crate) fn resume_task(
        &mut self,
        cx: &mut Cx<'_, '_>,
        ticket: &TaskTicket,
        options: TaskOptions,
    ) -> Result<CallId, CallError> {
        if !self.phase.takes_calls() {
            return Err(CallError::Closed);
        }
        let kind = RequestKind::named(&ticket.method);
        let kind = kind.filter(|kind| kind.task_capability().is_some());
        let kind = kind.ok_or(NotAllowed::Method)?;
        self.has_room(cx)?;
        self.clock.tick(cx.now());
        let mut entry =
            Call { kind: Some(kind), whereabouts: Whereabouts::Answered, ..Call::default() };
        let call = self.register(&mut entry);
        self.make_room(cx);
        let id = ticket.task_id.clone();
        let (begun, most_kept) = (cx.now(), cx.config.limits.kept_bytes);
        self.track(call, Tracked { id, options, begun, most_kept, ..Tracked::default() });
        self.ask_about(cx, call);
        Ok(call)
    }
}
