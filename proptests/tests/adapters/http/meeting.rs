//! The client and the server of this crate, through sockets.

use std::time::Duration;

use mcp_sansio::call::{TaskOptions, Timeout};
use mcp_sansio::event::SubscriptionNews;
use mcp_sansio::json::Raw;
use mcp_sansio::model::{ElicitResult, PageParams, SubscriptionFilter, method};
use mcp_sansio::{
    CallOptions, Client, ClientConfig, ClientEvent, ErrorCode, Phase, Revision, RevisionSet,
    ServerRequest,
};
use mcp_sansio_http::{
    CallFailure, Connection, ConnectionOptions, EndpointOptions, Exchange, Handle, Handler,
    PendingCall, Reply, SharedTasks, connect,
};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::http::kit::{A_LONG_TIME, Served, let_pass, server_config, soon};
use crate::http::raw::text_of;

/// A client that responds to elicitations, and sends the received messages to the test.
struct User(UnboundedSender<String>);

impl Handler<Client> for User {
    async fn serve(&self, exchange: Exchange<Client>) {
        _ = match &exchange.request().kind {
            ServerRequest::Elicit(_) => {
                let content = Raw::new(r#"{"name":"Ada"}"#).unwrap();
                exchange.respond(&ElicitResult::accept(content))
            }
            _ => exchange.reject(ErrorCode::METHOD_NOT_FOUND, "only the user is here"),
        };
    }

    async fn event(&self, _: &Handle<Client>, event: ClientEvent<'static>) {
        let line = match event {
            ClientEvent::Notification(notification) => format!("{}", notification.method),
            ClientEvent::Subscription(update) => match update.news {
                SubscriptionNews::Granted { granted, .. } => format!("granted {granted}"),
                SubscriptionNews::Changed(notification) => format!("{}", notification.method),
                news => format!("{news:?}"),
            },
            ClientEvent::Violation(violation) => format!("violation: {}", violation.kind),
            _ => return,
        };
        _ = self.0.send(line);
    }
}

async fn meet(served: &Served, revision: Revision) -> (Connection, UnboundedReceiver<String>) {
    let (reported, events) = unbounded_channel();
    let connection = soon(connect(config(revision), &served.url(), User(reported))).await.unwrap();
    assert_eq!(connection.connected().revision, revision);
    (connection, events)
}

fn config(revision: Revision) -> ClientConfig {
    let mut config = ClientConfig::new("client", "1");
    config.revisions = RevisionSet::only(revision);
    config.capabilities = config.capabilities.with_tasks();
    config.capabilities.elicitation = Some(Default::default());
    config
}

fn call(connection: &Connection, tool: &str, text: &str) -> PendingCall {
    call_with(connection, tool, text, CallOptions::new())
}

fn call_with(connection: &Connection, tool: &str, text: &str, options: CallOptions) -> PendingCall {
    let params = json!({"name": tool, "arguments": {"text": text}});
    connection.handle().call_method("tools/call", &params, options)
}

async fn text(call: PendingCall) -> String {
    reply_text(&soon(call).await.unwrap())
}

fn reply_text(reply: &Reply) -> String {
    let result: Value = serde_json::from_str(reply.raw().as_json()).unwrap();
    text_of(&json!({"result": result})).to_owned()
}

#[tokio::test]
async fn every_revision_is_spoken() {
    let mut served = Served::new().await;
    for revision in Revision::ALL {
        let (connection, mut events) = meet(&served, revision).await;
        let params = PageParams::default();
        let listed = connection.handle().call::<method::ListTools>(&params, CallOptions::new());
        assert_eq!(soon(listed).await.unwrap().parse().unwrap().tools.iter().count(), 1);
        assert_eq!(text(call(&connection, "echo", revision.name())).await, revision.name());
        let mut steps = call_with(&connection, "steps", "5", CallOptions::new().progress());
        let mut seen = Vec::new();
        while let Some(update) = soon(steps.progress().next()).await {
            seen.push(update.progress.to_string());
        }
        assert_eq!(seen, ["1", "2", "3", "4", "5"]);
        assert_eq!(text(steps).await, "5 steps");
        assert_eq!(served.log.next().await, "sent 5");
        let failure = soon(call(&connection, "panic", "")).await.unwrap_err();
        let CallFailure::PeerError(error) = failure else { panic!("{failure:?}") };
        assert_eq!(error.code, ErrorCode::INTERNAL_ERROR);
        let handle = connection.handle().clone();
        soon(async { connection.close(Duration::from_secs(30)).await }).await.unwrap();
        assert_eq!((handle.phase(), handle.counts().outbound), (Phase::Closed, 0));
        assert!(events.try_recv().is_err());
        // The client has terminated its session.
        assert_eq!(served.endpoint.sessions(), 0);
    }
    assert!(served.log.is_silent());
}

#[tokio::test]
async fn the_user_is_asked() {
    let served = Served::new().await;
    let answer = r#"{"action":"accept","content":{"name":"Ada"}}"#;
    for revision in [Revision::V2025_06_18, Revision::V2025_11_25, Revision::V2026_07_28] {
        let (connection, _events) = meet(&served, revision).await;
        let asked = text(call(&connection, "need", "")).await;
        assert_eq!(asked, answer, "{revision}");
        if revision != Revision::V2026_07_28 {
            assert_eq!(text(call(&connection, "ask", "")).await, answer);
        }
        let many: Vec<_> = (0..20).map(|_| call(&connection, "need", "")).collect();
        for one in many {
            assert_eq!(text(one).await, answer);
        }
    }
}

#[tokio::test]
async fn a_dropped_or_expired_call_is_cancelled() {
    let mut served = Served::new().await;
    for revision in [Revision::V2025_03_26, Revision::V2025_11_25, Revision::V2026_07_28] {
        let (connection, _events) = meet(&served, revision).await;
        let dropped = call(&connection, "wait", "1");
        assert_eq!(served.log.next().await, "waiting 1");
        drop(dropped);
        assert_eq!(served.log.next().await, "cancelled 1");
        // Longer than any wait.
        let total = 10 * A_LONG_TIME;
        let options = CallOptions::new().idle(Timeout::Never).total(Timeout::After(total));
        let late = call_with(&connection, "wait", "2", options);
        assert_eq!(served.log.next().await, "waiting 2");
        let_pass(total).await;
        let late = soon(late).await;
        assert!(matches!(late, Err(CallFailure::TimedOut(_))), "{late:?}");
        assert_eq!(served.log.next().await, "cancelled 2");
        assert_eq!(text(call(&connection, "echo", "on")).await, "on");
    }
    served.is_quiet().await;
}

/// Proves H-HTTP-154, H-HR-16
#[tokio::test]
async fn changes_are_sent_to_subscriptions_and_sessions() {
    let served = Served::new().await;
    let (other, _) = meet(&served, Revision::V2026_07_28).await;
    let changed = "notifications/tools/list_changed";
    let (stateless, mut events) = meet(&served, Revision::V2026_07_28).await;
    let mut filter = SubscriptionFilter::new();
    filter.tools_list_changed = Some(true);
    for _ in 0..3 {
        let subscription = stateless.handle().subscribe(&filter).unwrap();
        let granted = soon(events.recv()).await.unwrap();
        assert_eq!(granted, r#"granted {"toolsListChanged":true}"#);
        assert_eq!(text(call(&other, "change", "")).await, "changed");
        assert_eq!(soon(events.recv()).await.unwrap(), changed);
        stateless.handle().unsubscribe(subscription).unwrap();
    }
    let (in_session, mut received) = meet(&served, Revision::V2025_11_25).await;
    assert_eq!(text(call(&in_session, "echo", "")).await, "");
    for _ in 0..3 {
        assert_eq!(text(call(&other, "change", "")).await, "changed");
        assert_eq!(soon(received.recv()).await.unwrap(), changed);
    }
    assert!(received.try_recv().is_err());
}

#[tokio::test]
async fn calls_become_tasks() {
    let mut options = EndpointOptions::new();
    options.connection = ConnectionOptions::new().tasks(SharedTasks::default());
    let mut config = server_config();
    config.capabilities = config.capabilities.with_tasks();
    let mut served = Served::with(config, options, Duration::ZERO).await;
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let (connection, _events) = meet(&served, revision).await;
        let soon_again = TaskOptions::new().poll_interval(Duration::from_millis(10));
        let options = CallOptions::new().task(soon_again);
        let pending = call_with(&connection, "task", "", options);
        assert_eq!(served.log.next().await, "a task", "{revision}");
        served.script.gate.add_permits(1);
        assert_eq!(text(pending).await, "done", "{revision}");
    }
}

/// The server ends the response of a slow call early; its client resumes the rest.
///
/// Proves H-HR-09
#[tokio::test]
async fn the_rest_of_a_response_can_be_had_later() {
    let mut options = EndpointOptions::new();
    options.http.retry = Duration::from_millis(10);
    let mut served = Served::with(server_config(), options, Duration::ZERO).await;
    let (connection, _events) = meet(&served, Revision::V2025_11_25).await;
    for _ in 0..3 {
        let pending = call(&connection, "later", "");
        assert_eq!(served.log.next().await, "closed true");
        served.script.gate.add_permits(1);
        assert_eq!(text(pending).await, "later");
    }
    for revision in [Revision::V2025_06_18, Revision::V2026_07_28] {
        let (connection, _events) = meet(&served, revision).await;
        let pending = call(&connection, "later", "");
        assert_eq!(served.log.next().await, "closed false");
        served.script.gate.add_permits(1);
        assert_eq!(text(pending).await, "later");
    }
}

/// Dropping a connection terminates its session all the same, and ends its calls.
#[tokio::test]
async fn a_connection_that_is_dropped_ends_its_session() {
    let mut served = Served::new().await;
    for revision in [Revision::V2025_03_26, Revision::V2025_11_25, Revision::V2026_07_28] {
        let (connection, _events) = meet(&served, revision).await;
        let pending = call(&connection, "wait", "1");
        assert_eq!(served.log.next().await, "waiting 1");
        drop(connection);
        assert!(matches!(soon(pending).await, Err(CallFailure::Closed(_))));
        assert_eq!(served.log.next().await, "cancelled 1");
        let over = async {
            while served.endpoint.sessions() + served.endpoint.open_requests() != 0 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        soon(over).await;
    }
}

/// A session that the server has forgotten is opened again, and the same handle remains usable.
#[tokio::test]
async fn a_session_that_has_run_out_is_renewed() {
    let mut options = EndpointOptions::new();
    let idle = 2 * A_LONG_TIME;
    options.http.session_idle = Some(idle);
    let served = Served::with(server_config(), options, Duration::ZERO).await;
    let mut http = mcp_sansio::http::HttpClientConfig::new(served.url());
    http.listens = false;
    let config = config(Revision::V2025_11_25);
    let executor = hyper_util::rt::TokioExecutor::new();
    let transport = hyper_util::client::legacy::Client::builder(executor).build_http();
    let (reported, _events) = unbounded_channel();
    let options = ConnectionOptions::new();
    let connecting =
        mcp_sansio_http::connect_with(config, http, &options, transport, User(reported));
    let connection = soon(connecting).await.unwrap();
    for _ in 0..3 {
        // A request that has not ended keeps the session alive for another timeout period.
        let mut times = 0;
        while served.endpoint.sessions() != 0 {
            let_pass(idle).await;
            tokio::time::sleep(Duration::from_millis(5)).await;
            times += 1;
            assert!(times < 10_000, "the session is still there");
        }
        let lost = soon(call(&connection, "echo", "lost")).await.unwrap_err();
        assert!(matches!(lost, CallFailure::Closed(mcp_sansio::Cause::SessionLost)), "{lost:?}");
        assert_eq!(text(call(&connection, "echo", "again")).await, "again");
    }
}
