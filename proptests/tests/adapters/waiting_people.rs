//! Calls whose server asks a person: the time of the person does not count, and a refusal ends the call at once.
//!
//! The time of tokio is paused, and passes while nothing else happens.

use std::time::Duration;

use mcp_sansio::json::Raw;
use mcp_sansio::model::{
    Content, CreateMessageParams, CreateMessageResult, InputRequired, ListChanged, Role,
    SamplingCapability, SamplingMessage, Tool,
};
use mcp_sansio::{CallOptions, Client, ClientConfig, ErrorCode, RevisionSet, ServerConfig};
use mcp_sansio_tokio::{CallFailure, Exchange, Failed, Handler, Router, connect, serve};
use serde_json::{Value, json};
use tokio::io::{duplex, split};
use tokio::time::{Instant, sleep};

/// The time of the person: longer than an idle or a total timeout of a call.
const THINKS: Duration = Duration::from_secs(700);

/// The time that the server needs after that.
const WORKS: Duration = Duration::from_secs(50);

/// A person who answers, or refuses to.
struct Person {
    answers: bool,
}

impl Handler<Client> for Person {
    async fn serve(&self, exchange: Exchange<Client>) {
        sleep(THINKS).await;
        if self.answers {
            let answer = CreateMessageResult::new("model", Content::text("why not"));
            exchange.respond(&answer).unwrap();
        } else {
            exchange.reject(ErrorCode::new(-1), "no").unwrap();
        }
    }
}

/// Calls a tool that needs an answer. Returns the outcome and how long the call took.
async fn ask(revisions: RevisionSet, person: Person) -> (Result<Value, CallFailure>, Duration) {
    let router = Router::new();
    let tool = Tool::new("ask", Raw::new(r#"{"type":"object"}"#).unwrap());
    router.async_tool_with(tool, |_: Value, exchange| async move {
        let inputs = exchange.request().inputs.as_ref();
        let answer = inputs.and_then(|inputs| inputs.pointer("/model/content/text"));
        let Some(answer) = answer.map(|answer| answer.to_string()) else {
            let question = SamplingMessage::new(Role::User, Content::text("why?"));
            let params = CreateMessageParams::new([question], 9);
            return Err(Failed::needs(InputRequired::new().sample("model", params)));
        };
        sleep(WORKS).await;
        Ok(answer)
    });
    let mut server = ServerConfig::new("server", "1");
    server.capabilities.tools = Some(ListChanged::default());
    let mut client = ClientConfig::new("client", "1");
    client.capabilities.sampling = Some(SamplingCapability::default());
    (server.revisions, client.revisions) = (revisions, revisions);
    let (ours, theirs) = duplex(64);
    let (reader, writer) = split(theirs);
    let server = tokio::spawn(serve(server, reader, writer, router));
    let (reader, writer) = split(ours);
    let connection = connect(client, reader, writer, person).await.unwrap();
    let began = Instant::now();
    let params = json!({"name": "ask", "arguments": {}});
    let called = connection.handle().call_method("tools/call", &params, CallOptions::new()).await;
    let took = began.elapsed();
    connection.close(Duration::from_secs(1)).await.unwrap();
    server.await.unwrap().unwrap();
    (called.map(|result| serde_json::from_str(result.raw().as_json()).unwrap()), took)
}

const BOTH: [RevisionSet; 2] = [RevisionSet::LEGACY, RevisionSet::MODERN];

/// Pain 62: a call does not time out because of a person, although nothing else happens on the connection.
#[tokio::test(start_paused = true)]
async fn the_time_of_a_person_does_not_count() {
    for revisions in BOTH {
        let (called, took) = ask(revisions, Person { answers: true }).await;
        assert_eq!(called.unwrap()["content"][0]["text"], "\"why not\"", "{revisions:?}");
        assert!((THINKS + WORKS..THINKS + 2 * WORKS).contains(&took), "{took:?}");
    }
}

/// A call whose input is refused ends at once, although nothing else happens on the connection.
#[tokio::test(start_paused = true)]
async fn a_refused_input_ends_its_call_at_once() {
    let (called, took) = ask(RevisionSet::MODERN, Person { answers: false }).await;
    assert_eq!(called.unwrap_err(), CallFailure::InputRefused(ErrorCode::new(-1)));
    assert!((THINKS..THINKS + WORKS).contains(&took), "{took:?}");
}
