//! Elicitation ([client/elicitation](https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation)):
//! asking the user, from 2025-06-18 on.

use alloc::vec::Vec;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::content::{borrowed_json, kind, parse};
use super::list::List;
use super::map::Map;
use super::open::open_enum;
use super::text::Text;
use crate::json::{Number, Raw};

/// The params of `elicitation/create`.
#[doc(alias("elicitation/create", "ElicitRequestParams", "CreateElicitationRequestParams"))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct ElicitParams<'a> {
    /// Form or URL. Absent means form; not sent before 2025-11-25.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub mode: Option<ElicitationMode<'a>>,
    /// What to tell the user.
    #[serde(borrow)]
    pub message: Text<'a>,
    /// What to ask for, in form mode.
    #[serde(borrow, rename = "requestedSchema", skip_serializing_if = "Option::is_none")]
    pub requested_schema: Option<ObjectSchema<'a>>,
    /// Where to send the user, in URL mode (2025-11-25).
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub url: Option<Text<'a>>,
    /// What a later completion refers to, in URL mode (2025-11-25 only, and needed there).
    #[serde(borrow, rename = "elicitationId", skip_serializing_if = "Option::is_none")]
    pub elicitation_id: Option<Text<'a>>,
    /// Metadata.
    #[serde(borrow, rename = "_meta", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::object))]
    pub meta: Option<Raw<'a>>,
}

impl<'a> ElicitParams<'a> {
    /// Asks the user to fill in a form.
    pub fn form(message: impl Into<Text<'a>>, schema: ObjectSchema<'a>) -> Self {
        Self { message: message.into(), requested_schema: Some(schema), ..Self::default() }
    }

    /// Asks the user to visit a URL (2025-11-25).
    pub fn url(
        message: impl Into<Text<'a>>,
        url: impl Into<Text<'a>>,
        elicitation_id: impl Into<Text<'a>>,
    ) -> Self {
        Self { elicitation_id: Some(elicitation_id.into()), ..Self::visit(message, url) }
    }

    /// Asks the user to visit a URL, with no id for a completion (2026-07-28).
    pub fn visit(message: impl Into<Text<'a>>, url: impl Into<Text<'a>>) -> Self {
        Self {
            mode: Some(ElicitationMode::Url),
            message: message.into(),
            url: Some(url.into()),
            ..Self::default()
        }
    }

    /// The mode, also if it is absent.
    pub fn mode(&self) -> &ElicitationMode<'a> {
        self.mode.as_ref().unwrap_or(&ElicitationMode::Form)
    }
}

open_enum! {
    /// How the user is asked (2025-11-25).
    ElicitationMode {
        /// By a form, which the client shows.
        Form = "form",
        /// By a web page, which the client never sees.
        Url = "url",
    }
}

/// The result of `elicitation/create`.
#[doc(alias("elicitation/create", "CreateElicitationResult"))]
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct ElicitResult<'a> {
    /// What the user did.
    #[serde(borrow)]
    pub action: ElicitAction<'a>,
    /// What the user filled in, an object; only with an accepted form.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::object))]
    pub content: Option<Raw<'a>>,
    /// Metadata.
    #[serde(borrow, rename = "_meta", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::object))]
    pub meta: Option<Raw<'a>>,
}

impl<'a> ElicitResult<'a> {
    /// The user filled in a form.
    pub const fn accept(content: Raw<'a>) -> Self {
        Self { action: ElicitAction::Accept, content: Some(content), meta: None }
    }

    /// The user agreed to visit the URL. That is not yet the outcome.
    pub const fn accept_url() -> Self {
        Self { action: ElicitAction::Accept, content: None, meta: None }
    }

    /// The user said no.
    pub const fn decline() -> Self {
        Self { action: ElicitAction::Decline, content: None, meta: None }
    }

    /// What the user filled in, if they did: content that comes with a refusal does not count.
    pub fn filled_in(&self) -> Option<&Raw<'a>> {
        self.content.as_ref().filter(|_| self.action == ElicitAction::Accept)
    }

    /// The user went away without an answer.
    pub const fn cancel() -> Self {
        Self { action: ElicitAction::Cancel, content: None, meta: None }
    }
}

open_enum! {
    /// What a user does when asked.
    ElicitAction {
        /// Answers.
        Accept = "accept",
        /// Says no.
        Decline = "decline",
        /// Goes away.
        Cancel = "cancel",
    }
}

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

/// The `data` of error `-32042`: what the user must do before the request can succeed (2025-11-25).
#[doc(alias = "URLElicitationRequiredError")]
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct ElicitationRequired<'a> {
    /// Elicitations in URL mode.
    #[serde(borrow)]
    pub elicitations: List<'a, ElicitParams<'a>>,
}

impl<'a> ElicitationRequired<'a> {
    /// These have to be done first, each of them [by URL](ElicitParams::url).
    pub fn new(elicitations: impl Into<List<'a, ElicitParams<'a>>>) -> Self {
        Self { elicitations: elicitations.into() }
    }
}
