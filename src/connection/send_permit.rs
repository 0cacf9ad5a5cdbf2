//! `SendPermit`: checks a message of this side against the tables and the capability policy.

use alloc::string::String;

use super::call_options::TaskOptions;
use super::cx::Cx;
use super::outboxes::{Observation, Outboxes};
use super::session::Session;
use crate::capability::Capability;
use crate::config::CapabilityPolicy;
use crate::dialect::NotAllowed;
use crate::dialect::features::Feature;
use crate::dialect::methods::{Declared, NotificationKind, RequestKind, Rule};
use crate::schema::shape::Form;
use crate::schema::{EncodeError, Writer};

/// The checks of a message that may be sent, as far as its payload allows.
#[derive(Debug)]
pub(super) struct SendPermit {
    /// The form of the payload; `None` if the method is unknown or relayed unchecked.
    pub(super) form: Option<Form>,
    declared: Declared,
    policy: CapabilityPolicy,
    /// An undeclared capability that the message uses nevertheless.
    undeclared: Option<Capability>,
    /// An undeclared capability that prevents the message.
    refused: Option<Capability>,
}

impl SendPermit {
    /// Compares the needs of a written payload with the declared capabilities.
    pub(super) fn check_needs(&mut self, writer: &Writer<'_>) -> Result<(), EncodeError> {
        let Some(form) = self.form else { return Ok(()) };
        let needs = writer.needs().known_to(form.revision);
        let Some(missing) = self.declared.missing(needs) else { return Ok(()) };
        if self.policy == CapabilityPolicy::Strict {
            self.refused = Some(missing);
            // `explain` replaces this error.
            return Err(EncodeError::Payload);
        }
        self.undeclared = Some(missing);
        Ok(())
    }

    /// Returns the reason why nothing was written.
    pub(super) fn explain<E: From<EncodeError> + From<NotAllowed>>(&self, error: EncodeError) -> E {
        match self.refused {
            Some(capability) => NotAllowed::Capability(capability).into(),
            None => error.into(),
        }
    }

    /// Returns the undeclared capability, if the policy is to report it to the observer.
    pub(super) fn to_observe(&self) -> Option<Capability> {
        self.undeclared.filter(|_| self.policy == CapabilityPolicy::Warn)
    }

    /// Reports an undeclared capability of a sent message to the observer.
    pub(super) fn observe(&self, method: &str, out: &mut dyn Outboxes) {
        if let Some(capability) = self.to_observe() {
            out.observe(&Observation::NotDeclared { method, capability });
        }
    }
}

impl Session {
    /// Checks whether this side may send a request, as far as is known before its payload is written.
    pub(super) fn clear_request(
        &self,
        cx: &Cx<'_, '_>,
        method: &str,
        kind: Option<RequestKind>,
    ) -> Result<SendPermit, NotAllowed> {
        self.clear(cx, method, kind.map(RequestKind::rule))
    }

    /// Checks whether this side may send a notification, as far as is known before its payload is written.
    pub(super) fn clear_notification(
        &self,
        cx: &Cx<'_, '_>,
        method: &str,
        kind: Option<NotificationKind>,
    ) -> Result<SendPermit, NotAllowed> {
        self.clear(cx, method, kind.map(NotificationKind::rule))
    }

    fn clear(
        &self,
        cx: &Cx<'_, '_>,
        method: &str,
        rule: Option<&'static Rule>,
    ) -> Result<SendPermit, NotAllowed> {
        let rule = rule.filter(|_| !cx.config.relay.covers(method));
        let mut permit = SendPermit {
            form: None,
            declared: self.declared(),
            policy: cx.config.capability_policy,
            undeclared: None,
            refused: None,
        };
        let Some(rule) = rule else { return Ok(permit) };
        let Some(negotiated) = self.negotiated else {
            self.clear_early(rule, permit.policy)?;
            return Ok(permit);
        };
        match rule.check(self.role.sender(), negotiated.revision, permit.declared) {
            Err(NotAllowed::Capability(missing)) if permit.policy != CapabilityPolicy::Strict => {
                permit.undeclared = Some(missing);
            }
            checked => checked?,
        }
        permit.form = Some(rule.params(negotiated.revision));
        Ok(permit)
    }

    /// Checks the part of the rules that does not depend on the handshake.
    fn clear_early(&self, rule: &Rule, policy: CapabilityPolicy) -> Result<(), NotAllowed> {
        if !rule.may_be_sent_by(self.role.sender()) {
            return Err(NotAllowed::Direction);
        }
        if rule.revisions().and(self.spoken).is_empty() {
            return Err(NotAllowed::Revision);
        }
        match rule.gate(self.role.sender()) {
            Some(gate)
                if policy == CapabilityPolicy::Strict
                    && gate.owner() == self.role.owner()
                    && !self.offered.contains(gate) =>
            {
                Err(NotAllowed::Capability(gate))
            }
            _ => Ok(()),
        }
    }

    /// Returns the `task` member of a request as a literal; `None` if the request does not or must not ask for a
    /// task.
    pub(super) fn task_member(
        &self,
        kind: Option<RequestKind>,
        options: Option<&TaskOptions>,
    ) -> Result<Option<String>, NotAllowed> {
        let Some(options) = options else { return Ok(None) };
        // Before the handshake this is checked when the queued request is released. In the modern era requests do not
        // ask for tasks.
        let Some(negotiated) = self.negotiated.filter(|_| self.rules().tasks.asked_for) else {
            return Ok(None);
        };
        let has_tasks = Feature::Tasks.is_in(negotiated.revision);
        let capability = kind.and_then(RequestKind::task_capability);
        match capability {
            Some(capability) if has_tasks && negotiated.theirs.contains(capability) => {}
            _ if !options.insist => return Ok(None),
            Some(capability) if has_tasks => return Err(NotAllowed::Capability(capability)),
            _ => return Err(NotAllowed::Revision),
        }
        Ok(Some(match options.ttl {
            Some(ttl) => alloc::format!(r#"{{"ttl":{}}}"#, ttl.as_millis()),
            None => String::from("{}"),
        }))
    }
}
