//! Classification of messages. The [`Intent`] of a frame decides its treatment.

use core::fmt;

use serde::ser::Serialize;

use super::id::Id;
use crate::codes::{ErrorCode, ViolationKind};
use crate::json::{Envelope, JsonErrorKind, LONGEST_SHOWN, Member, MemberTexts, Object, Raw, Str};
use crate::limits::Limits;
use crate::schema::EncodeError;

/// A well-formed message. Its texts are scanned JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Message<'e, 'a> {
    Request {
        id: Id<'a>,
        method: Str<'a>,
        params: Option<Object<'e, 'a>>,
        meta: Option<Object<'e, 'a>>,
    },
    Notification {
        method: Str<'a>,
        params: Option<Object<'e, 'a>>,
        meta: Option<Object<'e, 'a>>,
    },
    Result {
        id: Id<'a>,
        result: Object<'e, 'a>,
        result_type: ResultType,
    },
    Error {
        id: Id<'a>,
        error: ErrorObject<'a>,
    },
    /// An error whose sender could not read the id of the request.
    IdlessError {
        error: ErrorObject<'a>,
    },
}

impl Message<'_, '_> {
    /// Returns the method and the id, unless they are too long for a log line.
    #[inline]
    pub(crate) fn shown(&self) -> (Option<&str>, Option<&str>) {
        const LONGEST_METHOD: usize = LONGEST_SHOWN - "\"\"".len();
        let (method, id) = match self {
            Self::Request { id, method, .. } => (Some(method.as_wire()), Some(id.as_wire())),
            Self::Notification { method, .. } => (Some(method.as_wire()), None),
            Self::Result { id, .. } | Self::Error { id, .. } => (None, Some(id.as_wire())),
            Self::IdlessError { .. } => (None, None),
        };
        (
            method.filter(|method| method.len() <= LONGEST_METHOD),
            id.filter(|id| id.len() <= LONGEST_SHOWN),
        )
    }
}

/// The declared type of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResultType {
    Absent,
    Complete,
    InputRequired,
    Task,
    /// Another type, or a value that is not a type.
    Other,
}

impl ResultType {
    fn of(envelope: &Envelope<'_>) -> Self {
        let Some(literal) = envelope.get(Member::ResultType) else { return Self::Absent };
        match Str::from_literal(literal) {
            Some(kind) if kind == "complete" => Self::Complete,
            Some(kind) if kind == "input_required" => Self::InputRequired,
            Some(kind) if kind == "task" => Self::Task,
            _ => Self::Other,
        }
    }
}

/// A frame that is not a well-formed message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Defective<'a> {
    pub(crate) kind: ViolationKind,
    /// The id, if the frame has exactly one and it is readable.
    pub(crate) id: Option<Id<'a>>,
    /// Whether the frame was certainly meant as a message. Text that is not even JSON needs evidence for that.
    /// Without evidence, its id may end a call of that id, but gets no error response.
    pub(crate) meant: bool,
    pub(crate) intent: Intent,
}

/// The presumed kind of a defective frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Intent {
    /// A request: it gets an error response if its id is readable.
    Request,
    /// A response: it ends the call of its id, and never gets a response.
    Response,
    /// A request or a response, with an id: it ends the call of that id if one is pending, otherwise it counts as a
    /// request.
    Either,
    /// A notification: it never gets a response.
    Notification,
    /// Not a message, or of unknown kind.
    Other,
}

/// The error of a JSON-RPC response, as the peer sent it.
///
/// Implementations disagree about codes: show them, do not branch on them.
///
/// ```
/// use mcp_sansio::error::ErrorObject;
/// use mcp_sansio::json::Raw;
/// use mcp_sansio::ErrorCode;
///
/// let error = ErrorObject::new(ErrorCode::INVALID_PARAMS, "no such \"line\"");
/// assert_eq!(error.message, "no such \"line\"");
/// assert_eq!(error.to_string(), "-32602: no such \"line\"");
/// let error = error.with_data(Raw::new(r#"{"line":9}"#)?);
/// assert_eq!(error.data.as_ref().map(Raw::as_json), Some(r#"{"line":9}"#));
/// # Ok::<(), mcp_sansio::json::JsonError>(())
/// ```
#[doc(alias("Error", "JSONRPCError", "JSONRPCErrorResponse"))]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ErrorObject<'a> {
    /// The error code.
    pub code: ErrorCode,
    /// The error message, one sentence. Empty if the peer omitted it in violation of the specification.
    pub message: Str<'a>,
    /// Additional data of the peer.
    pub data: Option<Raw<'a>>,
}

impl<'a> ErrorObject<'a> {
    /// Creates an error with this code and this message, one short sentence. It copies the message.
    pub fn new(code: ErrorCode, message: &str) -> Self {
        Self { code, message: Str::from(message), data: None }
    }

    /// Creates an error with data of the application, any JSON value.
    ///
    /// # Errors
    ///
    /// [`EncodeError`] if the data cannot be serialised.
    pub fn with<T: Serialize + ?Sized>(
        code: ErrorCode,
        message: &str,
        data: &T,
    ) -> Result<Self, EncodeError> {
        Ok(Self::new(code, message).with_data(Raw::from_serialize(data)?))
    }

    /// Adds data to the error, any JSON value.
    #[must_use]
    pub fn with_data(self, data: Raw<'a>) -> Self {
        Self { data: Some(data), ..self }
    }

    /// Parses a scanned `error` member; `None` if it is not an error object.
    pub(crate) fn from_literal(error: &'a str) -> Option<Self> {
        let mut code = None;
        let mut message = Some(Str::trusted(""));
        let mut data = None;
        if !error.starts_with('{') {
            return None;
        }
        for (key, value) in MemberTexts::of(error) {
            if key == "code" {
                code = value.parse().ok().map(ErrorCode::new);
            } else if key == "message" {
                message = Str::from_literal(value);
            } else if key == "data" {
                data = Some(Raw::trusted(value));
            }
        }
        Some(Self { code: code?, message: message?, data })
    }

    /// Whether the error reports that a resource does not exist, in one of the forms that servers use: with
    /// [`RESOURCE_NOT_FOUND`](ErrorCode::RESOURCE_NOT_FOUND), or with [`INVALID_PARAMS`](ErrorCode::INVALID_PARAMS)
    /// and the URI.
    pub fn is_resource_not_found(&self) -> bool {
        let has_uri = || self.data.as_ref().and_then(|data| data.get("uri")).is_some();
        self.code == ErrorCode::RESOURCE_NOT_FOUND
            || (self.code == ErrorCode::INVALID_PARAMS && has_uri())
    }

    /// Copies the text, so that the error no longer borrows the input.
    pub fn into_owned(self) -> ErrorObject<'static> {
        ErrorObject {
            code: self.code,
            message: self.message.into_owned(),
            data: self.data.map(Raw::into_owned),
        }
    }
}

/// Writes the code and the message. The message is text of the peer and may contain anything, including line breaks.
impl fmt::Display for ErrorObject<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.code)?;
        if self.message != "" {
            write!(formatter, ": {}", self.message)?;
        }
        Ok(())
    }
}

impl core::error::Error for ErrorObject<'_> {}

/// Whether the `jsonrpc` version must be correct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Versions {
    /// Only `"2.0"` is accepted.
    Exact,
    /// Any version, or none, is accepted.
    Any,
}

/// Classifies a scanned frame.
pub(crate) fn classify<'e, 'a>(
    envelope: &'e Envelope<'a>,
    limits: &Limits,
    versions: Versions,
) -> Result<Message<'e, 'a>, Defective<'a>> {
    if let Some(message) = asking(envelope, limits) {
        return Ok(message);
    }
    let id = id(envelope);
    let intent = intent(envelope);
    let defective = |kind, id: Option<Id<'a>>, meant| Err(Defective { kind, id, meant, intent });

    if let Some(defect) = envelope.defect() {
        let meant = versioned(envelope) || defect.kind().keeps_structure();
        return defective(defect_kind(defect.kind()), id.and_then(Result::ok), meant);
    }
    let id = match id {
        None => None,
        // The id is too long to be stored, but the error response can contain it.
        Some(Ok(id)) if limits.id_bytes < id.as_wire().len() => {
            return defective(ViolationKind::LongId, Some(id), true);
        }
        Some(Ok(id)) => Some(id),
        Some(Err(ViolationKind::NullId)) if intent == Intent::Response => None,
        Some(Err(kind)) => return defective(kind, None, true),
    };
    if intent == Intent::Other {
        return defective(ViolationKind::NotAMessage, None, false);
    }
    if versions == Versions::Exact && !versioned(envelope) {
        // An object with an `id` and no other member of JSON-RPC is a line of a log.
        return if intent == Intent::Either
            && !envelope.has(Member::Params)
            && !has_outcome(envelope)
        {
            defective(ViolationKind::NotAMessage, None, false)
        } else {
            defective(ViolationKind::WrongJsonrpc, id, true)
        };
    }
    if has_duplicates(envelope) {
        return defective(ViolationKind::DuplicateMember, id, true);
    }
    match intent {
        Intent::Request | Intent::Notification => request(envelope, id, intent, limits),
        Intent::Response => response(envelope, id),
        Intent::Either if has_outcome(envelope) => defective(ViolationKind::Ambiguous, id, true),
        Intent::Either if envelope.has(Member::Params) || envelope.has(Member::Method) => {
            defective(ViolationKind::MissingMethod, id, true)
        }
        Intent::Either | Intent::Other => defective(ViolationKind::NotAMessage, id, true),
    }
}

/// The common case: a valid request or notification.
///
/// This is a fast path that rejects nothing: a frame that it does not recognize takes the slow path.
#[inline]
fn asking<'e, 'a>(envelope: &'e Envelope<'a>, limits: &Limits) -> Option<Message<'e, 'a>> {
    let is_sound = envelope.defect().is_none() && !envelope.has_duplicates();
    let has_version = envelope.begins_as_usual() || envelope.get(Member::Jsonrpc) == Some(VERSION);
    if !is_sound || !has_version || has_outcome(envelope) {
        return None;
    }
    let method = Str::from_literal(envelope.get(Member::Method)?)?;
    let params = envelope.object(Member::Params);
    let has_object = params.is_none_or(|params| params.text().starts_with('{'));
    if limits.method_bytes < method.as_wire().len() || !has_object {
        return None;
    }
    let meta = envelope.object(Member::ParamsMeta);
    Some(match envelope.get(Member::Id) {
        Some(id) => {
            let id = Id::from_literal(id, limits.id_bytes).ok()?;
            Message::Request { id, method, params, meta }
        }
        None => Message::Notification { method, params, meta },
    })
}

/// The version of JSON-RPC, as a JSON literal.
const VERSION: &str = "\"2.0\"";

fn request<'e, 'a>(
    envelope: &'e Envelope<'a>,
    id: Option<Id<'a>>,
    intent: Intent,
    limits: &Limits,
) -> Result<Message<'e, 'a>, Defective<'a>> {
    let defective = |kind, id: Option<Id<'a>>| Err(Defective { kind, id, meant: true, intent });
    if has_outcome(envelope) {
        return defective(ViolationKind::Ambiguous, id);
    }
    let Some(method) = envelope.get(Member::Method).and_then(Str::from_literal) else {
        return defective(ViolationKind::MissingMethod, id);
    };
    if limits.method_bytes < method.as_wire().len() {
        return defective(ViolationKind::LongMethod, id);
    }
    let params = envelope.object(Member::Params).filter(|params| params.text() != "null");
    if params.is_some_and(|params| !params.text().starts_with('{')) {
        return defective(ViolationKind::ParamsNotAnObject, id);
    }
    let meta = envelope.object(Member::ParamsMeta);
    Ok(match id {
        Some(id) => Message::Request { id, method, params, meta },
        None => Message::Notification { method, params, meta },
    })
}

fn response<'e, 'a>(
    envelope: &'e Envelope<'a>,
    id: Option<Id<'a>>,
) -> Result<Message<'e, 'a>, Defective<'a>> {
    let result = envelope.object(Member::Result);
    let error = envelope.get(Member::Error).map(ErrorObject::from_literal);
    match (id, result, error) {
        (Some(id), Some(result), None) if result.text().starts_with('{') => {
            Ok(Message::Result { id, result, result_type: ResultType::of(envelope) })
        }
        (Some(id), None, Some(Some(error))) => Ok(Message::Error { id, error }),
        (None, None, Some(Some(error))) => Ok(Message::IdlessError { error }),
        (id, _, _) => {
            let kind = ViolationKind::MalformedResponse;
            Err(Defective { kind, id, meant: true, intent: Intent::Response })
        }
    }
}

/// Returns the id, of any length: absent, readable, or malformed.
fn id<'a>(envelope: &Envelope<'a>) -> Option<Result<Id<'a>, ViolationKind>> {
    if envelope.is_duplicated(Member::Id) {
        return Some(Err(ViolationKind::DuplicateId));
    }
    let literal = envelope.get(Member::Id)?;
    // The defect of the frame can be in its id, which then cannot be echoed.
    if envelope.defect().is_some() && Raw::new(literal).is_err() {
        return Some(Err(ViolationKind::MalformedId));
    }
    Some(Id::from_literal(literal, usize::MAX))
}

/// Derives the kind of the frame from its members. An id alone proves nothing.
fn intent(envelope: &Envelope<'_>) -> Intent {
    // A method of `null` does not count as a method.
    let has_method =
        envelope.has(Member::Method) && envelope.get(Member::Method).is_none_or(|m| m != "null");
    let has_id = envelope.has(Member::Id);
    match (has_method, has_outcome(envelope)) {
        (true, false) => {
            let complete = envelope.defect().is_none_or(|defect| defect.kind().keeps_structure());
            // The unreadable part of the text may contain an id.
            if complete && !has_id { Intent::Notification } else { Intent::Request }
        }
        // The peer echoes the method in its response, or is confused.
        (true, true) => {
            if has_id {
                Intent::Either
            } else {
                Intent::Notification
            }
        }
        (false, true) => Intent::Response,
        (false, false) if has_id => Intent::Either,
        (false, false) if envelope.has(Member::Params) => Intent::Notification,
        (false, false) => Intent::Other,
    }
}

fn has_outcome(envelope: &Envelope<'_>) -> bool {
    envelope.has(Member::Result) || envelope.has(Member::Error)
}

fn versioned(envelope: &Envelope<'_>) -> bool {
    if envelope.begins_as_usual() {
        return true;
    }
    let Some(literal) = envelope.get(Member::Jsonrpc) else { return false };
    literal == VERSION || Str::from_literal(literal).is_some_and(|version| version == "2.0")
}

fn has_duplicates(envelope: &Envelope<'_>) -> bool {
    envelope.has_duplicates()
        && [Member::Jsonrpc, Member::Method, Member::Params, Member::Result, Member::Error]
            .into_iter()
            .any(|member| envelope.is_duplicated(member))
}

pub(crate) const fn defect_kind(kind: JsonErrorKind) -> ViolationKind {
    match kind {
        // The text could be the beginning of a message.
        JsonErrorKind::Ended => ViolationKind::SplitOverLines,
        JsonErrorKind::TooDeep => ViolationKind::TooDeep,
        JsonErrorKind::NotAnObject => ViolationKind::NotAMessage,
        JsonErrorKind::NotUtf8 => ViolationKind::NotUtf8,
        JsonErrorKind::ControlCharacter | JsonErrorKind::Escape => ViolationKind::BadString,
        _ => ViolationKind::NotJson,
    }
}

#[cfg(test)]
#[path = "message_tests.rs"]
mod tests;
