//! [`ExchangeTable`], the open exchanges of a connection with an index for each look-up on the message path.
//!
//! The indexes change only together with the table: an exchange is in an index if and only if it is open.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::ops::Deref;

use super::exchange::{Exchange, ExchangeNumber, Purpose};
use crate::handle::CallId;
use crate::time::Instant;

/// ExchangeTable by their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct ExchangeTable {
    open: BTreeMap<ExchangeNumber, Exchange>,
    /// Those of which something is due at a time.
    dues: BTreeSet<(Instant, ExchangeNumber)>,
    /// Those that carry a call, by the index of that.
    calls: BTreeMap<usize, ExchangeNumber>,
    /// How many carry what no call waits for.
    notices: u32,
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
        match &exchange.purpose {
            Purpose::Request(asked) => _ = self.calls.insert(asked.call.index(), number),
            Purpose::Notice { .. } => self.notices += 1,
            _ => {}
        }
        self.open.insert(number, exchange);
    }

    pub(super) fn remove(&mut self, number: &ExchangeNumber) -> Option<Exchange> {
        let exchange = self.open.remove(number)?;
        if let Some(due) = exchange.due() {
            self.dues.remove(&(due, *number));
        }
        match &exchange.purpose {
            // Another one may carry a call of this index by now.
            Purpose::Request(asked) if self.calls.get(&asked.call.index()) == Some(number) => {
                self.calls.remove(&asked.call.index());
            }
            Purpose::Notice { .. } => self.notices -= 1,
            _ => {}
        }
        Some(exchange)
    }

    /// Says when something is due, or that nothing is.
    pub(super) fn set_due(&mut self, number: ExchangeNumber, due: Option<Instant>) {
        if let Some(mut exchange) = self.remove(&number) {
            exchange.set_due(due);
            self.insert(number, exchange);
        }
    }

    /// What is due first, and when.
    pub(super) fn next_due(&self) -> Option<(Instant, ExchangeNumber)> {
        self.dues.first().copied()
    }

    /// The exchange on which the answer to a call is waited for.
    pub(super) fn waits_for(&self, call: CallId) -> Option<ExchangeNumber> {
        let number = *self.calls.get(&call.index())?;
        let exchange = self.open.get(&number)?;
        (exchange.waiting_call() == Some(call)).then_some(number)
    }

    /// How many carry what no call waits for: notifications, and answers of ours.
    pub(super) const fn notices(&self) -> u32 {
        self.notices
    }

    /// Whether there is one for this.
    pub(super) fn has(&self, purpose: &Purpose) -> bool {
        self.open.values().any(|exchange| exchange.purpose == *purpose)
    }

    /// The exchange that carries the request with this id, or lists the tools because of it.
    pub(super) fn carries(&self, id: &str) -> Option<ExchangeNumber> {
        let is_it = |exchange: &Exchange| match &exchange.purpose {
            Purpose::Request(asked) => asked.id == id,
            Purpose::Refresh(refresh) => refresh.is_for(id),
            _ => false,
        };
        self.open.iter().find(|(_, exchange)| is_it(exchange)).map(|(number, _)| *number)
    }

    /// The requests that ask whether there has to be a session.
    pub(super) fn probes(&self) -> Vec<ExchangeNumber> {
        let probes = |exchange: &Exchange| match &exchange.purpose {
            Purpose::Request(asked) => asked.probes,
            _ => false,
        };
        let all = self.open.iter().filter(|(_, exchange)| probes(exchange));
        all.map(|(number, _)| *number).collect()
    }

    /// The requests for a session that have not been answered: their messages.
    pub(super) fn openings(&self) -> Vec<(ExchangeNumber, Vec<u8>)> {
        let opening = |exchange: &Exchange| match &exchange.purpose {
            Purpose::Request(asked) if !exchange.is_answered => asked.opens.clone(),
            _ => None,
        };
        let all = self.open.iter();
        all.filter_map(|(number, exchange)| Some((*number, opening(exchange)?))).collect()
    }
}
