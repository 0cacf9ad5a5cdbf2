//! Says what is waited for, once that takes long.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use crate::say::say;

/// How long nothing is said. A server that runs already answers in less, and one that starts often does.
const SILENCE: Duration = Duration::from_secs(3);

/// Somebody waits for an answer of the server, until this is dropped.
pub(crate) struct Patience {
    _answered: Sender<()>,
}

/// How many users are waited for instead.
static SILENCES: AtomicUsize = AtomicUsize::new(0);

/// A user is waited for, until this is dropped.
pub(crate) struct Silence(());

impl Drop for Silence {
    fn drop(&mut self) {
        SILENCES.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Patience {
    /// The server has answered, and the user is asked: that it takes long is no news.
    pub(crate) fn silence() -> Silence {
        SILENCES.fetch_add(1, Ordering::Relaxed);
        Silence(())
    }

    /// Also where nobody looks at a terminal: the log of a program that hangs is the first place to look at.
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
