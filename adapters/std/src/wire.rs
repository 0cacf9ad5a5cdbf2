//! A machine and its outbox behind one lock, and what follows from what happens to them.
//!
//! Nobody holds the lock while reading, writing or running a handler. The threads that use it are in
//! `threads`.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant as Monotonic};

use mcp_sansio::json::EncodeError;
use mcp_sansio::{
    Arrival, CallId, ErrorCode, Frame, Framing, InboundId, Instant, Limits, ListPage, Outbox,
    Outcome, Phase, ProgressUpdate, RespondError,
};

use crate::Handler;
use crate::clock::Clock;
use crate::exchange::Exchange;
use crate::handle::Handle;
use crate::host::Chore;
use crate::machine::Machine;
use crate::machine::sealed::Happening;
use crate::signal::Signal;
use crate::tasks::{Link, SharedTasks, tell};
use crate::workers::{Job, Workers};

/// How many events may wait for a handler that takes its time. Later ones are dropped.
const WAITING_EVENTS: usize = 1024;

/// How many of the largest frames may wait, as requests for a thread, and again as events.
const WAITING_FRAMES: usize = 4;

/// How long handlers of events that came before the end may take after it.
const LAST_EVENTS: Duration = Duration::from_secs(2);

pub(crate) struct Wire<M: Machine> {
    state: Mutex<State<M>>,
    /// There is something to write, or nothing will be any more.
    pub(crate) output: Condvar,
    /// A deadline may have changed, or the outbox may have become empty.
    pub(crate) change: Condvar,
    /// Something has left the outbox, or those who wait for that need not wait any more.
    room: Condvar,
    pub(crate) clock: Clock,
    pub(crate) limits: Limits,
    pub(crate) tasks: Option<SharedTasks>,
    handler: Arc<dyn Handler<M>>,
    requests: Arc<Workers>,
    events: Arc<Workers>,
}

pub(crate) struct State<M: Machine> {
    pub(crate) machine: M,
    pub(crate) out: Outbox,
    pub(crate) writing: Writing,
    /// What went wrong while reading or writing, if it was more than that the peer has gone.
    pub(crate) failure: Option<io::Error>,
    /// How many chunks have been written.
    pub(crate) chunks: u64,
    /// Those who wait for the outcome of a call.
    calls: HashMap<CallId, Sender<Update>>,
    /// The signals of requests that are being worked on.
    signals: HashMap<InboundId, Arc<Signal>>,
    /// Requests that nobody has answered and for whose refusal there was no room yet.
    pub(crate) unanswered: Vec<InboundId>,
    /// Requests about tasks that are to be answered here, and for whose answers there was no room yet.
    pub(crate) chores: VecDeque<(InboundId, Chore)>,
    /// Other connections that have something to tell. They cannot while this one is locked.
    pub(crate) to_tell: Vec<Arc<dyn Link>>,
    /// Who waits for the connection to be opened.
    opening: Option<Sender<M::Event>>,
    /// Jobs that will not run. Dropping one needs the machine, so it waits until the lock is free.
    dropped: Vec<Job>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Writing {
    Idle,
    /// Bytes that have left the outbox are being written.
    Busy,
    /// Writing has failed, or there will be nothing to write any more.
    Over,
}

/// What those who wait for a call are told.
pub(crate) enum Update {
    Progress(ProgressUpdate<'static>),
    Page(ListPage<'static>),
    /// The pages so far do not count.
    Restarted,
    /// How it ended, and whether the list that it asked for has changed meanwhile.
    Ended(Outcome<'static>, bool),
    /// The request that it was made because of has been cancelled.
    Cancelled,
}

impl<M: Machine> Wire<M> {
    pub(crate) fn new(
        machine: M,
        limits: &Limits,
        threads: usize,
        tasks: Option<SharedTasks>,
        handler: Arc<dyn Handler<M>>,
        opening: Option<Sender<M::Event>>,
    ) -> Arc<Self> {
        let state = State {
            machine,
            out: Outbox::new(Framing::Lines, limits),
            writing: Writing::Idle,
            failure: None,
            chunks: 0,
            calls: HashMap::new(),
            signals: HashMap::new(),
            unanswered: Vec::new(),
            chores: VecDeque::new(),
            to_tell: Vec::new(),
            opening,
            dropped: Vec::new(),
        };
        let waiting_bytes = limits.frame_bytes.saturating_mul(WAITING_FRAMES);
        // Those who share tasks have to agree on the time.
        let clock = tasks.as_ref().map_or_else(Clock::new, SharedTasks::clock);
        let wire = Arc::new(Self {
            state: Mutex::new(state),
            output: Condvar::new(),
            change: Condvar::new(),
            room: Condvar::new(),
            clock,
            limits: limits.clone(),
            tasks,
            handler,
            requests: Workers::new("mcp handler", threads, usize::MAX, waiting_bytes),
            events: Workers::new("mcp events", 1, WAITING_EVENTS, waiting_bytes),
        });
        wire.link();
        wire
    }

    /// Tells the handler of the connection.
    pub(crate) fn begin_with_handler(self: &Arc<Self>) {
        self.handler.begin(&Handle::new(self));
    }

    /// Does something with the machine, and then all that follows from it.
    pub(crate) fn with<T>(
        self: &Arc<Self>,
        act: impl FnOnce(&mut M, &mut Outbox, Instant) -> T,
    ) -> T {
        let mut state = self.lock();
        let state_ref = &mut *state;
        let result = act(&mut state_ref.machine, &mut state_ref.out, self.clock.now());
        self.settle(&mut state);
        self.release(state);
        result
    }

    /// Answers a request, and waits for room in the outbox if the peer is slow to read. It does not
    /// wait for what is not wanted any more, nor for what would not fit if there were nothing else.
    pub(crate) fn answer<T>(
        self: &Arc<Self>,
        act: impl Fn(&mut M, Instant, &mut Outbox) -> Result<T, RespondError>,
    ) -> Result<T, RespondError> {
        let is_full = |error: &_| matches!(error, RespondError::Encode(EncodeError::Full));
        self.answer_unless(is_full, act)
    }

    pub(crate) fn answer_unless<T, E>(
        self: &Arc<Self>,
        is_full: impl Fn(&E) -> bool,
        act: impl Fn(&mut M, Instant, &mut Outbox) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut state = self.lock();
        let answered = loop {
            let state_ref = &mut *state;
            let now = self.clock.now();
            match act(&mut state_ref.machine, now, &mut state_ref.out) {
                Err(error) if is_full(&error) && !state.out.is_empty() => {
                    state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
                answered => break answered,
            }
        };
        self.settle(&mut state);
        self.release(state);
        answered
    }

    /// Refuses a request that its handler has not answered, now or as soon as there is room.
    pub(crate) fn refuse_unanswered(self: &Arc<Self>, id: InboundId) {
        let mut state = self.lock();
        state.unanswered.push(id);
        refuse_all(&mut state);
        self.settle(&mut state);
        self.release(state);
    }

    /// Gives the lock back and wakes whoever has something to do.
    pub(crate) fn release(&self, mut state: MutexGuard<'_, State<M>>) {
        let dropped = std::mem::take(&mut state.dropped);
        let to_tell = std::mem::take(&mut state.to_tell);
        drop(state);
        self.output.notify_all();
        self.change.notify_all();
        self.room.notify_all();
        drop(dropped);
        tell(to_tell);
    }

    /// Wakes whoever may have something to do because of what has become due.
    pub(crate) fn wake(&self) {
        self.output.notify_all();
        self.room.notify_all();
    }

    /// Something has left the outbox: what waited for room may go in.
    pub(crate) fn made_room(&self, state: &mut State<M>) {
        refuse_all(state);
        self.room.notify_all();
    }

    /// Makes a call whose updates go to a sender.
    pub(crate) fn call<E>(
        self: &Arc<Self>,
        updates: Sender<Update>,
        make: impl FnOnce(&mut M, &mut Outbox, Instant) -> Result<CallId, E>,
    ) -> Result<CallId, E> {
        let mut state = self.lock();
        let state_ref = &mut *state;
        let made = make(&mut state_ref.machine, &mut state_ref.out, self.clock.now());
        if let Ok(call) = &made {
            state.calls.insert(*call, updates);
        }
        self.settle(&mut state);
        self.release(state);
        made
    }

    /// Forgets who waits for a call.
    pub(crate) fn forget(&self, call: CallId) {
        self.lock().calls.remove(&call);
    }

    /// What phase the machine is in.
    pub(crate) fn phase(&self) -> Phase {
        self.lock().machine.phase()
    }

    /// Waits until the connection has ended, everything has been written and every event has been
    /// told. Writing may take as long as the peer goes on reading, and may pause for `patience`.
    ///
    /// # Errors
    ///
    /// What went wrong while reading or writing, and [`io::ErrorKind::TimedOut`] if the peer stopped
    /// reading before it had everything. That it has gone is no error.
    pub(crate) fn wait_closed(&self, patience: Duration) -> io::Result<()> {
        let mut state = self.lock();
        while state.machine.phase() != Phase::Closed {
            state = self.change.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let (mut chunks, mut since) = (state.chunks, Monotonic::now());
        while state.is_unwritten() {
            if state.chunks != chunks {
                (chunks, since) = (state.chunks, Monotonic::now());
            }
            let Some(left) = patience.checked_sub(since.elapsed()) else { break };
            let waited = self.change.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let abandoned = state.is_unwritten();
        let failure = state.failure.take();
        drop(state);
        self.events.wait_idle(LAST_EVENTS);
        match failure {
            Some(error) => Err(error),
            None if abandoned => Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "the peer stopped reading before everything was written",
            )),
            None => Ok(()),
        }
    }

    /// Hands a frame to the machine.
    pub(crate) fn receive(self: &Arc<Self>, frame: Frame<'_>) {
        let mut state = self.lock();
        let state_ref = &mut *state;
        let (now, bytes) = (self.clock.now(), frame.bytes().len());
        let principal = self.tasks.as_ref().map(SharedTasks::principal).unwrap_or_default();
        let arrival = Arrival::from(now).principal(principal);
        let happening = state_ref.machine.receive(frame, arrival, &mut state_ref.out);
        if let Some(happening) = happening {
            self.deliver(&mut state, happening, bytes);
        }
        self.settle(&mut state);
        self.release(state);
    }

    /// Takes everything that is due.
    pub(crate) fn settle(self: &Arc<Self>, state: &mut State<M>) {
        let now = self.clock.now();
        while let Some(happening) = state.machine.handle_timeout(now, &mut state.out) {
            self.deliver(state, happening, 0);
        }
        self.settle_tasks(state);
        if state.machine.phase() == Phase::Draining {
            // No more can come than the answers to what is in flight, and those are in memory anyway.
            state.out.lift_limit();
        }
    }

    /// Passes on what has happened. It holds so many bytes of the peer.
    fn deliver(self: &Arc<Self>, state: &mut State<M>, happening: Happening<M>, bytes: usize) {
        match happening {
            Happening::Request(id, request) => self.begin(state, id, request, bytes),
            Happening::Cancelled(id) => self.cancelled(state, id),
            Happening::Progress(update) => state.update(update.call, Update::Progress(update)),
            Happening::Page(page) => state.update(page.call, Update::Page(page)),
            Happening::Restarted(restarted) => state.update(restarted.call, Update::Restarted),
            Happening::Ended(ended) => {
                if let Some(updates) = state.calls.remove(&ended.call) {
                    _ = updates.send(Update::Ended(ended.outcome, ended.stale));
                }
            }
            Happening::TaskAnswer(answer) => self.task_answered(&answer),
            Happening::Opening(event) => match state.opening.take() {
                Some(opening) => _ = opening.send(event),
                None => self.tell(state, event, bytes),
            },
            Happening::Event(event) => self.tell(state, event, bytes),
        }
    }

    /// Has a request served.
    fn begin(
        self: &Arc<Self>,
        state: &mut State<M>,
        id: InboundId,
        request: M::Request,
        bytes: usize,
    ) {
        if let Some(chore) = M::chore(&request).filter(|_| self.tasks.is_some()) {
            return state.chores.push_back((id, chore));
        }
        let signal = Arc::new(Signal::default());
        state.signals.insert(id, Arc::clone(&signal));
        let exchange = Exchange::new(id, request, signal, Handle::new(self));
        let handler = Arc::clone(&self.handler);
        let run = Box::new(move || handler.serve(&exchange));
        let job = Job { request: Some(id), bytes, run };
        // Dropped, it refuses the request.
        state.dropped.extend(self.requests.submit(job));
    }

    /// The answer to a request is not wanted any more, so neither are those to the calls that were
    /// made because of it.
    fn cancelled(&self, state: &mut State<M>, id: InboundId) {
        if let Some(signal) = state.signals.remove(&id) {
            signal.raise();
        }
        state.dropped.extend(self.requests.remove(id));
        for call in state.machine.calls_made_for(id) {
            let reason = Some("the request that it was made for was cancelled");
            if state.machine.cancel(call, reason, &mut state.out).is_ok()
                && let Some(updates) = state.calls.remove(&call)
            {
                _ = updates.send(Update::Cancelled);
            }
        }
    }

    /// Tells the application, in order.
    fn tell(self: &Arc<Self>, state: &mut State<M>, event: M::Event, bytes: usize) {
        let is_last_word = M::is_last_word(&event);
        let handler = Arc::clone(&self.handler);
        let handle = Handle::new(self);
        let run = Box::new(move || handler.event(&handle, event));
        let job = Job { request: None, bytes, run };
        let refused =
            if is_last_word { self.events.submit_always(job) } else { self.events.submit(job) };
        state.dropped.extend(refused);
    }

    /// A request has been answered: whoever waits for the end of it need not any more.
    pub(crate) fn answered(&self, id: InboundId) {
        let signal = self.lock().signals.remove(&id);
        if let Some(signal) = signal {
            signal.raise();
        }
    }

    /// A request has become a task: others need not wait until its handler has returned.
    pub(crate) fn lend(&self, id: InboundId) {
        self.requests.lend(id);
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State<M>> {
        // Payloads are serialised before the lock is taken, so nothing of the application's runs
        // under it and could panic; and a machine survives a panic unchanged.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<M: Machine> State<M> {
    /// Whether there is something to do once the lock is free.
    pub(crate) fn has_left_over(&self) -> bool {
        !self.dropped.is_empty() || !self.to_tell.is_empty()
    }

    /// Whether there is output that has not been written and still may be.
    fn is_unwritten(&self) -> bool {
        self.writing != Writing::Over && (self.writing == Writing::Busy || !self.out.is_empty())
    }

    fn update(&self, call: CallId, update: Update) {
        if let Some(updates) = self.calls.get(&call) {
            _ = updates.send(update);
        }
    }
}

/// Refuses what nobody has answered, as far as there is room for it.
pub(crate) fn refuse_all<M: Machine>(state: &mut State<M>) {
    let State { machine, out, unanswered, .. } = state;
    unanswered.retain(|id| {
        let (code, text) = (ErrorCode::INTERNAL_ERROR, "the request was not answered");
        let refused = machine.reject(*id, code, text, None, out);
        matches!(refused, Err(RespondError::Encode(_)))
    });
}
