//! [`StatelessWires`]: the connections of requests without a session.

use std::sync::{Arc, Weak};

use mcp_sansio::Server;
use mcp_sansio::http::{Reply, RequestValidator};
use mcp_sansio_driver::{KeptTotal, PostEntry, Wire};

use crate::budget::Share;
use crate::endpoint::{Inner, lock};
use crate::exchange::Carried;
use crate::open_requests::Posted;

/// The maximum number of spare connections.
const MOST_SPARE: usize = 64;

/// The connections in use. The list keeps its memory, so another request needs no allocation.
#[derive(Debug, Default)]
pub(crate) struct OneRequestWires {
    places: Vec<Weak<Wire<Server>>>,
    /// The indices without a connection.
    free: Vec<usize>,
    /// Connections that have served a request and can serve another one.
    spare: Vec<Arc<Wire<Server>>>,
}

impl OneRequestWires {
    /// Adds a connection. Returns its index for the removal.
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

    /// Removes the connection at this index.
    pub(crate) fn remove(&mut self, place: usize) {
        if let Some(wire) = self.places.get_mut(place) {
            *wire = Weak::new();
            self.free.push(place);
        }
    }

    /// Takes a spare connection for a request, if one exists.
    pub(crate) fn take_spare(&mut self) -> Option<Arc<Wire<Server>>> {
        self.spare.pop()
    }

    /// Keeps a removed connection for another request, if it can serve one. Returns whether it was kept.
    pub(crate) fn keep(&mut self, wire: &mut Arc<Wire<Server>>) -> bool {
        let is_kept = self.spare.len() < MOST_SPARE && wire.is_reusable();
        if is_kept {
            self.spare.push(Arc::clone(wire));
        }
        is_kept
    }

    /// Returns all connections in use.
    pub(crate) fn wires(&self) -> impl Iterator<Item = Arc<Wire<Server>>> {
        self.places.iter().filter_map(Weak::upgrade)
    }
}

impl Inner {
    /// Serves a message that belongs to no known session, on a connection of its own.
    pub(crate) fn serve_on_own_connection(
        self: &Arc<Self>,
        connect: impl FnOnce(&Arc<KeptTotal>) -> Arc<Wire<Server>>,
        posted: Posted<'_, '_>,
        share: Share,
    ) -> Result<Carried, Reply> {
        // Check the limits first, so that a refused request creates no connection.
        let (body, scanned, source, request) = posted;
        let open = self.admit(source, request)?;
        let wire = connect(share.total());
        let mut wires = lock(&self.one_request);
        // Either a shutdown finds the connection in the list, or this check finds the shutdown.
        if self.is_closing() {
            drop(wires);
            wire.end_now();
            return Err(RequestValidator::closing());
        }
        let place = wires.insert(&wire);
        drop(wires);
        let permit = Some(Arc::clone(&open));
        let posted = (body, scanned, source, request);
        let begun = self.hand_over(&wire, posted, permit, PostEntry::Always);
        let Ok((accepted, _)) = begun else {
            lock(&self.one_request).remove(place);
            return Err(RequestValidator::closing());
        };
        // A subscription has no handler but counts as open, so the response holds the permit.
        let carried = Carried::of_one_request(wire, accepted, share).holding(Some(open));
        Ok(carried.listed(Arc::downgrade(self), place))
    }

    /// Returns a connection for a message without a session, whose kept bytes count in a total. The connection may have
    /// served other such messages.
    pub(crate) fn connect_modern(&self, kept: &Arc<KeptTotal>) -> Arc<Wire<Server>> {
        let spare = lock(&self.one_request).take_spare();
        match spare {
            Some(wire) => {
                wire.count_in(kept);
                self.runner.begin(&wire.handle());
                wire
            }
            None => {
                let (server, streams) = self.validator.modern(self.next_number());
                self.connect(server, streams, Arc::clone(kept))
            }
        }
    }
}
