//! The schemas of forms for the user
//! ([client/elicitation](https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#requested-schema)).

use alloc::vec::Vec;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::content::{borrowed_json, kind, parse};
use super::integer::OptionalInteger;
use super::map::Map;
use super::text::Text;
use crate::json::{Number, Raw};
use crate::schema::merge::{count_members, merge_members};
use crate::schema::shape::{Field, Kind, Kinds, Record, Shape, choice, closed, open};
use crate::schema::{ModelWriter, Value, WireType, Written};
use crate::version::{Revision, RevisionSet};

record! {
    /// The schema of a form: an object schema without nesting.
    #[doc(alias("requestedSchema", "ElicitationSchema"))]
    #[derive(Default)]
    #![tag("type" = "object")]
    pub struct ObjectSchema<'a> {
        /// The dialect of JSON Schema.
        pub schema: Option<Text<'a>> = "$schema", since V2025_11_25;
        /// The fields of the form.
        pub properties: Map<'a, PrimitiveSchema<'a>> = "properties";
        /// The names of the required fields.
        pub required: Option<Vec<Text<'a>>> = "required";
    }
}

impl<'a> ObjectSchema<'a> {
    /// Creates a form with these fields, none of them required.
    pub fn new(properties: Map<'a, PrimitiveSchema<'a>>) -> Self {
        Self { properties, ..Self::default() }
    }

    /// Returns an object with the default of each field that has one, for a form that is filled in beforehand
    /// ([requested
    /// schema](https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation#requested-schema)).
    ///
    /// ```
    /// use mcp_sansio::json::Raw;
    /// use mcp_sansio::model::ObjectSchema;
    ///
    /// let form = r#"{"type":"object","properties":{
    ///     "name":{"type":"string"},"level":{"type":"integer","default":3},"news":{"type":"boolean","default":true}}}"#;
    /// let form = Raw::new(form)?;
    /// let form: ObjectSchema<'_> = form.parse()?;
    /// assert_eq!(form.defaults().as_json(), r#"{"level":3,"news":true}"#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn defaults(&self) -> Raw<'static> {
        let default = |field: &PrimitiveSchema<'_>| match field {
            PrimitiveSchema::String(field) => field.default.as_ref().and_then(written),
            PrimitiveSchema::Number(field) => field.default.as_ref().and_then(written),
            PrimitiveSchema::Boolean(field) => field.default.as_ref().and_then(written),
            PrimitiveSchema::Array(field) => field.default.as_ref().and_then(written),
            PrimitiveSchema::Unknown(field) => field.get("default").map(Raw::into_owned),
        };
        let fields = self.properties.iter();
        let defaults = fields.filter_map(|(name, field)| Some((Text::from(name), default(field)?)));
        written(&defaults.collect::<Map<'_, Raw<'static>>>()).unwrap_or(Raw::EMPTY_OBJECT)
    }
}

/// Returns a value that always fits as JSON.
fn written(value: &impl Serialize) -> Option<Raw<'static>> {
    Raw::from_serialize(value).ok()
}

/// One field of a form.
#[doc(alias = "PrimitiveSchemaDefinition")]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub enum PrimitiveSchema<'a> {
    /// A text, or a choice from a list.
    String(StringSchema<'a>),
    /// A number.
    Number(NumberSchema<'a>),
    /// A yes-or-no choice.
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

record! {
    /// A text field. With `enum` or `oneOf`, the field is a choice of one value from a list.
    #[doc(alias(
        "EnumSchema",
        "SingleSelectEnumSchema",
        "UntitledSingleSelectEnumSchema",
        "TitledSingleSelectEnumSchema",
        "LegacyTitledEnumSchema",
    ))]
    #[derive(Default)]
    #![tag("type" = "string")]
    pub struct StringSchema<'a> {
        /// The label of the field.
        pub title: Option<Text<'a>> = "title";
        /// The description of the expected input.
        pub description: Option<Text<'a>> = "description";
        /// The minimum number of characters.
        pub min_length: Option<u64> = "minLength" by OptionalInteger<u64>;
        /// The maximum number of characters.
        pub max_length: Option<u64> = "maxLength" by OptionalInteger<u64>;
        /// The format: `email`, `uri`, `date` or `date-time`.
        pub format: Option<Text<'a>> = "format" as Format;
        /// A regular expression. The prose of 2025-11-25 has this member, its schema does not.
        pub pattern: Option<Text<'a>> = "pattern";
        /// The values to choose from.
        #[doc(alias = "enum")]
        pub choices: Option<Vec<Text<'a>>> = "enum";
        /// The titles of the values, in the same order (deprecated in 2025-11-25).
        #[doc(alias = "enumNames")]
        pub choice_names: Option<Vec<Text<'a>>> = "enumNames";
        /// The values to choose from, with titles.
        pub one_of: Option<Vec<EnumOption<'a>>> = "oneOf", since V2025_11_25, or_refused;
        /// The default value.
        pub default: Option<Text<'a>> = "default" as Beforehand, since V2025_11_25;
    }
}

setters! {
    StringSchema {
        title(Text<'a>) description(Text<'a>) min_length[u64] max_length[u64] format(Text<'a>)
        pattern(Text<'a>) choices(Vec<Text<'a>>) choice_names(Vec<Text<'a>>)
        one_of(Vec<EnumOption<'a>>)
    }
}

record! {
    /// One value of a choice, with its title (2025-11-25).
    #[derive(Default)]
    pub struct EnumOption<'a> {
        /// The value.
        #[doc(alias = "const")]
        pub value: Text<'a> = "const";
        /// The title.
        pub title: Text<'a> = "title";
    }
}

impl<'a> EnumOption<'a> {
    /// Creates an option from a value and its title.
    pub fn new(value: impl Into<Text<'a>>, title: impl Into<Text<'a>>) -> Self {
        Self { value: value.into(), title: title.into() }
    }
}

record! {
    /// A number field.
    #[derive(Default)]
    pub struct NumberSchema<'a> {
        /// The type: `number`, or `integer` for whole numbers.
        pub kind: Text<'a> = "type" as NumberKind;
        /// The label of the field.
        pub title: Option<Text<'a>> = "title";
        /// The description of the expected input.
        pub description: Option<Text<'a>> = "description";
        /// The minimum value.
        pub minimum: Option<Number> = "minimum";
        /// The maximum value.
        pub maximum: Option<Number> = "maximum";
        /// The default value.
        pub default: Option<Number> = "default" as Beforehand, since V2025_11_25;
    }
}

setters! { NumberSchema { title(Text<'a>) description(Text<'a>) minimum(Number) maximum(Number) } }

impl NumberSchema<'_> {
    /// Creates a field for any number.
    pub fn number() -> Self {
        Self { kind: "number".into(), ..Self::default() }
    }

    /// Creates a field for a whole number.
    pub fn integer() -> Self {
        Self { kind: "integer".into(), ..Self::default() }
    }
}

record! {
    /// A yes-or-no field.
    #[derive(Default)]
    #![tag("type" = "boolean")]
    pub struct BooleanSchema<'a> {
        /// The label of the field.
        pub title: Option<Text<'a>> = "title";
        /// The description of the expected input.
        pub description: Option<Text<'a>> = "description";
        /// The default value.
        pub default: Option<bool> = "default" as Beforehand, since V2025_06_18;
    }
}

setters! { BooleanSchema { title(Text<'a>) description(Text<'a>) } }

record! {
    /// A field for several choices from a list (2025-11-25).
    #[doc(alias("UntitledMultiSelectEnumSchema", "TitledMultiSelectEnumSchema"))]
    #[derive(Default)]
    #![tag("type" = "array")]
    pub struct ArraySchema<'a> {
        /// The label of the field.
        pub title: Option<Text<'a>> = "title";
        /// The description of the expected input.
        pub description: Option<Text<'a>> = "description";
        /// The minimum number of choices.
        pub min_items: Option<u64> = "minItems" by OptionalInteger<u64>;
        /// The maximum number of choices.
        pub max_items: Option<u64> = "maxItems" by OptionalInteger<u64>;
        /// The values to choose from.
        pub items: SelectItems<'a> = "items";
        /// The default choices.
        pub default: Option<Vec<Text<'a>>> = "default" as Beforehand, since V2025_11_25;
    }
}

setters! { ArraySchema { title(Text<'a>) description(Text<'a>) min_items[u64] max_items[u64] } }

record! {
    /// The values of a multiple choice: plain (`type` and `enum`) or with titles (`anyOf`).
    #[doc(alias = "MultiSelectEnumSchema")]
    #[derive(Default)]
    #![record = &ITEMS]
    #![written by filtering]
    pub struct SelectItems<'a> {
        /// The type `string`, only with plain values.
        pub kind: Option<Text<'a>> = "type" as ItemKind;
        /// The plain values.
        #[doc(alias = "enum")]
        pub choices: Option<Vec<Text<'a>>> = "enum";
        /// The values with titles.
        pub any_of: Option<Vec<EnumOption<'a>>> = "anyOf";
    }
}

impl<'a> SelectItems<'a> {
    /// Creates a list of plain values.
    pub fn plain<T: Into<Text<'a>>>(values: impl IntoIterator<Item = T>) -> Self {
        let choices = values.into_iter().map(Into::into).collect();
        Self { kind: Some("string".into()), choices: Some(choices), any_of: None }
    }

    /// Creates a list of values with titles.
    pub fn titled(options: impl IntoIterator<Item = EnumOption<'a>>) -> Self {
        Self { any_of: Some(options.into_iter().collect()), ..Self::default() }
    }
}

/// A field writes all its members. The allowed members depend on the type of the field, so [`Form`] filters them.
impl Value for PrimitiveSchema<'_> {
    const SHAPE: Shape = Shape::Record(&FIELD);

    fn write(&self, out: &mut ModelWriter<'_, '_>) -> Written {
        out.need_filter()?;
        match self {
            Self::String(schema) => schema.write(out),
            Self::Number(schema) => schema.write(out),
            Self::Boolean(schema) => schema.write(out),
            Self::Array(schema) => schema.write(out),
            Self::Unknown(raw) => out.raw(raw.as_json()),
        }
    }
}

/// The wire type of the schema of a form, which is always filtered.
pub(crate) enum Form {}

impl WireType<ObjectSchema<'_>> for Form {
    const SHAPE: Shape = Shape::Record(&FORM);

    fn write(schema: &ObjectSchema<'_>, out: &mut ModelWriter<'_, '_>) -> Written {
        out.need_filter()?;
        schema.write(out)
    }
}

/// Wire types of strings in a form, which are filtered together with the form.
macro_rules! names {
    ($($(#[$documentation:meta])* $Wire:ident = $shape:expr;)*) => {$(
        $(#[$documentation])*
        pub(crate) enum $Wire {}

        impl WireType<Text<'_>> for $Wire {
            const SHAPE: Shape = $shape;

            fn write(text: &Text<'_>, out: &mut ModelWriter<'_, '_>) -> Written {
                out.need_filter()?;
                out.string(text)
            }
        }
    )*};
}

names! {
    /// The format of a text field.
    Format = Shape::OneOf(&open(&[
        choice("email"),
        choice("uri"),
        choice("date"),
        choice("date-time"),
    ]));
    /// The type of a number field, `number` or `integer`.
    NumberKind = Shape::Text;
    /// The type of the values of a list, `string`.
    ItemKind = Shape::OneOf(&closed(&[choice("string")]));
}

/// The default value of a field of any type. No type has the default `null`.
const DEFAULT: Shape = Shape::Advice(&Shape::Answer { lists: RevisionSet::ALL });

/// The wire type of the default value of a field, which depends on the type of the field.
pub(crate) enum Beforehand {}

impl<T: Value> WireType<T> for Beforehand {
    const SHAPE: Shape = DEFAULT;

    fn write(value: &T, out: &mut ModelWriter<'_, '_>) -> Written {
        value.write(out)
    }
}

/// The table of a form: an object without nesting.
static FORM: Record = {
    const TAG: &[Field] = &[Field::required("type", Shape::OneOf(&closed(&[choice("object")])))];
    const RECORDS: &[&Record] = &[ObjectSchema::RECORD];
    static FIELDS: [Field; count_members(TAG, RECORDS)] = merge_members(TAG, RECORDS, false);
    Record::of(&FIELDS)
};

/// The table of one field of a form.
static FIELD: Record = {
    const FIRST: &[Field] = &[
        Field::required("type", Shape::Text),
        Field::optional("default", DEFAULT)
            .since(Revision::V2025_11_25)
            .in_kind_since("boolean", Revision::V2025_06_18),
    ];
    const RECORDS: &[&Record] =
        &[StringSchema::RECORD, NumberSchema::RECORD, BooleanSchema::RECORD, ArraySchema::RECORD];
    static FIELDS: [Field; count_members(FIRST, RECORDS)] = merge_members(FIRST, RECORDS, true);
    const KINDS: Kinds = Kinds {
        tag: "type",
        kinds: &[
            Kind::of("string", &[]).with(StringSchema::RECORD),
            Kind::of("number", &[]).with(NumberSchema::RECORD),
            Kind::of("integer", &[]).with(NumberSchema::RECORD),
            Kind::of("boolean", &[]).with(BooleanSchema::RECORD),
            Kind::of("array", &["items"]).since(Revision::V2025_11_25).with(ArraySchema::RECORD),
        ],
        default: None,
        open: false,
    };
    Record::with(&FIELDS, Some(KINDS), &[])
};

/// The table of a value list: plain values or values with titles, exactly one of them.
static ITEMS: Record = Record::with(SelectItems::FIELDS, None, &["enum", "anyOf"]);
