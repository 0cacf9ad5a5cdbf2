//! Content blocks: what tools, prompts and messages are made of.

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
use crate::json::{Number, Raw, Str, member};

open_enum! {
    /// Who a message is from, or who a piece of content is for.
    Role {
        /// The user.
        User = "user",
        /// The model.
        Assistant = "assistant",
    }
}

/// Hints on how to use a piece of content or a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct Annotations<'a> {
    /// Who it is for; both if absent.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub audience: Option<Vec<Role<'a>>>,
    /// How important it is, from 0 (optional) to 1 (required).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<Number>,
    /// When it was last modified, ISO 8601 (from 2025-06-18 on).
    #[serde(borrow, rename = "lastModified", skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<Text<'a>>,
}

/// One block of content, told apart by its `type`.
///
/// Which kinds may stand where depends on the place and the revision; a kind this crate does not
/// know is kept as it came.
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
    /// `resource`: a resource, embedded
    Resource(EmbeddedResource<'a>),
    /// `resource_link`: a resource to read (from 2025-06-18 on)
    ResourceLink(ResourceLink<'a>),
    /// `tool_use`, in sampling only (2025-11-25)
    ToolUse(ToolUseContent<'a>),
    /// `tool_result`, in sampling only (2025-11-25)
    ToolResult(Box<ToolResultContent<'a>>),
    /// Any other type.
    Unknown(
        #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::unknown_type))]
        Raw<'a>,
    ),
}

impl<'a> Content<'a> {
    /// A block of text.
    pub fn text(text: impl Into<Text<'a>>) -> Self {
        Self::Text(TextContent::new(text))
    }

    /// The text, if this is a block of text.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(content) => Some(&content.text),
            _ => None,
        }
    }
}

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
            "tool_result" => parse(text).map(|content| Self::ToolResult(Box::new(content))),
            _ if mutant!("unknown_content_is_forgotten") => Ok(Self::Unknown(Raw::trusted("{}"))),
            _ => Ok(Self::Unknown(Raw::trusted(text))),
        }
    }
}

/// The JSON text of the value that comes next.
pub(super) fn borrowed_json<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<&'de str, D::Error> {
    <&'de RawValue>::deserialize(deserializer).map(RawValue::get)
}

/// The `type` of an object: as any string it may be written with escapes. One that is no string is
/// like one that nobody knows.
pub(super) fn kind<E: Error>(object: &str) -> Result<Str<'_>, E> {
    let literal = member(object, "type").ok_or_else(|| Error::missing_field("type"))?;
    Ok(Str::from_literal(literal).unwrap_or(Str::trusted("")))
}

/// Parses JSON text in the middle of another deserializer.
pub(super) fn parse<'de, T: Deserialize<'de>, E: Error>(text: &'de str) -> Result<T, E> {
    serde_json::from_str(text).map_err(E::custom)
}

/// Reads a member that is there, for which `null` is not the same as absent.
pub(super) fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// Text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[serde(tag = "type", rename = "text")]
#[non_exhaustive]
pub struct TextContent<'a> {
    /// The text.
    #[serde(borrow)]
    pub text: Text<'a>,
    /// Hints.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations<'a>>,
    /// Metadata (from 2025-06-18 on).
    #[serde(borrow, rename = "_meta", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::object))]
    pub meta: Option<Raw<'a>>,
}

impl<'a> TextContent<'a> {
    /// A block with this text.
    pub fn new(text: impl Into<Text<'a>>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

/// An image.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[serde(tag = "type", rename = "image")]
#[non_exhaustive]
pub struct ImageContent<'a> {
    /// The bytes in base64: see [`to_bytes`](Self::to_bytes).
    #[serde(borrow)]
    pub data: Text<'a>,
    /// The MIME type.
    #[serde(borrow, rename = "mimeType")]
    pub mime_type: Text<'a>,
    /// Hints.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations<'a>>,
    /// Metadata (from 2025-06-18 on).
    #[serde(borrow, rename = "_meta", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::object))]
    pub meta: Option<Raw<'a>>,
}

impl<'a> ImageContent<'a> {
    /// An image from base64 and its MIME type. For one from bytes there is
    /// [`from_bytes`](Self::from_bytes).
    pub fn new(data: impl Into<Text<'a>>, mime_type: impl Into<Text<'a>>) -> Self {
        Self { data: data.into(), mime_type: mime_type.into(), ..Self::default() }
    }

    /// An image from the bytes of its file and its MIME type. In the message it takes four bytes for every
    /// three, see [`Limits::frame_bytes`](crate::Limits::frame_bytes).
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
    /// The bytes of its file.
    ///
    /// Nothing is tolerated beside what [RFC 4648, section 4](https://www.rfc-editor.org/rfc/rfc4648#section-4)
    /// has: no white space or newline, no missing padding, no symbols for URLs, no bits that are left over.
    ///
    /// # Errors
    ///
    /// [`Base64Error`] if that is not what `data` is: whoever wrote it is at fault.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Base64Error> {
        Base64::Padded.bytes(&self.data)
    }
}

/// A piece of audio (from 2025-03-26 on).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[serde(tag = "type", rename = "audio")]
#[non_exhaustive]
pub struct AudioContent<'a> {
    /// The bytes in base64: see [`to_bytes`](Self::to_bytes).
    #[serde(borrow)]
    pub data: Text<'a>,
    /// The MIME type.
    #[serde(borrow, rename = "mimeType")]
    pub mime_type: Text<'a>,
    /// Hints.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations<'a>>,
    /// Metadata (from 2025-06-18 on).
    #[serde(borrow, rename = "_meta", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::object))]
    pub meta: Option<Raw<'a>>,
}

impl<'a> AudioContent<'a> {
    /// Audio from base64 and its MIME type. For audio from bytes there is
    /// [`from_bytes`](Self::from_bytes).
    pub fn new(data: impl Into<Text<'a>>, mime_type: impl Into<Text<'a>>) -> Self {
        Self { data: data.into(), mime_type: mime_type.into(), ..Self::default() }
    }

    /// Audio from the bytes of its file and its MIME type. In the message it takes four bytes for every
    /// three, see [`Limits::frame_bytes`](crate::Limits::frame_bytes).
    pub fn from_bytes(bytes: &[u8], mime_type: impl Into<Text<'a>>) -> Self {
        Self::new(Base64::Padded.text(bytes), mime_type)
    }
}

impl AudioContent<'_> {
    /// The bytes of its file, read as strictly as [those of an image](ImageContent::to_bytes).
    ///
    /// # Errors
    ///
    /// [`Base64Error`] if `data` is no base64: whoever wrote it is at fault.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Base64Error> {
        Base64::Padded.bytes(&self.data)
    }
}

/// The contents of a resource inside a message.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[serde(tag = "type", rename = "resource")]
#[non_exhaustive]
pub struct EmbeddedResource<'a> {
    /// The contents.
    #[serde(borrow)]
    pub resource: ResourceContents<'a>,
    /// Hints.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations<'a>>,
    /// Metadata (from 2025-06-18 on).
    #[serde(borrow, rename = "_meta", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::object))]
    pub meta: Option<Raw<'a>>,
}

impl<'a> EmbeddedResource<'a> {
    /// A block with these contents.
    pub const fn new(resource: ResourceContents<'a>) -> Self {
        Self { resource, annotations: None, meta: None }
    }
}

/// A call of a tool that the model asks for, in sampling (2025-11-25).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[serde(tag = "type", rename = "tool_use")]
#[non_exhaustive]
pub struct ToolUseContent<'a> {
    /// What its result refers to.
    #[serde(borrow)]
    pub id: Text<'a>,
    /// The tool.
    #[serde(borrow)]
    pub name: Text<'a>,
    /// Its arguments, an object.
    #[serde(borrow)]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::object))]
    pub input: Raw<'a>,
    /// Metadata, to be preserved in later requests.
    #[serde(borrow, rename = "_meta", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::object))]
    pub meta: Option<Raw<'a>>,
}

impl<'a> ToolUseContent<'a> {
    /// A call of a tool.
    pub fn new(id: impl Into<Text<'a>>, name: impl Into<Text<'a>>, input: Raw<'a>) -> Self {
        Self { id: id.into(), name: name.into(), input, meta: None }
    }
}

/// What a tool answered, in sampling (2025-11-25).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[serde(tag = "type", rename = "tool_result")]
#[non_exhaustive]
pub struct ToolResultContent<'a> {
    /// The id of the call.
    #[serde(borrow, rename = "toolUseId")]
    pub tool_use_id: Text<'a>,
    /// What the tool returned.
    #[serde(borrow)]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::blocks))]
    pub content: List<'a, Content<'a>>,
    /// The same as structured data: an object, since 2026-07-28 any JSON. `null` is data, too, and not
    /// the same as nothing.
    #[serde(
        borrow,
        default,
        rename = "structuredContent",
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub structured_content: Option<Raw<'a>>,
    /// Whether the tool failed.
    #[serde(rename = "isError", skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// Metadata, to be preserved in later requests.
    #[serde(borrow, rename = "_meta", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::object))]
    pub meta: Option<Raw<'a>>,
}

impl<'a> ToolResultContent<'a> {
    /// The result of a call.
    pub fn new(tool_use_id: impl Into<Text<'a>>, content: List<'a, Content<'a>>) -> Self {
        Self { tool_use_id: tool_use_id.into(), content, ..Self::default() }
    }
}
