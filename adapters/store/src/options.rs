//! [`NodeOptions`]: the options of a node.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use mcp_sansio_http::TaskHandle;

/// A function that gets errors.
pub type OnError = Arc<dyn Fn(&dyn fmt::Display) + Send + Sync>;

/// A function that continues the work of a task from its checkpoint. It must not block: the work is a task or a thread of its
/// own, to which the handle goes.
pub type ResumeTask = Arc<dyn Fn(TaskHandle, String) + Send + Sync>;

/// The options of a [`Node`](crate::Node).
#[derive(Clone)]
#[non_exhaustive]
pub struct NodeOptions {
    /// How long the state of a session is stored after it was last written, which is done at least every quarter of that
    /// while the session is served. Default 1 h. It must be longer than
    /// [`HttpServerConfig::session_idle`](mcp_sansio::http::HttpServerConfig::session_idle), which ends sessions at the node
    /// that serves them.
    pub session_lifetime: Duration,
    /// How often the node gives a sign of life. Default 1 s.
    pub beat: Duration,
    /// After which time without a sign of life the other nodes take its sessions over, and after which time in which this node
    /// could not reach another one. Default 5 s, and at most a day. All nodes have the same value, at least four times as
    /// long as [`beat`](Self::beat).
    pub silence: Duration,
    /// The maximum length of the body of a request that is passed on to another node. Default 4 MiB; a longer one is
    /// refused with 413.
    pub body_bytes: usize,
    /// The time limit for such a body. Default 2 min; a slower one is refused with 408, and so is a pause of 30 s.
    pub body_within: Duration,
    /// The maximum number of bytes of all such bodies together. Default 256 MiB; beyond it a request gets 503. They do not
    /// count for [`EndpointOptions::bytes`](mcp_sansio_http::EndpointOptions::bytes).
    pub forwarded_bytes: usize,
    /// The function that continues the work of a task whose node has ended, from its
    /// [checkpoint](mcp_sansio::task::NewTask::checkpoint). Default none: such a task fails, as does one without a checkpoint.
    pub resume_task: Option<ResumeTask>,
    /// How often a task of another node is looked at while a request or a subscription waits for it. Default 500 ms.
    pub task_refresh: Duration,
    /// The function that gets the errors of the store and of other nodes. The client gets 503. A panic of
    /// the function is caught. Default none.
    pub on_error: OnError,
}

impl Default for NodeOptions {
    fn default() -> Self {
        Self {
            session_lifetime: Duration::from_secs(3600),
            beat: Duration::from_secs(1),
            silence: Duration::from_secs(5),
            body_bytes: 4 << 20,
            body_within: Duration::from_secs(120),
            forwarded_bytes: 256 << 20,
            resume_task: None,
            task_refresh: Duration::from_millis(500),
            on_error: Arc::new(|_| {}),
        }
    }
}

impl NodeOptions {
    /// Creates the default options.
    pub fn new() -> Self {
        Self::default()
    }
}

impl fmt::Debug for NodeOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("NodeOptions")
            .field("session_lifetime", &self.session_lifetime)
            .field("beat", &self.beat)
            .field("silence", &self.silence)
            .finish_non_exhaustive()
    }
}
