//! Middleware, mounted routers and completion of a `Router`.

use std::sync::{Arc, Mutex};

use mcp_sansio::json::Raw;
use mcp_sansio::model::{Reference, Tool};
use mcp_sansio::{ClientRequest, ErrorCode, RevisionSet};
use mcp_sansio_driver::{CallFailure, Exchange, Failed, Json, Next, Router, ToolSchemas};
use serde_json::{Value, json};

use crate::suite::router::{BOTH, OnPipes, router, tool};
use crate::suite::runtimes::Adapter;

/// The lines of middleware, in order.
type Log = Arc<Mutex<Vec<String>>>;

/// The user that a middleware has found.
struct User(&'static str);

fn name_of(exchange: &Exchange) -> String {
    match &exchange.request().kind {
        ClientRequest::CallTool(call) => call.name.to_string(),
        ClientRequest::GetPrompt(prompt) => prompt.name.to_string(),
        ClientRequest::ReadResource { uri } => uri.to_string(),
        ClientRequest::Complete(complete) => complete.name.to_string(),
        other => panic!("{other:?}"),
    }
}

/// Logs the beginning and the end of every function.
fn logged(router: &Router, mark: &'static str) -> Log {
    let log = Log::default();
    let lines = Arc::clone(&log);
    router.wrap(move |exchange: Exchange, next: Next| {
        let (name, lines) = (name_of(&exchange), Arc::clone(&lines));
        async move {
            lines.lock().unwrap().push(format!("{mark} begins {name}"));
            let result = next.run(exchange).await;
            let outcome = if result.is_ok() { "ends" } else { "fails" };
            lines.lock().unwrap().push(format!("{mark} {outcome} {name}"));
            result
        }
    });
    log
}

fn taken(log: &Log) -> Vec<String> {
    std::mem::take(&mut *log.lock().unwrap())
}

pub(crate) fn middleware_runs_around_every_function<A: Adapter>() {
    let router = router();
    let log = logged(&router, "outer");
    router.wrap(async |exchange: Exchange, next: Next| {
        if name_of(&exchange) == "add_json" {
            return Err(Failed::refused(ErrorCode::new(-4), "not you"));
        }
        exchange.insert_extension(User("Bob"));
        exchange.insert_extension(User("Alice"));
        next.run(exchange).await
    });
    router.tool_with(tool("who"), |_: Value, exchange| {
        exchange.extension::<User>().map_or("none", |User(name)| name)
    });
    for revisions in BOTH {
        let served = OnPipes::<A>::new(&router, revisions);
        let who = served.call("who", &json!({})).unwrap();
        assert_eq!(who["content"][0]["text"], "Alice");
        assert_eq!(taken(&log), ["outer begins who", "outer ends who"]);
        let refused = json!({"name": "add_json", "arguments": {"a": 1, "b": 2}});
        assert_eq!(served.code("tools/call", &refused), -4);
        assert_eq!(taken(&log), ["outer begins add_json", "outer fails add_json"]);
        served.ask("prompts/get", &json!({"name": "plain"})).unwrap();
        served.ask("resources/read", &json!({"uri": "test://words/a"})).unwrap();
        served.ask("resources/read", &json!({"uri": "test://blob"})).unwrap();
        let reads = ["plain", "test://words/a", "test://blob"];
        let lines =
            reads.map(|name| [format!("outer begins {name}"), format!("outer ends {name}")]);
        assert_eq!(taken(&log), lines.as_flattened());
        // No function runs for these.
        served.ask("tools/list", &json!({})).unwrap();
        assert_eq!(served.code("tools/call", &json!({"name": "none"})), -32602);
        assert_eq!(taken(&log), [""; 0]);
        served.end();
    }
}

pub(crate) fn a_middleware_handles_a_panic<A: Adapter>() {
    let router = Router::new();
    router.tool_with(tool("panic"), |_: Value, _| -> &str { panic!("as asked") });
    router.async_tool_with(tool("panic_later"), async |_: Value, _| -> &str { panic!("as asked") });
    router.prompt_with(mcp_sansio::model::Prompt::new("panic"), |(), _| -> &str {
        panic!("as asked")
    });
    let served = OnPipes::<A>::new(&router, RevisionSet::MODERN);
    for name in ["panic", "panic_later"] {
        assert_eq!(served.call(name, &json!({})).unwrap()["isError"], true);
    }
    assert_eq!(served.code("prompts/get", &json!({"name": "panic"})), -32603);
    router.wrap(async |exchange: Exchange, next: Next| match next.run(exchange).await {
        Err(failed) if failed.is_panic() => {
            Err(Failed::refused(ErrorCode::INTERNAL_ERROR, "a defect"))
        }
        result => result,
    });
    for name in ["panic", "panic_later"] {
        match served.call(name, &json!({})) {
            Err(CallFailure::PeerError(error)) => assert_eq!(error.message, "a defect"),
            other => panic!("{other:?}"),
        }
    }
    // A panic of a later middleware looks like one of the function.
    router.wrap(async |_: Exchange, _: Next| panic!("as asked"));
    assert_eq!(served.code("tools/call", &json!({"name": "panic"})), -32603);
    let alone = Router::new();
    alone.tool_with(tool("fine"), |_: Value, _| "fine");
    alone.wrap(|_: Exchange, _: Next| -> std::future::Ready<_> { panic!("as asked") });
    served.end();
    let served = OnPipes::<A>::new(&alone, RevisionSet::MODERN);
    assert_eq!(served.call("fine", &json!({})).unwrap()["isError"], true);
    served.end();
}

pub(crate) fn a_function_without_arguments_takes_nothing<A: Adapter>() {
    let router = Router::new();
    router.tool_with(tool("none"), |(), _| "done");
    let served = OnPipes::<A>::new(&router, RevisionSet::MODERN);
    for params in [json!({"name": "none"}), json!({"name": "none", "arguments": {}})] {
        let result = served.ask("tools/call", &params).unwrap();
        assert_eq!(result["content"][0]["text"], "done");
    }
    assert_eq!(served.call("none", &json!({"a": 1})).unwrap()["isError"], true);
    served.end();
}

pub(crate) fn a_mounted_router_keeps_its_middleware<A: Adapter>() {
    let (inner, outer) = (router(), Router::new());
    outer.tool_with(tool("add"), |_: Value, _| "the tool of the outer router");
    let inner_log = logged(&inner, "inner");
    outer.mount("math_", &inner).unwrap();
    let outer_log = logged(&outer, "outer");
    // Changes of the mounted router have no effect on the other one.
    inner.remove_tool("add");
    inner.wrap(async |_: Exchange, _: Next| Err(Failed::new("never")));
    for revisions in BOTH {
        let served = OnPipes::<A>::new(&outer, revisions);
        let text = |name: &str| {
            let result = served.call(name, &json!({"a": 1, "b": 2})).unwrap();
            result["content"][0]["text"].as_str().unwrap().to_owned()
        };
        assert_eq!(text("add"), "the tool of the outer router");
        assert_eq!((taken(&inner_log).len(), taken(&outer_log).len()), (0, 2));
        assert_eq!(text("math_add"), "3");
        assert_eq!(taken(&inner_log), ["inner begins math_add", "inner ends math_add"]);
        assert_eq!(taken(&outer_log), ["outer begins math_add", "outer ends math_add"]);
        assert_eq!(text("math_add_later"), "3");
        let names: Vec<_> = served.ask("tools/list", &json!({})).unwrap()["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(names[..3], ["add", "math_add", "math_add_json"]);
        let get = |name| served.ask("prompts/get", &json!({"name": name}));
        assert!(get("plain").is_err());
        assert_eq!(get("math_plain").unwrap()["messages"][0]["content"]["text"], "Say something.");
        let read = served.ask("resources/read", &json!({"uri": "test://numbers/21"})).unwrap();
        assert_eq!(read["contents"][0]["text"], "42");
        let complete = json!({"ref": {"type": "ref/prompt", "name": "math_times"}, "argument": {"name": "word", "value": "he"}});
        let completed = served.ask("completion/complete", &complete).unwrap();
        assert_eq!(completed["completion"]["values"], json!(["hello", "help"]));
        // Four of these requests run a function.
        assert_eq!((taken(&inner_log).len(), taken(&outer_log).len()), (8, 8));
        served.end();
    }
}

/// A middleware decides by the name of the entry in its own router, however that router is mounted.
pub(crate) fn a_guard_holds_in_a_mounted_router<A: Adapter>() {
    let guarded = router();
    guarded.wrap(async |exchange: Exchange, next: Next| match next.name() {
        "add" | "plain" | "test://numbers/{n}" => next.run(exchange).await,
        name => Err(Failed::refused(ErrorCode::new(-4), format!("{name} is not for you"))),
    });
    let outer = Router::new();
    outer.mount("b_", Router::new().mount("a_", &guarded).unwrap()).unwrap();
    let served = OnPipes::<A>::new(&outer, RevisionSet::LEGACY);
    let sum = json!({"a": 1, "b": 2});
    assert_eq!(served.call("b_a_add", &sum).unwrap()["content"][0]["text"], "3");
    served.ask("prompts/get", &json!({"name": "b_a_plain"})).unwrap();
    served.ask("resources/read", &json!({"uri": "test://numbers/1"})).unwrap();
    let refused = [
        ("tools/call", json!({"name": "b_a_add_json", "arguments": sum})),
        ("prompts/get", json!({"name": "b_a_two"})),
        ("resources/read", json!({"uri": "test://text"})),
        ("resources/read", json!({"uri": "test://words/x"})),
        ("resources/subscribe", json!({"uri": "test://words/x"})),
        ("resources/subscribe", json!({"uri": "test://text"})),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/prompt", "name": "b_a_times"}, "argument": {"name": "word", "value": ""}}),
        ),
    ];
    for (method, params) in refused {
        assert_eq!(served.code(method, &params), -4, "{method} {params}");
    }
    served.ask("resources/subscribe", &json!({"uri": "test://numbers/1"})).unwrap();
    served.ask("resources/subscribe", &json!({"uri": "test://of/nothing"})).unwrap();
    served.end();
}

/// The first template that matches reads a URI, and middleware runs once.
pub(crate) fn one_template_reads_a_uri<A: Adapter>() {
    let router = Router::new();
    router.template("test://{first}", "first", |(), _| None::<&str>).unwrap();
    router.template("test://{second}", "second", |(), _| "never").unwrap();
    let log = logged(&router, "once");
    let served = OnPipes::<A>::new(&router, RevisionSet::LEGACY);
    assert_eq!(served.code("resources/read", &json!({"uri": "test://x"})), -32002);
    assert_eq!(taken(&log), ["once begins test://x", "once fails test://x"]);
    let long = json!({"uri": format!("test://{}", "x".repeat(9000))});
    assert_eq!(served.code("resources/read", &long), -32002);
    served.end();
}

pub(crate) fn duplicate_names_are_reported<A: Adapter>() {
    let (inner, outer) = (router(), Router::new());
    outer.tool_with(tool("x_add"), |_: Value, _| "mine");
    outer.resource("test://text", "text", |_| "mine");
    let duplicates = outer.mount("x_", &inner).unwrap_err();
    assert_eq!(duplicates.names, ["tool x_add", "resource test://text"]);
    assert_eq!(duplicates.to_string(), "both routers have tool x_add, resource test://text");
    // Nothing was added.
    assert!(!outer.remove_tool("x_fail") && !outer.remove_prompt("x_plain"));
    assert_eq!(outer.duplicates(), [""; 0]);
    outer.tool_with(tool("x_add"), |_: Value, _| "other");
    outer.tool_with(tool("x_add"), |_: Value, _| "once more");
    outer.remove_resource("test://text");
    outer.resource("test://text", "text", |_| "again");
    assert_eq!(outer.duplicates(), ["tool x_add"]);
    // A router can be mounted in itself.
    outer.remove_resource("test://text");
    outer.mount("again_", &outer).unwrap();
    let served = OnPipes::<A>::new(&outer, RevisionSet::MODERN);
    for name in ["x_add", "again_x_add"] {
        let result = served.call(name, &json!({})).unwrap();
        assert_eq!(result["content"][0]["text"], "once more");
    }
    served.end();
}

pub(crate) fn arguments_are_completed<A: Adapter>() {
    let router = router();
    let many =
        |_: &str, _: &Exchange| (0..150).map(|number| number.to_string()).collect::<Vec<_>>();
    router.completion(Reference::prompt("times"), "count", many);
    for revisions in BOTH {
        let served = OnPipes::<A>::new(&router, revisions);
        let complete = |kind: &str, owner: &str, argument: &str, value: &str| {
            let key = if kind == "ref/prompt" { "name" } else { "uri" };
            json!({
                "ref": {"type": kind, key: owner},
                "argument": {"name": argument, "value": value},
                "context": {"arguments": {"other": "chosen"}},
            })
        };
        let values = |kind: &str, owner: &str, argument: &str, value: &str| {
            let params = complete(kind, owner, argument, value);
            served.ask("completion/complete", &params).unwrap()["completion"].take()
        };
        let words = values("ref/prompt", "times", "word", "hel");
        assert_eq!(words, json!({"values": ["hello", "help"]}));
        let counts = values("ref/prompt", "times", "count", "");
        assert_eq!(counts["values"].as_array().unwrap().len(), 100);
        assert_eq!((&counts["total"], &counts["hasMore"]), (&json!(150), &json!(true)));
        let numbers = values("ref/resource", "test://numbers/{n}", "n", "4");
        assert_eq!(numbers["values"], json!(["41", r#"{"arguments":{"other":"chosen"}}"#]));
        // These exist, and nothing completes them.
        for (kind, owner) in
            [("ref/prompt", "plain"), ("ref/resource", "test://text"), ("ref/prompt", "times")]
        {
            assert_eq!(values(kind, owner, "unknown", "")["values"], json!([]));
        }
        for (kind, owner) in [("ref/prompt", "none"), ("ref/resource", "test://none")] {
            assert_eq!(served.code("completion/complete", &complete(kind, owner, "n", "")), -32602);
        }
        served.end();
    }
    // Without completions the server does not have the capability.
    let config = Router::new().config("none", "1");
    assert_eq!(config.capabilities.completions, None);
}

/// Adds numbers up, at least one of them; the sum is not negative, or the tool is defective.
fn add_sum(router: &Router) {
    let input = json!({
        "type": "object",
        "properties": {"numbers": {"type": "array", "minItems": 1, "items": {"type": "integer"}}},
    });
    let output = json!({"type": "object", "properties": {"sum": {"minimum": 0}}});
    let raw = |schema: &Value| Raw::from_serialize(schema).unwrap();
    let tool = |name| Tool::new(name, raw(&input)).output_schema(raw(&output));
    let sum = |arguments: &Value| {
        let numbers = arguments["numbers"].as_array().into_iter().flatten();
        Json(json!({"sum": numbers.map(|number| number.as_i64().unwrap()).sum::<i64>()}))
    };
    router.tool_with(tool("sum"), move |arguments: Value, _| sum(&arguments));
    router.async_tool_with(
        tool("sum_later"),
        move |arguments: Value, _| async move { sum(&arguments) },
    );
    router.tool_with(tool("no_sum"), |_: Value, _| "no structured content");
    let invalid = raw(&json!({"type": "object", "minProperties": "many"}));
    router.tool_with(Tool::new("invalid", invalid), |_: Value, _| "never");
    let other = raw(&json!({"type": "object", "$schema": "https://example.com/dialect"}));
    router.tool_with(Tool::new("other_dialect", other), |_: Value, _| "never");
}

/// Proves M-TOOL-05, L-ERR-37.
pub(crate) fn arguments_and_results_are_compared_with_schemas<A: Adapter>() {
    let router = Router::new();
    add_sum(&router);
    for revisions in BOTH {
        let served = OnPipes::<A>::new(&router, revisions);
        for name in ["sum", "sum_later"] {
            let call = |numbers: &Value| served.call(name, &json!({"numbers": numbers}));
            assert_eq!(call(&json!([1, 2])).unwrap()["structuredContent"], json!({"sum": 3}));
            let misfit = call(&json!([])).unwrap();
            let text = "the arguments do not fit: numbers: [] has less than 1 item";
            assert_eq!(misfit["content"][0]["text"], text);
            assert_eq!(misfit["isError"], true);
            let misfit = call(&json!([1, "2"])).unwrap();
            let text = "the arguments do not fit: numbers[1]: \"2\" is not of type \"integer\"";
            assert_eq!(misfit["content"][0]["text"], text);
            match call(&json!([-1])) {
                Err(CallFailure::PeerError(error)) => {
                    let text =
                        "the result does not fit its schema: sum: -1 is less than the minimum of 0";
                    assert_eq!(
                        (error.code, &*error.message.to_str()),
                        (ErrorCode::INTERNAL_ERROR, text)
                    );
                }
                other => panic!("{other:?}"),
            }
        }
        for (name, code) in [("no_sum", -32603), ("invalid", -32603), ("other_dialect", -32602)] {
            let params = json!({"name": name, "arguments": {}});
            assert_eq!(served.code("tools/call", &params), code, "{name}");
        }
        served.end();
    }
}

#[derive(serde::Deserialize)]
struct Sum {
    sum: i64,
}

pub(crate) fn calls_in_one_line<A: Adapter>() {
    let router = router();
    add_sum(&router);
    router.pages_of(2);
    for revisions in BOTH {
        let served = OnPipes::<A>::new(&router, revisions);
        let server = served.connection.handle();
        let tools = server.list_all_tools().wait().unwrap();
        assert_eq!((tools.len(), &*tools[0].name), (11, "add"));
        assert_eq!(server.list_all_prompts().wait().unwrap().len(), 3);
        assert_eq!(server.list_all_resources().wait().unwrap().len(), 3);
        assert_eq!(server.list_all_resource_templates().wait().unwrap().len(), 3);
        let added = server.call_tool("add", &json!({"a": 1, "b": 2})).wait().unwrap();
        assert_eq!(added.texts().next(), Some("3"));
        let sum: Sum = server.call_tool_as("sum", &json!({"numbers": [1, 2]})).wait().unwrap();
        assert_eq!(sum.sum, 3);
        // The text of a tool without structured content is JSON as well.
        let three: i64 = server.call_tool_as("add", &json!({"a": 1, "b": 2})).wait().unwrap();
        assert_eq!(three, 3);
        let failure = |tool: &str, arguments: &Value| {
            let called = server.call_tool_as::<Sum>(tool, arguments).wait();
            called.map(|sum| sum.sum).unwrap_err().to_string()
        };
        let failed = failure("fail", &json!({}));
        assert_eq!(failed, "the tool has failed: invalid digit found in string");
        let misfit = failure("add", &json!({"a": 1, "b": 2}));
        let reason = "the result does not fit: it has no structured content, and the text is no JSON of the type: ";
        assert!(misfit.starts_with(reason), "{misfit}");
        let prompt = server.get_prompt("times", &json!({"word": "ha", "count": 2})).wait().unwrap();
        assert_eq!(prompt.messages.get(0).unwrap().content.as_text(), Some("haha"));
        server.get_prompt("plain", &()).wait().unwrap();
        let read = server.read_resource("test://text").wait().unwrap();
        assert_eq!(read.contents.get(0).unwrap().as_text(), Some("words"));
        let completed = server.complete(Reference::prompt("times"), "word", "hel").wait().unwrap();
        assert_eq!(completed.values, ["hello", "help"]);
        // With the schemas of the tools, what does not fit is not sent.
        let schemas = ToolSchemas::of(&tools);
        let checked = |numbers: &Value| {
            let called = schemas.call(server, "sum", &json!({"numbers": numbers})).wait();
            called.map(|result| result.structured_content.unwrap().to_string())
        };
        assert_eq!(checked(&json!([4])).unwrap(), r#"{"sum":4}"#);
        let misfit = checked(&json!([])).unwrap_err().to_string();
        assert_eq!(misfit, "the arguments do not fit: numbers: [] has less than 1 item");
        // A tool whose results could not be compared is not called: the server would refuse this one as unknown.
        let any = Raw::new(r#"{"type":"object"}"#).unwrap();
        let other = r#"{"type":"object","$schema":"https://example.com/dialect"}"#;
        let unknown = Tool::new("unknown", any).output_schema(Raw::new(other).unwrap());
        let schemas = ToolSchemas::of(&[unknown]);
        let refused = schemas.call(server, "unknown", &json!({})).wait().unwrap_err().to_string();
        let reason = "the result does not fit: the schema dialect https://example.com/dialect is not supported";
        assert_eq!(refused, reason);
        let unencodable = std::collections::BTreeMap::from([((1, 2), 3)]);
        let not_made = server.call_tool("add", &unencodable).wait().unwrap_err();
        assert!(matches!(not_made, CallFailure::CallError(_)), "{not_made:?}");
        served.end();
    }
}
