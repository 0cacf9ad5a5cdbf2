//! The elicitations by URL that are not complete
//! ([URL mode](https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#url-mode-elicitation-requests)).

use alloc::collections::VecDeque;
use alloc::string::String;

use crate::json::Str;
use crate::lazy_box::LazyBox;
use crate::limits::Limits;

/// The ids of the latest elicitations by URL, oldest first. A server keeps those that it has requested, a client
/// those that were requested of it.
///
/// A lookup takes time that grows with [`Limits::elicitations`](crate::Limits::elicitations).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Elicitations {
    ids: LazyBox<VecDeque<String>>,
}

impl Elicitations {
    pub(super) fn contains(&self, id: &Str<'_>) -> bool {
        work!(self.ids.len());
        self.ids.iter().any(|known| *id == **known)
    }

    /// Returns the ids, oldest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        self.ids.iter().map(String::as_str)
    }

    /// Remembers an elicitation, and forgets the oldest if there are more than
    /// [`Limits::elicitations`](crate::Limits::elicitations). An id that is longer than
    /// [`Limits::uri_bytes`](crate::Limits::uri_bytes) is not remembered.
    pub(super) fn add(&mut self, id: &Str<'_>, limits: &Limits) {
        if limits.uri_bytes < id.as_wire().len() || self.contains(id) {
            return;
        }
        self.ids.push_back(id.to_str().into_owned());
        if limits.elicitations < u32::try_from(self.ids.len()).unwrap_or(u32::MAX) {
            self.ids.pop_front();
        }
    }

    /// Forgets an elicitation because it is complete. Returns whether it was known.
    pub(super) fn complete(&mut self, id: &Str<'_>) -> bool {
        work!(self.ids.len());
        let Some(at) = self.ids.iter().position(|known| *id == **known) else { return false };
        self.ids.remove(at);
        true
    }

    /// Releases the memory if there are no elicitations.
    pub(super) fn release(&mut self) {
        self.ids.release();
    }

    pub(super) fn clear(&mut self) {
        self.ids = LazyBox::EMPTY;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elicitations_are_released_when_all_are_complete() {
        let (mut elicitations, limits) = (Elicitations::default(), Limits::default());
        let id = Str::from("e");
        elicitations.add(&id, &limits);
        elicitations.release();
        assert!(elicitations.complete(&id), "it is still open");
        elicitations.release();
        assert!(elicitations.ids.allocated().is_none());
    }
}
