//! The server cases on the official SDK.

use std::hint::black_box;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, JsonObject,
    ListToolsResult, NumberOrString, PaginatedRequestParams, ProgressNotificationParam,
    ProgressToken, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RunningService};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::wire::{Wire, runtime};
use crate::{Case, Rounds, messages, sent};

/// Returns the work of a server case. The official SDK has no separate scanner and no prepared lists.
pub(crate) fn rounds(case: Case) -> Option<Rounds> {
    let rounds = match case {
        Case::Ping => answers(messages::PING),
        Case::Call | Case::TypedCall => answers(&messages::call(messages::TEXT)),
        Case::StatelessCall | Case::TypedStatelessCall => {
            stateless_answers(&messages::stateless_call(messages::TEXT))
        }
        Case::ListTools => answers(messages::LIST),
        Case::LargeCall => answers(&messages::call(&messages::large_text())),
        Case::Progress => reports(),
        _ => return None,
    };
    Some(rounds)
}

/// A server that echoes.
pub(crate) struct Echoing {
    tools: Vec<Tool>,
}

impl Echoing {
    pub(crate) fn new() -> Self {
        let schema: JsonObject = serde_json::from_str(messages::SCHEMA).unwrap();
        let tool = |index| {
            let (name, does) = (messages::tool_name(index), messages::tool_description(index));
            Tool::new(name, does, schema.clone())
        };
        Self { tools: (0..messages::TOOLS).map(tool).collect() }
    }
}

impl ServerHandler for Echoing {
    fn get_info(&self) -> ServerConfig {
        serde_json::from_value(json!({
            "protocolVersion": "2025-11-25", "capabilities": { "tools": {} },
            "serverInfo": { "name": "bench", "version": "1" },
        }))
        .unwrap()
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.clone()))
    }

    async fn call_tool(
        &self,
        mut request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let text = request.arguments.as_mut().and_then(|arguments| arguments.remove("text"));
        let Some(Value::String(text)) = text else { panic!("{request:?}") };
        let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
        // `false` is the default; the other contenders omit the field.
        result.is_error = None;
        Ok(CallToolResponse::Complete(result))
    }
}

/// A running server, and the client's end of its connection.
struct Serving {
    runtime: Runtime,
    server: RunningService<RoleServer, Echoing>,
    wire: Wire,
}

impl Serving {
    /// Creates a server that has received these messages and has responded to the first one.
    fn after(messages: &[&str]) -> Self {
        let runtime = runtime();
        let (mut wire, theirs) = Wire::new();
        let server = runtime.block_on(async {
            let server = tokio::spawn(Echoing::new().serve(theirs));
            for message in messages {
                wire.write(&messages::line(message)).await;
            }
            let answer = wire.read().await;
            assert!(answer.windows(8).any(|part| part == b"\"result\""), "{}", text(answer));
            server.await.unwrap().unwrap()
        });
        Self { runtime, server, wire }
    }

    /// Creates a server in a session.
    fn in_session() -> Self {
        Self::after(&[messages::INITIALIZE, messages::INITIALIZED])
    }

    /// Sends a message to the server repeatedly.
    fn answer(self, message: &str) -> Rounds {
        let Self { runtime, server, mut wire } = self;
        let line = messages::line(message);
        Box::new(move |rounds| {
            runtime.block_on(async {
                for _ in 0..rounds {
                    wire.write(black_box(&line)).await;
                    assert_ne!(sent::send(wire.read().await), 0);
                }
            });
            // Keeps the server alive: a drop would end it.
            black_box(&server);
        })
    }
}

fn text(line: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(line)
}

fn answers(message: &str) -> Rounds {
    Serving::in_session().answer(message)
}

/// Without a session, the first request is like all others.
fn stateless_answers(message: &str) -> Rounds {
    Serving::after(&[message]).answer(message)
}

fn reports() -> Rounds {
    let Serving { runtime, server, mut wire } = Serving::in_session();
    let (token, mut done) = (ProgressToken(NumberOrString::Number(1)), 0.0);
    Box::new(move |rounds| {
        runtime.block_on(async {
            for _ in 0..rounds {
                done += 1.0;
                let report = ProgressNotificationParam::new(token.clone(), done);
                server.notify_progress(report).await.unwrap();
                assert_ne!(sent::send(wire.read().await), 0);
            }
        });
    })
}
