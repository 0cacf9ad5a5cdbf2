//! `Progress`: a report of progress that goes out, and `ProgressReport`: whether it did.

use alloc::string::String;

use crate::json::Number;

/// What became of a progress report. None of it is an error: work need not know who watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProgressReport {
    /// It was sent.
    Sent,
    /// It comes too soon after the one before
    /// ([`ConnectionConfig::progress_interval`](crate::ConnectionConfig::progress_interval)). It is
    /// sent later, unless a newer one takes its place.
    Delayed,
    /// The peer did not ask for progress.
    NotWanted,
    /// It is not greater than the last one, and was not sent.
    NotIncreasing,
}

/// How far the work on a request is.
///
/// ```
/// use mcp_sansio::progress::Progress;
///
/// let half = Progress::new(50_u32).total(100_u32).message("halfway there");
/// let files = ["a", "b", "c"];
/// let next = Progress::new(1_usize).total(files.len());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Progress<'a> {
    pub(super) progress: Number,
    pub(super) total: Option<Number>,
    pub(super) message: Option<&'a str>,
}

impl<'a> Progress<'a> {
    /// So far. Each report on a request must be greater than the one before.
    pub fn new(progress: impl Into<Number>) -> Self {
        Self { progress: progress.into(), total: None, message: None }
    }

    /// How far it has to go.
    #[must_use]
    pub fn total(mut self, total: impl Into<Number>) -> Self {
        self.total = Some(total.into());
        self
    }

    /// What is going on, for people. Left out in sessions of 2024-11-05, which has no place for it.
    #[must_use]
    pub const fn message(mut self, message: &'a str) -> Self {
        self.message = Some(message);
        self
    }
}

/// A report that waits until it may be sent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Delayed {
    pub(super) progress: Number,
    pub(super) total: Option<Number>,
    pub(super) message: Option<String>,
}

impl Delayed {
    pub(super) fn of(report: Progress<'_>) -> Self {
        let Progress { progress, total, message } = report;
        Self { progress, total, message: message.map(String::from) }
    }

    pub(super) fn report(&self) -> Progress<'_> {
        let Self { progress, total, message } = self;
        Progress { progress: *progress, total: *total, message: message.as_deref() }
    }
}
