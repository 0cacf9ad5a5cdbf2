//! Servers built from functions with a `Router`.

use std::sync::{Arc, Barrier};

use mcp_sansio::call::Paging;
use mcp_sansio::json::Raw;
use mcp_sansio::model::{
    AudioContent, CallToolResult, Content, CreateMessageParams, GetPromptResult, InputRequired,
    Prompt, PromptMessage, Reference, Resource, ResourceContents, ResourceTemplate, Role,
    SamplingMessage, Tool, method,
};
use mcp_sansio::{CallOptions, ClientRequest, ErrorCode, Revision, RevisionSet, ServerConfig};
use mcp_sansio_driver::{
    CallFailure, Connection, ConnectionOptions, Exchange, Failed, Json, Router,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::suite::kit::{A_LONG_TIME, client_config};
use crate::suite::pipes::pipes;
use crate::suite::runtimes::{Adapter, Served};
use crate::suite::script::Answers;

pub(super) fn tool(name: &str) -> Tool<'static> {
    Tool::new(name.to_owned(), Raw::new(r#"{"type":"object"}"#).unwrap())
}

#[derive(Deserialize)]
struct Sum {
    a: i64,
    b: i64,
}

#[derive(Deserialize)]
struct Times {
    word: String,
    count: u8,
}

#[derive(Deserialize)]
struct Number {
    n: i64,
}

#[derive(Deserialize)]
struct Word {
    word: String,
}

#[derive(Deserialize)]
struct Tags {
    #[serde(default)]
    tag: Vec<String>,
}

pub(super) fn router() -> Router {
    let router = Router::new();
    router.tool_with(tool("add"), |sum: Sum, _| (sum.a + sum.b).to_string());
    router.tool_with(tool("add_json"), |sum: Sum, _| Json(json!({"sum": sum.a + sum.b})));
    router.async_tool_with(tool("add_later"), |sum: Sum, _| async move {
        futures_lite::future::yield_now().await;
        Ok::<_, Failed>((sum.a + sum.b).to_string())
    });
    router.tool_with(tool("fail"), |_: Value, _| {
        let number: i64 = "no number".parse()?;
        Ok::<_, Failed>(number.to_string())
    });
    router.tool_with(tool("refuse"), |_: Value, _| {
        Err::<&str, _>(Failed::refused(ErrorCode::new(1234), "not today"))
    });
    router.tool_with(tool("panic"), |_: Value, _| -> String { panic!("as asked") });
    router.prompt_with(Prompt::new("plain"), |(), _| "Say something.");
    router
        .prompt_with(Prompt::new("times"), |times: Times, _| times.word.repeat(times.count.into()));
    router.async_prompt_with(Prompt::new("two"), |(), _| async {
        let user_message = |text: &'static str| PromptMessage::user(Content::text(text));
        GetPromptResult::new([user_message("one"), user_message("two")])
    });
    let mut text = Resource::new("test://text", "text");
    text.mime_type = Some("text/plain".into());
    router.resource_with(text, |_: &Exchange| "words");
    router.async_resource("test://blob", "blob", |_| async {
        ResourceContents::blob("test://blob", "AAAA")
    });
    router.resource("test://gone", "gone", |_| None::<&str>);
    let twice = |number: Number, _: &Exchange| match number.n {
        0 => Err(Failed::refused(ErrorCode::INVALID_PARAMS, "not zero")),
        n => Ok((n * 2).to_string()),
    };
    router.template("test://numbers/{n}", "numbers", twice).unwrap();
    let loud = |word: Word, _: &Exchange| (word.word != "none").then(|| word.word.to_uppercase());
    router.template("test://words/{word}", "words", loud).unwrap();
    let described = ResourceTemplate::new("test://tags{?tag*}", "tags");
    let tags = async |tags: Tags, _| tags.tag.join("+");
    router.async_template_with(described, tags).unwrap();
    router.completion(Reference::prompt("times"), "word", |typed: &str, _| {
        let typed = typed.to_owned();
        ["echo", "hello", "help"].into_iter().filter(move |word| word.starts_with(&typed))
    });
    let numbers = Reference::resource("test://numbers/{n}");
    router.async_completion(numbers, "n", async |typed, exchange| {
        let ClientRequest::Complete(complete) = &exchange.request().kind else { return vec![] };
        let context = complete.context.as_ref().map(Raw::to_string).unwrap_or_default();
        vec![format!("{typed}1"), context]
    });
    router
}

pub(super) struct OnPipes<A> {
    _adapter: A,
    pub(super) connection: Connection,
    served: Served,
}

impl<A: Adapter> OnPipes<A> {
    pub(super) fn new(router: &Router, revisions: RevisionSet) -> Self {
        Self::with(router, revisions, router.config("offers", "1"), ConnectionOptions::new())
    }

    /// Serves with this configuration and these options.
    pub(super) fn with(
        router: &Router,
        revisions: RevisionSet,
        mut server: ServerConfig,
        options: ConnectionOptions,
    ) -> Self {
        let (adapter, (ours, theirs)) = (A::new(), pipes(1000));
        let mut client = client_config();
        (server.revisions, client.revisions) = (revisions, revisions);
        let served = adapter.serve_with(server, options.clone(), theirs, router.clone());
        let connection = adapter.connect_with(client, options, ours, Answers::default()).unwrap();
        Self { _adapter: adapter, connection, served }
    }

    pub(super) fn ask(&self, method: &str, params: &Value) -> Result<Value, CallFailure> {
        let call = self.connection.handle().call_method(method, params, CallOptions::new());
        call.wait().map(|reply| reply.parse_as().unwrap())
    }

    pub(super) fn call(&self, tool: &str, arguments: &Value) -> Result<Value, CallFailure> {
        self.ask("tools/call", &json!({"name": tool, "arguments": arguments}))
    }

    pub(super) fn code(&self, method: &str, params: &Value) -> i64 {
        match self.ask(method, params) {
            Err(CallFailure::PeerError(error)) => error.code.get(),
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn end(self) {
        self.connection.close(A_LONG_TIME).wait().unwrap();
        self.served.recv_timeout(A_LONG_TIME).unwrap().unwrap();
    }
}

pub(super) const BOTH: [RevisionSet; 2] = [RevisionSet::LEGACY, RevisionSet::MODERN];

/// Functions that wait for one another run at the same time, for one client and for several, and block no other
/// request, even on a runtime with one thread.
pub(crate) fn blocking_functions_do_not_block_other_requests<A: Adapter>() {
    const CLIENTS: usize = 3;
    const CALLS: usize = 20;
    let router = router();
    let barrier = Arc::new(Barrier::new(CLIENTS * CALLS + 1));
    let waited = Arc::clone(&barrier);
    router.tool_with(tool("block"), move |_: Value, _| {
        waited.wait();
        "together"
    });
    let clients: Vec<_> =
        (0..CLIENTS).map(|_| OnPipes::<A>::new(&router, RevisionSet::MODERN)).collect();
    let params = json!({"name": "block", "arguments": {}});
    let call = |client: &OnPipes<A>| {
        client.connection.handle().call_method("tools/call", &params, CallOptions::new())
    };
    let calls: Vec<_> =
        clients.iter().flat_map(|client| (0..CALLS).map(|_| call(client))).collect();
    let others = [json!({"a": 1, "b": 2}), json!({"a": 3, "b": 4})];
    for (client, arguments) in clients.iter().zip(&others) {
        assert!(client.call("add_later", arguments).is_ok());
        assert!(client.call("add", arguments).is_ok());
    }
    barrier.wait();
    for call in calls {
        let reply: Value = call.wait().unwrap().parse_as().unwrap();
        assert_eq!(reply["content"][0]["text"], "together");
    }
    clients.into_iter().for_each(OnPipes::end);
}

pub(crate) fn lists_come_by_themselves<A: Adapter>() {
    for (revisions, pages) in BOTH.into_iter().zip([1, 3]) {
        let router = router();
        if pages == 3 {
            router.pages_of(2);
        }
        let served = OnPipes::<A>::new(&router, revisions);
        let handle = served.connection.handle();
        let (paging, options) = (Paging::default(), CallOptions::new());
        let tools = handle.list::<method::ListTools>(paging, options).wait().unwrap();
        let names: Vec<_> = tools
            .pages
            .iter()
            .flat_map(|page| {
                let tools = page.parse().unwrap().tools;
                tools.iter().map(|tool| tool.name.to_string()).collect::<Vec<_>>()
            })
            .collect();
        assert_eq!(names, ["add", "add_json", "add_later", "fail", "refuse", "panic"]);
        assert_eq!(tools.pages.len(), pages);
        let count = |method, list: &str| {
            served.ask(method, &json!({})).unwrap()[list].as_array().unwrap().len()
        };
        assert_eq!(count("prompts/list", "prompts"), if pages == 3 { 2 } else { 3 });
        assert_eq!(count("resources/list", "resources"), if pages == 3 { 2 } else { 3 });
        let templates = count("resources/templates/list", "resourceTemplates");
        assert_eq!(templates, if pages == 3 { 2 } else { 3 });
        assert_eq!(served.code("tools/list", &json!({"cursor": "made up"})), -32602);
        served.end();
    }
}

pub(crate) fn functions_of_every_kind<A: Adapter>() {
    for revisions in BOTH {
        let served = OnPipes::<A>::new(&router(), revisions);
        let sum = json!({"a": 1, "b": 2});
        for tool in ["add", "add_later"] {
            assert_eq!(served.call(tool, &sum).unwrap()["content"][0]["text"], "3");
        }
        let structured = served.call("add_json", &sum).unwrap();
        assert_eq!(structured["structuredContent"], json!({"sum": 3}));
        assert_eq!(structured["content"][0]["text"], "{\"sum\":3}");
        let failed = served.call("fail", &json!({})).unwrap();
        let text = "invalid digit found in string";
        assert_eq!(
            (&failed["isError"], &failed["content"][0]["text"]),
            (&json!(true), &json!(text))
        );
        let get = |name| served.ask("prompts/get", &json!({"name": name})).unwrap();
        assert_eq!(get("plain")["messages"][0]["content"]["text"], "Say something.");
        assert_eq!(get("two")["messages"][1]["content"]["text"], "two");
        let params = json!({"name": "times", "arguments": {"word": "ha", "count": "3"}});
        let times = served.ask("prompts/get", &params).unwrap();
        assert_eq!(times["messages"][0]["content"]["text"], "hahaha");
        let read =
            |uri| served.ask("resources/read", &json!({"uri": uri})).unwrap()["contents"][0].take();
        assert_eq!(
            read("test://text"),
            json!({"uri": "test://text", "mimeType": "text/plain", "text": "words"})
        );
        assert_eq!(read("test://blob"), json!({"uri": "test://blob", "blob": "AAAA"}));
        assert_eq!(read("test://numbers/21")["text"], "42");
        assert_eq!(read("test://words/so%20loud")["text"], "SO LOUD");
        assert_eq!(read("test://tags?tag=a&tag=b%26")["text"], "a+b&");
        assert_eq!(read("test://tags")["text"], "");
        served.end();
    }
}

/// The error response describes the defect of the function.
pub(crate) fn a_result_that_does_not_fit_the_revision_is_an_error<A: Adapter>() {
    let router = router();
    router.tool_with(tool("hum"), |_: Value, _| {
        CallToolResult::new([Content::Audio(AudioContent::from_bytes(b"hm", "audio/wav"))])
    });
    // This revision has no audio content.
    let served = OnPipes::<A>::new(&router, RevisionSet::only(Revision::V2024_11_05));
    match served.call("hum", &json!({})) {
        Err(CallFailure::PeerError(error)) => {
            assert_eq!(error.code, ErrorCode::INTERNAL_ERROR);
            let text = error.message.to_str();
            assert!(text.starts_with("the result does not fit: "), "{text}");
        }
        other => panic!("{other:?}"),
    }
    served.end();
}

/// An entry that does not fit is named by the error of the list.
pub(crate) fn a_list_that_does_not_fit_names_the_member<A: Adapter>() {
    let router = Router::new();
    router.tool_with(Tool::new("bad", Raw::EMPTY_OBJECT), |_: Value, _| "never");
    for revisions in BOTH {
        let served = OnPipes::<A>::new(&router, revisions);
        match served.ask("tools/list", &json!({})) {
            Err(CallFailure::PeerError(error)) => {
                assert_eq!(error.code, ErrorCode::INTERNAL_ERROR);
                let reason =
                    "the answer could not be written: tools[0].inputSchema.type is missing";
                assert_eq!(error.message, reason);
            }
            other => panic!("{other:?}"),
        }
        served.end();
    }
}

pub(crate) fn unknown_names_and_invalid_arguments_are_refused<A: Adapter>() {
    for (revisions, no_resource) in BOTH.into_iter().zip([-32002, -32602]) {
        let served = OnPipes::<A>::new(&router(), revisions);
        assert_eq!(served.code("tools/call", &json!({"name": "none"})), -32602);
        assert_eq!(served.code("prompts/get", &json!({"name": "none"})), -32602);
        assert_eq!(served.code("resources/read", &json!({"uri": "test://none"})), no_resource);
        for uri in ["test://gone", "test://words/none", "test://words/a/b", "test://words/%ff"] {
            assert_eq!(served.code("resources/read", &json!({"uri": uri})), no_resource);
        }
        let refusal = |method, params: &Value| match served.ask(method, params) {
            Err(CallFailure::PeerError(error)) => (error.code.get(), error.message.to_string()),
            other => panic!("{other:?}"),
        };
        let (code, text) = refusal("resources/read", &json!({"uri": "test://numbers/x"}));
        let reason = "the URI does not fit: n: \"x\" is not a whole number of 64 bits";
        assert_eq!((code, text.as_str()), (-32602, reason));
        let params = json!({"name": "times", "arguments": {"word": "ha", "count": "300"}});
        let (code, text) = refusal("prompts/get", &params);
        let reason = "the arguments do not fit: count: \"300\" is not a whole number from 0 to 255";
        assert_eq!((code, text.as_str()), (-32602, reason));
        assert_eq!(served.code("resources/read", &json!({"uri": "test://numbers/0"})), -32602);
        assert_eq!(served.code("tools/call", &json!({"name": "refuse"})), 1234);
        // The model sees that a tool has failed; what it panicked with stays on the server.
        let panicked = served.call("panic", &json!({})).unwrap();
        assert_eq!(panicked["isError"], true);
        let text = "the server failed while it ran this (a panic)";
        assert_eq!(panicked["content"][0]["text"], text);
        assert_eq!(served.code("x/unknown", &json!({})), -32601);
        // Since 2025-11-25 the error is a tool result, so that the model sees it.
        let misfit = served.call("add", &json!({"a": "one"})).unwrap();
        assert_eq!(misfit["isError"], true);
        let text = r#"the arguments do not fit: a: invalid type: string "one", expected i64"#;
        assert_eq!(misfit["content"][0]["text"], text);
        assert_eq!(
            served.call("add", &json!({"a": 1, "b": 1})).unwrap()["content"][0]["text"],
            "2"
        );
        served.end();
    }
}

pub(crate) fn router_changes_are_notified_once<A: Adapter>() {
    let router = router();
    let (adapter, (ours, theirs)) = (A::new(), pipes(1000));
    let mut config = router.config("offers", "1");
    config.revisions = RevisionSet::LEGACY;
    let options = ConnectionOptions::new();
    let served = adapter.serve_with(config, options, theirs, router.clone());
    let mut peer = crate::suite::kit::Peer::new(ours);
    peer.initialize();
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    peer.send(&ping);
    assert_eq!(peer.receive()["id"], 1);
    // Each change is sent once to the connected clients.
    router.tool_with(tool("new"), |_: Value, _| "new");
    assert_eq!(peer.receive()["method"], "notifications/tools/list_changed");
    assert!(router.remove_prompt("plain"));
    assert_eq!(peer.receive()["method"], "notifications/prompts/list_changed");
    assert!(!router.remove_prompt("plain"));
    assert!(router.remove_resource("test://text"));
    assert_eq!(peer.receive()["method"], "notifications/resources/list_changed");
    assert!(router.remove_template("test://numbers/{n}") && router.remove_tool("new"));
    assert_eq!(peer.receive()["method"], "notifications/resources/list_changed");
    assert_eq!(peer.receive()["method"], "notifications/tools/list_changed");
    let subscribe = json!({"jsonrpc": "2.0", "id": 2, "method": "resources/subscribe", "params": {"uri": "test://blob"}});
    peer.send(&subscribe);
    assert_eq!(peer.receive()["id"], 2);
    router.resource_updated("test://other");
    router.resource_updated("test://blob");
    let updated = peer.receive();
    assert_eq!(updated["method"], "notifications/resources/updated");
    assert_eq!(updated["params"]["uri"], "test://blob");
    drop(peer);
    served.recv_timeout(A_LONG_TIME).unwrap().unwrap();
    // No client is connected any more.
    router.resource_updated("test://blob");
}

/// A peer that does not read receives the change notifications when it reads.
pub(crate) fn changes_wait_for_room<A: Adapter>() {
    let router = Router::new();
    router.tool_with(tool("large"), |_: Value, _| "x".repeat(200_000));
    router.resource("test://one", "one", |_| "words");
    let mut config = router.config("offers", "1");
    config.revisions = RevisionSet::LEGACY;
    config.connection.limits.outbox_bytes = 100_000;
    let (adapter, (ours, theirs)) = (A::new(), pipes(64));
    let options = ConnectionOptions::new();
    let served = adapter.serve_with(config, options, theirs, router.clone());
    let mut peer = crate::suite::kit::Peer::new(ours);
    peer.initialize();
    let params = json!({"uri": "test://one"});
    peer.send(
        &json!({"jsonrpc": "2.0", "id": 0, "method": "resources/subscribe", "params": params}),
    );
    assert_eq!(peer.receive()["id"], 0);
    peer.call(1, "large", "");
    let mut first = [0; 1];
    std::io::Read::read_exact(&mut peer.lines, &mut first).unwrap();
    for _ in 0..3 {
        router.tool_with(tool("new"), |_: Value, _| "new");
        router.resource_updated("test://one");
    }
    let rest = peer.line().unwrap();
    assert!(200_000 < rest.len());
    // Each notification arrives once, in some order; a second one only if there was room for it at once.
    peer.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "ping"}));
    let mut delivered = Vec::new();
    loop {
        let message = peer.receive();
        match message["method"].as_str() {
            Some(method) => delivered.push(method.to_owned()),
            None => break assert_eq!(message["id"], 2),
        }
    }
    delivered.sort_unstable();
    assert_eq!(delivered, ["notifications/resources/updated", "notifications/tools/list_changed"]);
    drop(peer);
    served.recv_timeout(A_LONG_TIME).unwrap().unwrap();
}

/// One function serves both clients that accept requests and clients that call again with the input.
pub(crate) fn a_function_can_ask_first<A: Adapter>() {
    let router = Router::new();
    router.tool_with(tool("ask"), |_: Value, exchange| {
        let inputs = exchange.request().inputs.as_ref();
        match inputs.and_then(|inputs| inputs.pointer("/model/content/text")) {
            Some(answer) => Ok(answer.to_string()),
            None => {
                let question = SamplingMessage::new(Role::User, Content::text("why?"));
                let params = CreateMessageParams::new([question], 9);
                Err(Failed::needs(InputRequired::new().sample("model", params)))
            }
        }
    });
    for revisions in BOTH {
        let served = OnPipes::<A>::new(&router, revisions);
        assert_eq!(served.call("ask", &json!({})).unwrap()["content"][0]["text"], "\"why?\"");
        served.end();
    }
}
