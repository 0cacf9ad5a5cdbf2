//! [`Record`]: a session in the store.

use mcp_sansio::http::{SavedHttpSession, SessionId};
use serde::{Deserialize, Serialize};

use crate::store::StoreError;

/// A session in the store: its state, and the node that serves it.
#[derive(Serialize, Deserialize)]
pub(crate) struct Record {
    /// The node that serves the session; empty if it has left.
    pub(crate) node: String,
    /// The address of that node.
    pub(crate) address: String,
    pub(crate) session: SavedHttpSession,
}

impl Record {
    /// The record of a session that the next node serves that gets a request.
    pub(crate) fn without_node(session: SavedHttpSession) -> Self {
        Self { node: String::new(), address: String::new(), session }
    }

    pub(crate) fn key(id: SessionId) -> String {
        format!("session/{id}")
    }

    pub(crate) fn parse(value: &[u8]) -> Result<Self, StoreError> {
        serde_json::from_slice(value).map_err(StoreError::new)
    }

    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>, StoreError> {
        serde_json::to_vec(self).map_err(StoreError::new)
    }
}
