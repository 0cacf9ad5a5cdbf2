//! What the tests of both roles need beside [`testing::Machine`](mcp_sansio::testing::Machine).

use mcp_sansio::{
    CallId, Client, ClientEvent, ConnectionConfig, IncomingId, Instant, Outbox, Outcome, Server,
    ServerEvent, testing,
};

use crate::config;

/// What an event says, whichever role it comes from, with the outcome if it is one.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::exhaustive_enums, reason = "a test wants to know of everything new")]
pub enum Meaning {
    /// The peer asks.
    Request(IncomingId),
    /// A request is not to be answered any more.
    RequestEnded(IncomingId),
    /// A call has its outcome.
    CallEnded(CallId, Outcome<'static>),
    /// The connection has ended.
    Closed,
    /// Anything else.
    Other,
}

/// [`Client`] or [`Server`].
pub trait Machine: testing::Machine {
    /// One that offers everything and is configured like this.
    fn with(connection: ConnectionConfig) -> Self;
    /// Does what this role does first: a client connects.
    fn begin(&mut self, now: Instant, out: &mut Outbox);
    /// What an event says.
    fn said(event: &Self::Event<'_>) -> Meaning;
}

macro_rules! machine {
    ($Machine:ident, $Event:ident, $config:path, $begin:expr) => {
        impl Machine for $Machine {
            fn with(connection: ConnectionConfig) -> Self {
                let mut config = $config();
                config.connection = connection;
                Self::new(std::sync::Arc::new(config))
            }

            fn begin(&mut self, now: Instant, out: &mut Outbox) {
                $begin(self, now, out);
            }

            fn said(event: &$Event<'_>) -> Meaning {
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

machine!(Client, ClientEvent, config::client, |client: &mut Self, now, out| {
    // It fails if the client has begun already, which tests do on purpose.
    _ = client.connect(now, out);
});
machine!(Server, ServerEvent, config::server, |_: &mut Self, _, _| {});
