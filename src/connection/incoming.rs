//! `Incoming`: the requests of the peer that have not been answered.

use alloc::collections::VecDeque;

use super::event::CancelCause;
use super::exchange::Exchange;
use super::inbound_batches::Batches;
use super::inputs::Need;
use super::outboxes::{Outboxes, Route};
use crate::dialect::RespondError;
use crate::dialect::methods::RequestKind;
use crate::handle::{ConnectionNumber, IncomingId, Place};
use crate::lazy_box::{Empty, LazyBox};
use crate::rpc::{Deadlines, Ending, Id, Inbound, Lookup, PlaceQueue};

/// The requests of the peer, from when they are taken in until they are answered or dropped; and those that the machine
/// makes of what the peer needs for a call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Incoming {
    pub(super) table: Inbound<Exchange>,
    /// What is kept of the peer: of these requests, and by the patterns. It counts towards
    /// [`Limits::connection_bytes`](crate::Limits::connection_bytes).
    pub(super) bytes: usize,
    /// How many of these subscribe to a resource.
    pub(super) asked_subscriptions: u32,
    news: LazyBox<News>,
    /// Until when no further progress may be sent, per request.
    pub(super) progress_deadlines: LazyBox<Deadlines>,
    pub(super) batches: LazyBox<Batches>,
}

/// Requests of which the application has not been told something.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct News {
    /// Requests that were cancelled, together with another one or because they are not needed any more.
    marked: VecDeque<(Place, CancelCause)>,
    /// Requests for input, which are new.
    unannounced: PlaceQueue,
}

impl Empty for News {
    const EMPTY: &'static Self = &Self { marked: VecDeque::new(), unannounced: PlaceQueue::EMPTY };
}

/// A request of the peer that has left the table. Whatever was done on its behalf has to be ended with it.
#[derive(Debug)]
#[must_use = "what was begun on behalf of the request goes on"]
pub(super) struct Taken {
    pub(super) id: IncomingId,
    /// The batch that it came in, which may be complete now.
    pub(super) batch: Option<Place>,
    /// It kept a subscription open.
    pub(super) is_subscription: bool,
    /// It asked a person, so the clock of calls stood still.
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

    /// Whether a request with this id is in flight, and if not, whether there can be one.
    #[inline]
    pub(super) fn look_up(&self, id: &Id<'_>) -> Lookup {
        match self.table.look_up(id) {
            Lookup::Free => self.batches.look_up(id),
            known => known,
        }
    }

    /// Takes a request out of the table.
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

    /// Why a request cannot be answered that is not in the table.
    pub(super) fn missing(&self, id: IncomingId) -> RespondError {
        match self.table.ending(id.0) {
            Some(Ending::Answered) => RespondError::Answered,
            Some(Ending::Cancelled) => RespondError::Cancelled,
            Some(Ending::Closed) => RespondError::Closed,
            None => RespondError::Stale,
        }
    }

    /// Whether there is something to tell the application.
    pub(super) fn has_news(&self) -> bool {
        !(self.news.marked.is_empty() && self.news.unannounced.is_empty())
    }

    /// Adds a request for input that the application has not seen yet.
    pub(super) fn push_unannounced(&mut self, place: Place) {
        self.news.unannounced.push(place);
    }

    /// So many requests for input have ended before the application was told of them.
    pub(super) fn note_unannounced_ended(&mut self, count: usize) {
        let Self { news, table, .. } = self;
        news.unannounced.note_ended(count, |place| table.get(place).is_some());
    }

    /// AddedMembers a request as cancelled: the application is told of it later.
    pub(super) fn mark(&mut self, place: Place, cause: CancelCause) {
        if let Some(exchange) = self.table.get_mut(place) {
            exchange.marked = true;
        }
        self.news.marked.push_back((place, cause));
    }

    /// The next request that was marked and has not ended in another way meanwhile.
    pub(super) fn next_marked(&mut self) -> Option<(Place, CancelCause)> {
        loop {
            let next = *self.news.marked.front()?;
            self.news.marked.pop_front();
            if self.table.get(next.0).is_some() {
                return Some(next);
            }
        }
    }

    /// The next request for input of which the application has not been told, and what it is needed for.
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

    /// The first of the last `count` requests for input. What was there before is not looked at: the peer can make that
    /// many.
    pub(super) fn first_of_last_unannounced(&mut self, count: usize) -> Option<(IncomingId, Need)> {
        if self.news.unannounced.is_empty() {
            return None;
        }
        let place = self.news.unannounced.take_from_last(count)?;
        Some((IncomingId(place), self.announce(place)?))
    }

    /// Marks a request for input as announced to the application, and returns it.
    fn announce(&mut self, place: Place) -> Option<Need> {
        let exchange = self.table.get_mut(place).filter(|exchange| !exchange.marked)?;
        let need = exchange.need.as_mut()?;
        need.is_announced = true;
        Some(*need)
    }

    /// Takes back what has not left of the messages about a request that is not to be answered.
    pub(super) fn withdraw_about(&self, id: IncomingId, out: &mut dyn Outboxes) {
        let Some(serial) = self.table.get(id.0).and_then(|exchange| exchange.last_output) else {
            return;
        };
        let outbox = out.outbox(Route::Exchange(id));
        if outbox.is_unsent(serial, id) {
            outbox.withdraw_exchange(id);
        }
    }

    /// Releases memory that nothing is in.
    pub(super) fn release(&mut self) {
        self.table.release();
        self.progress_deadlines.release_deadlines();
        self.news.release();
    }
}

/// What counts as kept of a request until it is answered: its message, and what the application makes of it.
pub(super) const fn bytes_of(message: &[u8]) -> usize {
    message.len().saturating_mul(2)
}
