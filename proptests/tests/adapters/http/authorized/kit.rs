//! A protected server, its authorization server, and a user with a browser.

use std::convert::Infallible;
use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http_body_util::{BodyExt, Either, Full};
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, LOCATION, WWW_AUTHENTICATE};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use mcp_sansio::auth::{AuthorizationFailure, AuthorizerConfig, BrowserUrl, ClientMetadata};
use mcp_sansio::http::HttpClientConfig;
use mcp_sansio::{ClientConfig, Revision, RevisionSet};
use mcp_sansio_http::{
    Authorization, AuthorizationHost, Authorized, Connection, ConnectionOptions, Endpoint,
    EndpointOptions, HostFuture, OpenError, RefuseAll, ResponseBody, Transport, connect_with,
    plain,
};
use mcp_sansio_proptests::authorization_server::{AuthorizationServer, Options, Signer};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{Barrier, Semaphore};
use tokio::task::{JoinHandle, JoinSet};

use crate::http::kit::{Log, Script, server_config, soon};

// The example serves the authorization server over HTTP; the library's type has no I/O of its own.
#[path = "../../../../../examples/authorization_server/service.rs"]
mod service;

/// A request to the protected server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    /// The HTTP method, followed by the JSON-RPC method if there is one; `GET again` for a resumed stream.
    pub(super) what: String,
    pub(super) uri: String,
    pub(super) token: Option<String>,
    pub(super) session: Option<String>,
    pub(super) body: Bytes,
    /// Whether the response had status 401.
    pub(super) is_refused: bool,
}

/// The requests that need a token.
#[derive(Clone)]
pub(super) enum Needs {
    /// Every request.
    All,
    /// Requests with this text in the body.
    Containing(&'static str),
}

/// The protected server and its authorization server, with a record of the requests.
pub(super) struct Protected {
    pub(super) endpoint: Endpoint,
    pub(super) log: Log,
    pub(super) script: Script,
    pub(super) issuer: Arc<Issuer>,
    shared: Arc<Shared>,
    address: SocketAddr,
    task: JoinHandle<()>,
}

struct Shared {
    endpoint: Endpoint,
    url: String,
    server: service::Shared,
    seen: Mutex<Vec<Seen>>,
    needs: Mutex<Needs>,
    /// The kind of the next request that is refused although its token is valid.
    refuse_next: Mutex<Option<String>>,
    /// A barrier at which refusals wait for each other.
    together: Mutex<Option<Arc<Barrier>>>,
}

/// The authorization server, which can be killed and restarted.
pub(super) struct Issuer {
    pub(super) address: SocketAddr,
    pub(super) server: service::Shared,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Issuer {
    async fn new(adjust: impl FnOnce(&mut Options)) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut options = Options::new(format!("http://{address}"));
        adjust(&mut options);
        let server = AuthorizationServer::new(options, Signer::worthless(), [3; 32]);
        let server = Arc::new(Mutex::new(server));
        let task = tokio::spawn(service::serve(listener, Arc::clone(&server)));
        Self { address, server, task: Mutex::new(Some(task)) }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, AuthorizationServer> {
        self.server.lock().unwrap()
    }

    /// Closes all connections, and accepts no new ones.
    pub(super) async fn kill(&self) {
        let task = self.task.lock().unwrap().take().unwrap();
        task.abort();
        assert!(task.await.unwrap_err().is_cancelled());
    }

    /// Restarts the authorization server with its previous state.
    pub(super) async fn revive(&self) {
        let listener = TcpListener::bind(self.address).await.unwrap();
        let task = tokio::spawn(service::serve(listener, Arc::clone(&self.server)));
        *self.task.lock().unwrap() = Some(task);
    }
}

impl Drop for Issuer {
    fn drop(&mut self) {
        if let Some(task) = self.task.get_mut().unwrap().take() {
            task.abort();
        }
    }
}

impl Protected {
    pub(super) async fn new() -> Self {
        Self::with(|_| {}).await
    }

    /// Starts the servers with adjusted options of the authorization server.
    pub(super) async fn with(adjust: impl FnOnce(&mut Options)) -> Self {
        let issuer = Arc::new(Issuer::new(adjust).await);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (script, log) = Script::new();
        let mut options = EndpointOptions::new();
        options.http.retry = Duration::from_millis(10);
        let endpoint = Endpoint::with(server_config(), options, script.clone());
        let shared = Arc::new(Shared {
            endpoint: endpoint.clone(),
            url: format!("http://{address}/mcp"),
            server: Arc::clone(&issuer.server),
            seen: Mutex::default(),
            needs: Mutex::new(Needs::All),
            refuse_next: Mutex::default(),
            together: Mutex::default(),
        });
        let task = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Self { endpoint, log, script, issuer, shared, address, task }
    }

    pub(super) fn url(&self) -> String {
        self.shared.url.clone()
    }

    /// Closes all connections, and accepts new ones. Sessions stay.
    pub(super) async fn interrupt(&mut self) {
        self.task.abort();
        assert!((&mut self.task).await.unwrap_err().is_cancelled());
        let listener = TcpListener::bind(self.address).await.unwrap();
        self.task = tokio::spawn(accept(listener, Arc::clone(&self.shared)));
    }

    pub(super) fn needs(&self, needs: Needs) {
        *self.shared.needs.lock().unwrap() = needs;
    }

    pub(super) fn refuse_next(&self, what: &str) {
        *self.shared.refuse_next.lock().unwrap() = Some(what.into());
    }

    /// Sends the next refusals together, in groups of this size.
    pub(super) fn refuse_together(&self, many: usize) {
        *self.shared.together.lock().unwrap() = (many > 1).then(|| Arc::new(Barrier::new(many)));
    }

    /// Returns the requests since the last call of this function.
    pub(super) fn seen(&self) -> Vec<Seen> {
        std::mem::take(&mut *self.shared.seen.lock().unwrap())
    }
}

impl Drop for Protected {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        connections.spawn(serve(stream, Arc::clone(&shared)));
    }
}

async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    let service = service_fn(|request| {
        let shared = Arc::clone(&shared);
        async move { Ok::<_, Infallible>(respond(request, &shared).await) }
    });
    let builder = auto::Builder::new(TokioExecutor::new());
    _ = builder.serve_connection(TokioIo::new(stream), service).await;
}

type Answer = Response<Either<ResponseBody, Full<Bytes>>>;

async fn respond(request: Request<Incoming>, shared: &Shared) -> Answer {
    let whole = |text: String| Response::new(Either::Right(Full::new(Bytes::from(text))));
    let (head, body) = request.into_parts();
    let Ok(body) = body.collect().await else { return whole(String::new()) };
    let body = body.to_bytes();
    if head.uri.path() == "/.well-known/oauth-protected-resource/mcp" {
        let issuer = shared.server.lock().unwrap().options.issuer.clone();
        let document = json!({ "resource": shared.url, "authorization_servers": [issuer] });
        return whole(document.to_string());
    }
    let text = |name: &str| {
        let value = head.headers.get(name)?;
        Some(value.to_str().unwrap().to_owned())
    };
    let token = text(AUTHORIZATION.as_str());
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    let what = match (head.method.as_str(), message["method"].as_str()) {
        ("GET", _) if text("last-event-id").is_some() => "GET again".to_owned(),
        (method, Some(name)) => format!("{method} {name}"),
        (method, None) => method.to_owned(),
    };
    let is_refused = shared.refuses(&what, token.as_deref(), &body);
    let (uri, session) = (head.uri.to_string(), text("mcp-session-id"));
    let seen = Seen { what, uri, token, session, body: body.clone(), is_refused };
    shared.seen.lock().unwrap().push(seen);
    if is_refused {
        let together = shared.together.lock().unwrap().clone();
        if let Some(barrier) = together {
            barrier.wait().await;
        }
        let mut response = whole(String::new());
        *response.status_mut() = StatusCode::UNAUTHORIZED;
        response.headers_mut().insert(WWW_AUTHENTICATE, "Bearer".parse().unwrap());
        return response;
    }
    let request = Request::from_parts(head, Full::new(body));
    shared.endpoint.handle(request).await.map(Either::Left)
}

impl Shared {
    fn refuses(&self, what: &str, token: Option<&str>, body: &[u8]) -> bool {
        if self.refuse_next.lock().unwrap().take_if(|next| next == what).is_some() {
            return true;
        }
        if let Needs::Containing(text) = *self.needs.lock().unwrap()
            && !String::from_utf8_lossy(body).contains(text)
        {
            return false;
        }
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
        let server = self.server.lock().unwrap();
        let token = token.and_then(|field| field.strip_prefix("Bearer "));
        let claims = token.and_then(|token| server.introspect(token, now));
        claims.is_none_or(|claims| claims.aud != self.url)
    }
}

/// The user of a client.
pub(super) struct User {
    /// A semaphore that blocks the user while it has no permits.
    pub(super) ready: Semaphore,
    /// The number of logins that were requested.
    pub(super) asked: AtomicUsize,
    /// The number of logins that the user will abandon.
    pub(super) gives_up: AtomicUsize,
    /// A future to run between the consent and the return of the browser.
    pub(super) before_return: Mutex<Option<HostFuture<'static, ()>>>,
    reported: UnboundedSender<String>,
}

impl User {
    /// Creates a user who logs in at once, with a receiver of their log.
    pub(super) fn new() -> (Arc<Self>, UnboundedReceiver<String>) {
        let (reported, received) = unbounded_channel();
        let user = Self {
            ready: Semaphore::new(1000),
            asked: AtomicUsize::new(0),
            gives_up: AtomicUsize::new(0),
            before_return: Mutex::default(),
            reported,
        };
        (Arc::new(user), received)
    }

    /// Blocks the user.
    pub(super) fn hold(&self) {
        self.ready.forget_permits(usize::MAX >> 4);
    }

    pub(super) fn was_asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    async fn log_in(&self, url: &str, authorization: &Authorization) {
        self.asked.fetch_add(1, Ordering::SeqCst);
        _ = self.reported.send("asked".into());
        self.ready.acquire().await.unwrap().forget();
        let less = |count: usize| count.checked_sub(1);
        if self.gives_up.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less).is_ok() {
            return authorization.abandon();
        }
        let location = visit(url).await.0.unwrap();
        let before = self.before_return.lock().unwrap().take();
        if let Some(before) = before {
            before.await;
        }
        let (_, page) = visit(&location).await;
        _ = self.reported.send(page);
    }
}

/// A host with this user.
pub(super) struct Host(pub(super) Arc<User>);

impl AuthorizationHost for Host {
    fn open_url<'a>(
        &'a self,
        url: &'a BrowserUrl,
        authorization: &'a Authorization,
    ) -> HostFuture<'a, ()> {
        Box::pin(self.0.log_in(url.as_str(), authorization))
    }

    fn storage_failed(&self, error: std::io::Error) {
        _ = self.0.reported.send(format!("storage: {error}"));
    }
}

/// Requests a page as a browser would, and returns the redirect target and the body.
pub(super) async fn visit(url: &str) -> (Option<String>, String) {
    let request = Request::get(url).body(Full::new(Bytes::new())).unwrap();
    let response = soon(plain().send(request)).await.unwrap();
    let location = response.headers().get(LOCATION).map(|value| value.to_str().unwrap().into());
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (location, String::from_utf8(body.to_vec()).unwrap())
}

pub(super) fn authorizer_config(url: &str) -> AuthorizerConfig {
    let mut config = AuthorizerConfig::new(url).unwrap();
    config.registration = Some(ClientMetadata::native("test"));
    config
}

/// Creates an authorization for this server, with a user who logs in at once.
pub(super) fn authorization(url: &str) -> (Authorization, Arc<User>, UnboundedReceiver<String>) {
    let (user, received) = User::new();
    let authorization = Authorization::new(authorizer_config(url), Host(Arc::clone(&user)));
    (authorization, user, received)
}

pub(super) async fn connect(
    url: &str,
    revision: Revision,
    authorization: &Authorization,
) -> Result<Connection, OpenError> {
    soon(open(url, revision, authorization)).await
}

/// Like `connect`, without a timeout.
pub(super) async fn open(
    url: &str,
    revision: Revision,
    authorization: &Authorization,
) -> Result<Connection, OpenError> {
    let mut config = ClientConfig::new("client", "1");
    config.revisions = RevisionSet::only(revision);
    let (http, options) = (HttpClientConfig::new(url), ConnectionOptions::new());
    let transport = Authorized::new(plain(), authorization.clone());
    connect_with(config, http, &options, transport, RefuseAll::new()).await
}

/// Returns the authorization failure among the sources of an error.
pub(super) fn failure_of(error: &(dyn Error + 'static)) -> AuthorizationFailure {
    let links = std::iter::successors(Some(error), |link| (*link).source());
    let mut found = links.filter_map(|link| link.downcast_ref::<AuthorizationFailure>());
    found.next().unwrap_or_else(|| panic!("another failure: {error:?}")).clone()
}
