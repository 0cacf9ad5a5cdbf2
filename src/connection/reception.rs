//! `Reception`: what is known of the message that is being received.

use super::outboxes::Received;
use crate::rpc::ResultType;

/// What is known of a message beside its text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reception {
    /// What came with it.
    pub(super) received: Received,
    /// What kind of result a response holds.
    pub(super) result_type: ResultType,
}

impl From<Received> for Reception {
    fn from(received: Received) -> Self {
        Self { received, result_type: ResultType::Absent }
    }
}
