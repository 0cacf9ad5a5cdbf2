//! The calls that have not ended, and what has to be known of all of them: kept up to date with each one
//! that comes and goes, so that nothing has to look at every call to find it out.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use core::ops::Deref;

use super::call::{Call, Purpose};
use super::gathering::{Gathering, Wanted};
use super::rare::{Empty, Rare};
use super::subscription::{Early, Subscription};
use super::tracking::{TaskPart, Tracked, part};
use crate::dialect::methods::NotificationKind;
use crate::handle::{CallId, ConnectionNumber, Place};
use crate::limits::Limits;
use crate::rpc::{Ending, GivenUp, Outbound};

/// The calls that have not ended.
///
/// The purpose of a call, and whether its clock may stand still for so long only, change by what is said
/// here and in no other way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Pending {
    calls: Outbound<Call>,
    /// The first of the calls whose clock may stand still for so long only.
    ///
    /// No call becomes one of these later. So whoever looks for the next one never looks at a call twice.
    first_pausing: Option<u32>,
    /// How many questions about tasks there are.
    steps: u32,
    /// How many calls the end of the connection need not wait for.
    quiet: u32,
    few: Rare<Few>,
}

/// Calls that most connections never make.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Few {
    /// Subscriptions, in the order they were made.
    subscriptions: VecDeque<CallId>,
    /// Calls that were given up and could still become tasks, by their ids, and why they were.
    abandoned: BTreeMap<u64, (CallId, GivenUp)>,
    /// How many bytes are kept of the peer for calls: what calls that need something bring back, and
    /// notifications that came before their subscriptions were open.
    kept_bytes: usize,
}

impl Empty for Few {
    const EMPTY: &'static Self =
        &Self { subscriptions: VecDeque::new(), abandoned: BTreeMap::new(), kept_bytes: 0 };
}

impl Deref for Pending {
    type Target = Outbound<Call>;

    fn deref(&self) -> &Outbound<Call> {
        &self.calls
    }
}

impl Pending {
    /// None. The first one will get `first_id`.
    pub(super) fn new(connection: ConnectionNumber, first_id: u64, remembered: u32) -> Self {
        let calls = Outbound::new(connection, first_id, remembered);
        Self { calls, first_pausing: None, steps: 0, quiet: 0, few: Rare::EMPTY }
    }

    /// Registers a call under the next id.
    #[inline]
    pub(super) fn insert(&mut self, call: &mut Call) -> Place {
        let (purpose, pauses) = (call.purpose, call.pause.is_some());
        let place = self.calls.insert(|_| {});
        // Not in the closure, which would hold a copy of it: a call is large.
        if let Some(entry) = self.calls.get_mut(place) {
            // The room that the last call in this place had for its params serves the next one.
            core::mem::swap(&mut call.params, &mut entry.params);
            core::mem::swap(call, entry);
        }
        if pauses && self.first_pausing.is_none() {
            self.first_pausing = Some(place.index);
        }
        match purpose {
            Purpose::TaskStep => {
                self.steps += 1;
                self.quiet += 1;
            }
            Purpose::Subscription => self.few.subscriptions.push_back(CallId(place)),
            _ => {}
        }
        place
    }

    pub(super) fn get_mut(&mut self, place: Place) -> Option<&mut Call> {
        self.calls.get_mut(place)
    }

    /// Gives a pending call the next id: it is asked again under the same handle.
    pub(super) fn renew(&mut self, place: Place) {
        self.calls.renew(place);
    }

    /// Changes the calls, in the order they were made.
    pub(super) fn for_each(&mut self, change: impl FnMut(&mut Call)) {
        self.calls.for_each(change);
    }

    /// Takes a call out because it ended.
    pub(super) fn remove(&mut self, place: Place, ending: Ending) {
        self.forget(place);
        self.calls.remove(place, ending);
    }

    /// Takes a call out and remembers that its answer may still come.
    pub(super) fn give_up(&mut self, place: Place, cause: GivenUp) {
        self.forget(place);
        self.calls.give_up(place, cause);
    }

    /// The clock of a call may stand still for however long it does.
    pub(super) fn pause_for_ever(&mut self, place: Place) {
        if let Some(call) = self.calls.get_mut(place) {
            call.pause = None;
            self.pass_pausing(place);
        }
    }

    /// A call of the application is given up, and may still become a task.
    pub(super) fn abandon(&mut self, place: Place, cause: GivenUp) {
        self.pause_for_ever(place);
        let Some(id) = self.calls.id(place) else { return };
        if let Some(call) = self.calls.get_mut(place) {
            self.quiet += u32::from(!call.ends_quietly());
            call.purpose = Purpose::Abandoned;
            self.few.abandoned.insert(id, (CallId(place), cause));
        }
    }

    /// A call has become a task of the peer.
    pub(super) fn track(&mut self, place: Place, tracked: Tracked) {
        if let Some(call) = self.calls.get_mut(place) {
            self.quiet += u32::from(!call.ends_quietly());
            call.task = part(TaskPart::Tracked(tracked));
        }
    }

    /// Something else is gathered for a call than before. Gives what was.
    pub(super) fn set_gathering(
        &mut self,
        place: Place,
        gathering: Option<Box<Gathering>>,
    ) -> Option<Box<Gathering>> {
        let call = self.calls.get_mut(place)?;
        call.needed_input |= gathering.is_some();
        let added = gathering.as_deref().map_or(0, Gathering::bytes);
        let before = core::mem::replace(&mut call.gathering, gathering);
        let taken = before.as_deref().map_or(0, Gathering::bytes);
        self.change_kept(added, taken);
        before
    }

    /// One more thing is gathered for a call, behind the others or in the place of one of them.
    pub(super) fn want(&mut self, place: Place, index: u32, wanted: Wanted) {
        let Some(call) = self.calls.get_mut(place) else { return };
        call.needed_input = true;
        let known = &mut call.gathering.get_or_insert_default().wanted;
        let (added, mut taken) = (wanted.key.len(), 0);
        match known.get_mut(index as usize) {
            Some(slot) => taken = core::mem::replace(slot, wanted).key.len(),
            None => known.push(wanted),
        }
        self.change_kept(added, taken);
    }

    /// Keeps what a subscription cannot be told at once, if that takes no more than `room` bytes and not too much is
    /// kept for it already.
    pub(super) fn keep_early(
        &mut self,
        place: Place,
        (limits, room): (&Limits, usize),
        kind: NotificationKind,
        params: Option<&str>,
    ) {
        let subscription = self.calls.get_mut(place).and_then(|call| call.subscription.as_mut());
        if let Some(subscription) = subscription {
            let added = subscription.keep((limits, room), kind, params);
            self.change_kept(added, 0);
        }
    }

    /// The next notification that came before its subscription was open.
    pub(super) fn next_early(&mut self, place: Place) -> Option<Early> {
        let subscription = self.calls.get_mut(place)?.subscription.as_mut()?;
        let early = subscription.early.pop_front()?;
        self.change_kept(0, early.bytes());
        Some(early)
    }

    /// A call does not stand for a subscription any more. Gives that.
    pub(super) fn take_subscription(&mut self, place: Place) -> Option<Box<Subscription>> {
        let subscription = self.calls.get_mut(place)?.subscription.take()?;
        self.change_kept(0, subscription.early_bytes());
        Some(subscription)
    }

    /// How many bytes are kept of the peer for calls.
    pub(super) fn kept_bytes(&self) -> usize {
        self.few.kept_bytes
    }

    /// Few calls keep anything, and the others are not to allocate for it.
    fn change_kept(&mut self, added: usize, taken: usize) {
        if added != taken {
            self.few.kept_bytes += added;
            self.few.kept_bytes -= taken;
        }
    }

    /// Gives the memory back if there are no calls.
    pub(super) fn release(&mut self) {
        self.calls.release();
        self.few.release();
    }

    /// The first of the calls whose clock may stand still for so long only.
    pub(super) fn first_pausing(&self) -> Option<Place> {
        self.calls.place_of(self.first_pausing?)
    }

    /// How many questions about tasks there are.
    pub(super) const fn steps(&self) -> u32 {
        self.steps
    }

    /// Whether there are no calls but such as the end of the connection need not wait for.
    pub(super) const fn is_quiet(&self) -> bool {
        self.calls.len() == self.quiet
    }

    /// The subscriptions, in the order they were made.
    pub(super) fn subscriptions(&self) -> impl Iterator<Item = CallId> {
        self.few.subscriptions.iter().copied()
    }

    /// Of the calls that were given up and could still become tasks, the one that was asked first.
    pub(super) fn first_abandoned(&self) -> Option<CallId> {
        self.few.abandoned.first_key_value().map(|(_, (call, _))| *call)
    }

    /// Waits no longer for the answer to a call that was given up and could still become a task. The answer may come all
    /// the same.
    pub(super) fn forget_abandoned(&mut self, place: Place) {
        let abandoned = self.calls.id(place).and_then(|id| self.few.abandoned.get(&id));
        if let Some((_, cause)) = abandoned.copied() {
            self.give_up(place, cause);
        }
    }

    /// A call is about to be taken out.
    fn forget(&mut self, place: Place) {
        let Some(call) = self.calls.get(place) else { return };
        self.quiet -= u32::from(call.ends_quietly());
        let purpose = call.purpose;
        let (gathers, subscribes) = (call.gathering.is_some(), call.subscription.is_some());
        if gathers {
            self.set_gathering(place, None);
        }
        if subscribes {
            self.take_subscription(place);
        }
        self.pass_pausing(place);
        match purpose {
            Purpose::Application => {}
            Purpose::TaskStep => self.steps -= 1,
            Purpose::Subscription => {
                work!(self.few.subscriptions.len());
                // At the end of a connection that is the first one.
                let at = self.few.subscriptions.iter().position(|call| call.0 == place);
                self.few.subscriptions.remove(at.unwrap_or(usize::MAX));
            }
            Purpose::Abandoned => {
                let id = self.calls.id(place).unwrap_or_default();
                self.few.abandoned.remove(&id);
            }
            _ => {}
        }
    }

    /// Goes on to the next call whose clock may stand still for so long only, if this one is the first.
    fn pass_pausing(&mut self, place: Place) {
        if self.first_pausing != Some(place.index) {
            return;
        }
        let mut next = self.calls.after(place);
        while let Some(at) = next
            && self.calls.get(at).is_some_and(|call| call.pause.is_none())
        {
            next = self.calls.after(at);
        }
        self.first_pausing = next.map(|place| place.index);
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;
    use core::time::Duration;

    use super::*;

    /// What has to be known, found out by looking at every call.
    fn look(pending: &Pending) -> (Option<Place>, u32, Vec<CallId>, Option<CallId>, bool) {
        let of = |purpose| {
            let calls = pending.iter().filter(move |(_, call)| call.purpose == purpose);
            calls.map(|(place, _)| CallId(place))
        };
        let pausing = pending.iter().find(|(_, call)| call.pause.is_some()).map(|call| call.0);
        let steps = u32::try_from(of(Purpose::TaskStep).count()).unwrap_or_default();
        let subscriptions = of(Purpose::Subscription).collect();
        let abandoned = of(Purpose::Abandoned).min_by_key(|call| pending.id(call.0));
        let is_quiet = pending.iter().all(|(_, call)| call.ends_quietly());
        (pausing, steps, subscriptions, abandoned, is_quiet)
    }

    fn known(pending: &Pending) -> (Option<Place>, u32, Vec<CallId>, Option<CallId>, bool) {
        let subscriptions = pending.subscriptions().collect();
        let (steps, abandoned) = (pending.steps(), pending.first_abandoned());
        (pending.first_pausing(), steps, subscriptions, abandoned, pending.is_quiet())
    }

    #[test]
    fn what_is_known_of_all_calls_is_what_is_seen_by_looking_at_each() {
        const PURPOSES: [Purpose; 4] =
            [Purpose::Application, Purpose::Subscription, Purpose::TaskStep, Purpose::KeepAlive];
        let mut pending = Pending::new(ConnectionNumber::default(), 1, 4);
        let mut random = 12_345_u64;
        let mut roll = |sides: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 33) as usize % sides
        };
        for step in 0..20_000 {
            let places: Vec<Place> = pending.iter().map(|(place, _)| place).collect();
            let most = if step / 1_000 % 2 == 0 { 40 } else { 1 };
            if places.len() < most && roll(3) != 0 {
                let (purpose, pauses) = (PURPOSES[roll(4)], roll(4) == 0);
                let pause = pauses.then_some(Duration::from_secs(1));
                pending.insert(&mut Call { purpose, pause, ..Call::default() });
            } else if !places.is_empty() {
                let place = places[roll(places.len())];
                let purpose = pending.get(place).map(|call| call.purpose);
                match roll(6) {
                    0 => pending.remove(place, Ending::Answered),
                    1 => pending.give_up(place, GivenUp::TimedOut),
                    2 => pending.pause_for_ever(place),
                    5 if purpose == Some(Purpose::Application) => {
                        pending.track(place, Tracked::default());
                    }
                    3 if purpose == Some(Purpose::Application) => {
                        pending.abandon(place, GivenUp::TimedOut)
                    }
                    3 | 4 if purpose != Some(Purpose::Abandoned) => pending.renew(place),
                    _ => pending.remove(places[0], Ending::Closed),
                }
                // What is done to a call that has ended does nothing.
                if pending.get(place).is_none() {
                    let before = pending.clone();
                    pending.remove(place, Ending::Answered);
                    pending.give_up(place, GivenUp::Cancelled);
                    pending.pause_for_ever(place);
                    pending.abandon(place, GivenUp::Cancelled);
                    assert_eq!(pending, before);
                }
            }
            assert_eq!(known(&pending), look(&pending), "step {step}");
        }
    }
}
