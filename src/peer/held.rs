//! Calls and notifications that wait for the handshake, encoded and in order.

use super::Peer;
use super::call::Whereabouts;
use super::event::{Outcome, PeerEvent};
use super::exchanges::observe_sent;
use super::outlets::{Lane, Outlets};
use crate::frame::{Queue, Room, Serial};
use crate::handle::CallId;
use crate::json::{EncodeError, Envelope, Member, Str, Writer};

/// What waits, at most so many bytes of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Held {
    queue: Queue<Waiting>,
    limit: usize,
}

/// Where a message will go, and whether it is a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Waiting {
    lane: Lane,
    call: Option<CallId>,
}

impl Held {
    pub(super) const fn new(limit: usize) -> Self {
        Self { queue: Queue::new(), limit }
    }

    /// How many bytes wait.
    pub(super) const fn len(&self) -> usize {
        self.queue.len()
    }

    /// Takes in a message.
    pub(super) fn hold(
        &mut self,
        lane: Lane,
        call: Option<CallId>,
        write: impl FnOnce(&mut Writer<'_>) -> Result<(), EncodeError>,
    ) -> Result<Serial, EncodeError> {
        self.queue.append(self.limit, Waiting { lane, call }, b"", write)
    }

    pub(super) fn withdraw(&mut self, serial: Serial, lane: Lane, call: CallId) -> bool {
        self.queue.withdraw(serial, &Waiting { lane, call: Some(call) })
    }

    pub(super) fn clear(&mut self) {
        self.queue.clear();
        self.queue.release();
    }
}

impl Peer {
    /// Sends what was held, now that the handshake is complete. It may exceed the limit of the
    /// outbox, because it has a limit of its own: so nothing is left that could be overtaken.
    pub(crate) fn flush_held(&mut self, out: &mut dyn Outlets) {
        for (message, Waiting { lane, call }) in self.held.queue.drain() {
            let outbox = out.lane(lane);
            // Copying into an outbox that may grow cannot fail.
            let Ok(serial) = outbox.append(Room::Held, call, |writer| writer.push(message)) else {
                continue;
            };
            if let Some(entry) = call.and_then(|call| self.outbound.get_mut(call.0)) {
                entry.whereabouts = Whereabouts::Lane(serial);
            }
            let envelope = Envelope::scan(message, u8::MAX);
            let method = envelope.get(Member::Method).and_then(Str::from_literal);
            observe_sent(out, lane, method.as_ref().map(Str::as_wire));
        }
        self.held.clear();
    }

    /// The next call that was held for a handshake which will never be complete.
    pub(super) fn next_unsent(&mut self) -> Option<PeerEvent<'static>> {
        let call = self.held.queue.drain().find_map(|(_, waiting)| waiting.call);
        match call {
            Some(call) => Some(self.end_call(call, Outcome::Unsent)),
            None => {
                self.held.clear();
                None
            }
        }
    }
}
