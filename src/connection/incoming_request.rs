//! `IncomingRequest`: a request of the peer that has been checked.

use super::context::RequestContext;
use super::outboxes::Received;
use crate::json::{Object, Str};
use crate::rpc::Id;

/// A request that is not in the table yet.
#[derive(Clone, Debug)]
pub(crate) struct IncomingRequest<'e, 'a> {
    pub(crate) id: Id<'a>,
    pub(crate) method: Str<'a>,
    pub(crate) params: Option<Object<'e, 'a>>,
    pub(crate) meta: Option<Object<'e, 'a>>,
    /// The rules under which it is served, once that is known.
    pub(crate) context: RequestContext,
    /// It passes without being looked at.
    pub(super) is_relayed: bool,
    /// The batch that it came in, and everything else that came with it.
    pub(crate) received: Received,
    /// The whole frame.
    pub(super) bytes: &'a [u8],
}

impl<'a> IncomingRequest<'_, 'a> {
    /// The params as JSON text.
    pub(crate) fn params_text(&self) -> Option<&'a str> {
        self.params.as_ref().map(Object::text)
    }

    /// A member of the params.
    pub(crate) fn param(&self, name: &str) -> Option<&'a str> {
        self.params.as_ref()?.get(name)
    }

    /// A member of the `_meta` of the params.
    pub(super) fn in_meta(&self, name: &str) -> Option<&'a str> {
        self.meta.as_ref()?.get(name)
    }
}
