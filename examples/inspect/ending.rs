//! What ends the program before its time: Ctrl-C, a signal, or a server that goes.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use mcp_sansio::Client;
use mcp_sansio_std::Handle;

use crate::say::say;

/// Whether the session is over, and how to end it.
#[derive(Default)]
pub(crate) struct Ending {
    state: Mutex<State>,
    change: Condvar,
}

#[derive(Default)]
struct State {
    handle: Option<Handle<Client>>,
    /// How often we were told to end.
    told: u32,
    over: bool,
}

impl Ending {
    /// Ends the session when this process is told to end. The server is not left behind: it does not
    /// hear of a Ctrl-C itself, because it leads a group of its own.
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
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.handle = Some(handle.clone());
        if 0 < state.told {
            handle.shut_down(Duration::ZERO);
        }
    }

    fn interrupt(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.told += 1;
        if 2 < state.told {
            // Whoever insists does not want to wait for the server.
            std::process::exit(130);
        }
        if let Some(handle) = &state.handle {
            handle.shut_down(Duration::ZERO);
        }
    }

    /// Whether this process was told to end.
    pub(crate) fn was_told(&self) -> bool {
        0 < self.state.lock().unwrap_or_else(PoisonError::into_inner).told
    }

    /// The session has ended.
    pub(crate) fn over(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).over = true;
        self.change.notify_all();
    }

    /// Waits until the session has ended, at most so long.
    pub(crate) fn wait(&self, patience: Option<Duration>) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let goes_on = |state: &mut State| !state.over;
        match patience {
            Some(patience) => drop(self.change.wait_timeout_while(state, patience, goes_on)),
            None => drop(self.change.wait_while(state, goes_on)),
        }
    }
}
