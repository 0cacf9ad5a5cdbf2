//! A server of the legacy era over HTTP loses the session of the gateway.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod kit;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use kit::*;
use mcp_sansio::http::HttpClientConfig;
use mcp_sansio::model::{
    EmptyCapability, ListResourcesResult, LoggingLevel, ReadResourceResult, ResourceContents,
    ResourcesCapability, SubscriptionFilter,
};
use mcp_sansio::{ClientConfig, ClientRequest, Revision, RevisionSet, Server, ServerConfig};
use mcp_sansio_gateway::config::{UpstreamConfig, UpstreamTransport};
use mcp_sansio_gateway::{Connect, ConnectFuture, UpstreamHandler};
use mcp_sansio_http::{Endpoint, InMemory, connect_with};
use mcp_sansio_tokio::{ConnectionOptions, Exchange, Handle, Handler};

/// A server over HTTP, with the methods of its requests and the handles of its sessions.
#[derive(Clone, Default)]
struct Sessions {
    methods: Arc<Mutex<Vec<String>>>,
    handles: Arc<Mutex<Vec<Handle<Server>>>>,
}

impl Handler<Server> for Sessions {
    async fn serve(&self, exchange: Exchange) {
        self.methods.lock().unwrap().push(exchange.request().method.to_string());
        _ = match &exchange.request().kind {
            ClientRequest::ListResources(_) => exchange.respond(&ListResourcesResult::default()),
            ClientRequest::ReadResource { uri } => {
                let contents = ResourceContents::text(uri.to_string(), "text");
                exchange.respond(&ReadResourceResult::new([contents]))
            }
            _ => exchange.respond(&()),
        };
    }

    fn begin(&self, handle: &Handle<Server>) {
        self.handles.lock().unwrap().push(handle.clone());
    }
}

impl Sessions {
    fn endpoint(&self) -> Endpoint {
        let mut config = ServerConfig::new("one", "1");
        config.revisions = RevisionSet::only(Revision::V2025_11_25);
        let mut resources = ResourcesCapability::default();
        (resources.subscribe, resources.list_changed) = (Some(true), Some(true));
        config.capabilities.resources = Some(resources);
        config.capabilities.logging = Some(EmptyCapability::default());
        Endpoint::new(config, self.clone())
    }

    fn count(&self, method: &str) -> usize {
        self.methods.lock().unwrap().iter().filter(|known| *known == method).count()
    }
}

struct OverHttp(Endpoint);

impl Connect for OverHttp {
    fn connect(&self, config: ClientConfig, handler: UpstreamHandler) -> ConnectFuture<'_> {
        let transport =
            hyper_util::client::legacy::Client::builder(hyper_util::rt::TokioExecutor::new())
                .build(InMemory::new(self.0.clone()));
        Box::pin(async move {
            let http = HttpClientConfig::new("http://localhost/mcp");
            connect_with(config, http, &ConnectionOptions::new(), transport, handler).await
        })
    }
}

/// The machine opens the lost subscriptions again, and so does the gateway. The first ones would take all places for calls
/// after some lost sessions.
#[tokio::test(start_paused = true)]
async fn a_lost_session_leaves_nothing_behind() {
    const RESOURCES: usize = 200;
    const LOST: usize = 6;
    let server = Sessions::default();
    let endpoint = server.endpoint();
    let transport = UpstreamTransport::Custom(Arc::new(OverHttp(endpoint.clone())));
    let gateway = start_with(vec![UpstreamConfig::new("one", transport)]).await;
    let client = Peer::legacy(&gateway, "c").await;
    client.handle().set_log_level(LoggingLevel::Debug).await.unwrap();
    let uris = (0..RESOURCES).map(|number| format!("x://{number}"));
    let filter = uris.fold(SubscriptionFilter::new(), |filter, uri| filter.with_resource(uri));
    client.handle().subscribe(&filter).unwrap();
    settle().await;
    assert_eq!(server.count("resources/subscribe"), RESOURCES);
    assert_eq!(server.count("logging/setLevel"), 1);
    for lost in 1..=LOST {
        drop(endpoint.suspend_sessions());
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(server.handles.lock().unwrap().len(), 1 + lost, "it has another session");
        assert_eq!(server.count("logging/setLevel"), 1 + lost);
    }
    assert!(client.read("x://7").await.unwrap().contains("text"));
    client.seen.events.lock().unwrap().clear();
    let session = server.handles.lock().unwrap().last().unwrap().clone();
    session.resource_updated("x://7").unwrap();
    settle().await;
    assert_eq!(client.events(), ["notifications/resources/updated x://7"]);
}
