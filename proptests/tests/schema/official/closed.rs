//! The official schemas, and closed variants that forbid unnamed members.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::{Mutex, OnceLock};

use jsonschema::Validator;
use mcp_sansio::Revision;
use mcp_sansio_proptests::shared;
use serde_json::{Map, Value, json};

/// The schema of one revision.
#[derive(Debug)]
pub(crate) struct Schemas {
    open: Value,
    closed: Value,
    /// The member that contains the definitions.
    place: &'static str,
    /// The names of the members of all definitions.
    members: Vec<String>,
    /// The validators that were used, by whether they are closed and by definition.
    validators: Mutex<BTreeMap<(bool, String), Validator>>,
}

impl Schemas {
    /// Returns the schema of a revision. Returns `None` and prints a warning if it is missing, because nothing can be
    /// checked then. With `CI=true` a missing schema is a failure.
    pub(crate) fn of(revision: Revision) -> Option<&'static Self> {
        static ALL: [OnceLock<Option<Schemas>>; Revision::ALL.len()] =
            [const { OnceLock::new() }; Revision::ALL.len()];
        let index = Revision::ALL.iter().position(|each| *each == revision).unwrap();
        ALL[index].get_or_init(|| Self::read(revision)).as_ref()
    }

    fn read(revision: Revision) -> Option<Self> {
        let path = shared(&format!("schema/{revision}/schema.json"))?;
        let open: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        let place = if open.get("$defs").is_some() { "$defs" } else { "definitions" };
        let mut closed = open.clone();
        for (name, definition) in closed[place].as_object_mut().unwrap() {
            if name.ends_with("MetaObject") {
                reserve(definition);
            } else {
                close(definition, name.ends_with("Result") || name.ends_with("Params"));
            }
        }
        let members = member_names(&open[place]).into_iter().collect();
        Some(Self { open, closed, place, members, validators: Mutex::default() })
    }

    /// Returns a definition.
    pub(crate) fn definition(&self, name: &str) -> &Value {
        &self.open[self.place][name]
    }

    /// Returns the names of the members of all definitions.
    pub(crate) fn members(&self) -> &[String] {
        &self.members
    }

    /// Returns the names of all definitions.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.open[self.place].as_object().unwrap().keys().map(String::as_str)
    }

    /// Whether the schema has this definition.
    pub(crate) fn defines(&self, name: &str) -> bool {
        self.open[self.place].get(name).is_some()
    }

    /// Returns the names of the definitions in a union; empty if there is no such union or no named member.
    pub(crate) fn union(&self, name: &str) -> Vec<String> {
        let definition = &self.open[self.place][name];
        let single = std::slice::from_ref(definition);
        let members = definition["anyOf"].as_array().map_or(single, Vec::as_slice);
        let names = members.iter().filter_map(|member| member["$ref"].as_str());
        names.map(|path| path.rsplit('/').next().unwrap().to_owned()).collect()
    }

    /// Checks that a value matches a definition and has no unnamed members.
    pub(crate) fn closed(&self, name: &str, value: &Value) -> Result<(), String> {
        self.check(true, name, value)
    }

    /// Checks that a value matches an unmodified definition.
    pub(crate) fn open(&self, name: &str, value: &Value) -> Result<(), String> {
        self.check(false, name, value)
    }

    /// Checks a request or notification. Until 2025-06-18 the definitions omit the envelope.
    pub(crate) fn message(&self, name: &str, message: &Value) -> Result<(), String> {
        let definition = &self.open[self.place][name];
        let mut message = message.clone();
        if definition["properties"].get("jsonrpc").is_none() {
            let members = message.as_object_mut().unwrap();
            assert_eq!(members.remove("jsonrpc"), Some(json!("2.0")));
            members.remove("id");
        }
        self.closed(name, &message)
    }

    fn check(&self, is_closed: bool, name: &str, value: &Value) -> Result<(), String> {
        assert!(self.defines(name), "the schema does not define {name}");
        let mut validators = self.validators.lock().unwrap();
        let validator = validators.entry((is_closed, name.to_owned())).or_insert_with(|| {
            let schema = if is_closed { &self.closed } else { &self.open };
            jsonschema::validator_for(&self.root(schema, name)).unwrap()
        });
        validator.validate(value).map_err(|error| format!("{name}: {error}: {value}"))
    }

    /// Returns a schema of one definition.
    fn root(&self, schema: &Value, name: &str) -> Value {
        let (place, dialect) = (self.place, &schema["$schema"]);
        let reference = format!("#/{place}/{name}");
        match place {
            // Before 2019-09, members beside `$ref` are ignored, but not its target.
            "definitions" => json!({
                "$schema": dialect, place: schema[place], "allOf": [{ "$ref": reference }],
            }),
            _ => json!({ "$schema": dialect, place: schema[place], "$ref": reference }),
        }
    }
}

/// Returns the names of all members in a part of a schema.
fn member_names(schema: &Value) -> BTreeSet<String> {
    match schema {
        Value::Array(parts) => parts.iter().flat_map(member_names).collect(),
        Value::Object(parts) => {
            let properties = parts.get("properties").and_then(Value::as_object);
            let names = properties.into_iter().flat_map(Map::keys).cloned();
            names.chain(parts.values().flat_map(member_names)).collect()
        }
        _ => BTreeSet::new(),
    }
}

/// The prefix of the metadata keys that are reserved for the protocol.
const RESERVED: &str = "^io\\.modelcontextprotocol/";

/// Forbids unnamed keys of the protocol, and allows all other metadata.
fn reserve(schema: &mut Value) {
    let properties = schema["properties"].as_object();
    let named: Vec<String> =
        properties.into_iter().flatten().map(|(name, _)| name.clone()).collect();
    schema["propertyNames"] =
        json!({ "anyOf": [{ "enum": named }, { "not": { "pattern": RESERVED } }] });
}

/// Forbids unnamed members, in a definition and all that it contains. Metadata stays open, and so do the schemas of
/// tools, which are JSON Schema. `has_meta`: params and results may have `_meta` even if the schema does not name it.
fn close(schema: &mut Value, has_meta: bool) {
    let Some(members) = schema.as_object_mut() else {
        if let Value::Array(list) = schema {
            list.iter_mut().for_each(|each| close(each, has_meta));
        }
        return;
    };
    let is_union = members.contains_key("anyOf") || members.contains_key("allOf");
    let is_open = members.get("additionalProperties").is_some();
    if let Some(Value::Object(properties)) = members.get_mut("properties") {
        for (name, property) in properties.iter_mut() {
            if !matches!(name.as_str(), "_meta" | "inputSchema" | "outputSchema" | "data") {
                close(property, name == "params");
            }
        }
        if has_meta {
            properties.entry("_meta").or_insert_with(|| json!({ "type": "object" }));
        }
        if !(is_union || properties.is_empty() && is_open) {
            members.insert("additionalProperties".into(), false.into());
        }
    }
    for (name, inner) in members.iter_mut() {
        match name.as_str() {
            "items" | "anyOf" | "oneOf" => close(inner, has_meta),
            "allOf" => inner.as_array_mut().unwrap().iter_mut().for_each(close_part),
            "additionalProperties" if inner.is_object() => close(inner, false),
            _ => {}
        }
    }
}

/// The same for one of several schemas of one object. The values of its members are closed, but another schema may
/// name more members. Here the data of an error has a schema, too.
fn close_part(part: &mut Value) {
    if let Some(Value::Object(properties)) = part.get_mut("properties") {
        properties.iter_mut().for_each(|(_, property)| close(property, false));
    }
}
