//! The messages about tasks, in their wire form.

use std::fmt;

use crate::sessions::kit::Host;

/// A request that may become a task.
pub(crate) fn asking<H: Host>(id: &str, more: &str) -> String {
    let comma = if more.is_empty() { "" } else { "," };
    let (method, params) = (H::METHOD, H::PARAMS);
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params}{comma}{more}}}}}"#
    )
}

/// A request about a task: `get`, `result` or `cancel`.
pub(crate) fn about(id: &str, what: &str, task: &str) -> String {
    request(id, &format!("tasks/{what}"), &format!(r#""taskId":"{task}""#))
}

pub(crate) fn request(id: &str, method: &str, members: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{members}}}}}"#)
}

pub(crate) fn cancelled(id: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
    )
}

/// A response with this result.
pub(crate) fn result(id: &str, result: impl fmt::Display) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

/// The response with the result of a task, which names the task.
pub(crate) fn result_of<H: Host>(id: &str, task: &str) -> String {
    let members = H::RESULT.strip_suffix('}').unwrap();
    result(id, format!("{members},{}}}", related(task)))
}

/// The related-task metadata.
pub(crate) fn related(task: &str) -> String {
    format!(r#""_meta":{{"io.modelcontextprotocol/related-task":{{"taskId":"{task}"}}}}"#)
}

pub(crate) fn error(id: &str, code: i64, message: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"{message}"}}}}"#)
}

/// The error for an unknown task or a task of another requestor.
pub(crate) fn unknown(id: &str) -> String {
    error(id, -32602, "no such task")
}

/// The response to `tasks/result` of a cancelled task.
pub(crate) fn was_cancelled(id: &str) -> String {
    error(id, -32603, "the task was cancelled")
}

/// The notification of a changed task.
pub(crate) fn changed(task: impl fmt::Display) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{task}}}"#)
}

/// The cancellation of a request of a task.
pub(crate) fn dismissed(id: u32) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":"the task does not need it any more"}}}}"#
    )
}

/// A time in wire form: this many seconds after the tests begin.
pub(crate) fn time(seconds: u64) -> String {
    let all = 1_000 + seconds;
    let (hours, minutes, seconds) = (all / 3600, all / 60 % 60, all % 60);
    assert!(hours < 24, "the tests take less than a day");
    format!("1970-01-01T{hours:02}:{minutes:02}:{seconds:02}.000Z")
}

/// A task in wire form.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    id: &'static str,
    status: &'static str,
    message: Option<&'static str>,
    created: u64,
    updated: u64,
    ttl: String,
    poll: u64,
}

/// A task that began when the tests began, with the defaults.
pub(crate) fn shown(id: &'static str, status: &'static str) -> Shown {
    let ttl = String::from("3600000");
    Shown { id, status, message: None, created: 0, updated: 0, ttl, poll: 1_000 }
}

impl Shown {
    pub(crate) fn message(mut self, message: &'static str) -> Self {
        self.message = Some(message);
        self
    }

    pub(crate) fn begun(mut self, seconds: u64) -> Self {
        (self.created, self.updated) = (seconds, seconds);
        self
    }

    pub(crate) fn updated(mut self, seconds: u64) -> Self {
        self.updated = seconds;
        self
    }

    pub(crate) fn ttl(mut self, ttl: &str) -> Self {
        self.ttl = ttl.into();
        self
    }

    pub(crate) fn poll(mut self, milliseconds: u64) -> Self {
        self.poll = milliseconds;
        self
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, status, message, created, updated, ttl, poll } = self;
        write!(formatter, r#"{{"taskId":"{id}","status":"{status}","#)?;
        if let Some(message) = message {
            write!(formatter, r#""statusMessage":"{message}","#)?;
        }
        let (created, updated) = (time(*created), time(*updated));
        write!(formatter, r#""createdAt":"{created}","lastUpdatedAt":"{updated}","#)?;
        write!(formatter, r#""ttl":{ttl},"pollInterval":{poll}}}"#)
    }
}
