//! Reuse of one connection for several modern requests.

use std::sync::{Arc, PoisonError};

use mcp_sansio::Server;
use mcp_sansio::event::Counts;

use super::KeptTotal;
use crate::wire::{State, Wire};

impl Wire<Server> {
    /// Whether a connection that was created for a modern request can serve another one.
    ///
    /// That requires that no other reference to the connection exists, not even a weak one, that no state is left
    /// of the earlier requests, and that none of them caused an error. Between modern requests the machine has no
    /// state of its client, and it never reuses a handle.
    pub fn is_reusable(self: &mut Arc<Self>) -> bool {
        let Some(wire) = Arc::get_mut(self) else { return false };
        let state = wire.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        wire.tasks.is_none() && state.is_like_new()
    }

    /// Counts the kept bytes of this connection in another total from now on: see [`behind_http`](Self::behind_http).
    pub fn count_in(&self, kept: &Arc<KeptTotal>) {
        self.lock().http.kept.move_to(kept);
    }
}

impl State<Server> {
    fn is_like_new(&self) -> bool {
        self.http.responses.serves_one_request()
            && self.is_open()
            && self.machine.in_flight().counts() == Counts::default()
            && self.out.is_empty()
            && self.requests.is_idle()
            && self.events.is_idle()
            && !self.waits_for_room()
            && self.closing.is_none()
    }
}
