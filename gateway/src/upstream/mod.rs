//! [`Upstream`]: a server behind the gateway.

mod backoff;
pub(crate) mod connect;
mod gate;
pub(crate) mod link;
pub(crate) mod lists;
mod own;
pub(crate) mod shared;
mod supervise;
pub(crate) mod table;
mod watches;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mcp_sansio::model::LoggingLevel;
use mcp_sansio::request::Requestor;
use mcp_sansio_tokio::ConnectionGroup;
use tokio::sync::watch;
use tokio::time::Instant;

pub use self::connect::{Connect, ConnectFuture, UpstreamHandler};
use self::gate::Gate;
pub(crate) use self::gate::Place;
use self::link::Link;
use self::lists::{Items, ListKind, Lists, Source};
use self::own::OwnLinks;
use self::shared::{LinkState, NoLink, SharedLink};
pub(crate) use self::watches::WatchedResource;
use self::watches::Watches;
use crate::client_key::ClientKey;
use crate::config::{Observer, Sharing, UpstreamConfig};
use crate::status::UpstreamEvent;

/// What the servers of a gateway have in common.
#[derive(Clone)]
pub(crate) struct OfGateway {
    /// The name of the gateway.
    pub(crate) name: Arc<str>,
    /// The clients of the gateway, to which changes are announced.
    pub(crate) clients: ConnectionGroup,
    /// The level of log messages that the most verbose session wants.
    pub(crate) level: Arc<Mutex<Option<LoggingLevel>>>,
    pub(crate) observer: Option<Observer>,
}

impl OfGateway {
    /// Returns the level of log messages.
    fn level(&self) -> Option<LoggingLevel> {
        *self.level.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A server, with its connections, its lists and its limits.
pub(crate) struct Upstream {
    pub(crate) config: UpstreamConfig,
    gateway: OfGateway,
    pub(crate) shared: SharedLink,
    own: OwnLinks,
    lists: Lists,
    watches: Watches,
    gate: Gate,
    pub(crate) counters: Counters,
    /// Set when the server is removed from the configuration: how long its calls may go on.
    stop: watch::Sender<Option<Duration>>,
    /// Whether its connections have ended for good.
    finished: watch::Sender<bool>,
}

/// What has happened so far.
#[derive(Default)]
pub(crate) struct Counters {
    /// Calls that have got a result or an error of the server.
    pub(crate) answered: AtomicU64,
    /// Calls that have failed for another reason.
    pub(crate) failed: AtomicU64,
    /// Connections that were opened.
    pub(crate) connected: AtomicU64,
    last_problem: Mutex<Option<String>>,
}

impl Counters {
    pub(crate) fn add(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn last_problem(&self) -> Option<String> {
        self.last_problem.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Upstream {
    /// Starts to connect to a server.
    pub(crate) fn start(gateway: &OfGateway, config: UpstreamConfig) -> Arc<Self> {
        let config = config.clamped();
        let upstream = Arc::new(Self {
            gateway: gateway.clone(),
            shared: SharedLink::new(),
            own: OwnLinks::default(),
            lists: Lists::new(config.list_age),
            watches: Watches::default(),
            gate: Gate::new(config.most_calls, config.most_calls_of_client),
            counters: Counters::default(),
            stop: watch::Sender::new(None),
            finished: watch::Sender::new(false),
            config,
        });
        tokio::spawn(Arc::clone(&upstream).supervise());
        upstream
    }

    /// Gives the server no more calls, and ends its connections when those in progress have ended, at the latest after
    /// `grace`.
    pub(crate) fn stop(&self, grace: Duration) {
        self.stop.send_replace(Some(grace));
    }

    /// Waits until the connections have ended, after [`stop`](Self::stop).
    pub(crate) async fn finished(&self) {
        // The sender lives as long as this value.
        _ = self.finished.subscribe().wait_for(|finished| *finished).await;
    }

    /// Notes and reports a problem with the server. The text may come from the server.
    pub(crate) fn problem(&self, problem: &str) {
        let shown = |one: char| if one.is_control() { ' ' } else { one };
        let problem: String = problem.chars().take(MOST_CHARACTERS).map(shown).collect();
        let mut last = self.counters.last_problem.lock().unwrap_or_else(PoisonError::into_inner);
        *last = Some(problem.clone());
        drop(last);
        self.report(&UpstreamEvent::Problem(&problem));
    }

    fn report(&self, event: &UpstreamEvent<'_>) {
        if let Some(observer) = &self.gateway.observer {
            observer.observe(&self.config.name, event);
        }
    }

    /// Waits for a place among the calls of the server.
    pub(crate) async fn enter(&self, client: Requestor) -> Place {
        self.gate.enter(client).await
    }

    /// Returns the number of calls in progress.
    pub(crate) fn calls_in_progress(&self) -> usize {
        self.gate.in_progress()
    }

    /// Returns the number of connections that belong to single clients.
    pub(crate) fn own_links(&self) -> usize {
        self.own.count()
    }

    /// Returns the connection for a client.
    pub(crate) async fn link(&self, client: ClientKey) -> Result<Arc<Link>, NoLink> {
        let link = self.shared.get(self.config.connect_timeout).await?;
        match self.config.sharing {
            Sharing::PerClient { most, idle } if link.has_session() && client.is_lasting() => {
                self.own_link(client, (most, idle)).await
            }
            _ => Ok(link),
        }
    }

    /// Returns the open connections.
    pub(crate) fn links(&self) -> Vec<Arc<Link>> {
        let mut links = self.own.all();
        if let LinkState::Open(link) = self.shared.state() {
            links.push(link);
        }
        links
    }

    /// Begins to read a list, if it is not known or may have changed.
    pub(crate) fn prefetch(self: &Arc<Self>, kind: ListKind) {
        if self.lists.begin(kind) {
            let upstream = Arc::clone(self);
            tokio::spawn(async move { upstream.read(kind).await });
        }
    }

    /// Returns a list. Waits for it until `deadline`, and then returns the items that were read before, if there are any.
    pub(crate) async fn list(
        self: &Arc<Self>,
        kind: ListKind,
        deadline: Instant,
    ) -> Option<Arc<Items>> {
        self.prefetch(kind);
        let (items, is_first) = self.lists.wait(kind, deadline).await;
        if is_first {
            let list = kind.member();
            self.problem(&format!("a client has got its {list} without those of this server"));
        }
        items
    }

    /// Returns a list as it was read last, also if it may have changed. Waits only if it was never read.
    pub(crate) async fn list_soon(
        self: &Arc<Self>,
        kind: ListKind,
        deadline: Instant,
    ) -> Option<Arc<Items>> {
        self.prefetch(kind);
        match self.lists.known(kind) {
            Some(known) => Some(known),
            None => self.lists.wait(kind, deadline).await.0,
        }
    }

    /// Returns a list as it was read last.
    pub(crate) fn known_list(&self, kind: ListKind) -> Option<Arc<Items>> {
        self.lists.known(kind)
    }

    async fn read(&self, kind: ListKind) {
        let guard = self.lists.reading(kind);
        let link = match self.shared.get(self.config.connect_timeout).await {
            Ok(link) => link,
            // The problem is known.
            Err(NoLink::Failed { .. } | NoLink::Stopped) => return,
            Err(problem) => return self.problem(&problem.to_string()),
        };
        let source = Source {
            rules: &self.config.names,
            server: link.handle(),
            decides_about_tasks: link.decides_about_tasks(),
        };
        let within = self.config.call_timeout.min(self.config.list_timeout * LIST_PATIENCE);
        let (read, was_missed) = guard.read(&source, within).await;
        if let Err(failure) = read {
            self.problem(&format!("{} cannot be listed: {failure}", kind.member()));
        }
        if was_missed {
            self.gateway.clients.list_changed(kind.changed());
        }
    }
}

/// The most characters of a problem that is reported.
const MOST_CHARACTERS: usize = 500;

/// How many times longer than a client a list is waited for, so that the next request finds it.
const LIST_PATIENCE: u32 = 6;
