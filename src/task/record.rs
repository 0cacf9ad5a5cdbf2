//! `Record`: the state of a task.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use smallvec::SmallVec;

use super::status::Status;
use crate::capability::CapabilitySet;
use crate::codes::ErrorCode;
use crate::dialect::Kept;
use crate::dialect::methods::RequestKind;
use crate::handle::{CallId, ConnectionNumber, IncomingId, Requestor};
use crate::json::{Elements, Number, Str, member};
use crate::rpc::Recycle;
use crate::time::Instant;
use crate::version::Revision;

/// The state of a task, independent of its wire form.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Record {
    pub(crate) id: String,
    pub(crate) owner: Requestor,
    /// The position of the task in the order in which all tasks were begun.
    pub(crate) serial: u64,
    pub(crate) request: BegunFor,
    pub(crate) created: Instant,
    pub(crate) updated: Instant,
    pub(crate) ttl: Option<Duration>,
    pub(crate) poll_interval: Option<Duration>,
    /// The status message, except that of a failed task: see [`message`](Self::message).
    pub(crate) message: Option<String>,
    pub(crate) state: State,
    pub(crate) work: Work,
    pub(crate) inputs: TaskInputs,
    pub(crate) links: Links,
    /// The bytes counted for the task towards [`TasksConfig::bytes`](super::TasksConfig::bytes).
    pub(super) counted: usize,
}

/// The request that a task was begun for, and its rules.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct BegunFor {
    pub(crate) kind: RequestKind,
    pub(crate) revision: Revision,
    pub(crate) capabilities: CapabilitySet,
    /// The parts of the request that the result is checked against.
    pub(crate) kept: Kept,
}

/// The part of a task that concerns only the process that works on it. It is never sent.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Work {
    /// Whether the requestor wants the task cancelled.
    pub(crate) cancel_requested: bool,
    /// The text with which another process can continue the work.
    pub(crate) checkpoint: Option<String>,
}

/// The input that a task requires, and has required.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct TaskInputs {
    /// The inputs of the current or last round.
    pub(crate) wanted: Vec<Wanted>,
    /// The keys of earlier rounds.
    pub(crate) used_keys: Vec<String>,
}

/// The links between a task and its connections. No link outlives its connection.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Links {
    /// The connection for progress, changes and input requests.
    pub(crate) home: Option<ConnectionNumber>,
    /// Whether a notice about the task is queued for the home connection.
    pub(crate) is_posted: bool,
    /// Whether the change has been reported to the home connection, so that only the input is still to be requested.
    pub(crate) is_reported: bool,
    /// The literal of the progress token, and the connection that it belongs to. On another connection the same token
    /// may belong to another request.
    pub(crate) token: String,
    pub(crate) token_of: Option<ConnectionNumber>,
    pub(crate) progress: Option<Number>,
    /// The open requests for the result.
    pub(crate) waiters: SmallVec<[IncomingId; 1]>,
    /// The subscriptions to the task, and whether a notice is queued for each.
    pub(crate) watchers: SmallVec<[(IncomingId, bool); 1]>,
}

/// The status of a task, with its result or error.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum State {
    #[default]
    Working,
    InputRequired,
    Completed(StoredResult),
    Failed(StoredError),
    Cancelled,
}

/// The result of a completed task.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct StoredResult {
    /// An object. It may be the result of a tool that has failed.
    json: String,
    /// The failure of the tool, which the legacy era shows. It is read from the result once, because peers can ask for
    /// it at any time and the result can be long.
    failure: Option<ToolFailure>,
}

/// A failure that the result of a tool reports.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct ToolFailure {
    /// The first line of the first text of the result, cut to a maximum length.
    first_line: Option<Box<str>>,
}

impl StoredResult {
    /// Stores the result of a request of this kind.
    pub(crate) fn new(kind: RequestKind, json: String) -> Self {
        let has_failed = kind == RequestKind::CallTool && is_failure(&json);
        let failure = has_failed.then(|| ToolFailure { first_line: first_line_of(&json) });
        Self { json, failure }
    }

    pub(crate) fn as_json(&self) -> &str {
        &self.json
    }

    pub(super) fn bytes(&self) -> usize {
        let first_line = self.failure.as_ref().and_then(|failure| failure.first_line.as_ref());
        self.json.len() + first_line.map_or(0, |line| line.len())
    }
}

/// The error that the request would have been answered with.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct StoredError {
    pub(crate) code: ErrorCode,
    /// The message, which is also that of the task.
    pub(crate) message: String,
    /// The data, JSON.
    pub(crate) data: Option<String>,
}

/// The bytes that count for each input beside its texts. They cover its entry, and after its round that of its key.
pub(super) const INPUT_BYTES: usize = 128;

/// An input that a task requires.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Wanted {
    pub(crate) key: String,
    pub(crate) kind: RequestKind,
    /// The params, JSON, or an empty string.
    pub(crate) params: String,
    pub(crate) progress: Asking,
}

/// The progress of an input.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Asking {
    /// No request for the input has been sent.
    Waits,
    /// A request for the input is in flight.
    Asked(CallId),
    /// The response, JSON.
    Answered(String),
    /// The input was refused: no response will come.
    Refused,
}

impl Wanted {
    fn bytes(&self) -> usize {
        let answer = match &self.progress {
            Asking::Answered(answer) => answer.len(),
            _ => 0,
        };
        self.key.len() + self.params.len() + answer + INPUT_BYTES
    }

    pub(crate) const fn is_open(&self) -> bool {
        matches!(self.progress, Asking::Waits | Asking::Asked(_))
    }
}

impl State {
    /// A lower bound of the length of the result or the error in a message. A raw result can become shorter only by
    /// white space, or by its `resultType`.
    pub(crate) fn least_bytes(&self) -> usize {
        match self {
            Self::Working | Self::InputRequired | Self::Cancelled => 0,
            Self::Completed(result) => result.json.len(),
            Self::Failed(error) => error.message.len() + error.data.as_ref().map_or(0, String::len),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Working | Self::InputRequired | Self::Cancelled => 0,
            Self::Completed(result) => result.bytes(),
            Self::Failed(error) => error.message.len() + error.data.as_ref().map_or(0, String::len),
        }
    }

    pub(crate) const fn status(&self) -> Status {
        match self {
            Self::Working => Status::Working,
            Self::InputRequired => Status::InputRequired,
            Self::Completed(_) => Status::Completed,
            Self::Failed(_) => Status::Failed,
            Self::Cancelled => Status::Cancelled,
        }
    }
}

impl Record {
    pub(crate) const fn status(&self) -> Status {
        self.state.status()
    }

    /// The status in the legacy era, where a task whose tool has failed is failed.
    pub(crate) const fn status_in_session(&self) -> Status {
        match &self.state {
            State::Completed(StoredResult { failure: Some(_), .. }) => Status::Failed,
            state => state.status(),
        }
    }

    /// The status message. That of a failed task is the message of its error, which is stored once.
    pub(crate) fn message(&self) -> Option<&str> {
        match (&self.message, &self.state) {
            (None, State::Failed(error)) => Some(&error.message),
            (message, _) => message.as_deref(),
        }
    }

    /// The status message in the legacy era, where a task whose tool has failed must have one.
    pub(crate) fn message_in_session(&self) -> Option<&str> {
        match &self.state {
            State::Completed(StoredResult { failure: Some(failure), .. })
                if self.message.is_none() =>
            {
                failure.first_line.as_deref()
            }
            _ => self.message(),
        }
    }

    /// The next input for which no request has been sent.
    pub(crate) fn next_wanted(&self) -> Option<&Wanted> {
        self.inputs.wanted.iter().find(|wanted| wanted.progress == Asking::Waits)
    }

    /// The open input with this key, and its index.
    pub(crate) fn open_wanted(&self, key: &str) -> Option<(usize, &Wanted)> {
        let mut wanted = self.inputs.wanted.iter().enumerate();
        wanted.find(|(_, wanted)| wanted.is_open() && wanted.key == key)
    }

    /// Notes that a request for an input is in flight.
    pub(crate) fn asked(&mut self, input: &str, call: CallId) {
        for wanted in self.inputs.wanted.iter_mut().filter(|wanted| wanted.key == input) {
            wanted.progress = Asking::Asked(call);
        }
    }

    /// Whether the task was begun in a session.
    pub(crate) const fn is_of_session(&self) -> bool {
        self.request.revision.rules().tasks.of_session
    }

    /// The bytes that the task keeps.
    pub(super) fn bytes(&self) -> usize {
        let message = self.message.as_ref().map_or(0, String::len);
        let wanted: usize = self.inputs.wanted.iter().map(Wanted::bytes).sum();
        let used: usize = self.inputs.used_keys.iter().map(|key| key.len() + INPUT_BYTES).sum();
        let checkpoint = self.work.checkpoint.as_ref().map_or(0, String::len);
        let texts = self.id.len() + message + checkpoint;
        texts + self.request.kept.bytes() + self.state.bytes() + wanted + used
    }

    /// The time at which the task may be forgotten.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.ttl.map(|ttl| self.created + ttl)
    }
}

/// Returns the first line of the first text in the result of a tool, cut to a maximum length.
fn first_line_of(result: &str) -> Option<Box<str>> {
    const MOST: usize = 200;
    let text = Elements::of(member(result, "content")?)
        .find_map(|one| member(one.borrowed()?, "text").and_then(Str::from_literal))?;
    let line: String = text.chars().take_while(|end| *end != '\n').take(MOST).collect();
    Some(line.into_boxed_str())
}

/// Whether a result is that of a tool that has failed.
fn is_failure(result: &str) -> bool {
    member(result, "isError") == Some("true")
}

impl Default for Record {
    fn default() -> Self {
        Self {
            id: String::new(),
            owner: Requestor::default(),
            serial: 0,
            request: BegunFor {
                kind: RequestKind::CallTool,
                revision: Revision::LATEST_LEGACY,
                capabilities: CapabilitySet::NONE,
                kept: Kept::default(),
            },
            created: Instant::EPOCH,
            updated: Instant::EPOCH,
            ttl: None,
            poll_interval: None,
            message: None,
            state: State::default(),
            work: Work::default(),
            inputs: TaskInputs::default(),
            links: Links::default(),
            counted: 0,
        }
    }
}

/// A large task leaves no allocation behind for the next one.
impl Recycle for Record {
    fn recycle(&mut self) {
        *self = Self::default();
    }
}

/// Omits payloads and the id, which gives access to the result.
impl fmt::Debug for Record {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Record")
            .field("serial", &self.serial)
            .field("kind", &self.request.kind)
            .field("status", &self.status())
            .field("created", &self.created)
            .field("wanted", &self.inputs.wanted.len())
            .field("waiters", &self.links.waiters)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_counts_with_its_data() {
        let error = |data: Option<&str>| {
            let data = data.map(String::from);
            State::Failed(StoredError {
                code: ErrorCode::INTERNAL_ERROR,
                message: "abc".into(),
                data,
            })
        };
        assert_eq!((error(Some("[1]")).bytes(), error(None).bytes()), (6, 3));
        let completed = State::Completed(StoredResult::new(RequestKind::CallTool, "{}".into()));
        assert_eq!((completed.bytes(), State::Working.bytes()), (2, 0));
    }
}
