//! `CallCx`: the context of one step of a call, and `Next`: what comes of the step.

use super::call_index::CallIndex;
use super::common_event::CommonEvent;
use super::cx::Cx;
use super::event::Outcome;
use super::inputs::InputRequested;
use super::messages::Messages;
use crate::codes::ViolationKind;
use crate::handle::CallId;
use crate::lazy_box::LazyBox;
use crate::rpc::ResultType;

/// The context of one step of a call.
pub(super) struct CallCx<'s, 'c, 'o, C> {
    pub(super) cx: &'s mut Cx<'c, 'o>,
    pub(super) below: &'s mut Messages<C>,
    pub(super) index: &'s mut LazyBox<CallIndex>,
    pub(super) call: CallId,
}

/// An answer to a request of ours.
pub(super) struct Answer<'a> {
    pub(super) outcome: Outcome<'a>,
    /// The whole message.
    pub(super) bytes: &'a [u8],
    pub(super) result_type: ResultType,
}

/// What comes of a step: the call goes on, or it has its outcome. There is nothing else.
#[must_use = "the call has to go on or to end"]
pub(super) enum Next<'a, S> {
    /// It goes on.
    On(Option<CallNews<'a>>),
    /// It goes on in another state.
    Becomes(S, Option<CallNews<'a>>),
    /// It ends.
    Ends(Outcome<'a>),
}

/// What a step tells of a call that goes on.
pub(super) enum CallNews<'a> {
    Event(CommonEvent<'a>),
    /// The application is asked for input.
    Input(InputRequested),
}

impl<'a, S> Next<'a, S> {
    /// The peer has answered with something that is no result of the method.
    pub(super) fn invalid(bytes: &'a [u8]) -> Self {
        Self::Ends(Outcome::Malformed { kind: ViolationKind::InvalidResult, message: bytes.into() })
    }

    /// The same with another type of the state: a pattern does not know the others.
    pub(super) fn map<T>(self, into: impl FnOnce(S) -> T) -> Next<'a, T> {
        match self {
            Self::On(news) => Next::On(news),
            Self::Becomes(state, news) => Next::Becomes(into(state), news),
            Self::Ends(outcome) => Next::Ends(outcome),
        }
    }
}
