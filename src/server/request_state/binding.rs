//! `Binding`: the request, the principal and the time that a sealed request state is valid for.

use crate::handle::Principal;
use crate::json::{Kind, Raw, Str};
use crate::server::Request;

/// Who may bring a state back, and with which request.
///
/// A retry repeats the request it continues, so the binding of the one that was answered with
/// `input_required` and the binding of the retry are equal, and those of anything else are not. What
/// is bound is not in the text; both times it is taken from the request at hand.
///
/// The principal is what the host says it is ([`Received::principal`](crate::Received::principal)). Where
/// there are several, their numbers must be theirs for as long as a state lives, on every instance:
/// those of accounts will do, those of connections will not.
///
/// `Debug` shows lengths only.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[must_use]
pub struct Binding<'a> {
    pub(super) principal: Principal,
    pub(super) method: Str<'a>,
    pub(super) name: Option<Str<'a>>,
    pub(super) uri: Option<Str<'a>>,
    pub(super) arguments: Option<Raw<'a>>,
}

impl<'a> Binding<'a> {
    /// The principal and the method of a request, and the members `name`, `uri` and `arguments` of
    /// its params: all that matters of `tools/call`, `prompts/get` and `resources/read`. Of other
    /// methods, what else matters belongs into the payload.
    ///
    /// The method, the name and the URI count by what they stand for, the arguments by their text, so
    /// that nothing has to be agreed on about JSON. A client that writes the same arguments in another
    /// way when it retries is refused; [`without_arguments`](Self::without_arguments) lets it pass.
    pub fn of(request: &'a Request<'_>) -> Self {
        let member = |name| request.params.as_ref().and_then(|params| params.get(name));
        Self {
            principal: request.context.principal,
            method: Str::trusted(request.method.as_wire()),
            name: member("name").and_then(Raw::into_str),
            uri: member("uri").and_then(Raw::into_str),
            // `null` stands for absent arguments, as it does in the views on a request.
            arguments: member("arguments").filter(|value| value.kind() != Kind::Null),
        }
    }

    /// The principal and the method only, for a binding by hand.
    pub fn new(principal: Principal, method: &str) -> Self {
        let method = Str::from(method);
        Self { principal, method, name: None, uri: None, arguments: None }
    }

    /// The same with the name of a tool or a prompt.
    pub fn name(self, name: &str) -> Self {
        Self { name: Some(Str::from(name)), ..self }
    }

    /// The same with the URI of a resource.
    pub fn uri(self, uri: &str) -> Self {
        Self { uri: Some(Str::from(uri)), ..self }
    }

    /// The same with arguments, which count by their text.
    pub fn arguments(self, arguments: Raw<'a>) -> Self {
        Self { arguments: Some(arguments), ..self }
    }

    /// The same without arguments: a state is good whatever they are.
    ///
    /// Whoever leaves them out puts what matters of them into the payload and compares it, or a
    /// confirmation of one thing is one of everything.
    pub fn without_arguments(self) -> Self {
        Self { arguments: None, ..self }
    }
}
