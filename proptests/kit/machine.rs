//! Additions to [`testing::Machine`](mcp_sansio::testing::Machine) for tests of both roles.

use mcp_sansio::{
    CallId, Client, ClientConfig, ClientEvent, ConnectionConfig, IncomingId, Instant, Outbox,
    Outcome, Revision, RevisionSet, Server, ServerConfig, ServerEvent, testing,
};

use crate::config;

/// The meaning of an event of either role, with the outcome of a call.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::exhaustive_enums, reason = "a test wants to know of everything new")]
pub enum Meaning {
    /// The peer has sent a request.
    Request(IncomingId),
    /// A request has ended and gets no response.
    RequestEnded(IncomingId),
    /// A call has ended with its outcome.
    CallEnded(CallId, Outcome<'static>),
    /// The connection has ended.
    Closed,
    /// Any other event.
    Other,
}

/// A [`Client`] or a [`Server`].
pub trait Machine: testing::Machine {
    /// Creates a machine with all capabilities and this configuration. A client of the modern era alone does not probe
    /// its server.
    fn with(connection: ConnectionConfig, revisions: RevisionSet) -> Self;
    /// Performs the first operation of the role: a client connects.
    fn begin(&mut self, now: Instant, out: &mut Outbox);
    /// Returns the meaning of an event.
    fn meaning_of(event: &Self::Event<'_>) -> Meaning;
}

macro_rules! machine {
    ($Machine:ident, $Event:ident, $config:path, $begin:expr) => {
        impl Machine for $Machine {
            fn with(connection: ConnectionConfig, revisions: RevisionSet) -> Self {
                let mut config = $config(revisions);
                config.connection = connection;
                Self::new(std::sync::Arc::new(config))
            }

            fn begin(&mut self, now: Instant, out: &mut Outbox) {
                $begin(self, now, out);
            }

            fn meaning_of(event: &$Event<'_>) -> Meaning {
                match event {
                    $Event::Request(request) => Meaning::Request(request.id),
                    $Event::Cancelled(cancelled) => Meaning::RequestEnded(cancelled.id),
                    $Event::CallEnded(ended) => {
                        Meaning::CallEnded(ended.call, ended.outcome.clone().into_owned())
                    }
                    $Event::Closed { .. } => Meaning::Closed,
                    _ => Meaning::Other,
                }
            }
        }
    };
}

fn client(revisions: RevisionSet) -> ClientConfig {
    let mut config = config::client_of_both_eras();
    config.revisions = revisions;
    if revisions == RevisionSet::MODERN {
        (config.known, config.probe) = (Some(Revision::V2026_07_28), false);
    }
    config
}

fn server(revisions: RevisionSet) -> ServerConfig {
    let mut config = config::server_of_both_eras();
    config.revisions = revisions;
    config
}

machine!(Client, ClientEvent, client, |client: &mut Self, now, out| {
    // Connecting fails if the client has already connected, which some tests do on purpose.
    _ = client.connect(now, out);
});
machine!(Server, ServerEvent, server, |_: &mut Self, _, _| {});
