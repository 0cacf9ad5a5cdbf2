//! `TasksConfig`: the limits and policies of tasks.

use core::time::Duration;

/// The limits and policies of tasks.
///
/// With every limit reached, [`Tasks`](super::Tasks) hold `2 * bytes + tasks * (token_bytes + 1_250)` bytes, plus 100
/// for each request or subscription that waits for a task. [`token_bytes`](crate::Limits::token_bytes) is a limit of
/// the connection. With the defaults, the total is 143 MiB.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct TasksConfig {
    /// The maximum number of tasks. Default 10,000.
    pub tasks: u32,
    /// The maximum number of tasks of one [requestor](crate::request::Requestor). Default 1,000. Unknown requestors
    /// are counted by their origin.
    pub tasks_of_owner: u32,
    /// How long a task is kept from its beginning, if the requestor does not specify it. Default 1 h; `None` means as
    /// long as [`longest_ttl`](Self::longest_ttl).
    pub ttl: Option<Duration>,
    /// The maximum time that a task is kept, even if the requestor asks for more. Default 24 h; `None` means no
    /// maximum. A task never expires if both times are `None` and the requestor does not specify one.
    pub longest_ttl: Option<Duration>,
    /// The recommended time between two polls of a task. Default 1 s.
    pub poll_interval: Duration,
    /// The maximum bytes of all tasks together: results, errors, required input, responses and messages. Each input
    /// counts as 128 bytes beside its texts. Default 64 MiB: four of the longest results.
    ///
    /// With the limit reached, no task begins, a result or a message that does not fit is refused
    /// ([`TaskError::TooManyBytes`](super::TaskError::TooManyBytes)), and a response to required input counts as
    /// refused. Existing tasks continue, and can end in another way: the message of an error is cut to the bytes that
    /// are left, but not below 200 bytes.
    pub bytes: usize,
    /// The maximum length of a result in bytes. Default 16 MiB.
    pub result_bytes: usize,
    /// The maximum number of inputs that one task may require in its life. Default 256.
    pub inputs: u32,
    /// The maximum length of a response to required input, in bytes. Default 1 MiB.
    pub input_bytes: usize,
    /// The maximum number of tasks on one page of a list. Default 100.
    pub page_items: usize,
    /// A number that goes into every cursor. Choose one that is hard to guess. Default 0.
    pub cursor_key: u64,
    /// Whether the requestor is notified of every change, in a session. Default true. Peers must not rely on
    /// notifications.
    pub notify: bool,
    /// Whether a task in a session requests its input at once. If false, it waits for the request for its result,
    /// which opens a route for the input request on transports that have no other. Default true.
    pub ask_at_once: bool,
    /// Whether a `tasks/cancel` cancels the task at once in the modern era, as it must in a session. If false, it is
    /// only a request: the work continues until [`Tasks::cancel`](super::Tasks::cancel) or another command ends the
    /// task. Default true.
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
    /// Returns how long a task is kept.
    pub(super) fn kept_for(&self, requested: Option<Duration>) -> Option<Duration> {
        match (requested.or(self.ttl), self.longest_ttl) {
            (Some(ttl), Some(longest)) => Some(ttl.min(longest)),
            (ttl, longest) => ttl.or(longest),
        }
    }
}
