//! A machine, its outbox, and the threads that move bytes and time.
//!
//! The machine and its outbox are behind one lock, which nobody holds while reading, writing or
//! running a handler. Three threads use it: one reads and feeds, one writes what there is, one waits
//! for deadlines. None of them ever waits for another.

use std::collections::HashMap;
use std::io::{ErrorKind, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use mcp_sansio::{
    CallId, Cause, Framing, InboundId, Inbox, Instant, Limits, Outbox, Outcome, Phase,
    ProgressUpdate,
};

use crate::Handler;
use crate::clock::Clock;
use crate::exchange::Exchange;
use crate::handle::Handle;
use crate::machine::Machine;
use crate::machine::sealed::Happening;
use crate::workers::{Job, Workers};

/// How much is handed to the system in one write. A call that is in there counts as sent.
const WRITE_BYTES: usize = 64 << 10;

/// How many events may wait for a handler that takes its time. Later ones are dropped.
const WAITING_EVENTS: usize = 1024;

pub(crate) struct Wire<M: Machine> {
    state: Mutex<State<M>>,
    /// There is something to write, or nothing will be any more.
    output: Condvar,
    /// A deadline may have changed, or the outbox may have become empty.
    change: Condvar,
    clock: Clock,
    limits: Limits,
    handler: Arc<dyn Handler<M>>,
    requests: Arc<Workers>,
    events: Arc<Workers>,
}

struct State<M: Machine> {
    machine: M,
    out: Outbox,
    /// Those who wait for the outcome of a call.
    calls: HashMap<CallId, Sender<Update>>,
    /// The signals of requests that are being worked on.
    signals: HashMap<InboundId, Arc<Signal>>,
    /// Who waits for the connection to be opened.
    opening: Option<Sender<M::Event>>,
    writing: Writing,
    /// Jobs that will not run. Dropping one needs the machine, so it waits until the lock is free.
    dropped: Vec<Job>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Writing {
    Idle,
    /// Bytes that have left the outbox are being written.
    Busy,
    /// Writing has failed, or there will be nothing to write any more.
    Over,
}

/// What those who wait for a call are told.
pub(crate) enum Update {
    Progress(ProgressUpdate<'static>),
    Ended(Outcome<'static>),
}

/// Says to a handler that its answer is not wanted any more.
#[derive(Default)]
pub(crate) struct Signal {
    raised: AtomicBool,
    lock: Mutex<()>,
    change: Condvar,
}

impl Signal {
    pub(crate) fn is_raised(&self) -> bool {
        self.raised.load(Ordering::Acquire)
    }

    /// Waits until it is raised, at most so long. Says whether it is.
    pub(crate) fn wait(&self, patience: Duration) -> bool {
        let guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.change.wait_timeout_while(guard, patience, |()| !self.is_raised());
        drop(waited);
        self.is_raised()
    }

    fn raise(&self) {
        let guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.raised.store(true, Ordering::Release);
        drop(guard);
        self.change.notify_all();
    }
}

impl<M: Machine> Wire<M> {
    pub(crate) fn new(
        machine: M,
        limits: &Limits,
        threads: usize,
        handler: Arc<dyn Handler<M>>,
        opening: Option<Sender<M::Event>>,
    ) -> Arc<Self> {
        let state = State {
            machine,
            out: Outbox::new(Framing::Lines, limits),
            calls: HashMap::new(),
            signals: HashMap::new(),
            opening,
            writing: Writing::Idle,
            dropped: Vec::new(),
        };
        Arc::new(Self {
            state: Mutex::new(state),
            output: Condvar::new(),
            change: Condvar::new(),
            clock: Clock::new(),
            limits: limits.clone(),
            handler,
            requests: Workers::new("mcp handler", threads),
            events: Workers::new("mcp events", 1),
        })
    }

    /// Starts the threads that read, write and wait for deadlines.
    ///
    /// # Errors
    ///
    /// What the system says if it has no thread.
    pub(crate) fn start(
        self: &Arc<Self>,
        reader: impl Read + Send + 'static,
        writer: impl Write + Send + 'static,
    ) -> std::io::Result<()> {
        let spawn = |name: &str, run: Box<dyn FnOnce() + Send>| {
            thread::Builder::new().name(name.into()).spawn(run).map(|_| ())
        };
        let wire = Arc::clone(self);
        spawn("mcp writer", Box::new(move || wire.write(writer)))?;
        let wire = Arc::clone(self);
        spawn("mcp timer", Box::new(move || wire.keep_time()))?;
        let wire = Arc::clone(self);
        spawn("mcp reader", Box::new(move || wire.read(reader)))
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

    /// Gives the lock back and wakes whoever has something to do.
    fn release(&self, mut state: MutexGuard<'_, State<M>>) {
        let dropped = std::mem::take(&mut state.dropped);
        drop(state);
        self.output.notify_all();
        self.change.notify_all();
        drop(dropped);
    }

    /// Makes a call whose updates go to a sender.
    pub(crate) fn call<E>(
        self: &Arc<Self>,
        updates: Sender<Update>,
        make: impl FnOnce(&mut M, &mut Outbox, Instant) -> Result<CallId, E>,
    ) -> Result<CallId, E> {
        let mut state = self.lock();
        let state_ref = &mut *state;
        let call = make(&mut state_ref.machine, &mut state_ref.out, self.clock.now())?;
        state.calls.insert(call, updates);
        self.release(state);
        Ok(call)
    }

    /// Forgets who waits for a call.
    pub(crate) fn forget(&self, call: CallId) {
        self.lock().calls.remove(&call);
    }

    /// What phase the machine is in.
    pub(crate) fn phase(&self) -> Phase {
        self.lock().machine.phase()
    }

    /// Waits until the connection has ended and everything has been written, the latter at most
    /// so long.
    pub(crate) fn wait_closed(&self, patience: Duration) {
        let mut state = self.lock();
        while state.machine.phase() != Phase::Closed {
            state = self.change.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let unwritten = |state: &mut State<M>| {
            state.writing != Writing::Over
                && (state.writing == Writing::Busy || !state.out.is_empty())
        };
        drop(self.change.wait_timeout_while(state, patience, unwritten));
    }

    fn read(self: &Arc<Self>, mut reader: impl Read) {
        let mut inbox = Inbox::new(&self.limits);
        let cause = loop {
            match reader.read(inbox.space()) {
                Ok(0) => break Cause::EndOfInput,
                Ok(bytes) => inbox.filled(bytes),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => break Cause::ReadFailed,
            }
            self.take(&mut inbox);
            if !M::READS_TO_THE_END && self.phase() == Phase::Closed {
                return;
            }
        };
        inbox.finish();
        self.take(&mut inbox);
        self.with(|machine, _, now| machine.disconnected(cause, now));
    }

    fn take(self: &Arc<Self>, inbox: &mut Inbox) {
        while let Some(frame) = inbox.next() {
            let mut state = self.lock();
            let state_ref = &mut *state;
            let now = self.clock.now();
            let happening = state_ref.machine.receive(frame, now, &mut state_ref.out);
            if let Some(happening) = happening {
                self.deliver(&mut state, happening);
            }
            self.settle(&mut state);
            self.release(state);
        }
    }

    /// Writes until the connection has ended and the outbox is empty.
    fn write(self: &Arc<Self>, mut writer: impl Write) {
        let mut chunk = Vec::with_capacity(WRITE_BYTES);
        while self.next_chunk(&mut chunk) {
            let written = writer.write_all(&chunk).and_then(|()| writer.flush());
            let mut state = self.lock();
            state.writing = if written.is_ok() { Writing::Idle } else { Writing::Over };
            drop(state);
            if written.is_err() {
                self.with(|machine, _, now| machine.disconnected(Cause::WriteFailed, now));
                return;
            }
            self.change.notify_all();
        }
        let mut state = self.lock();
        state.writing = Writing::Over;
        drop(state);
        self.change.notify_all();
    }

    /// Waits for output and copies a chunk of it. Says whether there was any.
    fn next_chunk(&self, chunk: &mut Vec<u8>) -> bool {
        let mut state = self.lock();
        while state.out.is_empty() {
            if state.machine.phase() == Phase::Closed {
                return false;
            }
            state = self.output.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        chunk.clear();
        let unsent = state.out.unsent();
        chunk.extend_from_slice(unsent.get(..WRITE_BYTES).unwrap_or(unsent));
        state.out.sent(chunk.len());
        state.writing = Writing::Busy;
        true
    }

    /// Hands out what time brings about, until the connection has ended.
    fn keep_time(self: &Arc<Self>) {
        loop {
            let mut state = self.lock();
            self.settle(&mut state);
            let deadline = state.machine.poll_timeout();
            if state.machine.phase() == Phase::Closed && deadline.is_none() {
                return self.release(state);
            }
            if !state.dropped.is_empty() || !state.out.is_empty() {
                self.release(state);
                state = self.lock();
            }
            drop(match state.machine.poll_timeout() {
                None => self.change.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(deadline) => {
                    let patience = deadline - self.clock.now();
                    let waited = self.change.wait_timeout(state, patience);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            });
        }
    }

    /// Takes everything that is due.
    fn settle(self: &Arc<Self>, state: &mut State<M>) {
        let now = self.clock.now();
        while let Some(happening) = state.machine.handle_timeout(now, &mut state.out) {
            self.deliver(state, happening);
        }
    }

    fn deliver(self: &Arc<Self>, state: &mut State<M>, happening: Happening<M>) {
        match happening {
            Happening::Request(id, request) => self.begin(state, id, request),
            Happening::Cancelled(id) => {
                if let Some(signal) = state.signals.remove(&id) {
                    signal.raise();
                }
                state.dropped.extend(self.requests.remove(id));
            }
            Happening::Progress(update) => {
                if let Some(updates) = state.calls.get(&update.call) {
                    _ = updates.send(Update::Progress(update));
                }
            }
            Happening::Ended(ended) => {
                if let Some(updates) = state.calls.remove(&ended.call) {
                    _ = updates.send(Update::Ended(ended.outcome));
                }
            }
            Happening::Opening(event) => match state.opening.take() {
                Some(opening) => _ = opening.send(event),
                None => self.tell(state, event),
            },
            Happening::Event(event) => self.tell(state, event),
        }
    }

    /// Has a request served.
    fn begin(self: &Arc<Self>, state: &mut State<M>, id: InboundId, request: M::Request) {
        let signal = Arc::new(Signal::default());
        state.signals.insert(id, Arc::clone(&signal));
        let exchange = Exchange::new(id, request, signal, Handle::new(self));
        let handler = Arc::clone(&self.handler);
        let run = Box::new(move || handler.serve(&exchange));
        state.dropped.extend(self.requests.submit(Job { request: Some(id), run }));
    }

    /// Tells the application, in order.
    fn tell(self: &Arc<Self>, state: &mut State<M>, event: M::Event) {
        if WAITING_EVENTS <= self.events.waiting() {
            return;
        }
        let handler = Arc::clone(&self.handler);
        let handle = Handle::new(self);
        let run = Box::new(move || handler.event(&handle, event));
        state.dropped.extend(self.events.submit(Job { request: None, run }));
    }

    /// Forgets the signal of a request that has been answered.
    pub(crate) fn answered(&self, id: InboundId) {
        self.lock().signals.remove(&id);
    }

    fn lock(&self) -> MutexGuard<'_, State<M>> {
        // Payloads are serialised before the lock is taken, so nothing of the application's runs
        // under it and could panic; and a machine survives a panic unchanged.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
