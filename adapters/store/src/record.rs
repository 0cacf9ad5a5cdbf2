//! [`Record`]: a session in the store.

use mcp_sansio::http::{SavedHttpSession, SessionId};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::store::StoreError;

/// A session in the store: its state, and the node that serves it.
///
/// A record that was read has the state as JSON. Another release may have written it in a format that only its own node
/// can read, to which requests are passed on.
#[derive(Serialize, Deserialize)]
pub(crate) struct Record<S = Box<RawValue>> {
    /// The node that serves the session; empty if it has left.
    pub(crate) node: String,
    /// The address of that node.
    pub(crate) address: String,
    pub(crate) session: S,
}

impl Record {
    pub(crate) fn key(id: SessionId) -> String {
        format!("session/{id}")
    }

    pub(crate) fn parse(value: &[u8]) -> Result<Self, StoreError> {
        serde_json::from_slice(value).map_err(StoreError::new)
    }

    /// Reads the state of the session.
    pub(crate) fn saved(&self) -> Result<SavedHttpSession, serde_json::Error> {
        serde_json::from_str(self.session.get())
    }
}

impl<S: Serialize> Record<S> {
    /// The record of a session that the next node serves that gets a request.
    pub(crate) const fn without_node(session: S) -> Self {
        Self { node: String::new(), address: String::new(), session }
    }

    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>, StoreError> {
        serde_json::to_vec(self).map_err(StoreError::new)
    }
}
