//! Elicitations by URL that are not complete
//! ([URL mode](https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#url-mode-elicitation-requests)).

use alloc::collections::VecDeque;
use alloc::string::String;

use crate::json::Str;
use crate::lazy_box::LazyBox;
use crate::limits::Limits;

/// The ids of the latest ones, oldest first: on a server those it has asked for, on a client those it
/// has been asked for.
///
/// Looking one up takes time that grows with [`Limits::elicitations`](crate::Limits::elicitations).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Elicitations {
    ids: LazyBox<VecDeque<String>>,
}

impl Elicitations {
    pub(super) fn contains(&self, id: &Str<'_>) -> bool {
        work!(self.ids.len());
        self.ids.iter().any(|known| *id == **known)
    }

    /// Remembers one, and forgets the oldest if there are more than `most`.
    /// One whose id is longer than a URI may be is not remembered.
    pub(super) fn add(&mut self, id: &Str<'_>, limits: &Limits) {
        if limits.uri_bytes < id.as_wire().len() || self.contains(id) {
            return;
        }
        self.ids.push_back(id.to_str().into_owned());
        if limits.elicitations < u32::try_from(self.ids.len()).unwrap_or(u32::MAX) {
            self.ids.pop_front();
        }
    }

    /// One is complete. Says whether it was known.
    pub(super) fn complete(&mut self, id: &Str<'_>) -> bool {
        work!(self.ids.len());
        let Some(at) = self.ids.iter().position(|known| *id == **known) else { return false };
        self.ids.remove(at);
        true
    }

    /// Takes no room any more, if there are none.
    pub(super) fn release(&mut self) {
        self.ids.release();
    }

    pub(super) fn clear(&mut self) {
        self.ids = LazyBox::EMPTY;
    }
}
