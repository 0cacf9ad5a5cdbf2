//! The number of calls that the application may make, and the calls that may still become tasks.

use super::call_index::CallIndex;
use super::call_state::Below;
use super::cx::Cx;
use crate::handle::CallId;
use crate::lazy_box::LazyBox;

/// Whether there is room for one more call of the application, or can be made. What the machine asks about tasks does not
/// count.
pub(super) fn has_room(below: &Below, index: &CallIndex, cx: &Cx<'_, '_>) -> bool {
    let others = cx.config.limits.outbound_calls.checked_sub(1);
    others.is_some_and(|others| below.outgoing.counted() <= others)
        || index.first_abandoned().is_some()
}

/// Makes the room that a call has taken beyond the limit. Not before it has been made, because one that
/// cannot be made changes nothing.
pub(super) fn make_room(below: &mut Below, index: &mut LazyBox<CallIndex>, cx: &Cx<'_, '_>) {
    if cx.config.limits.outbound_calls < below.outgoing.counted()
        && let Some(call) = index.first_abandoned()
    {
        forget_abandoned(below, index, call);
    }
}

/// Waits no longer for the answer to a call that was given up and could still become a task. The answer may come all the
/// same, and is late then.
pub(super) fn forget_abandoned(below: &mut Below, index: &mut LazyBox<CallIndex>, call: CallId) {
    let Some(id) = below.outgoing.id(call.0) else { return };
    if let Some((_, cause)) = index.abandoned.get(&id).copied() {
        index.abandoned.remove(&id);
        below.outgoing.give_up(call.0, cause);
    }
}
