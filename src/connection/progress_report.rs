//! `Progress`: a progress report of this side, and `ProgressReport`: the result of sending it.

use alloc::string::String;

use crate::json::Number;

/// The result of sending a progress report. No variant is an error: the sender need not know whether the peer asked
/// for progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProgressReport {
    /// The report was sent.
    Sent,
    /// The report follows the previous one too soon
    /// ([`ConnectionConfig::progress_interval`](crate::ConnectionConfig::progress_interval)). It is sent later,
    /// unless a newer one replaces it.
    Delayed,
    /// The peer did not ask for progress.
    NotWanted,
    /// The report was not sent, because it is not greater than the previous one.
    NotIncreasing,
}

/// The progress of the work on a request.
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
    /// Creates a report of the progress so far. Each report on a request must be greater than the previous one.
    pub fn new(progress: impl Into<Number>) -> Self {
        Self { progress: progress.into(), total: None, message: None }
    }

    /// Sets the total amount of work.
    #[must_use]
    pub fn total(mut self, total: impl Into<Number>) -> Self {
        self.total = Some(total.into());
        self
    }

    /// Sets a human-readable message. Sessions of 2024-11-05 do not have this member and leave it out.
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
