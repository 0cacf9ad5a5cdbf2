//! `Incoming`: the requests of the peer that have not been answered.

use alloc::collections::VecDeque;

use super::event::CancelCause;
use super::exchange::Exchange;
use super::inbound_batches::Batches;
use super::inputs::Need;
use super::outboxes::{Outboxes, Route};
use crate::dialect::RespondError;
use crate::dialect::methods::RequestKind;
use crate::handle::{ConnectionNumber, IncomingId, SlotKey};
use crate::lazy_box::{Empty, LazyBox};
use crate::rpc::{Deadlines, Ending, Id, Inbound, Lookup, SlotQueue};

/// The requests of the peer, from admission until they are answered or dropped. Also the requests that the machine
/// makes from the inputs that the peer requires for a call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Incoming {
    pub(super) table: Inbound<Exchange>,
    /// The bytes that are kept for the peer, by these requests and by the patterns of calls. These bytes count
    /// towards [`Limits::connection_bytes`](crate::Limits::connection_bytes).
    pub(super) bytes: usize,
    /// The number of these requests that subscribe to a resource.
    pub(super) asked_subscriptions: u32,
    news: LazyBox<News>,
    /// The time before which no further progress may be sent, per request.
    pub(super) progress_deadlines: LazyBox<Deadlines>,
    pub(super) batches: LazyBox<Batches>,
}

/// The requests with an event that the application has not received yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct News {
    /// The requests that were cancelled together with another one, or because they are no longer needed.
    marked: VecDeque<(SlotKey, CancelCause)>,
    /// The new requests for input.
    unannounced: SlotQueue,
}

impl Empty for News {
    const EMPTY: &'static Self = &Self { marked: VecDeque::new(), unannounced: SlotQueue::EMPTY };
}

/// A request of the peer that has left the table. The caller must end all work on its behalf.
#[derive(Debug)]
#[must_use = "work that was begun for the request must be ended with it"]
pub(super) struct Taken {
    pub(super) id: IncomingId,
    /// The batch that contains the request, which may be complete now.
    pub(super) batch: Option<SlotKey>,
    /// Whether the request kept a subscription open.
    pub(super) is_subscription: bool,
    /// Whether the request asked a person, so that the clock of calls was stopped.
    pub(super) asked_a_person: bool,
}

impl Incoming {
    pub(super) const fn new(connection: ConnectionNumber) -> Self {
        Self {
            table: Inbound::new(connection),
            bytes: 0,
            asked_subscriptions: 0,
            news: LazyBox::EMPTY,
            progress_deadlines: LazyBox::EMPTY,
            batches: LazyBox::EMPTY,
        }
    }

    /// Whether a request with this id is in flight, and if not, whether one can be admitted.
    #[inline]
    pub(super) fn look_up(&self, id: &Id<'_>) -> Lookup {
        match self.table.look_up(id) {
            Lookup::Free => self.batches.look_up(id),
            known => known,
        }
    }

    /// Removes a request from the table.
    pub(super) fn take(&mut self, id: IncomingId, ending: Ending) -> Option<Taken> {
        let exchange = self.table.get(id.0)?;
        let taken = Taken {
            id,
            batch: exchange.batch,
            is_subscription: exchange.kind == Some(RequestKind::Listen),
            asked_a_person: exchange.need.is_some()
                || exchange.kind.is_some_and(RequestKind::asks_a_person),
        };
        self.bytes -= exchange.bytes;
        if exchange.kind == Some(RequestKind::Subscribe) {
            self.asked_subscriptions = self.asked_subscriptions.saturating_sub(1);
        }
        if !self.progress_deadlines.is_empty() {
            self.progress_deadlines.clear(id.0.index);
        }
        self.table.remove(id.0, ending);
        Some(taken)
    }

    /// Returns the reason why a request that is not in the table cannot be answered.
    pub(super) fn missing(&self, id: IncomingId) -> RespondError {
        match self.table.ending(id.0) {
            Some(Ending::Answered) => RespondError::Answered,
            Some(Ending::Cancelled) => RespondError::Cancelled,
            Some(Ending::Closed) => RespondError::Closed,
            None => RespondError::Stale,
        }
    }

    /// Whether there is an event for the application.
    pub(super) fn has_news(&self) -> bool {
        let news = self.news.allocated();
        news.is_some_and(|news| !(news.marked.is_empty() && news.unannounced.is_empty()))
    }

    /// Queues a request for input that the application has not received yet.
    pub(super) fn push_unannounced(&mut self, place: SlotKey) {
        self.news.unannounced.push(place);
    }

    /// Notes that `count` requests for input ended before the application received them.
    pub(super) fn note_unannounced_ended(&mut self, count: usize) {
        let Self { news, table, .. } = self;
        news.unannounced.note_ended(count, |place| table.get(place).is_some());
    }

    /// Marks a request as cancelled. The application receives the event later.
    pub(super) fn mark(&mut self, place: SlotKey, cause: CancelCause) {
        if let Some(exchange) = self.table.get_mut(place) {
            exchange.marked = true;
        }
        self.news.marked.push_back((place, cause));
    }

    /// Returns the next marked request that has not ended in another way meanwhile.
    pub(super) fn next_marked(&mut self) -> Option<(SlotKey, CancelCause)> {
        loop {
            let next = *self.news.marked.front()?;
            self.news.marked.pop_front();
            if self.table.get(next.0).is_some() {
                return Some(next);
            }
        }
    }

    /// Returns the next request for input that the application has not received, and the input that the request
    /// stands for.
    pub(super) fn next_unannounced(&mut self) -> Option<(IncomingId, Need)> {
        while !self.news.unannounced.is_empty() {
            let Self { news, table, .. } = self;
            let place = news.unannounced.pop(|place| table.get(place).is_some())?;
            if let Some(need) = self.announce(place) {
                return Some((IncomingId(place), need));
            }
        }
        None
    }

    /// Returns the first of the last `count` requests for input. Skips the earlier ones without a scan, because the
    /// peer determines their number.
    pub(super) fn first_of_last_unannounced(&mut self, count: usize) -> Option<(IncomingId, Need)> {
        if self.news.unannounced.is_empty() {
            return None;
        }
        let place = self.news.unannounced.take_from_last(count)?;
        Some((IncomingId(place), self.announce(place)?))
    }

    /// Marks a request for input as announced to the application, and returns its input.
    fn announce(&mut self, place: SlotKey) -> Option<Need> {
        let exchange = self.table.get_mut(place).filter(|exchange| !exchange.marked)?;
        let need = exchange.need.as_mut()?;
        need.is_announced = true;
        Some(*need)
    }

    /// Withdraws the unsent messages of a request that gets no response.
    pub(super) fn withdraw_about(&self, id: IncomingId, out: &mut dyn Outboxes) {
        let Some(serial) = self.table.get(id.0).and_then(|exchange| exchange.last_output) else {
            return;
        };
        let outbox = out.outbox(Route::Exchange(id));
        if outbox.is_unsent(serial, id) {
            outbox.withdraw_exchange(id);
        }
    }

    /// Releases unused memory.
    pub(super) fn release(&mut self) {
        self.table.release();
        self.progress_deadlines.release_deadlines();
        self.news.release();
        // The ids of batches that were answered keep their capacity.
        if self.batches.is_idle() {
            self.batches = LazyBox::EMPTY;
        }
    }
}

/// Returns the bytes that are counted for a request until it is answered: its message, and as much again for the data
/// that the application makes from it.
pub(super) const fn bytes_of(message: &[u8]) -> usize {
    message.len().saturating_mul(2)
}
