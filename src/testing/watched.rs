//! [`WatchedPair`], a [`Pair`] with a [`Monitor`] for each side.

use alloc::vec::Vec;

use super::monitor::Monitor;
use super::pair::{Pair, Seen};
use super::promise::Broken;
use crate::client::Client;
use crate::server::Server;

/// A [`Monitor`] for each side of a [`Pair`]. See [`Pair::watched_by`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Monitors {
    /// The monitor of the client.
    pub client: Monitor,
    /// The monitor of the server.
    pub server: Monitor,
}

impl Monitors {
    /// Creates monitors for a pair without open requests and calls. They report requests and calls that are already
    /// open as broken promises.
    pub fn new() -> Self {
        Self::default()
    }

    /// Compares the open requests and calls of both sides with the state of the machines.
    ///
    /// # Errors
    ///
    /// The states differ, or a request or call that should have ended is open.
    pub fn check(&self, pair: &Pair) -> Result<(), Broken> {
        self.client.check(&pair.client, pair.now)?;
        self.server.check(&pair.server, pair.now)
    }
}

/// A [`Pair`] under observation: see [`Pair::watched_by`].
///
/// The methods are those of the pair that move messages and time; [connect](Pair::connect) the pair before. Each
/// method reports every message that leaves or arrives and every event to the monitors, and then
/// [checks](Monitors::check) both sides. The application must report its own actions to the monitors.
#[derive(Debug)]
pub struct WatchedPair<'p> {
    pair: &'p mut Pair,
    monitors: &'p mut Monitors,
}

impl WatchedPair<'_> {
    /// See [`Pair::to_server`].
    ///
    /// # Errors
    ///
    /// The first broken promise. The same holds for the other methods.
    pub fn to_server(&mut self, bytes: usize) -> Result<Vec<Seen>, Broken> {
        let Monitors { client, server } = &mut *self.monitors;
        let seen = self.pair.move_up(bytes, Some((client, server)))?;
        self.monitors.check(self.pair)?;
        Ok(seen)
    }

    /// See [`Pair::to_client`].
    ///
    /// # Errors
    ///
    /// See [`to_server`](Self::to_server).
    pub fn to_client(&mut self, bytes: usize) -> Result<Vec<Seen>, Broken> {
        let Monitors { client, server } = &mut *self.monitors;
        let seen = self.pair.move_down(bytes, Some((server, client)))?;
        self.monitors.check(self.pair)?;
        Ok(seen)
    }

    /// See [`Pair::handle_timeout`].
    ///
    /// # Errors
    ///
    /// See [`to_server`](Self::to_server). Also an error if work is still due.
    pub fn handle_timeout(&mut self) -> Result<Vec<Seen>, Broken> {
        let Self { pair, monitors } = self;
        let seen = pair.handle_timeout();
        for event in &seen {
            match event {
                Seen::Client(event) => monitors.client.event::<Client>(event)?,
                Seen::Server(event) => monitors.server.event::<Server>(event)?,
            }
        }
        monitors.client.settled(&pair.client, pair.now)?;
        monitors.server.settled(&pair.server, pair.now)?;
        monitors.check(pair)?;
        Ok(seen)
    }

    /// See [`Pair::settle`].
    ///
    /// # Errors
    ///
    /// See [`to_server`](Self::to_server).
    pub fn settle(&mut self) -> Result<Vec<Seen>, Broken> {
        let mut seen = Vec::new();
        while !self.pair.is_quiet() {
            seen.extend(self.to_server(usize::MAX)?);
            seen.extend(self.to_client(usize::MAX)?);
        }
        Ok(seen)
    }
}

impl Pair {
    /// Returns the pair with a monitor for each side, which receives every message on the wire and every event.
    ///
    /// ```
    /// use mcp_sansio::testing::{Monitors, Pair, Seen};
    /// use mcp_sansio::{CallOptions, ClientConfig, ServerConfig, ServerEvent};
    ///
    /// let mut pair = Pair::new(ClientConfig::new("c", "1"), ServerConfig::new("s", "1"));
    /// pair.connect()?;
    /// let mut monitors = Monitors::new();
    ///
    /// let Pair { client, client_out, now, .. } = &mut pair;
    /// let call = client.call_method("x/unusual", &(), CallOptions::new(), *now, client_out)?;
    /// monitors.client.called(call)?;
    /// let seen = pair.watched_by(&mut monitors).settle()?;
    /// let [Seen::Server(ServerEvent::Request(request))] = &seen[..] else { panic!("{seen:?}") };
    ///
    /// pair.server.respond(request.id, &(), &mut pair.server_out)?;
    /// monitors.server.answered(request.id)?;
    /// pair.watched_by(&mut monitors).settle()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub const fn watched_by<'p>(&'p mut self, monitors: &'p mut Monitors) -> WatchedPair<'p> {
        WatchedPair { pair: self, monitors }
    }
}
