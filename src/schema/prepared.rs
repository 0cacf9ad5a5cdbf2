//! [`Prepared`]: a result that is written once and then copied for each request.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

use serde::ser::{Serialize, SerializeStruct, Serializer};

use super::additions::Additions;
use super::encode_error::EncodeError;
use super::message::addable;
use super::payload::Payload;
use super::payload_writer::{Empty, PayloadWriter};
use super::shape::Form;
use super::writer::Writer;
use crate::capability::CapabilitySet;
use crate::json::raw::{MemberTexts, RAW_VALUE};

/// A result that is compared with the schema of its method in one revision once, and then sent by copying. An example
/// is a list of tools that is the same for all clients.
///
/// Pass it to [`respond`](crate::Connection::respond). The connection still adds its members for each request: the
/// type of the result, its caching hints and the identity of the server.
///
/// For a request in another revision or of another method, the result is treated like any other JSON: members that
/// the revision does not have are omitted, and a misfit is an error. Therefore prepare one result for each frequently
/// requested revision.
///
/// A clone shares the text. `Debug` shows only the length. Serializers receive the JSON text, as for
/// [`Raw`](crate::json::Raw).
///
/// ```
/// use mcp_sansio::json::Raw;
/// use mcp_sansio::model::{ListToolsResult, Tool, method::ListTools};
/// use mcp_sansio::schema::Prepared;
/// use mcp_sansio::{ClientRequest, Outbox, Revision, Server, ServerEvent};
///
/// let schema = Raw::new(r#"{"type":"object"}"#)?;
/// let tools = ListToolsResult::new(vec![Tool::new("greet", schema)]);
/// let revision = Revision::V2025_11_25;
/// let list = Prepared::result::<ListTools>(revision, &tools)?;
/// assert_eq!(list.as_json(), r#"{"tools":[{"name":"greet","inputSchema":{"type":"object"}}]}"#);
///
/// fn serve(list: &Prepared, server: &mut Server, event: ServerEvent<'_>, outbox: &mut Outbox) {
///     if let ServerEvent::Request(request) = event
///         && let ClientRequest::ListTools(_) = request.kind
///     {
///         // The caller may have cancelled the call meanwhile.
///         _ = server.respond(request.id, list, outbox);
///     }
/// }
/// # _ = serve;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Prepared {
    parts: Arc<Parts>,
}

struct Parts {
    text: String,
    /// The form that the text was compared with; `None` if MCP does not have the method.
    form: Option<Form>,
    /// The capabilities that the peer must have declared.
    needs: CapabilitySet,
    /// The positions of the members, if they can be copied one by one.
    members: Option<Vec<MemberPosition>>,
    /// Which members that the connection may add the text has. Empty if `members` is `None`.
    own_addable: u8,
}

/// The position of a member: its key, without quotes and free of escapes, and its value.
struct MemberPosition {
    key: Range<usize>,
    value: Range<usize>,
}

impl Prepared {
    /// Writes a result and compares it with the form. Without a form, any object is accepted.
    pub(crate) fn of(form: Option<Form>, result: &dyn Payload) -> Result<Self, EncodeError> {
        let mut buffer = Vec::new();
        let mut writer = Writer::new(&mut buffer, usize::MAX);
        result.write(PayloadWriter::new(&mut writer, "", Empty::Braces, &Additions::NONE, form))?;
        let needs = writer.needs();
        // Everything the writer appends is UTF-8.
        let text = String::from_utf8(buffer).map_err(|_| EncodeError::Payload)?;
        let members = places_in(&text);
        let keys = members.iter().flatten().filter_map(|member| text.get(member.key.clone()));
        let own_addable = keys.fold(0, |own, key| own | addable(key));
        Ok(Self { parts: Arc::new(Parts { text, form, needs, members, own_addable }) })
    }

    /// Returns the JSON text, without the members that the connection adds.
    pub fn as_json(&self) -> &str {
        &self.parts.text
    }

    /// Whether the text was compared with this form.
    pub(super) fn is_for(&self, form: Form) -> bool {
        self.parts.form == Some(form)
    }

    /// Returns the capabilities that the peer must have declared.
    pub(super) fn needs(&self) -> CapabilitySet {
        self.parts.needs
    }

    /// Returns which members that the connection may add the text has, if its members can be copied.
    pub(super) fn own_addable(&self) -> u8 {
        self.parts.own_addable
    }

    /// Returns the members, with keys without quotes, if they can be copied one by one.
    pub(super) fn members(&self) -> Option<impl Iterator<Item = (&str, &str)>> {
        let text = |range: &Range<usize>| self.parts.text.get(range.clone()).unwrap_or_default();
        let members = self.parts.members.as_ref()?;
        Some(members.iter().map(move |place| (text(&place.key), text(&place.value))))
    }
}

impl fmt::Debug for Prepared {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Prepared({} bytes)", self.parts.text.len())
    }
}

impl Payload for Prepared {
    fn write(&self, payload: PayloadWriter<'_, '_, '_>) -> Result<(), EncodeError> {
        payload.prepared(self)
    }
}

impl Serialize for Prepared {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut raw = serializer.serialize_struct(RAW_VALUE, 1)?;
        raw.serialize_field(RAW_VALUE, self.as_json())?;
        raw.end()
    }
}

/// Returns the positions of the members of an object without white space, if none of its keys has escapes.
fn places_in(text: &str) -> Option<Vec<MemberPosition>> {
    let mut places = Vec::new();
    // The position behind the opening brace or a comma.
    let mut at = 1;
    for (key, value) in MemberTexts::of(text) {
        let key_end = at + 1 + key.as_wire().len();
        // A quote and a colon separate key and value.
        let place =
            MemberPosition { key: at + 1..key_end, value: key_end + 2..key_end + 2 + value.len() };
        let is_there = text.get(place.key.clone()) == Some(key.as_wire())
            && text.get(place.value.clone()) == Some(value);
        if !is_there || key.as_wire().contains('\\') {
            return None;
        }
        at = place.value.end + 1;
        places.push(place);
    }
    Some(places)
}
