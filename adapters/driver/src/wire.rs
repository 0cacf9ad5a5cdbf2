//! A machine and its outbox behind one lock, and what follows from what happens to them.
//!
//! Nobody holds the lock while running a handler, waking a task or dropping what belongs to the application.
//! What has to be done about these is noted in [`AfterUnlock`] and done when the lock has been given back. What
//! comes in is in `deliver`, what goes out in `output`, and when things are due in `timing`.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use mcp_sansio::{
    CallId, Client, ErrorCode, Framing, IncomingId, Instant, Limits, Outbox, Phase, RespondError,
    Server, ServerConfig,
};

use crate::after_unlock::AfterUnlock;
use crate::calls::Calls;
use crate::changes::Changes;
use crate::clock::Clock;
use crate::deliver::Reader;
use crate::events::{EventDelivery, Events};
use crate::exchange::Exchange;
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
use crate::tasks::SharedTasks;
use crate::timing::Closing;
use crate::trace;
use crate::wakers::{Place, Wakers};

/// How many of the largest frames may wait as events.
const WAITING_FRAMES: usize = 4;

/// How many handlers of a server run at the same time unless it is said otherwise.
const SERVER_HANDLERS: usize = 64;

/// How many requests of a server a client serves at the same time unless it is said otherwise.
const CLIENT_HANDLERS: usize = 16;

/// How long a server that does not read may hold up the end of its client.
const CLIENT_PATIENCE: Duration = Duration::from_millis(500);

/// The text of the error for a request that its handler has not answered.
pub(crate) const UNANSWERED: &str = "the request was not answered";

/// A connection, without its streams: what reads, writes, waits and serves shares it.
///
/// It is for adapters. Those who use one see [`Handle`] and [`Exchange`].
pub struct Wire<M: Machine> {
    pub(crate) state: Mutex<State<M>>,
    pub(crate) clock: Clock,
    pub(crate) limits: Arc<Limits>,
    pub(crate) tasks: Option<SharedTasks>,
    /// How long the peer may pause reading when everything is over but for the last of the output.
    pub(crate) patience: Duration,
    /// Everything is over.
    ended: Signal,
}

pub(crate) struct State<M: Machine> {
    pub(crate) machine: M,
    pub(crate) out: Out,
    /// How much of it is beyond its limit, and was let in all the same.
    excess: usize,
    pub(crate) output: Output,
    pub(crate) requests: Requests<M>,
    pub(crate) events: Events<M>,
    pub(crate) calls: Calls,
    /// Requests that nobody has answered and for whose refusal, with this text, there was no room yet.
    pub(crate) unanswered: Vec<(IncomingId, &'static str)>,
    pub(crate) host_requests: PendingHostRequests,
    /// Changes that the peer is to be told of, and for which there was no room yet.
    pub(crate) changes: Changes<M>,
    /// How opening the connection went.
    pub(crate) opening: Opening<M>,
    pub(crate) closing: Option<Box<Closing>>,
    pub(crate) jobs: Jobs<M>,
    /// Whoever waits for deadlines, and the one that it knows of.
    pub(crate) timer: Option<(Waker, Option<Instant>)>,
    /// Whoever reads, and waits for room for the next request.
    pub(crate) reader: Option<Box<Reader>>,
    /// Those who wait for room in the outbox.
    pub(crate) room: Wakers,
    pub(crate) http: HttpState,
    pub(crate) after: AfterUnlock,
}

/// What opening the connection is waited for.
pub(crate) enum Opening<M: Machine> {
    /// Nobody waits for it: it is told like any other event.
    Told,
    Waited(Option<Waker>),
    Done(Box<M::Event>),
}

impl Wire<Server> {
    /// A server, whose handlers run there.
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

    /// The same for a machine that there is, with outboxes of its own. The limits are those of its configuration.
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
        let opening = Opening::Told;
        let setup = Setup { out, limits, patience, requests, opening };
        let wire = Self::new(server, setup, options.tasks.clone(), clock, Arc::clone(&runner));
        runner.begin(&wire.handle());
        wire
    }
}

impl Wire<Client> {
    /// A client, whose handlers run there.
    pub fn client(
        client: Client,
        options: &ConnectionOptions,
        clock: Clock,
        runner: Arc<dyn Run<Client>>,
    ) -> Arc<Self> {
        let out = Out::Stream(Outbox::new(Framing::Lines, &client.config().connection.limits));
        Self::client_on(client, out, options, clock, runner)
    }

    /// The same with outboxes of its own.
    pub(crate) fn client_on(
        client: Client,
        out: Out,
        options: &ConnectionOptions,
        clock: Clock,
        runner: Arc<dyn Run<Client>>,
    ) -> Arc<Self> {
        let limits = Arc::new(client.config().connection.limits.clone());
        let most = options.handlers.unwrap_or(CLIENT_HANDLERS);
        let requests = Requests::new(most);
        let opening = Opening::Waited(None);
        let patience = CLIENT_PATIENCE;
        let setup = Setup { out, limits, patience, requests, opening };
        Self::new(client, setup, options.tasks.clone(), clock, runner)
    }
}

/// What a role has of its own.
struct Setup<M: Machine> {
    out: Out,
    limits: Arc<Limits>,
    patience: Duration,
    requests: Requests<M>,
    opening: Opening<M>,
}

impl<M: Machine> Wire<M> {
    fn new(
        machine: M,
        setup: Setup<M>,
        tasks: Option<SharedTasks>,
        clock: Clock,
        runner: Arc<dyn Run<M>>,
    ) -> Arc<Self> {
        let Setup { out, limits, patience, requests, opening } = setup;
        let state = State {
            machine,
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
        // Those who share tasks have to agree on the time.
        let clock = tasks.as_ref().map_or(clock, SharedTasks::clock);
        let (state, ended) = (Mutex::new(state), Signal::default());
        let wire = Arc::new(Self { state, clock, limits, tasks, patience, ended });
        wire.link();
        wire
    }

    /// The connection as handlers and callers see it.
    pub fn handle(self: &Arc<Self>) -> Handle<M> {
        Handle::new(self)
    }

    /// Does something with the machine, and then all that follows from it.
    pub(crate) fn with<T>(self: &Arc<Self>, act: impl FnOnce(&mut M, &mut Out, Instant) -> T) -> T {
        self.act_at(|state, now| act(&mut state.machine, &mut state.out, now))
    }

    /// Does something with everything, and then all that follows from it.
    pub(crate) fn act<T>(self: &Arc<Self>, act: impl FnOnce(&mut State<M>) -> T) -> T {
        self.act_at(|state, _| act(state))
    }

    /// The same with the time.
    pub(crate) fn act_at<T>(self: &Arc<Self>, act: impl FnOnce(&mut State<M>, Instant) -> T) -> T {
        let mut state = self.lock();
        let now = self.clock.now();
        let result = act(&mut state, now);
        self.settle(&mut state, now);
        self.release(state);
        result
    }

    /// Answers a request. There is always room for that: what the peer has asked for and the handlers have
    /// done is in memory anyway, and there is a bound on how many of these run.
    pub(crate) fn answer<T>(
        self: &Arc<Self>,
        act: impl FnOnce(&mut M, Instant, &mut Out) -> T,
    ) -> T {
        self.answer_in(|machine, now, out, _| act(machine, now, out))
    }

    /// The same with what is known of the requests that have handlers.
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

    /// Does something for which there is always room. What it takes up counts for nothing as long as it is there,
    /// so that there is room for what the machine says by itself, such as the answer to a ping.
    fn without_limit<T>(&self, state: &mut State<M>, act: impl FnOnce(&mut State<M>) -> T) -> T {
        let before = state.out.len();
        state.out.set_limit(usize::MAX);
        let result = act(state);
        if before < state.out.len() {
            state.excess = state.out.len();
        }
        self.set_limit(state);
        result
    }

    pub(crate) fn set_limit(&self, state: &mut State<M>) {
        state.excess = state.excess.min(state.out.len());
        state.out.set_limit(self.limits.outbox_bytes.max(state.excess));
    }

    /// Makes a call that somebody will ask about.
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

    /// Refuses a request that its handler has not answered, now or as soon as there is room.
    pub(crate) fn refuse_unanswered(self: &Arc<Self>, id: IncomingId) {
        self.act(|state| state.unanswered.push((id, UNANSWERED)));
    }

    /// A handler has returned, and nobody has its exchange any more.
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
        if state.reader.is_some() {
            return self.release(state);
        }
        self.release_jobs(state);
    }

    /// How many bytes are kept of the peer: by the machine ([`Counts::kept_bytes`](mcp_sansio::event::Counts::kept_bytes)), and
    /// of what it has not been sent.
    pub fn kept_bytes(&self) -> usize {
        self.lock().kept_bytes()
    }

    /// What phase the machine is in.
    pub fn phase(&self) -> Phase {
        self.lock().machine.phase()
    }

    /// Says that everything is over: the connection has ended, everything has been written or been given up,
    /// and everything has been told.
    pub(crate) const fn ended(&self) -> &Signal {
        &self.ended
    }

    /// Whether there is room for more output, or will never be any.
    pub(crate) fn poll_room(&self, place: &mut Place, context: &Context<'_>) -> Poll<()> {
        let mut state = self.lock();
        if state.has_room() {
            return Poll::Ready(());
        }
        let old = state.room.register(place, context);
        drop(state);
        drop(old);
        Poll::Pending
    }

    /// Does everything that can be done now.
    pub(crate) fn settle(self: &Arc<Self>, state: &mut State<M>, now: Instant) {
        while let Some(event) = state.machine.handle_timeout(now, &mut state.out) {
            self.deliver(state, event, 0);
        }
        state.settle_responses(now);
        self.set_limit(state);
        if state.machine.phase() == Phase::Draining {
            // No more can come than the answers to what is in flight, and those are in memory anyway.
            self.without_limit(state, |state| {
                self.settle_tasks(state);
                state.refuse_all();
            });
        } else {
            self.settle_tasks(state);
            state.refuse_all();
        }
        state.tell_changes();
        self.start(state);
        self.check_end(state, now);
    }

    /// Has handlers run for what waits for them.
    fn start(self: &Arc<Self>, state: &mut State<M>) {
        // A peer that does not read gets no new work done. When it has said all that it wants, no more can
        // come of it than what is here.
        while (!state.out.is_congested() || state.machine.phase() == Phase::Draining)
            && let Some(started) = state.requests.start()
        {
            trace::request::<M>(started.id, &started.request);
            let (id, exchange) = (started.id, Exchange::new(started, self));
            state.requests.runs(id, exchange.signalled());
            state.jobs.push(Job::Serve(exchange));
        }
        if state.events.begin() {
            state.jobs.push(Job::Deliver(EventDelivery::new(self)));
        }
    }

    /// Gives the lock back and does what follows.
    pub(crate) fn release(self: &Arc<Self>, mut state: MutexGuard<'_, State<M>>) {
        self.note_who_waits(&mut state);
        state.count_kept_bytes();
        let after = std::mem::take(&mut state.after);
        let dispatches = state.jobs.begin();
        let retired = state.retired();
        drop(state);
        drop(retired);
        after.run(&self.ended);
        if dispatches {
            self.dispatch();
        }
    }

    /// Gives the lock back and has jobs run, when nothing else can have come of what was done.
    fn release_jobs(&self, mut state: MutexGuard<'_, State<M>>) {
        let dispatches = state.jobs.begin();
        drop(state);
        if dispatches {
            self.dispatch();
        }
    }

    /// Finds out who may have something to do now.
    fn note_who_waits(&self, state: &mut State<M>) {
        state.wake_responses();
        state.wake_requests();
        let is_closed = state.machine.phase() == Phase::Closed;
        if state.output.writer.is_some() && (is_closed || !state.out.is_empty()) {
            state.after.wake(state.output.writer.take());
        }
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
        // Payloads are serialised before the lock is taken, so nothing of the application's runs
        // under it and could panic; and a machine survives a panic unchanged.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<M: Machine> State<M> {
    /// How many bytes are kept of the peer: by the machine, and of what it has not been sent.
    pub(crate) fn kept_bytes(&self) -> usize {
        self.machine.counts().kept_bytes.saturating_add(self.out.unsent_bytes())
    }

    fn has_room(&self) -> bool {
        !self.out.is_congested() || self.machine.phase() == Phase::Closed
    }

    /// Refuses what nobody has answered, as far as there is room for it.
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

    /// There may be many that idle, and this is most of what each of them takes.
    #[test]
    fn a_connection_is_small() {
        let bytes = size_of::<Wire<Server>>();
        assert!(bytes <= 1_616, "{bytes} bytes: box what few connections have");
    }
}
