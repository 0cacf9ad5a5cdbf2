//! The options of a server that is a child process.

use super::{KillSwitch, ProcessOptions};
use crate::options::ConnectionOptions;

/// The part of [`ConnectionOptions`] for a server that is a child process.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChildOptions {
    pub(crate) process: ProcessOptions,
    pub(crate) kill_switch: KillSwitch,
}

/// # Child processes
impl ConnectionOptions {
    /// Sets how a server that is a child process is run and ended.
    #[must_use]
    pub const fn process(mut self, options: ProcessOptions) -> Self {
        self.child.process = options;
        self
    }

    /// Sets the switch that ends every wait for a server that is a child process.
    #[must_use]
    pub fn kill_switch(mut self, switch: &KillSwitch) -> Self {
        self.child.kill_switch = switch.clone();
        self
    }

    /// Returns the options of the process.
    pub const fn process_options(&self) -> ProcessOptions {
        self.child.process
    }
}
