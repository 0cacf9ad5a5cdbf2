//! The connections of requests that stand alone.

use std::sync::{Arc, Weak};

use mcp_sansio::Server;
use mcp_sansio::http::{Reply, RequestValidator};
use mcp_sansio_driver::{PostEntry, Wire};

use crate::budget::Share;
use crate::endpoint::{Inner, lock};
use crate::exchange::Carried;
use crate::open_requests::Posted;

/// How many connections are kept for requests to come.
const MOST_SPARE: usize = 64;

/// Those that are being answered. It keeps its memory, so that one more request takes none.
#[derive(Debug, Default)]
pub(crate) struct Alone {
    places: Vec<Weak<Wire<Server>>>,
    /// Places without a connection.
    free: Vec<usize>,
    /// Connections that have served a request and can serve another one.
    spare: Vec<Arc<Wire<Server>>>,
}

impl Alone {
    /// Adds a connection. Returns its place, to remove it again.
    pub(crate) fn insert(&mut self, wire: &Arc<Wire<Server>>) -> usize {
        let wire = Arc::downgrade(wire);
        let free = self.free.pop();
        match free.and_then(|free| self.places.get_mut(free).map(|place| (free, place))) {
            Some((free, place)) => {
                *place = wire;
                free
            }
            None => {
                self.places.push(wire);
                self.places.len() - 1
            }
        }
    }

    /// Forgets the connection at this place.
    pub(crate) fn remove(&mut self, place: usize) {
        if let Some(wire) = self.places.get_mut(place) {
            *wire = Weak::new();
            self.free.push(place);
        }
    }

    /// A connection for one more request, if there is one.
    pub(crate) fn take_spare(&mut self) -> Option<Arc<Wire<Server>>> {
        self.spare.pop()
    }

    /// Keeps a connection that has been removed for another request, if it can serve one. Returns whether it has been
    /// kept.
    pub(crate) fn keep(&mut self, wire: &mut Arc<Wire<Server>>) -> bool {
        let is_kept = self.spare.len() < MOST_SPARE && wire.is_reusable();
        if is_kept {
            self.spare.push(Arc::clone(wire));
        }
        is_kept
    }

    /// All of them.
    pub(crate) fn wires(&self) -> impl Iterator<Item = Arc<Wire<Server>>> {
        self.places.iter().filter_map(Weak::upgrade)
    }
}

impl Inner {
    /// A message that belongs to no session that is known has a connection of its own.
    pub(crate) fn alone(
        self: &Arc<Self>,
        connect: impl FnOnce() -> Arc<Wire<Server>>,
        posted: Posted<'_, '_>,
        share: Share,
    ) -> Result<Carried, Reply> {
        // What is refused is not begun.
        let (_, _, source) = posted;
        let open = self.admit(source)?;
        let wire = connect();
        let mut alone = lock(&self.alone);
        // Whoever shuts down finds it in there, or it finds that out here.
        if self.is_closing() {
            drop(alone);
            wire.end_now();
            return Err(RequestValidator::closing());
        }
        let place = alone.insert(&wire);
        drop(alone);
        let permit = Some(Arc::clone(&open));
        let begun = self.hand_over(&wire, posted, permit, PostEntry::Always);
        let Ok((response, _)) = begun else {
            lock(&self.alone).remove(place);
            return Err(RequestValidator::closing());
        };
        // A subscription has no handler, and counts as well.
        let carried = Carried::alone(wire, response, share).holding(Some(open));
        Ok(carried.listed(Arc::downgrade(self), place))
    }

    /// A connection for a message without a session. It may have served other such messages.
    pub(crate) fn connect_sessionless(&self) -> Arc<Wire<Server>> {
        let spare = lock(&self.alone).take_spare();
        match spare {
            Some(wire) => {
                self.runner.begin(&wire.handle());
                wire
            }
            None => {
                let (server, streams) = self.validator.alone(self.next_number());
                self.connect(server, streams)
            }
        }
    }
}
