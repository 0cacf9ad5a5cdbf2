//! Requests with tokens, and requests that are sent again after a refusal.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use mcp_sansio::auth::{AuthorizationFailure, Stage};
use mcp_sansio::http::HttpClientConfig;
use mcp_sansio::model::SubscriptionFilter;
use mcp_sansio::{CallOptions, ClientConfig, Revision};
use mcp_sansio_http::{
    Authorized, Connection, ConnectionOptions, PendingCall, RefuseAll, connect_with, plain,
};
use mcp_sansio_proptests::authorization_server::Misbehaviour;
use serde_json::{Value, json};

use super::kit::{Protected, Seen, authorization, connect, failure_of};
use crate::http::kit::soon;
use crate::http::raw::text_of;

pub(super) fn call(connection: &Connection, tool: &str, text: &str) -> PendingCall {
    let params = json!({"name": tool, "arguments": {"text": text}});
    connection.handle().call_method("tools/call", &params, CallOptions::new())
}

pub(super) async fn text(call: PendingCall) -> String {
    let result: Value = serde_json::from_str(soon(call).await.unwrap().raw().as_json()).unwrap();
    text_of(&json!({ "result": result })).to_owned()
}

async fn close(connection: Connection) {
    soon(connection.close(Duration::from_secs(30))).await.unwrap();
}

/// Waits until this many requests of this kind have arrived, and returns all requests.
async fn until(protected: &Protected, what: &str, many: usize) -> Vec<Seen> {
    let mut all = Vec::new();
    let came = async {
        loop {
            all.extend(protected.seen());
            if all.iter().filter(|seen: &&Seen| seen.what == what).count() >= many {
                break;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    soon(came).await;
    all
}

/// Proves A-GEN-02, A-USE-01.
#[tokio::test]
async fn every_request_carries_the_token_in_its_field() {
    let mut protected = Protected::new().await;
    let (authorization, user, _received) = authorization(&protected.url());
    let mut all = Vec::new();
    // A session with its event stream, a resumed response, and its termination.
    let connection =
        connect(&protected.url(), Revision::V2025_11_25, &authorization).await.unwrap();
    all.extend(until(&protected, "GET", 1).await);
    let pending = call(&connection, "later", "");
    assert_eq!(protected.log.next().await, "closed true");
    protected.script.gate.add_permits(1);
    assert_eq!(text(pending).await, "later");
    close(connection).await;
    // Modern requests, one of which is a subscription.
    let connection =
        connect(&protected.url(), Revision::V2026_07_28, &authorization).await.unwrap();
    assert_eq!(text(call(&connection, "echo", "x")).await, "x");
    let mut filter = SubscriptionFilter::new();
    filter.tools_list_changed = Some(true);
    connection.handle().subscribe(&filter).unwrap();
    all.extend(until(&protected, "POST subscriptions/listen", 1).await);
    close(connection).await;
    all.extend(protected.seen());

    let kinds: BTreeSet<&str> = all.iter().map(|seen| seen.what.as_str()).collect();
    let expected = [
        "DELETE",
        "GET",
        "GET again",
        "POST initialize",
        "POST notifications/initialized",
        "POST server/discover",
        "POST subscriptions/listen",
        "POST tools/call",
    ];
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), expected);
    // Only the first request was sent before there was a token.
    let refused: Vec<bool> = all.iter().map(|seen| seen.is_refused).collect();
    assert_eq!(refused.iter().filter(|is_refused| **is_refused).count(), 1);
    assert!(refused[0] && all[0].token.is_none());
    let token = all[1].token.clone().unwrap();
    assert!(all[1..].iter().all(|seen| seen.token.as_ref() == Some(&token)), "{all:?}");
    assert!(all.iter().all(|seen| seen.uri == "/mcp"), "nothing is in a query");
    assert_eq!(user.was_asked(), 1);
    assert_eq!(protected.issuer.lock().counts.token, 1);
}

/// Proves A-GEN-06.
#[tokio::test]
async fn a_session_goes_on_after_a_refusal() {
    let protected = Protected::new().await;
    let (authorization, user, _received) = authorization(&protected.url());
    let connection =
        connect(&protected.url(), Revision::V2025_11_25, &authorization).await.unwrap();
    assert_eq!(text(call(&connection, "echo", "1")).await, "1");
    let handle = connection.handle().clone();
    let state = (handle.phase(), handle.connection(), handle.revision());
    protected.issuer.lock().revoke_access_tokens();
    assert_eq!(text(call(&connection, "echo", "2")).await, "2");
    assert_eq!((handle.phase(), handle.connection(), handle.revision()), state);
    assert_eq!(handle.counts().outbound, 0);
    assert_eq!(protected.endpoint.sessions(), 1);
    let all = protected.seen();
    let opened = all.iter().filter(|seen| seen.what == "POST initialize");
    // The first `initialize` request was refused.
    assert_eq!(opened.map(|seen| seen.is_refused).collect::<Vec<_>>(), [true, false]);
    let sessions: BTreeSet<_> = all.iter().filter_map(|seen| seen.session.as_ref()).collect();
    assert_eq!(sessions.len(), 1);
    assert_eq!((user.was_asked(), protected.issuer.lock().counts.refresh), (1, 1));
    close(connection).await;
}

/// Proves A-CHAL-16.
#[tokio::test]
async fn a_refusal_counts_on_a_stream_and_at_the_end_as_well() {
    for what in ["GET", "DELETE", "GET again"] {
        let mut protected = Protected::new().await;
        let (authorization, user, _received) = authorization(&protected.url());
        protected.refuse_next(what);
        let connection =
            connect(&protected.url(), Revision::V2025_11_25, &authorization).await.unwrap();
        let mut all = until(&protected, "GET", if what == "GET" { 2 } else { 1 }).await;
        let pending = call(&connection, "later", "");
        assert_eq!(protected.log.next().await, "closed true");
        protected.script.gate.add_permits(1);
        assert_eq!(text(pending).await, "later");
        close(connection).await;
        all.extend(protected.seen());
        let of_kind: Vec<&Seen> = all.iter().filter(|seen| seen.what == what).collect();
        assert!(of_kind[0].is_refused && !of_kind[1].is_refused, "{what}");
        // The client sends the same request with another token.
        assert_ne!(of_kind[0].token, of_kind[1].token, "{what}");
        assert_eq!(of_kind[0].session, of_kind[1].session, "{what}");
        let counts = protected.issuer.lock().counts;
        assert_eq!((user.was_asked(), counts.token, counts.refresh), (1, 2, 1), "{what}");
        assert_eq!(protected.endpoint.sessions(), 0, "{what}");
    }
}

/// The user is not asked to log in for the end of a session.
#[tokio::test]
async fn the_end_of_a_session_begins_no_login() {
    for issues_refresh_tokens in [false, true] {
        let protected = Protected::with(|options| {
            options.issues_refresh_tokens = issues_refresh_tokens;
        });
        let protected = protected.await;
        let (authorization, user, _received) = authorization(&protected.url());
        let connection =
            connect(&protected.url(), Revision::V2025_11_25, &authorization).await.unwrap();
        until(&protected, "GET", 1).await;
        // The refresh is refused.
        protected.issuer.lock().forget_clients();
        protected.refuse_next("DELETE");
        close(connection).await;
        let all = protected.seen();
        let ends: Vec<_> = all.iter().filter(|seen| seen.what == "DELETE").collect();
        assert!(matches!(ends[..], [Seen { is_refused: true, .. }]), "{all:?}");
        assert_eq!((user.was_asked(), authorization.stage()), (1, Stage::Idle));
        assert_eq!(protected.issuer.lock().counts.register, 1);
    }
}

/// The authorization server fails while the stream breaks. The stream is requested again although the client sends
/// nothing else.
#[tokio::test]
async fn a_stream_outlives_a_failure_of_the_authorization_server() {
    let mut protected = Protected::new().await;
    let (authorization, user, _received) = authorization(&protected.url());
    let connection =
        connect(&protected.url(), Revision::V2025_11_25, &authorization).await.unwrap();
    until(&protected, "GET", 1).await;
    {
        let mut server = protected.issuer.lock();
        server.revoke_access_tokens();
        server.options.misbehaviour = Some(Misbehaviour::TokenUnavailable);
    }
    protected.interrupt().await;
    let mut all = Vec::new();
    let came = async {
        while all.len() < 2 {
            all.extend(protected.seen());
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    soon(came).await;
    assert!(all.iter().all(|seen| seen.what.starts_with("GET")), "{all:?}");
    assert_eq!(all.iter().map(|seen| seen.is_refused).collect::<Vec<_>>(), [true, false]);
    assert_eq!((user.was_asked(), protected.issuer.lock().counts.refresh), (1, 1));
    close(connection).await;
}

/// Proves A-USE-05.
#[tokio::test]
async fn a_field_of_the_host_and_tokens_exclude_each_other() {
    let protected = Protected::new().await;
    let (authorization, user, _received) = authorization(&protected.url());
    let mut http = HttpClientConfig::new(protected.url());
    http.header("Authorization", "Bearer mine").unwrap();
    let transport = Authorized::new(plain(), authorization);
    let (config, options) = (ClientConfig::new("client", "1"), ConnectionOptions::new());
    let connected = soon(connect_with(config, http, &options, transport, RefuseAll::new())).await;
    let failure = failure_of(&connected.unwrap_err());
    let expected = "leave the Authorization field to the authorization";
    assert_eq!(failure, AuthorizationFailure::Host(expected));
    assert_eq!((protected.seen(), user.was_asked()), (Vec::new(), 0));
}

/// The tool is not idempotent, and runs once.
///
/// Proves A-USE-07, A-USE-09.
#[tokio::test]
async fn a_refused_call_is_sent_again_once_with_the_same_bytes() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let mut protected = Protected::new().await;
        let (authorization, _user, _received) = authorization(&protected.url());
        let connection = connect(&protected.url(), revision, &authorization).await.unwrap();
        assert_eq!(text(call(&connection, "echo", "")).await, "");
        protected.seen();
        protected.issuer.lock().revoke_access_tokens();
        assert_eq!(text(call(&connection, "note", "7")).await, "noted");
        let calls = protected.seen().into_iter().filter(|seen| seen.what == "POST tools/call");
        let calls: Vec<Seen> = calls.collect();
        assert_eq!(calls.len(), 2);
        assert!(calls[0].is_refused && !calls[1].is_refused);
        assert_eq!(calls[0].body, calls[1].body);
        assert_ne!(calls[0].token, calls[1].token);
        assert_eq!(protected.log.next().await, "note 7");
        close(connection).await;
        assert!(protected.log.is_silent());
    }
}

/// Ten calls are refused at the same time: one refresh serves all of them, and each runs once.
///
/// Proves A-USE-07, A-REF-07, A-CHAL-17.
#[tokio::test]
async fn calls_in_flight_wait_for_one_token() {
    let mut protected = Protected::new().await;
    let (authorization, user, _received) = authorization(&protected.url());
    let connection =
        connect(&protected.url(), Revision::V2026_07_28, &authorization).await.unwrap();
    assert_eq!(text(call(&connection, "echo", "")).await, "");
    protected.seen();
    protected.issuer.lock().revoke_access_tokens();
    protected.refuse_together(10);
    let calls: Vec<PendingCall> =
        (0..10).map(|number| call(&connection, "note", &number.to_string())).collect();
    for pending in calls {
        assert_eq!(text(pending).await, "noted");
    }
    let ran: Vec<String> = (0..10).map(|number| format!("note {number}")).collect();
    assert_eq!(protected.log.sorted(10).await, ran);
    let counts = protected.issuer.lock().counts;
    assert_eq!((counts.token, counts.refresh, user.was_asked()), (2, 1, 1));
    let all = protected.seen();
    assert_eq!((all.len(), all.iter().filter(|seen| seen.is_refused).count()), (20, 10));
    close(connection).await;
    assert!(protected.log.is_silent());
}

/// The adapters for pipes are built without authorization, so their API has no parameter for it.
///
/// Proves A-GEN-03.
#[test]
fn pipes_know_no_authorization() {
    let adapters = Path::new(env!("CARGO_MANIFEST_DIR")).join("../adapters");
    let read = |name: &str| {
        let manifest = std::fs::read_to_string(adapters.join(name).join("Cargo.toml")).unwrap();
        let features =
            manifest.lines().filter(|line| line.contains("auth") && !line.contains("authors"));
        features.count()
    };
    assert_ne!(read("http"), 0, "the search finds something");
    for name in ["async-std", "driver", "std", "tokio"] {
        assert_eq!(read(name), 0, "{name}");
    }
}
