//! [`Gateway`]: the servers behind one endpoint.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, Weak};
use std::time::Duration;

use mcp_sansio::auth::Scopes;
use mcp_sansio::model::{EmptyCapability, ListChanged, LoggingLevel, ResourcesCapability};
use mcp_sansio::subscription::ChangedList;
use mcp_sansio::task::TasksConfig;
use mcp_sansio::{ConnectionNumber, Principal, RespondError, Server, ServerConfig};
use mcp_sansio_http::Protection;
use mcp_sansio_tokio::{
    ConnectionGroup, ConnectionOptions, Exchange, Handle, SharedTasks, TaskHandle, clock,
    random_bytes,
};
use tokio::time::Instant;

use crate::budget::Budget;
use crate::client_key::ClientKey;
use crate::config::{GatewayConfig, UpstreamConfig};
use crate::requests::parking::Parking;
use crate::requests::routes::Routes;
use crate::requests::state::States;
use crate::requests::subscribers::Subscribers;
use crate::status::{Reloaded, Status};
use crate::upstream::{OfGateway, Upstream};

/// Several servers behind one endpoint: a handler for the connections of its clients.
///
/// It connects to the servers at once, and again when a connection is lost. Clones share the gateway; when the last clone is
/// dropped, its connections end.
///
/// ```no_run
/// use mcp_sansio_gateway::config::{CommandConfig, GatewayConfig, UpstreamConfig, UpstreamTransport};
/// use mcp_sansio_gateway::Gateway;
///
/// # async fn example() -> std::io::Result<()> {
/// let program = UpstreamTransport::Command(CommandConfig::new("calculator"));
/// let gateway = Gateway::start(GatewayConfig::new("gateway", vec![UpstreamConfig::new("math", program)]))?;
/// let options = gateway.connection_options();
/// // Its tool `add` is `math__add` here.
/// mcp_sansio_tokio::serve_stdio_with(gateway.server_config(), &options, gateway).await
/// # }
/// ```
#[derive(Clone)]
pub struct Gateway {
    inner: Arc<Inner>,
}

struct Inner {
    config: GatewayConfig,
    routes: RwLock<Arc<Routes>>,
    /// The servers that a reload has removed or replaced, and whose calls go on.
    draining: Mutex<Vec<Arc<Upstream>>>,
    of_gateway: OfGateway,
    tasks: SharedTasks,
    states: States,
    parking: Parking,
    subscribers: Subscribers,
    /// The sessions of clients that have sessions of their own at a server.
    sessions: Mutex<BTreeMap<ConnectionNumber, ClientKey>>,
    /// The access control of the endpoint.
    protection: OnceLock<Protection>,
    is_closed: AtomicBool,
    /// Held during a reload.
    reload: tokio::sync::Mutex<()>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        let routes = self.routes.get_mut().unwrap_or_else(PoisonError::into_inner);
        // Those that a reload has removed have no calls any more, which would keep this.
        routes.upstreams.iter().for_each(|upstream| upstream.stop(Duration::ZERO));
    }
}

impl Gateway {
    /// Starts to connect to the servers. Call it in the context of a tokio runtime.
    ///
    /// # Errors
    ///
    /// Two servers have the same name, or the operating system has no random numbers, which keys and task ids need.
    pub fn start(config: GatewayConfig) -> io::Result<Self> {
        let duplicate = |error| io::Error::new(io::ErrorKind::InvalidInput, error);
        check_names(&config.upstreams).map_err(duplicate)?;
        let key = match config.state_key {
            Some(key) => key,
            None => random_bytes()?,
        };
        let of_gateway = OfGateway {
            name: (&*config.name).into(),
            clients: ConnectionGroup::new(),
            level: Arc::default(),
            observer: config.observer.clone(),
            budget: Budget::new(config.kept_bytes),
        };
        let start = |upstream: &UpstreamConfig| Upstream::start(&of_gateway, upstream.clone());
        let upstreams = config.upstreams.iter().map(start).collect();
        let inner = Inner {
            routes: RwLock::new(Arc::new(Routes { upstreams })),
            draining: Mutex::default(),
            of_gateway,
            tasks: SharedTasks::with_clock(TasksConfig::default(), clock()),
            states: States::new(key),
            parking: Parking::new(config.most_parked, config.parked_for),
            subscribers: Subscribers::default(),
            sessions: Mutex::default(),
            protection: OnceLock::new(),
            is_closed: AtomicBool::new(false),
            reload: tokio::sync::Mutex::new(()),
            config,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Returns the configuration of the server that clients see. Its capabilities are the same for all servers behind it.
    pub fn server_config(&self) -> ServerConfig {
        let config = &self.inner.config;
        let mut server = ServerConfig::new(config.name.clone(), env!("CARGO_PKG_VERSION"));
        server.instructions.clone_from(&config.instructions);
        let capabilities = &mut server.capabilities;
        capabilities.tools = Some(ListChanged::notified());
        capabilities.prompts = Some(ListChanged::notified());
        let mut resources = ResourcesCapability::default();
        resources.list_changed = Some(true);
        resources.subscribe = Some(true);
        capabilities.resources = Some(resources);
        capabilities.logging = Some(EmptyCapability::default());
        capabilities.completions = Some(EmptyCapability::default());
        server.capabilities = server.capabilities.with_tasks();
        if let Some(tasks) = &mut server.capabilities.tasks {
            tasks.list = Some(EmptyCapability::default());
        }
        server
    }

    /// Returns the options of connections to clients: they share the tasks of the gateway.
    pub fn connection_options(&self) -> ConnectionOptions {
        ConnectionOptions::new().tasks(self.inner.tasks.clone())
    }

    /// Replaces the servers by those of a new configuration. Calls in progress go on, also at servers that are removed.
    ///
    /// A server whose configuration has not changed keeps its connections. The others are connected first, for at most
    /// their [`connect_timeout`](UpstreamConfig::connect_timeout), so that requests find them connected.
    ///
    /// The reload goes on if this future is dropped.
    ///
    /// # Errors
    ///
    /// Two servers have the same name. Nothing has changed.
    pub async fn reload(
        &self,
        upstreams: Vec<UpstreamConfig>,
    ) -> Result<Reloaded, DuplicateServer> {
        check_names(&upstreams)?;
        let gateway = self.clone();
        let reload = tokio::spawn(async move { gateway.replace(upstreams).await });
        // It has not panicked, and ends only with the runtime.
        Ok(reload.await.unwrap_or_default())
    }

    async fn replace(&self, upstreams: Vec<UpstreamConfig>) -> Reloaded {
        let _one_at_a_time = self.inner.reload.lock().await;
        let old = self.routes();
        let mut reloaded = Reloaded::default();
        let mut next = Vec::new();
        for config in upstreams.into_iter().map(UpstreamConfig::clamped) {
            match old.upstreams.iter().find(|upstream| upstream.config == config) {
                Some(kept) => {
                    reloaded.kept.push(config.name);
                    next.push(Arc::clone(kept));
                }
                None => {
                    reloaded.started.push(config.name.clone());
                    next.push(Upstream::start(&self.inner.of_gateway, config));
                }
            }
        }
        let is_kept =
            |upstream: &&Arc<Upstream>| old.upstreams.iter().any(|old| Arc::ptr_eq(old, upstream));
        let now = Instant::now();
        for upstream in next.iter().filter(|upstream| !is_kept(upstream)) {
            let settled = upstream.shared.settled();
            // One that does not connect in time is waited for by its calls.
            _ = tokio::time::timeout_at(now + upstream.config.connect_timeout, settled).await;
        }
        let is_kept =
            |upstream: &&Arc<Upstream>| next.iter().any(|next| Arc::ptr_eq(next, upstream));
        let removed: Vec<_> =
            old.upstreams.iter().filter(|upstream| !is_kept(upstream)).cloned().collect();
        let routes = Arc::new(Routes { upstreams: next });
        if !self.switch(&routes, &removed) {
            routes.upstreams.iter().for_each(|upstream| upstream.stop(Duration::ZERO));
            return Reloaded::default();
        }
        // A level that was set in the meantime was only sent to the servers so far.
        let level = self.inner.of_gateway.level();
        if let Some(level) = level {
            routes.upstreams.iter().for_each(|upstream| upstream.set_log_level(level));
        }
        for upstream in removed {
            reloaded.stopped.push(upstream.config.name.clone());
            upstream.stop(upstream.config.drain);
        }
        // The order decides which server has a name or a resource that several servers have.
        let is_same = |(old, new): (&Arc<Upstream>, &Arc<Upstream>)| Arc::ptr_eq(old, new);
        let is_unchanged = old.upstreams.len() == routes.upstreams.len()
            && old.upstreams.iter().zip(&routes.upstreams).all(is_same);
        if !is_unchanged {
            self.inner.subscribers.rewatch(&routes);
            for list in [ChangedList::Tools, ChangedList::Prompts, ChangedList::Resources] {
                self.inner.of_gateway.clients.list_changed(list);
            }
        }
        reloaded
    }

    /// Replaces the servers, unless the gateway is closed. The removed ones are still known, so that they end with the
    /// gateway. Returns whether they were replaced.
    fn switch(&self, routes: &Arc<Routes>, removed: &[Arc<Upstream>]) -> bool {
        let mut current = self.inner.routes.write().unwrap_or_else(PoisonError::into_inner);
        // With the lock held: a gateway that is being closed has the servers of before, or finds the new ones.
        if self.inner.is_closed.load(Ordering::SeqCst) {
            return false;
        }
        let mut draining = self.draining();
        draining.retain(|upstream| !upstream.is_finished());
        draining.extend_from_slice(removed);
        *current = Arc::clone(routes);
        true
    }

    fn draining(&self) -> MutexGuard<'_, Vec<Arc<Upstream>>> {
        self.inner.draining.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the state of the gateway and of its servers.
    pub fn status(&self) -> Status {
        let routes = self.routes();
        Status {
            upstreams: routes.upstreams.iter().map(|upstream| upstream.status()).collect(),
            parked: self.inner.parking.count(),
            subscribers: self.inner.subscribers.count(),
            tasks: self.inner.tasks.inspect(|tasks, _| tasks.iter().count()),
        }
    }

    /// Gives the servers no more calls, ends their connections once those in progress have ended, at the latest after
    /// `grace`, and waits for that, at most for `patience`: a program has some seconds to end before it is killed. A
    /// gateway that is closed has no servers any more, also after a [`reload`](Self::reload). Calls at servers that a
    /// reload has removed have no more time than the others.
    pub async fn close(&self, grace: Duration, patience: Duration) {
        self.inner.is_closed.store(true, Ordering::SeqCst);
        let mut upstreams = self.routes().upstreams.clone();
        upstreams.extend_from_slice(&self.draining());
        upstreams.iter().for_each(|upstream| upstream.stop(grace));
        let all = async {
            for upstream in &upstreams {
                upstream.finished().await;
            }
        };
        _ = tokio::time::timeout(patience, all).await;
    }

    /// Waits until each server is connected or has failed to connect, at most for `patience`.
    pub async fn connected(&self, patience: Duration) {
        let routes = self.routes();
        let all = async {
            for upstream in &routes.upstreams {
                upstream.shared.settled().await;
            }
        };
        _ = tokio::time::timeout(patience, all).await;
    }

    /// Returns all scopes that requests for servers need.
    pub(crate) fn scopes(&self) -> Scopes {
        let routes = self.routes();
        let scopes = routes.upstreams.iter().map(|upstream| &upstream.config.scopes);
        scopes.fold(Scopes::none(), |all, more| all.union(more))
    }

    /// Returns a reference that does not keep the gateway.
    pub(crate) fn downgrade(&self) -> WeakGateway {
        WeakGateway { inner: Arc::downgrade(&self.inner) }
    }

    /// Notes the access control of the endpoint.
    pub(crate) fn protect(&self, protection: &Protection) {
        // A second endpoint has the same one.
        _ = self.inner.protection.set(protection.clone());
    }

    /// Returns the scopes of a client, if the endpoint needs access tokens.
    pub(crate) fn granted(&self, principal: Principal) -> Option<Scopes> {
        Some(self.inner.protection.get()?.claims(principal)?.scopes.clone())
    }

    pub(crate) fn routes(&self) -> Arc<Routes> {
        Arc::clone(&self.inner.routes.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn clients(&self) -> &ConnectionGroup {
        &self.inner.of_gateway.clients
    }

    pub(crate) fn states(&self) -> &States {
        &self.inner.states
    }

    pub(crate) fn parking(&self) -> &Parking {
        &self.inner.parking
    }

    pub(crate) fn subscribers(&self) -> &Subscribers {
        &self.inner.subscribers
    }

    /// Returns the id of a task, if it has not expired.
    pub(crate) fn task_id(&self, task: &TaskHandle) -> Option<String> {
        self.inner.tasks.inspect(|tasks, _| Some(tasks.get(task.key())?.id().to_owned()))
    }

    pub(crate) fn page_size(&self) -> usize {
        self.inner.config.page_size
    }

    /// Sets the level of log messages of a session.
    pub(crate) fn set_level(
        &self,
        exchange: &Exchange,
        level: LoggingLevel,
    ) -> Result<(), RespondError> {
        self.raise_level(level);
        exchange.respond(&())
    }

    /// Asks the servers for log messages of this level, which a client wants. The servers send those of the most
    /// verbose client so far, and the machine of each client suppresses those that it does not want. Before the first
    /// level, each server decides what it sends.
    pub(crate) fn raise_level(&self, level: LoggingLevel) {
        {
            let known = &self.inner.of_gateway.level;
            let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
            if known.is_some_and(|known| known <= level) {
                return;
            }
            *known = Some(level);
        }
        self.routes().upstreams.iter().for_each(|upstream| upstream.set_log_level(level));
    }

    /// Frees what was kept for a client whose connection has ended.
    pub(crate) fn client_left(&self, handle: &Handle<Server>) {
        self.inner.subscribers.remove_connection(handle.connection());
        if let Some(client) = self.sessions().remove(&handle.connection()) {
            self.routes().upstreams.iter().for_each(|upstream| upstream.forget_client(client));
        }
    }

    /// Notes the session of a client, whose sessions at the servers end with it.
    pub(crate) fn note_session(&self, exchange: &Exchange) {
        if let key @ ClientKey::Session(_) = ClientKey::of(exchange) {
            self.sessions().insert(exchange.handle().connection(), key);
        }
    }

    fn sessions(&self) -> MutexGuard<'_, BTreeMap<ConnectionNumber, ClientKey>> {
        self.inner.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Two servers have the same name. The caller is at fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("two servers are called {name}")]
#[non_exhaustive]
pub struct DuplicateServer {
    /// The name.
    pub name: String,
}

fn check_names(upstreams: &[UpstreamConfig]) -> Result<(), DuplicateServer> {
    let mut names = BTreeSet::new();
    match upstreams.iter().find(|upstream| !names.insert(&upstream.name)) {
        Some(upstream) => Err(DuplicateServer { name: upstream.name.clone() }),
        None => Ok(()),
    }
}

/// A reference that does not keep the gateway.
pub(crate) struct WeakGateway {
    inner: Weak<Inner>,
}

impl WeakGateway {
    pub(crate) fn upgrade(&self) -> Option<Gateway> {
        self.inner.upgrade().map(|inner| Gateway { inner })
    }
}

impl std::fmt::Debug for Gateway {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Gateway")
            .field("name", &self.inner.config.name)
            .finish_non_exhaustive()
    }
}
