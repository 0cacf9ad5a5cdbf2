//! The handshake
//! ([basic/lifecycle](https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle)).

use alloc::vec::Vec;

use super::capabilities::{ClientCapabilities, ServerCapabilities};
use super::open::open_enum;
use super::text::Text;
use crate::json::Raw;

record! {
    /// Who a program is: a name and a version, and what people may want to know.
    ///
    /// It is for display; nothing may depend on it.
    #[doc(alias("clientInfo", "serverInfo"))]
    #[derive(Default)]
    pub struct Implementation<'a> {
        /// Its name for programs.
        pub name: Text<'a> = "name";
        /// Its name for people.
        pub title: Option<Text<'a>> = "title", since V2025_06_18;
        /// Its version.
        pub version: Text<'a> = "version";
        /// What it is.
        pub description: Option<Text<'a>> = "description", since V2025_11_25;
        /// Pictures of it.
        pub icons: Option<Vec<Icon<'a>>> = "icons", since V2025_11_25;
        /// Where to learn more.
        pub website_url: Option<Text<'a>> = "websiteUrl", since V2025_11_25;
    }
}

impl<'a> Implementation<'a> {
    /// A program with a name and a version.
    pub fn new(name: impl Into<Text<'a>>, version: impl Into<Text<'a>>) -> Self {
        Self { name: name.into(), version: version.into(), ..Self::default() }
    }
}

record! {
    /// A picture (2025-11-25).
    ///
    /// Only fetch `https:` and `data:` sources, without credentials.
    #[derive(Default)]
    pub struct Icon<'a> {
        /// Where it is.
        pub src: Text<'a> = "src";
        /// Its MIME type, if known.
        pub mime_type: Option<Text<'a>> = "mimeType";
        /// The sizes it has: `48x48`, or `any`.
        pub sizes: Option<Vec<Text<'a>>> = "sizes";
        /// The background it is made for.
        pub theme: Option<IconTheme<'a>> = "theme";
    }
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
        Dark = "dark";
        /// Light.
        Light = "light";
    }
}

record! {
    /// The params of `initialize`.
    #[doc(alias("initialize", "InitializeRequestParams", "ClientInfo"))]
    #[derive(Default)]
    pub struct InitializeParams<'a> {
        /// The revision that the client would like.
        pub protocol_version: Text<'a> = "protocolVersion";
        /// What the client offers.
        pub capabilities: ClientCapabilities<'a> = "capabilities";
        /// Who the client is.
        pub client_info: Implementation<'a> = "clientInfo";
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object;
    }
}

record! {
    /// The result of `initialize`.
    #[doc(alias("initialize", "ServerInfo"))]
    #[derive(Default)]
    pub struct InitializeResult<'a> {
        /// The revision that the session will use.
        pub protocol_version: Text<'a> = "protocolVersion";
        /// What the server offers.
        pub capabilities: ServerCapabilities<'a> = "capabilities";
        /// Who the server is.
        pub server_info: Implementation<'a> = "serverInfo";
        /// How to use the server, for the model. Empty and absent are different.
        pub instructions: Option<Text<'a>> = "instructions";
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object;
    }
}
