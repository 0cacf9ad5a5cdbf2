//! `Activity`: detects idle connections.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The time that a connection may be open without a request. HTTP/2 has no such limit of its own.
const IDLE: Duration = Duration::from_secs(60);

/// The activity of one connection. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Activity {
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    /// The number of requests that are being served.
    open: usize,
    /// The time at which the latest request ended.
    since: Instant,
}

impl Activity {
    /// Creates the activity of a connection without requests.
    pub(crate) fn new() -> Self {
        Self { state: Arc::new(Mutex::new(State { open: 0, since: Instant::now() })) }
    }

    /// Counts a request until the returned value is dropped.
    pub(crate) fn begin(&self) -> Busy {
        self.lock().open += 1;
        Busy(self.clone())
    }

    /// Waits until the connection has been idle for too long.
    pub(crate) async fn ceased(self) {
        loop {
            let State { open, since } = *self.lock();
            let until = if open == 0 { since + IDLE } else { Instant::now() + IDLE };
            if until <= Instant::now() {
                return;
            }
            tokio::time::sleep_until(until).await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request in progress.
#[derive(Debug)]
pub(crate) struct Busy(Activity);

impl Drop for Busy {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.open -= 1;
        state.since = Instant::now();
    }
}
