//! The handshake
//! ([basic/lifecycle](https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle)).

use alloc::vec::Vec;

use super::capabilities::{ClientCapabilities, ServerCapabilities};
use super::open::open_enum;
use super::text::Text;
use crate::json::Raw;

record! {
    /// The name and version of a program, and details for people.
    ///
    /// This information is for display only; no behavior may depend on it.
    #[doc(alias = "BaseMetadata")]
    #[doc(alias("clientInfo", "serverInfo"))]
    #[derive(Default)]
    pub struct Implementation<'a> {
        /// The name for programs.
        pub name: Text<'a> = "name";
        /// The display name.
        pub title: Option<Text<'a>> = "title", since V2025_06_18;
        /// The version.
        pub version: Text<'a> = "version";
        /// The description of the program.
        pub description: Option<Text<'a>> = "description", since V2025_11_25;
        /// Icons for display.
        pub icons: Option<Vec<Icon<'a>>> = "icons", since V2025_11_25;
        /// The URL of a website with more information.
        pub website_url: Option<Text<'a>> = "websiteUrl", since V2025_11_25;
    }
}

setters! {
    Implementation {
        title(Text<'a>) description(Text<'a>) icons(Vec<Icon<'a>>) website_url(Text<'a>)
    }
}

impl<'a> Implementation<'a> {
    /// Creates the description of a program with a name and a version.
    pub fn new(name: impl Into<Text<'a>>, version: impl Into<Text<'a>>) -> Self {
        Self { name: name.into(), version: version.into(), ..Self::default() }
    }
}

record! {
    /// An icon (2025-11-25).
    ///
    /// Fetch only `https:` and `data:` sources, without credentials.
    #[doc(alias = "Icons")]
    #[derive(Default)]
    pub struct Icon<'a> {
        /// The URI of the icon.
        pub src: Text<'a> = "src";
        /// The MIME type, if known.
        pub mime_type: Option<Text<'a>> = "mimeType";
        /// The available sizes: `48x48`, or `any`.
        pub sizes: Option<Vec<Text<'a>>> = "sizes";
        /// The background that the icon is designed for.
        pub theme: Option<IconTheme<'a>> = "theme";
    }
}

setters! { Icon { mime_type(Text<'a>) sizes(Vec<Text<'a>>) theme[IconTheme<'a>] } }

impl<'a> Icon<'a> {
    /// Creates an icon with this URI.
    pub fn new(src: impl Into<Text<'a>>) -> Self {
        Self { src: src.into(), ..Self::default() }
    }
}

open_enum! {
    /// The background that an icon is designed for (2025-11-25).
    IconTheme {
        /// A dark background.
        Dark = "dark";
        /// A light background.
        Light = "light";
    }
}

record! {
    /// The params of `initialize`.
    #[doc(alias = "InitializeRequest")]
    #[doc(alias("initialize", "InitializeRequestParams", "ClientInfo"))]
    #[derive(Default)]
    pub struct InitializeParams<'a> {
        /// The revision that the client proposes.
        pub protocol_version: Text<'a> = "protocolVersion";
        /// The capabilities of the client.
        pub capabilities: ClientCapabilities<'a> = "capabilities";
        /// The name and version of the client.
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
        /// The revision of the session.
        pub protocol_version: Text<'a> = "protocolVersion";
        /// The capabilities of the server.
        pub capabilities: ServerCapabilities<'a> = "capabilities";
        /// The name and version of the server.
        pub server_info: Implementation<'a> = "serverInfo";
        /// Instructions for the model on the use of the server. Empty and absent are different.
        pub instructions: Option<Text<'a>> = "instructions";
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object;
    }
}
