//! Writes the members that the machine adds to results
//! ([results](https://modelcontextprotocol.io/specification/2026-07-28/basic#responses),
//! [caching](https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching)).

use super::exchange::Exchange;
use super::identity::{Identity, key};
use crate::config::CacheHint;
use crate::dialect::methods::RequestKind;
use crate::rpc::Id;
use crate::schema::{Additions, MetaAdditions};
use crate::task::RELATED;

/// The member that declares the kind of a result.
const COMPLETE: (&str, &str) = ("resultType", "\"complete\"");
const TASK: (&str, &str) = ("resultType", "\"task\"");
const INPUT_REQUIRED: (&str, &str) = ("resultType", "\"input_required\"");

/// The kind of result in a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReplyKind {
    /// The result of the method.
    Result,
    /// A result about a task, which is known to be valid.
    AboutTask,
    /// The task that the request has become.
    Task,
    /// The input that the client has to give before the request can be completed.
    InputRequired,
}

/// Writes the result of an exchange with all members that the machine adds. In the legacy era that is only the
/// related task. A relayed result gets no other members either.
#[inline]
pub(super) fn stamped<R>(
    identity: Option<&Identity>,
    exchange: &Exchange,
    (id, kind): (&Id<'_>, ReplyKind),
    write: impl FnOnce(&Additions<'_>) -> R,
) -> R {
    let interim = match kind {
        ReplyKind::Result | ReplyKind::AboutTask => None,
        ReplyKind::Task if exchange.rules().tasks.of_session => {
            return write(&Additions::NONE);
        }
        ReplyKind::Task => Some(TASK),
        ReplyKind::InputRequired => Some(INPUT_REQUIRED),
    };
    if let Some(interim) = interim {
        let text = identity.map_or("", |own| own.info.as_str());
        let reserved = if text.is_empty() { &[][..] } else { key::OF_RESULTS };
        let meta = MetaAdditions { members: &[], text, reserved };
        return write(&Additions { members: &[interim], defaults: &[], meta });
    }
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
        // Methods outside MCP may have other kinds of results, so `complete` is only the default.
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

/// Returns the members for the lifetime and the scope of a cached result.
pub(super) fn hint_members(hint: CacheHint, ttl: &mut itoa::Buffer) -> [(&'static str, &str); 2] {
    // 2^53 - 1, the largest integer that every JSON parser reads exactly, is practically unlimited.
    const LONGEST: u64 = (1 << 53) - 1;
    let scope = if hint.shared { "\"public\"" } else { "\"private\"" };
    [("ttlMs", ttl.format(hint.ttl_ms.min(LONGEST))), ("cacheScope", scope)]
}
