//! `NewTask`: the options of a new task.

use alloc::string::String;
use core::time::Duration;

use crate::capability::CapabilitySet;
use crate::dialect::Kept;
use crate::dialect::methods::RequestKind;
use crate::handle::{ConnectionNumber, Requestor};
use crate::version::Revision;

/// The options of a new task.
///
/// The id of a task gives access to its result, unless requestors can be distinguished
/// ([`Requestor`](crate::request::Requestor)). Make it of at least 128 random bits, and never reuse it.
/// [`id_of`](Self::id_of) does that.
///
/// ```
/// use core::time::Duration;
/// use mcp_sansio::task::NewTask;
///
/// // Take these from the operating system.
/// let random = [7; 16];
/// let task = NewTask::new(NewTask::id_of(random)).poll_interval(Duration::from_secs(5));
/// assert_eq!(task.id(), "07070707070707070707070707070707");
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
#[must_use]
pub struct NewTask {
    pub(crate) id: String,
    pub(crate) ttl: Option<Option<Duration>>,
    pub(crate) poll_interval: Option<Duration>,
    pub(crate) message: Option<String>,
    pub(crate) checkpoint: Option<String>,
    pub(crate) immediate_response: Option<String>,
}

impl NewTask {
    /// Returns the options of a task with this id.
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            ttl: None,
            poll_interval: None,
            message: None,
            checkpoint: None,
            immediate_response: None,
        }
    }

    /// Returns an id made of random bytes: 32 hexadecimal digits.
    pub fn id_of(random: [u8; 16]) -> String {
        let nibbles = random.iter().flat_map(|byte| [byte >> 4, byte & 15]);
        nibbles.filter_map(|nibble| char::from_digit(nibble.into(), 16)).collect()
    }

    /// The id of the task.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Sets how long the task is kept from now on; `None` means forever. It overrides the requested time.
    pub const fn ttl(mut self, ttl: Option<Duration>) -> Self {
        self.ttl = Some(ttl);
        self
    }

    /// Sets the recommended time between two polls of the task.
    pub const fn poll_interval(mut self, interval: Duration) -> Self {
        self.poll_interval = Some(interval);
        self
    }

    /// Sets the initial status message, for people.
    pub fn message(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self
    }

    /// Sets a text with which another process can continue the work, such as the arguments of the tool. It is kept in the
    /// [`TaskRecord`](super::TaskRecord), and never sent. See [`TaskSharing::set_checkpoint`](crate::task::TaskSharing::set_checkpoint).
    pub fn checkpoint(mut self, checkpoint: impl Into<String>) -> Self {
        self.checkpoint = Some(checkpoint.into());
        self
    }

    /// Sets a text for the model until the result is available. Only in 2025-11-25; ignored in other revisions.
    pub fn immediate_response(mut self, text: impl Into<String>) -> Self {
        self.immediate_response = Some(text.into());
        self
    }
}

/// Omits the id, which is secret.
impl core::fmt::Debug for NewTask {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        formatter
            .debug_struct("NewTask")
            .field("ttl", &self.ttl)
            .field("poll_interval", &self.poll_interval)
            .finish_non_exhaustive()
    }
}

/// The request that a task is begun for, and its context.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    pub(crate) kind: RequestKind,
    pub(crate) revision: Revision,
    pub(crate) capabilities: CapabilitySet,
    pub(crate) owner: Requestor,
    pub(crate) connection: ConnectionNumber,
    /// The requested time to keep the task.
    pub(crate) ttl: Option<Duration>,
    /// The parts of the request that the result is checked against.
    pub(crate) kept: Kept,
    /// The literal of the progress token, or an empty string.
    pub(crate) token: String,
}
