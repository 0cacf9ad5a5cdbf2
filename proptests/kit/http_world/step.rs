//! The steps of a schedule.

use mcp_sansio::testing::Choices;

use super::setup::Features;

/// A step of a schedule. Each number selects one of the candidates modulo their count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// A client calls a tool.
    Call {
        /// The client.
        client: u64,
        /// The tool, and whether the call asks for progress notifications and for a task.
        kind: u64,
    },
    /// A client sends a batch of tool calls.
    Batch {
        /// The client.
        client: u64,
        /// The number of calls, and whether there is a notification.
        kind: u64,
    },
    /// A client lists tools.
    List(u64),
    /// A client subscribes to changes.
    Subscribe(u64),
    /// A client cancels a call.
    Cancel(u64),
    /// A client responds to a request of the server.
    Give(u64),
    /// The server responds, or begins the task that the request becomes.
    Answer(u64),
    /// The server responds with an error.
    Reject(u64),
    /// The server reports progress.
    Report(u64),
    /// The server asks the client for input before it responds.
    Ask(u64),
    /// The server announces a changed list on every connection.
    Change,
    /// The server ends a response early.
    Close(u64),
    /// A request reaches the server.
    Request(u64),
    /// The server sends the next part of a response.
    Respond(u64),
    /// Some bytes of a response reach the client.
    Deliver(u64, u64),
    /// A connection breaks.
    Break(u64),
    /// A request is refused on the way to the server, as a proxy would do it.
    Refuse(u64),
    /// Time passes, in milliseconds.
    Pass(u64),
    /// A stranger replays a request of a client's session, or about its task.
    Intrude(u64),
    /// Everything in transit arrives.
    Settle,
    /// The work of a task makes a step: it completes, fails, is cancelled, requires input or reports its progress.
    Work(u64),
    /// A client cancels the task that a call has become, and waits for its end.
    CancelTask(u64),
    /// A client lists its tasks.
    ListTasks(u64),
    /// The host of a client does a job for its login.
    LogIn(u64),
    /// A request of a client arrives once more.
    Replay(u64),
    /// A forged message arrives with the identity of a client.
    Forge(u64),
    /// All access tokens are revoked.
    Revoke,
    /// A client requests the status or the cancellation of a task of another client, whose id it knows.
    Peek(u64),
}

impl Step {
    /// Returns a step of these features.
    pub(super) fn choose(choices: &mut Choices, features: Features) -> Self {
        let mut steps = (0..3).map(|_| Self::any(choices, features));
        steps.find(|step| features.allow(*step)).unwrap_or(Self::Settle)
    }

    fn any(choices: &mut Choices, features: Features) -> Self {
        if features.tasks && choices.one_in(3) {
            return Self::about_tasks(choices);
        }
        if features.authorization && choices.one_in(5) {
            let is_revoked = choices.one_in(12);
            return if is_revoked { Self::Revoke } else { Self::LogIn(choices.any()) };
        }
        let which = choices.any();
        if features.replays && choices.one_in(16) {
            return if choices.one_in(2) { Self::Replay(which) } else { Self::Forge(which) };
        }
        if features.batches && choices.one_in(12) {
            return Self::Batch { client: which, kind: choices.any() };
        }
        if features.refusals && choices.one_in(12) {
            return Self::Refuse(which);
        }
        match choices.below(42) {
            0..=3 => Self::Call { client: which, kind: choices.any() },
            4 => Self::List(which),
            5 => Self::Subscribe(which),
            6 => Self::Cancel(which),
            7..=8 => Self::Give(which),
            9..=11 => Self::Answer(which),
            12 => Self::Reject(which),
            13..=14 => Self::Report(which),
            15..=16 => Self::Ask(which),
            17 => Self::Change,
            18 => Self::Close(which),
            19..=23 => Self::Request(which),
            24..=28 => Self::Respond(which),
            29..=34 => Self::Deliver(which, choices.below(200) + 1),
            35 => Self::Break(which),
            36 => Self::Pass(choices.below(3_000)),
            37 => Self::Pass(choices.below(100_000)),
            38..=39 => Self::Intrude(which),
            40 => Self::Pass(choices.below(1_000)),
            _ => Self::Settle,
        }
    }

    fn about_tasks(choices: &mut Choices) -> Self {
        let which = choices.any();
        match choices.below(13) {
            0 => Self::CancelTask(which),
            1 => Self::ListTasks(which),
            2 | 3 => Self::Pass(choices.below(2_500)),
            4 | 5 => Self::Settle,
            6 => Self::Answer(which),
            7 => Self::Give(which),
            12 => Self::Peek(which),
            _ => Self::Work(which),
        }
    }
}
