//! Resources ([server/resources](https://modelcontextprotocol.io/specification/2025-11-25/server/resources)).

use alloc::vec::Vec;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::cache::{self, CacheScope};
use super::content::{Annotations, borrowed_json, parse};
use super::lifecycle::Icon;
use super::list::List;
use super::map::Map;
use super::text::Text;
use crate::base64::{Base64, Base64Error};
use crate::json::Raw;

/// Something a server can be asked to read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct Resource<'a> {
    /// Its URI, opaque to the protocol.
    #[serde(borrow)]
    pub uri: Text<'a>,
    /// Its name for programs.
    #[serde(borrow)]
    pub name: Text<'a>,
    /// Its name for people (from 2025-06-18 on).
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub title: Option<Text<'a>>,
    /// What it is, for the model.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub description: Option<Text<'a>>,
    /// Its MIME type, if known.
    #[serde(borrow, rename = "mimeType", skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<Text<'a>>,
    /// Its size in bytes before any encoding, if known: at most 2^53 - 1. Anything else is read as unknown.
    #[serde(default, deserialize_with = "cache::ttl", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::exact))]
    pub size: Option<u64>,
    /// Hints.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations<'a>>,
    /// Pictures of it (2025-11-25).
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub icons: Option<Vec<Icon<'a>>>,
    /// Metadata (from 2025-06-18 on).
    #[serde(borrow, rename = "_meta", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::object))]
    pub meta: Option<Raw<'a>>,
}

impl<'a> Resource<'a> {
    /// A resource with a URI and a name.
    pub fn new(uri: impl Into<Text<'a>>, name: impl Into<Text<'a>>) -> Self {
        Self { uri: uri.into(), name: name.into(), ..Self::default() }
    }
}

/// A resource inside a message, to be read if wanted (from 2025-06-18 on).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[serde(tag = "type", rename = "resource_link")]
#[non_exhaustive]
pub struct ResourceLink<'a> {
    /// Its URI, opaque to the protocol.
    #[serde(borrow)]
    pub uri: Text<'a>,
    /// Its name for programs.
    #[serde(borrow)]
    pub name: Text<'a>,
    /// Its name for people.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub title: Option<Text<'a>>,
    /// What it is, for the model.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub description: Option<Text<'a>>,
    /// Its MIME type, if known.
    #[serde(borrow, rename = "mimeType", skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<Text<'a>>,
    /// Its size in bytes before any encoding, if known: at most 2^53 - 1. Anything else is read as unknown.
    #[serde(default, deserialize_with = "cache::ttl", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::exact))]
    pub size: Option<u64>,
    /// Hints.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations<'a>>,
    /// Pictures of it (2025-11-25).
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub icons: Option<Vec<Icon<'a>>>,
    /// Metadata.
    #[serde(borrow, rename = "_meta", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::object))]
    pub meta: Option<Raw<'a>>,
}

impl<'a> From<Resource<'a>> for ResourceLink<'a> {
    fn from(resource: Resource<'a>) -> Self {
        let Resource { uri, name, title, description, mime_type, size, annotations, icons, meta } =
            resource;
        Self { uri, name, title, description, mime_type, size, annotations, icons, meta }
    }
}

/// A pattern for the URIs of resources.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct ResourceTemplate<'a> {
    /// The pattern, RFC 6570. Filling it in is the host's business.
    #[serde(borrow, rename = "uriTemplate")]
    pub uri_template: Text<'a>,
    /// Its name for programs.
    #[serde(borrow)]
    pub name: Text<'a>,
    /// Its name for people (from 2025-06-18 on).
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub title: Option<Text<'a>>,
    /// What it is for, for the model.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub description: Option<Text<'a>>,
    /// The MIME type of all resources that match, if they have the same.
    #[serde(borrow, rename = "mimeType", skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<Text<'a>>,
    /// Hints.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations<'a>>,
    /// Pictures of it (2025-11-25).
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub icons: Option<Vec<Icon<'a>>>,
    /// Metadata (from 2025-06-18 on).
    #[serde(borrow, rename = "_meta", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::object))]
    pub meta: Option<Raw<'a>>,
}

impl<'a> ResourceTemplate<'a> {
    /// A template with a pattern and a name.
    pub fn new(uri_template: impl Into<Text<'a>>, name: impl Into<Text<'a>>) -> Self {
        Self { uri_template: uri_template.into(), name: name.into(), ..Self::default() }
    }
}

/// What is in a resource: text or bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub enum ResourceContents<'a> {
    /// Text.
    Text(TextResourceContents<'a>),
    /// Bytes.
    Blob(BlobResourceContents<'a>),
}

impl<'a> ResourceContents<'a> {
    /// Text contents.
    pub fn text(uri: impl Into<Text<'a>>, text: impl Into<Text<'a>>) -> Self {
        Self::Text(TextResourceContents {
            uri: uri.into(),
            text: text.into(),
            ..TextResourceContents::default()
        })
    }

    /// Contents of bytes, in base64. [`from_bytes`](Self::from_bytes) takes the bytes themselves.
    pub fn blob(uri: impl Into<Text<'a>>, blob: impl Into<Text<'a>>) -> Self {
        Self::Blob(BlobResourceContents {
            uri: uri.into(),
            blob: blob.into(),
            ..BlobResourceContents::default()
        })
    }

    /// Contents of these bytes. In the message they take four bytes for every three.
    pub fn from_bytes(uri: impl Into<Text<'a>>, bytes: &[u8]) -> Self {
        Self::Blob(BlobResourceContents::from_bytes(uri, bytes))
    }

    /// The same contents with a MIME type.
    #[must_use]
    pub fn mime_type(mut self, mime_type: impl Into<Text<'a>>) -> Self {
        match &mut self {
            Self::Text(contents) => contents.mime_type = Some(mime_type.into()),
            Self::Blob(contents) => contents.mime_type = Some(mime_type.into()),
        }
        self
    }

    /// The URI of the resource, which need not be the one that was asked for.
    pub fn uri(&self) -> &str {
        match self {
            Self::Text(contents) => &contents.uri,
            Self::Blob(contents) => &contents.uri,
        }
    }
}

impl Serialize for ResourceContents<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(contents) => contents.serialize(serializer),
            Self::Blob(contents) => contents.serialize(serializer),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for ResourceContents<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = borrowed_json(deserializer)?;
        let raw = Raw::trusted(text);
        match (raw.get("text"), raw.get("blob")) {
            (Some(_), None) => parse(text).map(Self::Text),
            (None, Some(_)) => parse(text).map(Self::Blob),
            _ => Err(Error::custom("resource contents have either text or blob")),
        }
    }
}

/// The contents of a resource as text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct TextResourceContents<'a> {
    /// The URI of the resource.
    #[serde(borrow)]
    pub uri: Text<'a>,
    /// The MIME type, if known.
    #[serde(borrow, rename = "mimeType", skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<Text<'a>>,
    /// The text.
    #[serde(borrow)]
    pub text: Text<'a>,
    /// Metadata (from 2025-06-18 on).
    #[serde(borrow, rename = "_meta", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::object))]
    pub meta: Option<Raw<'a>>,
}

/// The contents of a resource as bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct BlobResourceContents<'a> {
    /// The URI of the resource.
    #[serde(borrow)]
    pub uri: Text<'a>,
    /// The MIME type, if known.
    #[serde(borrow, rename = "mimeType", skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<Text<'a>>,
    /// The bytes in base64: see [`to_bytes`](Self::to_bytes).
    #[serde(borrow)]
    pub blob: Text<'a>,
    /// Metadata (from 2025-06-18 on).
    #[serde(borrow, rename = "_meta", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::object))]
    pub meta: Option<Raw<'a>>,
}

impl<'a> BlobResourceContents<'a> {
    /// The contents of the resource with this URI. In the message they take four bytes for every three.
    pub fn from_bytes(uri: impl Into<Text<'a>>, bytes: &[u8]) -> Self {
        let blob = Base64::Padded.text(bytes).into();
        Self { uri: uri.into(), blob, ..Self::default() }
    }
}

impl BlobResourceContents<'_> {
    /// The bytes, read as strictly as [those of an image](super::ImageContent::to_bytes).
    ///
    /// # Errors
    ///
    /// [`Base64Error`] if `blob` is no base64: whoever wrote it is at fault.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Base64Error> {
        Base64::Padded.bytes(&self.blob)
    }
}

/// The params of `resources/read`.
#[doc(alias("resources/read", "ReadResourceRequestParams"))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct ReadResourceParams<'a> {
    /// The URI of the resource.
    #[serde(borrow)]
    pub uri: Text<'a>,
    /// What the client answers to what it was asked for when it made the request before, by the keys it
    /// was asked with (2026-07-28).
    #[serde(borrow, rename = "inputResponses", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::object))]
    pub input_responses: Option<Map<'a, Raw<'a>>>,
    /// What the server gave the client to bring back with them, unread and unchanged (2026-07-28).
    ///
    /// A server must trust it no more than anything else that a client sends.
    #[serde(borrow, rename = "requestState", skip_serializing_if = "Option::is_none")]
    pub request_state: Option<Text<'a>>,
    /// Metadata.
    #[serde(borrow, rename = "_meta", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::object))]
    pub meta: Option<Raw<'a>>,
}

impl<'a> ReadResourceParams<'a> {
    /// Asks for the resource with this URI.
    pub fn new(uri: impl Into<Text<'a>>) -> Self {
        Self { uri: uri.into(), ..Self::default() }
    }
}

/// The params of `resources/subscribe` and `resources/unsubscribe`.
#[doc(alias("resources/subscribe", "resources/unsubscribe"))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct UriParams<'a> {
    /// The URI of the resource.
    #[serde(borrow)]
    pub uri: Text<'a>,
    /// Metadata.
    #[serde(borrow, rename = "_meta", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::object))]
    pub meta: Option<Raw<'a>>,
}

impl<'a> UriParams<'a> {
    /// Params with this URI.
    pub fn new(uri: impl Into<Text<'a>>) -> Self {
        Self { uri: uri.into(), meta: None }
    }
}

/// The result of `resources/list`.
#[doc(alias = "resources/list")]
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct ListResourcesResult<'a> {
    /// One page of resources.
    #[serde(borrow)]
    pub resources: List<'a, Resource<'a>>,
    /// Where the next page begins, if there is one.
    #[serde(borrow, rename = "nextCursor", skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<Text<'a>>,
    /// For how many milliseconds from its receipt on it may be used again (2026-07-28). Absent means 0.
    #[serde(
        default,
        rename = "ttlMs",
        deserialize_with = "cache::ttl",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::exact))]
    pub ttl_ms: Option<u64>,
    /// Who may use it again (2026-07-28).
    #[serde(
        borrow,
        default,
        rename = "cacheScope",
        deserialize_with = "cache::scope",
        skip_serializing_if = "Option::is_none"
    )]
    pub cache_scope: Option<CacheScope<'a>>,
    /// Metadata.
    #[serde(borrow, rename = "_meta", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::object))]
    pub meta: Option<Raw<'a>>,
}

impl<'a> ListResourcesResult<'a> {
    /// A list of one page.
    pub fn new(resources: impl Into<List<'a, Resource<'a>>>) -> Self {
        Self { resources: resources.into(), ..Self::default() }
    }
}

/// The result of `resources/templates/list`.
#[doc(alias = "resources/templates/list")]
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct ListResourceTemplatesResult<'a> {
    /// One page of templates.
    #[serde(borrow, rename = "resourceTemplates")]
    pub resource_templates: List<'a, ResourceTemplate<'a>>,
    /// Where the next page begins, if there is one.
    #[serde(borrow, rename = "nextCursor", skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<Text<'a>>,
    /// For how many milliseconds from its receipt on it may be used again (2026-07-28). Absent means 0.
    #[serde(
        default,
        rename = "ttlMs",
        deserialize_with = "cache::ttl",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::exact))]
    pub ttl_ms: Option<u64>,
    /// Who may use it again (2026-07-28).
    #[serde(
        borrow,
        default,
        rename = "cacheScope",
        deserialize_with = "cache::scope",
        skip_serializing_if = "Option::is_none"
    )]
    pub cache_scope: Option<CacheScope<'a>>,
    /// Metadata.
    #[serde(borrow, rename = "_meta", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::object))]
    pub meta: Option<Raw<'a>>,
}

impl<'a> ListResourceTemplatesResult<'a> {
    /// A list of one page.
    pub fn new(resource_templates: impl Into<List<'a, ResourceTemplate<'a>>>) -> Self {
        Self { resource_templates: resource_templates.into(), ..Self::default() }
    }
}

/// The result of `resources/read`: what the URI names, and possibly what lies below it.
#[doc(alias = "resources/read")]
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct ReadResourceResult<'a> {
    /// The contents.
    #[serde(borrow)]
    pub contents: List<'a, ResourceContents<'a>>,
    /// For how many milliseconds from its receipt on it may be used again (2026-07-28). Absent means 0.
    #[serde(
        default,
        rename = "ttlMs",
        deserialize_with = "cache::ttl",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::exact))]
    pub ttl_ms: Option<u64>,
    /// Who may use it again (2026-07-28).
    #[serde(
        borrow,
        default,
        rename = "cacheScope",
        deserialize_with = "cache::scope",
        skip_serializing_if = "Option::is_none"
    )]
    pub cache_scope: Option<CacheScope<'a>>,
    /// Metadata.
    #[serde(borrow, rename = "_meta", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::object))]
    pub meta: Option<Raw<'a>>,
}

impl<'a> From<ResourceContents<'a>> for ReadResourceResult<'a> {
    fn from(contents: ResourceContents<'a>) -> Self {
        Self { contents: List::from([contents]), ..Self::default() }
    }
}
