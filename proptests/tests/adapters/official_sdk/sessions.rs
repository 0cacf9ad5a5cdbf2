//! Interoperability with rmcp, the official Rust SDK, in both roles, over a socket.

use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use super::everything;
use mcp_sansio::call::Paging;
use mcp_sansio::model::method;
use mcp_sansio::{
    CallOptions, Client, ClientConfig, ClientEvent, RespondError, Revision, RevisionSet,
    ServerRequest,
};
use mcp_sansio_std::{
    CallFailure, Connection, ConnectionOptions, Exchange, Handle, Handler, SharedTasks,
    SocketWriter, connect, serve_with,
};
use rmcp::model as theirs;
use rmcp::service::{NotificationContext, PeerRequestOptions, RequestContext, RunningService};
use rmcp::{ClientHandler, ErrorData, RoleClient, RoleServer, ServerHandler, ServiceExt};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// A timeout longer than any operation of these tests takes: a test that reaches it has failed.
const A_LONG_TIME: Duration = Duration::from_secs(120);

const REVISIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

fn of<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

fn asynchronous(socket: UnixStream) -> tokio::net::UnixStream {
    socket.set_nonblocking(true).unwrap();
    tokio::net::UnixStream::from_std(socket).unwrap()
}

/// A client of rmcp that responds to all requests and records its notifications.
#[derive(Clone)]
struct TheirClient {
    revision: &'static str,
    received: Arc<Mutex<Vec<String>>>,
}

impl TheirClient {
    fn record(&self, line: String) {
        self.received.lock().unwrap().push(line);
    }

    fn has_received(&self, line: &str) -> bool {
        self.received.lock().unwrap().iter().any(|received| received == line)
    }
}

impl ClientHandler for TheirClient {
    fn get_info(&self) -> theirs::ClientConfig {
        of(json!({
            "protocolVersion": self.revision,
            "capabilities": { "roots": {}, "sampling": {}, "elicitation": {} },
            "clientInfo": { "name": "rmcp", "version": "3" },
        }))
    }

    async fn create_message(
        &self,
        _: theirs::CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<theirs::CreateMessageResult, ErrorData> {
        Ok(of(json!({
            "role": "assistant", "content": { "type": "text", "text": "four" }, "model": "m",
        })))
    }

    async fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> Result<theirs::ListRootsResult, ErrorData> {
        Ok(of(json!({ "roots": [{ "uri": "file:///root" }] })))
    }

    async fn create_elicitation(
        &self,
        _: theirs::ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<theirs::ElicitResult, ErrorData> {
        Ok(of(json!({
            "action": "accept", "content": { "username": "u", "email": "u@example.com" },
        })))
    }

    async fn on_progress(
        &self,
        params: theirs::ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.record(format!("progress {}", params.progress));
    }

    async fn on_logging_message(
        &self,
        params: theirs::LoggingMessageNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.record(format!("log {}", params.data));
    }

    async fn on_resource_updated(
        &self,
        params: theirs::ResourceUpdatedNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.record(format!("updated {}", params.uri));
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.record("tools".into());
    }
}

type Running = RunningService<RoleClient, TheirClient>;

async fn text_of(client: &Running, name: &'static str, arguments: Value) -> String {
    let params = theirs::CallToolRequestParams::new(name).with_arguments(of(arguments));
    let result = serde_json::to_value(client.call_tool(params).await.unwrap()).unwrap();
    result["content"][0]["text"].as_str().unwrap().into()
}

/// Waits until this line has been recorded: rmcp handles notifications concurrently with responses.
async fn wait_for(client: &TheirClient, line: &str) {
    let received = async {
        while !client.has_received(line) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(A_LONG_TIME, received)
        .await
        .unwrap_or_else(|_| panic!("not heard: {line}"));
}

#[test]
fn a_client_of_rmcp_uses_our_server() {
    for revision in REVISIONS {
        let (ours, socket) = UnixStream::pair().unwrap();
        let reader = ours.try_clone().unwrap();
        let server = thread::spawn(move || {
            let handler = everything::Everything::with_pages_of(5);
            let (config, tasks) = (everything::config(), SharedTasks::default());
            serve_with(
                config,
                &ConnectionOptions::new().tasks(tasks),
                reader,
                SocketWriter::new(ours),
                handler,
            )
        });
        let driven = async { tokio::time::timeout(A_LONG_TIME, drive(revision, socket)).await };
        runtime().block_on(driven).unwrap();
        server.join().unwrap().unwrap();
    }
}

async fn drive(revision: &'static str, socket: UnixStream) {
    let handler = TheirClient { revision, received: Arc::default() };
    let mut client = handler.clone().serve(asynchronous(socket)).await.unwrap();
    assert_eq!(client.peer_info().unwrap().protocol_version.to_string(), revision);
    lists(&client).await;
    assert_eq!(text_of(&client, "echo", json!({ "text": "hi" })).await, "hi");
    asks(&client, revision).await;
    wait_for_notifications(&client, &handler).await;
    cancels(&client).await;
    // The session stays open.
    assert_eq!(text_of(&client, "add_numbers", json!({ "a": 1, "b": 2 })).await, "3");
    client.close().await.unwrap();
}

async fn lists(client: &Running) {
    assert_eq!(client.list_all_tools().await.unwrap().len(), 43);
    assert_eq!(client.list_all_resources().await.unwrap().len(), 3);
    assert_eq!(client.list_all_resource_templates().await.unwrap().len(), 1);
    assert_eq!(client.list_all_prompts().await.unwrap().len(), 5);
    let read = of(json!({ "uri": "test://static-text" }));
    let read = serde_json::to_value(client.read_resource(read).await.unwrap()).unwrap();
    let text = "This is the content of the static text resource.";
    assert_eq!(read["contents"][0]["text"], text);
    let prompt = of(json!({ "name": "test_simple_prompt" }));
    let prompt = serde_json::to_value(client.get_prompt(prompt).await.unwrap()).unwrap();
    assert_eq!(prompt["messages"][0]["role"], "user");
    let completion =
        client.complete_prompt_simple("test_prompt_with_arguments", "arg1", "par").await.unwrap();
    assert_eq!(completion, ["paris", "park", "party"]);
    let nothing = client.read_resource(of(json!({ "uri": "x:nothing" }))).await.unwrap_err();
    assert!(nothing.to_string().contains("-32002"), "{nothing}");
}

/// Tests the requests that the server sends during a call.
async fn asks(client: &Running, revision: &str) {
    let sampled = text_of(client, "test_sampling", json!({ "prompt": "2 + 2?" })).await;
    assert!(sampled.contains("four"), "{sampled}");
    let roots = text_of(client, "list_roots", json!({})).await;
    assert!(roots.contains("file:///root"), "{roots}");
    let elicited = text_of(client, "test_elicitation", json!({ "message": "who?" })).await;
    // The 2025-06-18 revision introduced elicitation.
    assert_eq!(elicited.contains("u@example.com"), "2025-06-18" <= revision, "{elicited}");
}

async fn wait_for_notifications(client: &Running, handler: &TheirClient) {
    client.set_level(of(json!({ "level": "info" }))).await.unwrap();
    text_of(client, "test_tool_with_logging", json!({})).await;
    wait_for(handler, "log \"Tool execution completed\"").await;
    text_of(client, "test_tool_with_progress", json!({})).await;
    wait_for(handler, "progress 100").await;
    client.subscribe(of(json!({ "uri": "test://watched-resource" }))).await.unwrap();
    text_of(client, "test_trigger_resource_update", json!({})).await;
    wait_for(handler, "updated test://watched-resource").await;
    text_of(client, "announce_changes", json!({})).await;
    wait_for(handler, "tools").await;
}

async fn cancels(client: &Running) {
    let params =
        theirs::CallToolRequestParams::new("slow").with_arguments(of(json!({ "ms": 60_000 })));
    let request = theirs::ClientRequest::CallToolRequest(theirs::CallToolRequest::new(params));
    let options = PeerRequestOptions::no_options();
    let pending = client.send_cancellable_request(request, options).await.unwrap();
    pending.cancel(Some("no longer needed".into())).await.unwrap();
}

/// A server of rmcp with a tool for every message that a server can send to a client.
#[derive(Clone)]
struct TheirServer {
    revision: &'static str,
    cancelled: mpsc::Sender<&'static str>,
}

impl ServerHandler for TheirServer {
    fn get_info(&self) -> theirs::ServerConfig {
        of(json!({
            "protocolVersion": self.revision,
            "capabilities": {
                "tools": {}, "logging": {}, "prompts": {}, "completions": {},
                "resources": { "subscribe": true },
            },
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
            "ask" => ask(&context, self.revision).await,
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

    async fn read_resource(
        &self,
        request: theirs::ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<theirs::ReadResourceResponse, ErrorData> {
        let contents = json!({ "contents": [{ "uri": request.uri, "text": "words" }] });
        Ok(theirs::ReadResourceResponse::Complete(of(contents)))
    }

    async fn get_prompt(
        &self,
        request: theirs::GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<theirs::GetPromptResponse, ErrorData> {
        let content = json!({ "type": "text", "text": request.name });
        let result = json!({ "messages": [{ "role": "user", "content": content }] });
        Ok(theirs::GetPromptResponse::Complete(of(result)))
    }

    async fn complete(
        &self,
        _: theirs::CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<theirs::CompleteResult, ErrorData> {
        Ok(of(json!({ "completion": { "values": ["paris"] } })))
    }

    async fn set_level(
        &self,
        _: theirs::SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn subscribe(
        &self,
        request: theirs::SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let updated = of(json!({ "uri": request.uri }));
        context.peer.notify_resource_updated(updated).await.unwrap();
        Ok(())
    }
}

async fn ask(context: &RequestContext<RoleServer>, revision: &str) -> String {
    let params = json!({
        "messages": [{ "role": "user", "content": { "type": "text", "text": "?" } }],
        "maxTokens": 9,
    });
    let sampled = context.peer.create_message(of(params)).await.unwrap();
    let roots = context.peer.list_roots().await.unwrap();
    let sampled = serde_json::to_value(sampled).unwrap();
    let form = json!({
        "message": "Which city?",
        "requestedSchema": { "type": "object", "properties": { "city": { "type": "string" } } },
    });
    let city = if revision < "2025-06-18" {
        // This revision has no elicitation.
        Value::Null
    } else {
        let mut form = form;
        // rmcp distinguishes the kinds by the mode.
        form["mode"] = "form".into();
        let filled = context.peer.create_elicitation(of(form)).await.unwrap();
        filled.content.unwrap_or_default()["city"].take()
    };
    format!("{} {} {city}", sampled["content"]["text"], roots.roots.len())
}

async fn notify(context: &RequestContext<RoleServer>) -> String {
    let log = of(json!({ "level": "info", "data": "working" }));
    context.peer.notify_logging_message(log).await.unwrap();
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
        if let ClientEvent::Notification(notification) = event {
            // The order of the members has no meaning.
            let params = notification.params.map(|params| params.parse::<Value>().unwrap());
            let params = params.unwrap_or_default();
            _ = self.0.lock().unwrap().send(format!("{} {params}", notification.method));
        }
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

/// Waits until this line has been logged.
fn wait_for_line(received: &mpsc::Receiver<String>, line: &str) {
    let mut others = Vec::new();
    loop {
        match received.recv_timeout(A_LONG_TIME) {
            Ok(found) if found == line => return,
            Ok(found) => others.push(found),
            Err(_) => panic!("not heard: {line}, but {others:?}"),
        }
    }
}

fn text(connection: &Connection, tool: &'static str) -> String {
    let options = CallOptions::new().progress();
    let pending = connection.handle().call_method("tools/call", &json!({ "name": tool }), options);
    let mut steps = 0;
    let reply = pending.wait_with(|_| steps += 1).unwrap();
    assert_eq!(steps, u32::from(tool == "tell"));
    serde_json::from_str::<Value>(reply.raw().as_json()).unwrap()["content"][0]["text"]
        .as_str()
        .unwrap()
        .into()
}

fn use_theirs(connection: &Connection, revision: &str, received: &mpsc::Receiver<String>) {
    let tools = connection
        .handle()
        .list::<method::ListTools>(Paging::default(), CallOptions::new())
        .wait()
        .unwrap();
    assert_eq!(tools.pages.len(), 2);
    let city = if revision < "2025-06-18" { "null" } else { "\"Oslo\"" };
    assert_eq!(text(connection, "ask"), format!("\"four\" 1 {city}"));
    let read = json!({ "uri": "x:y" });
    let read = connection.handle().call_method("resources/read", &read, CallOptions::new()).wait();
    let read = read.unwrap().raw().parse::<Value>().unwrap();
    assert_eq!(read["contents"][0]["text"], "words");
    let prompt = json!({ "name": "travel" });
    let prompt = connection.handle().call_method("prompts/get", &prompt, CallOptions::new()).wait();
    let prompt = prompt.unwrap().raw().parse::<Value>().unwrap();
    assert_eq!(prompt["messages"][0]["content"]["text"], "travel");
    assert_eq!(text(connection, "tell"), "told");
    wait_for_line(received, r#"notifications/message {"data":"working","level":"info"}"#);
    let level = json!({ "level": "warning" });
    connection.handle().call_method("logging/setLevel", &level, CallOptions::new()).wait().unwrap();
    let uri = json!({ "uri": "x:y" });
    connection
        .handle()
        .call_method("resources/subscribe", &uri, CallOptions::new())
        .wait()
        .unwrap();
    wait_for_line(received, r#"notifications/resources/updated {"uri":"x:y"}"#);
    let completed = connection
        .handle()
        .call_method(
            "completion/complete",
            &json!({
                "ref": { "type": "ref/prompt", "name": "p" },
                "argument": { "name": "city", "value": "pa" },
            }),
            CallOptions::new(),
        )
        .wait();
    assert!(completed.unwrap().raw().as_json().contains("paris"));
    let unknown = json!({ "name": "unknown" });
    let unknown =
        connection.handle().call_method("tools/call", &unknown, CallOptions::new()).wait();
    assert!(matches!(unknown, Err(CallFailure::PeerError(error)) if error.code.get() == -32602));
}

#[test]
fn our_client_uses_a_server_of_rmcp() {
    for revision in REVISIONS {
        let (ours, socket) = UnixStream::pair().unwrap();
        let (sender, cancelled) = mpsc::channel();
        let server = thread::spawn(move || {
            runtime().block_on(async move {
                let server = TheirServer { revision, cancelled: sender };
                let running = server.serve(asynchronous(socket)).await.unwrap();
                running.waiting().await.unwrap();
            });
        });
        let (sender, received) = mpsc::channel();
        let mut config = ClientConfig::new("ours", "1");
        config.revisions = RevisionSet::LEGACY;
        config.offer = Some(Revision::from_name(revision).unwrap());
        config.capabilities.sampling = Some(Default::default());
        config.capabilities.roots = Some(Default::default());
        config.capabilities.elicitation = Some(Default::default());
        let reader = ours.try_clone().unwrap();
        let answers = Answers(Mutex::new(sender));
        let connection = connect(config, reader, SocketWriter::new(ours), answers).unwrap();
        use_theirs(&connection, revision, &received);
        super::times_out_there(connection.handle(), &cancelled);
        connection.handle().call_method("ping", &(), CallOptions::new()).wait().unwrap();
        connection.close(Duration::from_secs(10)).wait().unwrap();
        server.join().unwrap();
    }
}
