//! Sends the request of a call again: with the required input, or in another revision
//! ([versioning](https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning)).

use core::time::Duration;

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::ask::NewId;
use super::call_cx::CallCx;
use super::call_index::Stuck;
use super::call_options::CallError;
use super::versions::versions_in;
use crate::codes::ErrorCode;
use crate::dialect::NotAllowed;
use crate::json::{MemberTexts, Name, Raw};
use crate::rpc::{ErrorObject, Recycle, Wait};
use crate::schema::{EncodeError, serialized};
use crate::version::RevisionSet;

/// The delay before a request that needed no input is sent again; it doubles with each round.
pub(super) const PACE: Duration = Duration::from_millis(50);

/// The params of a request that is sent again.
struct ParamsAgain<'p> {
    params: &'p str,
    /// Whether `inputResponses` and `requestState` in `params` are replaced.
    is_needed: bool,
    inputs: Option<&'p str>,
    state: Option<&'p str>,
}

serialized! { ParamsAgain<'_> }

impl Serialize for ParamsAgain<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut params = serializer.serialize_map(None)?;
        for (key, value) in MemberTexts::of(self.params) {
            if self.is_needed && is_sent(key) {
                continue;
            }
            params.serialize_entry(&*key.to_str(), &Raw::trusted(value))?;
        }
        if let Some(inputs) = self.inputs {
            params.serialize_entry("inputResponses", &Raw::trusted(inputs))?;
        }
        if let Some(state) = self.state {
            params.serialize_entry("requestState", &Raw::trusted(state))?;
        }
        params.end()
    }
}

/// Whether a member of the params depends on an earlier response.
fn is_sent(key: Name<'_>) -> bool {
    ["inputResponses", "requestState"].iter().any(|brought| key == *brought)
}

/// Whether a call is sent again because the server rejected its revision and named others; at most once per revision.
/// If so, its id is retired.
pub(super) fn is_repeated<C: Recycle>(
    at: &mut CallCx<'_, '_, '_, C>,
    error: &ErrorObject<'_>,
) -> bool {
    let session = &at.below.session;
    if error.code != ErrorCode::UNSUPPORTED_PROTOCOL_VERSION || !session.rules().repeats_requests {
        return false;
    }
    let theirs = versions_in(error.data.as_ref().map(Raw::as_json).unwrap_or_default());
    let ours = session.spoken.and(RevisionSet::MODERN);
    let best = theirs.and_then(|theirs| theirs.and(ours).latest());
    let Some(asked) = at.below.outgoing.get_mut(at.call.0) else { return false };
    let repeated = &mut asked.again.repeated;
    let Some(best) = best.filter(|best| !repeated.contains(*best)) else { return false };
    *repeated = repeated.with(best);
    can_be_sent_again(at)
}

/// Whether a call that the peer rejected without processing can be sent again. If so, its id is retired.
pub(super) fn can_be_sent_again<C: Recycle>(at: &mut CallCx<'_, '_, '_, C>) -> bool {
    let repeats = at.below.session.rules().repeats_requests;
    let Some(asked) = at.below.outgoing.get(at.call.0).filter(|_| repeats) else { return false };
    if asked.again.params.is_empty() || asked.kind.is_none() || !asked.owner.is_application() {
        return false;
    }
    // No timer runs until the request has been written again.
    at.below.retire(at.cx, at.call, Wait::Retry(None));
    true
}

/// Sends the request of a call again, with the state of the peer and the object of inputs in `given`. If the outbox
/// has no room, schedules another attempt.
pub(super) fn send_again<C: Recycle>(
    at: &mut CallCx<'_, '_, '_, C>,
    given: Option<(Option<&str>, Option<alloc::string::String>)>,
) {
    if at.below.session.negotiated.is_none() || !at.below.session.rules().repeats_requests {
        // Meanwhile the handshake has opened a session, which does not resend requests.
        return stuck(at, NotAllowed::Revision.into());
    }
    let Some(asked) = at.below.outgoing.get_mut(at.call.0) else { return };
    let Some(kind) = asked.kind else { return };
    let route = asked.route;
    let kept = core::mem::take(&mut asked.again.params);
    let (state, inputs) = match &given {
        Some((state, inputs)) => (*state, inputs.as_deref()),
        None => (None, None),
    };
    let params = ParamsAgain { params: &kept, is_needed: given.is_some(), inputs, state };
    let id = (at.call, NewId::Reserved);
    let sent = at.below.ask_again(at.cx, id, kind.rule().name, &params);
    if let Some(asked) = at.below.outgoing.get_mut(at.call.0) {
        asked.again.params = kept;
    }
    match sent {
        Ok(()) => {}
        Err(CallError::Encode(EncodeError::Full)) if !at.cx.out.outbox(route).is_empty() => {
            at.below.outgoing.wait(at.call.0, Wait::Retry(Some(PACE)), at.cx.now);
        }
        // The outbox can never hold the request.
        Err(error) => stuck(at, error),
    }
}

/// Schedules the end of a call that can never proceed.
pub(super) fn stuck<C: Recycle>(at: &mut CallCx<'_, '_, '_, C>, error: CallError) {
    at.below.outgoing.wait(at.call.0, Wait::End, at.cx.now);
    at.index.stuck.push_back((at.call, Stuck::CallError(error)));
}
