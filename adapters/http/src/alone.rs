//! The connections of requests that stand alone.

use std::sync::{Arc, Weak};

use mcp_sansio::Server;
use mcp_sansio_driver::Wire;

/// Those that are being answered. It keeps its memory, so that one more request takes none.
#[derive(Debug, Default)]
pub(crate) struct Alone {
    places: Vec<Weak<Wire<Server>>>,
    /// Places without a connection.
    free: Vec<usize>,
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

    /// All of them.
    pub(crate) fn wires(&self) -> impl Iterator<Item = Arc<Wire<Server>>> {
        self.places.iter().filter_map(Weak::upgrade)
    }
}
