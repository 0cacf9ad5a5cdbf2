//! `RequestStamp`: the members that the machine adds to modern requests ([per-request
//! metadata](https://modelcontextprotocol.io/specification/2026-07-28/basic#_meta)).

use alloc::borrow::Cow;
use alloc::string::String;

use super::answer_context::written;
use super::detail::declaration;
use super::identity::{Identity, key};
use super::outgoing_request::Again;
use super::session::Session;
use crate::dialect::EraRules;
use crate::json::Member;
use crate::model::LoggingLevel;

/// The members that are added to the `_meta` of a request.
pub(super) struct RequestStamp<'i> {
    text: Cow<'i, str>,
    level: Option<LoggingLevel>,
}

impl<'i> RequestStamp<'i> {
    /// Returns the members for a request that is sent, or sent again, on a connection; `None` in the legacy era.
    pub(super) fn on(session: &'i Session, again: &Again) -> Option<Self> {
        Self::of(session.identity(), session.rules(), again)
    }

    /// Returns the members for a request of this side under the rules of an era.
    pub(super) fn of(
        identity: Option<&'i Identity>,
        rules: &EraRules,
        again: &Again,
    ) -> Option<Self> {
        let own = identity.filter(|_| rules.requests_are_self_contained)?;
        let text = match again.narrowed {
            None => Cow::Borrowed(&*own.request),
            Some(narrowed) => {
                let mut object = declaration(narrowed.narrow(own.offered));
                if !own.declared_extensions.is_empty() {
                    object = with_extensions(&object, &own.declared_extensions);
                }
                let mut text = String::from(&*own.info);
                text.push_str(",\"");
                text.push_str(key::CAPABILITIES);
                text.push_str("\":");
                text.push_str(&object);
                Cow::Owned(text)
            }
        };
        Some(RequestStamp { text, level: again.level })
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the minimum level of log messages, as a JSON literal.
    pub(super) const fn level(&self) -> Option<&'static str> {
        match self.level {
            Some(level) => Some(level.literal()),
            None => None,
        }
    }
}

/// Returns declared capabilities, an object, with the extensions.
fn with_extensions(object: &str, extensions: &str) -> String {
    let members = object.strip_suffix('}').unwrap_or(object);
    let comma = if members == "{" { "" } else { "," };
    alloc::format!("{members}{comma}\"extensions\":{extensions}}}")
}

/// Copies the params of a written request into `kept`, unless they exceed `most` bytes.
pub(super) fn keep_params(kept: &mut String, request: &[u8], most: usize) {
    let params = written(request, Member::Params);
    if params.len() <= most {
        kept.push_str(params);
    }
}
