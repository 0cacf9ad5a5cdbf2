//! [`Population`]: very many sessions in one process, of which few are active.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp_sansio::ServerConfig;

use crate::footprint::IdleServer;
use crate::http_endpoint::HttpEndpoint;

/// Many live sessions on one thread.
#[derive(Debug)]
pub struct Population {
    carrier: Carrier,
    /// The state of the generator that chooses sessions. It is not random, so that runs are alike.
    chooser: u64,
}

#[derive(Debug)]
enum Carrier {
    /// The machines and their buffers, as in an event loop.
    Machines { config: Arc<ServerConfig>, servers: Vec<IdleServer> },
    /// The sessions of an endpoint of the adapter for HTTP, without sockets.
    Http { endpoint: Box<HttpEndpoint>, ids: Vec<String> },
}

/// The times of a round of calls.
#[derive(Debug)]
#[non_exhaustive]
pub struct Round {
    /// The time of each call, in ascending order.
    pub calls: Vec<Duration>,
    /// The time of the whole round: the calls, the sessions that end and those that begin instead.
    pub total: Duration,
    /// The messages of clients in this round.
    pub messages: usize,
}

impl Population {
    /// Opens sessions on bare machines.
    pub fn of_machines(count: usize) -> Self {
        let config = IdleServer::config();
        let mut servers = Vec::with_capacity(count);
        servers.extend((0..count).map(|_| IdleServer::released(&config)));
        Self { carrier: Carrier::Machines { config, servers }, chooser: 1 }
    }

    /// Opens sessions over HTTP, a tenth at a time: for a while after its last request a session keeps the memory that
    /// another request would need.
    pub fn over_http(count: usize) -> Self {
        let endpoint = Box::new(HttpEndpoint::with_room_for(count));
        let mut ids = Vec::with_capacity(count);
        for at in 0..count {
            ids.push(endpoint.open());
            if at % count.div_ceil(10) == 0 {
                endpoint.idle();
            }
        }
        Self { carrier: Carrier::Http { endpoint, ids }, chooser: 1 }
    }

    /// Calls the tool in `active` sessions, and replaces a tenth of them by new sessions.
    pub fn round(&mut self, active: usize) -> Round {
        let chosen: Vec<usize> = (0..active).map(|_| self.choose()).collect();
        let begin = Instant::now();
        let mut messages = active;
        let mut calls = match &mut self.carrier {
            Carrier::Machines { config, servers } => {
                let mut calls = Vec::with_capacity(active);
                for at in &chosen {
                    let begin = Instant::now();
                    servers[*at].call();
                    calls.push(begin.elapsed());
                }
                for at in chosen.iter().step_by(10) {
                    servers[*at] = IdleServer::released(config);
                    // `initialize` and `notifications/initialized`.
                    messages += 2;
                }
                calls
            }
            Carrier::Http { endpoint, ids } => {
                let calls = endpoint.call_each(chosen.iter().map(|at| &*ids[*at]));
                for at in chosen.iter().step_by(10) {
                    endpoint.end(&ids[*at]);
                    ids[*at] = endpoint.open();
                    // The two messages that open a session, and the DELETE that ends the earlier one.
                    messages += 3;
                }
                calls
            }
        };
        let total = begin.elapsed();
        calls.sort_unstable();
        Round { calls, total, messages }
    }

    /// Waits until idle sessions have released the memory that they retain for a while after a request.
    pub fn idle(&self) {
        if let Carrier::Http { endpoint, .. } = &self.carrier {
            endpoint.idle();
        }
    }

    /// The number of sessions.
    pub fn len(&self) -> usize {
        match &self.carrier {
            Carrier::Machines { servers, .. } => servers.len(),
            Carrier::Http { ids, .. } => ids.len(),
        }
    }

    /// Whether there are no sessions.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Chooses a session, by the generator of Lehmer.
    fn choose(&mut self) -> usize {
        self.chooser = self.chooser * 48_271 % 0x7fff_ffff;
        // Two draws, as one has fewer bits than the product needs.
        let high = self.chooser;
        self.chooser = self.chooser * 48_271 % 0x7fff_ffff;
        ((high << 31 | self.chooser) % self.len() as u64) as usize
    }
}
