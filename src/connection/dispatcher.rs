//! `Dispatcher`: dispatches messages, timeouts and the end of the connection to the layers.

use super::Side;
use super::call_state::Below;
use super::calls::Calls;
use super::keep_alive::Silence;
use super::messages::Messages;
use super::serving::Serving;
use crate::capability::CapabilitySet;
use crate::config::ConnectionConfig;
use crate::handle::ConnectionNumber;
use crate::lazy_box::LazyBox;
use crate::session::Phase;
use crate::time::Instant;
use crate::version::RevisionSet;

/// One side of a connection, in either role. It dispatches messages, timeouts and the end of the connection to the
/// layers below it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Dispatcher {
    pub(crate) serving: Serving,
    /// Whether the role has an event to hand out.
    pub(super) has_news: bool,
    pub(super) keep_alive: LazyBox<Silence>,
}

impl Dispatcher {
    pub(crate) fn new(
        role: Side,
        own: (RevisionSet, CapabilitySet),
        connection: ConnectionNumber,
        config: &ConnectionConfig,
    ) -> Self {
        Self {
            serving: Serving::new(Calls::new(Messages::new(role, own, connection, config))),
            has_news: false,
            keep_alive: LazyBox::EMPTY,
        }
    }

    /// Returns the messages layer.
    pub(crate) const fn messages(&self) -> &Below {
        &self.serving.calls.messages
    }

    /// Returns the messages layer, mutably.
    pub(crate) const fn messages_mut(&mut self) -> &mut Below {
        &mut self.serving.calls.messages
    }

    pub(crate) const fn phase(&self) -> Phase {
        self.messages().lifecycle.phase
    }

    /// Notes that an event is ready although no message was received.
    pub(crate) const fn set_news(&mut self) {
        self.has_news = true;
    }

    /// Notes that bytes of the peer were received.
    pub(crate) fn on_bytes_received(&mut self, config: &ConnectionConfig, now: Instant) {
        if let Some(policy) = config.keep_alive {
            self.keep_alive.on_bytes_received(policy, now);
        }
    }

    /// Notes that the session continues from an earlier process.
    pub(crate) fn restored(&mut self, config: &ConnectionConfig) {
        if config.keep_alive.is_some() {
            self.keep_alive.begin_later();
        }
    }

    /// Releases all unused memory.
    pub(crate) fn release_memory(&mut self) {
        self.messages_mut().release_memory();
        self.serving.calls.index.release();
        // Both keep the capacity that their largest number of requests needed.
        if self.serving.listens.is_empty() {
            self.serving.listens = LazyBox::EMPTY;
        }
        if self.serving.bridges.is_empty() {
            self.serving.bridges = LazyBox::EMPTY;
        }
    }
}
