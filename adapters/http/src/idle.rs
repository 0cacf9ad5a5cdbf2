//! `Activity`: detects idle connections.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The time that a connection of HTTP/1.1 may be open without a request, and the time limit for the head of a request.
/// hyper has a timer of its own for heads, but it creates and drops one for each request.
pub(crate) const HEAD: Duration = Duration::from_secs(30);

/// The time that a connection of HTTP/2 may be open without a request, and the time for which a client may read nothing
/// of the end of a response.
const IDLE: Duration = Duration::from_secs(60);

/// The activity of one connection. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Activity {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    is_http2: AtomicBool,
    /// Whether the client has not read all of the output.
    is_writing: AtomicBool,
}

#[derive(Debug)]
struct State {
    /// The number of requests that are being served.
    open: usize,
    /// The time at which the latest request ended, or at which the client continued to read after that.
    since: Instant,
}

impl Activity {
    /// Creates the activity of a connection without requests.
    pub(crate) fn new() -> Self {
        let state = Mutex::new(State { open: 0, since: Instant::now() });
        let (is_http2, is_writing) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { shared: Arc::new(Shared { state, is_http2, is_writing }) }
    }

    /// Counts a request until the returned value is dropped.
    pub(crate) fn begin(&self) -> Busy {
        self.lock().open += 1;
        Busy(self.clone())
    }

    /// Notes that the client has chosen HTTP/2.
    pub(crate) fn note_http2(&self) {
        self.shared.is_http2.store(true, Ordering::Relaxed);
    }

    /// Notes whether a write waits for the client to read.
    pub(crate) fn set_writing(&self, is_writing: bool) {
        if self.shared.is_writing.load(Ordering::Relaxed) != is_writing {
            self.shared.is_writing.store(is_writing, Ordering::Relaxed);
            // hyper drops a body, and with it the request, when it has all bytes of the body. The client may take much
            // longer to read them.
            self.lock().since = Instant::now();
        }
    }

    /// Waits until the connection has been idle for too long.
    pub(crate) async fn ceased(self) {
        loop {
            let State { open, since } = *self.lock();
            let Shared { is_http2, is_writing, .. } = &*self.shared;
            let has_longer = is_http2.load(Ordering::Relaxed) || is_writing.load(Ordering::Relaxed);
            let patience = if has_longer { IDLE } else { HEAD };
            let until = if open == 0 { since + patience } else { Instant::now() + HEAD };
            if until <= Instant::now() {
                return;
            }
            // A request that ends meanwhile cannot be too old before the next look.
            tokio::time::sleep_until(until).await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
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
