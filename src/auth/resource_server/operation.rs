//! `Operation`: a method and a name in a body, from which an application derives the needed scopes.

use alloc::vec::Vec;

use crate::frame::Frames;
use crate::http::server::name_source;
use crate::json::{Envelope, Str};
use crate::limits::Limits;
use crate::rpc::{Message, Versions, classify};

/// A request or notification in a body, from which the application derives the needed scopes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Operation<'b> {
    /// The method, such as `tools/call`.
    pub method: Str<'b>,
    /// The target of the request: the name of the tool or prompt, the URI of the resource, or the id of the task.
    /// `None` if the method has no target or several, such as `subscriptions/listen`, or if the member is not a
    /// string.
    pub name: Option<Str<'b>>,
}

impl<'b> Operation<'b> {
    /// Returns the requests and notifications of a body: a single message, or those of a batch. Responses are
    /// skipped, and so is text that is not a message, which the connection rejects.
    ///
    /// `limits` must be those of the connection that serves the body. Messages beyond these limits are skipped as well,
    /// because the connection rejects them. With lower limits, a request would be served without its scopes.
    ///
    /// ```
    /// use mcp_sansio::Limits;
    /// use mcp_sansio::auth::resource_server::Operation;
    ///
    /// let body = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"delete"}}"#;
    /// let operations = Operation::all_in(body, &Limits::default());
    /// let call = &operations[0];
    /// assert!(call.method == "tools/call" && call.name.as_ref().is_some_and(|name| *name == "delete"));
    /// ```
    pub fn all_in(body: &'b [u8], limits: &Limits) -> Vec<Self> {
        let mut operations = Vec::new();
        for frame in Frames::of(body, limits) {
            let envelope = Envelope::scan(frame.bytes(), limits.depth);
            let Ok(
                Message::Request { method, params, .. }
                | Message::Notification { method, params, .. },
            ) = classify(&envelope, limits, Versions::Any)
            else {
                continue;
            };
            let member = member(&method);
            let value = params.as_ref().zip(member).and_then(|(params, name)| params.get(name));
            let name = value.and_then(Str::from_literal);
            operations.push(Self { method, name });
        }
        operations
    }
}

/// Returns the member of the params that names the target of a request.
fn member(method: &Str<'_>) -> Option<&'static str> {
    const OTHERS: [(&str, &str); 3] = [
        ("resources/subscribe", "uri"),
        ("resources/unsubscribe", "uri"),
        ("tasks/result", "taskId"),
    ];
    let other = || OTHERS.iter().find(|(one, _)| *method == **one).map(|(_, member)| *member);
    name_source(method).or_else(other)
}
