//! `Inputs`: the inputs that the peer requires before it responds to a call, and the requests to the application that
//! stand for them.

use alloc::string::String;

use smallvec::SmallVec;

use super::context::RequestContext;
use crate::dialect::methods::RequestKind;
use crate::handle::{CallId, IncomingId, SlotKey};

/// The inputs that the peer requires, with the answers so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Inputs(pub(super) SmallVec<[Wanted; 1]>);

impl Inputs {
    /// Returns the bytes of the peer that are kept regardless of the answers so far: the keys, which are sent back.
    pub(super) fn bytes(&self) -> usize {
        self.0.iter().map(|wanted| wanted.key.len()).sum()
    }

    /// Stores an answer. Returns whether every input is answered.
    pub(super) fn give(&mut self, index: u32, answer: String) -> bool {
        if let Some(wanted) = self.0.get_mut(index as usize) {
            wanted.answer = Some(answer);
            wanted.place = None;
            wanted.params = None;
        }
        self.0.iter().all(|wanted| wanted.answer.is_some())
    }

    /// Returns the places of the unanswered requests to the application.
    pub(super) fn places(&self) -> impl Iterator<Item = SlotKey> {
        self.0.iter().filter_map(|wanted| wanted.place)
    }

    /// Returns the request to the application for an input.
    pub(super) fn requested(
        &self,
        (id, need): (IncomingId, Need),
        context: RequestContext,
    ) -> Option<InputRequested> {
        let wanted = self.0.get(need.index as usize)?;
        let (kind, params, call) = (wanted.kind, wanted.params.clone(), need.call);
        Some(InputRequested { id, context, kind, params, call })
    }
}

/// An input that the peer requires.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Wanted {
    /// The key that the peer has given the input.
    pub(super) key: String,
    pub(super) kind: RequestKind,
    /// The params, until the input is answered or withdrawn.
    pub(super) params: Option<String>,
    /// The place of the request to the application.
    pub(super) place: Option<SlotKey>,
    pub(super) answer: Option<String>,
    /// Whether the answer was sent to the peer, if answers are sent separately.
    pub(super) is_sent: bool,
}

impl Wanted {
    pub(super) const fn new(key: String, kind: RequestKind, params: Option<String>) -> Self {
        Self { key, kind, params, place: None, answer: None, is_sent: false }
    }

    /// Returns the bytes that the input takes until it is answered: its key, its params, and the part of the params
    /// that the answer is checked against.
    pub(super) fn bytes(&self) -> usize {
        self.key.len() + self.params.as_ref().map_or(0, |params| 2 * params.len())
    }
}

/// The call and the input that a request to the application stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Need {
    pub(super) call: CallId,
    pub(super) index: u32,
    /// Whether the application has received the request, so that the request is in no queue.
    pub(super) is_announced: bool,
}

impl Need {
    pub(super) const fn new(call: CallId, index: u32) -> Self {
        Self { call, index, is_announced: false }
    }
}

/// A request for input to the application.
#[derive(Debug)]
pub(crate) struct InputRequested {
    pub(crate) id: IncomingId,
    pub(crate) context: RequestContext,
    pub(crate) kind: RequestKind,
    pub(crate) params: Option<String>,
    pub(crate) call: CallId,
}
