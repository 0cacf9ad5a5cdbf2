//! A client of rmcp and a server of this crate.

use std::collections::BTreeMap;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use mcp_sansio::{Revision, RevisionSet};
use mcp_sansio_std::{ConnectionOptions, SharedTasks, SocketWriter, serve_with};
use rmcp::model as theirs;
use rmcp::model::{ProtocolVersion, ServerNotification};
use rmcp::service::{
    ClientLifecycleMode, ClientServiceExt, NotificationContext, RequestContext, RunningService,
    Subscription,
};
use rmcp::{ClientHandler, ErrorData, RoleClient};
use serde_json::{Value, json};

use crate::official_sdk::modern::{A_LONG_TIME, asynchronous, everything, of, runtime};

const WATCHED: &str = "test://watched-resource";
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";

/// A client of rmcp that responds to all requests and records its notifications.
#[derive(Clone, Default)]
struct TheirClient {
    received: Arc<Mutex<Vec<String>>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl TheirClient {
    fn count(&self, line: &str) -> usize {
        self.received.lock().unwrap().iter().filter(|received| *received == line).count()
    }

    /// Takes the requests since the last call of this function, sorted: concurrent requests get their responses in
    /// any order.
    fn asked(&self) -> Vec<String> {
        let mut asked = std::mem::take(&mut *self.asked.lock().unwrap());
        asked.sort();
        asked
    }
}

impl ClientHandler for TheirClient {
    fn get_info(&self) -> theirs::ClientConfig {
        of(json!({
            "protocolVersion": "2025-11-25",
            "capabilities": { "roots": {}, "sampling": {}, "elicitation": { "form": {}, "url": {} } },
            "clientInfo": { "name": "rmcp", "version": "3" },
        }))
    }

    async fn create_message(
        &self,
        params: theirs::CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<theirs::CreateMessageResult, ErrorData> {
        let params = serde_json::to_value(params).unwrap();
        let question = params["messages"][0]["content"]["text"].as_str().unwrap();
        self.asked.lock().unwrap().push(question.into());
        Ok(of(json!({
            "role": "assistant", "content": { "type": "text", "text": "four" }, "model": "m",
        })))
    }

    async fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> Result<theirs::ListRootsResult, ErrorData> {
        self.asked.lock().unwrap().push("roots".into());
        Ok(of(json!({ "roots": [{ "uri": "file:///root" }] })))
    }

    async fn create_elicitation(
        &self,
        params: theirs::ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<theirs::ElicitResult, ErrorData> {
        let params = serde_json::to_value(params).unwrap();
        self.asked.lock().unwrap().push(params["message"].as_str().unwrap().into());
        if params["mode"] == "url" {
            return Ok(of(json!({ "action": "accept" })));
        }
        // One field of each form: other fields are not checked.
        let content = json!({ "name": "Ada", "color": "blue", "ok": true, "context": "a test" });
        Ok(of(json!({ "action": "accept", "content": content })))
    }

    async fn on_progress(
        &self,
        params: theirs::ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.received.lock().unwrap().push(format!("progress {}", params.progress));
    }

    async fn on_logging_message(
        &self,
        params: theirs::LoggingMessageNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.received.lock().unwrap().push(format!("log {}", params.data));
    }
}

type Running = RunningService<RoleClient, TheirClient>;

fn call(name: &'static str, arguments: Value) -> theirs::CallToolRequestParams {
    theirs::CallToolRequestParams::new(name).with_arguments(of(arguments))
}

async fn text(client: &Running, params: theirs::CallToolRequestParams) -> String {
    let result = serde_json::to_value(client.call_tool(params).await.unwrap()).unwrap();
    result["content"][0]["text"].as_str().unwrap().into()
}

async fn text_of(client: &Running, name: &'static str) -> String {
    text(client, call(name, json!({}))).await
}

/// Waits until this line has been recorded: rmcp handles notifications concurrently with responses.
async fn wait_for(client: &TheirClient, line: &str) {
    let received = async {
        while client.count(line) == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(A_LONG_TIME, received)
        .await
        .unwrap_or_else(|_| panic!("not heard: {line}"));
}

fn modern() -> ClientLifecycleMode {
    ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] }
}

fn automatic() -> ClientLifecycleMode {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    ClientLifecycleMode::Auto { preferred_versions, legacy_version: None }
}

/// Runs a client of rmcp against a server of this crate, and waits for both to end.
fn against_ours<F>(
    mode: ClientLifecycleMode,
    revisions: RevisionSet,
    drive: impl FnOnce(Running, TheirClient) -> F,
) where
    F: Future<Output = ()>,
{
    let (ours, socket) = UnixStream::pair().unwrap();
    let reader = ours.try_clone().unwrap();
    let server = thread::spawn(move || {
        let handler = everything::Everything::with_pages_of(5);
        let mut config = everything::config();
        config.revisions = revisions;
        let tasks = SharedTasks::default();
        serve_with(
            config,
            &ConnectionOptions::new().tasks(tasks),
            reader,
            SocketWriter::new(ours),
            handler,
        )
    });
    let driven = async {
        let handler = TheirClient::default();
        let client = handler.clone().serve_with_lifecycle(asynchronous(socket), mode);
        drive(client.await.unwrap(), handler).await;
    };
    let driven = async { tokio::time::timeout(A_LONG_TIME, driven).await };
    runtime().block_on(driven).unwrap();
    server.join().unwrap().unwrap();
}

#[test]
fn a_client_of_rmcp_uses_our_server() {
    for (mode, revisions) in [
        (modern(), RevisionSet::MODERN),
        (modern(), RevisionSet::ALL),
        (automatic(), RevisionSet::MODERN),
        (automatic(), RevisionSet::ALL),
    ] {
        against_ours(mode, revisions, |mut client, handler| async move {
            let version = client.peer_info().unwrap().protocol_version.clone();
            assert_eq!(version, ProtocolVersion::V_2026_07_28);
            lists(&client).await;
            needs(&client, &handler).await;
            wait_for_notifications(&client, &handler).await;
            listens(&client).await;
            client.close().await.unwrap();
        });
    }
}

#[test]
fn a_client_of_rmcp_finds_that_our_server_has_only_sessions() {
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let only = RevisionSet::only(Revision::from_name(revision).unwrap());
        against_ours(automatic(), only, |mut client, _| async move {
            let version = client.peer_info().unwrap().protocol_version.to_string();
            assert_eq!(version, revision);
            assert_eq!(text(&client, call("echo", json!({ "text": "hi" }))).await, "hi");
            client.close().await.unwrap();
        });
    }
}

async fn lists(client: &Running) {
    assert_eq!(client.list_all_tools().await.unwrap().len(), 43);
    assert_eq!(client.list_all_resources().await.unwrap().len(), 3);
    assert_eq!(client.list_all_resource_templates().await.unwrap().len(), 1);
    assert_eq!(client.list_all_prompts().await.unwrap().len(), 5);
    assert_eq!(text(client, call("echo", json!({ "text": "hi" }))).await, "hi");
    let read = of(json!({ "uri": "test://static-text" }));
    let read = serde_json::to_value(client.read_resource(read).await.unwrap()).unwrap();
    let text = "This is the content of the static text resource.";
    assert_eq!(read["contents"][0]["text"], text);
    let completion =
        client.complete_prompt_simple("test_prompt_with_arguments", "arg1", "par").await.unwrap();
    assert_eq!(completion, ["paris", "park", "party"]);
    let nothing = client.read_resource(of(json!({ "uri": "x:nothing" }))).await.unwrap_err();
    assert!(nothing.to_string().contains("-32602"), "{nothing}");
}

/// Tests tools that require input from the client.
async fn needs(client: &Running, handler: &TheirClient) {
    const NAME: &str = "What is your name?";
    for (tool, asked, expected) in [
        ("test_input_required_result_elicitation", &[NAME][..], "Hello, Ada!"),
        ("test_input_required_result_sampling", &["What is the capital of France?"], "four"),
        ("test_input_required_result_list_roots", &["roots"], "The roots are: file:///root"),
        ("test_input_required_result_request_state", &["Please confirm"], "state-ok"),
        ("test_input_required_result_tampered_state", &["Please confirm"], "unchanged"),
        (
            "test_input_required_result_multiple_inputs",
            &["Generate a greeting", NAME, "roots"],
            "four, Ada! You have 1 roots.",
        ),
        (
            "test_input_required_result_multi_round",
            &["Step 1: What is your name?", "Step 2: What is your favorite color?"],
            "Ada likes blue",
        ),
        ("visit_page", &["Please sign in"], "The user has been to the page"),
        ("list_roots", &["roots"], "file:///root"),
    ] {
        assert_eq!(text_of(client, tool).await, expected);
        assert_eq!(handler.asked(), asked, "{tool}");
    }
    let prompt = of(json!({ "name": "test_input_required_result_prompt" }));
    let prompt = serde_json::to_value(client.get_prompt(prompt).await.unwrap()).unwrap();
    assert_eq!(prompt["messages"][0]["content"]["text"], "The context is: a test");
    let forged = call("test_input_required_result_tampered_state", json!({}));
    let answers = BTreeMap::from([("confirm".into(), json!({ "action": "accept" }))]);
    let forged = forged.with_input_responses(answers).with_request_state("forged");
    let refused = client.call_tool_once(forged).await.unwrap_err().to_string();
    assert!(refused.contains("-32602") && refused.contains("requestState"), "{refused}");
}

async fn wait_for_notifications(client: &Running, handler: &TheirClient) {
    text_of(client, "test_tool_with_progress").await;
    wait_for(handler, "progress 100").await;
    let mut logging = call("test_tool_with_logging", json!({}));
    text(client, logging.clone()).await;
    for (level, times) in [("error", 0), ("info", 1)] {
        logging.meta = Some(of(json!({ LOG_LEVEL: level })));
        text(client, logging.clone()).await;
        if 0 < times {
            wait_for(handler, "log \"Tool execution completed\"").await;
        }
        assert_eq!(handler.count("log \"Tool execution started\""), times);
    }
}

async fn next(subscription: &mut Subscription) -> String {
    match subscription.next().await.unwrap() {
        Some(ServerNotification::ToolListChangedNotification(_)) => "tools".into(),
        Some(ServerNotification::PromptListChangedNotification(_)) => "prompts".into(),
        Some(ServerNotification::ResourceListChangedNotification(_)) => "resources".into(),
        Some(ServerNotification::ResourceUpdatedNotification(updated)) => updated.params.uri,
        other => panic!("{other:?}"),
    }
}

async fn listens(client: &Running) {
    let filter = of(json!({
        "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true,
        "resourceSubscriptions": [WATCHED],
    }));
    let mut all = client.listen(filter).await.unwrap();
    assert_eq!(all.acknowledged().resource_subscriptions.as_deref(), Some(&[WATCHED.into()][..]));
    let filter = of(json!({ "promptsListChanged": true }));
    let mut prompts = client.listen(filter).await.unwrap();
    text_of(client, "announce_changes").await;
    text_of(client, "test_trigger_resource_update").await;
    for expected in ["tools", "resources", "prompts", WATCHED] {
        assert_eq!(next(&mut all).await, expected);
    }
    all.cancel().await.unwrap();
    text_of(client, "test_trigger_tool_change").await;
    text_of(client, "test_trigger_prompt_change").await;
    assert_eq!([next(&mut prompts).await, next(&mut prompts).await], ["prompts", "prompts"]);
    prompts.cancel().await.unwrap();
}
