//! Formats the arguments of a tool from its JSON Schema, one per line.

use mcp_sansio::json::{Kind, Raw};

use crate::report::shortened;

/// The most levels of objects that are shown. The limit also bounds the cost of a recursive schema.
const DEPTH: usize = 3;

/// The most arguments that are shown of one tool.
const MOST: usize = 50;

/// The most values that are shown of an enumeration.
const VALUES: usize = 10;

/// An argument, as a caller of a tool or a prompt has to know it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Argument {
    /// The name, with the path of the enclosing arguments: `order.lines[].price`.
    pub(crate) name: String,
    /// The type in words: `string`, `array of number`, `"a" or "b"`.
    pub(crate) kind: String,
    pub(crate) is_required: bool,
    pub(crate) description: Option<String>,
}

impl Argument {
    /// Formats the argument on one line: `price (number, required): What it costs`.
    pub(crate) fn line(&self) -> String {
        let Self { name, kind, is_required, description } = self;
        let required = if *is_required { ", required" } else { "" };
        let description = description.as_deref().and_then(|text| text.lines().next());
        let description = description.map(|line| format!(": {}", shortened(line)));
        format!("{name} ({kind}{required}){}", description.unwrap_or_default())
    }
}

/// Returns the arguments of a tool with this schema, in the order of the schema.
pub(crate) fn arguments(schema: &Raw<'_>) -> Vec<Argument> {
    let mut all = Vec::new();
    Reader { root: schema }.members(schema, "", DEPTH, &mut all);
    all
}

/// A reader of a schema from the server, which may contain anything.
struct Reader<'r> {
    /// The schema that references are relative to.
    root: &'r Raw<'r>,
}

impl Reader<'_> {
    /// Adds the properties of an object.
    fn members(&self, schema: &Raw<'_>, path: &str, depth: usize, all: &mut Vec<Argument>) {
        let Some(depth) = depth.checked_sub(1) else { return };
        let schema = self.resolved(schema);
        let required = schema.get("required");
        let is_required = |name: &str| {
            let required = required.iter().flat_map(Raw::elements);
            required.filter_map(Raw::into_str).any(|required| required == *name)
        };
        for (key, property) in schema.get("properties").iter().flat_map(Raw::members) {
            if all.len() == MOST {
                return;
            }
            let key = key.to_str();
            let name = if path.is_empty() { key.to_string() } else { format!("{path}.{key}") };
            all.push(Argument {
                kind: shortened(&self.kind(&property, DEPTH)),
                is_required: is_required(&key),
                description: self.description(&property),
                name: name.clone(),
            });
            // The elements of an array are arguments, too.
            let property = self.resolved(&property);
            match property.get("items") {
                Some(items) => self.members(&items, &format!("{name}[]"), depth, all),
                None => self.members(&property, &name, depth, all),
            }
        }
    }

    /// Resolves a reference such as `{"$ref":"#/$defs/Order"}`. Other schemas are returned unchanged.
    fn resolved<'s>(&'s self, schema: &'s Raw<'_>) -> Raw<'s> {
        let reference = schema.get("$ref").and_then(Raw::into_str);
        let target = reference.and_then(|reference| {
            let reference = reference.to_str();
            self.root.pointer(reference.strip_prefix('#')?)
        });
        target.or_else(|| schema.pointer("")).unwrap_or(Raw::EMPTY_OBJECT)
    }

    fn description(&self, schema: &Raw<'_>) -> Option<String> {
        let own = schema.get("description").and_then(Raw::into_str);
        let text = own.map(|text| text.to_str().into_owned());
        text.or_else(|| {
            let referred = self.resolved(schema);
            let text = referred.get("description").and_then(Raw::into_str);
            text.map(|text| text.to_str().into_owned())
        })
    }

    /// Describes the type of a value in words.
    fn kind(&self, schema: &Raw<'_>, depth: usize) -> String {
        let Some(depth) = depth.checked_sub(1) else { return "any".into() };
        let schema = self.resolved(schema);
        if let Some(value) = schema.get("const") {
            return shortened(&value.to_string());
        }
        if let Some(values) = schema.get("enum") {
            return one_of(values.elements().map(|value| shortened(&value.to_string())));
        }
        for choices in ["anyOf", "oneOf"] {
            if let Some(choices) = schema.get(choices) {
                return one_of(choices.elements().map(|choice| self.kind(&choice, depth)));
            }
        }
        let Some(named) = schema.get("type") else { return "any".into() };
        let word = |name: Raw<'_>| {
            let name = name.into_str().map(|name| name.to_str().into_owned());
            match (name.as_deref(), schema.get("items")) {
                (Some("array"), Some(items)) => format!("array of {}", self.kind(&items, depth)),
                (Some(name), _) => shortened(name),
                (None, _) => "any".into(),
            }
        };
        match named.kind() {
            Kind::Array => one_of(named.elements().map(word)),
            _ => word(named),
        }
    }
}

/// Joins alternatives, up to a limit.
fn one_of(kinds: impl Iterator<Item = String>) -> String {
    let mut kinds: Vec<String> = kinds.take(VALUES + 1).collect();
    if VALUES < kinds.len() {
        kinds.truncate(VALUES);
        kinds.push("…".into());
    }
    if kinds.is_empty() { "any".into() } else { kinds.join(" or ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(schema: &str) -> Vec<String> {
        arguments(&Raw::new(schema).unwrap()).iter().map(Argument::line).collect()
    }

    #[test]
    fn arguments_are_shown_as_they_are_to_be_written() {
        let schema = r##"{"type":"object",
            "$defs":{"Line":{"type":"object","description":"A line.\nMore.",
                "properties":{"price":{"type":"number"}},"required":["price"]}},
            "properties":{
                "name":{"type":"string","description":"Who\nreads this"},
                "when":{"type":["string","null"]},
                "unit":{"enum":["kg","lb"]},
                "tags":{"type":"array","items":{"type":"string"}},
                "lines":{"type":"array","items":{"$ref":"#/$defs/Line"}},
                "first":{"$ref":"#/$defs/Line"},
                "count":{"anyOf":[{"type":"integer"},{"type":"null"}]},
                "more":{},
                "odd":7},
            "required":["name","unit"]}"##;
        let expected = [
            "name (string, required): Who",
            "when (string or null)",
            r#"unit ("kg" or "lb", required)"#,
            "tags (array of string)",
            "lines (array of object)",
            "lines[].price (number, required)",
            "first (object): A line.",
            "first.price (number, required)",
            "count (integer or null)",
            "more (any)",
            "odd (any)",
        ];
        assert_eq!(lines(schema), expected);
    }

    #[test]
    fn schemas_without_end_are_cut() {
        let circle = r##"{"properties":{"a":{"$ref":"#"},"b":{"type":"array","items":{"$ref":"#"}},
            "c":{"anyOf":[{"$ref":"#/properties/c"},{"$ref":"#/properties/c"}]}}}"##;
        let lines_of_circle = lines(circle);
        assert!(lines_of_circle.len() <= MOST, "{lines_of_circle:?}");
        assert_eq!(lines_of_circle[0], "a (any)");
        let many: Vec<String> = (0..100).map(|number| format!(r#""a{number}":{{}}"#)).collect();
        assert_eq!(lines(&format!(r#"{{"properties":{{{}}}}}"#, many.join(","))).len(), MOST);
        for none in ["{}", "[]", "7", r#"{"properties":[]}"#, r#"{"properties":{}}"#] {
            assert!(lines(none).is_empty(), "{none}");
        }
    }
}
