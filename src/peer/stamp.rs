//! What the machine adds to results where there are no sessions
//! ([results](https://modelcontextprotocol.io/specification/2026-07-28/basic#responses),
//! [caching](https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching)).

use serde::ser::Serialize;

use super::Peer;
use super::cache_hints::CacheHint;
use super::cx::Cx;
use super::exchange::Exchange;
use super::exchanges::Said;
use super::identity::{Identity, key};
use super::incoming_request::IncomingRequest;
use crate::dialect::methods::RequestKind;
use crate::json::{Additions, MetaAdditions};
use crate::rpc::{Id, write_result};
use crate::task::RELATED;

/// What kind of result it is.
const COMPLETE: (&str, &str) = ("resultType", "\"complete\"");

/// Writes the result of an exchange with everything that the machine has to add to it. In a session
/// that is nothing; nor is it anything for what is relayed.
pub(super) fn stamped<R>(
    identity: Option<&Identity>,
    exchange: &Exchange,
    id: &Id<'_>,
    write: impl FnOnce(&Additions<'_>) -> R,
) -> R {
    let Some(own) = identity.filter(|_| exchange.rules().stamps_results && !exchange.is_relayed)
    else {
        if exchange.related.0.is_empty() {
            return write(&Additions::NONE);
        }
        let members = [(RELATED, &*exchange.related.0)];
        let meta = MetaAdditions { members: &members, text: "", reserved: key::OF_TASKS };
        return write(&Additions { meta, ..Additions::NONE });
    };
    let subscription = [(key::SUBSCRIPTION, id.as_wire())];
    let is_subscription = exchange.kind == Some(RequestKind::Listen);
    let meta = MetaAdditions {
        members: if is_subscription { &subscription } else { &[] },
        text: &own.info,
        reserved: if own.info.is_empty() { &[key::SUBSCRIPTION] } else { key::OF_RESULTS },
    };
    match exchange.kind {
        // A method that MCP does not have may have other kinds of results.
        None => write(&Additions { members: &[], defaults: &[COMPLETE], meta }),
        Some(kind) if kind.is_cacheable() => {
            let hint = own.hints.of(kind);
            let mut ttl = itoa::Buffer::new();
            let defaults = hint_members(hint, &mut ttl);
            write(&Additions { members: &[COMPLETE], defaults: &defaults, meta })
        }
        Some(_) => write(&Additions { members: &[COMPLETE], defaults: &[], meta }),
    }
}

impl Peer {
    /// Answers `server/discover`, by itself. Says whether it could.
    pub(crate) fn answer_discovery<T: Serialize>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        request: &IncomingRequest<'_, '_>,
        result: &T,
    ) -> bool {
        let kind = RequestKind::Discover;
        let form = Some(kind.rule().result(request.context.revision));
        let exchange =
            Exchange { context: request.context, kind: Some(kind), ..Exchange::default() };
        let identity = self.identity.take();
        let sent = self.answer_own(cx, request.arrival, Said::Result, |writer| {
            stamped(identity.as_deref(), &exchange, &request.id, |additions| {
                write_result(writer, &request.id, result, additions, form)
            })
        });
        self.identity = identity;
        sent
    }
}

/// For how long a result may be used again, and by whom.
pub(super) fn hint_members(hint: CacheHint, ttl: &mut itoa::Buffer) -> [(&'static str, &str); 2] {
    // What is longer than every number that JSON parsers read exactly is as good as for ever.
    const LONGEST: u64 = (1 << 53) - 1;
    let scope = if hint.shared { "\"public\"" } else { "\"private\"" };
    [("ttlMs", ttl.format(hint.ttl_ms.min(LONGEST))), ("cacheScope", scope)]
}
