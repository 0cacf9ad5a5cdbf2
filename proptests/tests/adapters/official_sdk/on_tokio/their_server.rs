//! A server of rmcp and a client of this crate.

use std::time::Duration;

use mcp_sansio::call::{Paging, Timeout};
use mcp_sansio::event::Expiry;
use mcp_sansio::model::{CallToolResult, method};
use mcp_sansio::{
    CallOptions, Client, ClientConfig, ErrorCode, RespondError, Revision, RevisionSet,
};
use mcp_sansio_tokio::{CallFailure, Connection, Exchange, connect};
use rmcp::model as theirs;
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde_json::json;
use tokio::io::{duplex, split};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

use crate::http::kit::{A_LONG_TIME, let_pass, soon};
use crate::official_sdk::on_tokio::{PIPE, REVISIONS, of, on_every_runtime};

#[derive(Clone)]
struct TheirServer {
    revision: &'static str,
    reported: UnboundedSender<&'static str>,
}

impl ServerHandler for TheirServer {
    fn get_info(&self) -> theirs::ServerConfig {
        // The server describes itself as in a legacy session.
        let revision = if self.revision == "2026-07-28" { "2025-11-25" } else { self.revision };
        of(json!({
            "protocolVersion": revision, "capabilities": { "tools": {} },
            "serverInfo": { "name": "rmcp", "version": "3" },
        }))
    }

    async fn list_tools(
        &self,
        request: Option<theirs::PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<theirs::ListToolsResult, ErrorData> {
        let tool = |name: &str| json!({ "name": name, "inputSchema": { "type": "object" } });
        Ok(of(match request.and_then(|page| page.cursor).as_deref() {
            None => json!({ "tools": [tool("echo"), tool("ask")], "nextCursor": "2" }),
            Some(_) => json!({ "tools": [tool("tell"), tool("wait")] }),
        }))
    }

    async fn call_tool(
        &self,
        request: theirs::CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<theirs::CallToolResponse, ErrorData> {
        let text = match &*request.name {
            "echo" => request.arguments.unwrap_or_default()["text"].as_str().unwrap().to_owned(),
            "ask" => match ask(self.revision, &request, &context).await {
                Ok(text) => text,
                Err(needed) => return Ok(theirs::CallToolResponse::InputRequired(needed)),
            },
            "tell" => {
                let token = serde_json::to_value(&context.meta).unwrap()["progressToken"].take();
                for step in 1..=3 {
                    let progress = json!({ "progressToken": token, "progress": step, "total": 3 });
                    context.peer.notify_progress(of(progress)).await.unwrap();
                }
                "told".into()
            }
            "wait" => {
                self.reported.send("waiting").unwrap();
                context.ct.cancelled().await;
                self.reported.send("cancelled").unwrap();
                "too late".into()
            }
            _ => return Err(ErrorData::invalid_params("unknown tool", None)),
        };
        let content = json!({ "content": [{ "type": "text", "text": text }] });
        Ok(theirs::CallToolResponse::Complete(of(content)))
    }
}

/// Asks the client: in a session with a request, in the modern era by responding with a request for input.
async fn ask(
    revision: &str,
    request: &theirs::CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<String, theirs::InputRequiredResult> {
    let params = json!({
        "messages": [{ "role": "user", "content": { "type": "text", "text": "?" } }],
        "maxTokens": 9,
    });
    if revision != "2026-07-28" {
        let sampled = context.peer.create_message(of(params)).await.unwrap();
        return Ok(serde_json::to_value(sampled).unwrap()["content"]["text"].to_string());
    }
    match &request.input_responses {
        Some(answers) => {
            let answers = serde_json::to_value(answers).unwrap();
            Ok(answers["model"]["content"]["text"].to_string())
        }
        None => Err(of(json!({
            "resultType": "input_required", "requestState": "asked",
            "inputRequests": { "model": { "method": "sampling/createMessage", "params": params } },
        }))),
    }
}

async fn answer(exchange: Exchange<Client>) -> Result<(), RespondError> {
    exchange.respond(&json!({
        "role": "assistant", "content": { "type": "text", "text": "four" }, "model": "m",
    }))
}

#[test]
fn our_client_uses_a_server_of_rmcp() {
    on_every_runtime(|| async {
        for revision in REVISIONS {
            drive(revision).await;
        }
    });
}

/// Uses a runtime with one thread, whose clock the test can advance.
#[tokio::test]
async fn a_call_of_ours_that_takes_too_long_is_cancelled_there() {
    for revision in REVISIONS {
        let (connection, mut says, server) = meet(revision).await;
        // Longer than any wait.
        let total = 10 * A_LONG_TIME;
        let options = CallOptions::new().idle(Timeout::Never).total(Timeout::After(total));
        let params = json!({"name": "wait"});
        let late = connection.handle().call_method("tools/call", &params, options);
        assert_eq!(says.recv().await, Some("waiting"));
        let_pass(total).await;
        assert_eq!(soon(late).await.unwrap_err(), CallFailure::TimedOut(Expiry::Total));
        assert_eq!(says.recv().await, Some("cancelled"));
        assert_eq!(connection.handle().counts().outbound, 0);
        connection.close(Duration::from_secs(10)).await.unwrap();
        server.await.unwrap();
    }
}

/// Returns a connection, the log of the server, and the server's task.
async fn meet(
    revision: &'static str,
) -> (Connection, UnboundedReceiver<&'static str>, JoinHandle<()>) {
    let (ours, socket) = duplex(PIPE);
    let (reported, says) = unbounded_channel();
    let server = tokio::spawn(async move {
        let running = TheirServer { revision, reported }.serve(socket).await.unwrap();
        running.waiting().await.unwrap();
    });
    let mut config = ClientConfig::new("ours", "1");
    config.revisions = RevisionSet::only(Revision::from_name(revision).unwrap());
    config.capabilities.sampling = Some(Default::default());
    let (reader, writer) = split(ours);
    let connection = connect(config, reader, writer, answer).await.unwrap();
    assert_eq!(connection.connected().revision.name(), revision);
    (connection, says, server)
}

async fn drive(revision: &'static str) {
    let (connection, mut says, server) = meet(revision).await;
    let handle = connection.handle();
    let tools = handle.list::<method::ListTools>(Paging::default(), CallOptions::new()).await;
    assert_eq!(tools.unwrap().pages.len(), 2);
    let large = "x".repeat(100_000);
    assert_eq!(call(&connection, "echo", &large).await.unwrap(), large);
    assert_eq!(call(&connection, "ask", "").await.unwrap(), "\"four\"");
    let Err(CallFailure::PeerError(error)) = call(&connection, "unknown", "").await else {
        panic!("there is no such tool")
    };
    assert_eq!(error.code, ErrorCode::INVALID_PARAMS);
    follows(&connection).await;
    // A dropped call is cancelled at the server.
    let waits = handle.call_method("tools/call", &json!({"name": "wait"}), CallOptions::new());
    assert_eq!(says.recv().await, Some("waiting"));
    drop(waits);
    assert_eq!(says.recv().await, Some("cancelled"));
    assert_eq!(handle.counts().outbound, 0);
    connection.close(Duration::from_secs(10)).await.unwrap();
    server.await.unwrap();
}

async fn follows(connection: &Connection) {
    let params = json!({ "name": "tell", "arguments": {} });
    let options = CallOptions::new().progress();
    let mut call = connection.handle().call_method("tools/call", &params, options);
    let mut steps = Vec::new();
    while let Some(update) = call.progress().next().await {
        steps.push(update.progress.as_f64());
    }
    assert_eq!(steps, [1.0, 2.0, 3.0]);
    assert_eq!(text(&call.await.unwrap().parse_as().unwrap()), "told");
}

async fn call(connection: &Connection, tool: &str, text: &str) -> Result<String, CallFailure> {
    let params = json!({ "name": tool, "arguments": { "text": text } });
    let call = connection.handle().call_method("tools/call", &params, CallOptions::new());
    Ok(self::text(&call.await?.parse_as().unwrap()))
}

fn text(result: &CallToolResult<'_>) -> String {
    result.content.get(0).unwrap().as_text().unwrap().to_string()
}
