//! A server of rmcp and a client of this crate.

use std::borrow::Cow;
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::Duration;

use mcp_sansio::call::Paging;
use mcp_sansio::event::{NegotiationBasis, SubscriptionEnd, SubscriptionNews};
use mcp_sansio::model::{LoggingLevel, SubscriptionFilter, method};
use mcp_sansio::{
    CallOptions, Client, ClientConfig, ClientEvent, RespondError, Revision, RevisionSet,
    ServerRequest,
};
use mcp_sansio_std::{
    CallFailure, Connection, Exchange, Handle, Handler, SocketWriter, connect as connect_to,
};
use rmcp::model as theirs;
use rmcp::model::ProtocolVersion;
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde_json::{Value, json};

use crate::official_sdk::modern::{A_LONG_TIME, asynchronous, of, runtime};

/// A server of rmcp with a tool for every message that a server can send to a client.
#[derive(Clone)]
struct TheirServer {
    versions: &'static [ProtocolVersion],
    /// Receives a line for each call that begins or is cancelled, and for each subscription that ends.
    cancelled: mpsc::Sender<&'static str>,
}

impl ServerHandler for TheirServer {
    fn get_info(&self) -> theirs::ServerConfig {
        of(json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {
                "tools": { "listChanged": true }, "logging": {}, "prompts": { "listChanged": true },
                "resources": { "subscribe": true },
            },
            "serverInfo": { "name": "rmcp", "version": "3" },
        }))
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        self.versions.into()
    }

    async fn list_tools(
        &self,
        request: Option<theirs::PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<theirs::ListToolsResult, ErrorData> {
        let tool = |name: &str| json!({ "name": name, "inputSchema": { "type": "object" } });
        Ok(of(match request.and_then(|page| page.cursor).as_deref() {
            None => json!({ "tools": [tool("ask"), tool("tell")], "nextCursor": "2" }),
            Some(_) => json!({ "tools": [tool("wait")] }),
        }))
    }

    async fn call_tool(
        &self,
        request: theirs::CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<theirs::CallToolResponse, ErrorData> {
        let text = match &*request.name {
            "ask" => match ask(&request) {
                Ok(text) => text,
                Err(needed) => return Ok(theirs::CallToolResponse::InputRequired(needed)),
            },
            "tell" => notify(&context).await,
            "wait" => {
                self.cancelled.send("waiting").unwrap();
                context.ct.cancelled().await;
                self.cancelled.send("cancelled").unwrap();
                "cancelled".into()
            }
            _ => return Err(ErrorData::invalid_params("unknown tool", None)),
        };
        let content = json!({ "content": [{ "type": "text", "text": text }] });
        Ok(theirs::CallToolResponse::Complete(of(content)))
    }

    fn accepted_subscription_filter(
        &self,
        requested: &theirs::SubscriptionFilter,
    ) -> Option<theirs::SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let (sink, accepted) = (context.sink(), context.accepted());
        if accepted.prompts_list_changed == Some(true) {
            // Sends one notification and ends the subscription.
            sink.notify_prompt_list_changed().await.unwrap();
            return Ok(());
        }
        sink.notify_tool_list_changed().await.unwrap();
        sink.notify_resource_updated("x:y").await.unwrap();
        context.cancelled().await;
        self.cancelled.send("listen").unwrap();
        Ok(())
    }
}

/// Asks in two rounds: the request state of the second round contains the response of the first one.
fn ask(request: &theirs::CallToolRequestParams) -> Result<String, theirs::InputRequiredResult> {
    let answers = request.input_responses.clone().unwrap_or_default();
    match request.request_state.as_deref() {
        None => Err(of(json!({
            "resultType": "input_required", "requestState": "begun",
            "inputRequests": {
                "model": { "method": "sampling/createMessage", "params": {
                    "messages": [{ "role": "user", "content": { "type": "text", "text": "?" } }],
                    "maxTokens": 9,
                } },
                "roots": { "method": "roots/list" },
            },
        }))),
        Some("begun") => {
            let model = &answers["model"]["content"]["text"];
            let state =
                format!("{} {}", model.as_str().unwrap(), answers["roots"]["roots"][0]["uri"]);
            Err(of(json!({
                "resultType": "input_required", "requestState": state,
                "inputRequests": { "city": { "method": "elicitation/create", "params": {
                    "mode": "form", "message": "Which city?", "requestedSchema": {
                        "type": "object", "properties": { "city": { "type": "string" } },
                    },
                } } },
            })))
        }
        Some(state) => Ok(format!("{state} {}", answers["city"]["content"]["city"])),
    }
}

async fn notify(context: &RequestContext<RoleServer>) -> String {
    if context.meta.log_level().is_some() {
        let log = of(json!({ "level": "info", "data": "working" }));
        context.peer.notify_logging_message(log).await.unwrap();
    }
    let token = serde_json::to_value(&context.meta).unwrap()["progressToken"].take();
    let progress = json!({ "progressToken": token, "progress": 1.0, "total": 2.0 });
    context.peer.notify_progress(of(progress)).await.unwrap();
    "told".into()
}

/// A client of this crate that responds to requests and logs its notifications.
struct Answers(Mutex<mpsc::Sender<String>>);

impl Handler<Client> for Answers {
    fn serve(&self, exchange: &Exchange<Client>) {
        _ = answer(exchange);
    }

    fn event(&self, _: &Handle<Client>, event: ClientEvent<'static>) {
        let line = match event {
            ClientEvent::Notification(notification) => format!("{}", notification.method),
            ClientEvent::Subscription(update) => match update.news {
                SubscriptionNews::Granted { granted, refused } => {
                    // The order of the members has no meaning.
                    let granted = granted.parse::<Value>().unwrap();
                    format!("granted {granted} but {refused}")
                }
                SubscriptionNews::Changed(notification) => format!("told {}", notification.method),
                SubscriptionNews::Ended(SubscriptionEnd::Finished) => "finished".into(),
                news => format!("{news:?}"),
            },
            _ => return,
        };
        _ = self.0.lock().unwrap().send(line);
    }
}

fn answer(exchange: &Exchange<Client>) -> Result<(), RespondError> {
    match exchange.request().kind {
        ServerRequest::ListRoots => exchange.respond(&json!({ "roots": [{ "uri": "file:///r" }] })),
        ServerRequest::Elicit(_) => {
            exchange.respond(&json!({ "action": "accept", "content": { "city": "Oslo" } }))
        }
        _ => exchange.respond(&json!({
            "role": "assistant", "content": { "type": "text", "text": "four" }, "model": "m",
        })),
    }
}

/// Returns the next logged line.
fn receive_log_line(lines: &mpsc::Receiver<String>) -> String {
    lines.recv_timeout(A_LONG_TIME).unwrap()
}

fn run(connection: &Connection, tool: &'static str, options: CallOptions) -> String {
    let params = json!({ "name": tool });
    let pending = connection.handle().call_method("tools/call", &params, options.progress());
    let mut steps = 0;
    let reply = pending.wait_with(|_| steps += 1).unwrap();
    assert_eq!(steps, u32::from(tool == "tell"));
    let result = reply.raw().parse::<Value>().unwrap();
    result["content"][0]["text"].as_str().unwrap().into()
}

fn use_theirs(connection: &Connection, lines: &mpsc::Receiver<String>) {
    let handle = connection.handle();
    let tools =
        handle.list::<method::ListTools>(Paging::default(), CallOptions::new()).wait().unwrap();
    assert_eq!(tools.pages.len(), 2);
    assert_eq!(run(connection, "ask", CallOptions::new()), "four \"file:///r\" \"Oslo\"");
    assert_eq!(run(connection, "tell", CallOptions::new()), "told");
    assert_eq!(run(connection, "tell", CallOptions::new().log_level(LoggingLevel::Info)), "told");
    // Only the second call has set a log level.
    assert_eq!(receive_log_line(lines), "notifications/message");
    let filter = SubscriptionFilter::new().with_tools().with_resources().with_resource("x:y");
    let everything = handle.subscribe(&filter).unwrap();
    assert_eq!(
        receive_log_line(lines),
        r#"granted {"resourceSubscriptions":["x:y"],"toolsListChanged":true} but {"resourcesListChanged":true}"#
    );
    assert_eq!(receive_log_line(lines), "told notifications/tools/list_changed");
    assert_eq!(receive_log_line(lines), "told notifications/resources/updated");
    handle.subscribe(&SubscriptionFilter::new().with_prompts()).unwrap();
    assert_eq!(receive_log_line(lines), r#"granted {"promptsListChanged":true} but {}"#);
    assert_eq!(receive_log_line(lines), "told notifications/prompts/list_changed");
    assert_eq!(receive_log_line(lines), "finished");
    handle.unsubscribe(everything).unwrap();
    let unknown = json!({ "name": "unknown" });
    let unknown = handle.call_method("tools/call", &unknown, CallOptions::new()).wait();
    assert!(matches!(unknown, Err(CallFailure::PeerError(error)) if error.code.get() == -32602));
}

/// Starts a server of rmcp, and connects to it.
fn connect(
    revisions: RevisionSet,
    versions: &'static [ProtocolVersion],
    drive: impl FnOnce(&Connection, &mpsc::Receiver<String>, &mpsc::Receiver<&'static str>),
) {
    let (ours, socket) = UnixStream::pair().unwrap();
    let (sender, cancelled) = mpsc::channel();
    let server = thread::spawn(move || {
        runtime().block_on(async move {
            let server = TheirServer { versions, cancelled: sender };
            let running = server.serve(asynchronous(socket)).await.unwrap();
            running.waiting().await.unwrap();
        });
    });
    let (sender, lines) = mpsc::channel();
    let mut config = ClientConfig::new("ours", "1");
    config.revisions = revisions;
    config.capabilities.sampling = Some(Default::default());
    config.capabilities.roots = Some(Default::default());
    config.capabilities.elicitation = Some(Default::default());
    let reader = ours.try_clone().unwrap();
    let answers = Answers(Mutex::new(sender));
    let connection = connect_to(config, reader, SocketWriter::new(ours), answers).unwrap();
    drive(&connection, &lines, &cancelled);
    connection.close(Duration::from_secs(10)).wait().unwrap();
    server.join().unwrap();
}

#[test]
fn our_client_uses_a_server_of_rmcp() {
    for revisions in [RevisionSet::MODERN, RevisionSet::ALL] {
        connect(revisions, ProtocolVersion::KNOWN_VERSIONS, |connection, lines, cancelled| {
            assert_eq!(connection.connected().revision, Revision::V2026_07_28);
            assert_eq!(connection.connected().basis, NegotiationBasis::Discovered);
            use_theirs(connection, lines);
            assert_eq!(cancelled.recv_timeout(A_LONG_TIME).unwrap(), "listen");
            crate::official_sdk::times_out_there(connection.handle(), cancelled);
            assert_eq!(run(connection, "tell", CallOptions::new()), "told");
        });
    }
}

#[test]
fn our_client_finds_that_a_server_of_rmcp_has_only_sessions() {
    connect(RevisionSet::ALL, &[ProtocolVersion::V_2025_11_25], |connection, _, _| {
        assert_eq!(connection.connected().revision, Revision::V2025_11_25);
        assert_eq!(connection.connected().basis, NegotiationBasis::OnlySessions);
        assert_eq!(run(connection, "tell", CallOptions::new()), "told");
    });
}
