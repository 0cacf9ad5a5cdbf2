//! Bounds on tasks, and how they behave.

use core::time::Duration;

/// Bounds on tasks, and how they behave.
///
/// With every bound reached, [`Tasks`](super::Tasks) hold `2 * bytes + tasks * (kept_bytes + token_bytes + 800)` bytes,
/// where the third and the fourth are [limits](crate::Limits) of the connection, and 24 for each request and
/// subscription that waits for one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct TasksConfig {
    /// Most tasks. Default 10,000.
    pub tasks: u32,
    /// Most tasks of one [requestor](crate::request::Requestor). Default 1,000. Requestors that are not known are counted by where
    /// they come from.
    pub tasks_of_owner: u32,
    /// How long a task is kept from its beginning, if whoever asks for it does not say. Default 1 h;
    /// `None` is for ever.
    pub ttl: Option<Duration>,
    /// How long it is kept at most, whatever is asked for. Default 24 h; `None` is for ever.
    pub longest_ttl: Option<Duration>,
    /// How long whoever asked for a task should wait between two questions about it. Default 1 s.
    pub poll_interval: Duration,
    /// Most bytes of all tasks together: their results and errors, what they ask for, the answers, and what is said
    /// of them. Default 64 MiB: four of the longest results.
    ///
    /// When they are exhausted no task begins, what does not fit any more is no result
    /// ([`TaskError::TooManyBytes`](super::TaskError::TooManyBytes)), and an answer counts as refused. Tasks that
    /// are there go on, and can end in another way.
    pub bytes: usize,
    /// Longest result of a task in bytes. Default 16 MiB.
    pub result_bytes: usize,
    /// Most things that one task may ask for in its life. Default 256.
    pub inputs: u32,
    /// Longest answer to one of them in bytes. Default 1 MiB.
    pub input_bytes: usize,
    /// Most tasks on one page of a list. Default 100.
    pub page_items: usize,
    /// A number that goes into every cursor. Take one that is hard to guess. Default 0.
    pub cursor_key: u64,
    /// Whether every change is told to whoever asked for the task, in a session. Default true; nobody may
    /// rely on it.
    pub notify: bool,
    /// In a session, what a task asks for leaves at once. If false it waits until its result is asked for,
    /// which opens a way for it on transports that have no other. Default true.
    pub ask_at_once: bool,
    /// Where there are no sessions, a task that somebody wants cancelled is cancelled there and then, as it
    /// has to be in a session. If false that is only a wish: the work goes on until
    /// [`Tasks::cancel`](super::Tasks::cancel) or anything else ends it. Default true.
    pub cancel_at_once: bool,
}

impl Default for TasksConfig {
    fn default() -> Self {
        Self {
            tasks: 10_000,
            tasks_of_owner: 1_000,
            ttl: Some(Duration::from_secs(3_600)),
            longest_ttl: Some(Duration::from_secs(24 * 3_600)),
            poll_interval: Duration::from_secs(1),
            bytes: 64 << 20,
            result_bytes: 16 << 20,
            inputs: 256,
            input_bytes: 1 << 20,
            page_items: 100,
            cursor_key: 0,
            notify: true,
            ask_at_once: true,
            cancel_at_once: true,
        }
    }
}

impl TasksConfig {
    /// How long a task is kept.
    pub(super) fn kept_for(&self, requested: Option<Duration>) -> Option<Duration> {
        match (requested.or(self.ttl), self.longest_ttl) {
            (Some(ttl), Some(longest)) => Some(ttl.min(longest)),
            (ttl, longest) => ttl.or(longest),
        }
    }
}
