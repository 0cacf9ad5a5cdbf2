//! Completion of arguments
//! ([server/utilities/completion](https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/completion)).

use alloc::vec::Vec;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::content::{borrowed_json, kind, parse};
use super::map::Map;
use super::text::Text;
use crate::json::Raw;

/// The params of `completion/complete`.
#[doc(alias("completion/complete", "CompleteRequestParams"))]
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct CompleteParams<'a> {
    /// What has the argument.
    #[doc(alias = "ref")]
    #[serde(borrow, rename = "ref")]
    pub reference: Reference<'a>,
    /// The argument and what has been typed so far.
    #[serde(borrow)]
    pub argument: CompletionArgument<'a>,
    /// What is settled already (from 2025-06-18 on).
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub context: Option<CompletionContext<'a>>,
    /// Metadata.
    #[serde(borrow, rename = "_meta", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::object))]
    pub meta: Option<Raw<'a>>,
}

impl<'a> CompleteParams<'a> {
    /// Asks for values of an argument that begin like `value`.
    pub fn new(
        reference: Reference<'a>,
        name: impl Into<Text<'a>>,
        value: impl Into<Text<'a>>,
    ) -> Self {
        let argument = CompletionArgument { name: name.into(), value: value.into() };
        Self { reference, argument, context: None, meta: None }
    }
}

/// What an argument to complete belongs to.
#[doc(alias("PromptReference", "ResourceTemplateReference"))]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub enum Reference<'a> {
    /// `ref/prompt`
    Prompt {
        /// Its name for programs.
        name: Text<'a>,
        /// Its name for people (from 2025-06-18 on).
        title: Option<Text<'a>>,
    },
    /// `ref/resource`
    Resource {
        /// Its URI or URI template.
        uri: Text<'a>,
    },
    /// Any other type.
    Unknown(
        #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::unknown_type))]
        Raw<'a>,
    ),
}

impl<'a> Reference<'a> {
    /// A prompt.
    pub fn prompt(name: impl Into<Text<'a>>) -> Self {
        Self::Prompt { name: name.into(), title: None }
    }

    /// A resource or template.
    pub fn resource(uri: impl Into<Text<'a>>) -> Self {
        Self::Resource { uri: uri.into() }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename = "ref/prompt")]
struct PromptReference<'a> {
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    title: Option<Text<'a>>,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename = "ref/resource")]
struct ResourceReference<'a> {
    #[serde(borrow)]
    uri: Text<'a>,
}

impl Serialize for Reference<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Prompt { name, title } => {
                let title = title.as_ref().map(Text::borrow);
                PromptReference { name: name.borrow(), title }.serialize(serializer)
            }
            Self::Resource { uri } => ResourceReference { uri: uri.borrow() }.serialize(serializer),
            Self::Unknown(raw) => raw.serialize(serializer),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Reference<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = borrowed_json(deserializer)?;
        match &*kind(text)?.to_str() {
            "ref/prompt" => {
                parse(text).map(|PromptReference { name, title }| Self::Prompt { name, title })
            }
            "ref/resource" => parse(text).map(|ResourceReference { uri }| Self::Resource { uri }),
            _ => Ok(Self::Unknown(Raw::trusted(text))),
        }
    }
}

/// An argument to complete.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct CompletionArgument<'a> {
    /// Its name.
    #[serde(borrow)]
    pub name: Text<'a>,
    /// What has been typed so far.
    #[serde(borrow)]
    pub value: Text<'a>,
}

/// What is settled while an argument is being completed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct CompletionContext<'a> {
    /// The values of other arguments.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Map<'a, Text<'a>>>,
}

impl<'a> From<Map<'a, Text<'a>>> for CompletionContext<'a> {
    fn from(arguments: Map<'a, Text<'a>>) -> Self {
        Self { arguments: Some(arguments) }
    }
}

/// The result of `completion/complete`.
#[doc(alias = "completion/complete")]
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct CompleteResult<'a> {
    /// The proposals.
    #[serde(borrow)]
    pub completion: Completion<'a>,
    /// Metadata.
    #[serde(borrow, rename = "_meta", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::object))]
    pub meta: Option<Raw<'a>>,
}

impl<'a> From<Completion<'a>> for CompleteResult<'a> {
    fn from(completion: Completion<'a>) -> Self {
        Self { completion, meta: None }
    }
}

/// Values proposed for an argument, best first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct Completion<'a> {
    /// The values, at most 100.
    #[serde(borrow)]
    pub values: Vec<Text<'a>>,
    /// How many there are in all, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// Whether there are more.
    #[serde(rename = "hasMore", skip_serializing_if = "Option::is_none")]
    pub has_more: Option<bool>,
}

impl<'a> Completion<'a> {
    /// How many values there may be at once.
    pub const MOST_VALUES: usize = 100;

    /// Proposes these values. If there are more than [`MOST_VALUES`](Self::MOST_VALUES), it proposes the
    /// first ones and says how many there are.
    pub fn new<T: Into<Text<'a>>>(values: impl IntoIterator<Item = T>) -> Self {
        let mut values = values.into_iter();
        let first: Vec<_> = values.by_ref().take(Self::MOST_VALUES).map(Into::into).collect();
        let left = values.count();
        let all = u64::try_from(first.len().saturating_add(left)).unwrap_or(u64::MAX);
        Self {
            values: first,
            total: (0 < left).then_some(all),
            has_more: (0 < left).then_some(true),
        }
    }
}
