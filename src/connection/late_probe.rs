//! `LateProbe`: a response to the probe that arrived after its timeout.

use super::event::Outcome;
use crate::rpc::Id;

/// The late response to a `server/discover` probe that was given up.
#[derive(Debug)]
pub(crate) struct LateProbe<'a> {
    pub(crate) outcome: Outcome<'a>,
    pub(crate) id: Id<'a>,
}
