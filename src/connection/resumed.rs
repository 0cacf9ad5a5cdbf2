//! `Resumed`: a request whose inputs are complete.

use alloc::string::String;

use crate::dialect::methods::RequestKind;
use crate::handle::IncomingId;

/// A request whose client has given all required inputs.
#[derive(Debug)]
pub(crate) struct Resumed {
    pub(crate) id: IncomingId,
    pub(crate) kind: Option<RequestKind>,
    pub(crate) params: Option<String>,
    pub(crate) inputs: String,
    pub(crate) state: Option<String>,
}
