//! [`HttpRequest`], the HTTP request that carries a message, and its header fields.

use alloc::borrow::Cow;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use crate::dialect::features::Feature;
use crate::http::server::name_source;
use crate::http::{encode_value, name};
use crate::json::{Envelope, Member, Str, member};
use crate::version::Revision;

/// An HTTP request to send. `Debug` shows no values, because they may be secrets.
///
/// `mcp_sansio_http::HttpRequest` is another type: a received request, for the handler of an endpoint.
#[derive(Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct HttpRequest {
    /// `POST`, `GET` or `DELETE`.
    pub method: &'static str,
    /// The URL of the request.
    pub url: String,
    /// The header fields, all of them valid to send.
    pub headers: Vec<(Cow<'static, str>, String)>,
    /// The body; empty except for a POST.
    pub body: Vec<u8>,
}

/// Names and values of header fields.
pub(super) type Labels = Vec<(Cow<'static, str>, String)>;

impl fmt::Debug for HttpRequest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| &**name).collect();
        formatter
            .debug_struct("HttpRequest")
            .field("method", &self.method)
            .field("headers", &names)
            .field("bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}

impl HttpRequest {
    pub(super) fn post(url: &str, body: Vec<u8>) -> Self {
        let mut request = Self { method: "POST", url: url.into(), headers: Vec::new(), body };
        request.add(name::CONTENT_TYPE, "application/json");
        request.add(name::ACCEPT, "application/json, text/event-stream");
        request
    }

    pub(super) fn get(url: &str) -> Self {
        let mut request =
            Self { method: "GET", url: url.into(), headers: Vec::new(), body: Vec::new() };
        request.add(name::ACCEPT, "text/event-stream");
        request
    }

    pub(super) fn delete(url: &str) -> Self {
        Self { method: "DELETE", url: url.into(), headers: Vec::new(), body: Vec::new() }
    }

    pub(super) fn add(&mut self, name: &'static str, value: &str) {
        self.headers.push((name.into(), value.to_string()));
    }
}

/// The members of an outgoing message that HTTP uses, read from the text that is sent. So the header fields match the
/// message.
pub(super) struct HeaderSource<'m> {
    pub(super) method: Option<Str<'m>>,
    /// The id of a request, as on the wire.
    pub(super) id: Option<&'m str>,
    pub(super) params: Option<&'m str>,
    /// The protocol version that the message declares, if it is a modern message.
    pub(super) version: Option<Str<'m>>,
}

impl<'m> HeaderSource<'m> {
    pub(super) fn read(message: &'m [u8]) -> Self {
        let envelope = Envelope::scan(message, u8::MAX);
        let meta = envelope.get(Member::ParamsMeta);
        let version = meta.and_then(|meta| member(meta, VERSION)).and_then(Str::from_literal);
        Self {
            method: envelope.get(Member::Method).and_then(Str::from_literal),
            id: envelope.get(Member::Id),
            params: envelope.get(Member::Params),
            version,
        }
    }

    /// Returns the header fields by which intermediaries recognize the message
    /// ([standard headers](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http)).
    pub(super) fn labels(&self, version: &str) -> Labels {
        let mut labels: Labels = alloc::vec![(name::PROTOCOL_VERSION.into(), version.into())];
        let Some(method) = &self.method else { return labels };
        labels.push((name::METHOD.into(), encode_value(&method.to_str()).into_owned()));
        let about = name_source(method)
            .and_then(|source| member(self.params?, source))
            .and_then(Str::from_literal);
        if let Some(about) = about {
            labels.push((name::NAME.into(), encode_value(&about.to_str()).into_owned()));
        }
        labels
    }
}

/// Returns the version for the header of messages in a session, if the revision has that header.
pub(super) fn session_version(revision: Revision) -> Option<&'static str> {
    Feature::VersionHeader.is_in(revision).then_some(revision.name())
}

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
