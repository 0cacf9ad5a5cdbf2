//! Connections on which nothing happens.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// How long a connection may be open without a request. HTTP/2 has no such bound of its own.
const IDLE: Duration = Duration::from_secs(60);

/// The requests of one connection. Clones are of the same ones.
#[derive(Clone, Debug)]
pub(crate) struct Activity {
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    /// How many are being answered.
    open: usize,
    /// When the latest one ended.
    since: Instant,
}

impl Activity {
    /// None yet.
    pub(crate) fn new() -> Self {
        Self { state: Arc::new(Mutex::new(State { open: 0, since: Instant::now() })) }
    }

    /// A request begins. It goes on until this is dropped.
    pub(crate) fn begin(&self) -> Busy {
        self.lock().open += 1;
        Busy(self.clone())
    }

    /// Waits until there has been no request for too long.
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

/// A request that goes on.
#[derive(Debug)]
pub(crate) struct Busy(Activity);

impl Drop for Busy {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.open -= 1;
        state.since = Instant::now();
    }
}
