//! Calls that have become tasks of the peer: what is known of each, and what is asked about it next.

use alloc::boxed::Box;
use alloc::string::String;
use core::fmt;
use core::time::Duration;

use super::call_options::TaskOptions;
use super::event::Outcome;
use super::task_update::{BegunTask, TaskTicket};
use crate::handle::CallId;
use crate::json::{Raw, Str, member};
use crate::model::TaskStatus;
use crate::task::{TaskKey, timestamp};
use crate::time::Instant;

/// What a call has to do with a task.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum TaskPart {
    /// It asks for something that a task of this side needs.
    Question {
        task: TaskKey,
        /// The metadata that says so, a literal.
        related: String,
    },
    /// It is to become a task.
    Wanted(TaskOptions),
    /// It has become one.
    Tracked(Tracked),
    /// It asks about a task.
    Step(Step),
}

/// A question about the task that a call has become.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Step {
    pub(super) of: CallId,
    pub(super) kind: StepKind,
}

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum StepKind {
    Get,
    Result,
    Update,
    Cancel,
}

/// A task of the peer.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Tracked {
    pub(super) id: String,
    pub(super) options: TaskOptions,
    /// The request of the call was answered with the task. A call that resumes a task has sent no request.
    pub(super) was_answered: bool,
    /// What was seen of it last, the whole object unless it is longer than `most_kept`.
    pub(super) latest: String,
    pub(super) most_kept: usize,
    pub(super) standing: Standing,
    /// When it changed last, in the words of the peer.
    pub(super) updated: Option<i128>,
    pub(super) interval: Option<Duration>,
    /// When it was heard of first.
    pub(super) begun: Instant,
    /// When the peer may have forgotten it.
    pub(super) lost_at: Option<Instant>,
    /// When it is asked about next.
    pub(super) ask_at: Option<Instant>,
    /// How often it was asked about without a word of how long to wait.
    pub(super) asked: u32,
    /// How often in a row there was no good answer.
    pub(super) failures: u32,
    /// The peer does not let this side wait for what it comes to before it has ended.
    pub(super) ends_first: bool,
    /// The questions that are on their way.
    pub(super) get: Option<CallId>,
    pub(super) result: Option<CallId>,
}

/// What is to be made of what the peer says of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Telling {
    /// It is older than what is known.
    Stale,
    /// It is known.
    Known,
    News,
}

/// How far a task is, as far as that matters here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Standing {
    /// It goes on, or it is not known how far it is.
    #[default]
    GoesOn,
    InputRequired,
    /// It has a result or an error.
    Ended,
    Cancelled,
}

impl Standing {
    const fn of(status: &TaskStatus<'_>) -> Self {
        match status {
            TaskStatus::InputRequired => Self::InputRequired,
            TaskStatus::Completed | TaskStatus::Failed => Self::Ended,
            TaskStatus::Cancelled => Self::Cancelled,
            _ => Self::GoesOn,
        }
    }

    pub(super) const fn is_final(self) -> bool {
        matches!(self, Self::Ended | Self::Cancelled)
    }
}

impl TaskPart {
    /// The metadata that says that it belongs to a task of this side.
    pub(super) fn related(&self) -> Option<&str> {
        match self {
            Self::Question { related, .. } => Some(related),
            _ => None,
        }
    }
}

/// Without ids of tasks, and without what they say.
impl fmt::Debug for TaskPart {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Question { task, .. } => formatter.debug_tuple("Question").field(task).finish(),
            Self::Wanted(options) => formatter.debug_tuple("Wanted").field(options).finish(),
            Self::Tracked(tracked) => tracked.fmt(formatter),
            Self::Step(step) => step.fmt(formatter),
        }
    }
}

impl fmt::Debug for Tracked {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Tracked")
            .field("standing", &self.standing)
            .field("failures", &self.failures)
            .finish_non_exhaustive()
    }
}

/// The whole part of a number that is not negative, however it is written: some write an integer with a fraction, or
/// with an exponent.
fn whole_part(literal: &str) -> Option<u64> {
    literal.parse().ok().or_else(|| {
        let number: f64 = literal.parse().ok()?;
        (0.0..u64::MAX as f64).contains(&number).then_some(number as u64)
    })
}

/// A task as its peer describes it.
pub(super) struct Snapshot<'a> {
    pub(super) id: Str<'a>,
    pub(super) status: TaskStatus<'a>,
    pub(super) message: Option<Str<'a>>,
    pub(super) updated: Option<i128>,
    pub(super) ttl: Option<Duration>,
    pub(super) interval: Option<Duration>,
    /// The whole of it.
    pub(super) text: &'a str,
    /// What was said with it, if it is not the whole of an answer.
    pub(super) meta: Option<&'a str>,
}

impl<'a> Snapshot<'a> {
    /// Reads a task; `None` if it has no id or no status. What else is missing or strange is nobody's
    /// loss.
    pub(super) fn read(text: &'a str) -> Option<Self> {
        let string = |name| member(text, name).and_then(Str::from_literal);
        let millis = |in_session, alone| {
            whole_part(member(text, alone).or_else(|| member(text, in_session))?)
                .map(Duration::from_millis)
        };
        let status = string("status")?;
        Some(Self {
            id: string("taskId").filter(|id| id.chars().next().is_some())?,
            status: TaskStatus::from(crate::model::Text::from(status.to_str().into_owned())),
            message: string("statusMessage"),
            updated: string("lastUpdatedAt").and_then(|time| timestamp::read(&time.to_str())),
            ttl: millis("ttl", "ttlMs"),
            interval: millis("pollInterval", "pollIntervalMs")
                .filter(|interval| !interval.is_zero()),
            text,
            meta: None,
        })
    }

    pub(super) const fn standing(&self) -> Standing {
        Standing::of(&self.status)
    }

    /// Whether it says nothing that another one does not say.
    fn says_like(&self, other: &Snapshot<'_>) -> bool {
        self.status.as_str() == other.status.as_str()
            && self.message == other.message
            && self.updated == other.updated
    }
}

impl Tracked {
    /// A task that has just been heard of.
    pub(super) fn of(
        snapshot: &Snapshot<'_>,
        options: TaskOptions,
        (begun, most_kept): (Instant, usize),
    ) -> Self {
        let id = snapshot.id.to_str().into_owned();
        let was_answered = true;
        let mut tracked = Self { id, options, was_answered, begun, most_kept, ..Self::default() };
        tracked.take_in(snapshot);
        tracked
    }

    /// Takes in what is newer than what is known: what is final stays, otherwise the later time wins, and
    /// at the same time what came later.
    pub(super) fn take_in(&mut self, snapshot: &Snapshot<'_>) -> Telling {
        let standing = snapshot.standing();
        let is_older = self.updated.zip(snapshot.updated).is_some_and(|(known, new)| new < known);
        if self.standing.is_final() || (is_older && !standing.is_final()) {
            return Telling::Stale;
        }
        self.standing = standing;
        // Clocks differ, so that it is measured from when it was heard of.
        self.lost_at = snapshot.ttl.map(|ttl| self.begun + ttl);
        self.updated = snapshot.updated.or(self.updated);
        let is_news = !Snapshot::read(&self.latest).is_some_and(|known| known.says_like(snapshot));
        if is_news || self.interval != snapshot.interval {
            // What says nothing new does not put off the next question.
            self.ask_at = None;
        }
        self.interval = snapshot.interval;
        self.latest.clear();
        if snapshot.text.len() <= self.most_kept {
            self.latest.push_str(snapshot.text);
        }
        if is_news { Telling::News } else { Telling::Known }
    }

    /// How long to wait before the next question.
    pub(super) fn wait(&mut self) -> Duration {
        const SHORTEST: Duration = Duration::from_millis(10);
        const LONGEST: Duration = Duration::from_secs(3_600);
        const FIRST: Duration = Duration::from_secs(1);
        const MOST: Duration = Duration::from_secs(5);
        let interval = match (self.interval, self.options.poll_interval) {
            (Some(interval), _) | (None, Some(interval)) => interval,
            (None, None) => FIRST.saturating_mul(1 << self.asked.min(3)).min(MOST),
        };
        self.asked = self.asked.saturating_add(1);
        let interval = interval.saturating_mul(1 << self.failures.min(5));
        interval.clamp(SHORTEST, LONGEST)
    }

    /// How the call ends if nobody asks about the task any more on this connection.
    pub(super) fn left(&self, method: &'static str) -> Outcome<'static> {
        let task = if self.latest.is_empty() { Raw::NULL } else { Raw::trusted(&self.latest) };
        Outcome::Task(BegunTask {
            ticket: TaskTicket::new(self.id.clone(), method),
            task: task.into_owned(),
            meta: None,
        })
    }
}

/// A box around what a call has to do with a task.
pub(super) fn part(part: TaskPart) -> Option<Box<TaskPart>> {
    Some(Box::new(part))
}
