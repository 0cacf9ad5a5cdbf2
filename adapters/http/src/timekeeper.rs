//! `Timekeeper`: one task that handles the timeouts of all sessions of an endpoint.

use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::mem;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::task::{Context, Poll, Wake, Waker};

use mcp_sansio::Server;
use mcp_sansio::http::{SessionId, Sessions};
use mcp_sansio_driver::{Timing, Wire};
use tokio::time::Instant;

use crate::endpoint::{Inner, lock};

/// The number of sessions after which the task yields.
const MOST_AT_ONCE: usize = 64;

/// The alarms of all sessions. The task that handles them runs while there are sessions or alarms.
#[derive(Debug, Default)]
pub(crate) struct Timekeeper {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The alarms to handle now.
    woken: Vec<Arc<Alarm>>,
    /// The alarms to handle later. The number distinguishes alarms with the same time.
    later: BTreeMap<(Instant, u64), Arc<Alarm>>,
    next_number: u64,
    /// The waker of the task.
    waker: Option<Waker>,
    is_running: bool,
}

/// Notifies the timekeeper that a session must be handled earlier than scheduled. The alarm is the waker of the
/// session's timer, so a session needs no task of its own.
#[derive(Debug)]
struct Alarm {
    session: SessionId,
    wire: Weak<Wire<Server>>,
    keeper: Weak<Timekeeper>,
    number: u64,
    /// Whether the alarm is among those to handle now.
    is_woken: AtomicBool,
    /// The time of the alarm, if it is among those to handle later.
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
    /// Begins to handle the timeouts of this session.
    pub(crate) fn add(
        self: &Arc<Self>,
        id: SessionId,
        wire: &Arc<Wire<Server>>,
        inner: &Arc<Inner>,
    ) {
        let mut state = lock(&self.state);
        state.next_number += 1;
        let alarm = Alarm {
            session: id,
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
            let task = Running::new(Arc::clone(self), Arc::downgrade(inner));
            tokio::spawn(task.run());
        }
    }

    /// Takes the alarms that are due at this time.
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

    /// Handles the timeouts of a session that are due, and schedules the next one.
    fn look_at(&self, alarm: &Arc<Alarm>, inner: &Weak<Inner>) {
        alarm.is_woken.store(false, Ordering::Release);
        let Some(wire) = alarm.wire.upgrade() else { return self.move_to(alarm, None) };
        let waker = Waker::from(Arc::clone(alarm));
        let until = match wire.poll_time(&Context::from_waker(&waker)) {
            Timing::Over => {
                if let Some(inner) = inner.upgrade() {
                    inner.remove_ended(alarm.session, &wire);
                }
                None
            }
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

    /// Waits until there is an alarm to handle now.
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

    /// Whether no session and no alarm is left, so that the task ends.
    fn may_end(&self, has_sessions: impl FnOnce() -> bool) -> bool {
        let mut state = lock(&self.state);
        // A session is added to the endpoint first and to the timekeeper afterwards. Either the endpoint's check
        // finds it, or `add` starts a new task.
        let is_over = state.woken.is_empty() && state.later.is_empty() && !has_sessions();
        state.is_running = !is_over;
        is_over
    }
}

impl Inner {
    /// Removes a session that has ended by itself. Otherwise it would count for the limits until a request names it, or
    /// until its idle time is over.
    fn remove_ended(&self, id: SessionId, wire: &Arc<Wire<Server>>) {
        let remove = |mut sessions: MutexGuard<'_, Sessions<Arc<Wire<Server>>>>| {
            let is_it = sessions.peek(id).is_some_and(|other| Arc::ptr_eq(other, wire));
            if is_it && let Some(source) = sessions.source(id) {
                sessions.remove(id, source.principal);
            }
        };
        remove(self.sessions());
        remove(lock(&self.one_streams));
    }
}

/// The task that handles the timeouts.
struct Running {
    keeper: Arc<Timekeeper>,
    inner: Weak<Inner>,
    /// Whether the task has ended by itself. Sessions that begin from then on belong to the next task.
    has_ended: bool,
}

impl Running {
    const fn new(keeper: Arc<Timekeeper>, inner: Weak<Inner>) -> Self {
        Self { keeper, inner, has_ended: false }
    }

    /// Whether no session and no alarm is left, so that the task ends.
    fn ends(&mut self) -> bool {
        let has_sessions = || self.inner.upgrade().is_some_and(|inner| inner.has_sessions());
        self.has_ended = self.keeper.may_end(has_sessions);
        self.has_ended
    }

    async fn run(mut self) {
        loop {
            let due = self.keeper.take_due(Instant::now());
            for some in due.chunks(MOST_AT_ONCE) {
                some.iter().for_each(|alarm| self.keeper.look_at(alarm, &self.inner));
                tokio::task::yield_now().await;
            }
            drop(due);
            let sweep = self.inner.upgrade().and_then(|inner| inner.end_idle_sessions());
            if self.ends() {
                return;
            }
            let sweep = sweep.map(|wait| Instant::now() + wait);
            let mut woken = pin!(self.keeper.woken());
            match sweep.into_iter().chain(self.keeper.next()).min() {
                // An elapsed timeout is the expected result.
                Some(until) => _ = tokio::time::timeout_at(until, woken.as_mut()).await,
                None => woken.await,
            }
        }
    }
}

/// If the task has not ended by itself, the runtime ends: nothing handles the timeouts of the sessions any more, so the
/// sessions end and handlers are notified.
impl Drop for Running {
    fn drop(&mut self) {
        if self.has_ended {
            return;
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds the alarm of a session.
    fn open_session(keeper: &Arc<Timekeeper>) {
        let alarm = Alarm {
            session: SessionId::from_random([7; 16]),
            wire: Weak::new(),
            keeper: Arc::downgrade(keeper),
            number: 1,
            is_woken: AtomicBool::new(true),
            at: Mutex::new(None),
        };
        lock(&keeper.state).woken.push(Arc::new(alarm));
    }

    /// A session can be opened after the last look of the task and before the task is dropped.
    #[test]
    fn a_task_that_has_ended_leaves_later_sessions_alone() {
        let keeper = Arc::new(Timekeeper::default());
        let mut running = Running::new(Arc::clone(&keeper), Weak::new());
        assert!(running.ends());
        open_session(&keeper);
        drop(running);
        assert_eq!(lock(&keeper.state).woken.len(), 1);

        // The runtime ends: the sessions of the task end with it.
        let mut running = Running::new(Arc::clone(&keeper), Weak::new());
        assert!(!running.ends());
        drop(running);
        assert_eq!(lock(&keeper.state).woken.len(), 0);
    }
}
