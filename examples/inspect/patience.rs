//! Says what is waited for, once that takes long.

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

impl Patience {
    /// Also where nobody looks at a terminal: the log of a program that hangs is the first place to look at.
    pub(crate) fn with(asked: &str) -> Self {
        let (answered, waiting) = mpsc::channel();
        let asked = asked.to_owned();
        thread::spawn(move || {
            if waiting.recv_timeout(SILENCE) == Err(RecvTimeoutError::Timeout) {
                say!("waiting for the server to answer {asked} …");
            }
        });
        Self { _answered: answered }
    }
}
