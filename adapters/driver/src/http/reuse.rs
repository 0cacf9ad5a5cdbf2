//! A connection that serves one message after the other, each of which stands alone.

use std::sync::{Arc, PoisonError};

use mcp_sansio::Server;
use mcp_sansio::event::Counts;

use crate::wire::{State, Wire};

impl Wire<Server> {
    /// Whether a connection that was made for a message that stands alone can serve another one.
    ///
    /// It can if nobody else has it, not even weakly, if nothing is left of what it has served, and if nothing has been
    /// wrong with that. Between messages that stand alone the machine knows nothing of its client, and its handles are
    /// never used twice.
    pub fn is_reusable(self: &mut Arc<Self>) -> bool {
        let Some(wire) = Arc::get_mut(self) else { return false };
        let state = wire.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        wire.tasks.is_none() && state.is_like_new()
    }
}

impl State<Server> {
    fn is_like_new(&self) -> bool {
        self.http.responses.is_alone()
            && self.is_open()
            && self.machine.counts() == Counts::default()
            && self.out.is_empty()
            && self.requests.is_idle()
            && self.events.is_idle()
            && !self.waits_for_room()
            && self.closing.is_none()
    }
}
