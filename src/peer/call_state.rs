//! `CallState`: what a call of the application is doing, and what can come of an answer to it.

use alloc::boxed::Box;

use super::again::{is_repeated, send_again};
use super::call_index::CallIndex;
use super::check_result::judged;
use super::cx::Cx;
use super::event::Outcome;
use super::gathering::{InputRequested, Rounds};
use super::messages::Messages;
use super::pages::Pages;
use super::peer_event::PeerEvent;
use super::remote_task::RemoteTask;
use super::subscription::Subscription;
use crate::error::ViolationKind;
use crate::handle::CallId;
use crate::lazy_box::LazyBox;
use crate::rpc::{Recycle, ResultType};

/// The messages below the patterns.
pub(super) type Below = Messages<Call>;

/// What a call of the application is beyond its request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Call {
    pub(super) state: CallState,
    /// The peer has required input before it answered.
    pub(super) needed_input: bool,
}

/// What a call of the application is doing. A request of any other owner is `Single`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum CallState {
    /// One request, one answer.
    #[default]
    Single,
    /// It reads a list page by page.
    Pages(Box<Pages>),
    /// It needs input, or has needed some: its request is sent again with what was given.
    Input(Box<Rounds>),
    /// It has become a task of the peer.
    Task(Box<RemoteTask>),
    /// It keeps a subscription open.
    Subscription(Box<Subscription>),
    /// Its state is lent to a step.
    Stepping,
}

impl Recycle for Call {
    fn recycle(&mut self) {
        *self = Self::default();
    }
}

/// The context of one step of a call.
pub(super) struct CallCx<'s, 'c, 'o> {
    pub(super) cx: &'s mut Cx<'c, 'o>,
    pub(super) below: &'s mut Below,
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
pub(super) enum Next<'a> {
    /// It goes on.
    On(Option<CallNews<'a>>),
    /// It goes on in another state.
    Becomes(CallState, Option<CallNews<'a>>),
    /// It ends.
    Ends(Outcome<'a>),
}

/// What a step tells of a call that goes on.
pub(super) enum CallNews<'a> {
    Event(PeerEvent<'a>),
    /// The application is asked for input.
    Input(InputRequested),
}

impl<'a> Next<'a> {
    /// The peer has answered with something that is no result of the method.
    pub(super) fn invalid(bytes: &'a [u8]) -> Self {
        Self::Ends(Outcome::Malformed { kind: ViolationKind::InvalidResult, message: bytes.into() })
    }
}

impl CallState {
    /// The task of the peer that the call has become.
    pub(super) fn task(&self) -> Option<&RemoteTask> {
        match self {
            Self::Task(task) => Some(task),
            _ => None,
        }
    }

    pub(super) fn subscription(&self) -> Option<&Subscription> {
        match self {
            Self::Subscription(subscription) => Some(subscription),
            _ => None,
        }
    }

    /// How many bytes of the peer are kept for it.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Single | Self::Pages(_) | Self::Stepping => 0,
            Self::Input(rounds) => rounds.bytes(),
            Self::Task(task) => task.inputs.bytes(),
            Self::Subscription(subscription) => subscription.early_bytes(),
        }
    }

    /// Whether the peer may report progress although the request has been answered.
    pub(super) fn takes_progress(&self) -> bool {
        self.task().is_some_and(|task| task.was_answered)
    }

    /// The answer to the request of the call has come.
    pub(super) fn answered<'a>(
        &mut self,
        at: &mut CallCx<'_, '_, '_>,
        answer: Answer<'a>,
    ) -> Next<'a> {
        let bytes = answer.bytes;
        let outcome = match self.interim(at, answer) {
            Ok(next) => return next,
            Err(outcome) => outcome,
        };
        let outcome = judged(at.below, at.cx, at.call, outcome, bytes);
        match self {
            Self::Pages(pages) => pages.answered(at, outcome),
            _ => Next::Ends(outcome),
        }
    }

    /// Looks whether an answer is the outcome of the call, which is given back, or only a step on the way to it.
    fn interim<'a>(
        &self,
        at: &mut CallCx<'_, '_, '_>,
        answer: Answer<'a>,
    ) -> Result<Next<'a>, Outcome<'a>> {
        let Answer { outcome, bytes, result_type } = answer;
        if let Outcome::Result(result) = &outcome
            && let Some(next) = RemoteTask::begin(at, result, result_type, bytes)
        {
            return Ok(next);
        }
        if !at.below.session.rules().reads_result_types {
            return Err(outcome);
        }
        let is_known = at.below.outgoing.get(at.call.0).is_some_and(|asked| asked.kind.is_some());
        match outcome {
            Outcome::PeerError(error) if is_repeated(at, &error) => {
                self.send_again(at);
                Ok(Next::On(None))
            }
            Outcome::Result(result) if is_known => match result_type {
                ResultType::Complete => Err(Outcome::Result(result)),
                ResultType::Absent => {
                    at.below.violations.note(ViolationKind::NoResultType);
                    Err(Outcome::Result(result))
                }
                ResultType::InputRequired => {
                    let rounds = match self {
                        Self::Input(rounds) => rounds.rounds,
                        _ => 0,
                    };
                    Ok(Rounds::begin(at, rounds, result, bytes))
                }
                ResultType::Task | ResultType::Other => Ok(Next::invalid(bytes)),
            },
            outcome => Err(outcome),
        }
    }

    /// Sends the request of the call again, with what has been given for it.
    pub(super) fn send_again(&self, at: &mut CallCx<'_, '_, '_>) {
        match self {
            Self::Input(rounds) => rounds.send_again(at),
            _ => send_again(at, None),
        }
    }

    /// The application has answered something that the call needs.
    pub(super) fn given<'a>(
        &mut self,
        at: &mut CallCx<'_, '_, '_>,
        index: u32,
        answer: alloc::string::String,
    ) -> Next<'a> {
        match self {
            Self::Input(rounds) => rounds.given(at, index, answer),
            Self::Task(task) => task.given(at, index, answer),
            _ => {}
        }
        Next::On(None)
    }
}
