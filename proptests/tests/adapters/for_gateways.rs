//! What gateways need of the adapters: subscriptions beside shared tasks, the reasons of cancellations, the order of events
//! and results, header fields of tools that change.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_sansio::event::SubscriptionNews;
use mcp_sansio::http::{HttpClientConfig, ParamHeaders};
use mcp_sansio::json::Raw;
use mcp_sansio::model::{
    CallToolResult, EmptyCapability, ListChanged, ResourcesCapability, SubscriptionFilter,
};
use mcp_sansio::task::TasksConfig;
use mcp_sansio::{
    CallOptions, Client, ClientConfig, ClientEvent, ErrorCode, Revision, RevisionSet, Server,
    ServerConfig, ServerEvent,
};
use mcp_sansio_http::{Endpoint, EndpointOptions, InMemory, ToolHeaders};
use mcp_sansio_tokio::{
    Connection, ConnectionGroup, ConnectionOptions, Exchange, Handle, Handler, RefuseAll,
    SharedTasks, clock, connect_with, serve_with,
};
use serde_json::json;
use tokio::sync::Notify;

/// A server that notes what happens.
#[derive(Clone, Default)]
struct Notes {
    noted: Arc<Mutex<Vec<String>>>,
    connections: ConnectionGroup,
}

impl Notes {
    fn note(&self, text: impl Into<String>) {
        self.noted.lock().unwrap().push(text.into());
    }

    fn taken(&self) -> Vec<String> {
        std::mem::take(&mut *self.noted.lock().unwrap())
    }
}

impl Handler<Server> for Notes {
    async fn serve(&self, exchange: Exchange) {
        if exchange.request().method == "tools/call" {
            self.note("called");
            exchange.cancelled().await;
            self.note(format!("cancelled: {:?}", exchange.cancel_reason()));
        } else {
            _ = exchange.respond(&());
        }
    }

    fn begin(&self, handle: &Handle<Server>) {
        self.connections.add(handle);
    }

    async fn event(&self, _: &Handle<Server>, event: ServerEvent<'static>) {
        match event {
            ServerEvent::Subscribed(subscribed) => {
                self.note(format!("subscribed: {}", subscribed.requested.as_json()));
            }
            ServerEvent::Cancelled(cancelled) => {
                let reason = cancelled.reason.map(|reason| reason.to_string());
                self.note(format!("ended: {reason:?}"));
            }
            _ => {}
        }
    }
}

fn server_config() -> ServerConfig {
    let mut config = ServerConfig::new("server", "1");
    config.capabilities.tools = Some(ListChanged::default());
    config.capabilities.logging = Some(EmptyCapability::default());
    let mut resources = ResourcesCapability::default();
    resources.subscribe = Some(true);
    config.capabilities.resources = Some(resources);
    config.capabilities = config.capabilities.with_tasks();
    config
}

/// Connects a client of one revision to a server with shared tasks, both in this process.
async fn open(
    revision: Revision,
    server: impl Handler<Server>,
    client: impl Handler<Client>,
) -> Connection {
    let (ours, theirs) = tokio::io::duplex(64 << 10);
    let (reader, writer) = tokio::io::split(theirs);
    let tasks = SharedTasks::with_clock(TasksConfig::default(), clock());
    let options = ConnectionOptions::new().tasks(tasks);
    tokio::spawn(
        async move { serve_with(server_config(), &options, reader, writer, server).await },
    );
    let (reader, writer) = tokio::io::split(ours);
    let mut config = ClientConfig::new("client", "1");
    config.revisions = RevisionSet::only(revision);
    connect_with(config, &ConnectionOptions::new(), reader, writer, client).await.unwrap()
}

/// Lets everything happen that happens at once.
async fn settle() {
    tokio::time::sleep(Duration::from_millis(10)).await;
}

/// With shared tasks, no handler serves a subscription. Its beginning and its end are events.
#[tokio::test(start_paused = true)]
async fn subscriptions_beside_shared_tasks_are_reported() {
    let server = Notes::default();
    let connection = open(Revision::V2026_07_28, server.clone(), RefuseAll::new()).await;
    let filter = SubscriptionFilter::new().with_resource("a:b");
    let subscription = connection.handle().subscribe(&filter).unwrap();
    settle().await;
    assert_eq!(server.taken(), [r#"subscribed: {"resourceSubscriptions":["a:b"]}"#]);
    connection.handle().unsubscribe(subscription).unwrap();
    settle().await;
    assert_eq!(server.taken(), ["ended: None"]);
}

/// The handler of a cancelled request has the reason, and its cancellation is no event.
#[tokio::test(start_paused = true)]
async fn the_reason_of_a_cancellation_reaches_the_handler() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let server = Notes::default();
        let connection = open(revision, server.clone(), RefuseAll::new()).await;
        for (reason, expected) in [(Some("too slow"), r#"Some("too slow")"#), (None, "None")] {
            let params = mcp_sansio_tokio::Json(json!({"name": "t"}));
            let call = connection.handle().call_method("tools/call", &params, CallOptions::new());
            settle().await;
            call.cancel(reason);
            settle().await;
            assert_eq!(server.taken(), ["called".to_owned(), format!("cancelled: {expected}")]);
        }
    }
}

/// A client whose handler of events is slow.
#[derive(Clone, Default)]
struct Slow {
    continues: Arc<Notify>,
    handled: Arc<Mutex<Vec<String>>>,
}

impl Handler<Client> for Slow {
    async fn serve(&self, exchange: Exchange<Client>) {
        _ = exchange.reject(ErrorCode::METHOD_NOT_FOUND, "method not found");
    }

    async fn event(&self, _: &Handle<Client>, event: ClientEvent<'static>) {
        if let ClientEvent::Notification(notification) = event {
            self.continues.notified().await;
            self.handled.lock().unwrap().push(notification.method.to_string());
        }
    }
}

/// The result of a call is there before the handler has seen the notification that came first. `events_handled` waits for
/// the notifications that were there, and not for later ones.
#[tokio::test(start_paused = true)]
async fn events_before_a_result_can_be_waited_for() {
    async fn notifies(exchange: Exchange) -> Result<(), mcp_sansio::RespondError> {
        exchange.handle().notify_method("x/first", &()).unwrap();
        exchange.respond(&CallToolResult::text("done"))?;
        exchange.handle().notify_method("x/second", &()).unwrap();
        Ok(())
    }
    let client = Slow::default();
    let connection = open(Revision::V2025_11_25, notifies, client.clone()).await;
    let handle = connection.handle();
    // Nothing has arrived.
    handle.events_handled().await;
    let params = mcp_sansio_tokio::Json(json!({"name": "t"}));
    handle.call_method("tools/call", &params, CallOptions::new()).await.unwrap();
    assert_eq!(*client.handled.lock().unwrap(), Vec::<String>::new());
    let mut handled = std::pin::pin!(handle.events_handled());
    assert!(tokio::time::timeout(Duration::from_secs(1), handled.as_mut()).await.is_err());
    client.continues.notify_one();
    let mut later = std::pin::pin!(handle.events_handled());
    assert!(tokio::time::timeout(Duration::from_secs(1), later.as_mut()).await.is_err());
    assert_eq!(*client.handled.lock().unwrap(), ["x/first"]);
    client.continues.notify_one();
    later.await;
    handled.await;
    assert_eq!(*client.handled.lock().unwrap(), ["x/first", "x/second"]);
}

/// Notes the changes of its subscriptions.
#[derive(Clone, Default)]
struct Watches(Arc<Mutex<Vec<String>>>);

impl Handler<Client> for Watches {
    async fn serve(&self, exchange: Exchange<Client>) {
        _ = exchange.reject(ErrorCode::METHOD_NOT_FOUND, "method not found");
    }

    async fn event(&self, _: &Handle<Client>, event: ClientEvent<'static>) {
        if let ClientEvent::Subscription(update) = event
            && let SubscriptionNews::Changed(change) = update.news
        {
            let params = change.params.unwrap();
            self.0.lock().unwrap().push(params.get("uri").unwrap().as_json().to_owned());
        }
    }
}

/// A change inside a subscribed resource is announced to all its subscribers.
#[tokio::test(start_paused = true)]
async fn changes_below_a_resource_are_announced_to_a_group() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let (server, client) = (Notes::default(), Watches::default());
        let connection = open(revision, server.clone(), client.clone()).await;
        connection.handle().subscribe(&SubscriptionFilter::new().with_resource("a:b")).unwrap();
        settle().await;
        server.connections.resource_updated_below("a:b", "a:b/c");
        server.connections.resource_updated_below("a:other", "a:other/c");
        settle().await;
        assert_eq!(*client.0.lock().unwrap(), [r#""a:b/c""#], "{revision:?}");
    }
}

/// The header fields of a tool are looked up for each call.
#[tokio::test]
async fn header_fields_of_tools_can_change() {
    async fn done(exchange: Exchange) -> Result<(), mcp_sansio::RespondError> {
        exchange.respond(&CallToolResult::text("done"))
    }
    let schema =
        r#"{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}"#;
    let headers = Arc::new(ParamHeaders::of(&Raw::new(schema).unwrap()).unwrap());
    let known: Arc<Mutex<Option<Arc<ParamHeaders>>>> = Arc::default();
    let mut options = EndpointOptions::new();
    let of = Arc::clone(&known);
    options.tool_headers = Some(ToolHeaders::new(move |tool| {
        assert_eq!(tool, "t");
        of.lock().unwrap().clone()
    }));
    let endpoint = Endpoint::with(server_config(), options, done);
    let mut config = ClientConfig::new("client", "1");
    config.revisions = RevisionSet::MODERN;
    let http = HttpClientConfig::new("http://localhost/mcp");
    let executor = hyper_util::rt::TokioExecutor::new();
    let transport =
        hyper_util::client::legacy::Client::builder(executor).build(InMemory::new(endpoint));
    let options = ConnectionOptions::new();
    let connection =
        mcp_sansio_http::connect_with(config, http, &options, transport, RefuseAll::new());
    let connection = connection.await.unwrap();
    let params = json!({"name": "t", "arguments": {"region": "here"}});
    let params = mcp_sansio_tokio::Json(params);
    let call = || connection.handle().call_method("tools/call", &params, CallOptions::new());
    // The client has not listed the tools, so it sends no field.
    call().await.unwrap();
    *known.lock().unwrap() = Some(headers);
    let failure = call().await.unwrap_err().to_string();
    assert!(failure.contains("-32020"), "{failure}");
    *known.lock().unwrap() = None;
    call().await.unwrap();
}
