//! `Record`: the state of a task.

use alloc::borrow::Cow;
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

/// One task, in no dialect: what it is called on the wire is for whoever shows it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Record {
    pub(crate) id: String,
    pub(crate) owner: Requestor,
    /// Which of all tasks it is, in the order they were begun.
    pub(crate) serial: u64,
    pub(crate) request: BegunFor,
    pub(crate) created: Instant,
    pub(crate) updated: Instant,
    pub(crate) ttl: Option<Duration>,
    pub(crate) poll_interval: Option<Duration>,
    pub(crate) message: Option<String>,
    pub(crate) state: State,
    pub(crate) cancel_requested: bool,
    pub(crate) inputs: TaskInputs,
    pub(crate) links: Links,
    /// What counts for it towards [`TasksConfig::bytes`](super::TasksConfig::bytes).
    pub(super) counted: usize,
}

/// The request that a task was begun for, and the rules of that.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct BegunFor {
    pub(crate) kind: RequestKind,
    pub(crate) revision: Revision,
    pub(crate) capabilities: CapabilitySet,
    /// What the result has to fit.
    pub(crate) kept: Kept,
}

/// What a task asks for, and has asked for.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct TaskInputs {
    /// What it asks for, or has asked for last.
    pub(crate) wanted: Vec<Wanted>,
    /// The keys of what it has asked for before.
    pub(crate) used_keys: Vec<String>,
}

/// What ties a task to connections. None of it outlives them.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Links {
    /// Where progress, changes and questions go.
    pub(crate) home: Option<ConnectionNumber>,
    /// That connection is to look at the task.
    pub(crate) is_posted: bool,
    /// It has been told of the change, and has still to ask for what the task needs.
    pub(crate) is_told: bool,
    /// The literal of the progress token, and the connection that it belongs to: on another one it may be
    /// that of something else.
    pub(crate) token: String,
    pub(crate) token_of: Option<ConnectionNumber>,
    pub(crate) progress: Option<Number>,
    /// Requests for the result that wait for it.
    pub(crate) waiters: SmallVec<[IncomingId; 1]>,
    /// Subscriptions to its changes, and whether they are to look at it.
    pub(crate) watchers: SmallVec<[(IncomingId, bool); 1]>,
}

/// How far a task is, and what came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum State {
    #[default]
    Working,
    InputRequired,
    /// It has a result, an object, which may say that a tool has failed.
    Completed(String),
    Failed(StoredError),
    Cancelled,
}

/// The error that the request would have been answered with.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct StoredError {
    pub(crate) code: ErrorCode,
    pub(crate) message: String,
    /// JSON.
    pub(crate) data: Option<String>,
}

/// One thing that a task asks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Wanted {
    pub(crate) key: String,
    pub(crate) kind: RequestKind,
    /// JSON, or empty.
    pub(crate) params: String,
    pub(crate) progress: Asking,
}

/// How far the asking for one thing is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Asking {
    /// Nobody has been asked in so many words.
    Waits,
    /// A request for it is on its way.
    Asked(CallId),
    /// This is the answer, JSON.
    Answered(String),
    /// There will be no answer.
    Refused,
}

impl Wanted {
    fn bytes(&self) -> usize {
        let answer = match &self.progress {
            Asking::Answered(answer) => answer.len(),
            _ => 0,
        };
        self.key.len() + self.params.len() + answer
    }

    pub(crate) const fn is_open(&self) -> bool {
        matches!(self.progress, Asking::Waits | Asking::Asked(_))
    }
}

impl State {
    fn bytes(&self) -> usize {
        match self {
            Self::Working | Self::InputRequired | Self::Cancelled => 0,
            Self::Completed(result) => result.len(),
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

    /// How far it is in the words of a session, where a tool that has failed is a task that has failed.
    pub(crate) fn status_in_session(&self) -> Status {
        match &self.state {
            State::Completed(result)
                if self.request.kind == RequestKind::CallTool && is_failure(result) =>
            {
                Status::Failed
            }
            state => state.status(),
        }
    }

    /// What is said of it to people. In a session a tool that has failed has to say something.
    pub(crate) fn message_in_session(&self) -> Option<Cow<'_, str>> {
        match (&self.message, &self.state) {
            (None, State::Completed(result)) if self.status_in_session() == Status::Failed => {
                first_line_of(result).map(Cow::Owned)
            }
            (message, _) => message.as_deref().map(Cow::Borrowed),
        }
    }

    /// The next input that it needs and for which no request has been sent.
    pub(crate) fn next_wanted(&self) -> Option<&Wanted> {
        self.inputs.wanted.iter().find(|wanted| wanted.progress == Asking::Waits)
    }

    /// What it asks for under this name and has not been given.
    pub(crate) fn open_wanted(&self, key: &str) -> Option<&Wanted> {
        self.inputs.wanted.iter().find(|wanted| wanted.is_open() && wanted.key == key)
    }

    /// A request for what it asks for is on its way.
    pub(crate) fn asked(&mut self, input: &str, call: CallId) {
        for wanted in self.inputs.wanted.iter_mut().filter(|wanted| wanted.key == input) {
            wanted.progress = Asking::Asked(call);
        }
    }

    /// Whether it was begun in a session.
    pub(crate) const fn is_of_session(&self) -> bool {
        self.request.revision.rules().tasks.of_session
    }

    /// How many bytes are kept of it.
    pub(super) fn bytes(&self) -> usize {
        let message = self.message.as_ref().map_or(0, String::len);
        let wanted: usize = self.inputs.wanted.iter().map(Wanted::bytes).sum();
        let used: usize = self.inputs.used_keys.iter().map(String::len).sum();
        self.id.len() + self.request.kept.bytes() + message + self.state.bytes() + wanted + used
    }

    /// When it may be forgotten.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.ttl.map(|ttl| self.created + ttl)
    }
}

/// What a tool says, as far as a line goes.
fn first_line_of(result: &str) -> Option<String> {
    const MOST: usize = 200;
    let text = Elements::of(member(result, "content")?)
        .find_map(|one| member(one.borrowed()?, "text").and_then(Str::from_literal))?;
    Some(text.chars().take_while(|end| *end != '\n').take(MOST).collect())
}

/// Whether a result says that a tool has failed.
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
            cancel_requested: false,
            inputs: TaskInputs::default(),
            links: Links::default(),
            counted: 0,
        }
    }
}

/// What one task has grown to is no measure for the next.
impl Recycle for Record {
    fn recycle(&mut self) {
        *self = Self::default();
    }
}

/// Without what it says, and without its id: who knows that may ask for the result.
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
