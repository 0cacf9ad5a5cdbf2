//! [`SavedSession`]: the state of a session that outlives its process.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::call_state::Below;
use super::context::Negotiated;
use crate::capability::{Capability, CapabilitySet, Owner};
use crate::json::Str;
use crate::limits::Limits;
use crate::model::LoggingLevel;
use crate::session::{Phase, Step};
use crate::version::Revision;

/// The state of a server's session (2024-11-05 to 2025-11-25) that outlives its process.
///
/// The host saves the session, stores the value in any self-describing format of serde (JSON, CBOR), and restores the
/// session in another process.
/// The client keeps its session and does not notice. A modern request carries its own context, so it needs no saved
/// state.
///
/// Saved are the revision and the capabilities that were negotiated, the log level and the resources that the client
/// is subscribed to, the id of the server's next request, the open elicitations by URL, and the params of
/// `initialize` if the configuration [keeps](crate::ConnectionConfig::keep_handshake) them.
///
/// **Requests in flight are not saved.** Respond to the requests of the client, or reject them, before you save:
/// otherwise the client receives no response. A call of the server is lost in the same way; a response to it is
/// [`UnmatchedResponse`](crate::event::UnmatchedResponse) later. Tasks are not part of a session; the application saves
/// them as [`TaskRecord`](crate::task::TaskRecord)s.
///
/// # Format
///
/// The format has a version, now 1. A later release of this crate reads all earlier versions; it refuses a version
/// that it does not know. Members that it does not know are ignored. The value holds texts of the client, so store it
/// like any data of users; `Debug` does not show them.
///
/// ```
/// use std::sync::Arc;
///
/// use mcp_sansio::drive::SavedSession;
/// use mcp_sansio::{ConnectionNumber, Framing, Instant, Limits, Outbox, Phase};
/// use mcp_sansio::{Server, ServerConfig};
///
/// let config = Arc::new(ServerConfig::new("doc", "1.0"));
/// let mut outbox = Outbox::new(Framing::Lines, &Limits::default());
/// let mut server = Server::new(Arc::clone(&config));
/// assert_eq!(SavedSession::of(&server), None, "there is no session yet");
/// let initialize = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{
///     "protocolVersion":"2025-06-18","capabilities":{"sampling":{}},
///     "clientInfo":{"name":"client","version":"1.0"}}}"#;
/// let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
/// for message in [initialize, initialized] {
///     assert!(server.receive(message, Instant::EPOCH, &mut outbox).is_some());
/// }
///
/// let saved = SavedSession::of(&server).ok_or("a session is open")?;
/// let text = serde_json::to_string(&saved)?;
/// // In another process:
/// let saved: SavedSession = serde_json::from_str(&text)?;
/// let restored = saved.restore(config, ConnectionNumber::default())?;
/// assert_eq!((restored.phase(), restored.revision()), (Phase::Ready, server.revision()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SavedSession {
    version: FormatVersion,
    revision: String,
    /// Whether `notifications/initialized` was received.
    ready: bool,
    server_capabilities: Vec<String>,
    client_capabilities: Vec<String>,
    log_level: LoggingLevel,
    /// The number of requests for a log level or a subscription that were granted. A host that saves after each request
    /// thereby saves also after one that repeats the state: if another process has the session, that must be noticed.
    #[serde(default)]
    grants: u32,
    #[serde(default)]
    resources: Vec<String>,
    /// The id of the next request of the server.
    next_id: u64,
    #[serde(default)]
    elicitations: Vec<String>,
    /// The params of `initialize`, as JSON text.
    #[serde(default)]
    pub(crate) initialize: Option<String>,
}

/// The reason why a session could not be restored. The state of the application is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum RestoreSessionError {
    /// The revision of the session is unknown, or is not among
    /// [`ServerConfig::revisions`](crate::ServerConfig::revisions).
    #[error("the revision of the saved session is not supported by this configuration")]
    Revision,
    /// The session holds more than the [`Limits`] of this configuration allow.
    #[error("the saved session exceeds the limits of this configuration")]
    TooLarge,
    /// The saved value was altered: a member has no valid value.
    #[error("the saved session is malformed")]
    Malformed,
    /// A session with this id exists.
    #[error("the session is there already")]
    Present,
    /// The endpoint has no room for another session.
    #[error("there is no room for another session")]
    Full,
}

/// The version of the saved format.
#[derive(Clone, Copy, PartialEq, Eq)]
struct FormatVersion;

impl FormatVersion {
    const NUMBER: u32 = 1;
}

impl Serialize for FormatVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::NUMBER.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for FormatVersion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = u32::deserialize(deserializer)?;
        if number == Self::NUMBER {
            return Ok(Self);
        }
        Err(serde::de::Error::custom(format_args!(
            "the session was saved in version {number} of the format; this release reads version 1"
        )))
    }
}

/// The first id that a request cannot have: a JSON number beyond it is inexact in many languages.
const IDS_END: u64 = 1 << 53;

impl SavedSession {
    /// Returns the state of the session, without the params of `initialize`; `None` if no session is open.
    pub(crate) fn of_messages(messages: &Below) -> Option<Self> {
        let phase = messages.lifecycle.phase;
        let Negotiated { revision, ours, theirs } = messages.session.negotiated?;
        if !matches!(phase, Phase::Handshake | Phase::Ready) {
            return None;
        }
        Some(Self {
            version: FormatVersion,
            revision: revision.name().to_owned(),
            ready: phase.is_ready(),
            server_capabilities: names(ours),
            client_capabilities: names(theirs),
            log_level: messages.interests.level(),
            grants: messages.interests.grants(),
            resources: messages.interests.iter().map(String::from).collect(),
            next_id: messages.outgoing.next_id(),
            elicitations: messages.elicitations.iter().map(String::from).collect(),
            initialize: None,
        })
    }

    /// Returns the revision of the session; `None` if the saved value was altered.
    pub fn revision(&self) -> Option<Revision> {
        Revision::from_name(&self.revision)
    }

    /// Restores the state of the session on a new connection. The capabilities of this side are those that it still
    /// offers.
    ///
    /// # Errors
    ///
    /// See [`RestoreSessionError`]. The connection may be changed then: drop it.
    pub(crate) fn restore_messages(
        &self,
        messages: &mut Below,
        limits: &Limits,
    ) -> Result<(), RestoreSessionError> {
        let negotiated = self
            .revision()
            .filter(|revision| messages.session.speaks_legacy(*revision))
            .ok_or(RestoreSessionError::Revision)?;
        let is_long = |uri: &String| limits.uri_bytes < uri.len();
        if limits.subscriptions < u32::try_from(self.resources.len()).unwrap_or(u32::MAX)
            || self.resources.iter().any(is_long)
        {
            return Err(RestoreSessionError::TooLarge);
        }
        messages.session.open(negotiated, set(&self.client_capabilities, Owner::Client));
        messages.session.limit_offered(set(&self.server_capabilities, Owner::Server));
        messages.interests.set_level(self.log_level);
        for uri in &self.resources {
            messages.interests.subscribe(uri);
        }
        messages.interests.set_grants(self.grants);
        if !messages.may_keep(limits, 0) {
            return Err(RestoreSessionError::TooLarge);
        }
        for id in &self.elicitations {
            messages.elicitations.add(&Str::from(id.as_str()), limits);
        }
        if IDS_END <= self.next_id {
            return Err(RestoreSessionError::Malformed);
        }
        messages.outgoing.continue_at(self.next_id);
        // A new connection is in the phase `Opening`, so both steps are valid.
        messages.lifecycle.step(Step::Begin);
        if self.ready {
            messages.lifecycle.step(Step::Complete);
        }
        Ok(())
    }
}

/// Shows no text of the client.
impl fmt::Debug for SavedSession {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("SavedSession")
            .field("revision", &self.revision)
            .field("ready", &self.ready)
            .field("resources", &self.resources.len())
            .finish_non_exhaustive()
    }
}

fn names(set: CapabilitySet) -> Vec<String> {
    set.iter().map(|capability| String::from(capability.path())).collect()
}

/// Returns the capabilities with these names. A release that does not know a capability does not use it.
fn set(names: &[String], owner: Owner) -> CapabilitySet {
    let is_named = |capability: &Capability| {
        capability.owner() == owner && names.iter().any(|name| name == capability.path())
    };
    Capability::ALL.iter().copied().filter(is_named).collect()
}
