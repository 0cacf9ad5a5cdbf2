//! HTTP requests and responses, reduced to the parts that an authorization server uses.

use std::time::Duration;

use serde_json::Value;

/// An HTTP request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Request {
    /// The method, in capitals.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// The value of `Authorization`.
    pub authorization: Option<String>,
    /// The value of `Content-Type`.
    pub content_type: Option<String>,
    /// The body.
    pub body: Vec<u8>,
}

impl Request {
    /// Creates a `GET` request for this path and query.
    pub fn get(target: impl Into<String>) -> Self {
        Self { method: "GET".into(), target: target.into(), ..Self::default() }
    }

    /// Creates a `POST` request with this body to this path.
    pub fn post(
        target: impl Into<String>,
        content_type: impl Into<String>,
        body: impl Into<Vec<u8>>,
    ) -> Self {
        Self {
            method: "POST".into(),
            target: target.into(),
            authorization: None,
            content_type: Some(content_type.into()),
            body: body.into(),
        }
    }

    /// Sets the method.
    #[must_use]
    pub fn method(mut self, method: impl Into<String>) -> Self {
        self.method = method.into();
        self
    }

    /// Sets the value of `Authorization`.
    #[must_use]
    pub fn authorization(mut self, value: Option<impl Into<String>>) -> Self {
        self.authorization = value.map(Into::into);
        self
    }

    pub(super) fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    pub(super) fn query(&self) -> &str {
        self.target.split_once('?').map_or("", |(_, query)| query)
    }

    /// Whether the body has this media type, with any parameters.
    pub(super) fn is_of_type(&self, media_type: &str) -> bool {
        let named = self.content_type.as_deref().unwrap_or_default();
        named.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(media_type)
    }
}

/// An HTTP response.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Response {
    /// The status.
    pub status: u16,
    /// The fields, with names in lower case.
    pub fields: Vec<(&'static str, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// The delay before the response is sent.
    pub delay: Option<Duration>,
}

impl Response {
    fn new(status: u16, media_type: &str, body: impl Into<Vec<u8>>) -> Self {
        // RFC 6749, section 5.1: intermediaries must not cache these responses.
        let fields =
            vec![("content-type", media_type.into()), ("cache-control", "no-store".into())];
        Self { status, fields, body: body.into(), delay: None }
    }

    pub(super) fn json(status: u16, body: &Value) -> Self {
        Self::new(status, "application/json", body.to_string())
    }

    pub(super) fn text(status: u16, body: &str) -> Self {
        Self::new(status, "text/plain; charset=utf-8", format!("{body}\n"))
    }

    pub(super) fn html(body: String) -> Self {
        Self::new(200, "text/html; charset=utf-8", body)
            .field("content-security-policy", "default-src 'none'")
    }

    pub(super) fn redirect(status: u16, location: impl Into<String>) -> Self {
        Self::new(status, "text/plain; charset=utf-8", "").field("location", location)
    }

    pub(super) fn field(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.fields.push((name, value.into()));
        self
    }

    /// Returns the value of a field by its lower-case name.
    pub fn find(&self, name: &str) -> Option<&str> {
        let field = self.fields.iter().find(|(known, _)| *known == name);
        field.map(|(_, value)| value.as_str())
    }
}
