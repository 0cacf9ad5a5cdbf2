//! The time of all sessions of an endpoint, kept by one task.

use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::mem;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll, Wake, Waker};

use mcp_sansio::Server;
use mcp_sansio_driver::{Timing, Wire};
use tokio::time::Instant;

use crate::endpoint::{Inner, lock};

/// After how many sessions others get their turn.
const MOST_AT_ONCE: usize = 64;

/// The alarms of all sessions. The task that looks after them runs while there are sessions or alarms.
#[derive(Debug, Default)]
pub(crate) struct Timekeeper {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Those that are to be looked at now.
    woken: Vec<Arc<Alarm>>,
    /// Those that are to be looked at later. The number tells those with the same time apart.
    later: BTreeMap<(Instant, u64), Arc<Alarm>>,
    next_number: u64,
    /// Whoever waits for any of this.
    waker: Option<Waker>,
    is_running: bool,
}

/// Tells the timekeeper that a session has to be looked at earlier than it knows. A session has this as the waker of
/// its timer, so it costs no task.
#[derive(Debug)]
struct Alarm {
    wire: Weak<Wire<Server>>,
    keeper: Weak<Timekeeper>,
    number: u64,
    /// It is among those that are looked at now.
    is_woken: AtomicBool,
    /// Its place among those that are looked at later.
    at: Mutex<Option<Instant>>,
}

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        if self.is_woken.swap(true, Ordering::AcqRel) {
            return;
        }
        let Some(keeper) = self.keeper.upgrade() else { return };
        let mut state = lock(&keeper.state);
        state.woken.push(self);
        let waker = state.waker.take();
        drop(state);
        waker.into_iter().for_each(Waker::wake);
    }
}

impl Timekeeper {
    /// Keeps the time of this session from now on.
    pub(crate) fn add(self: &Arc<Self>, wire: &Arc<Wire<Server>>, inner: &Arc<Inner>) {
        let mut state = lock(&self.state);
        state.next_number += 1;
        let alarm = Alarm {
            wire: Arc::downgrade(wire),
            keeper: Arc::downgrade(self),
            number: state.next_number,
            is_woken: AtomicBool::new(true),
            at: Mutex::new(None),
        };
        state.woken.push(Arc::new(alarm));
        let waker = state.waker.take();
        let is_running = mem::replace(&mut state.is_running, true);
        drop(state);
        waker.into_iter().for_each(Waker::wake);
        if !is_running {
            let task = Running { keeper: Arc::clone(self), inner: Arc::downgrade(inner) };
            tokio::spawn(task.run());
        }
    }

    /// Those that have to be looked at by this time.
    fn take_due(&self, now: Instant) -> Vec<Arc<Alarm>> {
        let mut state = lock(&self.state);
        let mut due = mem::take(&mut state.woken);
        while let Some(first) = state.later.first_entry().filter(|first| first.key().0 <= now) {
            let alarm = first.remove();
            *lock(&alarm.at) = None;
            if !alarm.is_woken.swap(true, Ordering::AcqRel) {
                due.push(alarm);
            }
        }
        due
    }

    /// Does what is due in a session, and notes when to look at it again.
    fn look_at(&self, alarm: &Arc<Alarm>) {
        alarm.is_woken.store(false, Ordering::Release);
        let Some(wire) = alarm.wire.upgrade() else { return self.move_to(alarm, None) };
        let waker = Waker::from(Arc::clone(alarm));
        let until = match wire.poll_time(&Context::from_waker(&waker)) {
            Timing::Over => None,
            Timing::Until(until) => until,
        };
        self.move_to(alarm, until.map(Instant::from_std));
    }

    fn move_to(&self, alarm: &Arc<Alarm>, until: Option<Instant>) {
        let mut state = lock(&self.state);
        let mut at = lock(&alarm.at);
        if *at == until {
            return;
        }
        let old = at.take().and_then(|old| state.later.remove(&(old, alarm.number)));
        if let Some(until) = until {
            *at = Some(until);
            state.later.insert((until, alarm.number), Arc::clone(alarm));
        }
        drop((at, state));
        drop(old);
    }

    fn next(&self) -> Option<Instant> {
        lock(&self.state).later.first_key_value().map(|((at, _), _)| *at)
    }

    /// Waits until there is something to look at now.
    fn woken(&self) -> impl Future<Output = ()> {
        poll_fn(|context| {
            let mut state = lock(&self.state);
            if !state.woken.is_empty() {
                return Poll::Ready(());
            }
            let old = state.waker.replace(context.waker().clone());
            drop(state);
            drop(old);
            Poll::Pending
        })
    }

    /// Whether nothing is left to look at, so that the task ends.
    fn may_end(&self, has_sessions: impl FnOnce() -> bool) -> bool {
        let mut state = lock(&self.state);
        // A session is added to the others first and here afterwards: either it is found there, or it begins anew here.
        let is_over = state.woken.is_empty() && state.later.is_empty() && !has_sessions();
        state.is_running = !is_over;
        is_over
    }
}

/// The task that keeps the time.
struct Running {
    keeper: Arc<Timekeeper>,
    inner: Weak<Inner>,
}

impl Running {
    async fn run(self) {
        loop {
            let due = self.keeper.take_due(Instant::now());
            for some in due.chunks(MOST_AT_ONCE) {
                some.iter().for_each(|alarm| self.keeper.look_at(alarm));
                tokio::task::yield_now().await;
            }
            drop(due);
            let sweep = self.inner.upgrade().and_then(|inner| inner.end_idle_sessions());
            let has_sessions = || self.inner.upgrade().is_some_and(|inner| inner.has_sessions());
            if self.keeper.may_end(has_sessions) {
                return;
            }
            let sweep = sweep.map(|wait| Instant::now() + wait);
            let mut woken = pin!(self.keeper.woken());
            match sweep.into_iter().chain(self.keeper.next()).min() {
                // That it is late is what was waited for.
                Some(until) => _ = tokio::time::timeout_at(until, woken.as_mut()).await,
                None => woken.await,
            }
        }
    }
}

/// The runtime ends: nobody keeps the time of the sessions any more, and handlers find out.
impl Drop for Running {
    fn drop(&mut self) {
        let mut state = lock(&self.keeper.state);
        state.is_running = false;
        let mut left = mem::take(&mut state.woken);
        left.extend(mem::take(&mut state.later).into_values());
        drop(state);
        let mut wires: Vec<_> = left.iter().filter_map(|alarm| alarm.wire.upgrade()).collect();
        wires.extend(self.inner.upgrade().into_iter().flat_map(|inner| inner.session_wires()));
        wires.iter().for_each(|wire| wire.abandon());
    }
}
