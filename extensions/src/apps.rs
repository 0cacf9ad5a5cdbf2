//! Apps: tools and resources with a user interface, which a host shows in a sandbox
//! ([SEP-1865](https://modelcontextprotocol.io/seps/1865-mcp-apps-interactive-user-interfaces-for-mcp)).
//!
//! A tool names a resource with the URI scheme `ui:` in its metadata ([`ToolUi`]). The resource is an HTML document of the
//! type [`MIME_TYPE`] and says what it may load ([`ResourceUi`]). The messages between the document and the host are not
//! part of this module: they do not pass the server.
//!
//! ```
//! use mcp_sansio::json::Raw;
//! use mcp_sansio::model::Tool;
//! use mcp_sansio_driver::Router;
//! use mcp_sansio_extensions::apps::{self, Csp, ResourceUi, ToolUi, Visibility};
//!
//! let router = Router::new();
//! let schema = Raw::new(r#"{"type":"object"}"#)?;
//! let ui = ToolUi::new("ui://weather/view.html");
//! let tool = ui.added_to(Tool::new("weather", schema));
//! router.tool_with(tool, |_: serde_json::Value, _| "21 °C, sunny");
//!
//! let csp = Csp::new().connect_domains(["https://api.weather.example"]);
//! let page = "<!DOCTYPE html><title>Weather</title>";
//! apps::serve_app(&router, "ui://weather/view.html", "Weather", page, &ResourceUi::new().csp(csp));
//! # Ok::<(), mcp_sansio::json::JsonError>(())
//! ```

use mcp_sansio::json::Raw;
use mcp_sansio::model::{ClientCapabilities, Resource, ResourceContents, Tool};
use mcp_sansio_driver::{Exchange, Router};
use serde::{Deserialize, Serialize};

/// The name of the extension in the capabilities.
pub const EXTENSION: &str = "io.modelcontextprotocol/ui";

/// The MIME type of a user interface.
pub const MIME_TYPE: &str = "text/html;profile=mcp-app";

/// The member of `_meta` with the data of the extension.
const MEMBER: &str = "ui";

/// The member of `_meta` of a tool that older hosts read instead.
const OLD_MEMBER: &str = "ui/resourceUri";

/// Who may call a tool.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Visibility {
    /// The model.
    Model,
    /// The user interfaces of the same server.
    App,
    /// A value that this version does not know.
    #[serde(untagged)]
    Other(String),
}

/// The user interface of a tool: the member `ui` of its `_meta`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolUi {
    /// The URI of the resource to show, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_uri: Option<String>,
    /// Who may call the tool. Without it, both may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visibility: Option<Vec<Visibility>>,
}

impl ToolUi {
    /// Shows a resource, whose URI begins with `ui://`.
    pub fn new(resource_uri: impl Into<String>) -> Self {
        Self { resource_uri: Some(resource_uri.into()), visibility: None }
    }

    /// Sets who may call the tool.
    #[must_use]
    pub fn visible_to(mut self, who: impl Into<Vec<Visibility>>) -> Self {
        self.visibility = Some(who.into());
        self
    }

    /// Returns the user interface of a tool, `None` without a valid one. Also reads the member that older servers use.
    pub fn of(tool: &Tool<'_>) -> Option<Self> {
        let meta = tool.meta.as_ref()?;
        let current: Option<Self> = meta.get(MEMBER).and_then(|ui| ui.parse().ok());
        let older = || Some(meta.get(OLD_MEMBER)?.into_str()?.to_str().into_owned());
        match current {
            Some(ui) if ui.resource_uri.is_some() => Some(ui),
            Some(ui) => Some(Self { resource_uri: older(), ..ui }),
            None => older().map(Self::new),
        }
    }

    /// Returns the tool with this user interface. Its other metadata stays. Older hosts find the URI in the member that
    /// they read.
    pub fn added_to<'t>(&self, tool: Tool<'t>) -> Tool<'t> {
        let ui = Raw::from_serialize(self).ok();
        let uri = self.resource_uri.as_ref().and_then(|uri| Raw::from_serialize(uri).ok());
        let none = Raw::EMPTY_OBJECT;
        let meta = tool.meta.as_ref().unwrap_or(&none);
        let meta = meta.edited(&[(MEMBER, ui), (OLD_MEMBER, uri)]);
        tool.meta(meta)
    }

    /// Whether the model may see and call the tool. A host keeps other tools from the model; that is no access control on
    /// the server.
    pub fn is_for_model(&self) -> bool {
        self.is_for(&Visibility::Model)
    }

    /// Whether user interfaces of the same server may call the tool.
    pub fn is_for_app(&self) -> bool {
        self.is_for(&Visibility::App)
    }

    fn is_for(&self, who: &Visibility) -> bool {
        self.visibility.as_ref().is_none_or(|visibility| visibility.contains(who))
    }
}

/// What a user interface may load and do: the member `ui` of the `_meta` of a resource and of its contents.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ResourceUi {
    /// The origins that it may use. Without it, none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub csp: Option<Csp>,
    /// The features of the browser that it requests. The host decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Permissions>,
    /// The origin of the sandbox, in the form that the host defines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// Whether the host draws a border and a background. Without it, the host decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefers_border: Option<bool>,
}

impl ResourceUi {
    /// Requests nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the origins that the user interface may use.
    #[must_use]
    pub fn csp(mut self, csp: Csp) -> Self {
        self.csp = Some(csp);
        self
    }

    /// Sets the features of the browser that the user interface requests.
    #[must_use]
    pub const fn permissions(mut self, permissions: Permissions) -> Self {
        self.permissions = Some(permissions);
        self
    }

    /// Sets the origin of the sandbox.
    #[must_use]
    pub fn domain(mut self, domain: impl Into<String>) -> Self {
        self.domain = Some(domain.into());
        self
    }

    /// Sets whether the host draws a border and a background.
    #[must_use]
    pub const fn prefers_border(mut self, border: bool) -> Self {
        self.prefers_border = Some(border);
        self
    }

    /// Reads the metadata of a resource or of its contents. A host prefers that of the contents. `None` without one, and if
    /// it is not valid.
    pub fn of(meta: Option<&Raw<'_>>) -> Option<Self> {
        meta?.get(MEMBER)?.parse().ok()
    }

    /// Returns metadata with this member, and with the other members of `meta`.
    pub fn added_to(&self, meta: Option<&Raw<'_>>) -> Raw<'static> {
        let ui = Raw::from_serialize(self).ok();
        meta.unwrap_or(&Raw::EMPTY_OBJECT).edited(&[(MEMBER, ui)])
    }
}

/// The origins that a user interface may use: `https://api.example.com`, `https://*.example.com`.
///
/// A host makes a content security policy of them. The server chooses them, so a host leaves out the
/// [invalid ones](Self::invalid_origins) before it writes a header.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Csp {
    /// For requests: `connect-src`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub connect_domains: Vec<String>,
    /// For images, scripts, styles, fonts and media.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resource_domains: Vec<String>,
    /// For nested frames: `frame-src`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub frame_domains: Vec<String>,
    /// For the base of the document: `base-uri`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub base_uri_domains: Vec<String>,
}

impl Csp {
    /// Allows no origin.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the origins for requests.
    #[must_use]
    pub fn connect_domains<T: Into<String>>(mut self, all: impl IntoIterator<Item = T>) -> Self {
        self.connect_domains = all.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the origins for images, scripts, styles, fonts and media.
    #[must_use]
    pub fn resource_domains<T: Into<String>>(mut self, all: impl IntoIterator<Item = T>) -> Self {
        self.resource_domains = all.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the origins for nested frames.
    #[must_use]
    pub fn frame_domains<T: Into<String>>(mut self, all: impl IntoIterator<Item = T>) -> Self {
        self.frame_domains = all.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the origins for the base of the document.
    #[must_use]
    pub fn base_uri_domains<T: Into<String>>(mut self, all: impl IntoIterator<Item = T>) -> Self {
        self.base_uri_domains = all.into_iter().map(Into::into).collect();
        self
    }

    /// Returns the entries that cannot be a part of a content security policy: with spaces, `;`, `,`, quotes or other
    /// characters that would end the part, or without a scheme and a host.
    ///
    /// An origin with an IPv6 address is among them: the hosts of a policy consist of letters, digits, `-` and `.`
    /// ([CSP Level 3](https://www.w3.org/TR/CSP3/#grammardef-host-char)), so browsers ignore `http://[::1]:3000`. The name
    /// `localhost` is valid.
    pub fn invalid_origins(&self) -> impl Iterator<Item = &str> {
        let lists = [
            &self.connect_domains,
            &self.resource_domains,
            &self.frame_domains,
            &self.base_uri_domains,
        ];
        lists.into_iter().flatten().map(String::as_str).filter(|origin| !is_origin(origin))
    }
}

fn is_origin(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once("://") else { return false };
    let is_scheme = matches!(scheme, "https" | "http" | "wss" | "ws");
    let host = rest.strip_prefix("*.").unwrap_or(rest);
    let (host, port) = host.split_once(':').unwrap_or((host, "1"));
    let is_label = |label: &str| {
        !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let is_port = port.bytes().all(|byte| byte.is_ascii_digit())
        && port.parse::<u16>().is_ok_and(|port| port != 0);
    is_scheme && host.split('.').all(is_label) && is_port
}

/// Features of the browser.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Permissions {
    /// The camera.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub camera: Option<Requested>,
    /// The microphone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub microphone: Option<Requested>,
    /// The place of the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub geolocation: Option<Requested>,
    /// Writing to the clipboard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clipboard_write: Option<Requested>,
}

/// A feature is requested: an empty object.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Requested {}

/// Adds a user interface to a router, which declares the extension.
pub fn serve_app(router: &Router, uri: &str, name: &str, html: &str, ui: &ResourceUi) {
    let meta = ui.added_to(None);
    let resource = Resource::new(uri.to_owned(), name.to_owned());
    let resource = resource.mime_type(MIME_TYPE).meta(meta.clone());
    let contents = ResourceContents::text(uri.to_owned(), html.to_owned()).mime_type(MIME_TYPE);
    let contents = match contents {
        ResourceContents::Text(text) => ResourceContents::Text(text.meta(meta)),
        other => other,
    };
    router.resource_with(resource, move |_: &Exchange| contents.clone());
    router.extension(EXTENSION, Raw::EMPTY_OBJECT);
}

/// Returns the capabilities of a host that shows user interfaces of the type [`MIME_TYPE`].
pub fn declared_by(host: ClientCapabilities<'_>) -> ClientCapabilities<'_> {
    let settings = serde_json::json!({ "mimeTypes": [MIME_TYPE] });
    let settings = Raw::from_serialize(&settings).unwrap_or(Raw::EMPTY_OBJECT);
    host.with_extension(EXTENSION, settings)
}

/// Whether a host shows user interfaces of the type [`MIME_TYPE`]. Every tool with a user interface has to answer with a
/// text as well: other hosts show that.
pub fn is_supported_by(host: &ClientCapabilities<'_>) -> bool {
    let types = host.extension(EXTENSION).and_then(|settings| settings.get("mimeTypes"));
    let is_ours =
        |name: &Raw<'_>| name.clone().into_str().is_some_and(|name| *name.to_str() == *MIME_TYPE);
    types.is_some_and(|types| types.elements().any(|name| is_ours(&name)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn tool(meta: &str) -> Tool<'static> {
        let schema = Raw::new(r#"{"type":"object"}"#).unwrap().into_owned();
        Tool::new("t", schema).meta(Raw::new(meta).unwrap().into_owned())
    }

    #[test]
    fn a_tool_has_a_user_interface() {
        let ui = ToolUi::new("ui://a").visible_to([Visibility::App]);
        let with_ui = ui.added_to(tool(r#"{"x/y":1}"#));
        assert_eq!(
            with_ui.meta.as_ref().unwrap().as_json(),
            r#"{"x/y":1,"ui":{"resourceUri":"ui://a","visibility":["app"]},"ui/resourceUri":"ui://a"}"#
        );
        assert_eq!(ToolUi::of(&with_ui), Some(ui.clone()));
        assert!(ui.is_for_app() && !ui.is_for_model());
        for (meta, uri, for_model) in [
            (r#"{"ui":{"resourceUri":"ui://b"}}"#, Some("ui://b"), true),
            (r#"{"ui/resourceUri":"ui://c"}"#, Some("ui://c"), true),
            (
                r#"{"ui":{"visibility":["app","x"]},"ui/resourceUri":"ui://d"}"#,
                Some("ui://d"),
                false,
            ),
            (r#"{"ui":{"visibility":["model"]}}"#, None, true),
        ] {
            let ui = ToolUi::of(&tool(meta)).unwrap();
            assert_eq!((ui.resource_uri.as_deref(), ui.is_for_model()), (uri, for_model), "{meta}");
        }
        for meta in ["{}", r#"{"ui":7}"#, r#"{"ui":{"visibility":"app"}}"#] {
            assert_eq!(ToolUi::of(&tool(meta)), None, "{meta}");
        }
    }

    #[test]
    fn a_resource_says_what_it_loads() {
        let mut permissions = Permissions::default();
        permissions.clipboard_write = Some(Requested::default());
        let csp = Csp::new()
            .connect_domains(["https://a.example"])
            .frame_domains(["https://*.b.example"]);
        let ui =
            ResourceUi::new().csp(csp).permissions(permissions).domain("d").prefers_border(false);
        let meta = ui.added_to(None);
        assert_eq!(
            meta.as_json(),
            r#"{"ui":{"csp":{"connectDomains":["https://a.example"],"frameDomains":["https://*.b.example"]},"permissions":{"clipboardWrite":{}},"domain":"d","prefersBorder":false}}"#
        );
        assert_eq!(ResourceUi::of(Some(&meta)), Some(ui));
        assert_eq!(ResourceUi::of(None), None);
    }

    #[test]
    fn what_would_change_a_policy_is_no_origin() {
        let invalid = [
            "https://a.example; script-src *",
            "https://a.example https://b.example",
            "'unsafe-eval'",
            "*",
            "https:",
            "https://",
            "https://*",
            "https://*.",
            "https://a.example/path",
            "https://a.example:0",
            "https://a.example:x",
            "https://a.example:+80",
            "javascript://a",
            "https://a..example",
            "https://ä.example",
            "https://a.example\r\nX: y",
            // An origin, but no host of a policy.
            "http://[::1]:3000",
        ];
        let valid = [
            "https://a",
            "https://*.a.example",
            "wss://a.example:8443",
            "http://127.0.0.1:80",
            "http://localhost:3000",
        ];
        let csp = Csp::new().resource_domains(invalid.into_iter().chain(valid));
        assert_eq!(csp.invalid_origins().collect::<Vec<_>>(), invalid);
    }

    #[test]
    fn a_host_declares_the_types_that_it_shows() {
        let host = declared_by(ClientCapabilities::default());
        let text = Raw::from_serialize(&host).unwrap();
        assert_eq!(
            text.as_json(),
            r#"{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}}"#
        );
        assert!(is_supported_by(&host));
        for settings in ["{}", r#"{"mimeTypes":["text/html"]}"#, r#"{"mimeTypes":7}"#] {
            let settings = Raw::new(settings).unwrap();
            let other = ClientCapabilities::default().with_extension(EXTENSION, settings);
            assert!(!is_supported_by(&other));
        }
    }
}
