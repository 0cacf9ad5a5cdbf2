//! `TaskRecord`: a serializable snapshot of a task.

use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use serde::{Deserialize, Serialize};

use super::error::TaskError;
use super::key::TaskKey;
use super::record::{
    Asking, BegunFor, Links, Record, State, StoredError, StoredResult, TaskInputs, Wanted, Work,
};
use super::status::Status;
use super::tasks::Tasks;
use crate::capability::{Capability, CapabilitySet, Owner};
use crate::codes::ErrorCode;
use crate::dialect::Kept;
use crate::dialect::methods::RequestKind;
use crate::handle::{Principal, Requestor};
use crate::json::{Kind, Raw};
use crate::time::Instant;
use crate::version::Revision;

/// The complete state of a task, for continuing it in another process. Store it as a row of a table, a file, or a
/// value of a key, in any format that serde supports.
///
/// Times count from the epoch of the caller, so use an epoch that outlives the process, such as the Unix epoch. Links
/// to connections (waiting requests, progress, input requests in flight) are not included. A record holds payloads
/// and an id that has to be kept secret.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TaskRecord {
    id: String,
    owner: u64,
    /// The kind of number in `owner`.
    #[serde(default)]
    owner_kind: OwnerKind,
    serial: u64,
    request: RequestRecord,
    times: TimesRecord,
    message: Option<String>,
    #[serde(default)]
    checkpoint: Option<String>,
    status: String,
    cancel_requested: bool,
    /// The result, JSON.
    result: Option<String>,
    error: Option<ErrorRecord>,
    wanted: Vec<WantedRecord>,
    used_keys: Vec<String>,
}

/// The request that the task was begun for.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct RequestRecord {
    method: String,
    revision: String,
    capabilities: Vec<String>,
    /// The schema of the elicitation form, JSON.
    form: Option<String>,
    /// Whether the request is an elicitation by URL, whose result has no content.
    #[serde(default)]
    visit: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct TimesRecord {
    created_ns: u64,
    updated_ns: u64,
    ttl_ms: Option<u64>,
    poll_interval_ms: Option<u64>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum OwnerKind {
    #[default]
    Principal,
    /// The requestor returns to the task if its session is restored as well.
    Session,
    Unknown,
}

#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct ErrorRecord {
    code: i64,
    message: String,
    /// The data, JSON.
    data: Option<String>,
}

#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct WantedRecord {
    key: String,
    method: String,
    /// The params, JSON, or an empty string.
    params: String,
    is_open: bool,
    /// The response, JSON.
    answer: Option<String>,
}

/// The reason why a task could not be restored. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// The record was not written by this crate, or was modified. Contains the name of the field.
    #[error("the record of a task has a wrong {0}")]
    Corrupt(&'static str),
    /// A task with this id exists, or one with the same owner and serial number.
    #[error("the task is there already")]
    Present,
    /// The maximum number of tasks is reached.
    #[error("there are too many tasks (TasksConfig::tasks, TasksConfig::tasks_of_owner)")]
    TooManyTasks,
    /// The task would exceed [`TasksConfig::bytes`](super::TasksConfig::bytes) together with the other tasks.
    #[error("too many bytes are kept for tasks (TasksConfig::bytes)")]
    TooManyBytes,
}

impl core::fmt::Debug for TaskRecord {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        formatter
            .debug_struct("TaskRecord")
            .field("serial", &self.serial)
            .field("method", &self.request.method)
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}

impl TaskRecord {
    /// The id of the task.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The time at which the task expires; `None` if it never does.
    pub fn expires_at(&self) -> Option<Instant> {
        let ttl = Duration::from_millis(self.times.ttl_ms?);
        Some(Instant::from_nanos(self.times.created_ns) + ttl)
    }

    /// Leaves out what [`TaskSharing::merge`](crate::task::TaskSharing::merge) does not read, so that a copy with a change is small: the message, the checkpoint, and
    /// what the requests for input contain.
    #[must_use]
    pub fn requests(mut self) -> Self {
        (self.message, self.checkpoint, self.used_keys) = (None, None, Vec::new());
        for wanted in &mut self.wanted {
            wanted.params.clear();
        }
        self
    }

    fn of(record: &Record) -> Self {
        let millis = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        let nanos =
            |instant: Instant| u64::try_from(instant.since_epoch().as_nanos()).unwrap_or(u64::MAX);
        let (result, error) = match &record.state {
            State::Completed(result) => (Some(String::from(result.as_json())), None),
            State::Failed(error) => (None, Some(ErrorRecord::of(error))),
            State::Working | State::InputRequired | State::Cancelled => (None, None),
        };
        let (owner_kind, owner) = match record.owner {
            Requestor::Principal(principal) => (OwnerKind::Principal, principal.get()),
            Requestor::Session(number) => (OwnerKind::Session, number),
            Requestor::Unknown(number) => (OwnerKind::Unknown, number),
        };
        Self {
            id: record.id.clone(),
            owner,
            owner_kind,
            serial: record.serial,
            request: RequestRecord::of(&record.request),
            times: TimesRecord {
                created_ns: nanos(record.created),
                updated_ns: nanos(record.updated),
                ttl_ms: record.ttl.map(millis),
                poll_interval_ms: record.poll_interval.map(millis),
            },
            message: record.message().map(String::from),
            checkpoint: record.work.checkpoint.clone(),
            status: String::from(record.status().name()),
            cancel_requested: record.work.cancel_requested,
            result,
            error,
            wanted: record.inputs.wanted.iter().map(WantedRecord::of).collect(),
            used_keys: record.inputs.used_keys.clone(),
        }
    }

    pub(super) fn read(self) -> Result<Record, RestoreError> {
        use RestoreError::Corrupt;
        let request = self.request.read()?;
        let state = match Status::from_name(&self.status).ok_or(Corrupt("status"))? {
            Status::Working => State::Working,
            Status::InputRequired => State::InputRequired,
            Status::Completed => {
                let result = self.result.filter(|result| is_json(result, Kind::Object));
                let result = result.ok_or(Corrupt("result"))?;
                State::Completed(StoredResult::new(request.kind, result))
            }
            Status::Failed => State::Failed(self.error.ok_or(Corrupt("error"))?.read()?),
            Status::Cancelled => State::Cancelled,
        };
        let wanted: Vec<Wanted> =
            self.wanted.into_iter().map(WantedRecord::read).collect::<Result<_, _>>()?;
        // A task is in `InputRequired` exactly while an input is open.
        if wanted.iter().any(Wanted::is_open) != matches!(state, State::InputRequired) {
            return Err(Corrupt("wanted"));
        }
        // The message of an error is stored once.
        let message = match &state {
            State::Failed(error) => self.message.filter(|message| *message != error.message),
            _ => self.message,
        };
        let owner = match self.owner_kind {
            OwnerKind::Principal => Requestor::Principal(Principal::new(self.owner)),
            OwnerKind::Session => Requestor::Session(self.owner),
            OwnerKind::Unknown => Requestor::Unknown(self.owner),
        };
        Ok(Record {
            id: self.id,
            owner,
            serial: self.serial,
            request,
            created: Instant::from_nanos(self.times.created_ns),
            updated: Instant::from_nanos(self.times.updated_ns),
            ttl: self.times.ttl_ms.map(Duration::from_millis),
            poll_interval: self.times.poll_interval_ms.map(Duration::from_millis),
            message,
            state,
            work: Work { cancel_requested: self.cancel_requested, checkpoint: self.checkpoint },
            inputs: TaskInputs { wanted, used_keys: self.used_keys },
            counted: 0,
            links: Links::default(),
        })
    }
}

impl RequestRecord {
    fn of(request: &BegunFor) -> Self {
        Self {
            method: String::from(request.kind.rule().name),
            revision: String::from(request.revision.name()),
            capabilities: request.capabilities.iter().map(|one| one.path().into()).collect(),
            form: request.kept.form().map(String::from),
            visit: request.kept == kept_of_visit(request.revision),
        }
    }

    fn read(self) -> Result<BegunFor, RestoreError> {
        use RestoreError::Corrupt;
        let kind = RequestKind::named(&self.method)
            .filter(|kind| kind.task_capability().is_some())
            .ok_or(Corrupt("method"))?;
        let revision = Revision::from_name(&self.revision).ok_or(Corrupt("revision"))?;
        // A client begins tasks for a server, and a server for a client.
        let owner = if kind == RequestKind::CallTool { Owner::Client } else { Owner::Server };
        let capabilities = self.capabilities.iter().map(|path| {
            let is_it = |one: &&Capability| one.owner() == owner && one.path() == path;
            Capability::ALL.iter().find(is_it).copied().ok_or(Corrupt("capabilities"))
        });
        let capabilities = capabilities.collect::<Result<CapabilitySet, _>>()?;
        if self.form.as_ref().is_some_and(|form| !is_json(form, Kind::Object)) {
            return Err(Corrupt("form"));
        }
        if self.visit && (kind != RequestKind::Elicit || self.form.is_some()) {
            return Err(Corrupt("visit"));
        }
        let kept = match self.form {
            Some(form) => Kept::of_form(form),
            None if self.visit => kept_of_visit(revision),
            None => Kept::default(),
        };
        Ok(BegunFor { kind, revision, capabilities, kept })
    }
}

/// Returns what is kept of an elicitation by URL.
fn kept_of_visit(revision: Revision) -> Kept {
    let mut kept = Kept::default();
    kept.keep(RequestKind::Elicit, r#"{"mode":"url","elicitationId":""}"#, revision, 0);
    kept
}

impl ErrorRecord {
    fn of(error: &StoredError) -> Self {
        let StoredError { code, message, data } = error;
        Self { code: code.get(), message: message.clone(), data: data.clone() }
    }

    fn read(self) -> Result<StoredError, RestoreError> {
        let Self { code, message, data } = self;
        if data.as_ref().is_some_and(|data| Raw::new(data).is_err()) {
            return Err(RestoreError::Corrupt("error"));
        }
        Ok(StoredError { code: ErrorCode::new(code), message, data })
    }
}

impl WantedRecord {
    fn of(wanted: &Wanted) -> Self {
        let answer = match &wanted.progress {
            Asking::Answered(answer) => Some(answer.clone()),
            _ => None,
        };
        Self {
            key: wanted.key.clone(),
            method: String::from(wanted.kind.rule().name),
            params: wanted.params.clone(),
            is_open: wanted.is_open(),
            answer,
        }
    }

    fn read(self) -> Result<Wanted, RestoreError> {
        let corrupt = RestoreError::Corrupt("wanted");
        let kind = RequestKind::named(&self.method).filter(|kind| kind.rule().is_input_request());
        let kind = kind.ok_or(corrupt)?;
        if !self.params.is_empty() && !is_json(&self.params, Kind::Object) {
            return Err(corrupt);
        }
        let progress = match self.answer {
            Some(answer) if !self.is_open && is_json(&answer, Kind::Object) => {
                Asking::Answered(answer)
            }
            Some(_) => return Err(corrupt),
            None if self.is_open => Asking::Waits,
            None => Asking::Refused,
        };
        Ok(Wanted { key: self.key, kind, params: self.params, progress })
    }
}

fn is_json(text: &str, kind: Kind) -> bool {
    Raw::new(text).is_ok_and(|raw| raw.kind() == kind)
}

/// # Persistence
///
/// To survive a crash, a program stores the record of a task whenever the task has changed, before it sends the
/// change to a peer. At its start it restores the stored records.
impl Tasks {
    /// Returns the record of a task to store. `None` if the task has been forgotten; then delete the stored record,
    /// too.
    pub fn save(&self, key: TaskKey) -> Option<TaskRecord> {
        self.record(key).map(TaskRecord::of)
    }

    /// Returns the records of all tasks, in the order in which they were begun.
    pub fn save_all(&self) -> impl Iterator<Item = TaskRecord> {
        let mut tasks: Vec<&Record> = self.records.iter().map(|(_, record)| record).collect();
        tasks.sort_unstable_by_key(|record| record.serial);
        tasks.into_iter().map(TaskRecord::of)
    }

    /// Restores a task. In the legacy era its open input is requested again once its requestor asks for the result
    /// (`tasks/result`); in the modern era `tasks/get` returns the open input. A task that has expired is forgotten by
    /// the next [`handle_timeout`](Self::handle_timeout).
    ///
    /// # Errors
    ///
    /// [`RestoreError`] if the task was not restored.
    pub fn restore(&mut self, record: TaskRecord) -> Result<TaskKey, RestoreError> {
        /// Larger than any process reaches, and small enough to count on from.
        const LAST_SERIAL: u64 = u64::MAX / 2;
        let mut record = record.read()?;
        // Two processes may have chosen the same number at the same time.
        while self.records.is_shared()
            && record.serial < LAST_SERIAL
            && self.records.has_serial(record.owner, record.serial)
        {
            record.serial += 1;
        }
        if LAST_SERIAL < record.serial {
            return Err(RestoreError::Corrupt("serial"));
        }
        if self.find(&record.id).is_some() || self.records.has_serial(record.owner, record.serial) {
            return Err(RestoreError::Present);
        }
        if record.id.is_empty() {
            return Err(RestoreError::Corrupt("id"));
        }
        // The next serial number must exist.
        let restored = self.records.insert(&self.config, record).map_err(|error| match error {
            TaskError::TooManyBytes => RestoreError::TooManyBytes,
            _ => RestoreError::TooManyTasks,
        })?;
        self.records.forget_change(restored);
        Ok(restored)
    }
}
