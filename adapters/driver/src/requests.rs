//! Requests that wait for their handlers, and how many handlers run.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Weak};

use mcp_sansio::InboundId;

use crate::machine::Machine;
use crate::signal::Signal;
use crate::wire::Wire;

/// How many handlers may run beside those that count.
const MOST_LENT: usize = 1_024;

/// Requests of the peer that have not been answered, as far as handlers are concerned.
pub(crate) struct Requests<M: Machine> {
    most_running: usize,
    most_bytes: usize,
    waiting: VecDeque<Waiting<M>>,
    /// How many bytes of the peer those that wait hold together.
    bytes: usize,
    running: usize,
    /// Those that run and count for nothing.
    lent: HashSet<InboundId>,
    /// How those that run find out that their answers are not wanted any more.
    signals: HashMap<InboundId, Arc<Signal>>,
}

struct Waiting<M: Machine> {
    id: InboundId,
    request: M::Request,
    bytes: usize,
}

impl<M: Machine> Requests<M> {
    /// So many run at the same time; those that wait hold so many bytes.
    pub(crate) fn new(most_running: usize, most_bytes: usize) -> Self {
        Self {
            most_running: most_running.max(1),
            most_bytes,
            waiting: VecDeque::new(),
            bytes: 0,
            running: 0,
            lent: HashSet::new(),
            signals: HashMap::new(),
        }
    }

    /// Takes a request in that holds so many bytes. Says whether there was room for it: the first one always
    /// finds some.
    #[must_use]
    pub(crate) fn push(&mut self, id: InboundId, request: M::Request, bytes: usize) -> bool {
        let together = self.bytes.saturating_add(bytes);
        if !self.waiting.is_empty() && self.most_bytes < together {
            return false;
        }
        self.bytes = together;
        self.waiting.push_back(Waiting { id, request, bytes });
        true
    }

    /// The next request to serve, if another handler may run.
    pub(crate) fn start(&mut self) -> Option<(InboundId, M::Request, Arc<Signal>)> {
        if self.most_running <= self.running {
            return None;
        }
        let Waiting { id, request, bytes } = self.waiting.pop_front()?;
        self.bytes -= bytes;
        self.running += 1;
        let signal = Arc::new(Signal::default());
        self.signals.insert(id, Arc::clone(&signal));
        Some((id, request, signal))
    }

    /// Its answer has been given. Gives what tells that.
    pub(crate) fn answered(&mut self, id: InboundId) -> Option<Arc<Signal>> {
        self.signals.remove(&id)
    }

    /// Its answer is not wanted any more: it does not run. Gives what tells that, if it does.
    pub(crate) fn cancel(&mut self, id: InboundId) -> Option<Arc<Signal>> {
        if let Some(place) = self.waiting.iter().position(|waiting| waiting.id == id)
            && let Some(waiting) = self.waiting.remove(place)
        {
            self.bytes -= waiting.bytes;
        }
        self.signals.remove(&id)
    }

    /// Its handler goes on, but need not be waited for: another one may run beside it, unless there are very
    /// many of these.
    pub(crate) fn lend(&mut self, id: InboundId) {
        if self.lent.len() < MOST_LENT && self.lent.insert(id) {
            self.running -= 1;
        }
    }

    fn finished(&mut self, id: InboundId) {
        if !self.lent.remove(&id) {
            self.running -= 1;
        }
    }

    /// Nobody wants anything any more.
    pub(crate) fn clear(&mut self) {
        self.waiting.clear();
        self.bytes = 0;
    }
}

/// The permission to run, given back when it is dropped.
pub(crate) struct Slot<M: Machine> {
    id: InboundId,
    wire: Weak<Wire<M>>,
}

impl<M: Machine> Slot<M> {
    pub(crate) fn new(id: InboundId, wire: &Arc<Wire<M>>) -> Arc<Self> {
        Arc::new(Self { id, wire: Arc::downgrade(wire) })
    }
}

impl<M: Machine> Drop for Slot<M> {
    fn drop(&mut self) {
        if let Some(wire) = self.wire.upgrade() {
            wire.act(|state| state.requests.finished(self.id));
        }
    }
}
