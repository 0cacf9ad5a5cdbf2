//! The `Authorization` fields and the failures of requests that reach no server.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, HeaderValue};
use hyper::{Request, Response};
use mcp_sansio::auth::{AuthorizationFailure, FetchPolicy, NotAllowed, Saved};
use mcp_sansio_http::{
    Authorization, Authorized, MemoryStorage, SendError, TokenStorage, Transport, checked,
};
use serde_json::json;

use super::kit::{Host, User, authorizer_config, failure_of};

const SERVER: &str = "https://mcp.example/mcp";

/// A transport that reaches no server, and records the `Authorization` field of each request.
#[derive(Clone, Default)]
struct Recorder(Arc<Mutex<Vec<Option<HeaderValue>>>>);

impl Transport for Recorder {
    async fn send(&self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, SendError> {
        self.0.lock().unwrap().push(request.headers().get(AUTHORIZATION).cloned());
        Err(SendError::Unreachable("there is no server".into()))
    }
}

/// A client whose requests are recorded.
struct Recorded {
    recorder: Recorder,
    transport: Authorized<Recorder>,
}

impl Recorded {
    /// Creates a client with this state in its storage.
    async fn new(saved: &Saved) -> Self {
        let storage = MemoryStorage::new();
        storage.save(saved).await.unwrap();
        let (user, _received) = User::new();
        let authorization = Authorization::new(authorizer_config(SERVER), Host(user));
        let recorder = Recorder::default();
        let transport = Authorized::new(recorder.clone(), authorization.storage(storage));
        Self { recorder, transport }
    }

    /// Sends a request, and returns the field of the first request that was sent. The others have none.
    async fn field(&self) -> Option<HeaderValue> {
        let request = Request::get(SERVER).body(Full::new(Bytes::new())).unwrap();
        assert!(self.transport.send(request).await.is_err());
        let sent = std::mem::take(&mut *self.recorder.0.lock().unwrap());
        let [field, others @ ..] = &sent[..] else { panic!("{sent:?}") };
        assert!(others.iter().all(Option::is_none), "{sent:?}");
        field.clone()
    }
}

/// Returns a state with an access token that expires at this time, and with this refresh token.
fn saved(expires_at: u64, refresh_token: Option<&str>) -> Saved {
    let issuer = "https://as.example";
    let client = json!({
        "issuer": issuer, "client_id": "c", "secret": "s", "secret_expires_at": null, "key": null,
        "method": null, "redirect_uri": null, "source": "Registered",
    });
    let grant = json!({
        "issuer": issuer, "resource": SERVER, "token_endpoint": "https://as.example/token",
        "client": client, "method": "client_secret_basic", "access_token": "t",
        "refresh_token": refresh_token, "issued_at": 0, "expires_at": expires_at,
        "requested": [], "granted": [],
    });
    let stored = json!({ "version": 1, "generation": 1, "clients": [], "grant": grant });
    Saved::from_text(&stored.to_string()).unwrap()
}

fn seconds() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs()
}

/// Proves A-REF-03: the computer sleeps until the token has expired, and the clock of its timers with it.
#[tokio::test(start_paused = true)]
async fn a_client_sees_by_the_wall_clock_that_a_token_has_expired() {
    let expires_at = seconds() + 1;
    let client = Recorded::new(&saved(expires_at, None)).await;
    while seconds() < expires_at {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(client.field().await, None);
}

/// Proves A-REF-03: the wall clock was ahead of the clock of timers, and is no longer. The time of the client goes on.
#[tokio::test(start_paused = true)]
async fn a_client_whose_wall_clock_is_corrected_does_not_go_back() {
    let started = seconds();
    let client = Recorded::new(&saved(started + 12, None)).await;
    while seconds() < started + 2 {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(client.field().await.is_some(), "the wall clock is ahead by more than a second");
    // The timers catch up with the wall clock, and pass it.
    tokio::time::advance(Duration::from_secs(10)).await;
    assert_eq!(client.field().await, None);
}

/// Proves A-SEC-03: a transport that logs the fields of requests shows no secret.
#[tokio::test]
async fn credentials_are_marked_as_sensitive() {
    let far = seconds() + 3600;
    for (saved, value) in [
        (saved(far, None), "Bearer t"),
        // The access token has expired, so the first request is a token request.
        (saved(1, Some("r")), "Basic Yzpz"),
    ] {
        let field = Recorded::new(&saved).await.field().await.unwrap();
        assert_eq!((field.to_str().unwrap(), field.is_sensitive()), (value, true));
    }
}

/// A transport whose connections the system denies, as in a sandbox.
#[derive(Clone)]
struct Denied;

impl Transport for Denied {
    async fn send(&self, _: Request<Full<Bytes>>) -> Result<Response<Incoming>, SendError> {
        let error = io::Error::from(io::ErrorKind::PermissionDenied);
        Err(SendError::Unreachable(error.into()))
    }
}

/// Returns the failure of a request to a server on this computer, whose token has to be refreshed.
async fn refresh_failure(transport: impl Transport) -> AuthorizationFailure {
    const LOCAL: &str = "http://localhost:1";
    let text = saved(1, Some("r")).to_text().expose().replace("https://mcp.example", LOCAL);
    let saved = Saved::from_text(&text.replace("https://as.example", LOCAL)).unwrap();
    let storage = MemoryStorage::new();
    storage.save(&saved).await.unwrap();
    let (url, (user, _received)) = (format!("{LOCAL}/mcp"), User::new());
    let authorization = Authorization::new(authorizer_config(&url), Host(user)).storage(storage);
    let request = Request::get(&url).body(Full::new(Bytes::new())).unwrap();
    failure_of(&Authorized::new(transport, authorization).send(request).await.unwrap_err())
}

/// Proves A-SEC-05: only the policy makes an address forbidden. A connection that the system denies may succeed later.
#[tokio::test]
async fn a_denied_connection_is_not_forbidden_by_the_policy() {
    let place = "the metadata of the server";
    let forbidden = AuthorizationFailure::NotAllowed { place, reason: NotAllowed::Policy };
    assert_eq!(refresh_failure(checked(FetchPolicy::default())).await, forbidden);
    let denied = AuthorizationFailure::Transient { place, status: None, retry_after: None };
    assert_eq!(refresh_failure(Denied).await, denied);
}
