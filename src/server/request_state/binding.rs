//! `Binding`: the principal and the request that a sealed request state is valid for.

use crate::handle::Principal;
use crate::json::{Kind, Raw, Str};
use crate::server::Request;

/// The principal that may return a state, and the request that it may return the state with.
///
/// A retry repeats the request that was answered with `input_required`, so both requests have equal bindings. Other
/// requests have other bindings. The binding is not part of the sealed text; it is always computed from the request
/// at hand.
///
/// The application sets the principal ([`Received::principal`](crate::Received::principal)). If there are several
/// principals, their numbers must stay the same on every instance for as long as a state lives: use numbers of
/// accounts, not of connections.
///
/// `Debug` shows only lengths.
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
    /// Binds the principal and the method of a request, and the members `name`, `uri` and `arguments` of its params.
    /// That is sufficient for `tools/call`, `prompts/get` and `resources/read`. For other methods, put other relevant
    /// params into the payload.
    ///
    /// The method, the name and the URI are compared by value, the arguments by their text, so that no canonical form
    /// of JSON is needed. A client that writes the same arguments differently in its retry is refused;
    /// [`without_arguments`](Self::without_arguments) accepts it.
    pub fn of(request: &'a Request<'_>) -> Self {
        let member = |name| request.params.as_ref().and_then(|params| params.get(name));
        Self {
            principal: request.context.principal,
            method: Str::trusted(request.method.as_wire()),
            name: member("name").and_then(Raw::into_str),
            uri: member("uri").and_then(Raw::into_str),
            // `null` counts as absent, as in the views of a request.
            arguments: member("arguments").filter(|value| value.kind() != Kind::Null),
        }
    }

    /// Binds only the principal and the method. The other parts can be set by hand.
    pub fn new(principal: Principal, method: &str) -> Self {
        let method = Str::from(method);
        Self { principal, method, name: None, uri: None, arguments: None }
    }

    /// Sets the name of a tool or a prompt.
    pub fn name(self, name: &str) -> Self {
        Self { name: Some(Str::from(name)), ..self }
    }

    /// Sets the URI of a resource.
    pub fn uri(self, uri: &str) -> Self {
        Self { uri: Some(Str::from(uri)), ..self }
    }

    /// Sets the arguments, which are compared by their text.
    pub fn arguments(self, arguments: Raw<'a>) -> Self {
        Self { arguments: Some(arguments), ..self }
    }

    /// Removes the arguments, so that a state is valid with any arguments.
    ///
    /// Then put the relevant arguments into the payload and compare them there. Otherwise the confirmation of one
    /// action confirms every action.
    pub fn without_arguments(self) -> Self {
        Self { arguments: None, ..self }
    }
}
