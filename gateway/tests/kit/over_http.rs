//! Clients over HTTP, in memory.

use std::sync::Arc;

use mcp_sansio::Revision;
use mcp_sansio::http::HttpClientConfig;
use mcp_sansio_http::{Endpoint, InMemory, connect_with};
use mcp_sansio_tokio::ConnectionOptions;

use super::{Peer, Seen, client};

impl Peer {
    /// Connects a client to an endpoint. Its requests have this header field.
    pub(crate) async fn over_http(
        endpoint: &Endpoint,
        revision: Revision,
        (field, value): (&str, &str),
        name: &str,
    ) -> Self {
        let seen = Arc::new(Seen::default());
        *seen.name.lock().unwrap() = name.to_owned();
        let mut http = HttpClientConfig::new("http://localhost/mcp");
        http.header(field, value).unwrap();
        let transport =
            hyper_util::client::legacy::Client::builder(hyper_util::rt::TokioExecutor::new())
                .build(InMemory::new(endpoint.clone()));
        let (config, answers) = client(&seen, name, revision);
        let options = ConnectionOptions::new();
        let connection = connect_with(config, http, &options, transport, answers).await.unwrap();
        Self { connection, seen }
    }
}
