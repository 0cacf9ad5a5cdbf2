//! [`Budget`]: the bytes that a gateway keeps for its calls.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mcp_sansio::request::Requestor;

/// The limit on the bytes that all calls of a gateway keep together. One client gets at most a half. Clones share one budget.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    used: Arc<Mutex<Used>>,
    most: usize,
}

#[derive(Debug, Default)]
struct Used {
    all: usize,
    /// The clients that use any bytes.
    of_client: BTreeMap<Requestor, usize>,
}

/// Bytes of a [`Budget`] that are in use until this value is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    budget: Budget,
    client: Requestor,
    bytes: usize,
}

impl Budget {
    /// Creates an unused budget of this many bytes.
    pub(crate) fn new(most: usize) -> Self {
        Self { used: Arc::default(), most }
    }

    /// Takes bytes from the budget; `None` if it is exhausted, for all or for this client.
    pub(crate) fn share(&self, client: Requestor, bytes: usize) -> Option<Share> {
        let mut used = self.lock();
        let all = used.all.checked_add(bytes).filter(|all| *all <= self.most)?;
        // It is a part of `all`.
        let of_client = used.of_client.get(&client).copied().unwrap_or_default() + bytes;
        if self.most.div_ceil(2) < of_client {
            return None;
        }
        used.all = all;
        used.of_client.insert(client, of_client);
        Some(Share { budget: self.clone(), client, bytes })
    }

    fn lock(&self) -> MutexGuard<'_, Used> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut used = self.budget.lock();
        used.all -= self.bytes;
        if let Some(of_client) = used.of_client.get_mut(&self.client) {
            *of_client -= self.bytes;
            if *of_client == 0 {
                used.of_client.remove(&self.client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_shared_and_given_back() {
        let budget = Budget::new(10);
        let [one, two, three] = [1, 2, 3].map(Requestor::Session);
        let first = budget.share(one, 5).unwrap();
        assert!(budget.share(one, 1).is_none() && budget.share(two, usize::MAX).is_none());
        let second = budget.share(two, 4).unwrap();
        assert!(budget.share(three, 2).is_none());
        let third = budget.share(three, 1).unwrap();
        drop((first, third));
        assert!(budget.share(one, 5).is_some());
        drop(second);
        let used = budget.lock();
        assert!(used.all == 0 && used.of_client.is_empty());
    }
}
