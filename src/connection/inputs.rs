//! `Inputs`: what the peer requires of this side before it answers a call, and which requests to the application stand for
//! it.

use alloc::string::String;

use smallvec::SmallVec;

use super::context::RequestContext;
use crate::dialect::methods::RequestKind;
use crate::handle::{CallId, IncomingId, Place};

/// Inputs that the peer requires, with what has been answered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Inputs(pub(super) SmallVec<[Wanted; 1]>);

impl Inputs {
    /// How many bytes of the peer are kept however much has been answered: the keys, which are brought back.
    pub(super) fn bytes(&self) -> usize {
        self.0.iter().map(|wanted| wanted.key.len()).sum()
    }

    /// Takes in an answer. Returns whether nothing is missing any more.
    pub(super) fn give(&mut self, index: u32, answer: String) -> bool {
        if let Some(wanted) = self.0.get_mut(index as usize) {
            wanted.answer = Some(answer);
            wanted.place = None;
            wanted.params = None;
        }
        self.0.iter().all(|wanted| wanted.answer.is_some())
    }

    /// The requests to the application that have not been answered.
    pub(super) fn places(&self) -> impl Iterator<Item = Place> {
        self.0.iter().filter_map(|wanted| wanted.place)
    }

    /// What the application is asked by an input.
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

/// One input that is required.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Wanted {
    /// The key that the peer has given it.
    pub(super) key: String,
    pub(super) kind: RequestKind,
    /// Until it has been answered or taken back.
    pub(super) params: Option<String>,
    /// The request that the application answers.
    pub(super) place: Option<Place>,
    pub(super) answer: Option<String>,
    /// The peer has been sent the answer, if it is sent by itself.
    pub(super) is_sent: bool,
}

impl Wanted {
    pub(super) const fn new(key: String, kind: RequestKind, params: Option<String>) -> Self {
        Self { key, kind, params, place: None, answer: None, is_sent: false }
    }

    /// How many bytes it takes until it has been answered: its params, and what the answer has to fit of them.
    pub(super) fn bytes(&self) -> usize {
        self.key.len() + self.params.as_ref().map_or(0, |params| 2 * params.len())
    }
}

/// Which call a request to the application is for, and which of the inputs that it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Need {
    pub(super) call: CallId,
    pub(super) index: u32,
    /// The application has been told of it, and it is in no queue any more.
    pub(super) is_announced: bool,
}

impl Need {
    pub(super) const fn new(call: CallId, index: u32) -> Self {
        Self { call, index, is_announced: false }
    }
}

/// A request to the application.
#[derive(Debug)]
pub(crate) struct InputRequested {
    pub(crate) id: IncomingId,
    pub(crate) context: RequestContext,
    pub(crate) kind: RequestKind,
    pub(crate) params: Option<String>,
    pub(crate) call: CallId,
}
