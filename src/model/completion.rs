//! Completion of arguments
//! ([server/utilities/completion](https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/completion)).

use alloc::vec::Vec;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::cache::LenientCount;
use super::content::{borrowed_json, kind, parse};
use super::map::Map;
use super::text::Text;
use crate::json::Raw;
use crate::schema::shape::{Field, Kind, Kinds, Record, Shape};
use crate::schema::{ModelWriter, Own, Value, Written, write_member};
use crate::version::Revision;

record! {
    /// The params of `completion/complete`.
    #[doc(alias("completion/complete", "CompleteRequestParams"))]
    pub struct CompleteParams<'a> {
        /// The prompt or resource template with the argument.
        #[doc(alias = "ref")]
        pub reference: Reference<'a> = "ref";
        /// The argument and the text typed so far.
        pub argument: CompletionArgument<'a> = "argument";
        /// The values of arguments that are already chosen.
        pub context: Option<CompletionContext<'a>> = "context", since V2025_06_18;
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object;
    }
}

setters! { CompleteParams { context(CompletionContext<'a>) meta[Raw<'a>] } }

impl<'a> CompleteParams<'a> {
    /// Creates a request for values of an argument that begin like `value`.
    pub fn new(
        reference: Reference<'a>,
        name: impl Into<Text<'a>>,
        value: impl Into<Text<'a>>,
    ) -> Self {
        let argument = CompletionArgument { name: name.into(), value: value.into() };
        Self { reference, argument, context: None, meta: None }
    }
}

/// The prompt or resource template that an argument belongs to.
#[doc(alias = "ResourceReference")]
#[doc(alias("PromptReference", "ResourceTemplateReference"))]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub enum Reference<'a> {
    /// `ref/prompt`
    Prompt {
        /// The name for programs.
        name: Text<'a>,
        /// The display name (from 2025-06-18 on).
        title: Option<Text<'a>>,
    },
    /// `ref/resource`
    Resource {
        /// The URI or URI template.
        uri: Text<'a>,
    },
    /// An object with any other `type`.
    Unknown(
        #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::unknown_type))]
        Raw<'a>,
    ),
}

impl<'a> Reference<'a> {
    /// Creates a reference to a prompt.
    pub fn prompt(name: impl Into<Text<'a>>) -> Self {
        Self::Prompt { name: name.into(), title: None }
    }

    /// Creates a reference to a resource or template.
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

const TITLE: Field = Field::optional("title", Shape::Text).since(Revision::V2025_06_18);

const NAME: Field = Field::optional("name", Shape::Text);
const URI: Field = Field::optional("uri", Shape::Text);

static PROMPT: Record = Record::with(&[NAME, TITLE], None, &[]);
static RESOURCE: Record = Record::with(&[URI], None, &[]);

static REFERENCE: Record = Record::with(
    &[Field::required("type", Shape::Text), NAME, TITLE, URI],
    Some(Kinds {
        tag: "type",
        kinds: &[
            Kind::of("ref/prompt", &["name"]).with(&PROMPT),
            Kind::of("ref/resource", &["uri"]).with(&RESOURCE),
        ],
        default: None,
        open: false,
    }),
    &[],
);

impl Value for Reference<'_> {
    const SHAPE: Shape = Shape::Record(&REFERENCE);

    fn write(&self, out: &mut ModelWriter<'_, '_>) -> Written {
        let start = out.position();
        match self {
            Self::Prompt { name, title } => {
                out.piece(r#","type":"ref/prompt","name":"#)?;
                out.string(name)?;
                let rule = (TITLE.presence, TITLE.revisions, TITLE.gate);
                write_member::<_, Own>(out, ",\"title\":", rule, title)?;
            }
            Self::Resource { uri } => {
                out.piece(r#","type":"ref/resource","uri":"#)?;
                out.string(uri)?;
            }
            Self::Unknown(raw) => return out.compare(raw.as_json(), &Self::SHAPE),
        }
        out.enclose(start, b'{', "}")
    }
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

record! {
    /// An argument to complete.
    #[derive(Default)]
    pub struct CompletionArgument<'a> {
        /// The name of the argument.
        pub name: Text<'a> = "name";
        /// The text typed so far.
        pub value: Text<'a> = "value";
    }
}

record! {
    /// The context of a completion: the arguments that are already chosen.
    #[derive(Default)]
    pub struct CompletionContext<'a> {
        /// The values of other arguments.
        pub arguments: Option<Map<'a, Text<'a>>> = "arguments";
    }
}

impl<'a> From<Map<'a, Text<'a>>> for CompletionContext<'a> {
    fn from(arguments: Map<'a, Text<'a>>) -> Self {
        Self { arguments: Some(arguments) }
    }
}

record! {
    /// The result of `completion/complete`.
    #[doc(alias = "completion/complete")]
    #[derive(Default)]
    pub struct CompleteResult<'a> {
        /// The proposed values.
        pub completion: Completion<'a> = "completion";
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object;
    }
}

setters! { CompleteResult { meta[Raw<'a>] } }

impl<'a> CompleteResult<'a> {
    /// Creates a result of this completion.
    pub const fn new(completion: Completion<'a>) -> Self {
        Self { completion, meta: None }
    }
}

impl<'a> From<Completion<'a>> for CompleteResult<'a> {
    fn from(completion: Completion<'a>) -> Self {
        Self::new(completion)
    }
}

record! {
    /// Values proposed for an argument, best first.
    #[derive(Default)]
    pub struct Completion<'a> {
        /// The values, at most 100.
        pub values: Vec<Text<'a>> = "values" as Proposals;
        /// The total number of values, if known. Any number but a natural one is read as absent.
        pub total: Option<u64> = "total" by LenientCount;
        /// Whether more values exist.
        pub has_more: Option<bool> = "hasMore";
    }
}

setters! { Completion { total[u64] has_more[bool] } }

impl<'a> Completion<'a> {
    /// The maximum number of values in one result.
    pub const MOST_VALUES: usize = 100;

    /// Creates a completion with these values. Beyond [`MOST_VALUES`](Self::MOST_VALUES) values, the completion keeps
    /// the first ones and sets `total` and `has_more`.
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
