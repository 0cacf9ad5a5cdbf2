//! Distributed traces: the spans of a client and of a server are one trace, and OpenTelemetry exports them.
//!
//! Usage: `cargo run -p mcp-sansio-tokio --example opentelemetry`. The client and the server run in this process, and
//! the collector is in memory; the program prints the trace. In an application, replace [`InMemorySpanExporter`] by the
//! exporter of your collector, such as that of `opentelemetry-otlp`.

use std::collections::HashMap;
use std::error::Error;
use std::io::Write;
use std::time::Duration;

use mcp_sansio::ClientConfig;
use mcp_sansio::model::TraceContext;
use mcp_sansio_tokio::{
    ConnectionOptions, Exchange, Failed, RefuseAll, Router, TracePropagator, connect_with,
    serve_with,
};
use opentelemetry::propagation::TextMapPropagator;
use opentelemetry::trace::TracerProvider;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tracing::{Instrument, Span, info_span};
use tracing_opentelemetry::OpenTelemetrySpanExt;
use tracing_subscriber::layer::SubscriberExt;

/// Passes the trace context of OpenTelemetry on to the peer, and takes over that of the peer.
struct Propagator;

impl TracePropagator for Propagator {
    fn extract(&self, span: &Span, context: &TraceContext<'_>) {
        let fields: HashMap<_, _> =
            context.iter().map(|(name, text)| (name.to_owned(), text.to_owned())).collect();
        // This fails if no layer of OpenTelemetry is installed.
        _ = span.set_parent(TraceContextPropagator::new().extract(&fields));
    }

    fn inject(&self, span: &Span) -> Option<TraceContext<'static>> {
        let mut fields = HashMap::new();
        TraceContextPropagator::new().inject_context(&span.context(), &mut fields);
        let mut context = TraceContext::new(fields.remove(TraceContext::TRACEPARENT)?)?;
        if let Some(state) = fields.remove(TraceContext::TRACESTATE).filter(|it| !it.is_empty()) {
            context = context.tracestate(state);
        }
        Some(context)
    }
}

#[derive(Deserialize, JsonSchema)]
struct Query {
    text: String,
}

/// A tool that blocks, with a span of its own.
fn search(query: Query, _: &Exchange) -> String {
    info_span!("read_index").in_scope(|| format!("3 hits for {}", query.text))
}

/// A tool that waits, with a span of its own.
async fn fetch(_: Query, _: Exchange) -> Result<String, Failed> {
    let work = async { Err(Failed::new("there is no network")) };
    work.instrument(info_span!("open_connection")).await
}

/// Calls both tools, within a span of the application. The second call fails.
async fn use_the_server() -> Result<(), Box<dyn Error>> {
    let router = Router::new();
    router.tool("search", "Searches the index", search);
    router.async_tool("fetch", "Fetches a page", fetch);
    let (ours, theirs) = tokio::io::duplex(64 << 10);
    let (reader, writer) = tokio::io::split(theirs);
    let options = ConnectionOptions::new().trace_propagator(Propagator);
    let of_server = options.clone();
    let server = tokio::spawn(async move {
        serve_with(router.config("index", "1.0"), &of_server, reader, writer, router).await
    });
    let (reader, writer) = tokio::io::split(ours);
    let config = ClientConfig::new("example", "1.0");
    let client = connect_with(config, &options, reader, writer, RefuseAll::new()).await?;
    client.handle().call_tool("search", &json!({ "text": "sans-io" })).await?;
    client.handle().call_tool("fetch", &json!({ "text": "https://example.com" })).await?;
    client.close(Duration::from_secs(5)).await?;
    server.await??;
    Ok(())
}

/// Runs the client and the server. Returns the exported spans.
async fn trace() -> Result<Vec<SpanData>, Box<dyn Error>> {
    let exporter = InMemorySpanExporter::default();
    let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("example"));
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(layer))?;
    use_the_server().instrument(info_span!("answer_a_question")).await?;
    provider.force_flush()?;
    Ok(exporter.get_finished_spans()?)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let spans = trace().await?;
    std::io::stdout().write_all(text_of(&spans).as_bytes())?;
    Ok(())
}

/// Returns the spans as a tree, with the attributes of MCP.
fn text_of(spans: &[SpanData]) -> String {
    let has_parent = |span: &SpanData| {
        spans.iter().any(|other| other.span_context.span_id() == span.parent_span_id)
    };
    let mut text = String::new();
    for root in spans.iter().filter(|span| !has_parent(span)) {
        write_tree(root, spans, 0, &mut text);
    }
    text
}

fn write_tree(span: &SpanData, spans: &[SpanData], depth: usize, text: &mut String) {
    let indent = "  ".repeat(depth);
    *text += &format!("{indent}{} ({:?})\n", span.name, span.span_kind);
    let mut attributes: Vec<_> = span.attributes.iter().collect();
    attributes.sort_by_key(|attribute| attribute.key.as_str().to_owned());
    for attribute in attributes {
        let name = attribute.key.as_str();
        if ["mcp.", "gen_ai.", "jsonrpc.", "rpc.", "error."].iter().any(|it| name.starts_with(it)) {
            *text += &format!("{indent}    {name} = {}\n", attribute.value);
        }
    }
    let id = span.span_context.span_id();
    let mut children: Vec<_> = spans.iter().filter(|child| child.parent_span_id == id).collect();
    children.sort_by_key(|child| child.start_time);
    for child in children {
        write_tree(child, spans, depth + 1, text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn both_sides_are_one_trace() {
        let spans = trace().await.unwrap();
        let trace = spans.first().unwrap().span_context.trace_id();
        assert!(spans.iter().all(|span| span.span_context.trace_id() == trace));
        let call = |tool: &str, id: u8, indent: &str, error: &str| {
            let attributes = [
                "mcp.method.name = tools/call",
                "gen_ai.operation.name = execute_tool",
                &format!("gen_ai.tool.name = {tool}"),
                "mcp.protocol.version = 2026-07-28",
                &format!("jsonrpc.request.id = {id}"),
                error,
            ];
            let mut lines: Vec<_> = attributes.iter().filter(|line| !line.is_empty()).collect();
            lines.sort();
            lines.into_iter().map(|line| format!("{indent}    {line}\n")).collect::<String>()
        };
        let pair = |tool: &str, id: u8, error: &str, inner: &str| {
            let client = call(tool, id, "  ", error);
            let server = call(tool, id, "    ", error);
            format!(
                "  tools/call {tool} (Client)\n{client}    tools/call {tool} (Server)\n{server}      {inner}\n"
            )
        };
        let wanted = "answer_a_question (Internal)\n".to_owned()
            + &pair("search", 2, "", "read_index (Internal)")
            + &pair("fetch", 3, "error.type = tool_error", "open_connection (Internal)");
        assert_eq!(text_of(&spans), wanted);
    }
}
