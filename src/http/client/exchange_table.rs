//! [`ExchangeTable`], the open exchanges of a connection, with an index for each look-up on the message path.
//!
//! An exchange is in the indexes if and only if it is in the table.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::ops::Deref;

use super::exchange::{Exchange, ExchangeNumber, Purpose};
use crate::handle::CallId;
use crate::time::Instant;

/// The open exchanges, by number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct ExchangeTable {
    open: BTreeMap<ExchangeNumber, Exchange>,
    /// The exchanges with a due time, in the order of these times.
    dues: BTreeSet<(Instant, ExchangeNumber)>,
    /// The exchanges that carry a call, by the call.
    calls: BTreeMap<CallId, ExchangeNumber>,
    /// The exchanges that carry a request, or list the tools because of one, by the id of the request.
    ids: BTreeMap<u64, ExchangeNumber>,
    /// The number of exchanges with [`Purpose::Notice`].
    notices: u32,
    /// The total length of the messages of these exchanges.
    notice_bytes: usize,
}

impl Deref for ExchangeTable {
    type Target = BTreeMap<ExchangeNumber, Exchange>;

    fn deref(&self) -> &Self::Target {
        &self.open
    }
}

impl ExchangeTable {
    pub(super) fn get_mut(&mut self, number: &ExchangeNumber) -> Option<&mut Exchange> {
        self.open.get_mut(number)
    }

    pub(super) fn insert(&mut self, number: ExchangeNumber, exchange: Exchange) {
        self.remove(&number);
        self.dues.extend(exchange.due().map(|due| (due, number)));
        self.calls.extend(exchange.calls().iter().map(|call| (*call, number)));
        self.ids.extend(exchange.ids().filter_map(number_in).map(|id| (id, number)));
        self.notices += u32::from(exchange.is_notice());
        self.notice_bytes += exchange.notice_bytes;
        self.open.insert(number, exchange);
    }

    pub(super) fn remove(&mut self, number: &ExchangeNumber) -> Option<Exchange> {
        let exchange = self.open.remove(number)?;
        if let Some(due) = exchange.due() {
            self.dues.remove(&(due, *number));
        }
        for call in exchange.calls() {
            self.forget_call(*call, *number);
        }
        for id in exchange.ids() {
            self.forget_id(id, *number);
        }
        self.notices -= u32::from(exchange.is_notice());
        self.notice_bytes -= exchange.notice_bytes;
        Some(exchange)
    }

    /// Removes a call from the index, unless it is sent again on another exchange.
    fn forget_call(&mut self, call: CallId, number: ExchangeNumber) {
        if self.calls.get(&call) == Some(&number) {
            self.calls.remove(&call);
        }
    }

    /// Removes a request from the index, unless it is sent again on another exchange.
    fn forget_id(&mut self, id: &str, number: ExchangeNumber) {
        let Some(id) = number_in(id) else { return };
        if self.ids.get(&id) == Some(&number) {
            self.ids.remove(&id);
        }
        if self.ids.is_empty() {
            // An empty map keeps an allocated node.
            self.ids = BTreeMap::new();
        }
    }

    /// Sets or clears the due time of an exchange.
    pub(super) fn set_due(&mut self, number: ExchangeNumber, due: Option<Instant>) {
        if let Some(mut exchange) = self.remove(&number) {
            exchange.set_due(due);
            self.insert(number, exchange);
        }
    }

    /// Returns the exchange that is due first, with its time.
    pub(super) fn next_due(&self) -> Option<(Instant, ExchangeNumber)> {
        self.dues.first().copied()
    }

    /// Returns the exchange on which a call waits for its response.
    pub(super) fn waits_for(&self, call: CallId) -> Option<ExchangeNumber> {
        self.calls.get(&call).copied()
    }

    /// Removes a call that has ended or was cancelled from its batch. Returns whether nothing else needs the exchange: no
    /// other call, and no notification that may still be under way to the server.
    pub(super) fn leaves_batch(&mut self, number: ExchangeNumber, call: CallId) -> bool {
        let Some(Exchange { purpose: Purpose::Batch(batch), has_head, .. }) =
            self.open.get_mut(&number)
        else {
            return true;
        };
        let id = batch.remove(call);
        let is_last = batch.calls().is_empty() && (*has_head || !batch.notifies());
        self.forget_call(call, number);
        if let Some(id) = id {
            self.forget_id(&id, number);
        }
        is_last
    }

    /// Returns the number of exchanges that carry a notification or a response of this side.
    pub(super) const fn notices(&self) -> u32 {
        self.notices
    }

    /// Returns the total length of the messages of these exchanges.
    pub(super) const fn notice_bytes(&self) -> usize {
        self.notice_bytes
    }

    /// Whether there is an exchange with this purpose.
    pub(super) fn has(&self, purpose: &Purpose) -> bool {
        self.open.values().any(|exchange| exchange.purpose == *purpose)
    }

    /// Returns the exchange that carries the request with this id, alone or in a batch, or that lists the tools because
    /// of it.
    pub(super) fn carries(&self, id: &str) -> Option<ExchangeNumber> {
        self.ids.get(&number_in(id)?).copied()
    }

    /// Returns the exchanges of `server/discover`, which probes whether the server needs a session.
    pub(super) fn probes(&self) -> Vec<ExchangeNumber> {
        let probes = |exchange: &Exchange| match &exchange.purpose {
            Purpose::Request(asked) => asked.probes,
            _ => false,
        };
        let all = self.open.iter().filter(|(_, exchange)| probes(exchange));
        all.map(|(number, _)| *number).collect()
    }

    /// Returns the exchanges of unanswered `initialize` requests, with their messages.
    pub(super) fn openings(&self) -> Vec<(ExchangeNumber, Vec<u8>)> {
        let opening = |exchange: &Exchange| match &exchange.purpose {
            Purpose::Request(asked) => asked.opens.clone(),
            _ => None,
        };
        let all = self.open.iter();
        all.filter_map(|(number, exchange)| Some((*number, opening(exchange)?))).collect()
    }
}

/// Returns the number of a request id, as on the wire. The ids of this side are numbers.
fn number_in(id: &str) -> Option<u64> {
    id.parse().ok().filter(|_| !id.starts_with('+'))
}

#[cfg(test)]
mod tests {
    use super::super::pending_call::PendingCall;
    use super::*;
    use crate::handle::{ConnectionNumber, SlotKey};

    #[test]
    fn an_exchange_is_in_the_indexes_while_it_is_in_the_table() {
        let [first, second] = [0, 1].map(|generation| {
            CallId(SlotKey { connection: ConnectionNumber::default(), index: 0, generation })
        });
        let exchange = |call| {
            let id = if call == first { "1" } else { "2" };
            Exchange::new(Purpose::Request(PendingCall::new(call, id)), true)
        };
        let [one, two] = [1, 2].map(ExchangeNumber);
        let mut table = ExchangeTable::default();
        table.insert(one, exchange(first));
        assert_eq!((table.waits_for(first), table.waits_for(second)), (Some(one), None));
        // The second call has the place of the first one, whose exchange is still open.
        table.insert(two, exchange(second));
        assert_eq!((table.waits_for(first), table.waits_for(second)), (Some(one), Some(two)));
        assert_eq!((table.carries("1"), table.carries("2")), (Some(one), Some(two)));
        assert_eq!(
            (table.carries("3"), table.carries("+1"), table.carries("\"1\"")),
            (None, None, None)
        );
        // Its exchange is inserted again when it is resumed.
        table.set_due(one, Some(Instant::from_millis(2)));
        assert_eq!((table.waits_for(first), table.waits_for(second)), (Some(one), Some(two)));
        table.remove(&one);
        assert_eq!((table.waits_for(first), table.waits_for(second)), (None, Some(two)));
        assert_eq!((table.carries("1"), table.carries("2")), (None, Some(two)));
        // A call that is sent again belongs to its last exchange.
        table.insert(one, exchange(second));
        table.remove(&two);
        assert_eq!((table.waits_for(second), table.carries("2")), (Some(one), Some(one)));
        table.insert(two, exchange(second));
        table.remove(&one);
        table.set_due(two, Some(Instant::from_millis(1)));
        assert_eq!(table.next_due(), Some((Instant::from_millis(1), two)));
        table.remove(&two);
        assert_eq!(table, ExchangeTable::default(), "the indexes are empty as well");
    }
}
