//! [`Message`]: a JSON-RPC message as plain data. Parsing is independent of the scanner of the core.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;

/// The key of the `_meta` of a modern request that names its revision.
pub(super) const VERSION: &str = "io.modelcontextprotocol/protocolVersion";

/// The key of the `_meta` of a modern request that declares the capabilities of its sender.
pub(super) const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// The key of the `_meta` of a modern request that asks for log messages.
pub(super) const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";

/// The key of the `_meta` of a message that belongs to a subscription.
pub(super) const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// The name of the tasks extension.
pub(super) const TASKS: &str = "io.modelcontextprotocol/tasks";

/// The kind of a message, by its shape alone (L-JSONRPC-22).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Not JSON, or not an object.
    Unreadable,
    /// A JSON object with an envelope that is not valid.
    Malformed,
    /// A request with a valid id.
    Request,
    /// A notification.
    Notification,
    /// A response with a valid id.
    Response,
    /// An error response without an id.
    ErrorWithoutId,
}

/// A message. Absent members are `null`.
#[derive(Clone, Debug)]
pub(super) struct Message {
    pub(super) shape: Shape,
    /// The id if it is valid, and occurs once (L-JSONRPC-03, L-JSONRPC-04; DESIGN 8, duplicate members).
    pub(super) id: Option<Value>,
    pub(super) method: String,
    pub(super) params: Value,
    pub(super) result: Value,
    pub(super) error: Value,
    /// Whether the message has an `id` member, valid or not.
    pub(super) has_id: bool,
    /// Whether the message has a `method`, a `result` or an `error` member.
    pub(super) has: [bool; 3],
}

/// The members of a JSON object in order, with duplicates.
struct Members(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Members;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

impl Message {
    /// Parses a message.
    pub(super) fn parse(bytes: &[u8]) -> Self {
        let members = serde_json::from_slice(bytes).map(|Members(members)| members);
        let is_readable = members.is_ok();
        let members = members.unwrap_or_default();
        let count = |name: &str| members.iter().filter(|(member, _)| member == name).count();
        let first = |name: &str| {
            members.iter().find(|(member, _)| member == name).map(|(_, value)| value.clone())
        };
        let id = first("id").filter(|id| is_id(id) && count("id") == 1);
        let has = ["method", "result", "error"].map(|name| 0 < count(name));
        let is_unique = ["jsonrpc", "id", "method", "params", "result", "error"]
            .iter()
            .all(|name| count(name) <= 1);
        let method = first("method").unwrap_or_default();
        let mut message = Self {
            shape: Shape::Malformed,
            id,
            method: method.as_str().unwrap_or_default().to_owned(),
            params: first("params").unwrap_or_default(),
            result: first("result").unwrap_or_default(),
            error: first("error").unwrap_or_default(),
            has_id: 0 < count("id"),
            has,
        };
        let is_valid = is_unique && first("jsonrpc").is_some_and(|version| version == "2.0");
        message.shape = match (has, &message.id, count("id")) {
            _ if !is_readable => Shape::Unreadable,
            _ if !is_valid => Shape::Malformed,
            ([true, false, false], Some(_), _) if method.is_string() => Shape::Request,
            ([true, false, false], None, 0) if method.is_string() => Shape::Notification,
            ([false, true, false], Some(_), _) if message.result.is_object() => Shape::Response,
            ([false, false, true], Some(_), _) if is_error(&message.error) => Shape::Response,
            ([false, false, true], None, _)
                if is_error(&message.error) && first("id").unwrap_or_default().is_null() =>
            {
                Shape::ErrorWithoutId
            }
            _ => Shape::Malformed,
        };
        message
    }

    /// Whether the message can only be a response: it has no method, and a result or an error.
    pub(super) const fn is_like_a_response(&self) -> bool {
        let [method, result, error] = self.has;
        !method && (result || error)
    }

    /// Returns the member of `params._meta`.
    pub(super) fn meta(&self, key: &str) -> &Value {
        &self.params["_meta"][key]
    }

    /// Returns the code of the error.
    pub(super) fn code(&self) -> Option<i64> {
        self.error["code"].as_i64()
    }
}

/// Whether a value is a string or an integer (L-JSONRPC-02, L-JSONRPC-04).
pub(super) fn is_id(value: &Value) -> bool {
    value.is_string() || value.is_i64() || value.is_u64()
}

/// Whether a value is an error object (L-JSONRPC-11, L-JSONRPC-12).
pub(super) fn is_error(value: &Value) -> bool {
    let code = &value["code"];
    (code.is_i64() || code.is_u64()) && value["message"].is_string()
}
