//! Sessions that outlive their process.

use std::sync::Arc;
use std::time::Duration;

use mcp_sansio::http::{RequestSource, SavedHttpSession, Streams};
use mcp_sansio::{Instant, Server};

use super::HttpOutboxes;
use crate::machine::sealed::Role;
use crate::out::Out;
use crate::wire::{State, Wire};

impl Wire<Server> {
    /// Returns the state of a session that this client has opened: see [`SavedHttpSession::of`].
    pub fn save_session(&self, source: RequestSource) -> Option<SavedHttpSession> {
        let state = self.lock();
        SavedHttpSession::of(&state.machine, streams(&state.out)?, source)
    }

    /// Ends a session for this process alone, and returns its state.
    ///
    /// Each open request gets an error response. A client of 2025-11-25 that resumes the stream of its request in the
    /// next process receives it there. `None` as for [`save_session`](Self::save_session).
    pub fn suspend_session(self: &Arc<Self>, source: RequestSource) -> Option<SavedHttpSession> {
        let saved = self.act_at(|state, now| self.suspend(state, source, now));
        self.end_now();
        saved
    }

    fn suspend(
        self: &Arc<Self>,
        state: &mut State<Server>,
        source: RequestSource,
        now: Instant,
    ) -> Option<SavedHttpSession> {
        // The session continues from this state. The machine itself ends, which answers its open requests.
        state.output.is_suspended = true;
        let before = state.machine.clone();
        state.machine.shut_down(Duration::ZERO, now);
        while let Some(event) = Role::handle_timeout(&mut state.machine, now, &mut state.out) {
            self.deliver(state, event, 0);
        }
        SavedHttpSession::of(&before, streams(&state.out)?, source)
    }

    /// Whether a request of the client has no response yet.
    pub fn has_open_requests(&self) -> bool {
        0 < self.lock().machine.in_flight().counts().inbound
    }

    /// Whether the session was suspended. A client must not be answered that its session has ended then.
    pub fn is_suspended(&self) -> bool {
        self.lock().output.is_suspended
    }

    /// Ends the response that carries the messages of a session that belong to no request: see
    /// [`Streams::close_standalone`].
    pub fn close_standalone(self: &Arc<Self>) {
        self.act(|state| {
            if let Out::Http(HttpOutboxes::Responses(streams)) = &mut state.out {
                streams.close_standalone();
            }
        });
    }
}

const fn streams(out: &Out) -> Option<&Streams> {
    match out {
        Out::Http(HttpOutboxes::Responses(streams)) => Some(streams),
        _ => None,
    }
}
