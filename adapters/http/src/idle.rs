//! `Activity`: detects idle connections, and clients that do not read their responses.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The time that a connection of HTTP/1.1 may be open without a request, and the time limit for the head of a request.
/// hyper has a timer of its own for heads, but it creates and drops one for each request.
pub(crate) const HEAD: Duration = Duration::from_secs(30);

/// The time that a connection of HTTP/2 may be open without a request, and the time for which a client may read nothing
/// of a complete response.
const IDLE: Duration = Duration::from_secs(60);

/// The time for which a client may read nothing although its responses have more bytes: event streams, which stay
/// incomplete. It is longer than [`IDLE`], because a client that is suspended gets the events when it continues.
const UNREAD: Duration = Duration::from_secs(300);

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
    /// The responses of this connection, by the index in their [`Busy`] and their chunks.
    responses: Vec<Progress>,
    /// The indices without a response.
    free: Vec<usize>,
    /// The number of requests whose responses are not complete.
    open: usize,
    /// The number of complete responses with unwritten bytes.
    unwritten: usize,
    /// The number of chunks with unwritten bytes, of all responses.
    chunks: usize,
    /// The time at which the latest request ended, or at which the client continued to read after that.
    since: Instant,
    /// The time at which bytes of a response were last written, at which there was a chunk to write again, or at which the
    /// first unwritten response was complete.
    written: Instant,
    /// The time since which a write waits for the client.
    waiting: Option<Instant>,
}

/// The progress of a response.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    is_complete: bool,
    /// The number of its chunks with unwritten bytes.
    chunks: usize,
}

impl Activity {
    /// Creates the activity of a connection without requests.
    pub(crate) fn new() -> Self {
        let now = Instant::now();
        let state = Mutex::new(State {
            responses: Vec::new(),
            free: Vec::new(),
            open: 0,
            unwritten: 0,
            chunks: 0,
            since: now,
            written: now,
            waiting: None,
        });
        let (is_http2, is_writing) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { shared: Arc::new(Shared { state, is_http2, is_writing }) }
    }

    /// Counts a request as open until the returned value is dropped, and its response until it is written.
    pub(crate) fn begin(&self) -> Busy {
        let index = self.lock().begin();
        Busy { activity: self.clone(), index }
    }

    /// Notes that the client has chosen HTTP/2.
    pub(crate) fn note_http2(&self) {
        self.shared.is_http2.store(true, Ordering::Relaxed);
    }

    /// Notes whether a write waits for the client to read.
    pub(crate) fn set_writing(&self, is_writing: bool) {
        if self.shared.is_writing.load(Ordering::Relaxed) != is_writing {
            self.shared.is_writing.store(is_writing, Ordering::Relaxed);
            let now = Instant::now();
            let mut state = self.lock();
            // hyper and TLS may have copied the end of a response. The client may take much longer to read it.
            state.since = now;
            state.waiting = is_writing.then_some(now);
        }
    }

    /// Waits until the connection has been idle for too long, or its client has read nothing for too long.
    pub(crate) async fn ceased(self) {
        loop {
            let Shared { is_http2, is_writing, .. } = &*self.shared;
            let has_longer = is_http2.load(Ordering::Relaxed) || is_writing.load(Ordering::Relaxed);
            let until = self.lock().until(if has_longer { IDLE } else { HEAD });
            let now = Instant::now();
            if until.is_some_and(|until| until <= now) {
                return;
            }
            // Whatever happens meanwhile cannot be too old before the next look.
            let look = now + HEAD;
            tokio::time::sleep_until(until.map_or(look, |until| until.min(look))).await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn begin(&mut self) -> usize {
        self.open += 1;
        let free = self.free.pop();
        let free = free.and_then(|free| Some((free, self.responses.get_mut(free)?)));
        match free {
            Some((index, response)) => {
                *response = Progress::default();
                index
            }
            None => {
                self.responses.push(Progress::default());
                self.responses.len() - 1
            }
        }
    }

    /// Returns the time at which the connection ends if nothing happens until then. `patience` is the longest time
    /// without a request.
    fn until(&self, patience: Duration) -> Option<Instant> {
        if 0 < self.unwritten {
            // Only bytes of responses renew this time. Other requests do not, and neither do frames that answer pings
            // and settings of the client.
            return Some(self.written + IDLE);
        }
        if self.open == 0 {
            return Some(self.since + patience);
        }
        // TLS, and hyper without vectored writes, copy chunks: then only the waiting write is left of them.
        let unread = (0 < self.chunks).then_some(self.written);
        let stopped = unread.into_iter().chain(self.waiting).min();
        stopped.map(|stopped| stopped + UNREAD)
    }

    fn add_chunk(&mut self, index: usize) {
        let Some(response) = self.responses.get_mut(index) else { return };
        response.chunks += 1;
        if self.chunks == 0 {
            self.written = Instant::now();
        }
        self.chunks += 1;
    }

    fn remove_chunk(&mut self, index: usize) {
        let Some(response) = self.responses.get_mut(index) else { return };
        response.chunks -= 1;
        self.chunks -= 1;
        if response.is_complete && response.chunks == 0 {
            self.unwritten -= 1;
            self.end(index);
        }
    }

    fn complete(&mut self, index: usize) {
        let Some(response) = self.responses.get_mut(index) else { return };
        response.is_complete = true;
        self.open -= 1;
        if response.chunks == 0 {
            self.end(index);
            return;
        }
        if self.unwritten == 0 {
            self.written = Instant::now();
        }
        self.unwritten += 1;
    }

    fn end(&mut self, index: usize) {
        self.free.push(index);
        self.since = Instant::now();
    }
}

/// A request in progress. Dropping it notes that the response is complete, or has been given up.
#[derive(Debug)]
pub(crate) struct Busy {
    activity: Activity,
    index: usize,
}

impl Busy {
    /// Counts a chunk of the response until the returned value is dropped.
    pub(crate) fn chunk(&self) -> Unwritten {
        self.activity.lock().add_chunk(self.index);
        Unwritten { activity: self.activity.clone(), index: self.index }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.activity.lock().complete(self.index);
    }
}

/// A chunk of a response with bytes that are not written.
#[derive(Debug)]
pub(crate) struct Unwritten {
    activity: Activity,
    index: usize,
}

impl Unwritten {
    /// Notes that bytes of the chunk were written.
    pub(crate) fn note_written(&self) {
        self.activity.lock().written = Instant::now();
    }
}

impl Drop for Unwritten {
    fn drop(&mut self) {
        self.activity.lock().remove_chunk(self.index);
    }
}
