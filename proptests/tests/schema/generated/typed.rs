//! The types of the model, by method.

use mcp_sansio::json::Raw;
use mcp_sansio::model::method::{self, Method};
use serde_json::Value;

/// Reads a payload with its type, writes it again, and returns the written value or the error.
fn again<'a, T: serde::Deserialize<'a> + serde::Serialize>(
    payload: &'a Raw<'a>,
) -> Result<Value, String> {
    let read: T = payload.parse().map_err(|error| error.to_string())?;
    serde_json::to_value(&read).map_err(|error| error.to_string())
}

macro_rules! types {
    ($($method:ident)*) => {
        /// Reads and writes the params of a request.
        pub(super) fn params(method: &str, params: &Value) -> Result<Value, String> {
            let raw = Raw::from_serialize(params).unwrap();
            match method {
                $(method::$method::NAME => again::<<method::$method as Method>::Params<'_>>(&raw),)*
                _ => panic!("{method} has no type"),
            }
        }

        /// Reads and writes the result of a request.
        pub(super) fn result(method: &str, result: &Value) -> Result<Value, String> {
            let raw = Raw::from_serialize(result).unwrap();
            match method {
                $(method::$method::NAME => again::<<method::$method as Method>::Result<'_>>(&raw),)*
                _ => panic!("{method} has no type"),
            }
        }
    };
}

types! {
    Discover ListTools CallTool ListResources ListResourceTemplates ReadResource Subscribe Unsubscribe
    ListPrompts GetPrompt Complete SetLevel ListRoots CreateMessage Elicit
}
