//! `Gathering`: the inputs that a call needs before its request can be made again.

use alloc::string::String;

use smallvec::SmallVec;

use super::call_options::CallError;
use super::context::RequestContext;
use crate::dialect::methods::RequestKind;
use crate::error::ErrorCode;
use crate::handle::{CallId, InboundId, Place};
use crate::json::{MemberTexts, Str, member};

/// What a call needs before it is answered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Gathering {
    /// What to bring back with it, the literal of a string.
    pub(super) state: Option<String>,
    pub(super) wanted: SmallVec<[Wanted; 1]>,
    /// How often the peer has needed something.
    pub(super) rounds: u32,
}

impl Gathering {
    /// How many bytes of the peer it keeps however much has been answered: what is brought back.
    pub(super) fn bytes(&self) -> usize {
        let keys = self.wanted.iter().map(|wanted| wanted.key.len());
        keys.chain(self.state.as_ref().map(String::len)).sum()
    }
}

/// One thing that is needed.
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
    pub(super) is_brought: bool,
}

impl Wanted {
    pub(super) const fn new(key: String, kind: RequestKind, params: Option<String>) -> Self {
        Self { key, kind, params, place: None, answer: None, is_brought: false }
    }

    /// How many bytes it takes until it has been answered: its params, and what the answer has to fit of them.
    pub(super) fn bytes(&self) -> usize {
        self.key.len() + self.params.as_ref().map_or(0, |params| 2 * params.len())
    }
}

/// Which call a request to the application is for, and which of the things that it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Need {
    pub(super) call: CallId,
    pub(super) index: u32,
    /// The application has been told of it, and it is in no queue any more.
    pub(super) is_told: bool,
}

impl Need {
    pub(super) const fn new(call: CallId, index: u32) -> Self {
        Self { call, index, is_told: false }
    }
}

/// Why a call cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Stuck {
    /// The application refused what it needed.
    Refused(ErrorCode),
    /// Its request cannot be made again.
    NotMade(CallError),
}

/// A request to the application.
#[derive(Debug)]
pub(crate) struct InputRequested {
    pub(crate) id: InboundId,
    pub(crate) context: RequestContext,
    pub(crate) kind: RequestKind,
    pub(crate) params: Option<String>,
    pub(crate) call: CallId,
}

impl Gathering {
    /// Reads a result that asks for input; `None` if it does not do so in the right way.
    pub(super) fn read(result: &str, most: u32) -> Option<Self> {
        let mut gathering = Self::default();
        let state = member(result, "requestState");
        if state.is_some_and(|state| !state.starts_with('"')) {
            return None;
        }
        gathering.state = state.map(String::from);
        let requests = member(result, "inputRequests");
        if requests.is_some_and(|requests| !requests.starts_with('{')) {
            return None;
        }
        for (key, request) in MemberTexts::of(requests.unwrap_or("{}")) {
            if most as usize <= gathering.wanted.len() {
                return None;
            }
            let method = member(request, "method").and_then(Str::from_literal)?;
            let kind = RequestKind::of(&method)?;
            let params = member(request, "params").filter(|params| *params != "null");
            if params.is_some_and(|params| !params.starts_with('{')) {
                return None;
            }
            let params = params.map(String::from);
            let key = key.to_str().into_owned();
            if gathering.wanted.iter().any(|wanted| wanted.key == key) {
                return None;
            }
            gathering.wanted.push(Wanted::new(key, kind, params));
        }
        let says_nothing = gathering.wanted.is_empty() && gathering.state.is_none();
        (!says_nothing).then_some(gathering)
    }
}
