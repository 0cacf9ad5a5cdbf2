//! Calls that are made again because the server speaks another revision
//! ([versioning](https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning)).

use super::Peer;
use super::call::{Purpose, Whereabouts};
use super::cx::Cx;
use super::versions::versions_in;
use crate::error::ErrorCode;
use crate::handle::CallId;
use crate::json::Raw;
use crate::rpc::ErrorObject;
use crate::version::RevisionSet;

impl Peer {
    /// The server does not speak the revision of a call, and names others: whether the call is made
    /// again, once for each.
    pub(super) fn is_repeated(
        &mut self,
        cx: &mut Cx<'_, '_>,
        call: CallId,
        error: &ErrorObject<'_>,
    ) -> bool {
        if error.code != ErrorCode::UNSUPPORTED_PROTOCOL_VERSION || !self.rules().repeats_requests {
            return false;
        }
        let theirs = versions_in(error.data.as_ref().map(Raw::as_json).unwrap_or_default());
        let ours = self.spoken.and(RevisionSet::STATELESS);
        let best = theirs.and_then(|theirs| theirs.and(ours).latest());
        let Some(entry) = self.outbound.get_mut(call.0) else { return false };
        let Some(best) = best.filter(|best| !entry.repeated.contains(*best)) else { return false };
        entry.repeated = entry.repeated.with(best);
        self.is_made_again(cx, call)
    }

    /// The peer has refused to look at a call, and it is known what to do about that: whether it is made again.
    pub(super) fn is_made_again(&mut self, cx: &mut Cx<'_, '_>, call: CallId) -> bool {
        let repeats = self.rules().repeats_requests;
        let Some(entry) = self.outbound.get_mut(call.0).filter(|_| repeats) else {
            return false;
        };
        let is_known = entry.kind.is_some()
            && matches!(entry.purpose, Purpose::Application | Purpose::Subscription);
        if entry.params.is_empty() || !is_known {
            return false;
        }
        entry.whereabouts = Whereabouts::Answered;
        entry.progress = None;
        // Nothing is waited for until the request has been written again.
        entry.idle_deadline = None;
        self.outbound.renew(call.0);
        self.ask_again(cx, call);
        true
    }
}
