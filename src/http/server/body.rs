//! The checks of the body of a POST: the kind and era of its messages, and whether the header fields match them.

use alloc::sync::Arc;
use core::fmt::Display;

use super::reply::Reply;
use super::request_validator::{Destination, RequestValidator, names_modern_revision, unusable};
use crate::codes::{ErrorCode, ViolationKind};
use crate::connection::{Detail, RequestMeta};
use crate::dialect::methods::RequestKind;
use crate::frame::{Frame, Frames, Origin};
use crate::http::{Field, Headers, ParamHeaders, decode_value, encode_value, name};
use crate::json::{Envelope, Object, Raw, ScannedFrame, Str};
use crate::limits::Limits;
use crate::rpc::{Fault, Id, Message, classify};
use crate::version::{Revision, RevisionSet};

/// # Bodies
impl RequestValidator {
    /// Checks the body of a POST whose head [was accepted](Self::admit), and returns the destination of its messages.
    /// `tool` returns the repeated arguments of a tool that is visible to this client. With
    /// [`post_scanned`](Self::post_scanned) the machine need not scan the body again.
    ///
    /// # Errors
    ///
    /// The [`Reply`] that refuses the body: 400, 404 or 413.
    pub fn post(
        &self,
        headers: Headers<'_>,
        body: &[u8],
        tool: &dyn Fn(&str) -> Option<Arc<ParamHeaders>>,
    ) -> Result<Destination, Reply> {
        self.post_scanned(headers, body, &mut ScannedFrame::new(), tool)
    }

    /// Like [`post`](Self::post), but if the body is a single message, `scanned` receives its scan, for use by
    /// [`Server::receive_scanned`](crate::Server::receive_scanned).
    ///
    /// # Errors
    ///
    /// Those of [`post`](Self::post).
    pub fn post_scanned<'b>(
        &self,
        headers: Headers<'_>,
        body: &'b [u8],
        scanned: &mut ScannedFrame<'b>,
        tool: &dyn Fn(&str) -> Option<Arc<ParamHeaders>>,
    ) -> Result<Destination, Reply> {
        if self.config.body_bytes < body.len() {
            return Err(self.too_large());
        }
        let version = headers.get(name::PROTOCOL_VERSION);
        Body { validator: self, headers, version, tool }.destination(body, scanned)
    }

    /// Whether a body is a single request other than `ping`.
    ///
    /// An endpoint without room for another request refuses such a body as a whole, with 503. The endpoint still
    /// accepts notifications, responses, pings, and batches, whose requests are refused one by one.
    pub fn is_request(&self, body: &[u8]) -> bool {
        let limits = &self.server.connection.limits;
        first_frame(self, body).is_ok_and(|first| {
            let envelope = Envelope::scan(first.bytes(), limits.depth);
            let message = read(self, &envelope);
            let is_work =
                matches!(message, Ok(Message::Request { method, .. }) if method != "ping");
            is_work && !first.is_in_batch()
        })
    }
}

/// The inputs of the checks of a body.
struct Body<'g> {
    validator: &'g RequestValidator,
    headers: Headers<'g>,
    /// The field `MCP-Protocol-Version`, which several checks use.
    version: Field<'g>,
    tool: &'g dyn Fn(&str) -> Option<Arc<ParamHeaders>>,
}

/// The members of a request that the checks use.
struct PostedRequest<'e, 'a> {
    id: Id<'a>,
    method: Str<'a>,
    params: Option<Object<'e, 'a>>,
    meta: Option<Object<'e, 'a>>,
}

impl<'a> PostedRequest<'_, 'a> {
    /// Returns a member of the params.
    fn param(&self, name: &str) -> Option<&'a str> {
        self.params.as_ref()?.get(name)
    }
}

impl Body<'_> {
    fn destination<'b>(
        &self,
        body: &'b [u8],
        scanned: &mut ScannedFrame<'b>,
    ) -> Result<Destination, Reply> {
        let limits = &self.validator.server.connection.limits;
        let first = first_frame(self.validator, body)?;
        if first.is_in_batch() {
            return self.batch(Frames::of(body, limits), limits);
        }
        let envelope = scanned.read(first.bytes(), limits.depth, None);
        self.message(read(self.validator, envelope)?)
    }

    fn message(&self, message: Message<'_, '_>) -> Result<Destination, Reply> {
        match message {
            Message::Request { id, method, params, meta } => {
                self.request(&PostedRequest { id, method, params, meta })
            }
            Message::Notification { method, meta, .. } => self.notification(&method, meta.as_ref()),
            Message::Result { .. } | Message::Error { .. } | Message::IdlessError { .. } => {
                self.in_real_session("there are no sessions, so nothing is asked of clients")
            }
        }
    }

    /// Checks a batch, which belongs to a session. The machine of the session decides whether its revision has
    /// batches.
    fn batch(&self, frames: Frames<'_>, limits: &Limits) -> Result<Destination, Reply> {
        let invalid = |text| refusal(ErrorCode::INVALID_REQUEST, &text);
        let (mut asks, mut answers) = (false, false);
        for frame in frames {
            let envelope = Envelope::scan(frame.bytes(), limits.depth);
            let meta = match read(self.validator, &envelope) {
                Ok(Message::Request { method, .. }) if method == "initialize" => {
                    return Err(invalid("initialize must not be in a batch"));
                }
                Ok(Message::Request { meta, .. } | Message::Notification { meta, .. }) => {
                    asks = true;
                    meta
                }
                Ok(_) => {
                    answers = true;
                    None
                }
                Err(_) => return Err(invalid("the batch holds something that is no message")),
            };
            if version_in(meta.as_ref()).is_some() {
                return Err(invalid("a modern request must not be in a batch"));
            }
        }
        if asks && answers {
            return Err(invalid("a batch holds either requests or responses"));
        }
        let no_batches = "this revision has no batches";
        if asks { self.in_session(None, no_batches) } else { self.in_real_session(no_batches) }
    }

    fn request(&self, asked: &PostedRequest<'_, '_>) -> Result<Destination, Reply> {
        let request_meta = self.request_meta(asked.meta.as_ref());
        let named_modern = names_modern_revision(self.version);
        if asked.method == "initialize" && !matches!(request_meta, Some(RequestMeta::Modern(_))) {
            return self.initialize(asked, named_modern);
        }
        match request_meta {
            Some(RequestMeta::Absent) | None if !named_modern => {
                self.in_session_or(Some(&asked.id), || Ok(Destination::Modern))
            }
            None => self.in_session(Some(&asked.id), "the endpoint serves no modern requests"),
            // The machine reports the missing metadata.
            Some(RequestMeta::Absent | RequestMeta::Malformed(_)) => Ok(Destination::Modern),
            Some(RequestMeta::Unsupported(version)) => {
                self.check_named_version(asked, |named| version == named)?;
                Ok(Destination::Modern)
            }
            Some(RequestMeta::Modern(modern)) => {
                self.check_named_version(asked, |named| modern.revision.name() == named)?;
                self.check_method(asked)?;
                self.check_name(asked)?;
                self.check_params(asked)?;
                Ok(Destination::Modern)
            }
        }
    }

    /// Checks an `initialize` request without the metadata of a modern request. Such a request belongs to the legacy
    /// era.
    fn initialize(
        &self,
        asked: &PostedRequest<'_, '_>,
        named_modern: bool,
    ) -> Result<Destination, Reply> {
        if named_modern {
            let text = "MCP-Protocol-Version names a version without initialize";
            return Err(mismatch(asked, &text));
        }
        if self.validator.assumes_sessions() {
            self.validator.check_version(self.version, Some(&asked.id))?;
            return Ok(Destination::Assumed(None));
        }
        if !self.validator.has_sessions() {
            let supported = self.validator.server.revisions.and(RevisionSet::MODERN);
            let requested = asked.param("protocolVersion").unwrap_or("\"\"");
            let requested = Str::from_literal(requested).unwrap_or_else(|| Str::from(""));
            let detail = Detail::versions(supported, &requested);
            let code = ErrorCode::UNSUPPORTED_PROTOCOL_VERSION;
            let message = ViolationKind::UnsupportedRevision.text();
            let fault = Fault { code, message: &message, data: Some(&detail) };
            return Err(Reply::with(400, Some(&asked.id), fault));
        }
        match self.headers.get(name::SESSION_ID) {
            Field::Absent => {}
            _ => {
                let text = "initialize opens a session, so it cannot be in one";
                return Err(Reply::error(400, Some(&asked.id), ErrorCode::INVALID_REQUEST, &text));
            }
        }
        self.validator.check_version(self.version, Some(&asked.id))?;
        Ok(Destination::Opening)
    }

    fn notification(
        &self,
        method: &Str<'_>,
        meta: Option<&Object<'_, '_>>,
    ) -> Result<Destination, Reply> {
        let claimed = version_in(meta);
        if claimed.is_none() && !self.has_modern_headers() {
            return self.in_session_or(None, || Ok(Destination::Discarded));
        }
        let Some(named) = self.named_version()? else {
            return Err(refusal(ErrorCode::HEADER_MISMATCH, &"MCP-Protocol-Version is missing"));
        };
        if claimed.as_ref().is_some_and(|claimed| *claimed != named) {
            let text = "MCP-Protocol-Version is not what the body says";
            return Err(refusal(ErrorCode::HEADER_MISMATCH, &text));
        }
        let spoken = self.validator.server.revisions.and(RevisionSet::MODERN);
        if Revision::from_name(named).is_some_and(|revision| spoken.contains(revision)) {
            self.check_notified(method)?;
            return Ok(Destination::Modern);
        }
        let detail = Detail::versions(spoken, &Str::from(named));
        let code = ErrorCode::UNSUPPORTED_PROTOCOL_VERSION;
        let message = ViolationKind::UnsupportedRevision.text();
        Err(Reply::with(400, None, Fault { code, message: &message, data: Some(&detail) }))
    }

    /// Whether the header fields of a notification belong to the modern era.
    fn has_modern_headers(&self) -> bool {
        match self.version {
            Field::Once(version) => Revision::from_name(version)
                .is_none_or(|named| named.rules().requests_are_self_contained),
            _ => false,
        }
    }

    fn in_session(&self, id: Option<&Id<'_>>, otherwise: &str) -> Result<Destination, Reply> {
        let refuse = || Err(Reply::error(400, id, ErrorCode::INVALID_REQUEST, &otherwise));
        self.in_session_or(id, refuse)
    }

    /// Returns the named session. An assumed one is refused, because the server sends no requests in it.
    fn in_real_session(&self, otherwise: &str) -> Result<Destination, Reply> {
        if self.validator.assumes_sessions() {
            return Err(refusal(ErrorCode::INVALID_REQUEST, &otherwise));
        }
        self.in_session(None, otherwise)
    }

    /// Returns the named or assumed session; if the server has no sessions, the result of `otherwise`.
    fn in_session_or(
        &self,
        id: Option<&Id<'_>>,
        otherwise: impl FnOnce() -> Result<Destination, Reply>,
    ) -> Result<Destination, Reply> {
        if self.validator.assumes_sessions() {
            self.validator.check_version(self.version, id)?;
            let named = match self.version {
                Field::Once(version) => Revision::from_name(version),
                _ => None,
            };
            return Ok(Destination::Assumed(Some(named.unwrap_or(Revision::UNNAMED))));
        }
        if !self.validator.has_sessions() {
            return otherwise();
        }
        let session = self.validator.session_of(self.headers, id)?;
        self.validator.check_version(self.version, id)?;
        Ok(Destination::Session(session))
    }

    /// Reads the metadata of a request; `None` if the server does not support the modern era.
    fn request_meta<'a>(&self, meta: Option<&Object<'_, 'a>>) -> Option<RequestMeta<'a>> {
        let identity = self.validator.identity.as_ref()?;
        Some(RequestMeta::read(meta, self.validator.server.revisions, identity))
    }

    fn named_version(&self) -> Result<Option<&str>, Reply> {
        match self.version {
            Field::Absent => Ok(None),
            Field::Once(version) => Ok(Some(version)),
            Field::Repeated | Field::NotText => Err(unusable(name::PROTOCOL_VERSION, None)),
        }
    }
}

/// # Header fields that repeat the body
impl Body<'_> {
    /// Checks that the header names the version of the body; `is_it` compares them.
    fn check_named_version(
        &self,
        asked: &PostedRequest<'_, '_>,
        is_it: impl FnOnce(&str) -> bool,
    ) -> Result<(), Reply> {
        match self.version {
            Field::Once(named) if is_it(named) => Ok(()),
            other => Err(mismatch(asked, &Complaint(name::PROTOCOL_VERSION, other))),
        }
    }

    /// Whether a field has exactly these bytes, which need no decoding: letters, digits, `_`, `-`, `.` and `/`.
    fn has_plainly(&self, name: &str, value: &str) -> bool {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte);
        self.headers.only(name) == Some(value.as_bytes()) && value.bytes().all(is_plain)
    }

    fn check_method(&self, asked: &PostedRequest<'_, '_>) -> Result<(), Reply> {
        if self.has_plainly(name::METHOD, asked.method.as_wire()) {
            return Ok(());
        }
        match self.headers.get(name::METHOD) {
            Field::Once(named) if is_header_of(&asked.method, named) => Ok(()),
            other => Err(mismatch(asked, &Complaint(name::METHOD, other))),
        }
    }

    /// Checks the optional method header of a notification, because intermediaries may route by it.
    fn check_notified(&self, method: &Str<'_>) -> Result<(), Reply> {
        match self.headers.get(name::METHOD) {
            Field::Absent => Ok(()),
            Field::Once(named) if is_header_of(method, named) => Ok(()),
            other => Err(refusal(ErrorCode::HEADER_MISMATCH, &Complaint(name::METHOD, other))),
        }
    }

    /// Checks the name or URI that the header of some requests must repeat.
    fn check_name(&self, asked: &PostedRequest<'_, '_>) -> Result<(), Reply> {
        let Some(source) = name_source(&asked.method) else { return Ok(()) };
        let value = asked.param(source).and_then(Str::from_literal);
        if value.as_ref().is_some_and(|value| self.has_plainly(name::NAME, value.as_wire())) {
            return Ok(());
        }
        let field = self.headers.get(name::NAME);
        let is_right = match (value, field) {
            (None, Field::Absent) => true,
            (Some(value), Field::Once(field)) => {
                decode_value(field).is_ok_and(|field| value == *field)
            }
            _ => false,
        };
        if is_right { Ok(()) } else { Err(mismatch(asked, &Complaint(name::NAME, field))) }
    }

    fn check_params(&self, asked: &PostedRequest<'_, '_>) -> Result<(), Reply> {
        // Without tools, the machine refuses the method, which takes precedence.
        if asked.method != "tools/call" || self.validator.server.capabilities.tools.is_none() {
            return Ok(());
        }
        let Some(tool) = asked.param("name").and_then(Str::from_literal) else { return Ok(()) };
        let Some(repeated) = (self.tool)(&tool.to_str()) else { return Ok(()) };
        let arguments = asked.param("arguments").map(Raw::trusted);
        repeated.check(arguments.as_ref(), self.headers).map_err(|wrong| mismatch(asked, &wrong))
    }
}

/// Whether this header field repeats a method: as it is, or encoded if a field cannot hold it.
fn is_header_of(method: &Str<'_>, field: &str) -> bool {
    *method == field || encode_value(&method.to_str()) == field
}

/// Returns the member of the params that `Mcp-Name` repeats
/// ([standard headers](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http)).
pub(crate) fn name_source(method: &Str<'_>) -> Option<&'static str> {
    RequestKind::of(method)?.named_by()
}

/// The text about a header field that does not match.
struct Complaint<'a>(&'a str, Field<'a>);

impl Display for Complaint<'_> {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self(name, field) = self;
        match field {
            Field::Absent => write!(formatter, "{name} is missing"),
            Field::Once(_) => write!(formatter, "{name} is not what the body says"),
            Field::Repeated => write!(formatter, "{name} stands there more than once"),
            Field::NotText => write!(formatter, "{name} is not text"),
        }
    }
}

/// Returns the first message of a body, single or in a batch.
fn first_frame<'b>(validator: &RequestValidator, body: &'b [u8]) -> Result<Frame<'b>, Reply> {
    let Some(first) = Frames::of(body, &validator.server.connection.limits).next() else {
        return Err(refusal(ErrorCode::PARSE_ERROR, &"there is no message"));
    };
    let (code, kind) = match first.origin() {
        Origin::Element(_) | Origin::Message => return Ok(first),
        Origin::TooLong { .. } => return Err(validator.too_large()),
        Origin::LongBatch => (ErrorCode::INVALID_REQUEST, ViolationKind::LongBatch),
        Origin::EmptyBatch | Origin::LastLine => {
            (ErrorCode::INVALID_REQUEST, ViolationKind::EmptyBatch)
        }
        Origin::BrokenBatch(_) => (ErrorCode::PARSE_ERROR, ViolationKind::NotJson),
    };
    Err(refusal(code, &kind))
}

/// Checks that a body is a message or a batch of messages.
pub(super) fn check_shape<'b>(
    validator: &RequestValidator,
    body: &'b [u8],
    scanned: &mut ScannedFrame<'b>,
) -> Result<(), Reply> {
    let limits = &validator.server.connection.limits;
    first_frame(validator, body)?;
    Frames::of(body, limits).try_for_each(|frame| {
        read(validator, scanned.read(frame.bytes(), limits.depth, None)).map(|_| ())
    })
}

fn read<'e, 'a>(
    validator: &RequestValidator,
    envelope: &'e Envelope<'a>,
) -> Result<Message<'e, 'a>, Reply> {
    let connection = &validator.server.connection;
    classify(envelope, &connection.limits, connection.versions()).map_err(|defective| {
        let (kind, is_cut) = match defective.kind {
            // A body may have line breaks, so here the JSON text is incomplete.
            ViolationKind::SplitOverLines => (ViolationKind::NotJson, true),
            kind => (kind, false),
        };
        let code = kind.code().unwrap_or(ErrorCode::INVALID_REQUEST);
        // An id at the end of an incomplete text may be incomplete itself.
        let id = defective.id.as_ref().filter(|_| defective.meant && !is_cut);
        Reply::error(400, id, code, &kind)
    })
}

/// Returns the protocol version that a message declares.
fn version_in<'a>(meta: Option<&Object<'_, 'a>>) -> Option<Str<'a>> {
    meta?.get("io.modelcontextprotocol/protocolVersion").and_then(Str::from_literal)
}

fn refusal(code: ErrorCode, message: &dyn Display) -> Reply {
    Reply::error(400, None, code, message)
}

/// Returns the refusal of a request whose header field does not match the body.
fn mismatch(asked: &PostedRequest<'_, '_>, message: &dyn Display) -> Reply {
    Reply::error(400, Some(&asked.id), ErrorCode::HEADER_MISMATCH, message)
}
