//! The state transitions of a call as a table, and the check that every transition is a row of the table.
//!
//! The state of a call is derived from its entry. At the beginning and end of an operation, the states of all calls
//! are compared with those of the last check. This happens in builds for fuzzing and in builds with
//! `RUSTFLAGS="--cfg call_table"`: every test and every simulation of such a build verifies the table. Other builds
//! omit this file, because the tests of memory and work would measure its cost.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::hash::{Hash, Hasher};

use CallState::{
    Abandoned, AwaitsInput, Ends, IsTask, Queued, Retries, SentInBatch, Subscribed, Withdrawn,
};

use super::call_index::CallIndex;
use super::call_state::{Below, Call, CallState as Pattern};
use super::outgoing_request::{OutgoingRequest, Owner, Sent};
use crate::handle::{CallId, SlotKey};
use crate::rpc::Outgoing;

/// The state of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallState {
    /// The request waits for the handshake.
    Queued,
    /// The request is in the outbox, or has left it.
    Sent,
    /// The request is in the outbox as part of a batch, or has left it.
    SentInBatch,
    /// The request was withdrawn, or the session does not allow it. The event of the call's end is pending.
    Withdrawn,
    /// The call needs input, and the application has not given all of it.
    AwaitsInput,
    /// The request is sent again when its retry is due.
    Retries,
    /// The call cannot continue. The event of its end is pending.
    Ends,
    /// The call is a task of the peer.
    IsTask,
    /// The call is a subscription in a legacy session.
    Subscribed,
    /// The call has ended for the application. The response may still be a task.
    Abandoned,
}

/// The initial states of a call.
const BEGINNINGS: &[CallState] = &[Queued, CallState::Sent, SentInBatch, IsTask, Subscribed];

/// Each state, and its successors within one operation. Every state can also end.
const CHANGES: &[(CallState, &[CallState])] = &[
    (Queued, &[CallState::Sent, Withdrawn, Subscribed]),
    (CallState::Sent, &[AwaitsInput, Retries, IsTask, Withdrawn, Ends, Abandoned]),
    // The next page of a list is a request of its own.
    (SentInBatch, &[CallState::Sent, Withdrawn]),
    (Withdrawn, &[]),
    (AwaitsInput, &[CallState::Sent, Retries, Ends]),
    (Retries, &[CallState::Sent, Ends]),
    (Ends, &[]),
    (IsTask, &[]),
    (Subscribed, &[]),
    (Abandoned, &[]),
];

/// Whether a call in state `before` can be in state `after` now.
fn is_row(before: Option<CallState>, after: CallState) -> bool {
    match before {
        None => BEGINNINGS.contains(&after),
        Some(before) => {
            before == after
                || CHANGES
                    .iter()
                    .any(|(state, changes)| *state == before && changes.contains(&after))
        }
    }
}

/// The states of all calls at the last check. The states are not part of the state of the connection.
#[derive(Clone, Debug, Default)]
pub(super) struct LastStates(Option<Vec<(SlotKey, CallState)>>);

impl PartialEq for LastStates {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for LastStates {}

impl Hash for LastStates {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl OutgoingRequest<Call> {
    /// Whether the end of a subscription waits for the notifications before it.
    fn has_end(&self) -> bool {
        self.call.state.subscription().is_some_and(|one| one.end.is_some())
    }

    fn state(&self, is_stuck: bool, retries: bool) -> CallState {
        match self.sent {
            _ if self.owner == Owner::Abandoned => Abandoned,
            Sent::Queued(_) => Queued,
            Sent::Outbox(_) => CallState::Sent,
            Sent::InBatch(_) => SentInBatch,
            Sent::Withdrawn => Withdrawn,
            Sent::Nowhere if self.call.state.task().is_some() => IsTask,
            Sent::Nowhere if is_stuck || self.has_end() => Ends,
            Sent::Nowhere if retries => Retries,
            Sent::Nowhere if matches!(self.call.state, Pattern::Input(_)) => AwaitsInput,
            Sent::Nowhere => Subscribed,
        }
    }
}

impl LastStates {
    /// Checks that the change of each call since the last check is a row of the table. Also checks that the entry of
    /// each call fits its state. Skips a connection with very many calls, because the check would take too long.
    pub(super) fn check(&mut self, messages: &Below, index: &CallIndex) {
        const MOST: u32 = 256;
        let outgoing = &messages.outgoing;
        if MOST < outgoing.len() {
            self.0 = None;
            return;
        }
        let stuck: BTreeSet<CallId> = index.stuck.iter().map(|(call, _)| *call).collect();
        let mut states = Vec::new();
        let mut kept = 0;
        for (place, asked) in outgoing.iter() {
            let state = asked.state(stuck.contains(&CallId(place)), outgoing.retries(place));
            check_call(outgoing, place, asked, state);
            kept += asked.call.state.bytes();
            states.push((place, state));
        }
        assert!(kept <= messages.incoming.bytes, "{kept} bytes are kept for calls");
        if let Some(last) = &self.0 {
            let mut last = last.iter();
            for (place, state) in &states {
                // Both are in the order in which the calls were made.
                let before = last.as_slice().iter().position(|(known, _)| known == place);
                let before = before.and_then(|at| last.nth(at)).map(|(_, before)| *before);
                assert!(is_row(before, *state), "{before:?} became {state:?}: {place:?}");
            }
        }
        self.0 = Some(states);
    }
}

fn check_call(
    outgoing: &Outgoing<OutgoingRequest<Call>>,
    place: SlotKey,
    asked: &OutgoingRequest<Call>,
    state: CallState,
) {
    let (is_in_heap, idle_runs, may_pause) = outgoing.checked_timers(place);
    let pattern = &asked.call.state;
    assert!(is_in_heap, "{state:?}: {asked:?}");
    assert!(*pattern != Pattern::Stepping, "{state:?}: {asked:?}");
    let runs = matches!(state, Queued | CallState::Sent | SentInBatch | Withdrawn | Abandoned);
    assert!(runs || !idle_runs, "{state:?}: {asked:?}");
    assert!(state == Retries || !outgoing.retries(place), "{state:?}: {asked:?}");
    assert_eq!(state == IsTask, pattern.task().is_some(), "{state:?}: {asked:?}");
    let has_timers = !may_pause || !matches!(state, IsTask | Subscribed | Abandoned);
    assert!(has_timers, "{state:?}: {asked:?}");
    let subscribes = pattern.subscription().is_some() && asked.owner == Owner::Subscription;
    assert!(state != Subscribed || subscribes, "{state:?}: {asked:?}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_state_has_one_row_and_can_be_reached() {
        let states = || CHANGES.iter().map(|(state, _)| *state);
        for state in states() {
            assert_eq!(states().filter(|of| *of == state).count(), 1, "{state:?}");
            let is_reached = states().any(|from| from != state && is_row(Some(from), state));
            assert!(is_reached || is_row(None, state), "{state:?}");
        }
        assert!(!is_row(Some(Abandoned), IsTask));
    }
}
