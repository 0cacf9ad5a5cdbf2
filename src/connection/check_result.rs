//! Checks that a result of the peer fits the request.

use super::answer_context::required_elicitations;
use super::cx::Cx;
use super::event::Outcome;
use super::messages::Messages;
use super::outgoing_request::Owner;
use super::routing::Side;
use crate::codes::ViolationKind;
use crate::dialect::forms::is_refusal;
use crate::dialect::methods::RequestKind;
use crate::handle::CallId;
use crate::json::{Elements, Object, Str, member};
use crate::rpc::Recycle;
use crate::schema::{Misfit, fits};

/// Returns the outcome of a request after the response of the peer was checked.
pub(super) fn judged<'a, C: Recycle>(
    messages: &mut Messages<C>,
    cx: &Cx<'_, '_>,
    call: CallId,
    outcome: Outcome<'a>,
    bytes: &'a [u8],
) -> Outcome<'a> {
    match &outcome {
        Outcome::Result(result) => {
            let result = result.borrowed().unwrap_or_default();
            if check_result(messages, cx, call, result).is_err() {
                let kind = ViolationKind::InvalidResult;
                return Outcome::Malformed { kind, message: bytes.into() };
            }
        }
        Outcome::PeerError(error) if messages.session.role == Side::Client => {
            // Remembers the elicitations by URL that an error requires, so that their completion is recognized.
            if let Some(negotiated) = messages.session.negotiated {
                for id in required_elicitations(error, negotiated.revision) {
                    messages.elicitations.add(&id, &cx.config.limits);
                }
            }
        }
        _ => {}
    }
    outcome
}

/// Checks whether a result fits the method.
///
/// The content of an accepted elicitation is always compared with its form. The result of an input that a request of
/// the peer requires is always checked: its handler cannot use a result that it cannot read, and could only ask again.
/// Other results are checked only if the configuration requires it.
fn check_result<C: Recycle>(
    messages: &mut Messages<C>,
    cx: &Cx<'_, '_>,
    call: CallId,
    result: &str,
) -> Result<(), Misfit> {
    let (Some(asked), Some(negotiated)) =
        (messages.outgoing.get(call.0), messages.session.negotiated)
    else {
        return Ok(());
    };
    let Some(kind) = asked.kind else { return Ok(()) };
    let is_answer = kind == RequestKind::Elicit && !is_refusal(result);
    let is_input = matches!(asked.owner, Owner::Input(_) | Owner::TaskInput(_));
    let is_wanted = cx.config.check_results || is_input;
    if is_answer || (is_wanted && kind != RequestKind::Elicit) {
        fits(kind.rule().result(negotiated.revision), Some(&Object::of(result)))?;
        asked.kept.check_result(kind, result)?;
    }
    if kind == RequestKind::ListRoots && has_strange_root(result) {
        messages.violations.note(ViolationKind::RootNotAFile);
    }
    Ok(())
}

/// Whether a list of roots contains a root that is not a file.
fn has_strange_root(result: &str) -> bool {
    Elements::of(member(result, "roots").unwrap_or_default())
        .filter_map(|root| member(root.borrowed()?, "uri").and_then(Str::from_literal))
        .any(|uri| !uri.chars().take(FILE.len()).eq(FILE.chars()))
}

const FILE: &str = "file://";
