//! Prints a notice if the server takes long to respond.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use crate::say::say;

/// The delay of the notice. A running server responds faster, and a starting one usually does.
const SILENCE: Duration = Duration::from_secs(3);

/// A wait for a response of the server, until this is dropped.
pub(crate) struct Patience {
    _answered: Sender<()>,
}

/// The number of waits for users, which suppress the notice.
static SILENCES: AtomicUsize = AtomicUsize::new(0);

/// A wait for a user, until this is dropped.
pub(crate) struct Silence(());

impl Drop for Silence {
    fn drop(&mut self) {
        SILENCES.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Patience {
    /// Suppresses notices while the user is asked: the server has responded, and a slow user is no news.
    pub(crate) fn silence() -> Silence {
        SILENCES.fetch_add(1, Ordering::Relaxed);
        Silence(())
    }

    /// Starts to wait. The notice is also printed without a terminal, because the log of a hanging program is the
    /// first place to look.
    pub(crate) fn with(asked: &str) -> Self {
        let (answered, waiting) = mpsc::channel();
        let asked = asked.to_owned();
        thread::spawn(move || {
            let is_late = waiting.recv_timeout(SILENCE) == Err(RecvTimeoutError::Timeout);
            if is_late && SILENCES.load(Ordering::Relaxed) == 0 {
                say!("waiting for the server to answer {asked} …");
            }
        });
        Self { _answered: answered }
    }
}
