//! `CompiledSchema`: JSON Schemas, compared with arguments and results of tools.

use std::fmt;

use jsonschema::{Draft, PatternOptions, Validator};
use mcp_sansio::json::Raw;
use mcp_sansio::model::{SchemaDialect, SchemaError, SchemaValidator};
use percent_encoding::percent_decode_str;
use serde_json::Value;

/// The largest regular expression of a schema of the application, compiled, and of its cache.
const PATTERN_BYTES: usize = 1 << 20;

/// The same for a schema of the peer.
const PEER_PATTERN_BYTES: usize = 16 << 10;

/// The most steps of a regular expression that needs backtracking, in a schema of the application.
const MOST_BACKTRACKS: usize = 100_000;

/// The most parts of a schema of the peer after its references were expanded.
const MOST_EXPANDED: usize = 10_000;

/// The most regular expressions of a schema of the peer.
const MOST_PATTERNS: usize = 50;

/// The most comparisons of parts of a schema of the peer with parts of a value.
const MOST_COMPARISONS: usize = 20_000_000;

/// The most bytes of text that the regular expressions of a schema of the peer search, counted for each of them.
const MOST_SEARCHED: usize = 4 << 20;

/// The most bytes of a value that is compared with a schema of the peer. A decoded value takes up to 32 times as many.
const LONGEST_VALUE: usize = 4 << 20;

/// The bytes of text that count as one part of a value: their characters can be counted and compared.
const PART_BYTES: usize = 64;

/// The longest error with the value that it is about, and the longest one without, in bytes.
const LONGEST_ERROR: usize = 200;

/// A compiled JSON Schema of draft 2020-12 or 7.
///
/// References to other documents are errors: nothing is fetched. Formats are annotations and are not checked. Regular
/// expressions take linear time, except those with look-around or back-references in a schema of the application,
/// whose steps are limited.
pub struct CompiledSchema {
    validator: Validator,
    /// The size of a schema of the peer.
    size: Option<SchemaSize>,
}

/// The size of a schema after its references were expanded.
#[derive(Clone, Copy)]
struct SchemaSize {
    parts: usize,
    patterns: usize,
}

/// The size of a value.
struct ValueSize {
    /// The number of values in it, with itself. Long texts count as several.
    parts: usize,
    /// The bytes of its texts and of its names.
    text: usize,
}

impl SchemaSize {
    /// Whether a value can be compared in bounded time.
    fn allows(self, value: &ValueSize) -> bool {
        value.parts <= MOST_COMPARISONS / self.parts.max(1)
            && value.text <= MOST_SEARCHED / self.patterns.max(1)
    }
}

impl CompiledSchema {
    /// Compiles a schema of the application. Its references may be recursive.
    ///
    /// # Errors
    ///
    /// [`SchemaError::UnsupportedDialect`]; [`SchemaError::Mismatch`] with a description if the schema is not valid.
    pub fn new(schema: &Raw<'_>) -> Result<Self, SchemaError> {
        let (draft, value) = (draft_of(schema)?, value_of(schema)?);
        let linear =
            PatternOptions::regex().size_limit(PATTERN_BYTES).dfa_size_limit(PATTERN_BYTES);
        let compiled = options(draft).with_pattern_options(linear).build(&value).or_else(|_| {
            let limited = PatternOptions::fancy_regex()
                .backtrack_limit(MOST_BACKTRACKS)
                .size_limit(PATTERN_BYTES)
                .dfa_size_limit(PATTERN_BYTES);
            options(draft).with_pattern_options(limited).build(&value)
        });
        let validator = compiled.map_err(|error| invalid(&error.to_string()))?;
        Ok(Self { validator, size: None })
    }

    /// Compiles a schema of the peer, which must not take much time or memory. A schema is refused if it is recursive,
    /// if it has references that are no JSON pointers, dynamic references, `unevaluatedProperties` or
    /// `unevaluatedItems`, if it has more than 50 regular expressions, one with look-around or a large one, or if it has
    /// more than 10,000 parts after its references were expanded.
    ///
    /// # Errors
    ///
    /// As for [`new`](Self::new).
    pub fn of_peer(schema: &Raw<'_>) -> Result<Self, SchemaError> {
        let (draft, value) = (draft_of(schema)?, value_of(schema)?);
        let size = size_of(&value).map_err(invalid)?;
        let linear = PatternOptions::regex()
            .size_limit(PEER_PATTERN_BYTES)
            .dfa_size_limit(PEER_PATTERN_BYTES);
        let compiled = options(draft).with_pattern_options(linear).build(&value);
        let validator = compiled.map_err(|error| invalid(&error.to_string()))?;
        Ok(Self { validator, size: Some(size) })
    }

    /// Compares a value with the schema.
    ///
    /// # Errors
    ///
    /// [`SchemaError::Mismatch`] with the path of the first error: `orders[2].price: -1 is less than the minimum of 0`;
    /// also if the schema of a peer and the value are too large together, or the value has more than 4 MiB.
    pub fn check(&self, value: &Raw<'_>) -> Result<(), SchemaError> {
        const TOO_LARGE: &str = "the schema and the value are too large to be compared";
        if self.size.is_some() && LONGEST_VALUE < value.as_json().len() {
            return Err(SchemaError::Mismatch(TOO_LARGE.into()));
        }
        let value = value_of(value)?;
        if self.size.is_some_and(|size| !size.allows(&measured(&value))) {
            return Err(SchemaError::Mismatch(TOO_LARGE.into()));
        }
        // The search for an error takes more memory than the answer that there is one.
        if self.validator.is_valid(&value) {
            return Ok(());
        }
        let Err(error) = self.validator.validate(&value) else { return Ok(()) };
        let path = shortened(path_of(error.instance_path().as_str()));
        let mut text = error.to_string();
        if LONGEST_ERROR < text.len() {
            text = shortened(error.masked().to_string());
        }
        Err(SchemaError::Mismatch(if path.is_empty() { text } else { format!("{path}: {text}") }))
    }
}

fn options<'i>(draft: Draft) -> jsonschema::ValidationOptions<'i> {
    jsonschema::options().with_draft(draft).offline().should_validate_formats(false)
}

/// Returns the beginning of a long text.
fn shortened(mut text: String) -> String {
    if LONGEST_ERROR < text.len() {
        let end = (0..=LONGEST_ERROR).rev().find(|end| text.is_char_boundary(*end));
        text.truncate(end.unwrap_or(0));
        text.push('…');
    }
    text
}

fn measured(value: &Value) -> ValueSize {
    let mut open = vec![value];
    let mut size = ValueSize { parts: 0, text: 0 };
    let add = |size: &mut ValueSize, text: &str| {
        size.text += text.len();
        size.parts += text.len() / PART_BYTES;
    };
    while let Some(value) = open.pop() {
        size.parts += 1;
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(members) => {
                members.keys().for_each(|name| add(&mut size, name));
                open.extend(members.values());
            }
            Value::String(text) => add(&mut size, text),
            _ => {}
        }
    }
    size
}

impl fmt::Debug for CompiledSchema {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("CompiledSchema").finish_non_exhaustive()
    }
}

/// A validator for [`Tool::check_arguments`](mcp_sansio::model::Tool::check_arguments) and
/// [`Tool::check_result`](mcp_sansio::model::Tool::check_result), which compiles a schema for each comparison.
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

/// Returns the size of a schema after its references were replaced by what they refer to, or the reason why it is
/// refused. A recursive reference never ends, so it has too many parts.
fn size_of(schema: &Value) -> Result<SchemaSize, &'static str> {
    const TOO_MANY: &str = "it is recursive, or expands to too many parts";
    let mut open = vec![schema];
    // The parts that were found, also those that are still open: a list may refer to itself again and again.
    let (mut parts, mut patterns) = (1, 0);
    while let Some(part) = open.pop() {
        let found: usize = match part {
            Value::Array(items) => items.len(),
            Value::Object(members) => members.len(),
            _ => 0,
        };
        parts += found;
        if MOST_EXPANDED < parts {
            return Err(TOO_MANY);
        }
        match part {
            Value::Array(items) => open.extend(items),
            Value::Object(members) => {
                for (name, value) in members {
                    match (name.as_str(), value) {
                        ("$ref", Value::String(reference)) => {
                            let target = target_of(schema, reference);
                            open.push(target.ok_or("a reference is no JSON pointer")?);
                            continue;
                        }
                        ("$dynamicRef" | "$recursiveRef", Value::String(_)) => {
                            return Err("it has a dynamic reference");
                        }
                        // A part with a base or a dialect of its own is read by other rules.
                        ("$id" | "$schema", Value::String(_)) if !std::ptr::eq(part, schema) => {
                            return Err("a part of it is a document of its own");
                        }
                        // Each of them can take as long as all parts inside of it together.
                        ("unevaluatedProperties" | "unevaluatedItems", _) => {
                            return Err("it has unevaluated properties or items");
                        }
                        ("pattern", Value::String(_)) => patterns += 1,
                        ("patternProperties", Value::Object(properties)) => {
                            patterns += properties.len();
                        }
                        _ => {}
                    }
                    open.push(value);
                }
            }
            _ => {}
        }
        if MOST_PATTERNS < patterns {
            return Err("it has too many regular expressions");
        }
    }
    Ok(SchemaSize { parts, patterns })
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
        let many: Value = (0..10_000).map(|n| (format!("unknown {n}"), json!(n))).collect();
        assert!(misfit(&schema, &many).len() < 1000);
        CompiledSchema::new(&raw(&schema)).unwrap().check(&raw(&json!({"files": 2}))).unwrap();
    }

    /// Proves M-JSCH-01, M-JSCH-02, M-JSCH-03.
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
        let formats = json!({"$schema": draft, "format": "email"});
        CompiledSchema::new(&raw(&formats)).unwrap().check(&raw(&json!("x"))).unwrap();
        // The application may use what ECMAScript has.
        assert!(misfit(&json!({"pattern": "^(?!a)b"}), &json!("a")).contains("does not match"));
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

    /// Proves M-JSCH-04.
    #[test]
    fn a_schema_of_a_peer_takes_bounded_time() {
        // Each look at the list would add the whole list to the parts that are still open.
        let mut list = vec![json!(0); 9_000];
        list.push(json!({"$ref": "#/x"}));
        let refers_to_itself = json!({"x": list});
        let dialect = "https://json-schema.org/draft/2019-09/schema";
        let many_patterns: Value = (0..51).map(|n| (n.to_string(), json!({}))).collect();
        let recursive = json!({"properties": {"a": {"$ref": "#"}}});
        let refused = [
            (doubling(30), "it is recursive"),
            (json!({"$ref": "#"}), "it is recursive"),
            (json!({"allOf": [recursive, recursive]}), "it is recursive"),
            (
                json!({"$defs": {"a": {"$anchor": "x"}}, "$ref": "#x"}),
                "a reference is no JSON pointer",
            ),
            (json!({"$dynamicRef": "#"}), "it has a dynamic reference"),
            (
                json!({"$defs": {"a": {"$id": "https://example.com/a"}}}),
                "a part of it is a document",
            ),
            (json!({"pattern": "(((((a{1,100}){1,100}){1,100}){1,100}){1,100})"}), "\"(((((a{1,"),
            (json!({"pattern": "^(?!a)b"}), "\"^(?!a)b\" is not a"),
            (json!({"properties": {"a": {"$schema": dialect}}}), "a part of it is a document"),
            (json!({"$recursiveRef": "#"}), "it has a dynamic reference"),
            (json!({"unevaluatedProperties": false}), "it has unevaluated properties"),
            (json!({"patternProperties": many_patterns}), "it has too many regular expressions"),
            (refers_to_itself, "it is recursive"),
        ];
        for (schema, reason) in refused {
            let error = CompiledSchema::of_peer(&raw(&schema)).unwrap_err().to_string();
            let reason = format!("the schema is not valid: {reason}");
            assert!(error.starts_with(&reason), "{error}, and not {reason}");
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
        let choices: Vec<_> = (0..1000).map(|n| json!({"const": n + 1})).collect();
        let schema = CompiledSchema::of_peer(&raw(&json!({"items": {"anyOf": choices}}))).unwrap();
        schema.check(&raw(&json!(vec![1; 1000]))).unwrap();
        schema.check(&raw(&json!(vec![0; 1000]))).unwrap_err();
        let too_large = schema.check(&raw(&json!(vec![1; 20_000]))).unwrap_err();
        assert!(too_large.to_string().contains("too large"), "{too_large}");
        // The longest search for a match is linear.
        let schema = CompiledSchema::of_peer(&raw(&json!({"pattern": "^(a+)+$"}))).unwrap();
        schema.check(&raw(&json!("a".repeat(50_000) + "b"))).unwrap_err();
        // Each of the expressions searches the text, and each length counts its characters.
        let is_refused = |schema: &Value, value: &Value| {
            let schema = CompiledSchema::of_peer(&raw(schema)).unwrap();
            let checked = schema.check(&raw(value));
            checked.is_err_and(|error| error.to_string().contains("too large"))
        };
        let expressions: Vec<_> =
            (0..50).map(|n| json!({"not": {"pattern": format!("a[ab]{{{}}}c", 30 + n)}})).collect();
        let schema = json!({"allOf": expressions});
        assert!(is_refused(&schema, &json!("ab".repeat(200_000))));
        assert!(is_refused(&schema, &json!({"ab".repeat(200_000): 1})));
        assert!(!is_refused(&schema, &json!("ab".repeat(20_000))));
        let lengths: Vec<_> = (0..3_000).map(|n| json!({"maxLength": 5_000_000 + n})).collect();
        assert!(is_refused(&json!({"allOf": lengths}), &json!("x".repeat(1 << 20))));
        // Decoded, this list takes more memory than its text.
        assert!(is_refused(&json!({"type": "array"}), &json!(vec![0; 3 << 20])));
    }
}
