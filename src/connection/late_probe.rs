//! `LateProbe`: an answer to a probe that came after its time.

use super::event::Outcome;
use crate::rpc::Id;

/// What became of a question that had been given up.
#[derive(Debug)]
pub(crate) struct LateProbe<'a> {
    pub(crate) outcome: Outcome<'a>,
    pub(crate) id: Id<'a>,
}
