//! Early ends of the program: Ctrl-C, a signal, or a server that disconnects.

use std::future::{Future, poll_fn};
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use mcp_sansio::{Client, Phase};
use mcp_sansio_std::{Handle, KillSwitch, Waiting};

use crate::say::say;

/// How long the end may take after the second interrupt.
pub(crate) const MOMENT: Duration = Duration::from_secs(3);

/// How long the server may take to end when another program ends this one.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// The state of the session's end, and the means to end it.
#[derive(Default)]
pub(crate) struct Ending {
    state: Mutex<State>,
    change: Condvar,
    /// Pulled at the second interrupt.
    kill_switch: KillSwitch,
}

#[derive(Default)]
struct State {
    handle: Option<Handle<Client>>,
    /// The waker of the future that waits for a response, and ends the session itself at an interrupt.
    asking: Option<Waker>,
    /// The number of interrupts.
    interrupts: u32,
    /// Whether the server has ended a subscription.
    subscription_ended: bool,
    /// Whether the server has replaced the session, and with it everything that was watched.
    is_replaced: bool,
    /// Why changes cannot be printed any more: standard output is closed, or cannot be written to.
    unprinted: Option<io::Error>,
    /// Whether an interrupt ends only the request that is waited for.
    is_interactive: bool,
    /// Whether a command of the user is being read.
    is_reading: bool,
    /// Whether a signal has ended the program, and not only a request.
    is_terminated: bool,
}

impl State {
    const fn has_to_end(&self) -> bool {
        0 < self.interrupts || self.is_terminated
    }

    fn shut_down(&self) {
        if let Some(handle) = &self.handle {
            handle.shut_down(Duration::ZERO);
        }
    }
}

impl Ending {
    /// Installs a signal handler that ends the session and the server. A Ctrl-C does not reach the server itself,
    /// because it leads its own process group. At the second interrupt, a slow server is killed if the program
    /// waits for it. If the program waits for something else, it exits soon after, or at the third interrupt.
    pub(crate) fn on_signals() -> Arc<Self> {
        let ending = Arc::new(Self::default());
        let handler = Arc::clone(&ending);
        if let Err(error) = ctrlc::set_handler(move || handler.interrupt()) {
            say!("inspect: a Ctrl-C may leave the server running: {error}");
        }
        #[cfg(unix)]
        if let Err(error) = terminating::on_signals(&ending) {
            say!("inspect: SIGTERM and SIGHUP end only requests: {error}");
        }
        ending
    }

    /// Sets the session.
    pub(crate) fn of(&self, handle: &Handle<Client>) {
        let mut state = self.lock();
        state.handle = Some(handle.clone());
        if 0 < state.interrupts {
            state.shut_down();
        }
    }

    /// Returns the switch that ends every wait for the server.
    pub(crate) const fn kill_switch(&self) -> &KillSwitch {
        &self.kill_switch
    }

    /// Ends the program at a signal of another program, or of a terminal that is closed. The signal is counted as an
    /// interrupt, too, which comes earlier or later.
    #[cfg(unix)]
    fn terminate(&self) {
        let mut state = self.lock();
        if !state.is_interactive {
            return;
        }
        state.is_terminated = true;
        match state.asking.take() {
            Some(asking) => asking.wake(),
            None => {
                state.shut_down();
                if state.is_reading {
                    // Nothing else ends the line editor.
                    exit_after(LAST_WORDS);
                }
            }
        }
    }

    fn interrupt(&self) {
        let mut state = self.lock();
        state.interrupts += 1;
        match state.interrupts {
            1 => {}
            2 => {
                self.kill_switch.pull();
                exit_after(MOMENT);
            }
            _ => std::process::exit(130),
        }
        match state.asking.take() {
            Some(asking) => asking.wake(),
            // The session ends already, and its end takes its time.
            None if state.is_terminated => {}
            None if state.is_interactive && !state.is_reading => {
                // A Ctrl-C while a result is printed. There is no request to cancel.
                state.interrupts = 0;
            }
            None => {
                state.shut_down();
                if state.is_interactive {
                    // While the line editor reads a line, a terminal sends no signal for Ctrl-C: another program ends
                    // this one. Without the editor, a Ctrl-C ends it as well.
                    exit_after(LAST_WORDS);
                }
            }
        }
    }

    /// Sends a request with `ask` and waits for its response, unless the program is interrupted. Then the call is
    /// cancelled before the session ends: a busy server does not always notice the end of its input.
    pub(crate) fn unless_interrupted<T, F>(&self, ask: impl FnOnce() -> F) -> Option<T>
    where
        F: Future<Output = T> + Send,
    {
        // From here on an interrupt leaves the end of the session to this function. The request must not be sent
        // before: an interrupt right after it would end the session without the cancellation.
        self.lock().asking = Some(Waker::noop().clone());
        let mut asked = Box::pin(ask());
        let waiting = poll_fn(|context| {
            let mut state = self.lock();
            if state.has_to_end() {
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
        if state.is_interactive && !state.is_terminated {
            state.interrupts = 0;
        } else if state.has_to_end() {
            state.shut_down();
        }
        outcome
    }

    /// From now on an interrupt cancels the request that is waited for, and the session continues.
    pub(crate) fn cancel_requests_only(&self) {
        self.lock().is_interactive = true;
    }

    /// Reads a command of the user. An interrupt in the meantime ends the program. `None` if a signal has ended it
    /// before.
    pub(crate) fn while_reading<T>(&self, read: impl FnOnce() -> T) -> Option<T> {
        let mut state = self.lock();
        if state.is_terminated {
            return None;
        }
        state.is_reading = true;
        drop(state);
        let command = read();
        self.lock().is_reading = false;
        Some(command)
    }

    /// Whether the program was interrupted.
    pub(crate) fn was_interrupted(&self) -> bool {
        self.lock().has_to_end()
    }

    /// Notes that a session has ended: the last one, or that of a server which is started again.
    pub(crate) fn over(&self) {
        // A function that is about to wait has looked at the session before.
        drop(self.lock());
        self.change.notify_all();
    }

    /// Notes that the server has ended a subscription. At an interrupt, it does so because the program ends.
    pub(crate) fn subscription_ended(&self) {
        let mut state = self.lock();
        state.subscription_ended |= state.interrupts == 0;
        drop(state);
        self.change.notify_all();
    }

    /// Whether the server has ended a subscription by itself.
    pub(crate) fn has_ended_subscription(&self) -> bool {
        self.lock().subscription_ended
    }

    /// Notes that the server has replaced the session.
    pub(crate) fn replaced(&self) {
        self.lock().is_replaced = true;
        self.change.notify_all();
    }

    /// Notes that a change could not be printed.
    pub(crate) fn not_printed(&self, error: io::Error) {
        self.lock().unprinted = Some(error);
        self.change.notify_all();
    }

    /// Returns the reason why a change could not be printed.
    pub(crate) fn unprinted(&self) -> Option<io::Error> {
        self.lock().unprinted.take()
    }

    /// Whether the server has replaced the session.
    pub(crate) fn is_replaced(&self) -> bool {
        self.lock().is_replaced
    }

    /// Waits until the session has ended or was replaced, or the server has ended the subscription of a modern session,
    /// which has only one, or changes cannot be printed. Waits at most for `patience`.
    pub(crate) fn wait(&self, patience: Option<Duration>) {
        let state = self.lock();
        let goes_on = |state: &mut State| {
            let is_over =
                state.is_replaced || state.subscription_ended || state.unprinted.is_some();
            let handle = state.handle.as_ref().filter(|_| !is_over);
            handle.is_some_and(|handle| handle.phase() != Phase::Closed)
        };
        match patience {
            Some(patience) => drop(self.change.wait_timeout_while(state, patience, goes_on)),
            None => drop(self.change.wait_while(state, goes_on)),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The time in which signals count as one.
const ONE_SIGNAL: Duration = Duration::from_secs(1);

/// Counts signals. Some programs send a signal to the process and to its group.
#[derive(Default)]
pub(crate) struct Signals(Mutex<Option<Instant>>);

/// A signal among the others.
pub(crate) enum Counted {
    First,
    /// It counts as one with the signal before it.
    WithLast,
    Another,
}

impl Signals {
    pub(crate) fn count(&self) -> Counted {
        match self.0.lock().unwrap_or_else(PoisonError::into_inner).replace(Instant::now()) {
            None => Counted::First,
            Some(last) if last.elapsed() < ONE_SIGNAL => Counted::WithLast,
            Some(_) => Counted::Another,
        }
    }
}

/// Exits the process after some time.
fn exit_after(patience: Duration) {
    let exit = thread::Builder::new().spawn(move || {
        thread::sleep(patience);
        std::process::exit(130)
    });
    if exit.is_err() {
        std::process::exit(130);
    }
}

/// The signals that end the program in interactive mode, where a Ctrl-C ends only a request.
#[cfg(unix)]
mod terminating {
    use std::io;
    use std::sync::Arc;
    use std::thread;

    use tokio::runtime::Builder;
    use tokio::signal::unix::{SignalKind, signal};

    use super::Ending;

    /// Installs handlers for SIGTERM and SIGHUP, besides that for all signals.
    pub(super) fn on_signals(ending: &Arc<Ending>) -> io::Result<()> {
        let runtime = Builder::new_current_thread().enable_io().build()?;
        let entered = runtime.enter();
        let (mut terminate, mut hang_up) =
            (signal(SignalKind::terminate())?, signal(SignalKind::hangup())?);
        drop(entered);
        let ending = Arc::clone(ending);
        let wait = async move {
            loop {
                tokio::select! {
                    _ = terminate.recv() => {}
                    _ = hang_up.recv() => {}
                }
                ending.terminate();
            }
        };
        thread::Builder::new().spawn(move || runtime.block_on(wait)).map(|_| ())
    }
}
