//! `Resumed`: a request whose inputs have all been answered by its client.

use alloc::string::String;

use crate::dialect::methods::RequestKind;
use crate::handle::IncomingId;

/// A request whose client has answered everything.
#[derive(Debug)]
pub(crate) struct Resumed {
    pub(crate) id: IncomingId,
    pub(crate) kind: Option<RequestKind>,
    pub(crate) params: Option<String>,
    pub(crate) inputs: String,
    pub(crate) state: Option<String>,
}
