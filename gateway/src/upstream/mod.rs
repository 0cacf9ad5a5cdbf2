//! [`Upstream`]: a server behind the gateway.

mod backoff;
pub(crate) mod connect;
pub(crate) mod era;
mod gate;
pub(crate) mod link;
pub(crate) mod list_items;
pub(crate) mod list_kind;
mod lists;
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
use tokio::task::JoinSet;
use tokio::time::Instant;

use self::backoff::Backoff;
pub use self::connect::{Connect, ConnectFuture, UpstreamHandler};
use self::gate::Gate;
pub(crate) use self::gate::Place;
use self::link::Link;
use self::list_items::{Items, Source};
use self::list_kind::ListKind;
use self::lists::{Lists, Next};
use self::own::OwnLinks;
use self::shared::{LinkState, NoLink, SharedLink};
pub(crate) use self::watches::WatchedResource;
use self::watches::Watches;
use crate::budget::{Budget, Share};
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
    /// The level of log messages that the most verbose client wants.
    pub(crate) level: Arc<Mutex<Option<LoggingLevel>>>,
    pub(crate) observer: Option<Observer>,
    /// The bytes that are kept for calls.
    pub(crate) budget: Budget,
}

impl OfGateway {
    /// Returns the level of log messages.
    pub(crate) fn level(&self) -> Option<LoggingLevel> {
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
    gate: Arc<Gate>,
    pub(crate) counters: Counters,
    /// The connections that take no new calls, because the server has become another one.
    retiring: Mutex<JoinSet<()>>,
    /// Set when the server is removed from the configuration: until when its calls may go on.
    stop: watch::Sender<Option<Instant>>,
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
            retiring: Mutex::default(),
            stop: watch::Sender::new(None),
            finished: watch::Sender::new(false),
            config,
        });
        tokio::spawn(Arc::clone(&upstream).supervise());
        upstream
    }

    /// Gives the server no more calls, and ends its connections when those in progress have ended, at the latest after
    /// `grace`. A later call can only shorten that time.
    pub(crate) fn stop(&self, grace: Duration) {
        let now = Instant::now();
        let end = now.checked_add(grace).unwrap_or(now + FOREVER);
        self.stop.send_modify(|known| *known = Some(known.map_or(end, |known| known.min(end))));
    }

    /// Waits until the calls in progress have to end, after [`stop`](Self::stop). This does not keep the server.
    fn time_is_up(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut stop = self.stop.subscribe();
        async move {
            loop {
                let end = *stop.borrow_and_update();
                let up = async {
                    match end {
                        Some(end) => tokio::time::sleep_until(end).await,
                        None => std::future::pending().await,
                    }
                };
                tokio::select! {
                    () = up => return,
                    changed = stop.changed() => if changed.is_err() {
                        // The server is gone.
                        return;
                    }
                }
            }
        }
    }

    /// Waits until the connections have ended, after [`stop`](Self::stop).
    pub(crate) async fn finished(&self) {
        // The sender lives as long as this value.
        _ = self.finished.subscribe().wait_for(|finished| *finished).await;
    }

    /// Whether the connections have ended for good.
    pub(crate) fn is_finished(&self) -> bool {
        *self.finished.borrow()
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

    /// Takes bytes from the budget of the gateway; `None` if it is exhausted, for all or for this client.
    pub(crate) fn keep(&self, client: Requestor, bytes: usize) -> Option<Share> {
        self.gateway.budget.share(client, bytes)
    }

    /// Returns the number of calls in progress.
    pub(crate) fn calls_in_progress(&self) -> usize {
        self.gate.in_progress()
    }

    /// Returns the number of connections that belong to single clients.
    pub(crate) fn own_links(&self) -> usize {
        self.own.count()
    }

    /// Returns the connection for a client, which counts as `requestor` for limits.
    pub(crate) async fn link(
        self: &Arc<Self>,
        (client, requestor): (ClientKey, Requestor),
    ) -> Result<Arc<Link>, NoLink> {
        let is_away =
            matches!(self.shared.state(), LinkState::Connecting | LinkState::Failed { .. });
        if is_away && let Some(link) = self.own.open(client) {
            // Its session goes on without that of all clients.
            return Ok(link);
        }
        let link = self.shared.get(self.config.connect_timeout).await?;
        match self.config.sharing {
            Sharing::PerClient { most, idle } if link.has_session() && client.is_lasting() => {
                self.own_link((client, requestor), (most, idle)).await
            }
            _ => Ok(link),
        }
    }

    /// Returns the open connections.
    fn links(&self) -> Vec<Arc<Link>> {
        let mut links = self.own.all();
        if let LinkState::Open(link) = self.shared.state() {
            links.push(link);
        }
        links
    }

    /// Asks for log messages of this level on the open connections.
    pub(crate) fn set_log_level(&self, level: LoggingLevel) {
        self.links().iter().for_each(|link| link.set_log_level(level));
    }

    /// Begins to read a list, if it is not known or may have changed.
    pub(crate) fn prefetch(self: &Arc<Self>, kind: ListKind) {
        if self.lists.begin(kind) {
            self.start_reading(kind);
        }
    }

    /// Reads the lists that clients have received again, and notifies the clients of those that are others now.
    fn check_lists(self: &Arc<Self>) {
        for kind in ListKind::ALL {
            if self.lists.check(kind) {
                self.start_reading(kind);
            }
        }
    }

    fn start_reading(self: &Arc<Self>, kind: ListKind) {
        let upstream = Arc::clone(self);
        tokio::spawn(async move {
            let mut backoff = Backoff::new();
            loop {
                match upstream.read(kind).await {
                    Next::Done => break,
                    Next::Again => {}
                    Next::Later => {
                        tokio::time::sleep(backoff.next()).await;
                        if !upstream.lists.begin_again(kind) {
                            break;
                        }
                    }
                }
            }
        });
    }

    /// Returns a list for a client that has asked for it. Waits for it until `deadline`, and then returns the items that were
    /// read before, if there are any.
    pub(crate) async fn list(
        self: &Arc<Self>,
        kind: ListKind,
        deadline: Instant,
    ) -> Option<Arc<Items>> {
        self.prefetch(kind);
        let (items, is_first) = self.lists.show(kind, deadline).await;
        if is_first {
            // It is no problem of its own: the status has the reason.
            let list = kind.member();
            let notice = format!("a client has got its {list} without those of this server");
            self.report(&UpstreamEvent::Problem(&notice));
        }
        items
    }

    /// Returns a list as it was read last, to find the server of a call. Waits only if it was never read.
    pub(crate) async fn list_soon(
        self: &Arc<Self>,
        kind: ListKind,
        deadline: Instant,
    ) -> Option<Arc<Items>> {
        self.prefetch(kind);
        if self.lists.known(kind).is_none() {
            self.lists.wait_unless_slow(kind, deadline).await;
        }
        self.lists.known(kind)
    }

    /// Whether a list has this name. Waits only if it does not have it yet, and is being read.
    pub(crate) async fn lists_name(
        self: &Arc<Self>,
        kind: ListKind,
        name: &str,
        deadline: Instant,
    ) -> bool {
        let has_it = || self.lists.known(kind).is_some_and(|list| list.has(name));
        self.prefetch(kind);
        if !has_it() {
            self.lists.wait_unless_slow(kind, deadline).await;
        }
        has_it()
    }

    /// Returns a list as it was read last.
    pub(crate) fn known_list(&self, kind: ListKind) -> Option<Arc<Items>> {
        self.lists.known(kind)
    }

    /// Reads a list. Returns whether it has to be read once more.
    async fn read(&self, kind: ListKind) -> Next {
        let guard = self.lists.reading(kind);
        let link = match self.shared.get(self.config.connect_timeout).await {
            Ok(link) => link,
            // The problem is known.
            Err(NoLink::Failed { .. } | NoLink::Stopped) => return Next::Done,
            Err(problem) => {
                self.problem(&problem.to_string());
                return Next::Done;
            }
        };
        let source = Source {
            rules: &self.config.names,
            server: link.handle(),
            decides_about_tasks: link.decides_about_tasks(),
        };
        let within = self.config.call_timeout.min(self.config.list_timeout * LIST_PATIENCE);
        let (problem, after) = guard.read(&source, within).await;
        if let Some(problem) = problem {
            link.doubt();
            self.problem(&format!("{} cannot be listed: {problem}", kind.member()));
        }
        if after.notifies {
            self.gateway.clients.list_changed(kind.changed());
        }
        after.next
    }
}

/// A time that is long enough for everything, and that can be added to the present.
const FOREVER: Duration = Duration::from_secs(30 * 365 * 24 * 3600);

/// The most characters of a problem that is reported.
const MOST_CHARACTERS: usize = 500;

/// How many times longer than a client a list is waited for, so that the next request finds it.
const LIST_PATIENCE: u32 = 6;
