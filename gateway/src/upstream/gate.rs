//! [`Gate`]: how many calls a server gets at the same time, all together and of each client.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mcp_sansio::request::Requestor;
use tokio::sync::oneshot;

/// Limits the calls in progress at a server. A free place goes to the waiting client with the fewest calls in progress.
/// Clients with equally many take turns, so a client with many calls does not delay a client with few.
///
/// [`Requestor::Unknown`] with the number 0 stands for all clients of whom nothing is known. It has no limit of its own.
pub(crate) struct Gate {
    most: usize,
    most_of_client: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    in_progress: usize,
    clients: BTreeMap<Requestor, ClientCalls>,
    /// The waiting clients below their own limit, in the order in which they get the next places.
    next: BTreeSet<Turn>,
    /// The number of the next change.
    number: u64,
}

/// The calls of a client: at least one.
#[derive(Default)]
struct ClientCalls {
    in_progress: usize,
    /// The number of the change since which it is the turn of this client.
    since: u64,
    waiting: BTreeMap<u64, oneshot::Sender<Place>>,
}

/// The turn of a client: the number of its calls in progress, the number since which it waits, and the client.
type Turn = (usize, u64, Requestor);

/// The place of a call that is in progress. Dropping it lets another call through.
pub(crate) struct Place {
    gate: Arc<Gate>,
    client: Requestor,
}

/// A call that waits. Dropping it takes the call out of the queue.
struct Waiting<'g> {
    gate: &'g Gate,
    client: Requestor,
    number: u64,
}

impl Gate {
    pub(crate) fn new(most: usize, most_of_client: usize) -> Arc<Self> {
        let most = most.max(1);
        Arc::new(Self {
            most,
            most_of_client: most_of_client.clamp(1, most),
            state: Mutex::default(),
        })
    }

    /// Waits for a place. Dropping this future gives it up.
    pub(crate) async fn enter(self: &Arc<Self>, client: Requestor) -> Place {
        loop {
            let (sender, place) = oneshot::channel();
            let waiting = self.wait(client, sender);
            // The sender is dropped only together with the guard.
            let place = place.await;
            drop(waiting);
            if let Ok(place) = place {
                return place;
            }
        }
    }

    /// Returns the number of calls in progress.
    pub(crate) fn in_progress(&self) -> usize {
        self.lock().in_progress
    }

    fn wait(self: &Arc<Self>, client: Requestor, sender: oneshot::Sender<Place>) -> Waiting<'_> {
        let mut state = self.lock();
        let number = state.update(client, self.most_of_client, |calls, number| {
            if calls.waiting.is_empty() {
                calls.since = number;
            }
            calls.waiting.insert(number, sender);
        });
        self.let_through(state);
        Waiting { gate: self, client, number }
    }

    /// Gives the free places to waiting calls.
    fn let_through(self: &Arc<Self>, mut state: MutexGuard<'_, State>) {
        let mut given_up = Vec::new();
        while state.in_progress < self.most
            && let Some(&(_, _, client)) = state.next.first()
        {
            let mut sender = None;
            state.update(client, self.most_of_client, |calls, number| {
                sender = calls.waiting.pop_first().map(|(_, sender)| sender);
                calls.in_progress += 1;
                calls.since = number;
            });
            state.in_progress += 1;
            let place = Place { gate: Arc::clone(self), client };
            // A call that has just been given up returns its place, but not under the lock.
            given_up.extend(sender.map(|sender| sender.send(place)).and_then(Result::err));
        }
        drop(state);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Changes the calls of a client, and its turn with them. Returns the number of the change.
    fn update(
        &mut self,
        client: Requestor,
        most: usize,
        change: impl FnOnce(&mut ClientCalls, u64),
    ) -> u64 {
        let number = self.number;
        self.number += 1;
        let calls = self.clients.entry(client).or_default();
        if let Some(turn) = calls.turn(client, most) {
            self.next.remove(&turn);
        }
        change(calls, number);
        if let Some(turn) = calls.turn(client, most) {
            self.next.insert(turn);
        }
        if calls.in_progress == 0 && calls.waiting.is_empty() {
            self.clients.remove(&client);
        }
        number
    }
}

impl ClientCalls {
    fn turn(&self, client: Requestor, most: usize) -> Option<Turn> {
        // Senders of whom nothing is known may be any number of clients.
        let is_within = self.in_progress < most || client == Requestor::Unknown(0);
        let has_turn = !self.waiting.is_empty() && is_within;
        has_turn.then_some((self.in_progress, self.since, client))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.gate.lock();
        state.in_progress -= 1;
        state.update(self.client, self.gate.most_of_client, |calls, _| calls.in_progress -= 1);
        self.gate.let_through(state);
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let most = self.gate.most_of_client;
        let mut state = self.gate.lock();
        // A call that was let through waits no more, and its client may have no calls any more.
        if state.clients.contains_key(&self.client) {
            state.update(self.client, most, |calls, _| _ = calls.waiting.remove(&self.number));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};
    use std::time::Duration;

    use super::*;

    /// Whether a call gets a place at once, and its place.
    fn at_once(gate: &Arc<Gate>, client: Requestor) -> Option<Place> {
        match pin!(gate.enter(client)).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(place) => Some(place),
            Poll::Pending => None,
        }
    }

    fn is_unused(gate: &Gate) -> bool {
        let state = gate.lock();
        state.in_progress == 0 && state.clients.is_empty() && state.next.is_empty()
    }

    #[test]
    fn a_client_at_its_limit_delays_only_itself() {
        let gate = Gate::new(3, 2);
        let (one, other) = (Requestor::Session(1), Requestor::Session(2));
        let places = [at_once(&gate, one).unwrap(), at_once(&gate, one).unwrap()];
        assert!(at_once(&gate, one).is_none());
        let third = at_once(&gate, other).unwrap();
        assert_eq!(gate.in_progress(), 3);
        // All places are taken now.
        assert!(at_once(&gate, other).is_none());
        drop(third);
        drop(places);
        assert!(is_unused(&gate));
    }

    #[test]
    fn clients_of_whom_nothing_is_known_have_no_limit_of_their_own() {
        let gate = Gate::new(3, 1);
        let unknown = Requestor::Unknown(0);
        let places = [(); 3].map(|()| at_once(&gate, unknown).unwrap());
        assert!(at_once(&gate, unknown).is_none());
        drop(places);
        assert!(at_once(&gate, Requestor::Unknown(1)).is_some() && is_unused(&gate));
    }

    /// A free place goes to the client with the fewest calls in progress. Clients with equally many take turns.
    #[tokio::test(start_paused = true)]
    async fn a_client_with_many_calls_does_not_delay_a_client_with_few() {
        let gate = Gate::new(2, 2);
        let order = Arc::new(Mutex::new(Vec::new()));
        let first = gate.enter(Requestor::Session(1)).await;
        let second = gate.enter(Requestor::Session(1)).await;
        for number in [1, 1, 2, 2, 1, 3] {
            let (gate, order) = (Arc::clone(&gate), Arc::clone(&order));
            tokio::spawn(async move {
                let _place = gate.enter(Requestor::Session(number)).await;
                order.lock().unwrap().push(number);
                tokio::time::sleep(Duration::from_secs(1)).await;
            });
            tokio::task::yield_now().await;
        }
        drop(first);
        tokio::time::sleep(Duration::from_millis(500)).await;
        drop(second);
        tokio::time::sleep(Duration::from_secs(60)).await;
        // At first session 1 has a call in progress. Session 3 came last, and waits for two others.
        assert_eq!(*order.lock().unwrap(), [2, 1, 3, 2, 1, 1]);
        assert!(is_unused(&gate));
    }

    /// Calls that were given up leave nothing, whether or not they have got a place.
    #[tokio::test]
    async fn calls_that_are_given_up_are_forgotten() {
        let gate = Gate::new(1, 1);
        let client = Requestor::Session(1);
        let place = at_once(&gate, client).unwrap();
        for _ in 0..100 {
            assert!(at_once(&gate, client).is_none());
        }
        assert_eq!(gate.lock().clients.get(&client).map(|calls| calls.waiting.len()), Some(0));
        let mut waiting = Box::pin(gate.enter(client));
        assert!(waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        drop(place);
        // It has its place, and does not know it.
        assert_eq!(gate.in_progress(), 1);
        drop(waiting);
        assert!(is_unused(&gate));
    }
}
