//! Requests that wait for their handlers, and how many handlers run.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Weak};
use std::time::Duration;

use mcp_sansio::{IncomingId, Instant};

use crate::machine::Machine;
use crate::signal::Signalled;

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
    /// Those that wait, in order. One that was cancelled has left its place.
    waiting: VecDeque<Option<Waiting<M>>>,
    /// The number of the first place in there, and how many of them are empty.
    first: u64,
    cancelled: usize,
    /// Those that wait or run, each at the index of its handle.
    stages: Vec<Option<(IncomingId, Stage)>>,
    running: usize,
    /// How many handlers have returned.
    returned: u64,
    /// What few connections need.
    rest: Option<Box<Rest>>,
}

#[derive(Default)]
struct Rest {
    /// How many handlers had returned when somebody began to wait for the next one, and when that was.
    last_return: Option<(u64, Instant)>,
    /// Those that run and count for nothing, in order.
    lent: Vec<IncomingId>,
    /// The permits of requests that come again when their clients have given the input they need.
    without_input: HashMap<IncomingId, Permit>,
}

/// How far a request is.
enum Stage {
    /// It waits, at the place with this number.
    Waits(u64),
    /// Its handler runs, and finds out by this that its answer is not wanted any more.
    Runs(Weak<dyn Signalled>),
}

struct Waiting<M: Machine> {
    id: IncomingId,
    request: M::Request,
    permit: Option<Permit>,
}

/// A request whose handler starts.
pub(crate) struct Started<M: Machine> {
    pub(crate) id: IncomingId,
    pub(crate) request: M::Request,
    pub(crate) permit: Option<Permit>,
}

/// How many stages are kept while there are none: what one request at a time needs.
const KEPT_STAGES: usize = 4;

impl<M: Machine> Requests<M> {
    /// So many run at the same time. How many wait is for the machine to bound.
    pub(crate) fn new(most_running: usize) -> Self {
        Self {
            most_running: most_running.max(1),
            waiting: VecDeque::new(),
            first: 0,
            cancelled: 0,
            stages: Vec::new(),
            running: 0,
            returned: 0,
            rest: None,
        }
    }

    /// Takes a request in, and its permit.
    #[inline]
    pub(crate) fn push(&mut self, id: IncomingId, request: M::Request, permit: Option<Permit>) {
        let number = self.first + self.waiting.len() as u64;
        self.waiting.push_back(Some(Waiting { id, request, permit }));
        self.set_stage(id, Stage::Waits(number));
    }

    fn set_stage(&mut self, id: IncomingId, stage: Stage) {
        let index = id.index();
        if self.stages.len() <= index {
            self.stages.resize_with(index + 1, || None);
        }
        if let Some(known) = self.stages.get_mut(index) {
            *known = Some((id, stage));
        }
    }

    fn stage(&mut self, id: IncomingId) -> Option<&mut Option<(IncomingId, Stage)>> {
        let stage = self.stages.get_mut(id.index())?;
        stage.as_ref().is_some_and(|(known, _)| *known == id).then_some(stage)
    }

    /// Whether no handler runs, and none will.
    #[cfg(feature = "http")]
    pub(crate) fn is_idle(&self) -> bool {
        self.counts_none() && self.rest.as_ref().is_none_or(|rest| rest.lent.is_empty())
    }

    /// Gives memory back if no handler runs and nothing waits for one. Returns whether that is so.
    #[cfg(feature = "http")]
    pub(crate) fn release_if_idle(&mut self) -> bool {
        let is_idle = self.is_idle();
        if is_idle {
            self.release();
        }
        is_idle
    }

    /// Whether no handler runs that counts, and none will.
    fn counts_none(&self) -> bool {
        !self.has_waiting() && self.running == 0
    }

    fn release(&mut self) {
        self.first += self.waiting.len() as u64;
        self.cancelled = 0;
        (self.waiting, self.stages) = (VecDeque::new(), Vec::new());
    }

    /// Whether requests wait for a handler.
    pub(crate) fn has_waiting(&self) -> bool {
        self.cancelled < self.waiting.len()
    }

    /// Until when to wait for a handler to return. Each one that does gives the others as much time again.
    pub(crate) fn wait_until(&mut self, now: Instant, patience: Duration) -> Instant {
        let last_return = &mut self.rest.get_or_insert_default().last_return;
        let since = match *last_return {
            Some((returned, since)) if returned == self.returned => since,
            _ => now,
        };
        *last_return = Some((self.returned, since));
        since + patience
    }

    /// The next request to serve, if another handler may run.
    #[inline]
    pub(crate) fn start(&mut self) -> Option<Started<M>> {
        if self.most_running <= self.running {
            return None;
        }
        let Waiting { id, request, permit } = loop {
            let first = self.waiting.pop_front()?;
            self.first += 1;
            match first {
                Some(first) => break first,
                None => self.cancelled -= 1,
            }
        };
        self.running += 1;
        Some(Started { id, request, permit })
    }

    /// The handler of the request runs, and has this.
    pub(crate) fn runs(&mut self, id: IncomingId, signalled: Weak<dyn Signalled>) {
        self.set_stage(id, Stage::Runs(signalled));
    }

    /// The request comes again later, and keeps its permit until then: it was admitted, and must not be refused when its
    /// client has answered.
    pub(crate) fn wait_for_input(&mut self, id: IncomingId, permit: Option<Permit>) {
        if let Some(permit) = permit {
            self.rest.get_or_insert_default().without_input.insert(id, permit);
        }
    }

    /// The permit of a request that has come again.
    pub(crate) fn input_came(&mut self, id: IncomingId) -> Option<Permit> {
        self.rest.as_mut()?.without_input.remove(&id)
    }

    /// Its answer has been given by the run of its handler that has this. It may run again already, with what it needed.
    pub(crate) fn answered(&mut self, id: IncomingId, signalled: *const ()) {
        if let Some(stage) = self.stage(id)
            && matches!(stage, Some((_, Stage::Runs(known))) if known.as_ptr().cast() == signalled)
        {
            *stage = None;
        }
    }

    /// Its answer is not wanted any more: it does not run. Gives what tells that, if it does.
    pub(crate) fn cancel(&mut self, id: IncomingId) -> Option<Weak<dyn Signalled>> {
        drop(self.input_came(id));
        match self.stage(id)?.take()?.1 {
            Stage::Runs(signalled) => Some(signalled),
            Stage::Waits(number) => {
                let place = usize::try_from(number - self.first).ok()?;
                if self.waiting.get_mut(place)?.take().is_some() {
                    self.cancelled += 1;
                }
                if self.waiting.len() < 2 * self.cancelled {
                    self.close_ranks();
                }
                None
            }
        }
    }

    /// Drops the places that cancelled requests have left: a peer could make any number of them while no handler
    /// returns.
    fn close_ranks(&mut self) {
        self.waiting.retain(Option::is_some);
        self.cancelled = 0;
        let ids: Vec<_> = self.waiting.iter().flatten().map(|waiting| waiting.id).collect();
        for (number, id) in (self.first..).zip(ids) {
            self.set_stage(id, Stage::Waits(number));
        }
    }

    /// Its handler goes on, but need not be waited for: another one may run beside it, unless there are very
    /// many of these. It keeps its permit, as that bounds handlers.
    pub(crate) fn lend(&mut self, id: IncomingId) {
        let lent = &mut self.rest.get_or_insert_default().lent;
        if lent.len() < MOST_LENT
            && let Err(at) = lent.binary_search(&id)
        {
            lent.insert(at, id);
            // Whoever lends it holds its slot, so it counts among those that run.
            self.running -= 1;
        }
    }

    pub(crate) fn finished(&mut self, id: IncomingId) {
        self.returned += 1;
        let lent = self.rest.as_mut().map(|rest| &mut rest.lent);
        match lent.and_then(|lent| lent.binary_search(&id).ok().map(|at| lent.remove(at))) {
            Some(_) => {}
            // Each slot is given back once, and has been counted when it was given out.
            None => self.running -= 1,
        }
        // A burst of requests has taken it.
        if KEPT_STAGES < self.stages.capacity() && self.counts_none() {
            self.release();
        }
    }

    /// Nobody wants anything any more.
    pub(crate) fn clear(&mut self) {
        self.first += self.waiting.len() as u64;
        self.waiting.clear();
        self.cancelled = 0;
        if let Some(rest) = &mut self.rest {
            rest.without_input.clear();
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]
mod tests {
    use mcp_sansio::model::ListChanged;
    use mcp_sansio::{Framing, Inbox, Outbox, Request, Server, ServerConfig, ServerEvent};

    use super::*;
    use crate::signal::Signal;

    impl Signalled for Signal {
        fn signal(&self) -> &Signal {
            self
        }
    }

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

    /// So many wait.
    fn waiting(most_running: usize, many: usize) -> (Requests<Server>, Vec<IncomingId>) {
        let mut waiting = Requests::new(most_running);
        let mut ids = Vec::new();
        for request in requests(many) {
            ids.push(request.id);
            waiting.push(request.id, request, None);
        }
        (waiting, ids)
    }

    fn start(requests: &mut Requests<Server>) -> Option<IncomingId> {
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

    /// However many are cancelled while they wait, little is kept of them, and the others run in order.
    #[test]
    fn what_was_cancelled_leaves_no_places() {
        let (mut requests, ids) = waiting(1, 1_000);
        for (at, id) in ids.iter().enumerate() {
            if at % 10 != 3 {
                assert!(requests.cancel(*id).is_none());
            }
            assert!(requests.cancelled <= requests.waiting.len() / 2);
        }
        assert!(requests.waiting.len() <= 200);
        for id in ids.iter().skip(3).step_by(10) {
            assert!(requests.has_waiting());
            assert_eq!(start(&mut requests), Some(*id));
            requests.finished(*id);
        }
        assert!(!requests.has_waiting() && start(&mut requests).is_none());
        assert_eq!(requests.stages.capacity(), 0, "it is given back");
    }

    #[test]
    fn what_waits_can_be_cancelled_and_what_runs_hears_of_it() {
        let (mut requests, ids) = waiting(1, 3);
        let first = start(&mut requests).unwrap();
        let signal = Arc::new(Signal::default());
        let token = Arc::as_ptr(&signal).cast();
        requests.runs(first, Arc::<Signal>::downgrade(&signal));
        requests.answered(first, std::ptr::null());
        requests.cancel(first).unwrap().upgrade().unwrap().signal().raise();
        assert!(signal.is_raised());
        requests.runs(first, Arc::<Signal>::downgrade(&signal));
        requests.answered(first, token);
        assert!(requests.cancel(first).is_none(), "it has been answered");
        assert!(requests.cancel(ids[1]).is_none());
        requests.finished(first);
        assert_eq!(start(&mut requests), Some(ids[2]));
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
        let counts = |requests: &Requests<Server>| {
            (requests.rest.as_ref().unwrap().lent.len(), requests.running)
        };
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
