//! Forms: what a user is asked to fill in
//! ([client/elicitation](https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#requested-schema)).

use alloc::vec::Vec;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::content::{borrowed_json, kind, parse};
use super::map::Map;
use super::text::Text;
use crate::json::{Number, Raw};
use crate::schema::shape::{Field, Kind, Kinds, Record, Shape, choice, closed, open};
use crate::schema::{ModelWriter, WireType, Written};
use crate::version::Revision;

/// A flat object schema: what a form asks for.
#[doc(alias("requestedSchema", "ElicitationSchema"))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[serde(tag = "type", rename = "object")]
#[non_exhaustive]
pub struct ObjectSchema<'a> {
    /// The dialect of JSON Schema (2025-11-25).
    #[serde(borrow, rename = "$schema", skip_serializing_if = "Option::is_none")]
    pub schema: Option<Text<'a>>,
    /// The fields of the form.
    #[serde(borrow)]
    pub properties: Map<'a, PrimitiveSchema<'a>>,
    /// The fields that must be filled in.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub required: Option<Vec<Text<'a>>>,
}

impl<'a> ObjectSchema<'a> {
    /// A form with these fields, none of them required.
    pub fn new(properties: Map<'a, PrimitiveSchema<'a>>) -> Self {
        Self { properties, ..Self::default() }
    }
}

/// One field of a form.
#[doc(alias = "PrimitiveSchemaDefinition")]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub enum PrimitiveSchema<'a> {
    /// Text, or a choice from a list.
    String(StringSchema<'a>),
    /// A number.
    Number(NumberSchema<'a>),
    /// Yes or no.
    Boolean(BooleanSchema<'a>),
    /// Several choices from a list (2025-11-25).
    Array(ArraySchema<'a>),
    /// A schema of another type.
    Unknown(
        #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::unknown_type))]
        Raw<'a>,
    ),
}

impl Serialize for PrimitiveSchema<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::String(schema) => schema.serialize(serializer),
            Self::Number(schema) => schema.serialize(serializer),
            Self::Boolean(schema) => schema.serialize(serializer),
            Self::Array(schema) => schema.serialize(serializer),
            Self::Unknown(raw) => raw.serialize(serializer),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for PrimitiveSchema<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = borrowed_json(deserializer)?;
        match &*kind(text)?.to_str() {
            "string" => parse(text).map(Self::String),
            "number" | "integer" => parse(text).map(Self::Number),
            "boolean" => parse(text).map(Self::Boolean),
            "array" => parse(text).map(Self::Array),
            _ => Ok(Self::Unknown(Raw::trusted(text))),
        }
    }
}

/// A field for text. With `enum` or `oneOf` it is a choice of one from a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[serde(tag = "type", rename = "string")]
#[non_exhaustive]
pub struct StringSchema<'a> {
    /// The label of the field.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub title: Option<Text<'a>>,
    /// What to fill in.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub description: Option<Text<'a>>,
    /// The least number of characters.
    #[serde(rename = "minLength", skip_serializing_if = "Option::is_none")]
    pub min_length: Option<u64>,
    /// The most characters.
    #[serde(rename = "maxLength", skip_serializing_if = "Option::is_none")]
    pub max_length: Option<u64>,
    /// `email`, `uri`, `date` or `date-time`.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub format: Option<Text<'a>>,
    /// A regular expression: in the prose of 2025-11-25, not in its schema.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<Text<'a>>,
    /// The values to choose from.
    #[doc(alias = "enum")]
    #[serde(borrow, rename = "enum", skip_serializing_if = "Option::is_none")]
    pub choices: Option<Vec<Text<'a>>>,
    /// What to call them, in the same order (deprecated in 2025-11-25).
    #[doc(alias = "enumNames")]
    #[serde(borrow, rename = "enumNames", skip_serializing_if = "Option::is_none")]
    pub choice_names: Option<Vec<Text<'a>>>,
    /// The values to choose from, with titles (2025-11-25).
    #[serde(borrow, rename = "oneOf", skip_serializing_if = "Option::is_none")]
    pub one_of: Option<Vec<EnumOption<'a>>>,
    /// What to fill in beforehand (2025-11-25).
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub default: Option<Text<'a>>,
}

/// One value of a choice, with its title (2025-11-25).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct EnumOption<'a> {
    /// The value.
    #[doc(alias = "const")]
    #[serde(borrow, rename = "const")]
    pub value: Text<'a>,
    /// What to call it.
    #[serde(borrow)]
    pub title: Text<'a>,
}

impl<'a> EnumOption<'a> {
    /// A value and what to call it.
    pub fn new(value: impl Into<Text<'a>>, title: impl Into<Text<'a>>) -> Self {
        Self { value: value.into(), title: title.into() }
    }
}

/// A field for a number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct NumberSchema<'a> {
    /// `number`, or `integer` for whole numbers.
    #[serde(borrow, rename = "type")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::number_kind))]
    pub kind: Text<'a>,
    /// The label of the field.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub title: Option<Text<'a>>,
    /// What to fill in.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub description: Option<Text<'a>>,
    /// The least value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum: Option<Number>,
    /// The greatest value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maximum: Option<Number>,
    /// What to fill in beforehand (2025-11-25).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Number>,
}

impl NumberSchema<'_> {
    /// A field for any number.
    pub fn number() -> Self {
        Self { kind: "number".into(), ..Self::default() }
    }

    /// A field for a whole number.
    pub fn integer() -> Self {
        Self { kind: "integer".into(), ..Self::default() }
    }
}

/// A field for yes or no.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[serde(tag = "type", rename = "boolean")]
#[non_exhaustive]
pub struct BooleanSchema<'a> {
    /// The label of the field.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub title: Option<Text<'a>>,
    /// What to fill in.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub description: Option<Text<'a>>,
    /// What to fill in beforehand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<bool>,
}

/// A field for several choices from a list (2025-11-25).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[serde(tag = "type", rename = "array")]
#[non_exhaustive]
pub struct ArraySchema<'a> {
    /// The label of the field.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub title: Option<Text<'a>>,
    /// What to fill in.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub description: Option<Text<'a>>,
    /// The fewest choices.
    #[serde(rename = "minItems", skip_serializing_if = "Option::is_none")]
    pub min_items: Option<u64>,
    /// The most choices.
    #[serde(rename = "maxItems", skip_serializing_if = "Option::is_none")]
    pub max_items: Option<u64>,
    /// The values to choose from.
    #[serde(borrow)]
    pub items: SelectItems<'a>,
    /// What to choose beforehand.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub default: Option<Vec<Text<'a>>>,
}

/// The values to choose several from: plain (`type` and `enum`) or with titles (`anyOf`).
#[doc(alias = "MultiSelectEnumSchema")]
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct SelectItems<'a> {
    /// `string`, with plain values only.
    #[serde(borrow, rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<Text<'a>>,
    /// Plain values.
    #[doc(alias = "enum")]
    #[serde(borrow, rename = "enum", skip_serializing_if = "Option::is_none")]
    pub choices: Option<Vec<Text<'a>>>,
    /// Values with titles.
    #[serde(borrow, rename = "anyOf", skip_serializing_if = "Option::is_none")]
    pub any_of: Option<Vec<EnumOption<'a>>>,
}

impl<'a> SelectItems<'a> {
    /// Plain values.
    pub fn plain<T: Into<Text<'a>>>(values: impl IntoIterator<Item = T>) -> Self {
        let choices = values.into_iter().map(Into::into).collect();
        Self { kind: Some("string".into()), choices: Some(choices), any_of: None }
    }

    /// Values with titles.
    pub fn titled(options: impl IntoIterator<Item = EnumOption<'a>>) -> Self {
        Self { any_of: Some(options.into_iter().collect()), ..Self::default() }
    }
}

/// The schema of a form, compared member by member: which members a field has depends on its type.
pub(crate) enum Form {}

impl WireType<ObjectSchema<'_>> for Form {
    const SHAPE: Shape = Shape::Record(&FORM);

    fn write(schema: &ObjectSchema<'_>, out: &mut ModelWriter<'_, '_>) -> Written {
        out.serialize(schema, &Shape::Record(&FORM))
    }
}

/// What a form asks for: an object without depth.
static FORM: Record = Record::of(&[
    Field::required("type", Shape::OneOf(&closed(&[choice("object")]))),
    Field::required("properties", Shape::Map(&Shape::Record(&FIELD))),
    Field::optional("required", Shape::List(&Shape::Text)),
    Field::optional("$schema", Shape::Text).since(Revision::V2025_11_25),
]);

/// One field of a form.
static FIELD: Record = Record::with(
    &[
        Field::required("type", Shape::Text),
        Field::optional("title", Shape::Text),
        Field::optional("description", Shape::Text),
        Field::optional("default", Shape::Any)
            .since(Revision::V2025_11_25)
            .in_kind_since("boolean", Revision::V2025_06_18),
        Field::optional("minLength", Shape::Integer),
        Field::optional("maxLength", Shape::Integer),
        Field::optional(
            "format",
            Shape::OneOf(&open(&[
                choice("email"),
                choice("uri"),
                choice("date"),
                choice("date-time"),
            ])),
        ),
        Field::optional("pattern", Shape::Text),
        Field::optional("enum", Shape::List(&Shape::Text)),
        Field::optional("enumNames", Shape::List(&Shape::Text)),
        Field::essential("oneOf", Shape::List(&Shape::Record(&OPTION)))
            .since(Revision::V2025_11_25),
        Field::optional("minimum", Shape::Number),
        Field::optional("maximum", Shape::Number),
        Field::optional("minItems", Shape::Integer),
        Field::optional("maxItems", Shape::Integer),
        Field::optional("items", Shape::Record(&ITEMS)),
    ],
    Some(Kinds {
        tag: "type",
        kinds: &[
            Kind::of("string", &[]),
            Kind::of("number", &[]),
            Kind::of("integer", &[]),
            Kind::of("boolean", &[]),
            Kind::of("array", &["items"]).since(Revision::V2025_11_25),
        ],
        default: None,
        open: false,
    }),
    &[],
);

static OPTION: Record =
    Record::of(&[Field::required("const", Shape::Text), Field::required("title", Shape::Text)]);

static ITEMS: Record = Record::with(
    &[
        Field::optional("type", Shape::OneOf(&closed(&[choice("string")]))),
        Field::optional("enum", Shape::List(&Shape::Text)),
        Field::optional("anyOf", Shape::List(&Shape::Record(&OPTION))),
    ],
    None,
    &["enum", "anyOf"],
);
