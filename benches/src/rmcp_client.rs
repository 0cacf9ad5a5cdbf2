//! The client cases on the official SDK, and its client together with its server.

use std::hint::black_box;
use std::sync::Arc;

use futures_util::future::join_all;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ClientConfig, JsonObject, ProgressNotificationParam,
};
use rmcp::service::{NotificationContext, RunningService};
use rmcp::{ClientHandler, RoleClient, ServiceExt};
use serde_json::json;
use tokio::io::DuplexStream;
use tokio::runtime::Runtime;
use tokio::sync::Notify;

use crate::messages::CallParams;
use crate::rmcp_server::Echoing;
use crate::stage::stage_driving;
use crate::wire::{Wire, connection, runtime};
use crate::{Case, Rounds, messages, sent};

/// Returns the work of a client case, or of a case of both sides.
pub(crate) fn rounds(case: Case) -> Option<Rounds> {
    match case {
        Case::ClientCall => Some(calls()),
        Case::ClientProgress => Some(progress()),
        Case::RoundTrip | Case::RoundTripOf64 => Some(round_trips(case.batch())),
        _ => None,
    }
}

/// A client that signals each progress notification.
#[derive(Clone, Default)]
struct Hearing {
    received: Arc<Notify>,
}

impl ClientHandler for Hearing {
    fn get_info(&self) -> ClientConfig {
        serde_json::from_value(json!({
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": { "name": "bench", "version": "1" },
        }))
        .unwrap()
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        black_box(params);
        self.received.notify_one();
    }
}

type Client = RunningService<RoleClient, Hearing>;

async fn client(stream: DuplexStream) -> Client {
    Hearing::default().serve(stream).await.unwrap()
}

fn arguments() -> JsonObject {
    let params = serde_json::to_value(CallParams::of(messages::TEXT)).unwrap();
    params["arguments"].as_object().unwrap().clone()
}

/// Calls a tool, and stops if the server requires input.
async fn call(client: &Client, arguments: &JsonObject) {
    let params = CallToolRequestParams::new("echo").with_arguments(arguments.clone());
    let response = client.call_tool_once(params).await.unwrap();
    assert!(matches!(black_box(response), CallToolResponse::Complete(_)));
}

/// The server's response to `initialize`.
const INITIALIZED: &str = concat!(
    r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","#,
    r#""capabilities":{"tools":{}},"serverInfo":{"name":"bench","version":"1"}}}"#
);

/// Opens the session of a client, as its server.
async fn open(wire: &mut Wire) {
    wire.read().await;
    wire.write(&messages::line(INITIALIZED)).await;
    wire.read().await;
}

/// Responds to every call. The ids count up.
async fn answer(mut wire: Wire) {
    open(&mut wire).await;
    let mut response = Vec::new();
    for id in 1.. {
        if sent::send(wire.read().await) == 0 {
            break;
        }
        stage_driving(|| messages::answer(id, &mut response));
        wire.write(&response).await;
    }
}

fn calls() -> Rounds {
    let runtime = runtime();
    let (wire, theirs) = Wire::new();
    runtime.spawn(answer(wire));
    let client = runtime.block_on(client(theirs));
    rounds_of(1, runtime, client)
}

/// Makes `at_once` concurrent calls. A round is one call.
fn rounds_of(at_once: usize, runtime: Runtime, client: Client) -> Rounds {
    let arguments = arguments();
    Box::new(move |rounds| {
        assert_eq!(rounds % at_once, 0);
        runtime.block_on(async {
            for _ in 0..rounds / at_once {
                if at_once == 1 {
                    call(&client, &arguments).await;
                } else {
                    join_all((0..at_once).map(|_| call(&client, &arguments))).await;
                }
            }
        });
    })
}

fn progress() -> Rounds {
    let runtime = runtime();
    let (mut wire, theirs) = Wire::new();
    let client = runtime.block_on(async {
        let client = tokio::spawn(client(theirs));
        open(&mut wire).await;
        client.await.unwrap()
    });
    let (mut done, mut report) = (0, Vec::new());
    Box::new(move |rounds| {
        runtime.block_on(async {
            for _ in 0..rounds {
                done += 1;
                stage_driving(|| messages::report(2, done, &mut report));
                wire.write(&report).await;
                client.service().received.notified().await;
            }
        });
    })
}

fn round_trips(at_once: usize) -> Rounds {
    let runtime = runtime();
    let (ours, theirs) = connection();
    let client = runtime.block_on(async {
        let server = tokio::spawn(Echoing::new().serve(theirs));
        let client = client(ours).await;
        let server = server.await.unwrap().unwrap();
        tokio::spawn(server.waiting());
        client
    });
    rounds_of(at_once, runtime, client)
}
