//! `CallState`: the state of a call of the application, and how the call handles a response.

use alloc::boxed::Box;
use core::fmt;

use super::call_cx::{CallCx, Next, PeerResponse};
use super::check_result::judged;
use super::event::Outcome;
use super::input_rounds::Rounds;
use super::messages::Messages;
use super::pages::Pages;
use super::remote_task::{RemoteTask, left_by_hand};
use super::resend::{is_repeated, send_again};
use super::subscription::Subscription;
use super::task_snapshot::Snapshot;
use crate::codes::ViolationKind;
use crate::rpc::{Recycle, ResultType};

/// The messages layer, below the patterns of calls.
pub(crate) type Below = Messages<Call>;

/// The state of a call of the application beyond its request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Call {
    pub(super) state: CallState,
    /// Whether the peer has required input before it responded.
    pub(super) needed_input: bool,
}

/// The state of a call of the application. A request of any other owner is `Single`.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub(super) enum CallState {
    /// One request, one response.
    #[default]
    Single,
    /// The call reads a list page by page.
    Pages(Box<Pages>),
    /// The call needs input, or needed some: its request is sent again with the input.
    Input(Box<Rounds>),
    /// The call has become a task of the peer.
    Task(Box<RemoteTask>),
    /// The call keeps a subscription open.
    Subscription(Box<Subscription>),
    /// The state is taken out for a step.
    Stepping,
}

/// Omits the text of the peer.
impl fmt::Debug for CallState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Single => "Single",
            Self::Pages(_) => "Pages",
            Self::Input(_) => "Input",
            Self::Task(_) => "Task",
            Self::Subscription(_) => "Subscription",
            Self::Stepping => "Stepping",
        })
    }
}

impl Recycle for Call {
    fn recycle(&mut self) {
        *self = Self::default();
    }
}

impl CallState {
    /// Returns the task of the peer that the call has become.
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

    /// Returns the number of bytes of the peer that are kept for the call.
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

    /// Handles the response to the request of the call.
    pub(super) fn answered<'a>(
        &mut self,
        at: &mut CallCx<'_, '_, '_, Call>,
        answer: PeerResponse<'a>,
    ) -> Next<'a, Self> {
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

    /// Decides whether a response is the outcome of the call (`Err`, which returns it) or an intermediate step
    /// (`Ok`).
    fn interim<'a>(
        &self,
        at: &mut CallCx<'_, '_, '_, Call>,
        answer: PeerResponse<'a>,
    ) -> Result<Next<'a, Self>, Outcome<'a>> {
        let PeerResponse { outcome, bytes, result_type } = answer;
        if is_from_before(at) {
            return from_before(at, outcome, result_type, bytes);
        }
        let reads_types = at.below.session.rules().reads_result_types;
        at.below.session.has_modern_result |= reads_types && result_type != ResultType::Absent;
        if let Outcome::Result(result) = &outcome
            && let Some(next) = RemoteTask::begin(at, result, result_type, bytes)
        {
            return Ok(next.map(Self::Task));
        }
        if !reads_types {
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
                    Ok(Rounds::begin(at, rounds, result, bytes).map(Self::Input))
                }
                ResultType::Task | ResultType::Other => Ok(Next::invalid(bytes)),
            },
            outcome => Err(outcome),
        }
    }

    /// Sends the request of the call again, with the gathered input.
    pub(super) fn send_again(&self, at: &mut CallCx<'_, '_, '_, Call>) {
        match self {
            Self::Input(rounds) => rounds.send_again(at),
            _ => send_again(at, None),
        }
    }

    /// Handles an input from the application that the call needs.
    pub(super) fn given<'a>(
        &mut self,
        at: &mut CallCx<'_, '_, '_, Call>,
        index: u32,
        answer: alloc::string::String,
    ) -> Next<'a, Self> {
        match self {
            Self::Input(rounds) => rounds.given(at, index, answer),
            Self::Task(task) => task.given(at, index, answer),
            _ => {}
        }
        Next::On(None)
    }
}

/// Whether the request was sent in an era that the connection has left: a client that knew the revision of its server
/// opens a session if the server does not answer the probe in time.
fn is_from_before(at: &CallCx<'_, '_, '_, Call>) -> bool {
    let asked = at.below.outgoing.get(at.call.0);
    let is_known = asked.is_some_and(|asked| asked.again.is_self_contained && asked.kind.is_some());
    is_known && !at.below.session.rules().reads_result_types
}

/// Handles the response to such a request. A session can neither send the request again nor poll its task, so both
/// are left to the application.
fn from_before<'a>(
    at: &CallCx<'_, '_, '_, Call>,
    outcome: Outcome<'a>,
    result_type: ResultType,
    bytes: &'a [u8],
) -> Result<Next<'a, CallState>, Outcome<'a>> {
    let Outcome::Result(result) = outcome else { return Err(outcome) };
    match result_type {
        ResultType::Complete | ResultType::Absent => Err(Outcome::Result(result)),
        ResultType::InputRequired => Ok(Next::Ends(Outcome::InputRequired(result))),
        ResultType::Task => {
            let kind = at.below.outgoing.get(at.call.0).and_then(|asked| asked.kind);
            let snapshot = result.borrowed().and_then(Snapshot::read);
            let left = kind.zip(snapshot).map(|(kind, snapshot)| left_by_hand(snapshot, kind));
            Ok(left.map_or_else(|| Next::invalid(bytes), Next::Ends))
        }
        ResultType::Other => Ok(Next::invalid(bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recycled_call_is_like_a_new_one() {
        let mut call = Call { state: CallState::Stepping, needed_input: true };
        call.recycle();
        assert_eq!(call, Call::default());
    }
}
