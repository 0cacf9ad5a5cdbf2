//! Memory that is not needed while nothing happens.

use alloc::string::String;

use super::{Peer, Role};

impl Peer {
    /// Gives back all memory that nothing is in.
    pub(crate) fn release_memory(&mut self) {
        self.inbound.release();
        self.outbound.release();
        self.deadlines.release();
        self.progress_deadlines.release_deadlines();
        self.polls.release_deadlines();
        self.marked.release();
        self.unsettled.release();
        self.elicitations.release();
        self.noise.release();
        self.spare = String::new();
        // What a server says of itself it says only when it is asked, and its configuration has it.
        if self.role == Role::Server && self.inbound.is_empty() {
            self.is_anonymous |= self.identity.take().is_some();
        }
    }

    /// Whether who this side is has been let go of. It has to be said again before anything comes in.
    pub(crate) const fn is_anonymous(&self) -> bool {
        self.is_anonymous
    }
}
