//! `TaskView`: a read-only view of a task, and its form in both eras.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use core::time::Duration;

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::record::{Asking, Record, State, StoredError, Wanted};
use super::status::Status;
use super::timestamp;
use crate::handle::Requestor;
use crate::json::{Raw, Str, member};
use crate::rpc::ErrorObject;
use crate::schema::serialized;
use crate::time::Instant;

/// A read-only view of a task.
#[derive(Clone, Copy, Debug)]
pub struct TaskView<'t>(pub(super) &'t Record);

impl<'t> TaskView<'t> {
    /// The id of the task.
    pub fn id(&self) -> &'t str {
        &self.0.id
    }

    /// The requestor of the task. No other requestor can reach it, except that unknown requestors
    /// ([`Requestor::Unknown`]) reach each other's tasks by id.
    pub const fn owner(&self) -> Requestor {
        self.0.owner
    }

    /// The method of the request that began the task.
    pub fn method(&self) -> &'static str {
        self.0.request.kind.rule().name
    }

    /// The status of the task. A task whose tool has failed is completed; in a session such a task is shown as
    /// failed.
    pub const fn status(&self) -> Status {
        self.0.status()
    }

    /// The status message, for people.
    pub fn message(&self) -> Option<&'t str> {
        self.0.message()
    }

    /// The text with which another process can continue the work ([`NewTask::checkpoint`](super::NewTask::checkpoint)).
    pub fn checkpoint(&self) -> Option<&'t str> {
        self.0.work.checkpoint.as_deref()
    }

    /// The time at which the task was begun.
    pub const fn created(&self) -> Instant {
        self.0.created
    }

    /// The time of the last change.
    pub const fn updated(&self) -> Instant {
        self.0.updated
    }

    /// How long the task is kept from its beginning; `None` means forever.
    pub const fn ttl(&self) -> Option<Duration> {
        self.0.ttl
    }

    /// The recommended time between two polls of the task.
    pub const fn poll_interval(&self) -> Option<Duration> {
        self.0.poll_interval
    }

    /// Whether the requestor has asked to cancel the task.
    pub const fn is_cancel_requested(&self) -> bool {
        self.0.work.cancel_requested
    }

    /// The result of a completed task.
    pub fn result(&self) -> Option<Raw<'t>> {
        match &self.0.state {
            State::Completed(result) => Some(Raw::trusted(result.as_json())),
            _ => None,
        }
    }

    /// The error of a failed task.
    pub fn error(&self) -> Option<ErrorObject<'t>> {
        let State::Failed(StoredError { code, message, data }) = &self.0.state else { return None };
        let (message, data) = (Str::from(&**message), data.as_deref().map(Raw::trusted));
        Some(ErrorObject { code: *code, message, data })
    }

    /// The responses to the input that the task asked for last: an object with one response under each key. A key
    /// without a response was refused, or is still open. The responses stay until all keys are settled and the task
    /// asks for other input.
    pub fn inputs(&self) -> Raw<'static> {
        let answered = self.0.inputs.wanted.iter().filter_map(|wanted| match &wanted.progress {
            Asking::Answered(answer) => Some((&*wanted.key, &**answer)),
            _ => None,
        });
        Raw::trusted(&crate::schema::object_of(answered)).into_owned()
    }

    /// The keys of the input that the task is waiting for.
    pub fn waits_for(&self) -> impl Iterator<Item = &'t str> {
        self.0.inputs.wanted.iter().filter(|wanted| wanted.is_open()).map(|wanted| &*wanted.key)
    }
}

/// A task in the form of 2025-11-25, the legacy form.
pub(crate) struct InSession<'t>(pub(crate) &'t Record);

serialized! { InSession<'_> }

impl Serialize for InSession<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        in_session(self.0, self.0.status_in_session(), serializer)
    }
}

fn in_session<S: Serializer>(
    record: &Record,
    status: Status,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut task = serializer.serialize_map(None)?;
    begin(&mut task, record, (status, record.message_in_session()))?;
    task.serialize_entry("ttl", &record.ttl.map(millis))?;
    if let Some(interval) = record.poll_interval {
        task.serialize_entry("pollInterval", &millis(interval))?;
    }
    task.end()
}

/// A task in its initial state. Later changes are reported separately.
struct New<'t>(&'t Record);

impl Serialize for New<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        in_session(self.0, Status::Working, serializer)
    }
}

/// The response to a request that has become a task, in the legacy form.
pub(crate) struct CreatedInSession<'t> {
    pub(crate) task: &'t Record,
    pub(crate) immediate_response: Option<&'t str>,
}

struct ImmediateResponse<'t>(&'t str);

impl Serialize for ImmediateResponse<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        const KEY: &str = "io.modelcontextprotocol/model-immediate-response";
        let mut meta = serializer.serialize_map(Some(1))?;
        meta.serialize_entry(KEY, self.0)?;
        meta.end()
    }
}

serialized! { CreatedInSession<'_> }

impl Serialize for CreatedInSession<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut result = serializer.serialize_map(None)?;
        result.serialize_entry("task", &New(self.task))?;
        if let Some(text) = self.immediate_response {
            result.serialize_entry("_meta", &ImmediateResponse(text))?;
        }
        result.end()
    }
}

/// A task in the form of the tasks extension, the modern form.
pub(crate) struct InModernEra<'t> {
    pub(crate) task: &'t Record,
    /// Whether to include the requested input, and the result or error.
    pub(crate) detailed: bool,
}

impl InModernEra<'_> {
    /// A lower bound of the length of the task: see [`State::least_bytes`].
    pub(crate) fn least_bytes(&self) -> usize {
        let shown = if self.detailed { self.task.state.least_bytes() } else { 0 };
        self.task.id.len() + shown
    }
}

serialized! { InModernEra<'_> }

impl Serialize for InModernEra<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let record = self.task;
        let mut task = serializer.serialize_map(None)?;
        begin(&mut task, record, (record.status(), record.message()))?;
        task.serialize_entry("ttlMs", &record.ttl.map(millis))?;
        if let Some(interval) = record.poll_interval {
            task.serialize_entry("pollIntervalMs", &millis(interval).max(1))?;
        }
        match &record.state {
            _ if !self.detailed => {}
            State::InputRequired => {
                task.serialize_entry("inputRequests", &Requests(&record.inputs.wanted))?;
            }
            State::Completed(result) => {
                let result = modern_result(record, result.as_json());
                task.serialize_entry("result", &Raw::trusted(&result))?;
            }
            State::Failed(error) => task.serialize_entry("error", error)?,
            State::Working | State::Cancelled => {}
        }
        task.end()
    }
}

/// Writes the members that both forms share.
fn begin<M: SerializeMap>(
    task: &mut M,
    record: &Record,
    (status, message): (Status, Option<&str>),
) -> Result<(), M::Error> {
    task.serialize_entry("taskId", &record.id)?;
    task.serialize_entry("status", status.name())?;
    if let Some(message) = message {
        task.serialize_entry("statusMessage", message)?;
    }
    task.serialize_entry("createdAt", &timestamp::written(record.created))?;
    task.serialize_entry("lastUpdatedAt", &timestamp::written(record.updated))
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// The open input requests of a task, in the modern form.
struct Requests<'t>(&'t [Wanted]);

struct Request<'t>(&'t Wanted);

impl Serialize for Requests<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let open = self.0.iter().filter(|wanted| wanted.is_open());
        serializer.collect_map(open.map(|wanted| (&wanted.key, Request(wanted))))
    }
}

impl Serialize for Request<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut request = serializer.serialize_map(None)?;
        request.serialize_entry("method", self.0.kind.rule().name)?;
        if !self.0.params.is_empty() {
            request.serialize_entry("params", &Raw::trusted(&self.0.params))?;
        }
        request.end()
    }
}

impl Serialize for StoredError {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut error = serializer.serialize_map(None)?;
        error.serialize_entry("code", &self.code.get())?;
        error.serialize_entry("message", &self.message)?;
        if let Some(data) = &self.data {
            error.serialize_entry("data", &Raw::trusted(data))?;
        }
        error.end()
    }
}

/// Returns the result of a task in the modern form, with exactly one `resultType`. The result of a task of a session can
/// contain such a member of the application, which is replaced, as in a result of the modern era.
fn modern_result<'t>(task: &Record, result: &'t str) -> Cow<'t, str> {
    if task.is_of_session() && member(result, "resultType").is_some() {
        let complete = Raw::trusted(r#""complete""#);
        let edited = Raw::trusted(result).edited(&[("resultType", Some(complete))]);
        return Cow::Owned(String::from(edited.as_json()));
    }
    match result.strip_prefix('{').filter(|_| task.is_of_session()) {
        Some("}") => Cow::Owned(format!("{KIND}}}")),
        Some(rest) => Cow::Owned(format!("{KIND},{rest}")),
        None => Cow::Borrowed(result),
    }
}

/// The beginning of the stored result of a task that was begun in the modern era.
const KIND: &str = r#"{"resultType":"complete""#;

/// Returns the result of a task in the legacy form. A task of the modern era has a result that begins with
/// `resultType`, which is removed.
pub(crate) fn result_in_session<'t>(task: &Record, result: &'t str) -> Cow<'t, str> {
    match result.strip_prefix(KIND).filter(|_| !task.is_of_session()) {
        Some(rest) => Cow::Owned(format!("{{{}", rest.strip_prefix(',').unwrap_or(rest))),
        None => Cow::Borrowed(result),
    }
}

/// The metadata that relates a message to a task, as a JSON literal.
pub(crate) fn related(id: &str) -> String {
    let mut text = String::from(r#"{"taskId":"#);
    text.push_str(Raw::from_serialize(id).unwrap_or(Raw::NULL).as_json());
    text.push('}');
    text
}
