//! Tests of reading model types from JSON, with every order and form of members.

use alloc::string::{String, ToString};

use serde::Deserialize;

use super::{Tool, ToolAnnotations};

fn reason<T>(read: Result<T, serde_json::Error>) -> String {
    let Err(error) = read else { panic!("it is read") };
    let text = error.to_string();
    text.split(" at line").next().unwrap_or_default().to_string()
}

fn tool(text: &str) -> Result<Tool<'_>, serde_json::Error> {
    serde_json::from_str(text)
}

/// The rules for every type of the model: no duplicate members, no missing required members, and unknown members are
/// skipped.
#[test]
fn an_object_is_read_member_by_member() {
    let text = r#"{"inputSchema":{},"x":[{"name":1}],"annotations":{"title":"t"},"name":"n"}"#;
    let read = tool(text).expect("a tool");
    assert_eq!((&*read.name, read.input_schema.as_json()), ("n", "{}"));
    let title = read.annotations.and_then(|hints| hints.title);
    assert_eq!((title.as_deref(), read.description), (Some("t"), None));

    let twice = r#"{"name":"n","inputSchema":{},"name":"m"}"#;
    assert_eq!(reason(tool(twice)), "duplicate field `name`");
    assert_eq!(reason(tool(r#"{"name":"n"}"#)), "missing field `inputSchema`");
    let wrong = r#"{"name":7,"inputSchema":{}}"#;
    assert_eq!(reason(tool(wrong)), "invalid type: integer `7`, expected a string");
    assert_eq!(reason(tool(r#"["n"]"#)), "invalid type: sequence, expected struct Tool");
}

/// A type without borrowed text can also be read from a `serde_json::Value`.
#[test]
fn a_value_is_read_as_text_is() {
    let value = serde_json::json!({ "readOnlyHint": true, "x": [1] });
    let read = ToolAnnotations::deserialize(&value).expect("hints");
    assert_eq!(read.read_only_hint, Some(true));
    let twice = serde_json::from_str::<ToolAnnotations<'_>>(r#"{"title":null,"title":"t"}"#);
    assert_eq!(reason(twice), "duplicate field `title`");
}
