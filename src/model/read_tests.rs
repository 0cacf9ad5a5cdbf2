//! Tests of reading model types from JSON, with every order and form of members.

use alloc::format;
use alloc::string::{String, ToString};

use serde::Deserialize;

use super::{
    ArraySchema, Completion, CreateMessageParams, DetailedTask, ObjectSchema, StringSchema, Task,
    TaskMetadata, Tool, ToolAnnotations,
};

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

/// To JSON Schema, `3.0` and `3e0` are integers.
#[test]
fn an_integer_is_read_in_any_form() {
    let task = r#"{"taskId":"t","status":"working","createdAt":"c","lastUpdatedAt":"c""#;
    let legacy = format!(r#"{task},"ttl":60000.0,"pollInterval":5e3}}"#);
    let legacy: Task<'_> = serde_json::from_str(&legacy).expect("a task");
    assert_eq!((legacy.ttl, legacy.poll_interval), (Some(60_000), Some(5_000)));
    let modern = format!(r#"{task},"ttlMs":null,"pollIntervalMs":5000.0}}"#);
    let modern: DetailedTask<'_> = serde_json::from_str(&modern).expect("a task");
    assert_eq!((modern.ttl_ms, modern.poll_interval_ms), (None, Some(5_000)));
    let metadata: TaskMetadata = serde_json::from_str(r#"{"ttl":-0.0}"#).expect("metadata");
    assert_eq!(metadata.ttl, Some(0));
    let completion: Completion<'_> =
        serde_json::from_str(r#"{"values":[],"total":2.0}"#).expect("a completion");
    assert_eq!(completion.total, Some(2));
    // A number that is only information does not cost the values.
    for total in ["-1", "1.5", "\"7\"", "null"] {
        let text = format!(r#"{{"values":["a"],"total":{total}}}"#);
        let completion: Completion<'_> = serde_json::from_str(&text).expect("a completion");
        assert_eq!((completion.values.len(), completion.total), (1, None), "{total}");
    }
    let params: CreateMessageParams<'_> =
        serde_json::from_str(r#"{"messages":[],"maxTokens":-1e2}"#).expect("params");
    assert_eq!(params.max_tokens, -100);
    let text: StringSchema<'_> =
        serde_json::from_str(r#"{"type":"string","minLength":1.0,"maxLength":2.0}"#).expect("text");
    assert_eq!((text.min_length, text.max_length), (Some(1), Some(2)));
    let array =
        r#"{"type":"array","items":{"type":"string","enum":[]},"minItems":1.0,"maxItems":2.0}"#;
    let array: ArraySchema<'_> = serde_json::from_str(array).expect("an array");
    assert_eq!((array.min_items, array.max_items), (Some(1), Some(2)));

    // `1.5` is no integer, and `1e30` is out of range.
    for (ttl, value) in [("1.5", "1.5"), ("-1", "-1.0"), ("1e30", "1e+30")] {
        let refused = serde_json::from_str::<TaskMetadata>(&format!(r#"{{"ttl":{ttl}}}"#));
        let expected =
            format!("invalid value: floating point `{value}`, expected an integer in range");
        assert_eq!(reason(refused), expected);
    }
}

/// Proves M-ELIC-06: the values with which a form is filled in beforehand.
#[test]
fn a_form_knows_its_defaults() {
    let fields = [
        r#""text":{"type":"string","default":"a\"b"}"#,
        r#""empty":{"type":"string"}"#,
        r#""number":{"type":"number","default":1.50}"#,
        r#""count":{"type":"integer","default":0}"#,
        r#""flag":{"type":"boolean","default":false}"#,
        r#""list":{"type":"array","items":{"enum":["a","b"]},"default":["b"]}"#,
        r#""other":{"type":"colour","default":{"red":1}}"#,
        r#""no":{"type":"colour"}"#,
    ];
    let form = format!(r#"{{"type":"object","properties":{{{}}}}}"#, fields.join(","));
    let form: ObjectSchema<'_> = serde_json::from_str(&form).expect("a form");
    let expected =
        r#"{"text":"a\"b","number":1.5,"count":0,"flag":false,"list":["b"],"other":{"red":1}}"#;
    assert_eq!(form.defaults().as_json(), expected);
    assert_eq!(ObjectSchema::default().defaults().as_json(), "{}");
}
