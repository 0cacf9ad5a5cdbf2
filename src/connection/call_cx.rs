//! `CallCx`: the context of one step of a call, and `Next`: the result of the step.

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

/// A response to a request of this side.
pub(super) struct PeerResponse<'a> {
    pub(super) outcome: Outcome<'a>,
    /// The whole message.
    pub(super) bytes: &'a [u8],
    pub(super) result_type: ResultType,
}

/// The result of a step: the call continues, or it ends with its outcome.
#[must_use = "the call has to go on or to end"]
pub(super) enum Next<'a, S> {
    /// The call continues.
    On(Option<CallNews<'a>>),
    /// The call continues in another state.
    Becomes(S, Option<CallNews<'a>>),
    /// The call ends.
    Ends(Outcome<'a>),
}

/// The event of a step after which the call continues.
pub(super) enum CallNews<'a> {
    Event(CommonEvent<'a>),
    /// A request for input to the application.
    Input(InputRequested),
}

impl<'a, S> Next<'a, S> {
    /// Ends the call because the result of the peer does not fit the method.
    pub(super) fn invalid(bytes: &'a [u8]) -> Self {
        Self::Ends(Outcome::Malformed { kind: ViolationKind::InvalidResult, message: bytes.into() })
    }

    /// Converts the type of the state: the state of one pattern does not know the others.
    pub(super) fn map<T>(self, into: impl FnOnce(S) -> T) -> Next<'a, T> {
        match self {
            Self::On(news) => Next::On(news),
            Self::Becomes(state, news) => Next::Becomes(into(state), news),
            Self::Ends(outcome) => Next::Ends(outcome),
        }
    }
}
