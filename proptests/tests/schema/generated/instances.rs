//! `Instances`, random values that match a definition of an official schema.

use mcp_sansio::testing::Choices;
use serde_json::{Map, Value, json};

use crate::official::closed::Schemas;

/// The depth from which on optional members and items are left out.
const DEEP: usize = 6;

/// A generator of values that match the definitions of one revision.
pub(super) struct Instances<'s> {
    schemas: &'s Schemas,
    choices: Choices,
    /// Whether objects have members that their definitions do not name.
    is_open: bool,
}

impl<'s> Instances<'s> {
    /// Creates a generator of values without unnamed members.
    pub(super) fn closed(schemas: &'s Schemas, seed: u64) -> Self {
        Self { schemas, choices: Choices::seeded(seed), is_open: false }
    }

    /// Creates a generator of values with unnamed members.
    pub(super) fn open(schemas: &'s Schemas, seed: u64) -> Self {
        Self { is_open: true, ..Self::closed(schemas, seed) }
    }

    /// Returns the source of decisions.
    pub(super) const fn choices(&mut self) -> &mut Choices {
        &mut self.choices
    }

    /// Returns a value that matches a definition.
    pub(super) fn of(&mut self, name: &str) -> Value {
        self.value(self.schemas.definition(name), 0)
    }

    /// Returns the params of a message; `null` if it has none.
    pub(super) fn params(&mut self, name: &str) -> Value {
        let definition = self.schemas.definition(name);
        let is_required =
            definition["required"].as_array().is_some_and(|names| names.contains(&json!("params")));
        match &definition["properties"]["params"] {
            Value::Null => Value::Null,
            _ if !is_required && self.choices.one_in(3) => Value::Null,
            params => self.value(params, 0),
        }
    }

    fn value(&mut self, schema: &Value, depth: usize) -> Value {
        if let Some(path) = schema["$ref"].as_str() {
            let name = path.rsplit('/').next().unwrap();
            return self.value(self.schemas.definition(name), depth);
        }
        if let Some(value) = schema.get("const") {
            return value.clone();
        }
        if let Some(values) = schema["enum"].as_array() {
            return self.pick(values).clone();
        }
        if let Some(schemas) = schema["anyOf"].as_array() {
            let one = self.pick(schemas);
            return self.value(one, depth);
        }
        if let Some(parts) = schema["allOf"].as_array() {
            let parts = parts.iter().map(|part| self.value(part, depth));
            return parts.fold(json!({}), |mut all, part| {
                all.as_object_mut().unwrap().extend(part.as_object().unwrap().clone());
                all
            });
        }
        let kind = match &schema["type"] {
            Value::String(kind) => kind.as_str(),
            Value::Array(kinds) => self.pick(kinds).as_str().unwrap(),
            _ => return self.any(depth),
        };
        match kind {
            "object" => self.object(schema, depth),
            "array" => {
                let most = schema["maxItems"].as_u64().unwrap_or(3).min(3);
                let count = if depth < DEEP { self.choices.below(most + 1) } else { 0 };
                (0..count).map(|_| self.value(&schema["items"], depth + 1)).collect()
            }
            "string" => self.string(schema).into(),
            "integer" | "number" => self.number(schema, kind == "integer"),
            "boolean" => self.choices.one_in(2).into(),
            "null" => Value::Null,
            kind => panic!("the schema has a type {kind}"),
        }
    }

    fn object(&mut self, schema: &Value, depth: usize) -> Value {
        let mut object = Map::new();
        let required = schema["required"].as_array().map_or(&[][..], Vec::as_slice);
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let is_wanted = depth < DEEP && self.choices.one_in(2);
            if is_wanted || required.iter().any(|required| required == name) {
                object.insert(name.clone(), self.value(property, depth + 1));
            }
        }
        let more = &schema["additionalProperties"];
        // Members of any name and kind, beside named ones, are unnamed members.
        let is_map = match more.as_object() {
            Some(more) => !more.is_empty() || schema.get("properties").is_none(),
            None => schema.get("properties").is_none(),
        };
        if is_map && depth < DEEP {
            for name in ["a", "com.example/b", "c d"] {
                if self.choices.one_in(2) && !object.contains_key(name) {
                    object.insert(name.into(), self.value(more, depth + 1));
                }
            }
        } else if self.is_open && !is_map && self.choices.one_in(2) {
            self.add_unnamed(&mut object, schema);
        }
        Value::Object(object)
    }

    /// Adds a member that the schema of the object does not name, but another definition does.
    fn add_unnamed(&mut self, object: &mut Map<String, Value>, schema: &Value) {
        let name = self.pick(self.schemas.members());
        if !is_checked_everywhere(name) && schema["properties"].get(name).is_none() {
            let value = self.any(DEEP - 1);
            object.insert(name.clone(), value);
        }
    }

    fn string(&mut self, schema: &Value) -> &'static str {
        let texts: &[&str] = match schema["format"].as_str() {
            Some("uri") => &["https://example.com/a?b=c#d", "file:///a", "x:y"],
            Some("uri-template") => &["x:{y}", "https://example.com/{+path}"],
            Some("byte") => &["", "AAAA", "AA==", "+/8="],
            Some(format) => panic!("the schema has a format {format}"),
            None => &["", "a", "two words", "\"quoted\\\n", "\u{e9}\u{1f600}", "null"],
        };
        self.choices.pick(texts).unwrap()
    }

    fn number(&mut self, schema: &Value, is_integer: bool) -> Value {
        let low = schema["minimum"].as_i64().unwrap_or(0);
        let high = schema["maximum"].as_i64().unwrap_or(1_000_000);
        let integer = match self.choices.below(4) {
            0 => low,
            1 => high,
            _ => low + self.choices.below((high - low) as u64 + 1) as i64,
        };
        if is_integer || integer == high || self.choices.one_in(2) {
            return integer.into();
        }
        (integer as f64 + 0.5).into()
    }

    /// Returns any scalar, or an empty object.
    pub(super) fn scalar(&mut self) -> Value {
        self.any(DEEP)
    }

    /// Returns any JSON value.
    fn any(&mut self, depth: usize) -> Value {
        match self.choices.below(if depth < DEEP { 8 } else { 6 }) {
            0 => Value::Null,
            1 => self.choices.one_in(2).into(),
            2 => self.number(&Value::Null, true),
            3 => self.number(&Value::Null, false),
            4 => self.string(&Value::Null).into(),
            5 => json!({}),
            6 => (0..self.choices.below(3)).map(|_| self.any(depth + 1)).collect(),
            _ => json!({ "a": self.any(depth + 1), "type": self.any(depth + 1) }),
        }
    }

    fn pick<'v, T>(&mut self, things: &'v [T]) -> &'v T {
        let index = self.choices.below(things.len() as u64);
        &things[usize::try_from(index).unwrap()]
    }
}

/// Whether the core checks a member of this name also where one alternative of a union does not name it: `_meta`, the
/// tag of a union, the members of a resource with a text or a blob, and those of fields of forms that are strings or
/// lists.
fn is_checked_everywhere(name: &str) -> bool {
    let of_fields = ["enum", "enumNames", "format", "minLength", "maxLength", "oneOf", "anyOf"];
    matches!(name, "_meta" | "type" | "text" | "blob") || of_fields.contains(&name)
}
