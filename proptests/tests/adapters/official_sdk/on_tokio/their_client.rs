//! A client of rmcp and a server of this crate.

use mcp_sansio::json::Raw;
use mcp_sansio::model::{Content, CreateMessageParams, InputRequired, Role, SamplingMessage, Tool};
use mcp_sansio::progress::Progress;
use mcp_sansio::{Revision, RevisionSet};
use mcp_sansio_tokio::{Exchange, Failed, Router, serve};
use rmcp::model as theirs;
use rmcp::model::ProtocolVersion;
use rmcp::service::{
    ClientLifecycleMode, ClientServiceExt, NotificationContext, PeerRequestOptions, RequestContext,
    RequestHandle, RunningService,
};
use rmcp::{ClientHandler, ErrorData, RoleClient, ServiceExt};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{duplex, split};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::official_sdk::on_tokio::{PIPE, REVISIONS, of, on_every_runtime};

/// A client of rmcp that responds to requests and logs its notifications.
#[derive(Clone)]
struct TheirClient {
    revision: &'static str,
    received: UnboundedSender<String>,
}

impl ClientHandler for TheirClient {
    fn get_info(&self) -> theirs::ClientConfig {
        of(json!({
            "protocolVersion": self.revision, "capabilities": { "sampling": {} },
            "clientInfo": { "name": "rmcp", "version": "3" },
        }))
    }

    async fn create_message(
        &self,
        params: theirs::CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<theirs::CreateMessageResult, ErrorData> {
        let params = serde_json::to_value(params).unwrap();
        let content = params["messages"][0]["content"].clone();
        // In some revisions of rmcp, content is a list.
        let content = if content.is_array() { content[0].clone() } else { content };
        Ok(of(json!({ "role": "assistant", "content": content, "model": "m" })))
    }

    async fn on_progress(
        &self,
        params: theirs::ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        _ = self.received.send(format!("progress {}", params.progress));
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        _ = self.received.send("tools".into());
    }
}

#[derive(Deserialize)]
struct Words {
    #[serde(default)]
    text: String,
}

/// Creates a server with a tool for each feature, and a receiver of its handlers' log.
fn router() -> (Router, UnboundedReceiver<&'static str>) {
    let (sender, reported) = unbounded_channel();
    let (router, tool) =
        (Router::new(), |name| Tool::new(name, Raw::new(r#"{"type":"object"}"#).unwrap()));
    router.pages_of(2);
    router.tool_with(tool("echo"), |words: Words, _| words.text);
    router.tool_with(tool("ask"), |words: Words, exchange| {
        match exchange.request().inputs.as_ref() {
            None => {
                let question = SamplingMessage::new(Role::User, Content::text(words.text));
                let params = CreateMessageParams::new([question], 9);
                let required = InputRequired::new().sample("model", params);
                Err(Failed::needs(required))
            }
            Some(inputs) => {
                let inputs: Value = inputs.parse()?;
                Ok(inputs["model"]["content"].to_string())
            }
        }
    });
    router.async_tool_with(tool("count"), |_: Words, exchange: Exchange| async move {
        for step in 1..=3_u32 {
            tokio::task::yield_now().await;
            exchange.progress(Progress::new(step).total(3_u32))?;
        }
        Ok::<_, Failed>("counted")
    });
    router.async_tool_with(tool("wait"), move |_: Words, exchange: Exchange| {
        let sender = sender.clone();
        async move {
            sender.send("waiting").unwrap();
            exchange.cancelled().await;
            sender.send("cancelled").unwrap();
            "too late"
        }
    });
    router.tool_with(tool("fail"), |_: Words, _| Err::<String, _>(Failed::new("it has failed")));
    (router, reported)
}

type Running = RunningService<RoleClient, TheirClient>;

async fn call(client: &Running, name: &'static str, text: &str) -> Value {
    let arguments = of(json!({ "text": text }));
    let params = theirs::CallToolRequestParams::new(name).with_arguments(arguments);
    serde_json::to_value(client.call_tool(params).await.unwrap()).unwrap()
}

async fn text_of(client: &Running, name: &'static str, text: &str) -> String {
    call(client, name, text).await["content"][0]["text"].as_str().unwrap().into()
}

#[test]
fn a_client_of_rmcp_uses_our_server() {
    on_every_runtime(|| async {
        for revision in REVISIONS {
            drive(revision).await;
        }
    });
}

async fn drive(revision: &'static str) {
    let (ours, socket) = duplex(PIPE);
    let (router, mut reported) = router();
    let mut config = router.config("ours", "1");
    config.revisions = RevisionSet::only(Revision::from_name(revision).unwrap());
    let (reader, writer) = split(ours);
    let server = tokio::spawn(serve(config, reader, writer, router.clone()));
    let (received, mut wait_for_notifications) = unbounded_channel();
    let handler = TheirClient { revision, received };
    let mut client = if revision == "2026-07-28" {
        let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
        let mode = ClientLifecycleMode::Discover { preferred_versions };
        handler.serve_with_lifecycle(socket, mode).await.unwrap()
    } else {
        handler.serve(socket).await.unwrap()
    };
    assert_eq!(client.list_all_tools().await.unwrap().len(), 5, "{revision}");
    let large = "x".repeat(100_000);
    assert_eq!(text_of(&client, "echo", &large).await, large);
    assert!(text_of(&client, "ask", "why?").await.contains("why?"), "{revision}");
    assert_eq!(text_of(&client, "count", "").await, "counted");
    // rmcp handles notifications concurrently, in any order.
    let mut steps = [
        wait_for_notifications.recv().await,
        wait_for_notifications.recv().await,
        wait_for_notifications.recv().await,
    ]
    .map(Option::unwrap);
    steps.sort_unstable();
    assert_eq!(steps, ["progress 1", "progress 2", "progress 3"]);
    let failed = call(&client, "fail", "").await;
    assert_eq!(
        (&failed["isError"], &failed["content"][0]["text"]),
        (&json!(true), &json!("it has failed"))
    );
    let unknown =
        client.call_tool(theirs::CallToolRequestParams::new("unknown")).await.unwrap_err();
    assert!(unknown.to_string().contains("-32602"), "{unknown}");
    let pending = wait(&client).await;
    // The messages of rmcp can overtake each other.
    assert_eq!(reported.recv().await, Some("waiting"));
    pending.cancel(Some("no longer needed".into())).await.unwrap();
    assert_eq!(reported.recv().await, Some("cancelled"));
    // Twenty calls at once.
    let mut echoes = tokio::task::JoinSet::new();
    for number in 0..20 {
        let client = client.peer().clone();
        echoes.spawn(async move {
            let arguments = of(json!({ "text": number.to_string() }));
            let params = theirs::CallToolRequestParams::new("echo").with_arguments(arguments);
            let result = serde_json::to_value(client.call_tool(params).await.unwrap()).unwrap();
            assert_eq!(result["content"][0]["text"], number.to_string());
        });
    }
    echoes.join_all().await;
    if revision != "2026-07-28" {
        // In the modern era, only subscribers receive this notification.
        assert!(router.remove_tool("fail"));
        assert_eq!(wait_for_notifications.recv().await.unwrap(), "tools");
        assert_eq!(client.list_all_tools().await.unwrap().len(), 4);
    }
    client.close().await.unwrap();
    server.await.unwrap().unwrap();
}

async fn wait(client: &Running) -> RequestHandle<RoleClient> {
    let params = theirs::CallToolRequestParams::new("wait").with_arguments(of(json!({})));
    let request = theirs::ClientRequest::CallToolRequest(theirs::CallToolRequest::new(params));
    let options = PeerRequestOptions::no_options();
    client.send_cancellable_request(request, options).await.unwrap()
}
