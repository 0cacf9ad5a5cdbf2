//! The limit on calls of the application, and the abandoned calls that may still become tasks.

use super::call_index::CallIndex;
use super::call_state::Below;
use super::cx::Cx;
use crate::handle::CallId;
use crate::lazy_box::LazyBox;

/// Whether the application may make one more call, or could if abandoned calls are forgotten. Polls of tasks do not
/// count.
pub(super) fn has_room(below: &Below, index: &CallIndex, cx: &Cx<'_, '_>) -> bool {
    has_room_for(below, index, cx, 1)
}

/// The same for this number of calls.
pub(super) fn has_room_for(below: &Below, index: &CallIndex, cx: &Cx<'_, '_>, needed: u32) -> bool {
    let calls = below.outgoing.counted().saturating_add(needed);
    let excess = calls.saturating_sub(cx.config.limits.outbound_calls) as usize;
    excess <= index.abandoned.len()
}

/// Forgets as many abandoned calls as new calls exceed the limit. Runs after the new calls were made, because a call or
/// a batch that fails must change nothing.
pub(super) fn make_room(below: &mut Below, index: &mut LazyBox<CallIndex>, cx: &mut Cx<'_, '_>) {
    for _ in cx.config.limits.outbound_calls..below.outgoing.counted() {
        let Some(call) = index.first_abandoned() else { return };
        forget_abandoned(below, index, cx, call);
    }
}

/// Stops waiting for the response to an abandoned call that could still become a task. If the response is still
/// received, it counts as late.
pub(super) fn forget_abandoned(
    below: &mut Below,
    index: &mut LazyBox<CallIndex>,
    cx: &mut Cx<'_, '_>,
    call: CallId,
) {
    let Some(id) = below.outgoing.id(call.0) else { return };
    if let Some((_, cause)) = index.abandoned.get(&id).copied() {
        index.abandoned.remove(&id);
        below.outgoing.give_up(call.0, cause);
        cx.out.note_late(call, false);
    }
}
