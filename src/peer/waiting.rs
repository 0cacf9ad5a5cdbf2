//! `Waiting`: a message that is held until the session is open.

use super::outlets::Lane;
use crate::handle::CallId;

/// What is known of a message that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Waiting {
    pub(super) lane: Lane,
    pub(super) call: Option<CallId>,
    /// The peer wants it, whatever it says.
    pub(super) is_wanted: bool,
}
