//! The handshake
//! ([basic/lifecycle](https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle)).

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::capabilities::{ClientCapabilities, ServerCapabilities};
use super::open::open_enum;
use super::text::Text;
use crate::json::Raw;

/// Who a program is: a name and a version, and what people may want to know.
///
/// It is for display; nothing may depend on it.
#[doc(alias("clientInfo", "serverInfo"))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct Implementation<'a> {
    /// Its name for programs.
    #[serde(borrow)]
    pub name: Text<'a>,
    /// Its name for people (from 2025-06-18 on).
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub title: Option<Text<'a>>,
    /// Its version.
    #[serde(borrow)]
    pub version: Text<'a>,
    /// What it is (2025-11-25).
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub description: Option<Text<'a>>,
    /// Pictures of it (2025-11-25).
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub icons: Option<Vec<Icon<'a>>>,
    /// Where to learn more (2025-11-25).
    #[serde(borrow, rename = "websiteUrl", skip_serializing_if = "Option::is_none")]
    pub website_url: Option<Text<'a>>,
}

impl<'a> Implementation<'a> {
    /// A program with a name and a version.
    pub fn new(name: impl Into<Text<'a>>, version: impl Into<Text<'a>>) -> Self {
        Self { name: name.into(), version: version.into(), ..Self::default() }
    }
}

/// A picture (2025-11-25).
///
/// Only fetch `https:` and `data:` sources, without credentials.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct Icon<'a> {
    /// Where it is.
    #[serde(borrow)]
    pub src: Text<'a>,
    /// Its MIME type, if known.
    #[serde(borrow, rename = "mimeType", skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<Text<'a>>,
    /// The sizes it has: `48x48`, or `any`.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Vec<Text<'a>>>,
    /// The background it is made for.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub theme: Option<IconTheme<'a>>,
}

impl<'a> Icon<'a> {
    /// A picture at this place.
    pub fn new(src: impl Into<Text<'a>>) -> Self {
        Self { src: src.into(), ..Self::default() }
    }
}

open_enum! {
    /// The background that an icon is made for (2025-11-25).
    IconTheme {
        /// Dark.
        Dark = "dark",
        /// Light.
        Light = "light",
    }
}

/// The params of `initialize`.
#[doc(alias("initialize", "InitializeRequestParams", "ClientInfo"))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct InitializeParams<'a> {
    /// The revision that the client would like.
    #[serde(borrow, rename = "protocolVersion")]
    pub protocol_version: Text<'a>,
    /// What the client offers.
    #[serde(borrow)]
    pub capabilities: ClientCapabilities<'a>,
    /// Who the client is.
    #[serde(borrow, rename = "clientInfo")]
    pub client_info: Implementation<'a>,
    /// Metadata.
    #[serde(borrow, rename = "_meta", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::object))]
    pub meta: Option<Raw<'a>>,
}

/// The result of `initialize`.
#[doc(alias("initialize", "ServerInfo"))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct InitializeResult<'a> {
    /// The revision that the session will use.
    #[serde(borrow, rename = "protocolVersion")]
    pub protocol_version: Text<'a>,
    /// What the server offers.
    #[serde(borrow)]
    pub capabilities: ServerCapabilities<'a>,
    /// Who the server is.
    #[serde(borrow, rename = "serverInfo")]
    pub server_info: Implementation<'a>,
    /// How to use the server, for the model. Empty and absent are different.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<Text<'a>>,
    /// Metadata.
    #[serde(borrow, rename = "_meta", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::object))]
    pub meta: Option<Raw<'a>>,
}
