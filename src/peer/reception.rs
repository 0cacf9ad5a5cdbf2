//! `Reception`: the context of one message that is being received.

use super::ConnectionConfig;
use super::outlets::{Arrival, Outlets};
use crate::rpc::ResultType;

/// What goes through every step of receiving.
pub(super) struct Reception<'c, 'o> {
    pub(super) config: &'c ConnectionConfig,
    /// What kind of result a response holds.
    pub(super) result_type: ResultType,
    pub(super) arrival: Arrival,
    pub(super) out: &'o mut dyn Outlets,
}
