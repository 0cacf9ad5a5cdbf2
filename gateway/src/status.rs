//! [`Status`]: the state of a gateway, for operators.

use std::sync::atomic::Ordering;

use mcp_sansio::Revision;
use serde::Serialize;
use tokio::time::Instant;

use crate::upstream::Upstream;
use crate::upstream::shared::LinkState;

/// The state of a gateway. As JSON it is what `/status` of the administration address returns.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Status {
    /// The servers, in the order of the configuration.
    pub upstreams: Vec<UpstreamStatus>,
    /// The number of calls that wait for a client to repeat its request with input.
    pub parked: usize,
    /// The number of client connections with subscriptions to resources.
    pub subscribers: usize,
    /// The number of tasks.
    pub tasks: usize,
}

impl Status {
    /// Whether the gateway can serve requests: a server is connected, or there is none.
    pub fn is_ready(&self) -> bool {
        let is_connected = |upstream: &UpstreamStatus| upstream.state == UpstreamState::Connected;
        self.upstreams.is_empty() || self.upstreams.iter().any(is_connected)
    }
}

/// The state of a server behind a gateway.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct UpstreamStatus {
    /// The name of the server.
    pub name: String,
    /// Whether it is connected.
    pub state: UpstreamState,
    /// The protocol revision of its connection.
    pub revision: Option<&'static str>,
    /// The seconds until the next attempt to connect.
    pub next_attempt_seconds: Option<f64>,
    /// The last problem with it, which may be long over.
    pub last_problem: Option<String>,
    /// The number of calls in progress.
    pub calls: usize,
    /// The number of sessions that belong to single clients.
    pub client_sessions: usize,
    /// The number of calls so far that it has answered.
    pub answered: u64,
    /// The number of calls so far that have failed for another reason.
    pub failed: u64,
    /// The number of connections so far.
    pub connected: u64,
}

/// Whether a server is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum UpstreamState {
    /// It is connected. A server over HTTP may still be unreachable.
    Connected,
    /// An attempt to connect is in progress.
    Connecting,
    /// The last attempt has failed, and another one follows.
    Failed,
    /// It was removed.
    Stopped,
}

/// What has happened to a server behind a gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UpstreamEvent<'a> {
    /// A connection to it is open.
    Connected {
        /// The protocol revision of the connection.
        revision: Revision,
    },
    /// It cannot be reached, or does not behave. The text is for people.
    Problem(&'a str),
}

/// What a reload has changed, by the names of the servers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Reloaded {
    /// Their configuration has not changed.
    pub kept: Vec<String>,
    /// They are new, or their configuration has changed.
    pub started: Vec<String>,
    /// They were removed, or replaced.
    pub stopped: Vec<String>,
}

impl Upstream {
    pub(crate) fn status(&self) -> UpstreamStatus {
        let counters = &self.counters;
        let (mut revision, mut next_attempt_seconds) = (None, None);
        let state = match self.shared.state() {
            LinkState::Open(link) => {
                revision = Some(link.revision().name());
                UpstreamState::Connected
            }
            LinkState::Connecting => UpstreamState::Connecting,
            LinkState::Failed { again, .. } => {
                let wait = again.saturating_duration_since(Instant::now());
                next_attempt_seconds = Some(wait.as_secs_f64());
                UpstreamState::Failed
            }
            LinkState::Stopped => UpstreamState::Stopped,
        };
        UpstreamStatus {
            name: self.config.name.clone(),
            state,
            revision,
            next_attempt_seconds,
            last_problem: counters.last_problem(),
            calls: self.calls_in_progress(),
            client_sessions: self.own_links(),
            answered: counters.answered.load(Ordering::Relaxed),
            failed: counters.failed.load(Ordering::Relaxed),
            connected: counters.connected.load(Ordering::Relaxed),
        }
    }
}
