//! [`Wire`]: a machine and its outbox behind one lock, with the side effects of each operation.
//!
//! The lock is never held while a handler runs, a task is woken or a value of the application is dropped. Such side
//! effects are collected in [`AfterUnlock`] and run after the lock is released. Input is in `deliver`, output in
//! `output`, and deadlines are in `timing`.

use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use mcp_sansio::{
    CallId, ErrorCode, Framing, IncomingId, Instant, Limits, Outbox, Phase, RespondError, Server,
    ServerConfig,
};

use crate::after_unlock::{AfterUnlock, OnDrop};
use crate::calls::Calls;
use crate::changes::Changes;
use crate::clock::Clock;
use crate::deliver::Reader;
use crate::events::{EventDelivery, Events};
use crate::extensions::Extensions;
use crate::handle::Handle;
use crate::host_requests::PendingHostRequests;
use crate::http::HttpState;
use crate::jobs::Jobs;
use crate::machine::Machine;
use crate::options::ConnectionOptions;
use crate::out::Out;
use crate::output::Output;
use crate::requests::Requests;
use crate::run::{Job, Run};
use crate::signal::Signal;
use crate::sync::{Mutex, MutexGuard};
use crate::tasks::SharedTasks;
use crate::timing::Closing;
use crate::wakers::{WakerSlot, Wakers};

/// The number of frames of the largest size whose data may wait as events.
const WAITING_FRAMES: usize = 4;

/// The default limit of handlers of a server that run at the same time.
const SERVER_HANDLERS: usize = 64;

/// The error text for a request whose handler gave no response.
pub(crate) const UNANSWERED: &str = "the request was not answered";

/// A connection without its streams, shared by the code that reads, writes, handles timeouts and serves requests.
///
/// This type is for adapters. Applications use [`Handle`] and [`Exchange`](crate::Exchange).
pub struct Wire<M: Machine> {
    pub(crate) state: Mutex<State<M>>,
    pub(crate) clock: Clock,
    pub(crate) limits: Arc<Limits>,
    pub(crate) tasks: Option<SharedTasks>,
    extensions: Option<Arc<Extensions>>,
    /// How long the peer may pause reading while only the last output remains.
    pub(crate) patience: Duration,
    /// Raised when everything has ended.
    ended: Signal,
}

pub(crate) struct State<M: Machine> {
    pub(crate) machine: M,
    /// The time at which the state was last settled.
    pub(crate) now: Instant,
    pub(crate) out: Out,
    /// The length that the outbox has reached because responses are always accepted. It replaces the limit of the
    /// outbox while it is larger.
    pub(crate) excess: usize,
    pub(crate) output: Output,
    pub(crate) requests: Requests<M>,
    pub(crate) events: Events<M>,
    pub(crate) calls: Calls,
    /// Requests without a response whose refusal, with this text, did not fit into the outbox yet.
    pub(crate) unanswered: Vec<(IncomingId, Cow<'static, str>)>,
    pub(crate) host_requests: PendingHostRequests,
    /// The change notifications that did not fit into the outbox yet.
    pub(crate) changes: Changes<M>,
    /// The result of opening the connection.
    pub(crate) opening: Opening<M>,
    pub(crate) closing: Option<Box<Closing>>,
    pub(crate) jobs: Jobs<M>,
    /// The waker of the task that handles timeouts, and the deadline that it knows.
    pub(crate) timer: Option<(Waker, Option<Instant>)>,
    /// The reader that waits for room for the next request.
    pub(crate) reader: Option<Box<Reader>>,
    /// The futures that wait for room in the outbox.
    pub(crate) room: Wakers,
    pub(crate) http: HttpState,
    pub(crate) after: AfterUnlock,
}

/// The state of the event that reports how opening the connection went.
pub(crate) enum Opening<M: Machine> {
    /// No future waits for it: it is delivered like any other event.
    Unawaited,
    Waited(Option<Waker>),
    Done(Box<M::Event>),
}

impl Wire<Server> {
    /// Creates a server whose handlers run on `runner`.
    pub fn server(
        mut config: ServerConfig,
        options: &ConnectionOptions,
        clock: Clock,
        runner: impl Run<Server>,
    ) -> Arc<Self> {
        options.adjust(&mut config);
        let server = match &options.tasks {
            Some(tasks) => {
                Server::with_connection_number(Arc::new(config), tasks.next_connection())
            }
            None => Server::new(Arc::new(config)),
        };
        let out = Out::Stream(Outbox::new(Framing::Lines, &server.config().connection.limits));
        let limits = Arc::new(server.config().connection.limits.clone());
        Self::server_on(server, out, limits, options, clock, Arc::new(runner))
    }

    /// As [`server`](Self::server), for an existing machine with its own outboxes. `limits` are those of its
    /// configuration.
    pub(crate) fn server_on(
        server: Server,
        out: Out,
        limits: Arc<Limits>,
        options: &ConnectionOptions,
        clock: Clock,
        runner: Arc<dyn Run<Server>>,
    ) -> Arc<Self> {
        let patience = server.config().connection.timeouts.drain;
        let most = options.handlers.unwrap_or(SERVER_HANDLERS);
        let requests = Requests::new(most);
        let opening = Opening::Unawaited;
        let setup = Setup { out, limits, patience, requests, opening };
        let wire = Self::new(server, setup, options, clock, Arc::clone(&runner));
        runner.begin(&wire.handle());
        wire
    }
}

/// The parts of a connection that differ between the roles.
pub(crate) struct Setup<M: Machine> {
    pub(crate) out: Out,
    pub(crate) limits: Arc<Limits>,
    pub(crate) patience: Duration,
    pub(crate) requests: Requests<M>,
    pub(crate) opening: Opening<M>,
}

impl<M: Machine> Wire<M> {
    pub(crate) fn new(
        machine: M,
        setup: Setup<M>,
        options: &ConnectionOptions,
        clock: Clock,
        runner: Arc<dyn Run<M>>,
    ) -> Arc<Self> {
        let Setup { out, limits, patience, requests, opening } = setup;
        let state = State {
            machine,
            now: Instant::EPOCH,
            out,
            excess: 0,
            output: Output::default(),
            requests,
            events: Events::new(limits.frame_bytes.saturating_mul(WAITING_FRAMES)),
            calls: Calls::default(),
            unanswered: Vec::new(),
            host_requests: PendingHostRequests::default(),
            changes: Changes::default(),
            opening,
            closing: None,
            jobs: Jobs::new(runner),
            timer: None,
            reader: None,
            room: Wakers::new(),
            http: HttpState::default(),
            after: AfterUnlock::default(),
        };
        // Connections that share tasks have to use the same clock.
        let (tasks, extensions) = (options.tasks.clone(), options.extensions.clone());
        let clock = tasks.as_ref().map_or(clock, SharedTasks::clock);
        let (state, ended) = (Mutex::new(state), Signal::default());
        let wire = Arc::new(Self { state, clock, limits, tasks, extensions, patience, ended });
        wire.link();
        wire
    }

    /// Returns a value of the connection ([`ConnectionOptions::extension`]).
    pub(crate) fn extension<T: Any>(&self) -> Option<&T> {
        self.extensions.as_ref()?.get()
    }

    /// Returns a handle of the connection, for handlers and callers.
    pub fn handle(self: &Arc<Self>) -> Handle<M> {
        Handle::new(self)
    }

    /// Runs `act` on the machine, and then all side effects.
    pub(crate) fn with<T>(self: &Arc<Self>, act: impl FnOnce(&mut M, &mut Out, Instant) -> T) -> T {
        self.act_at(|state, now| act(&mut state.machine, &mut state.out, now))
    }

    /// Runs `act` on the whole state, and then all side effects.
    pub(crate) fn act<T>(self: &Arc<Self>, act: impl FnOnce(&mut State<M>) -> T) -> T {
        self.act_at(|state, _| act(state))
    }

    /// As [`act`](Self::act), with the time.
    pub(crate) fn act_at<T>(self: &Arc<Self>, act: impl FnOnce(&mut State<M>, Instant) -> T) -> T {
        let mut state = self.lock();
        let now = self.clock.now();
        let result = act(&mut state, now);
        self.settle(&mut state, now);
        self.release(state);
        result
    }

    /// Sends a response. A response always has room: the request of the peer and the work of the handler are in
    /// memory anyway, and the number of running handlers is limited.
    pub(crate) fn answer<T>(
        self: &Arc<Self>,
        act: impl FnOnce(&mut M, Instant, &mut Out) -> T,
    ) -> T {
        self.answer_in(|machine, now, out, _| act(machine, now, out))
    }

    /// As [`answer`](Self::answer), with the table of requests.
    pub(crate) fn answer_in<T>(
        self: &Arc<Self>,
        act: impl FnOnce(&mut M, Instant, &mut Out, &mut Requests<M>) -> T,
    ) -> T {
        self.act_at(|state, now| {
            self.without_limit(state, |state| {
                let State { machine, out, requests, .. } = state;
                act(machine, now, out, requests)
            })
        })
    }

    /// As [`answer_in`](Self::answer_in), for a response that needs no time: it starts no timer.
    pub(crate) fn respond<T>(
        self: &Arc<Self>,
        id: IncomingId,
        act: impl FnOnce(&mut M, &mut Out, &mut Requests<M>) -> T,
    ) -> T {
        let mut state = self.lock();
        let result = self.without_limit(&mut state, |state| {
            let State { machine, out, requests, .. } = state;
            act(machine, out, requests)
        });
        // On the stream of an open connection nothing depends on the response of a server but the writer, unless
        // something waits for room. The response of a client may continue the clock of its calls, or end one of them.
        let is_due = state.machine.in_flight().is_due(Instant::EPOCH);
        if self.has_open_stream(&state) && !state.waits_for_room() && !is_due {
            state.try_write_directly();
            let writer = state.take_writer();
            drop(state);
            writer.into_iter().for_each(Waker::wake);
        } else if state.http.is_inline(id) {
            // The task that runs the handler asks for the head of the response next, which settles the connection.
            drop(state);
        } else {
            let now = self.clock.now();
            self.settle(&mut state, now);
            self.release(state);
        }
        result
    }

    /// Makes a call whose caller will take the outcome.
    pub(crate) fn call<E>(
        self: &Arc<Self>,
        make: impl FnOnce(&mut M, &mut Out, Instant) -> Result<CallId, E>,
    ) -> Result<CallId, E> {
        self.act_at(|state, now| {
            let made = make(&mut state.machine, &mut state.out, now);
            if let Ok(call) = &made {
                state.calls.insert(*call);
            }
            made
        })
    }

    /// Refuses a request whose handler gave no response, now or as soon as there is room.
    pub(crate) fn refuse_unanswered(self: &Arc<Self>, id: IncomingId, reason: Option<String>) {
        let reason = reason.map_or(Cow::Borrowed(UNANSWERED), Cow::Owned);
        self.act(|state| state.unanswered.push((id, reason)));
    }

    /// Frees the slot of a handler that has returned and whose exchange is gone.
    pub(crate) fn finished(self: &Arc<Self>, id: IncomingId) {
        let mut state = self.lock();
        state.requests.finished(id);
        if !state.is_open() {
            self.settle(&mut state, self.clock.now());
            return self.release(state);
        }
        if state.requests.has_waiting() {
            self.start(&mut state);
        }
        if state.reader.is_some() || state.after.has_more() {
            return self.release(state);
        }
        self.release_jobs(state);
    }

    /// Returns the number of bytes kept for the peer: the kept bytes of the machine
    /// ([`Counts::kept_bytes`](mcp_sansio::event::Counts::kept_bytes)), the unsent output, and over HTTP the output
    /// that is stored for a client that resumes a stream.
    pub fn kept_bytes(&self) -> usize {
        self.lock().kept_bytes()
    }

    /// Returns the phase of the machine.
    pub fn phase(&self) -> Phase {
        self.lock().machine.phase()
    }

    /// Returns the signal that everything has ended: the connection is closed, all output has been written or given
    /// up, and all events have been delivered.
    pub(crate) const fn ended(&self) -> &Signal {
        &self.ended
    }

    /// Ready if there is room for more output, or the connection is closed.
    pub(crate) fn poll_room(&self, place: &mut WakerSlot, context: &Context<'_>) -> Poll<()> {
        let mut state = self.lock();
        if state.has_room() {
            return Poll::Ready(());
        }
        let old = state.room.register(place, context);
        drop(state);
        drop(old);
        Poll::Pending
    }

    /// Processes everything that is due.
    pub(crate) fn settle(self: &Arc<Self>, state: &mut State<M>, now: Instant) {
        state.now = now;
        while state.machine.in_flight().is_due(now)
            && let Some(event) = state.machine.handle_timeout(now, &mut state.out)
        {
            self.deliver(state, event, 0);
        }
        self.set_limit(state);
        if self.has_open_stream(state) && !state.waits_for_room() && !state.events.has_new() {
            return;
        }
        state.settle_responses(now);
        if state.machine.phase() == Phase::Draining {
            // Only responses to requests in flight can follow, and those are in memory anyway.
            self.without_limit(state, |state| {
                self.settle_tasks(state);
                state.refuse_all();
            });
        } else {
            self.settle_tasks(state);
            state.refuse_all();
        }
        state.send_changes();
        self.start(state);
        self.check_end(state, now);
    }

    /// Whether the connection is open, on a stream, and shares no tasks: then little depends on an operation.
    fn has_open_stream(&self, state: &State<M>) -> bool {
        matches!(state.out, Out::Stream(_)) && state.is_open() && self.tasks.is_none()
    }

    /// Whether handlers may start. A peer that does not read gets no new work done. While the connection drains, the
    /// time for the remaining requests is short: they may fill the outbox.
    pub(crate) fn may_start(&self, state: &State<M>) -> bool {
        !state.out.is_congested()
            || (state.machine.phase() == Phase::Draining
                && state.out.unsent_bytes() < self.limits.outbox_bytes)
    }

    /// Starts handlers for waiting requests and events.
    pub(crate) fn start(self: &Arc<Self>, state: &mut State<M>) {
        while self.may_start(state)
            && let Some(admitted) = state.requests.start()
        {
            self.begin(state, admitted);
        }
        if state.events.begin() {
            state.jobs.push(Job::Deliver(EventDelivery::new(self)));
        }
    }

    /// Releases the lock and runs the side effects.
    pub(crate) fn release(self: &Arc<Self>, mut state: MutexGuard<'_, State<M>>) {
        self.collect_wakers(&mut state);
        let after = std::mem::take(&mut state.after);
        let dispatches = state.jobs.begin();
        let retired = state.retired();
        drop(state);
        drop(retired);
        // Also if a subscriber of `tracing` panics, or a waker or a value of the application.
        let _dispatch = dispatches.then(|| OnDrop(|| self.dispatch()));
        let entries = after.run(&self.ended);
        entries.emit();
    }

    /// Releases the lock and dispatches jobs, if the operation has no other side effects.
    fn release_jobs(&self, mut state: MutexGuard<'_, State<M>>) {
        let dispatches = state.jobs.begin();
        drop(state);
        if dispatches {
            self.dispatch();
        }
    }

    /// Collects the wakers of the tasks that can continue.
    fn collect_wakers(&self, state: &mut State<M>) {
        if let Out::Http(_) = &state.out {
            state.wake_responses();
            state.wake_requests();
            state.count_kept_bytes();
        }
        state.try_write_directly();
        let writer = state.take_writer();
        state.after.wake(writer);
        if !state.room.is_empty() && state.has_room() {
            let woken = state.room.take();
            state.after.wake(woken);
        }
        if state.reader.is_some() {
            let reader = state.take_reader(self.clock.now());
            state.after.wake(reader);
        }
        if let Some((_, known)) = &state.timer {
            let is_sooner = match (self.next_deadline(state), known) {
                (Some(deadline), Some(known)) => deadline < *known,
                (deadline, None) => deadline.is_some(),
                (None, Some(_)) => false,
            };
            if is_sooner || state.after.ended {
                state.after.wake(state.timer.take().map(|(waker, _)| waker));
            }
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State<M>> {
        // Payloads are serialised before the lock is taken, so no code of the application runs under the lock and
        // could panic. A machine remains valid after a panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<M: Machine> State<M> {
    /// Returns the bytes kept for the peer: those of the machine, and the unsent and the stored output.
    pub(crate) fn kept_bytes(&self) -> usize {
        let output = self.out.unsent_bytes().saturating_add(self.out.stored_bytes());
        self.machine.in_flight().counts().kept_bytes.saturating_add(output)
    }

    fn has_room(&self) -> bool {
        !self.out.is_congested() || self.machine.phase() == Phase::Closed
    }

    /// Refuses requests without a response, as far as there is room.
    pub(crate) fn refuse_all(&mut self) {
        let Self { machine, out, unanswered, .. } = self;
        unanswered.retain(|(id, text)| {
            let refused = machine.reject(*id, ErrorCode::INTERNAL_ERROR, text, out);
            matches!(refused, Err(RespondError::Encode(_)))
        });
    }
}

impl<M: Machine> fmt::Debug for Wire<M> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Wire").field("phase", &self.phase()).finish_non_exhaustive()
    }
}
#[cfg(all(test, feature = "http", target_pointer_width = "64"))]
mod tests {
    use super::*;

    /// There may be many idle connections, and this is most of the memory of each.
    #[test]
    fn a_connection_is_small() {
        let bytes = size_of::<Wire<Server>>();
        assert!(bytes <= 1_632, "{bytes} bytes: box what few connections have");
    }
}
