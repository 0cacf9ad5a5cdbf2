//! Subscriptions to resources of a `Router` that some clients may not use.

use std::net::Ipv4Addr;
use std::time::Duration;

use mcp_sansio::config::Listening;
use mcp_sansio::event::SubscriptionNews;
use mcp_sansio::model::SubscriptionFilter;
use mcp_sansio::{Client, ClientConfig, ClientEvent, ErrorCode, Revision, RevisionSet};
use mcp_sansio_http::{
    Connection, ConnectionOptions, Endpoint, EndpointOptions, Entry, Exchange, Failed, Handle,
    Handler, Router, SharedTasks, connect, serve,
};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::http::kit::soon;

/// Sends the news of subscriptions to the test.
struct News(UnboundedSender<String>);

impl Handler<Client> for News {
    async fn serve(&self, exchange: Exchange<Client>) {
        _ = exchange.reject(ErrorCode::METHOD_NOT_FOUND, "only subscriptions are here");
    }

    async fn event(&self, _: &Handle<Client>, event: ClientEvent<'static>) {
        let ClientEvent::Subscription(update) = event else { return };
        _ = self.0.send(match update.news {
            SubscriptionNews::Granted { granted, .. } => granted.to_string(),
            SubscriptionNews::Changed(notification) => notification.params.unwrap().to_string(),
            news => format!("{news:?}"),
        });
    }
}

fn guarded() -> Router {
    let router = Router::new();
    for uri in ["test://open", "test://hidden", "test://guarded"] {
        router.resource(uri, "resource", |_: &Exchange| "text");
    }
    router.show_if(|_, entry| entry != Entry::Resource("test://hidden"));
    router.wrap(async |exchange, next| {
        if next.name() == "test://guarded" {
            return Err(Failed::refused(ErrorCode::INVALID_REQUEST, "not for this client"));
        }
        next.run(exchange).await
    });
    router
}

async fn subscribed(
    router: &Router,
    options: EndpointOptions,
) -> (Endpoint, Connection, UnboundedReceiver<String>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let endpoint = Endpoint::with(router.config("guarded", "1"), options, router.clone());
    let stopped = std::future::pending::<()>();
    tokio::spawn(serve(endpoint.clone(), "/mcp", listener, stopped, Duration::ZERO));
    let mut config = ClientConfig::new("client", "1");
    config.revisions = RevisionSet::only(Revision::V2026_07_28);
    let (reported, news) = unbounded_channel();
    let connection = soon(connect(config, &url, News(reported))).await.unwrap();
    let filter = ["open", "hidden", "guarded", "unknown"]
        .into_iter()
        .fold(SubscriptionFilter::new(), |filter, name| {
            filter.with_resource(format!("test://{name}"))
        });
    connection.handle().subscribe(&filter).unwrap();
    (endpoint, connection, news)
}

/// Proves M-SUB-10, M-SUB-37: with and without tasks, a router grants only the resources that the client may use.
#[tokio::test]
async fn a_router_grants_only_resources_that_the_client_may_use() {
    let router = guarded();
    assert_eq!(router.config("guarded", "1").listening, Listening::Asked);
    let mut with_tasks = EndpointOptions::new();
    with_tasks.connection = ConnectionOptions::new().tasks(SharedTasks::default());
    for options in [EndpointOptions::new(), with_tasks] {
        let (endpoint, _connection, mut news) = subscribed(&router, options).await;
        let granted = soon(news.recv()).await.unwrap();
        assert_eq!(granted, r#"{"resourceSubscriptions":["test://open","test://unknown"]}"#);
        for name in ["hidden", "guarded", "open"] {
            router.resource_updated(&format!("test://{name}"));
        }
        let updated = soon(news.recv()).await.unwrap();
        assert!(updated.contains(r#""uri":"test://open""#), "{updated}");
        assert_eq!(endpoint.open_requests(), 1);
    }
}

/// Without middleware and filters the machine grants subscriptions, or the adapter with tasks.
#[tokio::test]
async fn a_router_without_guards_grants_everything() {
    let router = Router::new();
    router.resource("test://open", "resource", |_: &Exchange| "text");
    assert_eq!(router.config("open", "1").listening, Listening::Granted);
    let mut with_tasks = EndpointOptions::new();
    with_tasks.connection = ConnectionOptions::new().tasks(SharedTasks::default());
    for options in [EndpointOptions::new(), with_tasks] {
        let (_endpoint, _connection, mut news) = subscribed(&router, options).await;
        let granted = soon(news.recv()).await.unwrap();
        let all = r#"{"resourceSubscriptions":["test://guarded","test://hidden","test://open","test://unknown"]}"#;
        assert_eq!(granted, all);
    }
    let outer = Router::new();
    outer.mount("", &guarded()).unwrap();
    assert_eq!(outer.config("mounted", "1").listening, Listening::Asked);
    // A filter or a middleware alone is enough.
    let filtered = Router::new();
    filtered.show_if(|_, _| true);
    assert_eq!(filtered.config("filtered", "1").listening, Listening::Asked);
    let wrapped = Router::new();
    wrapped.wrap(async |exchange, next| next.run(exchange).await);
    assert_eq!(wrapped.config("wrapped", "1").listening, Listening::Asked);
}
