//! `Reception`: what is known of the message that is being received.

use super::outlets::Arrival;
use crate::rpc::ResultType;

/// What is known of a message beside its text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reception {
    /// What came with it.
    pub(super) arrival: Arrival,
    /// What kind of result a response holds.
    pub(super) result_type: ResultType,
}

impl From<Arrival> for Reception {
    fn from(arrival: Arrival) -> Self {
        Self { arrival, result_type: ResultType::Absent }
    }
}
