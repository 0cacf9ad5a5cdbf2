//! [`Wire`] of a client.

use std::sync::Arc;
use std::time::Duration;

use mcp_sansio::{Client, Framing, Outbox};

use crate::clock::Clock;
use crate::options::ConnectionOptions;
use crate::out::Out;
use crate::requests::Requests;
use crate::run::Run;
use crate::wire::{Opening, Setup, Wire};

/// The default limit of a server's requests that a client serves at the same time.
const CLIENT_HANDLERS: usize = 16;

/// How long a server that does not read may delay the end of its client.
const CLIENT_PATIENCE: Duration = Duration::from_millis(500);

impl Wire<Client> {
    /// Creates a client whose handlers run on `runner`.
    pub fn client(
        client: Client,
        options: &ConnectionOptions,
        clock: Clock,
        runner: Arc<dyn Run<Client>>,
    ) -> Arc<Self> {
        let out = Out::Stream(Outbox::new(Framing::Lines, &client.config().connection.limits));
        Self::client_on(client, out, options, clock, runner)
    }

    /// As [`client`](Self::client), with other outboxes.
    pub(crate) fn client_on(
        client: Client,
        out: Out,
        options: &ConnectionOptions,
        clock: Clock,
        runner: Arc<dyn Run<Client>>,
    ) -> Arc<Self> {
        let limits = Arc::new(client.config().connection.limits.clone());
        let most = options.handlers.unwrap_or(CLIENT_HANDLERS);
        let requests = Requests::new(most);
        let opening = Opening::Waited(None);
        let patience = CLIENT_PATIENCE;
        let setup = Setup { out, limits, patience, requests, opening };
        Self::new(client, setup, options, clock, runner)
    }
}
