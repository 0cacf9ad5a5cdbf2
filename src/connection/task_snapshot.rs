//! `Snapshot`: a task as its peer describes it, and `Seen`: what is known of it from the latest ones.

use alloc::string::String;
use core::time::Duration;

use super::event::Outcome;
use super::task_update::{BegunTask, TaskTicket};
use crate::json::{Raw, Str, member};
use crate::model::TaskStatus;
use crate::task::timestamp;
use crate::time::Instant;

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

/// What is known of a task of the peer.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Seen {
    /// The latest snapshot, the whole object unless it is longer than `most_kept`.
    pub(super) latest: String,
    pub(super) most_kept: usize,
    pub(super) progress: TaskProgress,
    /// When it changed last, in the words of the peer.
    pub(super) updated: Option<i128>,
    pub(super) interval: Option<Duration>,
    /// When it was heard of first.
    pub(super) begun: Instant,
    /// When the peer may have forgotten it.
    pub(super) lost_at: Option<Instant>,
}

/// How far a task is, as far as that matters here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum TaskProgress {
    /// It goes on, or it is not known how far it is.
    #[default]
    GoesOn,
    InputRequired,
    /// It has a result or an error.
    Ended,
    Cancelled,
}

/// How a snapshot compares with what is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Novelty {
    /// It is older than what is known.
    Stale,
    /// It is known.
    Known,
    /// Something has changed. The flag says whether the application is to be told, or only the interval is another one.
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

/// The whole part of a number that is not negative, however it is written: some write an integer with a fraction, or
/// with an exponent.
fn whole_part(literal: &str) -> Option<u64> {
    literal.parse().ok().or_else(|| {
        let number: f64 = literal.parse().ok()?;
        (0.0..u64::MAX as f64).contains(&number).then_some(number as u64)
    })
}

impl<'a> Snapshot<'a> {
    /// Reads a task; `None` if it has no id or no status. What else is missing or strange does no harm.
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

    pub(super) const fn progress(&self) -> TaskProgress {
        TaskProgress::of(&self.status)
    }

    /// Whether it says nothing that another one does not say.
    fn is_same_as(&self, other: &Snapshot<'_>) -> bool {
        self.status.as_str() == other.status.as_str()
            && self.message == other.message
            && self.updated == other.updated
    }
}

impl Seen {
    /// Nothing is known yet of a task that was heard of at this time.
    pub(super) fn nothing(begun: Instant, most_kept: usize) -> Self {
        Self { begun, most_kept, ..Self::default() }
    }

    /// Takes in what is newer than what is known: what is final stays, otherwise the later time wins, and
    /// at the same time what came later.
    pub(super) fn take_in(&mut self, snapshot: &Snapshot<'_>) -> Novelty {
        let progress = snapshot.progress();
        let is_older = self.updated.zip(snapshot.updated).is_some_and(|(known, new)| new < known);
        if self.progress.is_final() || (is_older && !progress.is_final()) {
            return Novelty::Stale;
        }
        self.progress = progress;
        // Clocks differ, so that it is measured from when it was heard of.
        self.lost_at = snapshot.ttl.map(|ttl| self.begun + ttl);
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

    /// How a call ends that has become a task, if nothing more is asked about it on this connection.
    pub(super) fn left(&self, ticket: TaskTicket) -> Outcome<'static> {
        let task = if self.latest.is_empty() { Raw::NULL } else { Raw::trusted(&self.latest) };
        Outcome::Task(BegunTask { ticket, task: task.into_owned(), meta: None })
    }
}
