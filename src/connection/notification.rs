//! Validates the notifications of the peer. A notification never gets a response.

use super::messages::Messages;
use super::routing::Side;
use super::session::Session;
use crate::codes::ViolationKind;
use crate::dialect::NotAllowed;
use crate::dialect::methods::NotificationKind;
use crate::json::{Object, Str};
use crate::schema::{Misfit, fits};

/// Checks a notification of the peer, and applies its effects on list versions and elicitations. Returns `Ok(false)`
/// for the completion of an elicitation that is not open.
pub(super) fn expected<C>(
    messages: &mut Messages<C>,
    kind: Option<NotificationKind>,
    params: Option<&Object<'_, '_>>,
) -> Result<bool, (ViolationKind, Option<Misfit>)> {
    const UNEXPECTED: (ViolationKind, Option<Misfit>) =
        (ViolationKind::UnexpectedNotification, None);
    let Some(session) = messages.session.negotiated else {
        // A server may send log messages while it starts.
        let early =
            messages.session.role == Side::Client && kind == Some(NotificationKind::Message);
        return if early { Ok(true) } else { Err(UNEXPECTED) };
    };
    let Some(kind) = kind else { return Ok(true) };
    let rule = kind.rule();
    match rule.check(
        messages.session.role.other_side(),
        session.revision,
        messages.session.declared(),
    ) {
        // A notification that needs an undeclared capability is not reported as a violation.
        Ok(()) | Err(NotAllowed::Capability(_)) => {}
        Err(_) => return Err(UNEXPECTED),
    }
    fits(rule.params(session.revision), params)
        .map_err(|misfit| (ViolationKind::MalformedNotification, Some(misfit)))?;
    if let Some(list) =
        kind.changed().filter(|_| !messages.session.rules().updates.changes_by_subscription)
    {
        messages.list_versions.note(list);
    }
    if kind == NotificationKind::ElicitationComplete {
        let id = params.and_then(|params| params.get("elicitationId")).and_then(Str::from_literal);
        return Ok(id.is_some_and(|id| messages.elicitations.complete(&id)));
    }
    Ok(true)
}

/// Whether a client receives this notification only for a subscription, by the rules of the era.
pub(super) fn is_about_subscriptions(session: &Session, kind: NotificationKind) -> bool {
    let is_announced = matches!(
        kind,
        NotificationKind::Acknowledged
            | NotificationKind::ToolsChanged
            | NotificationKind::PromptsChanged
            | NotificationKind::ResourcesChanged
            | NotificationKind::ResourceUpdated
            | NotificationKind::DetailedTaskChanged
    );
    is_announced && session.role == Side::Client && session.rules().updates.changes_by_subscription
}
