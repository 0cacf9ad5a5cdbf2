//! [`StoredTask`]: a task in the store.

use std::fmt::Write;
use std::time::Duration;

use mcp_sansio::request::Requestor;
use mcp_sansio::task::TaskRecord;
use mcp_sansio::{Instant, task::TaskView};
use serde::{Deserialize, Serialize};

use crate::store::StoreError;
use crate::storing::LONGEST_LIFETIME;

/// The longest id of a task that is stored, in bytes.
pub(super) const LONGEST_ID: usize = 256;

/// How long a record outlives its task: the clocks of nodes differ.
pub(super) const MARGIN: Duration = Duration::from_secs(60);

/// A task in the store: its state, and its owner.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredTask {
    /// The node that works on the task; empty if it has left.
    pub(super) node: String,
    /// The address of that node.
    pub(super) address: String,
    pub(super) task: TaskRecord,
}

impl StoredTask {
    pub(super) fn parse(value: &[u8]) -> Result<Self, StoreError> {
        serde_json::from_slice(value).map_err(StoreError::new)
    }

    pub(super) fn to_bytes(&self) -> Result<Vec<u8>, StoreError> {
        serde_json::to_vec(self).map_err(StoreError::new)
    }
}

/// Returns the key of a task. Keys have no characters but letters, digits, `/` and `-`, so another id is encoded.
pub(super) fn key_of(id: &str) -> Option<String> {
    if LONGEST_ID < id.len() || id.is_empty() {
        return None;
    }
    if id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Some(format!("task/{id}"));
    }
    let mut key = "task/-".to_owned();
    for byte in id.bytes() {
        // Writing into a string cannot fail.
        _ = write!(key, "{byte:02x}");
    }
    Some(key)
}

/// Returns the key of the list of the tasks of a requestor. `None` if nothing lists them.
pub(super) fn list_key(requestor: Requestor) -> Option<String> {
    match requestor {
        Requestor::Principal(principal) => {
            Some(format!("tasks-of/principal-{:016x}", principal.get()))
        }
        Requestor::Session(number) => Some(format!("tasks-of/session-{number:016x}")),
        _ => None,
    }
}

/// Returns how long the record of a task is stored; `None` means always.
pub(super) fn lifetime(task: &TaskView<'_>, now: Instant) -> Option<Duration> {
    let end = task.created() + task.ttl()?;
    Some((end - now).saturating_add(MARGIN).min(LONGEST_LIFETIME))
}
