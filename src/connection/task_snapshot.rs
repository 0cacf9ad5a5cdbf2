//! `Snapshot`: a status of a task in a message of the peer, and `Seen`: the state of the task according to the latest
//! ones.

use alloc::string::String;
use core::time::Duration;

use super::event::Outcome;
use super::task_update::{BegunTask, TaskTicket};
use crate::json::{Raw, Str, member};
use crate::model::TaskStatus;
use crate::task::timestamp;
use crate::time::Instant;

/// A status of a task in a message of the peer.
pub(super) struct Snapshot<'a> {
    pub(super) id: Str<'a>,
    pub(super) status: TaskStatus<'a>,
    pub(super) message: Option<Str<'a>>,
    pub(super) updated: Option<i128>,
    pub(super) ttl: Option<Duration>,
    pub(super) interval: Option<Duration>,
    /// The JSON text of the task.
    pub(super) text: &'a str,
    /// The `_meta` beside the task, if the task is only a part of the result.
    pub(super) meta: Option<&'a str>,
}

/// The known state of a task of the peer.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Seen {
    /// The latest snapshot as JSON; empty if it is longer than `most_kept`.
    pub(super) latest: String,
    pub(super) most_kept: usize,
    pub(super) progress: TaskProgress,
    /// The `lastUpdatedAt` of the peer.
    pub(super) updated: Option<i128>,
    pub(super) interval: Option<Duration>,
    /// The time at which this side learned of the task.
    pub(super) begun: Instant,
    /// The time at which the peer may delete the task.
    pub(super) lost_at: Option<Instant>,
}

/// The progress of a task, as far as it matters here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum TaskProgress {
    /// The task continues, or its status is unknown.
    #[default]
    GoesOn,
    InputRequired,
    /// The task has a result or an error.
    Ended,
    Cancelled,
}

/// How a snapshot compares with the known state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Novelty {
    /// The snapshot is older than the known state.
    Stale,
    /// The snapshot contains no change.
    Known,
    /// The snapshot contains a change. `is_news` is `false` if only the poll interval changed, which the application
    /// need not know.
    Changed { is_news: bool },
}

impl TaskProgress {
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

/// Parses the whole part of a non-negative number in any notation: some peers write integers with a fraction or an
/// exponent.
fn whole_part(literal: &str) -> Option<u64> {
    literal.parse().ok().or_else(|| {
        let number: f64 = literal.parse().ok()?;
        (0.0..u64::MAX as f64).contains(&number).then_some(number as u64)
    })
}

impl<'a> Snapshot<'a> {
    /// Reads a task; `None` if it has no id or no status. Other members may be missing or malformed.
    pub(super) fn read(text: &'a str) -> Option<Self> {
        let string = |name| member(text, name).and_then(Str::from_literal);
        let millis = |in_session, in_modern_era| {
            whole_part(member(text, in_modern_era).or_else(|| member(text, in_session))?)
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

    pub(super) const fn progress(&self) -> TaskProgress {
        TaskProgress::of(&self.status)
    }

    /// Whether it contains no change compared with `other`.
    fn is_same_as(&self, other: &Snapshot<'_>) -> bool {
        self.status.as_str() == other.status.as_str()
            && self.message == other.message
            && self.updated == other.updated
    }
}

impl Seen {
    /// Creates the unknown state of a task that this side learned of at `begun`.
    pub(super) fn nothing(begun: Instant, most_kept: usize) -> Self {
        Self { begun, most_kept, ..Self::default() }
    }

    /// Updates the state from a newer snapshot. A final state never changes, and a final snapshot always wins.
    /// Otherwise the later `lastUpdatedAt` wins, and at equal times the snapshot that arrived later.
    pub(super) fn take_in(&mut self, snapshot: &Snapshot<'_>) -> Novelty {
        let progress = snapshot.progress();
        let is_older = self.updated.zip(snapshot.updated).is_some_and(|(known, new)| new < known);
        if self.progress.is_final() || (is_older && !progress.is_final()) {
            return Novelty::Stale;
        }
        self.progress = progress;
        // Clocks differ, so the lifetime counts from the time at which this side learned of the task. The result of a
        // task that has ended is requested whatever its remaining lifetime.
        let ttl = snapshot.ttl.filter(|_| !progress.is_final());
        self.lost_at = ttl.map(|ttl| self.begun + ttl);
        self.updated = snapshot.updated.or(self.updated);
        let is_news = !Snapshot::read(&self.latest).is_some_and(|known| known.is_same_as(snapshot));
        let is_changed = is_news || self.interval != snapshot.interval;
        self.interval = snapshot.interval;
        self.latest.clear();
        if snapshot.text.len() <= self.most_kept {
            self.latest.push_str(snapshot.text);
        }
        if is_changed { Novelty::Changed { is_news } } else { Novelty::Known }
    }

    /// Returns the outcome of a call that has become a task, if this connection stops polling the task.
    pub(super) fn left(&self, ticket: TaskTicket) -> Outcome<'static> {
        let task = if self.latest.is_empty() { Raw::NULL } else { Raw::trusted(&self.latest) };
        Outcome::Task(BegunTask { ticket, task: task.into_owned(), meta: None })
    }
}
