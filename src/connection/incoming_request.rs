//! `IncomingRequest`: a checked request of the peer.

use super::context::RequestContext;
use super::outboxes::Received;
use crate::json::{Object, Raw, Str};
use crate::rpc::Id;

/// A request that is not in the table yet.
#[derive(Clone, Debug)]
pub(crate) struct IncomingRequest<'e, 'a> {
    pub(crate) id: Id<'a>,
    pub(crate) method: Str<'a>,
    pub(crate) params: Option<Object<'e, 'a>>,
    pub(crate) meta: Option<Object<'e, 'a>>,
    /// The params, if the request is a usual `tools/call`.
    pub(crate) usual_call: Option<UsualCall<'a>>,
    /// The rules under which the request is served, once they are known.
    pub(crate) context: RequestContext,
    /// Whether the request is relayed without validation.
    pub(super) is_relayed: bool,
    /// The context of the message, including its batch.
    pub(crate) received: Received,
    /// The whole frame.
    pub(super) bytes: &'a [u8],
}

/// The params of a usual `tools/call`.
#[derive(Clone, Debug)]
pub(crate) struct UsualCall<'a> {
    /// The name of the tool.
    pub(crate) name: Str<'a>,
    /// The arguments, an object.
    pub(crate) arguments: Option<Raw<'a>>,
}

impl<'a> IncomingRequest<'_, 'a> {
    /// Returns the params as JSON text.
    pub(crate) fn params_text(&self) -> Option<&'a str> {
        self.params.as_ref().map(Object::text)
    }

    /// Returns a member of the params.
    pub(crate) fn param(&self, name: &str) -> Option<&'a str> {
        self.params.as_ref()?.get(name)
    }

    /// Returns a member of the `_meta` of the params.
    pub(super) fn in_meta(&self, name: &str) -> Option<&'a str> {
        self.meta.as_ref()?.get(name)
    }
}
