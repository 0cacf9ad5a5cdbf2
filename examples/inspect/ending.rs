//! What ends the program before its time: Ctrl-C, a signal, or a server that goes.

use std::future::{Future, poll_fn};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::thread;
use std::time::Duration;

use mcp_sansio::Client;
use mcp_sansio_std::{Handle, KillSwitch, Waiting};

use crate::say::say;

/// How long the end may take when we are told to end for the second time.
const MOMENT: Duration = Duration::from_secs(3);

/// Whether the session is over, and how to end it.
#[derive(Default)]
pub(crate) struct Ending {
    state: Mutex<State>,
    change: Condvar,
    /// Pulled when we are told a second time.
    kill_switch: KillSwitch,
}

#[derive(Default)]
struct State {
    handle: Option<Handle<Client>>,
    /// Whoever waits for an answer, and ends the session himself when we are told to end.
    asking: Option<Waker>,
    /// How often we were told to end.
    told: u32,
    over: bool,
}

impl State {
    fn shut_down(&self) {
        if let Some(handle) = &self.handle {
            handle.shut_down(Duration::ZERO);
        }
    }
}

impl Ending {
    /// Ends the session when this process is told to end, and the server with it, which does not hear of a Ctrl-C
    /// itself, because it leads a group of its own. Who says so again does not wait for a server that takes its time:
    /// it is killed, if that is what we wait for. If it is something else we end all the same, a little later or at
    /// the third time.
    pub(crate) fn on_signals() -> Arc<Self> {
        let ending = Arc::new(Self::default());
        let told = Arc::clone(&ending);
        if let Err(error) = ctrlc::set_handler(move || told.interrupt()) {
            say!("inspect: a Ctrl-C may leave the server running: {error}");
        }
        ending
    }

    /// This is the session.
    pub(crate) fn of(&self, handle: &Handle<Client>) {
        let mut state = self.lock();
        state.handle = Some(handle.clone());
        if 0 < state.told {
            state.shut_down();
        }
    }

    /// What ends the patience with the server.
    pub(crate) const fn kill_switch(&self) -> &KillSwitch {
        &self.kill_switch
    }

    fn interrupt(&self) {
        let mut state = self.lock();
        state.told += 1;
        match state.told {
            1 => {}
            2 => {
                self.kill_switch.pull();
                let late = thread::Builder::new().spawn(|| {
                    thread::sleep(MOMENT);
                    std::process::exit(130)
                });
                if late.is_err() {
                    std::process::exit(130);
                }
            }
            _ => std::process::exit(130),
        }
        match state.asking.take() {
            Some(asking) => asking.wake(),
            None => state.shut_down(),
        }
    }

    /// Waits for what the server is asked for, unless this process is told to end meanwhile. Then it is
    /// cancelled before the session ends: a server does not always look at the end of its input while it works.
    pub(crate) fn unless_told<T>(&self, asked: impl Future<Output = T> + Send) -> Option<T> {
        let mut asked = Box::pin(asked);
        let waiting = poll_fn(|context| {
            let mut state = self.lock();
            if 0 < state.told {
                return Poll::Ready(None);
            }
            state.asking = Some(context.waker().clone());
            drop(state);
            asked.as_mut().poll(context).map(Some)
        });
        let outcome = Waiting::new(waiting).wait();
        drop(asked);
        let mut state = self.lock();
        state.asking = None;
        if 0 < state.told {
            state.shut_down();
        }
        outcome
    }

    /// Whether this process was told to end.
    pub(crate) fn was_told(&self) -> bool {
        0 < self.lock().told
    }

    /// The session has ended.
    pub(crate) fn over(&self) {
        self.lock().over = true;
        self.change.notify_all();
    }

    /// Waits until the session has ended, at most so long.
    pub(crate) fn wait(&self, patience: Option<Duration>) {
        let state = self.lock();
        let goes_on = |state: &mut State| !state.over;
        match patience {
            Some(patience) => drop(self.change.wait_timeout_while(state, patience, goes_on)),
            None => drop(self.change.wait_while(state, goes_on)),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
