//! Ends the patience with servers that are child processes.

use std::fmt;
use std::sync::Arc;

use crate::signal::{Raised, Signal};

/// Ends the patience with a server that is a child process: once it has been pulled, nobody waits for the server to
/// end. It is killed, with everything that it has started.
///
/// For whoever is told to end for the second time, while a connection is being opened or
/// [closed](crate::Connection::close). Clones are the same switch, and one switch may be given to any number of
/// connections.
///
/// ```
/// use mcp_sansio_driver::{ConnectionOptions, KillSwitch};
///
/// let switch = KillSwitch::default();
/// let options = ConnectionOptions::new().kill_switch(&switch);
/// # _ = options;
/// // Connect with these options; and from wherever a signal arrives, as often as one likes:
/// switch.pull();
/// ```
#[derive(Clone, Default)]
pub struct KillSwitch {
    pulled: Arc<Signal>,
}

impl KillSwitch {
    /// Kills every server that is waited for, or will be, instead of waiting for it. Returns at once.
    pub fn pull(&self) {
        self.pulled.raise();
    }

    pub(crate) fn is_pulled(&self) -> bool {
        self.pulled.is_raised()
    }

    /// Waits until it has been pulled.
    pub(crate) fn pulled(&self) -> Raised<'_> {
        self.pulled.raised()
    }
}

impl fmt::Debug for KillSwitch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("KillSwitch").field("is_pulled", &self.is_pulled()).finish()
    }
}
