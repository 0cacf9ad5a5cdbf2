//! `Identity`: the implementation info and capabilities of one side, written once for all modern messages.

use alloc::string::String;
use alloc::vec::Vec;

use crate::capability::{CapabilitySet, Extension};
use crate::config::CacheHints;
use crate::json;
use crate::json::{Raw, decoded};
use crate::model::{ClientCapabilities, Implementation, Map};
use crate::schema::shape::{Form, Record};
use crate::schema::{Additions, Empty, EncodeError, Payload, PayloadWriter, Writer};
use crate::version::Revision;

/// The keys of `_meta` that are reserved for the machine in the modern revisions
/// ([`_meta`](https://modelcontextprotocol.io/specification/2026-07-28/basic#_meta)).
pub(crate) mod key {
    /// The prefix of the keys that the specification reserves.
    pub(crate) const RESERVED: &str = "io.modelcontextprotocol/";

    pub(crate) const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
    pub(crate) const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
    pub(crate) const CLIENT: &str = "io.modelcontextprotocol/clientInfo";
    pub(crate) const SERVER: &str = "io.modelcontextprotocol/serverInfo";
    pub(crate) const LEVEL: &str = "io.modelcontextprotocol/logLevel";
    pub(crate) const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

    pub(crate) const PROGRESS: &str = "progressToken";

    /// The keys of requests.
    pub(crate) const OF_REQUESTS: &[&str] = &[VERSION, CAPABILITIES, CLIENT, LEVEL, PROGRESS];
    /// The keys of results.
    pub(crate) const OF_RESULTS: &[&str] = &[SERVER, SUBSCRIPTION];
    /// The key of every message that belongs to a task of a session.
    pub(crate) const OF_TASKS: &[&str] = &[crate::task::RELATED];
    /// The keys of notifications.
    pub(crate) const OF_NOTIFICATIONS: &[&str] = &[SUBSCRIPTION];
}

/// Returns the server's `Implementation` from the result that opened a connection of this revision.
pub(crate) fn server_info<'r>(
    result: &'r Raw<'_>,
    revision: Revision,
) -> Option<Implementation<'r>> {
    let result = result.as_json();
    if revision.rules().names_in_meta {
        return member_of(json::member(result, "_meta")?, key::SERVER);
    }
    member_of(result, "serverInfo")
}

/// Returns the client's `Implementation` from the params of `initialize`.
pub(crate) fn client_info<'r>(params: &'r Raw<'_>) -> Option<Implementation<'r>> {
    member_of(params.as_json(), "clientInfo")
}

/// Returns the client's `Implementation` from the `_meta` of a modern request.
pub(crate) fn modern_client_info<'r>(meta: &'r Raw<'_>) -> Option<Implementation<'r>> {
    member_of(meta.as_json(), key::CLIENT)
}

fn member_of<'r>(object: &'r str, name: &str) -> Option<Implementation<'r>> {
    decoded(json::member(object, name)?).ok()
}

/// Returns the metadata of a request for forwarding to another peer, without the members that belong to one
/// connection. `None` if no member is left.
pub(crate) fn meta_to_pass_on(meta: &Raw<'_>) -> Option<Raw<'static>> {
    let of_the_connection = key::OF_REQUESTS.iter().chain(key::OF_TASKS);
    let left_out: Vec<_> = of_the_connection.map(|key| (*key, None)).collect();
    Some(meta.edited(&left_out)).filter(|meta| meta.members().next().is_some())
}

/// The implementation info and the capabilities of one side.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Identity {
    /// Members of `_meta`: for a client its revision and its info, for a server its info.
    pub(super) info: String,
    /// The same members and the capabilities of a client. Empty for a server, which sends no modern requests.
    pub(super) request: String,
    /// The capabilities that this side declares.
    pub(super) offered: CapabilitySet,
    /// The cache hints of the results of this side.
    pub(super) hints: CacheHints,
    /// Whether the first era that a connection is used in is its only era.
    pub(super) one_era: bool,
    /// The names of the extensions that this side supports.
    extensions: Vec<String>,
    /// The extensions of a client with their settings, as its capabilities declare them. Empty if it declares none.
    pub(super) declared_extensions: String,
}

impl Identity {
    /// Creates the identity of a server. The info is optional.
    pub(crate) fn of_server(
        info: Option<&Implementation<'_>>,
        offered: CapabilitySet,
        hints: CacheHints,
        extensions: Vec<String>,
    ) -> Self {
        // Results need no info, and an invalid one would make them invalid.
        let info = info.and_then(|info| {
            member(key::SERVER, info, Implementation::RECORD, Revision::LATEST_MODERN).ok()
        });
        let info = info.unwrap_or_default();
        let offered = offered.known_to(Revision::LATEST_MODERN);
        Self { info, offered, hints, extensions, ..Self::default() }
    }

    /// Creates the identity of a client. The info is optional.
    ///
    /// # Errors
    ///
    /// [`EncodeError`] if the revision does not allow the info or the capabilities. The configuration is at fault.
    pub(crate) fn of_client(
        revision: Revision,
        info: Option<&Implementation<'_>>,
        capabilities: &ClientCapabilities<'_>,
    ) -> Result<Self, EncodeError> {
        let extensions = capabilities.extensions.iter().flat_map(Map::iter);
        let extensions = extensions.map(|(name, _)| String::from(name)).collect();
        let mut text = String::from("\"");
        text.push_str(key::VERSION);
        text.push_str("\":\"");
        text.push_str(revision.name());
        text.push('"');
        if let Some(info) = info {
            text.push(',');
            text.push_str(&member(key::CLIENT, info, Implementation::RECORD, revision)?);
        }
        let offered = CapabilitySet::from(capabilities).known_to(revision);
        let record = ClientCapabilities::RECORD;
        let declared = member(key::CAPABILITIES, capabilities, record, revision)?;
        let mut request = text.clone();
        request.push(',');
        request.push_str(&declared);
        let object = declared.split_once(':').map_or("", |(_, object)| object);
        let declared_extensions = json::member(object, "extensions").unwrap_or_default().into();
        let info = text;
        Ok(Self { info, request, offered, extensions, declared_extensions, ..Self::default() })
    }

    /// Sets whether the first era that a connection is used in is its only era.
    pub(crate) fn of_one_era(self, one_era: bool) -> Self {
        Self { one_era, ..self }
    }

    /// Returns the extension with this name, if this side supports it.
    pub(crate) fn extension(&self, name: &str) -> Option<Extension> {
        let index = self.extensions.iter().position(|known| known == name)?;
        Extension::at(index)
    }
}

/// Returns a member as text.
fn member(
    name: &str,
    value: &dyn Payload,
    record: &'static Record,
    revision: Revision,
) -> Result<String, EncodeError> {
    let mut buffer = Vec::new();
    let mut writer = Writer::new(&mut buffer, usize::MAX);
    writer.push(b"\"")?;
    writer.push(name.as_bytes())?;
    let form = Some(Form { record, revision });
    let payload = PayloadWriter::new(&mut writer, "\":", Empty::Braces, &Additions::NONE, form);
    value.write(payload)?;
    // Writers write whole strings, so the text is always UTF-8.
    String::from_utf8(buffer).map_err(|_| EncodeError::Payload)
}
