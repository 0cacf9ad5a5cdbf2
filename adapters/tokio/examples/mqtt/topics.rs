//! [`Place`]: the topics of one MCP connection, and the topic of the presence of a server.
//!
//! | topic | writer | message |
//! |---|---|---|
//! | `mcp/SERVER/presence` | server | `present SESSION` or, also as its last will, `gone SESSION`; retained |
//! | `mcp/SERVER/CLIENT/SESSION/requests` | client | a message of the client; empty: the client is gone |
//! | `mcp/SERVER/CLIENT/SESSION/responses` | server | a message of the server; empty: the connection has ended |
//!
//! A session is a number that is higher after each start. The topics of a connection contain it, so a late message of an
//! earlier connection never reaches a later one, whose ids of requests are the same.
//!
//! The broker decides who may write to a topic. In an access list of mosquitto, for clients whose MQTT client id is their
//! name:
//!
//! ```text
//! pattern write mcp/+/%c/+/requests
//! pattern read mcp/+/%c/+/responses
//! pattern read mcp/+/presence
//! ```

use std::fmt::{self, Display, Formatter};
use std::time::SystemTime;

use mcp_sansio::Instant;

/// The last levels of the topics of a connection.
pub(crate) const REQUESTS: &str = "requests";
pub(crate) const RESPONSES: &str = "responses";

/// An MCP connection: one client of one server, in one session of the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) server: String,
    pub(crate) client: String,
    pub(crate) session: Session,
}

/// The number of a start, from the clock: milliseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Session(u64);

impl Session {
    pub(crate) fn begin() -> Self {
        let since = Instant::from(SystemTime::now()).since_epoch();
        Self(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }
}

impl Display for Session {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl Place {
    /// Returns the topic of one direction.
    pub(crate) fn topic(&self, direction: &str) -> String {
        let Self { server, client, session } = self;
        format!("mcp/{server}/{client}/{session}/{direction}")
    }

    /// Returns the place of a topic of a connection.
    pub(crate) fn of(topic: &[u8]) -> Option<Self> {
        let mut parts = str::from_utf8(topic).ok()?.split('/').skip(1);
        let (server, client) = (parts.next()?.to_owned(), parts.next()?.to_owned());
        let session = Session(parts.next()?.parse().ok()?);
        Some(Self { server, client, session })
    }
}

/// The topic of the presence of a server.
pub(crate) fn presence(server: &str) -> String {
    format!("mcp/{server}/presence")
}

/// The state of a server in one of its sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    Present(Session),
    Gone(Session),
}

impl Presence {
    pub(crate) fn of(message: &[u8]) -> Option<Self> {
        let (state, session) = str::from_utf8(message).ok()?.split_once(' ')?;
        let session = Session(session.parse().ok()?);
        match state {
            "present" => Some(Self::Present(session)),
            "gone" => Some(Self::Gone(session)),
            _ => None,
        }
    }
}

impl Display for Presence {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Present(session) => write!(formatter, "present {session}"),
            Self::Gone(session) => write!(formatter, "gone {session}"),
        }
    }
}

/// Whether the name can be a level of a topic.
pub(crate) fn is_name(name: &str) -> bool {
    let is_allowed =
        |character: char| character.is_ascii_alphanumeric() || "-_.".contains(character);
    (1..=64).contains(&name.len()) && name.chars().all(is_allowed)
}
