//! Resources ([server/resources](https://modelcontextprotocol.io/specification/2025-11-25/server/resources)).

use alloc::vec::Vec;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::cache::{CacheScope, LenientNatural, LenientScope};
use super::content::{Annotations, borrowed_json, parse};
use super::lifecycle::Icon;
use super::list::List;
use super::map::Map;
use super::text::Text;
use crate::base64::{Base64, Base64Error};
use crate::json::Raw;
use crate::schema::merge::{count_members, merge_members};
use crate::schema::shape::{Field, Record, Shape};
use crate::schema::{ModelWriter, Value, Written};

record! {
    /// A resource that a server offers for reading.
    #[derive(Default)]
    pub struct Resource<'a> {
        /// The URI, opaque to the protocol.
        pub uri: Text<'a> = "uri";
        /// The name for programs.
        pub name: Text<'a> = "name";
        /// The display name.
        pub title: Option<Text<'a>> = "title", since V2025_06_18;
        /// The description for the model.
        pub description: Option<Text<'a>> = "description";
        /// The MIME type, if known.
        pub mime_type: Option<Text<'a>> = "mimeType";
        /// The size in bytes before any encoding, if known: at most 2^53 - 1. Any other value is read as unknown.
        pub size: Option<u64> = "size" as Natural by LenientNatural;
        /// Hints.
        pub annotations: Option<Annotations<'a>> = "annotations";
        /// Icons for display.
        pub icons: Option<Vec<Icon<'a>>> = "icons", since V2025_11_25;
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object, since V2025_06_18;
    }
}

setters! {
    Resource {
        title(Text<'a>) description(Text<'a>) mime_type(Text<'a>) size[u64]
        annotations[Annotations<'a>] icons(Vec<Icon<'a>>) meta[Raw<'a>]
    }
}

impl<'a> Resource<'a> {
    /// Creates a resource with a URI and a name.
    pub fn new(uri: impl Into<Text<'a>>, name: impl Into<Text<'a>>) -> Self {
        Self { uri: uri.into(), name: name.into(), ..Self::default() }
    }
}

record! {
    /// A link to a resource inside a message (from 2025-06-18 on).
    #[derive(Default)]
    #![tag("type" = "resource_link")]
    pub struct ResourceLink<'a> {
        /// The URI, opaque to the protocol.
        pub uri: Text<'a> = "uri";
        /// The name for programs.
        pub name: Text<'a> = "name";
        /// The display name.
        pub title: Option<Text<'a>> = "title", since V2025_06_18;
        /// The description for the model.
        pub description: Option<Text<'a>> = "description";
        /// The MIME type, if known.
        pub mime_type: Option<Text<'a>> = "mimeType";
        /// The size in bytes before any encoding, if known: at most 2^53 - 1. Any other value is read as unknown.
        pub size: Option<u64> = "size" as Natural by LenientNatural;
        /// Hints.
        pub annotations: Option<Annotations<'a>> = "annotations";
        /// Icons for display.
        pub icons: Option<Vec<Icon<'a>>> = "icons", since V2025_11_25;
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object, since V2025_06_18;
    }
}

setters! {
    ResourceLink {
        title(Text<'a>) description(Text<'a>) mime_type(Text<'a>) size[u64]
        annotations[Annotations<'a>] icons(Vec<Icon<'a>>) meta[Raw<'a>]
    }
}

impl<'a> From<Resource<'a>> for ResourceLink<'a> {
    fn from(resource: Resource<'a>) -> Self {
        let Resource { uri, name, title, description, mime_type, size, annotations, icons, meta } =
            resource;
        Self { uri, name, title, description, mime_type, size, annotations, icons, meta }
    }
}

record! {
    /// A URI template for resources.
    #[derive(Default)]
    pub struct ResourceTemplate<'a> {
        /// The URI template (RFC 6570). The host expands it.
        pub uri_template: Text<'a> = "uriTemplate";
        /// The name for programs.
        pub name: Text<'a> = "name";
        /// The display name.
        pub title: Option<Text<'a>> = "title", since V2025_06_18;
        /// The description for the model.
        pub description: Option<Text<'a>> = "description";
        /// The MIME type of all matching resources, if they share one.
        pub mime_type: Option<Text<'a>> = "mimeType";
        /// Hints.
        pub annotations: Option<Annotations<'a>> = "annotations";
        /// Icons for display.
        pub icons: Option<Vec<Icon<'a>>> = "icons", since V2025_11_25;
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object, since V2025_06_18;
    }
}

setters! {
    ResourceTemplate {
        title(Text<'a>) description(Text<'a>) mime_type(Text<'a>) annotations[Annotations<'a>]
        icons(Vec<Icon<'a>>) meta[Raw<'a>]
    }
}

impl<'a> ResourceTemplate<'a> {
    /// Creates a template with a pattern and a name.
    pub fn new(uri_template: impl Into<Text<'a>>, name: impl Into<Text<'a>>) -> Self {
        Self { uri_template: uri_template.into(), name: name.into(), ..Self::default() }
    }
}

/// The contents of a resource: text or bytes.
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
    /// Creates contents of text.
    pub fn text(uri: impl Into<Text<'a>>, text: impl Into<Text<'a>>) -> Self {
        Self::Text(TextResourceContents {
            uri: uri.into(),
            text: text.into(),
            ..TextResourceContents::default()
        })
    }

    /// Creates contents from base64. [`from_bytes`](Self::from_bytes) takes bytes.
    pub fn blob(uri: impl Into<Text<'a>>, blob: impl Into<Text<'a>>) -> Self {
        Self::Blob(BlobResourceContents {
            uri: uri.into(),
            blob: blob.into(),
            ..BlobResourceContents::default()
        })
    }

    /// Creates contents from bytes. In the message, every three bytes become four.
    pub fn from_bytes(uri: impl Into<Text<'a>>, bytes: &[u8]) -> Self {
        Self::Blob(BlobResourceContents::from_bytes(uri, bytes))
    }

    /// Returns the text, or `None` for binary contents.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(contents) => Some(&contents.text),
            Self::Blob(_) => None,
        }
    }

    /// Returns the contents with a MIME type.
    #[must_use]
    pub fn mime_type(mut self, mime_type: impl Into<Text<'a>>) -> Self {
        match &mut self {
            Self::Text(contents) => contents.mime_type = Some(mime_type.into()),
            Self::Blob(contents) => contents.mime_type = Some(mime_type.into()),
        }
        self
    }

    /// Returns the URI of the resource, which may differ from the requested one.
    pub fn uri(&self) -> &str {
        match self {
            Self::Text(contents) => &contents.uri,
            Self::Blob(contents) => &contents.uri,
        }
    }
}

static CONTENTS: Record = {
    const RECORDS: &[&Record] = &[TextResourceContents::RECORD, BlobResourceContents::RECORD];
    const URI: &[Field] = &[Field::required("uri", Shape::Text)];
    const COUNT: usize = count_members(URI, RECORDS);
    static FIELDS: [Field; COUNT] = merge_members(URI, RECORDS, true);
    Record::with(&FIELDS, None, &["text", "blob"])
};

impl Value for ResourceContents<'_> {
    const SHAPE: Shape = Shape::Record(&CONTENTS);

    fn write(&self, out: &mut ModelWriter<'_, '_>) -> Written {
        match self {
            Self::Text(contents) => contents.write(out),
            Self::Blob(contents) => contents.write(out),
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
        let member = |name| raw.get(name).filter(|value| value.as_json() != "null");
        match (member("text"), member("blob")) {
            (Some(_), None) => parse(text).map(Self::Text),
            (None, Some(_)) => parse(text).map(Self::Blob),
            _ => Err(Error::custom("resource contents have either text or blob")),
        }
    }
}

record! {
    /// The contents of a resource as text.
    #[derive(Default)]
    pub struct TextResourceContents<'a> {
        /// The URI of the resource.
        pub uri: Text<'a> = "uri";
        /// The MIME type, if known.
        pub mime_type: Option<Text<'a>> = "mimeType";
        /// The text.
        pub text: Text<'a> = "text";
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object, since V2025_06_18;
    }
}

setters! { TextResourceContents { mime_type(Text<'a>) meta[Raw<'a>] } }

record! {
    /// The contents of a resource as bytes.
    #[derive(Default)]
    pub struct BlobResourceContents<'a> {
        /// The URI of the resource.
        pub uri: Text<'a> = "uri";
        /// The MIME type, if known.
        pub mime_type: Option<Text<'a>> = "mimeType";
        /// The bytes in base64: see [`to_bytes`](Self::to_bytes).
        pub blob: Text<'a> = "blob" as Base64;
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object, since V2025_06_18;
    }
}

setters! { BlobResourceContents { mime_type(Text<'a>) meta[Raw<'a>] } }

impl<'a> BlobResourceContents<'a> {
    /// Creates the contents of the resource with this URI. In the message, every three bytes become four.
    pub fn from_bytes(uri: impl Into<Text<'a>>, bytes: &[u8]) -> Self {
        let blob = Base64::Padded.text(bytes).into();
        Self { uri: uri.into(), blob, ..Self::default() }
    }
}

impl BlobResourceContents<'_> {
    /// Returns the bytes, read as strictly as [those of an image](super::ImageContent::to_bytes).
    ///
    /// # Errors
    ///
    /// [`Base64Error`] if `blob` is not base64. The sender is at fault.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Base64Error> {
        Base64::Padded.bytes(&self.blob)
    }
}

record! {
    /// The params of `resources/read`.
    #[doc(alias = "ResourceRequestParams")]
    #[doc(alias("resources/read", "ReadResourceRequestParams"))]
    #[derive(Default)]
    pub struct ReadResourceParams<'a> {
        /// The URI of the resource.
        pub uri: Text<'a> = "uri";
        /// The results of the input requests in the server's previous response, by the keys of these input requests.
        pub input_responses: Option<Map<'a, Raw<'a>>> = "inputResponses" as Object,
            since V2026_07_28;
        /// The opaque state from the server's previous response, returned unchanged.
        ///
        /// A server must trust this state no more than any other data of a client.
        pub request_state: Option<Text<'a>> = "requestState", since V2026_07_28;
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object;
    }
}

setters! { ReadResourceParams { meta[Raw<'a>] } }

impl<'a> ReadResourceParams<'a> {
    /// Creates a request for the resource with this URI.
    pub fn new(uri: impl Into<Text<'a>>) -> Self {
        Self { uri: uri.into(), ..Self::default() }
    }
}

record! {
    /// The params of `resources/subscribe` and `resources/unsubscribe`.
    #[doc(alias("SubscribeRequestParams", "UnsubscribeRequestParams"))]
    #[doc(alias("resources/subscribe", "resources/unsubscribe"))]
    #[derive(Default)]
    pub struct UriParams<'a> {
        /// The URI of the resource.
        pub uri: Text<'a> = "uri";
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object;
    }
}

setters! { UriParams { meta[Raw<'a>] } }

impl<'a> UriParams<'a> {
    /// Creates params with this URI.
    pub fn new(uri: impl Into<Text<'a>>) -> Self {
        Self { uri: uri.into(), meta: None }
    }
}

record! {
    /// The result of `resources/list`.
    #[doc(alias = "resources/list")]
    #[derive(Default)]
    pub struct ListResourcesResult<'a> {
        /// One page of resources.
        pub resources: List<'a, Resource<'a>> = "resources";
        /// The cursor of the next page; `None` on the last page.
        pub next_cursor: Option<Text<'a>> = "nextCursor";
        /// The caching lifetime of the result in milliseconds from its receipt. Absent means 0.
        pub ttl_ms: Option<u64> = "ttlMs" as Natural by LenientNatural, since V2026_07_28;
        /// The users that a cached result may be served to.
        pub cache_scope: Option<CacheScope<'a>> = "cacheScope" as Hint by LenientScope<'_>,
            since V2026_07_28;
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object;
    }
}

setters! {
    ListResourcesResult {
        next_cursor(Text<'a>) ttl_ms[u64] cache_scope[CacheScope<'a>] meta[Raw<'a>]
    }
}

impl<'a> ListResourcesResult<'a> {
    /// Creates a list of one page.
    pub fn new(resources: impl Into<List<'a, Resource<'a>>>) -> Self {
        Self { resources: resources.into(), ..Self::default() }
    }
}

record! {
    /// The result of `resources/templates/list`.
    #[doc(alias = "resources/templates/list")]
    #[derive(Default)]
    pub struct ListResourceTemplatesResult<'a> {
        /// One page of templates.
        pub resource_templates: List<'a, ResourceTemplate<'a>> = "resourceTemplates";
        /// The cursor of the next page; `None` on the last page.
        pub next_cursor: Option<Text<'a>> = "nextCursor";
        /// The caching lifetime of the result in milliseconds from its receipt. Absent means 0.
        pub ttl_ms: Option<u64> = "ttlMs" as Natural by LenientNatural, since V2026_07_28;
        /// The users that a cached result may be served to.
        pub cache_scope: Option<CacheScope<'a>> = "cacheScope" as Hint by LenientScope<'_>,
            since V2026_07_28;
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object;
    }
}

setters! {
    ListResourceTemplatesResult {
        next_cursor(Text<'a>) ttl_ms[u64] cache_scope[CacheScope<'a>] meta[Raw<'a>]
    }
}

impl<'a> ListResourceTemplatesResult<'a> {
    /// Creates a list of one page.
    pub fn new(resource_templates: impl Into<List<'a, ResourceTemplate<'a>>>) -> Self {
        Self { resource_templates: resource_templates.into(), ..Self::default() }
    }
}

record! {
    /// The result of `resources/read`: the contents of the resource, and possibly of resources below it.
    #[doc(alias = "resources/read")]
    #[derive(Default)]
    pub struct ReadResourceResult<'a> {
        /// The contents.
        pub contents: List<'a, ResourceContents<'a>> = "contents";
        /// The caching lifetime of the result in milliseconds from its receipt. Absent means 0.
        pub ttl_ms: Option<u64> = "ttlMs" as Natural by LenientNatural, since V2026_07_28;
        /// The users that a cached result may be served to.
        pub cache_scope: Option<CacheScope<'a>> = "cacheScope" as Hint by LenientScope<'_>,
            since V2026_07_28;
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object;
    }
}

setters! { ReadResourceResult { ttl_ms[u64] cache_scope[CacheScope<'a>] meta[Raw<'a>] } }

impl<'a> ReadResourceResult<'a> {
    /// Creates a result of these contents: of a resource one, of a directory several.
    pub fn new(contents: impl Into<List<'a, ResourceContents<'a>>>) -> Self {
        Self { contents: contents.into(), ..Self::default() }
    }
}

impl<'a> From<ResourceContents<'a>> for ReadResourceResult<'a> {
    fn from(contents: ResourceContents<'a>) -> Self {
        Self::new([contents])
    }
}
