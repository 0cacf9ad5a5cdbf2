//! Clients and servers in one process, for the tests of an application.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use mcp_sansio::json::Raw;
use mcp_sansio::model::{
    Content, CreateMessageParams, CreateMessageResult, InputRequired, Role, SamplingCapability,
    SamplingMessage, Tool,
};
use mcp_sansio::{Client, ClientConfig, Era, ErrorCode, Revision, ServerConfig};
use mcp_sansio_driver::{CallFailure, Connection, Exchange, Failed, Router};
use serde_json::{Value, json};

/// A timeout longer than any operation of these tests takes.
const A_LONG_TIME: Duration = Duration::from_secs(60);

/// Reports when the router is dropped.
struct Reports(Sender<()>);

impl Drop for Reports {
    fn drop(&mut self) {
        _ = self.0.send(());
    }
}

/// A router with two tools, and a channel that gets a message when the router is dropped.
fn router() -> (ServerConfig, Router, Receiver<()>) {
    let (report, dropped) = channel();
    let router = Router::new();
    let reports = Reports(report);
    let tool = |name| Tool::new(name, Raw::new(r#"{"type":"object"}"#).unwrap());
    router.tool_with(tool("greet"), move |_: Value, _| {
        _ = &reports;
        "hello"
    });
    router.tool_with(tool("ask"), |_: Value, exchange: &Exchange| {
        let inputs = exchange.request().inputs.as_ref();
        match inputs.and_then(|inputs| inputs.pointer("/model/content/text")) {
            Some(answer) => Ok(answer.to_string()),
            None => {
                let question = SamplingMessage::new(Role::User, Content::text("why?"));
                let params = CreateMessageParams::new([question], 9);
                Err(Failed::needs(InputRequired::new().sample("model", params)))
            }
        }
    });
    (router.config("memory", "1"), router, dropped)
}

fn sampling() -> ClientConfig {
    let mut config = ClientConfig::new("client", "1");
    config.capabilities.sampling = Some(SamplingCapability::default());
    config
}

/// Responds to a request for sampling.
fn sample(exchange: &Exchange<Client>) {
    let result = CreateMessageResult::new("model", Content::text("because"));
    exchange.respond(&result).unwrap();
}

fn greets(connection: &Connection) {
    let result = connection.handle().call_tool("greet", &json!({})).wait().unwrap();
    assert_eq!(result.texts().next(), Some("hello"));
}

fn asks(connection: &Connection) {
    let result = connection.handle().call_tool("ask", &json!({})).wait().unwrap();
    assert_eq!(result.texts().next(), Some("\"because\""));
}

#[test]
fn on_threads() {
    let (config, handler, dropped) = router();
    let connection = mcp_sansio_std::connect_in_memory(config, handler).unwrap();
    greets(&connection);
    drop(connection);
    dropped.recv_timeout(A_LONG_TIME).unwrap();
    let (config, handler, _dropped) = router();
    let client = |exchange: &Exchange<Client>| {
        sample(exchange);
        Ok(())
    };
    let connection =
        mcp_sansio_std::connect_in_memory_with(sampling(), client, config, handler).unwrap();
    asks(&connection);
}

/// A function that asks for input which the client has not declared is refused with the missing capability. In a
/// session the model reads it in a tool result.
#[test]
fn a_function_that_cannot_ask() {
    for known in [Revision::V2026_07_28, Revision::V2025_11_25] {
        let (config, handler, _dropped) = router();
        let mut client = ClientConfig::new("client", "1");
        client.known = Some(known);
        let refuses = mcp_sansio_std::RefuseAll::new();
        let connection =
            mcp_sansio_std::connect_in_memory_with(client, refuses, config, handler).unwrap();
        let called = connection.handle().call_tool("ask", &json!({})).wait();
        if known.era() == Era::Modern {
            let Err(CallFailure::PeerError(error)) = called else { panic!("{called:?}") };
            assert_eq!(error.code, ErrorCode::MISSING_CLIENT_CAPABILITY);
        } else {
            let result = called.unwrap();
            let text = "Missing required client capability: sampling";
            assert_eq!(result.texts().next(), Some(text));
        }
    }
}

#[test]
fn on_tokio() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let (config, handler, dropped) = router();
    let connecting = mcp_sansio_tokio::connect_in_memory(config, handler);
    let connection = runtime.block_on(connecting).unwrap();
    greets(&connection);
    drop(connection);
    dropped.recv_timeout(A_LONG_TIME).unwrap();
    let (config, handler, _dropped) = router();
    let client = async |exchange: Exchange<Client>| {
        sample(&exchange);
        Ok(())
    };
    let connecting = mcp_sansio_tokio::connect_in_memory_with(sampling(), client, config, handler);
    asks(&runtime.block_on(connecting).unwrap());
}

#[test]
fn on_smol() {
    let spawn = |work| smol::spawn(work).detach();
    let (config, handler, dropped) = router();
    let connecting = mcp_sansio_async_std::connect_in_memory(config, handler, spawn);
    let connection = smol::block_on(connecting).unwrap();
    greets(&connection);
    drop(connection);
    dropped.recv_timeout(A_LONG_TIME).unwrap();
    let (config, handler, _dropped) = router();
    let client = async |exchange: Exchange<Client>| {
        sample(&exchange);
        Ok(())
    };
    let connecting =
        mcp_sansio_async_std::connect_in_memory_with(sampling(), client, config, handler, spawn);
    asks(&smol::block_on(connecting).unwrap());
}

#[test]
fn over_http() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let (config, handler, dropped) = router();
    let endpoint = {
        let _entered = runtime.enter();
        mcp_sansio_http::Endpoint::new(config, handler)
    };
    let connecting = mcp_sansio_http::connect_in_memory(endpoint.clone());
    let connection = runtime.block_on(connecting).unwrap();
    greets(&connection);
    // A second client of the same endpoint.
    let connecting = mcp_sansio_http::connect_in_memory(endpoint.clone());
    greets(&runtime.block_on(connecting).unwrap());
    drop((connection, endpoint));
    // The connections of the HTTP client end with their tasks.
    runtime.shutdown_timeout(A_LONG_TIME);
    dropped.recv_timeout(A_LONG_TIME).unwrap();
}
