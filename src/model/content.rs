//! Content blocks of tool results, prompts and messages.

use alloc::boxed::Box;
use alloc::vec::Vec;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::list::List;
use super::open::open_enum;
use super::resources::{ResourceContents, ResourceLink};
use super::text::Text;
use crate::base64::{Base64, Base64Error};
use crate::json::raw::check;
use crate::json::{Number, Raw, Str, decode, member};
use crate::schema::merge::{count_members, merge_members, required_names};
use crate::schema::shape::{Field, Kind, Kinds, Record, Shape};
use crate::schema::{ModelWriter, Value, WireType, Written};
use crate::version::Revision;

open_enum! {
    /// The sender of a message, or the audience of a piece of content.
    Role {
        /// The user.
        User = "user";
        /// The model.
        Assistant = "assistant";
    }
}

record! {
    /// Hints on the use of a piece of content or a resource.
    #[doc(alias = "Annotated")]
    #[derive(Default)]
    pub struct Annotations<'a> {
        /// The audience; both roles if absent.
        pub audience: Option<Vec<Role<'a>>> = "audience";
        /// The importance, from 0 (optional) to 1 (required).
        pub priority: Option<Number> = "priority" as Share;
        /// The time of the last modification in ISO 8601 format.
        pub last_modified: Option<Text<'a>> = "lastModified", since V2025_06_18;
    }
}

setters! { Annotations { audience(Vec<Role<'a>>) priority(Number) last_modified(Text<'a>) } }

/// One block of content. Its `type` selects the variant.
///
/// The allowed kinds depend on the place and the revision. A kind that this crate does not know is kept unchanged.
#[doc(alias("ContentBlock", "RawContent"))]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub enum Content<'a> {
    /// `text`
    Text(TextContent<'a>),
    /// `image`
    Image(ImageContent<'a>),
    /// `audio` (from 2025-03-26 on)
    Audio(AudioContent<'a>),
    /// `resource`: an embedded resource
    Resource(EmbeddedResource<'a>),
    /// `resource_link`: a link to a resource (from 2025-06-18 on)
    ResourceLink(ResourceLink<'a>),
    /// `tool_use`, in sampling only (2025-11-25)
    ToolUse(ToolUseContent<'a>),
    /// `tool_result`, in sampling only (2025-11-25)
    ToolResult(Box<ToolResultContent<'a>>),
    /// An object with any other `type`.
    Unknown(
        #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::unknown_type))]
        Raw<'a>,
    ),
}

impl<'a> Content<'a> {
    /// Creates a block of text.
    pub fn text(text: impl Into<Text<'a>>) -> Self {
        Self::Text(TextContent::new(text))
    }

    /// Returns the text if this is a block of text.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(content) => Some(&content.text),
            _ => None,
        }
    }
}

/// The wire type of blocks in tool results and prompts: every kind except those of sampling.
pub(crate) enum Blocks {}

/// The wire type of blocks in messages to and from a model.
pub(crate) enum SamplingBlocks {}

impl WireType<Content<'_>> for Blocks {
    const SHAPE: Shape = Shape::Record(&BLOCK);

    fn write(content: &Content<'_>, out: &mut ModelWriter<'_, '_>) -> Written {
        match content {
            Content::Text(content) => content.write(out),
            Content::Image(content) => content.write(out),
            Content::Audio(content) if out.is_in(AUDIO.revisions) => content.write(out),
            Content::Resource(content) => content.write(out),
            Content::ResourceLink(content) if out.is_in(RESOURCE_LINK.revisions) => {
                content.write(out)
            }
            other => other.write_for_filter(out),
        }
    }
}

impl WireType<List<'_, Content<'_>>> for Blocks {
    const SHAPE: Shape = Shape::List(&A_BLOCK);

    fn write(list: &List<'_, Content<'_>>, out: &mut ModelWriter<'_, '_>) -> Written {
        list.write_each(out, &A_BLOCK, Self::write)
    }
}

impl WireType<Content<'_>> for SamplingBlocks {
    const SHAPE: Shape = Shape::Record(&SAMPLING_BLOCK);

    fn write(content: &Content<'_>, out: &mut ModelWriter<'_, '_>) -> Written {
        match content {
            Content::Text(content) => content.write(out),
            Content::Image(content) => content.write(out),
            Content::Audio(content) if out.is_in(AUDIO.revisions) => content.write(out),
            Content::ToolUse(content) if out.is_in(TOOL_USE.revisions) => content.write(out),
            Content::ToolResult(content) if out.is_in(TOOL_RESULT.revisions) => content.write(out),
            other => other.write_for_filter(out),
        }
    }
}

impl WireType<List<'_, Content<'_>>> for SamplingBlocks {
    const SHAPE: Shape = Shape::List(&A_SAMPLING_BLOCK);

    fn write(list: &List<'_, Content<'_>>, out: &mut ModelWriter<'_, '_>) -> Written {
        list.write_each(out, &A_SAMPLING_BLOCK, Self::write)
    }
}

impl Content<'_> {
    /// Writes a block of an unknown kind, or of a kind that this revision does not allow here.
    #[cold]
    fn write_for_filter(&self, out: &mut ModelWriter<'_, '_>) -> Written {
        out.need_filter()?;
        match self {
            Self::Text(content) => content.write(out),
            Self::Image(content) => content.write(out),
            Self::Audio(content) => content.write(out),
            Self::Resource(content) => content.write(out),
            Self::ResourceLink(content) => content.write(out),
            Self::ToolUse(content) => content.write(out),
            Self::ToolResult(content) => content.write(out),
            Self::Unknown(raw) => out.raw(raw.as_json()),
        }
    }
}

/// The table of one kind of block, with its required members.
macro_rules! block_kind {
    ($name:literal of $Type:ident) => {
        Kind::of(
            $name,
            &const {
                const COUNT: usize = $Type::RECORD.required_members();
                required_names::<COUNT>($Type::RECORD)
            },
        )
        .with($Type::RECORD)
    };
}

const TEXT: Kind = block_kind!("text" of TextContent);
const IMAGE: Kind = block_kind!("image" of ImageContent);
const AUDIO: Kind = block_kind!("audio" of AudioContent).since(Revision::V2025_03_26);
const RESOURCE: Kind = block_kind!("resource" of EmbeddedResource);
const RESOURCE_LINK: Kind =
    block_kind!("resource_link" of ResourceLink).since(Revision::V2025_06_18);
const TOOL_USE: Kind = block_kind!("tool_use" of ToolUseContent).since(Revision::V2025_11_25);
const TOOL_RESULT: Kind =
    block_kind!("tool_result" of ToolResultContent).since(Revision::V2025_11_25);

/// The table of all members of some kinds of blocks.
macro_rules! block_record {
    ($($kind:ident of $Type:ident),*) => {{
        const TAG: &[Field] = &[Field::required("type", Shape::Text)];
        const RECORDS: &[&Record] = &[$($Type::RECORD),*];
        const COUNT: usize = count_members(TAG, RECORDS);
        static FIELDS: [Field; COUNT] = merge_members(TAG, RECORDS, true);
        const KINDS: Kinds =
            Kinds { tag: "type", kinds: &[$($kind),*], default: None, open: true };
        Record::with(&FIELDS, Some(KINDS), &[])
    }};
}

static A_BLOCK: Shape = Shape::Record(&BLOCK);

static A_SAMPLING_BLOCK: Shape = Shape::Record(&SAMPLING_BLOCK);

static BLOCK: Record = block_record!(
    TEXT of TextContent, IMAGE of ImageContent, AUDIO of AudioContent,
    RESOURCE of EmbeddedResource, RESOURCE_LINK of ResourceLink
);

pub(super) static SAMPLING_BLOCK: Record = block_record!(
    TEXT of TextContent, IMAGE of ImageContent, AUDIO of AudioContent,
    TOOL_USE of ToolUseContent, TOOL_RESULT of ToolResultContent
);

impl Serialize for Content<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(content) => content.serialize(serializer),
            Self::Image(content) => content.serialize(serializer),
            Self::Audio(content) => content.serialize(serializer),
            Self::Resource(content) => content.serialize(serializer),
            Self::ResourceLink(content) => content.serialize(serializer),
            Self::ToolUse(content) => content.serialize(serializer),
            Self::ToolResult(content) => content.serialize(serializer),
            Self::Unknown(raw) => raw.serialize(serializer),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = borrowed_json(deserializer)?;
        match &*kind(text)?.to_str() {
            "text" => parse(text).map(Self::Text),
            "image" => parse(text).map(Self::Image),
            "audio" => parse(text).map(Self::Audio),
            "resource" => parse(text).map(Self::Resource),
            "resource_link" => parse(text).map(Self::ResourceLink),
            "tool_use" => parse(text).map(Self::ToolUse),
            "tool_result" => {
                // Each block inside is read by itself, so only this bounds the recursion of text that came from elsewhere
                // than a frame.
                check(text).map_err(D::Error::custom)?;
                parse(text).map(|content| Self::ToolResult(Box::new(content)))
            }
            _ => Ok(Self::Unknown(Raw::trusted(text))),
        }
    }
}

/// Returns the JSON text of the next value.
pub(super) fn borrowed_json<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<&'de str, D::Error> {
    <&'de RawValue>::deserialize(deserializer).map(RawValue::get)
}

/// Returns the `type` of an object, which may be written with escapes. A `type` that is not a string is treated like
/// an unknown one.
pub(super) fn kind<E: Error>(object: &str) -> Result<Str<'_>, E> {
    let literal = member(object, "type").ok_or_else(|| Error::missing_field("type"))?;
    Ok(Str::from_literal(literal).unwrap_or(Str::trusted("")))
}

/// Parses JSON text in the middle of another deserializer.
pub(super) fn parse<'de, T: Deserialize<'de>, E: Error>(text: &'de str) -> Result<T, E> {
    decode(text).map_err(E::custom)
}

/// A present member. Its `null` differs from an absent member.
pub(super) struct Present<T>(pub(super) Option<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Present<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Some).map(Self)
    }
}

record! {
    /// A block of text.
    #[derive(Default)]
    #![tag("type" = "text")]
    pub struct TextContent<'a> {
        /// The text.
        pub text: Text<'a> = "text";
        /// Hints.
        pub annotations: Option<Annotations<'a>> = "annotations";
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object, since V2025_06_18;
    }
}

setters! { TextContent { annotations[Annotations<'a>] meta[Raw<'a>] } }

impl<'a> TextContent<'a> {
    /// Creates a block with this text.
    pub fn new(text: impl Into<Text<'a>>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

record! {
    /// An image.
    #[derive(Default)]
    #![tag("type" = "image")]
    pub struct ImageContent<'a> {
        /// The bytes in base64: see [`to_bytes`](Self::to_bytes).
        pub data: Text<'a> = "data" as Base64;
        /// The MIME type.
        pub mime_type: Text<'a> = "mimeType";
        /// Hints.
        pub annotations: Option<Annotations<'a>> = "annotations";
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object, since V2025_06_18;
    }
}

setters! { ImageContent { annotations[Annotations<'a>] meta[Raw<'a>] } }

impl<'a> ImageContent<'a> {
    /// Creates an image from base64 and a MIME type. [`from_bytes`](Self::from_bytes) takes bytes.
    pub fn new(data: impl Into<Text<'a>>, mime_type: impl Into<Text<'a>>) -> Self {
        Self { data: data.into(), mime_type: mime_type.into(), ..Self::default() }
    }

    /// Creates an image from the bytes of its file and a MIME type. In the message, every three bytes become four,
    /// see [`Limits::frame_bytes`](crate::Limits::frame_bytes).
    ///
    /// ```
    /// use mcp_sansio::model::ImageContent;
    ///
    /// let image = ImageContent::from_bytes(b"\x89PNG\r\n", "image/png");
    /// assert_eq!(image.data, "iVBORw0K");
    /// assert_eq!(image.to_bytes()?, b"\x89PNG\r\n");
    ///
    /// let broken = ImageContent::new("iVBO Rw0K", "image/png");
    /// assert_eq!(broken.to_bytes().unwrap_err().offset(), 4);
    /// # Ok::<(), mcp_sansio::model::Base64Error>(())
    /// ```
    pub fn from_bytes(bytes: &[u8], mime_type: impl Into<Text<'a>>) -> Self {
        Self::new(Base64::Padded.text(bytes), mime_type)
    }
}

impl ImageContent<'_> {
    /// Returns the bytes of the image file.
    ///
    /// Only base64 as defined in [RFC 4648, section 4](https://www.rfc-editor.org/rfc/rfc4648#section-4) is accepted.
    /// White space, newlines, missing padding, the URL-safe alphabet and nonzero leftover bits are errors.
    ///
    /// # Errors
    ///
    /// [`Base64Error`] if `data` is not such base64. The sender is at fault.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Base64Error> {
        Base64::Padded.bytes(&self.data)
    }
}

record! {
    /// A piece of audio (from 2025-03-26 on).
    #[derive(Default)]
    #![tag("type" = "audio")]
    pub struct AudioContent<'a> {
        /// The bytes in base64: see [`to_bytes`](Self::to_bytes).
        pub data: Text<'a> = "data" as Base64;
        /// The MIME type.
        pub mime_type: Text<'a> = "mimeType";
        /// Hints.
        pub annotations: Option<Annotations<'a>> = "annotations";
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object, since V2025_06_18;
    }
}

setters! { AudioContent { annotations[Annotations<'a>] meta[Raw<'a>] } }

impl<'a> AudioContent<'a> {
    /// Creates audio from base64 and a MIME type. [`from_bytes`](Self::from_bytes) takes bytes.
    pub fn new(data: impl Into<Text<'a>>, mime_type: impl Into<Text<'a>>) -> Self {
        Self { data: data.into(), mime_type: mime_type.into(), ..Self::default() }
    }

    /// Creates audio from the bytes of its file and a MIME type. In the message, every three bytes become four, see
    /// [`Limits::frame_bytes`](crate::Limits::frame_bytes).
    pub fn from_bytes(bytes: &[u8], mime_type: impl Into<Text<'a>>) -> Self {
        Self::new(Base64::Padded.text(bytes), mime_type)
    }
}

impl AudioContent<'_> {
    /// Returns the bytes of the audio file, read as strictly as [those of an image](ImageContent::to_bytes).
    ///
    /// # Errors
    ///
    /// [`Base64Error`] if `data` is not base64. The sender is at fault.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Base64Error> {
        Base64::Padded.bytes(&self.data)
    }
}

record! {
    /// The contents of a resource, embedded in a message.
    #![tag("type" = "resource")]
    pub struct EmbeddedResource<'a> {
        /// The contents.
        pub resource: ResourceContents<'a> = "resource";
        /// Hints.
        pub annotations: Option<Annotations<'a>> = "annotations";
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object, since V2025_06_18;
    }
}

setters! { EmbeddedResource { annotations[Annotations<'a>] meta[Raw<'a>] } }

impl<'a> EmbeddedResource<'a> {
    /// Creates a block with these contents.
    pub const fn new(resource: ResourceContents<'a>) -> Self {
        Self { resource, annotations: None, meta: None }
    }
}

record! {
    /// A tool call that the model requests, in sampling (2025-11-25).
    #![tag("type" = "tool_use")]
    pub struct ToolUseContent<'a> {
        /// The id that the result of the tool refers to.
        pub id: Text<'a> = "id";
        /// The name of the tool.
        pub name: Text<'a> = "name";
        /// The arguments, an object.
        pub input: Raw<'a> = "input" as Object;
        /// Metadata, to be preserved in later requests.
        pub meta: Option<Raw<'a>> = "_meta" as Object, since V2025_06_18;
    }
}

setters! { ToolUseContent { meta[Raw<'a>] } }

impl<'a> ToolUseContent<'a> {
    /// Creates a tool call.
    pub fn new(id: impl Into<Text<'a>>, name: impl Into<Text<'a>>, input: Raw<'a>) -> Self {
        Self { id: id.into(), name: name.into(), input, meta: None }
    }
}

record! {
    /// The result of a tool call, in sampling (2025-11-25).
    #[derive(Default)]
    #![tag("type" = "tool_result")]
    pub struct ToolResultContent<'a> {
        /// The id of the tool call.
        pub tool_use_id: Text<'a> = "toolUseId";
        /// The content that the tool returned.
        pub content: List<'a, Content<'a>> = "content" as Blocks;
        /// The result as structured data: an object, or any JSON since 2026-07-28. `null` is data too, and differs
        /// from an absent member.
        pub structured_content: Option<Raw<'a>> = "structuredContent" as Structured by Present<_>,
            or_left_out;
        /// Whether the tool failed.
        pub is_error: Option<bool> = "isError";
        /// Metadata, to be preserved in later requests.
        pub meta: Option<Raw<'a>> = "_meta" as Object, since V2025_06_18;
    }
}

setters! { ToolResultContent { structured_content[Raw<'a>] is_error[bool] meta[Raw<'a>] } }

impl<'a> ToolResultContent<'a> {
    /// Creates the result of a tool call.
    pub fn new(tool_use_id: impl Into<Text<'a>>, content: List<'a, Content<'a>>) -> Self {
        Self { tool_use_id: tool_use_id.into(), content, ..Self::default() }
    }
}
