//! `Authorization`: drives an `Authorizer` with a clock, a storage, an application and a listener for redirects.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{fmt, io};

use mcp_sansio::Instant;
use mcp_sansio::auth::{
    Authorizer, AuthorizerConfig, Effect, Redirected, RequestKey, Saved, Stage, Verdict,
};
use mcp_sansio_driver::{Clock, StoppedClock};
use mcp_sansio_tokio::runtime::clock;
use tokio::sync::{Notify, OnceCell, oneshot};
use tokio::task::JoinHandle;

use super::effects;
use super::host::AuthorizationHost;
use super::redirect::Listener;
use super::storage::{MemoryStorage, TokenStorage};
use crate::Transport;
use crate::token_time::TokenClock;

/// Obtains access tokens for one MCP server: an [`Authorizer`] with a clock, a storage, an application, and a
/// listener for the redirect of the browser. Clones share one authorization, also across connections.
///
/// ```no_run
/// use mcp_sansio_http::mcp_sansio::ClientConfig;
/// use mcp_sansio_http::mcp_sansio::auth::{AuthorizerConfig, BrowserUrl, ClientMetadata};
/// use mcp_sansio_http::mcp_sansio::http::HttpClientConfig;
/// use mcp_sansio_http::{
///     Authorization, AuthorizationHost, Authorized, ConnectionOptions, FileStorage, HostFuture, RefuseAll,
///     connect_with, plain,
/// };
///
/// struct Terminal;
///
/// impl AuthorizationHost for Terminal {
///     fn open_url<'a>(&'a self, url: &'a BrowserUrl, _: &'a Authorization) -> HostFuture<'a, ()> {
///         println!("Log in at {}", url.as_str());
///         Box::pin(async {})
///     }
/// }
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let url = "http://127.0.0.1:3000/mcp";
/// let mut config = AuthorizerConfig::new(url)?;
/// config.registration = Some(ClientMetadata::native("Example"));
/// let authorization = Authorization::new(config, Terminal).storage(FileStorage::new("tokens.json"));
///
/// let (client, http) = (ClientConfig::new("example", "1.0"), HttpClientConfig::new(url));
/// let transport = Authorized::new(plain(), authorization);
/// let options = ConnectionOptions::new();
/// let connection = connect_with(client, http, &options, transport, RefuseAll::new()).await?;
/// # drop(connection);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Authorization {
    pub(super) handle: Arc<Handle>,
}

/// The part of an authorization that only its clones own. It is dropped with the last one: then the program no longer
/// uses the authorization.
pub(super) struct Handle {
    pub(super) shared: Arc<Shared>,
}

/// The state that the clones of an authorization share with the task that carries out effects.
pub(super) struct Shared {
    state: Mutex<State>,
    /// Wakes the task that carries out effects.
    pub(super) wake: Notify,
    /// Notified when the task has carried out all effects, and at its end.
    idle: Notify,
    pub(super) host: Arc<dyn AuthorizationHost>,
    pub(super) storage: Arc<dyn TokenStorage>,
    /// Set once the stored state has been read.
    loaded: OnceCell<()>,
    /// The clock of connections, which stops while a user is asked.
    connections: Clock,
}

pub(super) struct State {
    authorizer: Authorizer,
    /// The clock of the authorizer.
    clock: TokenClock,
    waiting: HashMap<RequestKey, oneshot::Sender<Verdict>>,
    requests: u64,
    stopped: Option<StoppedClock>,
    /// Whether the storage may contain tokens from before a logout. They must not be used when it is read.
    has_logged_out: bool,
    /// The task that carries out effects.
    task: Option<JoinHandle<()>>,
    /// Whether the task may have effects to carry out: set by each input, cleared when none is left.
    may_have_effects: bool,
    /// The listener for the redirect of the browser.
    pub(super) listener: Option<Listener>,
}

impl Authorization {
    /// Creates an authorization with a storage in memory.
    pub fn new(config: AuthorizerConfig, host: impl AuthorizationHost) -> Self {
        let state = State {
            authorizer: Authorizer::new(Arc::new(config)),
            clock: TokenClock::new(clock()),
            waiting: HashMap::new(),
            requests: 0,
            stopped: None,
            has_logged_out: false,
            task: None,
            may_have_effects: false,
            listener: None,
        };
        let shared = Shared {
            state: Mutex::new(state),
            wake: Notify::new(),
            idle: Notify::new(),
            host: Arc::new(host),
            storage: Arc::new(MemoryStorage::new()),
            loaded: OnceCell::new(),
            connections: clock().stoppable(),
        };
        Self { handle: Arc::new(Handle { shared: Arc::new(shared) }) }
    }

    /// Sets another storage.
    ///
    /// # Panics
    ///
    /// If the authorization was already cloned: a storage cannot be changed while it is used.
    #[must_use]
    pub fn storage(mut self, storage: impl TokenStorage) -> Self {
        let handle = Arc::get_mut(&mut self.handle);
        let shared = handle.and_then(|handle| Arc::get_mut(&mut handle.shared));
        let shared = shared.expect("the authorization is not shared yet");
        shared.storage = Arc::new(storage);
        self
    }

    /// Handles the redirect of the browser to this URL, for applications that receive the redirect themselves.
    pub fn redirected(&self, url: &str) -> Redirected {
        self.handle.shared.redirected(url)
    }

    /// Ends the login because the user has given up, at any of its stages. The requests that wait for it fail. A
    /// refresh continues, and so does a request for tokens. A registration continues, and its client id is stored.
    pub fn abandon(&self) {
        self.handle.shared.with(Authorizer::abandoned);
    }

    /// Discards the tokens, also those that another process has stored, but keeps the registrations. A login in
    /// progress is abandoned; a refresh in progress ends first. Call this on a Tokio runtime.
    ///
    /// # Errors
    ///
    /// Errors of the storage, in which the tokens may remain. This process discards them anyway.
    pub async fn log_out(&self) -> io::Result<()> {
        // No request carries the tokens from now on, even if the storage does not answer or this future is dropped.
        self.handle.shared.with_state(|state, _| {
            state.has_logged_out = true;
            state.authorizer.log_out();
        });
        effects::log_out(self.clone()).await?;
        // The stored state is that of the logout now. Later ones are those of other logins.
        self.handle.shared.lock().has_logged_out = false;
        Ok(())
    }

    /// Returns the current stage.
    pub fn stage(&self) -> Stage {
        self.handle.shared.lock().authorizer.stage()
    }

    /// Waits until no refresh, token request or registration is in progress, and until every new state is stored.
    ///
    /// A program that ends calls this before it ends the runtime: an authorization server does not send tokens again.
    /// [Abandon](Self::abandon) a login first, because a login in progress may continue at any time. This future has
    /// no time limit of its own; a request to an authorization server and a storage have theirs, about a minute.
    pub async fn settled(&self) {
        loop {
            let idle = self.handle.shared.idle.notified();
            if self.is_settled() {
                return;
            }
            idle.await;
        }
    }

    fn is_settled(&self) -> bool {
        let state = self.handle.shared.lock();
        // Without the task, nothing is carried out any more.
        let is_over = state.task.as_ref().is_none_or(JoinHandle::is_finished);
        // A refresh locks the storage and signs before its request.
        let awaits_tokens = matches!(
            state.authorizer.stage(),
            Stage::Claiming
                | Stage::Signing
                | Stage::Refreshing
                | Stage::RequestingToken
                | Stage::Registering
        );
        is_over || !(state.may_have_effects || awaits_tokens)
    }

    /// Returns the granted scopes, or `None` if there is no token.
    pub fn granted(&self) -> Option<mcp_sansio::auth::Scopes> {
        self.handle.shared.lock().authorizer.granted().cloned()
    }

    /// Returns the clock of connections that use this authorization. The clock stops while a user is asked.
    pub fn clock(&self) -> Clock {
        self.handle.shared.connections.clone()
    }

    /// Reads the stored state, until it was read once. After an error the next call tries again.
    async fn load(&self) -> io::Result<()> {
        let shared = &self.handle.shared;
        let load = || async {
            let loaded = effects::load(&shared.storage).await;
            loaded.map(|saved| shared.restore(saved))
        };
        shared.loaded.get_or_try_init(load).await.copied()
    }

    /// Reads the stored state, until it was read once, and starts the task that carries out effects. The task is
    /// started again if it has ended: with the runtime that it ran on, or because a function of the application
    /// panicked.
    pub(super) async fn start(&self, transport: &impl Transport) {
        let shared = &self.handle.shared;
        if let Err(error) = self.load().await {
            shared.host.storage_failed(error);
        }
        let mut state = shared.lock();
        if state.task.as_ref().is_none_or(JoinHandle::is_finished) {
            let program = Arc::downgrade(&self.handle);
            let work = effects::carry_out_all(program, Arc::clone(shared), transport.clone());
            state.task = Some(tokio::spawn(work));
        }
    }

    /// Restores the stored state if another process has stored a newer one: it has logged in or out, or refreshed the
    /// tokens. Called before a refusal begins an authorization, which may be unnecessary then. An authorization in
    /// progress continues.
    pub(super) async fn look_into_storage(&self) {
        let shared = &self.handle.shared;
        if self.stage() != Stage::Idle {
            return;
        }
        if !shared.loaded.initialized() {
            // Stored tokens that are read after a login would replace its tokens. An error was reported before the
            // request.
            _ = self.load().await;
            return;
        }
        match effects::load(&shared.storage).await {
            Ok(Some(stored)) => shared.with(|authorizer, _| {
                if stored.is_newer_than(authorizer.saved()) {
                    authorizer.restore(stored);
                }
            }),
            Ok(None) => {}
            Err(error) => shared.host.storage_failed(error),
        }
    }

    /// Creates a ticket for a request that may have to wait.
    pub(super) fn request(&self) -> Ticket {
        let mut state = self.handle.shared.lock();
        state.requests += 1;
        let key = RequestKey(state.requests);
        let (sender, released) = oneshot::channel();
        state.waiting.insert(key, sender);
        Ticket { authorization: self.clone(), key, released }
    }
}

impl Shared {
    /// Calls a function with the authorizer, and wakes the task that carries out its effects.
    pub(super) fn with<T>(&self, act: impl FnOnce(&mut Authorizer, Instant) -> T) -> T {
        self.with_state(|state, now| act(&mut state.authorizer, now))
    }

    fn with_state<T>(&self, act: impl FnOnce(&mut State, Instant) -> T) -> T {
        let mut state = self.lock();
        state.may_have_effects = true;
        let (now, lead) = state.clock.now();
        state.authorizer.set_clock_lead(lead);
        let outcome = act(&mut state, now);
        let stage = state.authorizer.stage();
        let asks_user = matches!(stage, Stage::AwaitingUser | Stage::NamingClient);
        if !asks_user {
            state.stopped = None;
        } else if state.stopped.is_none() {
            state.stopped = Some(self.connections.stop());
        }
        if stage == Stage::Idle {
            state.listener = None;
        }
        drop(state);
        self.wake.notify_one();
        outcome
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn redirected(&self, url: &str) -> Redirected {
        self.with(|authorizer, now| authorizer.redirected(url, now))
    }

    /// Fails all waiting requests and ends a login in progress, because no more effects are carried out.
    pub(super) fn stopped(&self) {
        self.with(Authorizer::abandoned);
        let mut state = self.lock();
        state.waiting.clear();
        state.task = None;
        drop(state);
        self.idle.notify_waiters();
    }

    /// Restores the state that was stored at the first use of the storage. Tokens from before a logout are discarded.
    fn restore(&self, saved: Option<Saved>) {
        let Some(saved) = saved else { return };
        self.with_state(|State { authorizer, has_logged_out, .. }, _| {
            let is_older = authorizer.saved().is_newer_than(&saved);
            authorizer.restore(saved);
            if *has_logged_out && !is_older && authorizer.granted().is_some() {
                authorizer.log_out();
            }
        });
    }

    /// Returns the next effect for the task, and the stage. If there is no effect, the stage queued none before it was
    /// read: both are read under one lock. Releases of waiting requests are carried out here.
    pub(super) fn next_effect(&self) -> (Option<Effect>, Stage) {
        let mut state = self.lock();
        while let Some(effect) = state.authorizer.poll_effect() {
            match effect {
                Effect::Release { request, verdict } => {
                    if let Some(sender) = state.waiting.remove(&request) {
                        // The request may no longer wait.
                        _ = sender.send(verdict);
                    }
                }
                effect => return (Some(effect), state.authorizer.stage()),
            }
        }
        // The task asks for the next effect only after it has carried out the last one.
        state.may_have_effects = false;
        let stage = state.authorizer.stage();
        drop(state);
        self.idle.notify_waiters();
        (None, stage)
    }

    /// Returns the time of the authorizer's next timeout.
    pub(super) fn deadline(&self) -> Option<std::time::Instant> {
        let mut state = self.lock();
        let due = state.authorizer.poll_timeout()?;
        state.clock.monotonic(due)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // Let the task that carries out effects end.
        self.shared.wake.notify_one();
    }
}

/// Omits the tokens.
impl fmt::Debug for Authorization {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Authorization")
            .field("stage", &self.stage())
            .finish_non_exhaustive()
    }
}

/// A request that may have to wait. Dropping it makes the authorizer forget the request.
pub(super) struct Ticket {
    authorization: Authorization,
    pub(super) key: RequestKey,
    released: oneshot::Receiver<Verdict>,
}

impl Ticket {
    /// Waits until the request is released.
    pub(super) async fn released(mut self) -> Option<Verdict> {
        (&mut self.released).await.ok()
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut state = self.authorization.handle.shared.lock();
        if state.waiting.remove(&self.key).is_some() {
            state.authorizer.forget(self.key);
        }
    }
}
