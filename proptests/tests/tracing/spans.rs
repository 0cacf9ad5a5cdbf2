//! The spans of requests and calls have the attributes of the semantic conventions of OpenTelemetry for MCP.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use hyper_util::rt::TokioExecutor;
use mcp_sansio::capability::{Capability, CapabilitySet};
use mcp_sansio::http::HttpClientConfig;
use mcp_sansio::model::{CallToolResult, ListChanged, Prompt, TraceContext};
use mcp_sansio::{
    CallOptions, ClientConfig, ClientRequest, ErrorCode, RespondError, RevisionSet, Server,
    ServerConfig,
};
use mcp_sansio_http::{Endpoint, InMemory};
use mcp_sansio_std::tracing::{self, Span as TracingSpan};
use mcp_sansio_std::{
    CallFailure, ConnectionOptions, Exchange, Failed, RefuseAll, Router, TracePropagator,
    connect_in_memory, connect_with,
};
use serde_json::{Value, json};

use crate::records::{Records, Span};

/// Returns a span with these attributes, and those of every span.
fn span(kind: &str, attributes: &[(&str, &str)]) -> Span {
    let all = [("otel.kind", kind), ("mcp.protocol.version", "2026-07-28")];
    let all = all.iter().chain(attributes);
    all.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// Takes a span out of the records, without the id of its request, which is another one for each.
fn taken(kind: &str, attribute: &str, value: &str) -> Span {
    let mut span = Records::of_this_process().span(kind, attribute, value);
    assert!(span.remove("jsonrpc.request.id").is_some(), "{span:?}");
    span
}

/// A server whose tools end in every way.
fn router() -> Router {
    let router = Router::new();
    router.tool_with(crate::tool("fine"), |_: Value, _: &Exchange| "done");
    router.tool_with(crate::tool("fails"), |_: Value, _: &Exchange| {
        Err::<String, _>(Failed::new("it does not work"))
    });
    router.prompt_with(Prompt::new("ask"), |_: Value, _: &Exchange| "a question");
    router.resource("test://one", "one", |_: &Exchange| "a text");
    router
}

#[test]
fn spans_name_the_method_and_its_target() {
    let records = Records::of_this_process();
    let router = router();
    let client = connect_in_memory(router.config("server", "1"), router).unwrap();
    let handle = client.handle();
    handle.call_tool("fine", &json!({})).wait().unwrap();
    handle.call_tool("fails", &json!({})).wait().unwrap();
    handle.call_tool("missing", &json!({})).wait().unwrap_err();
    handle.get_prompt("ask", &json!({})).wait().unwrap();
    handle.read_resource("test://one").wait().unwrap();
    handle.list_all_tools().wait().unwrap();
    for kind in ["client", "server"] {
        let tool = |name, more: &[(&str, &str)]| {
            let name_of_span = format!("tools/call {name}");
            let mut attributes = vec![
                ("otel.name", name_of_span.as_str()),
                ("mcp.method.name", "tools/call"),
                ("gen_ai.operation.name", "execute_tool"),
                ("gen_ai.tool.name", name),
            ];
            attributes.extend(more);
            assert_eq!(taken(kind, "gen_ai.tool.name", name), span(kind, &attributes));
        };
        tool("fine", &[]);
        tool("fails", &[("error.type", "tool_error"), ("otel.status_code", "ERROR")]);
        let code = ("rpc.response.status_code", "-32602");
        tool("missing", &[code, ("error.type", "-32602"), ("otel.status_code", "ERROR")]);
        let prompt = [
            ("otel.name", "prompts/get ask"),
            ("mcp.method.name", "prompts/get"),
            ("gen_ai.prompt.name", "ask"),
        ];
        assert_eq!(taken(kind, "gen_ai.prompt.name", "ask"), span(kind, &prompt));
        // A URI is not part of the name, because there can be any number of them.
        let resource = [
            ("otel.name", "resources/read"),
            ("mcp.method.name", "resources/read"),
            ("mcp.resource.uri", "test://one"),
        ];
        assert_eq!(taken(kind, "mcp.resource.uri", "test://one"), span(kind, &resource));
        let list = [("otel.name", "tools/list"), ("mcp.method.name", "tools/list")];
        assert_eq!(taken(kind, "mcp.method.name", "tools/list"), span(kind, &list));
    }
    // The spans of requests carry the id of the peer: both sides have the same.
    handle.call_tool("fine", &json!({})).wait().unwrap();
    let id = |kind| records.span(kind, "gen_ai.tool.name", "fine").remove("jsonrpc.request.id");
    assert_eq!((id("client"), id("server")), (Some("8".into()), Some("8".into())));
}

#[test]
fn spans_tell_how_a_request_has_failed() {
    let (started, starts) = std::sync::mpsc::channel();
    let handler = move |exchange: &Exchange<Server>| match &exchange.request().kind {
        ClientRequest::CallTool(call) if call.name == "forgets" => Ok(()),
        ClientRequest::CallTool(call) if call.name == "waits" => {
            started.send(()).unwrap();
            exchange.wait_cancelled(Duration::from_secs(60));
            exchange.respond(&CallToolResult::text("too late"))
        }
        ClientRequest::CallTool(call) if call.name == "leaves" => {
            started.send(()).unwrap();
            exchange.wait_cancelled(Duration::from_secs(60));
            Ok(())
        }
        _ => exchange.reject(ErrorCode::METHOD_NOT_FOUND, "no"),
    };
    let mut config = ServerConfig::new("server", "1");
    config.capabilities.tools = Some(ListChanged::default());
    let client = connect_in_memory(config, handler).unwrap();
    let handle = client.handle();
    let error_of = |kind, tool| {
        let span = taken(kind, "gen_ai.tool.name", tool);
        assert_eq!(span.get("otel.status_code").map(String::as_str), Some("ERROR"));
        span.get("error.type").cloned().unwrap()
    };
    handle.call_tool("forgets", &json!({})).wait().unwrap_err();
    assert_eq!(error_of("client", "forgets"), "-32603");
    assert_eq!(error_of("server", "forgets"), "-32603");
    for tool in ["waits", "leaves"] {
        let call = handle.call_tool(tool, &json!({}));
        starts.recv().unwrap();
        drop(call);
        assert_eq!(error_of("client", tool), "cancelled");
        assert_eq!(error_of("server", tool), "cancelled");
    }
    let call = handle.call_method("x/unknown", &json!({}), CallOptions::new()).wait();
    assert!(matches!(call, Err(CallFailure::PeerError(_))), "{call:?}");
    for kind in ["client", "server"] {
        let failed = taken(kind, "mcp.method.name", "x/unknown");
        assert_eq!(failed["rpc.response.status_code"], "-32601");
    }
    // The peer chooses the name of a tool.
    let long = "x".repeat(100_000);
    handle.call_tool(&long, &json!({})).wait().unwrap_err();
    assert_eq!(taken("server", "gen_ai.tool.name", &long[..256])["error.type"], "-32601");
}

/// The span has the outcome on the wire, and not that of an attempt.
#[test]
fn spans_have_the_outcome_of_the_response_that_was_sent() {
    let handler = |exchange: &Exchange<Server>| match &*exchange.request().method.to_str() {
        // The modern era reserves the code, so nothing is sent.
        "x/second" => {
            let reserved = exchange.reject(ErrorCode::new(-32022), "no");
            assert!(matches!(reserved, Err(RespondError::NotAllowed(_))), "{reserved:?}");
            exchange.respond(&())
        }
        "x/twice" => {
            exchange.respond(&())?;
            assert!(exchange.reject(ErrorCode::INVALID_PARAMS, "no").is_err());
            Ok(())
        }
        "x/flag" => exchange.respond(&json!({"isError": true})),
        "x/missing" => exchange.reject_missing(CapabilitySet::from_iter([Capability::Roots])),
        "tools/call" => exchange.reject_arguments("not these"),
        _ => exchange.reject(ErrorCode::RESOURCE_NOT_FOUND, "not there"),
    };
    let mut config = ServerConfig::new("server", "1");
    config.capabilities.tools = Some(ListChanged::default());
    let client = connect_in_memory(config, handler).unwrap();
    let call = |method: &str, params: &Value| {
        _ = client.handle().call_method(method, params, CallOptions::new()).wait();
    };
    for (method, error) in [
        ("x/second", None),
        ("x/twice", None),
        ("x/flag", None),
        ("x/missing", Some("missing_capability")),
        ("x/none", Some("-32602")),
    ] {
        call(method, &json!({}));
        let span = taken("server", "mcp.method.name", method);
        assert_eq!(span.get("error.type").map(String::as_str), error, "{method}");
        assert_eq!(span.contains_key("otel.status_code"), error.is_some(), "{method}");
    }
    call("tools/call", &json!({"name": "misfit"}));
    assert_eq!(taken("server", "gen_ai.tool.name", "misfit")["error.type"], "invalid_arguments");
}

/// A propagator that panics.
struct Panics;

impl TracePropagator for Panics {
    fn extract(&self, _: &TracingSpan, context: &TraceContext<'_>) {
        panic!("{context:?}");
    }

    fn inject(&self, _: &TracingSpan) -> Option<TraceContext<'static>> {
        None
    }
}

/// The request gets an error, as for a handler that panics, and the next one is served.
#[tokio::test]
async fn a_propagator_that_panics_ends_nothing_else() {
    Records::of_this_process();
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let (reader, writer) = tokio::io::split(theirs);
    let options = ConnectionOptions::new().trace_propagator(Panics);
    let handler = async |exchange: Exchange<Server>| exchange.respond(&());
    tokio::spawn(async move {
        let config = ServerConfig::new("server", "1");
        mcp_sansio_tokio::serve_with(config, &options, reader, writer, handler).await
    });
    let (reader, writer) = tokio::io::split(ours);
    let refuse = mcp_sansio_tokio::RefuseAll::new();
    let config = ClientConfig::new("client", "1");
    let client = mcp_sansio_tokio::connect(config, reader, writer, refuse).await.unwrap();
    let meta: Value = serde_json::from_str(context('4').added_to(None).as_json()).unwrap();
    for (params, fails) in [(json!({"_meta": meta}), true), (json!({}), false)] {
        let call = client.handle().call_method("x/y", &params, CallOptions::new()).await;
        assert_eq!(call.is_err(), fails, "{call:?}");
    }
}

/// Records the contexts of the peer, and passes one of its own on.
struct Contexts {
    own: TraceContext<'static>,
    received: Arc<Mutex<Vec<TraceContext<'static>>>>,
}

impl TracePropagator for Contexts {
    fn extract(&self, span: &TracingSpan, context: &TraceContext<'_>) {
        assert!(!span.is_disabled());
        let text: Vec<_> = context.iter().map(|(_, text)| text.to_owned()).collect();
        self.received.lock().unwrap().push(TraceContext::new(text[0].clone()).unwrap());
    }

    fn inject(&self, _: &TracingSpan) -> Option<TraceContext<'static>> {
        Some(self.own.clone())
    }
}

fn context(last: char) -> TraceContext<'static> {
    let text = format!("00-0af7651916cd43dd8448eb211c80319c-b7ad6b716920333{last}-01");
    TraceContext::new(text).unwrap()
}

/// A call has the context of the propagator, or the context that its params have. The other metadata stays.
#[test]
fn a_propagator_connects_both_sides() {
    Records::of_this_process();
    let received = Arc::new(Mutex::new(Vec::new()));
    let options = |last| {
        let received = Arc::clone(&received);
        ConnectionOptions::new().trace_propagator(Contexts { own: context(last), received })
    };
    let ((from_client, to_server), (from_server, to_client)) =
        (std::io::pipe().unwrap(), std::io::pipe().unwrap());
    let of_server = options('1');
    let metadata = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&metadata);
    let handler = move |exchange: &Exchange<Server>| {
        let meta = exchange.request().meta.as_ref().and_then(|meta| meta.get("x/y"));
        seen.lock().unwrap().push(meta.map(|meta| meta.as_json().to_owned()));
        assert_eq!(tracing::Span::current().id(), exchange.span().id());
        exchange.respond(&())
    };
    let config = ServerConfig::new("server", "1");
    std::thread::spawn(move || {
        mcp_sansio_std::serve_with(config, &of_server, from_client, to_client, handler)
    });
    let mut config = ClientConfig::new("client", "1");
    config.revisions = RevisionSet::LEGACY;
    let client =
        connect_with(config, &options('2'), from_server, to_server, RefuseAll::new()).unwrap();
    let call = |params: Value| {
        client.handle().call_method("x/traced", &params, CallOptions::new()).wait().unwrap();
    };
    call(json!({}));
    call(json!({"_meta": {"x/y": 7}}));
    let own = context('3').added_to(None);
    call(json!({"_meta": serde_json::from_str::<Value>(own.as_json()).unwrap()}));
    assert_eq!(*received.lock().unwrap(), [context('2'), context('2'), context('3')]);
    assert_eq!(*metadata.lock().unwrap(), [None, Some("7".into()), None]);
}

/// Over HTTP, the spans of a session have its id.
#[tokio::test]
async fn spans_of_a_session_have_its_id() {
    let records = Records::of_this_process();
    let router = Router::new();
    router.tool_with(crate::tool("of_session"), |_: Value, _| "done");
    let endpoint = Endpoint::new(router.config("server", "1"), router);
    let mut config = ClientConfig::new("client", "1");
    config.revisions = RevisionSet::LEGACY;
    let http = HttpClientConfig::new("http://localhost/mcp");
    let transport = hyper_util::client::legacy::Client::builder(TokioExecutor::new())
        .build(InMemory::new(endpoint));
    let options = ConnectionOptions::new();
    let refuse = mcp_sansio_http::RefuseAll::new();
    let client =
        mcp_sansio_http::connect_with(config, http, &options, transport, refuse).await.unwrap();
    client.handle().call_tool("of_session", &json!({})).await.unwrap();
    let span = records.span("server", "gen_ai.tool.name", "of_session");
    assert_eq!(span["mcp.protocol.version"], "2025-11-25");
    assert!(16 <= span["mcp.session.id"].len(), "{span:?}");
}
