//! JSON Schemas of tools, compared with arguments and results.

use std::collections::BTreeMap;
use std::fmt;

use jsonschema::{Draft, PatternOptions, Validator};
use mcp_sansio::Client;
use mcp_sansio::json::Raw;
use mcp_sansio::model::{CallToolResult, SchemaDialect, SchemaError, SchemaValidator, Tool};
use percent_encoding::percent_decode_str;
use serde::Serialize;
use serde_json::Value;

use crate::failure::CallFailure;
use crate::handle::Handle;
use crate::waiting::Waiting;

/// The largest regular expression of a schema, compiled.
const PATTERN_BYTES: usize = 1 << 20;

/// The most steps of expanding the references of a schema of the peer.
const MOST_EXPANDED: usize = 10_000;

/// The most errors in one message.
const MOST_ERRORS: usize = 3;

/// The longest error with the value that it is about, in bytes.
const LONGEST_ERROR: usize = 200;

/// A compiled JSON Schema of draft 2020-12 or 7.
///
/// References to other documents are errors: nothing is fetched. Regular expressions take linear time. Formats are
/// annotations and are not checked.
pub struct CompiledSchema {
    validator: Validator,
}

impl CompiledSchema {
    /// Compiles a schema of the application. Its references may be recursive.
    ///
    /// # Errors
    ///
    /// [`SchemaError::UnsupportedDialect`]; [`SchemaError::Mismatch`] with a description if the schema is not valid.
    pub fn new(schema: &Raw<'_>) -> Result<Self, SchemaError> {
        let draft = draft_of(schema)?;
        let value = value_of(schema)?;
        let validator = jsonschema::options()
            .with_draft(draft)
            .offline()
            .with_pattern_options(PatternOptions::regex().size_limit(PATTERN_BYTES))
            .build(&value)
            .map_err(|error| invalid(&error.to_string()))?;
        Ok(Self { validator })
    }

    /// Compiles a schema of the peer, which could take exponential time: a schema is refused if its references are
    /// recursive, are no JSON pointers, or expand to more than 10,000 parts.
    ///
    /// # Errors
    ///
    /// As for [`new`](Self::new).
    pub fn of_peer(schema: &Raw<'_>) -> Result<Self, SchemaError> {
        if !is_small_when_expanded(&value_of(schema)?) {
            return Err(invalid(
                "its references are recursive, are no JSON pointers, or expand to too many parts",
            ));
        }
        Self::new(schema)
    }

    /// Compares a value with the schema.
    ///
    /// # Errors
    ///
    /// [`SchemaError::Mismatch`] with the paths of at most three errors: `orders[2].price: -1 is less than the minimum
    /// of 0`.
    pub fn check(&self, value: &Raw<'_>) -> Result<(), SchemaError> {
        let value = value_of(value)?;
        let mut errors = self.validator.iter_errors(&value).peekable();
        if errors.peek().is_none() {
            return Ok(());
        }
        let texts = errors.take(MOST_ERRORS).map(|error| {
            let path = path_of(error.instance_path().as_str());
            // Large values make the text unreadable.
            let mut text = error.to_string();
            if LONGEST_ERROR < text.len() {
                text = error.masked().to_string();
            }
            if path.is_empty() { text } else { format!("{path}: {text}") }
        });
        Err(SchemaError::Mismatch(texts.collect::<Vec<_>>().join("; ")))
    }
}

impl fmt::Debug for CompiledSchema {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("CompiledSchema").finish_non_exhaustive()
    }
}

/// A validator for [`Tool::check_arguments`] and [`Tool::check_result`], which compiles a schema for each comparison.
/// It treats schemas as those of a peer: see [`CompiledSchema::of_peer`].
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct JsonSchemaValidator;

impl SchemaValidator for JsonSchemaValidator {
    fn validate(
        &self,
        _: SchemaDialect<'_>,
        schema: &Raw<'_>,
        value: &Raw<'_>,
    ) -> Result<(), SchemaError> {
        CompiledSchema::of_peer(schema)?.check(value)
    }
}

/// The schemas of the tools of a server, for the calls of a client.
///
/// ```
/// use mcp_sansio_driver::{CallFailure, Handle, ToolSchemas};
/// use serde_json::json;
///
/// # async fn example(server: &Handle) -> Result<(), CallFailure> {
/// let tools = ToolSchemas::of(&server.list_all_tools().await?);
/// let result = tools.call(server, "greet", &json!({"name": "Alice"})).await?;
/// # _ = result; Ok(())
/// # }
/// ```
#[derive(Debug, Default)]
pub struct ToolSchemas {
    /// By the name of the tool.
    schemas: BTreeMap<String, Schemas>,
}

#[derive(Debug)]
struct Schemas {
    input: Result<CompiledSchema, SchemaError>,
    output: Option<Result<CompiledSchema, SchemaError>>,
}

impl ToolSchemas {
    /// Compiles the schemas of these tools.
    pub fn of(tools: &[Tool<'_>]) -> Self {
        let schemas = tools.iter().map(|tool| {
            let input = CompiledSchema::of_peer(&tool.input_schema);
            let output = tool.output_schema.as_ref().map(CompiledSchema::of_peer);
            (tool.name.to_string(), Schemas { input, output })
        });
        Self { schemas: schemas.collect() }
    }

    /// Compares arguments with the schema of a tool. Every argument of an unknown tool fits, and so does every
    /// argument of a tool whose schema cannot be compiled: the server decides.
    ///
    /// # Errors
    ///
    /// [`SchemaError::Mismatch`] if the arguments do not fit.
    pub fn check_arguments(&self, tool: &str, arguments: &Raw<'_>) -> Result<(), SchemaError> {
        match self.schemas.get(tool).map(|schemas| &schemas.input) {
            Some(Ok(schema)) => schema.check(arguments),
            _ => Ok(()),
        }
    }

    /// Compares a result with the schema of a tool. Every result of an unknown tool fits, and so does a result that
    /// reports a failure, and every result of a tool without an output schema.
    ///
    /// # Errors
    ///
    /// [`SchemaError`] if the result does not fit, or if the output schema cannot be compiled.
    pub fn check_result(&self, tool: &str, result: &CallToolResult<'_>) -> Result<(), SchemaError> {
        let schema = self.schemas.get(tool).and_then(|schemas| schemas.output.as_ref());
        let Some(schema) = schema.filter(|_| !result.failed()) else { return Ok(()) };
        let schema = schema.as_ref().map_err(Clone::clone)?;
        schema.check(result.structured_content.as_ref().ok_or(SchemaError::Missing)?)
    }

    /// Calls a tool as [`Handle::call_tool`] does, and compares the arguments and the result with its schemas.
    ///
    /// # Errors
    ///
    /// [`CallFailure`] if there is no result. [`CallFailure::Mismatch`] if the arguments do not fit, so that the call
    /// was not made, or if the result does not fit.
    pub fn call<'s, A: Serialize + ?Sized>(
        &'s self,
        server: &Handle<Client>,
        tool: &'s str,
        arguments: &A,
    ) -> Waiting<'s, Result<CallToolResult<'static>, CallFailure>> {
        let mismatch = |error: SchemaError| CallFailure::Mismatch(error.to_string());
        let arguments = Raw::from_serialize(arguments);
        let checked = match &arguments {
            Ok(arguments) if *arguments != Raw::NULL => self.check_arguments(tool, arguments),
            _ => self.check_arguments(tool, &Raw::EMPTY_OBJECT),
        };
        let called = match (checked, arguments) {
            (Ok(()), Ok(arguments)) => Ok(server.call_tool(tool, &arguments)),
            (Ok(()), Err(error)) => Err(CallFailure::CallError(error.into())),
            (Err(error), _) => Err(CallFailure::Mismatch(format!("the arguments: {error}"))),
        };
        Waiting::new(async move {
            let result = called?.await?;
            self.check_result(tool, &result).map_err(mismatch)?;
            Ok(result)
        })
    }
}

fn draft_of(schema: &Raw<'_>) -> Result<Draft, SchemaError> {
    match SchemaDialect::of(schema) {
        SchemaDialect::V2020_12 => Ok(Draft::Draft202012),
        SchemaDialect::Draft7 => Ok(Draft::Draft7),
        SchemaDialect::Other(other) => Err(SchemaError::UnsupportedDialect(other.to_owned())),
        _ => Err(SchemaError::UnsupportedDialect("unknown".to_owned())),
    }
}

fn value_of(raw: &Raw<'_>) -> Result<Value, SchemaError> {
    raw.parse().map_err(|error| SchemaError::Mismatch(error.to_string()))
}

fn invalid(reason: &str) -> SchemaError {
    SchemaError::Mismatch(format!("the schema is not valid: {reason}"))
}

/// Whether a schema has few parts after its references were replaced by what they refer to. A recursive reference
/// never ends, so it has too many.
fn is_small_when_expanded(schema: &Value) -> bool {
    let mut open = vec![schema];
    let mut steps = 0;
    while let Some(part) = open.pop() {
        steps += 1;
        if MOST_EXPANDED < steps {
            return false;
        }
        match part {
            Value::Array(items) => open.extend(items),
            Value::Object(members) => {
                for (name, value) in members {
                    match (name.as_str(), value) {
                        ("$ref", Value::String(reference)) => {
                            // Anchors and other documents are not followed here, so they are refused.
                            match target_of(schema, reference) {
                                Some(target) => open.push(target),
                                None => return false,
                            }
                        }
                        ("$dynamicRef", Value::String(_)) => return false,
                        // References in a part with a base of its own are resolved elsewhere.
                        ("$id", Value::String(_)) if !std::ptr::eq(part, schema) => return false,
                        _ => open.push(value),
                    }
                }
            }
            _ => {}
        }
    }
    true
}

/// Returns the part of a schema that a reference by a JSON pointer refers to.
fn target_of<'s>(schema: &'s Value, reference: &str) -> Option<&'s Value> {
    let pointer = percent_decode_str(reference.strip_prefix('#')?).decode_utf8().ok()?;
    schema.pointer(&pointer)
}

/// Converts a JSON pointer into a path: `/orders/2/price` into `orders[2].price`.
fn path_of(pointer: &str) -> String {
    let mut path = String::new();
    for part in pointer.split('/').skip(1) {
        let part = part.replace("~1", "/").replace("~0", "~");
        if !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()) {
            path.push_str(&format!("[{part}]"));
        } else {
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(&part);
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn raw(value: &Value) -> Raw<'static> {
        Raw::from_serialize(value).unwrap()
    }

    fn misfit(schema: &Value, value: &Value) -> String {
        let schema = CompiledSchema::new(&raw(schema)).unwrap();
        match schema.check(&raw(value)) {
            Err(SchemaError::Mismatch(text)) => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_misfit_names_the_place() {
        let schema = json!({
            "type": "object",
            "properties": {
                "files": {"type": "integer", "minimum": 1},
                "orders": {"items": {"properties": {"price": {"minimum": 0}}}},
                "name": {"maxLength": 3},
            },
            "required": ["files"],
            "additionalProperties": false,
        });
        let table = [
            (json!({"files": 0}), "files: 0 is less than the minimum of 1"),
            (
                json!({"files": 1, "orders": [{}, {"price": -1}]}),
                "orders[1].price: -1 is less than the minimum of 0",
            ),
            (json!({}), "\"files\" is a required property"),
            (
                json!({"files": 1, "name": "x".repeat(500)}),
                "name: value is longer than 3 characters",
            ),
        ];
        for (value, text) in table {
            assert_eq!(misfit(&schema, &value), text);
        }
        let four = json!({"files": "x", "orders": [{"price": -1}, {"price": -2}, {"price": -3}]});
        assert_eq!(misfit(&schema, &four).split("; ").count(), 3);
        CompiledSchema::new(&raw(&schema)).unwrap().check(&raw(&json!({"files": 2}))).unwrap();
    }

    #[test]
    fn nothing_is_fetched_and_dialects_are_not_guessed() {
        let compiled = |schema: &Value| CompiledSchema::new(&raw(schema)).map(|_| ()).unwrap_err();
        for reference in ["https://example.com/schema.json", "file:///etc/passwd", "other.json"] {
            let error =
                compiled(&json!({"type": "object", "properties": {"a": {"$ref": reference}}}));
            assert!(error.to_string().starts_with("the schema is not valid: "), "{error}");
        }
        let dialect = "https://json-schema.org/draft/2019-09/schema";
        let error = compiled(&json!({"$schema": dialect}));
        assert_eq!(error, SchemaError::UnsupportedDialect(dialect.into()));
        let draft = "http://json-schema.org/draft-07/schema#";
        let seven = json!({"$schema": draft, "items": [{"type": "string"}]});
        assert_eq!(misfit(&seven, &json!([1])), "[0]: 1 is not of type \"string\"");
    }

    /// Each definition refers twice to the next one.
    fn doubling(levels: usize) -> Value {
        let definitions: serde_json::Map<_, _> = (0..levels)
            .map(|level| {
                let next = json!({"$ref": format!("#/$defs/{}", level + 1)});
                (level.to_string(), json!({"allOf": [next, next]}))
            })
            .chain([(levels.to_string(), json!({"type": "string"}))])
            .collect();
        json!({"$defs": definitions, "$ref": "#/$defs/0"})
    }

    #[test]
    fn a_schema_of_a_peer_takes_bounded_time() {
        let recursive = json!({"properties": {"a": {"$ref": "#"}}});
        let refused = [
            doubling(30),
            json!({"$ref": "#"}),
            json!({"allOf": [recursive, recursive]}),
            json!({"$defs": {"a": {"$anchor": "x"}}, "$ref": "#x"}),
            json!({"$dynamicRef": "#"}),
            json!({"$defs": {"a": {"$id": "https://example.com/a", "$ref": "#"}}}),
            json!({"pattern": "(((((a{1,100}){1,100}){1,100}){1,100}){1,100})"}),
        ];
        for schema in refused {
            CompiledSchema::of_peer(&raw(&schema)).unwrap_err();
        }
        let with_id =
            json!({"$id": "https://example.com/s", "$defs": {"a": {}}, "$ref": "#/$defs/a"});
        for schema in [
            doubling(3),
            with_id,
            json!({"$defs": {"a b": {"minimum": 1}}, "items": {"$ref": "#/$defs/a%20b"}}),
        ] {
            CompiledSchema::of_peer(&raw(&schema)).unwrap();
        }
        // The longest search for a match is linear.
        let schema = CompiledSchema::of_peer(&raw(&json!({"pattern": "^(a+)+$"}))).unwrap();
        schema.check(&raw(&json!("a".repeat(50_000) + "b"))).unwrap_err();
    }

    #[test]
    fn results_of_known_tools_are_compared() {
        let schema = raw(&json!({"type": "object", "properties": {"sum": {"type": "integer"}}}));
        let any = raw(&json!({"type": "object"}));
        let unknown = raw(&json!({"type": "object", "$schema": "https://example.com/dialect"}));
        let tools = ToolSchemas::of(&[
            Tool::new("sum", schema.clone()).output_schema(schema),
            Tool::new("any", any.clone()),
            Tool::new("odd", unknown.clone()).output_schema(unknown),
        ]);
        let structured = |value| CallToolResult::structured(raw(&value));
        tools.check_result("sum", &structured(json!({"sum": 3}))).unwrap();
        let misfit = tools.check_result("sum", &structured(json!({"sum": "3"}))).unwrap_err();
        assert_eq!(misfit.to_string(), "sum: \"3\" is not of type \"integer\"");
        assert_eq!(
            tools.check_result("sum", &CallToolResult::text("3")),
            Err(SchemaError::Missing)
        );
        tools.check_result("sum", &CallToolResult::error("no")).unwrap();
        tools.check_result("any", &CallToolResult::text("3")).unwrap();
        tools.check_result("none", &CallToolResult::text("3")).unwrap();
        let odd = tools.check_result("odd", &structured(json!({}))).unwrap_err();
        assert!(matches!(odd, SchemaError::UnsupportedDialect(_)));
        assert!(tools.check_arguments("sum", &raw(&json!({"sum": "3"}))).is_err());
        tools.check_arguments("odd", &raw(&json!({"sum": "3"}))).unwrap();
    }
}
