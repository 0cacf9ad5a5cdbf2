//! Requests that wait for their handlers, and how many handlers run.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Weak};
use std::time::Duration;

use mcp_sansio::{InboundId, Instant};

use crate::machine::Machine;
use crate::signal::Signal;
use crate::wire::Wire;

/// How many handlers may run beside those that count.
const MOST_LENT: usize = 1_024;

/// One place within a bound that several connections share. A request holds it until it is refused, cancelled, or its
/// handler has ended; a request that waits for input of its client holds it, too.
pub type Permit = Arc<dyn Send + Sync>;

/// Asks for a permit for one more request. If the bound is reached, it returns the text of the error that refuses the
/// request.
pub type Admission<'a> = dyn FnMut() -> Result<Permit, &'static str> + 'a;

/// Requests of the peer that have not been answered, as far as handlers are concerned.
pub(crate) struct Requests<M: Machine> {
    most_running: usize,
    most_bytes: usize,
    waiting: VecDeque<Waiting<M>>,
    /// How many bytes of the peer those that wait hold together.
    bytes: usize,
    running: usize,
    /// How many handlers have returned.
    returned: u64,
    /// How many had when the input ended, and until when another one has to.
    last_return: Option<(u64, Instant)>,
    /// Those that run and count for nothing.
    lent: HashSet<InboundId>,
    /// How those that run find out that their answers are not wanted any more.
    signals: HashMap<InboundId, Arc<Signal>>,
    /// The permits of requests that come again when their clients have given the input they need.
    without_input: HashMap<InboundId, Permit>,
}

struct Waiting<M: Machine> {
    id: InboundId,
    request: M::Request,
    bytes: usize,
    permit: Option<Permit>,
}

/// A request whose handler starts.
pub(crate) struct Started<M: Machine> {
    pub(crate) id: InboundId,
    pub(crate) request: M::Request,
    pub(crate) signal: Arc<Signal>,
    pub(crate) permit: Option<Permit>,
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
            returned: 0,
            last_return: None,
            lent: HashSet::new(),
            signals: HashMap::new(),
            without_input: HashMap::new(),
        }
    }

    /// Takes a request in that holds so many bytes, and its permit. Says whether there was room for it: the first one
    /// always finds some.
    #[must_use]
    pub(crate) fn push(
        &mut self,
        id: InboundId,
        request: M::Request,
        bytes: usize,
        permit: Option<Permit>,
    ) -> bool {
        let together = self.bytes.saturating_add(bytes);
        if !self.waiting.is_empty() && self.most_bytes < together {
            return false;
        }
        self.bytes = together;
        self.waiting.push_back(Waiting { id, request, bytes, permit });
        true
    }

    /// Whether requests wait for a handler.
    pub(crate) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// How long to wait for those that wait for a handler: none may return for so long. `None` if none wait, or that
    /// time is over.
    pub(crate) fn wait_until(&mut self, now: Instant, patience: Duration) -> Option<Instant> {
        let until = match self.last_return {
            Some((returned, until)) if returned == self.returned => until,
            _ => now + patience,
        };
        self.last_return = Some((self.returned, until));
        (self.has_waiting() && now < until).then_some(until)
    }

    /// The next request to serve, if another handler may run.
    pub(crate) fn start(&mut self) -> Option<Started<M>> {
        if self.most_running <= self.running {
            return None;
        }
        let Waiting { id, request, bytes, permit } = self.waiting.pop_front()?;
        self.bytes -= bytes;
        self.running += 1;
        let signal = Arc::new(Signal::default());
        self.signals.insert(id, Arc::clone(&signal));
        Some(Started { id, request, signal, permit })
    }

    /// The request comes again later, and keeps its permit until then: it was admitted, and must not be refused when its
    /// client has answered.
    pub(crate) fn wait_for_input(&mut self, id: InboundId, permit: Option<Permit>) {
        self.without_input.extend(permit.map(|permit| (id, permit)));
    }

    /// The permit of a request that has come again.
    pub(crate) fn input_came(&mut self, id: InboundId) -> Option<Permit> {
        self.without_input.remove(&id)
    }

    /// Its answer has been given to the run of its handler that has this signal. It may run again already, with
    /// what it needed.
    pub(crate) fn answered(&mut self, id: InboundId, signal: &Arc<Signal>) {
        if self.signals.get(&id).is_some_and(|known| Arc::ptr_eq(known, signal)) {
            self.signals.remove(&id);
        }
    }

    /// Its answer is not wanted any more: it does not run. Gives what tells that, if it does.
    pub(crate) fn cancel(&mut self, id: InboundId) -> Option<Arc<Signal>> {
        if let Some(place) = self.waiting.iter().position(|waiting| waiting.id == id)
            && let Some(waiting) = self.waiting.remove(place)
        {
            self.bytes -= waiting.bytes;
        }
        self.without_input.remove(&id);
        self.signals.remove(&id)
    }

    /// Its handler goes on, but need not be waited for: another one may run beside it, unless there are very
    /// many of these. It keeps its permit, as that bounds handlers.
    pub(crate) fn lend(&mut self, id: InboundId) {
        if self.lent.len() < MOST_LENT && self.lent.insert(id) {
            // Whoever lends it holds its slot, so it counts among those that run.
            self.running -= 1;
        }
    }

    fn finished(&mut self, id: InboundId) {
        self.returned += 1;
        if !self.lent.remove(&id) {
            // Each slot is given back once, and has been counted when it was given out.
            self.running -= 1;
        }
    }

    /// Nobody wants anything any more.
    pub(crate) fn clear(&mut self) {
        self.waiting.clear();
        self.without_input.clear();
        self.bytes = 0;
    }
}

/// The permission to run, given back when it is dropped.
pub(crate) struct Slot<M: Machine> {
    id: InboundId,
    wire: Weak<Wire<M>>,
    permit: Option<Permit>,
}

impl<M: Machine> Slot<M> {
    pub(crate) fn new(id: InboundId, wire: &Arc<Wire<M>>, permit: Option<Permit>) -> Arc<Self> {
        Arc::new(Self { id, wire: Arc::downgrade(wire), permit })
    }

    /// What it has of a bound that connections share.
    pub(crate) fn permit(&self) -> Option<Permit> {
        self.permit.clone()
    }
}

impl<M: Machine> Drop for Slot<M> {
    fn drop(&mut self) {
        if let Some(wire) = self.wire.upgrade() {
            wire.act(|state| state.requests.finished(self.id));
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]
mod tests {
    use mcp_sansio::model::ListChanged;
    use mcp_sansio::{Framing, Inbox, Outbox, Request, Server, ServerConfig, ServerEvent};

    use super::*;

    /// So many requests that are open at the same time.
    fn requests(many: usize) -> Vec<Request<'static>> {
        let mut config = ServerConfig::new("server", "1");
        config.capabilities.tools = Some(ListChanged::default());
        config.connection.limits.inbound_requests = u32::MAX;
        let limits = config.connection.limits.clone();
        let (mut inbox, mut out) = (Inbox::new(&limits), Outbox::new(Framing::Lines, &limits));
        let mut server = Server::new(Arc::new(config));
        let mut open = Vec::new();
        for id in 0..many {
            let request = format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"t","_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
            ) + "\n";
            assert_eq!(inbox.feed(request.as_bytes()), request.len());
            let frame = inbox.next().unwrap();
            match server.receive(frame, Instant::from_nanos(0), &mut out) {
                Some(ServerEvent::Request(request)) => open.push(request.into_owned()),
                other => panic!("{other:?}"),
            }
        }
        open
    }

    /// So many wait, each of which holds one byte.
    fn waiting(most_running: usize, many: usize) -> (Requests<Server>, Vec<InboundId>) {
        let mut waiting = Requests::new(most_running, many);
        let mut ids = Vec::new();
        for request in requests(many) {
            ids.push(request.id);
            assert!(waiting.push(request.id, request, 1, None));
        }
        (waiting, ids)
    }

    fn start(requests: &mut Requests<Server>) -> Option<InboundId> {
        requests.start().map(|started| started.id)
    }

    #[test]
    fn as_many_run_as_may_and_in_order() {
        let (mut requests, ids) = waiting(2, 4);
        assert_eq!((start(&mut requests), start(&mut requests)), (Some(ids[0]), Some(ids[1])));
        assert_eq!(start(&mut requests), None);
        requests.finished(ids[1]);
        assert_eq!((start(&mut requests), start(&mut requests)), (Some(ids[2]), None));
        // None at all would be no server.
        let (mut requests, ids) = waiting(0, 1);
        assert_eq!(start(&mut requests), Some(ids[0]));
    }

    /// What waits is bounded by the bytes it holds, but one always may, however large it is.
    #[test]
    fn what_waits_has_a_bound() {
        let mut open = requests(4).into_iter();
        let mut requests = Requests::<Server>::new(1, 10);
        let mut push = |requests: &mut Requests<Server>, bytes| {
            let request = open.next().unwrap();
            requests.push(request.id, request, bytes, None)
        };
        assert!(push(&mut requests, 1_000));
        assert!(!push(&mut requests, 1));
        assert!(start(&mut requests).is_some());
        assert!(push(&mut requests, 9));
        assert!(!push(&mut requests, 2));
        requests.clear();
        assert_eq!((requests.bytes, start(&mut requests)), (0, None));
    }

    #[test]
    fn what_waits_can_be_cancelled_and_what_runs_hears_of_it() {
        let (mut requests, ids) = waiting(1, 3);
        let Started { id: first, signal, .. } = requests.start().unwrap();
        requests.cancel(first).unwrap().raise();
        assert!(signal.is_raised());
        assert!(requests.cancel(ids[1]).is_none());
        requests.finished(first);
        assert_eq!((start(&mut requests), requests.bytes), (Some(ids[2]), 0));
    }

    /// A request that has become a task lets another one run beside it, and gives its place back when its
    /// handler ends, but only so many do.
    #[test]
    fn lending_has_a_bound_and_is_given_back() {
        let (mut requests, ids) = waiting(1, MOST_LENT + 3);
        for id in ids.iter().take(MOST_LENT) {
            assert_eq!(start(&mut requests), Some(*id));
            requests.lend(*id);
            // Twice is once.
            requests.lend(*id);
        }
        let counts = |requests: &Requests<Server>| (requests.lent.len(), requests.running);
        assert_eq!(counts(&requests), (MOST_LENT, 0));
        let last = start(&mut requests).unwrap();
        requests.lend(last);
        assert_eq!((counts(&requests), start(&mut requests)), ((MOST_LENT, 1), None));
        requests.finished(ids[0]);
        assert_eq!((counts(&requests), start(&mut requests)), ((MOST_LENT - 1, 1), None));
        requests.finished(last);
        assert_eq!(counts(&requests), (MOST_LENT - 1, 0));
        assert!(start(&mut requests).is_some());
    }
}
