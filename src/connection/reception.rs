//! `Reception`: the context of the message that is being received.

use super::outboxes::Received;
use crate::rpc::ResultType;

/// The context of a received message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reception {
    /// The time, the route and the sender.
    pub(super) received: Received,
    /// The kind of result in a response.
    pub(super) result_type: ResultType,
}

impl From<Received> for Reception {
    fn from(received: Received) -> Self {
        Self { received, result_type: ResultType::Absent }
    }
}
