//! Entries of a `Router` that some clients do not see.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mcp_sansio::RevisionSet;
use mcp_sansio::json::Raw;
use mcp_sansio::model::method::Method;
use mcp_sansio_driver::{CallFailure, Entry, Json, Router};
use serde_json::{Value, json};

use crate::suite::router::{BOTH, OnPipes, router, tool};
use crate::suite::runtimes::Adapter;

enum Echo {}

impl Method for Echo {
    const NAME: &'static str = "x/echo";
    type Params<'a> = Raw<'a>;
    type Result<'a> = Raw<'a>;
}

const HIDDEN: [Entry<'_>; 6] = [
    Entry::Tool("add"),
    Entry::Prompt("times"),
    Entry::Resource("test://blob"),
    Entry::Template("test://words/{word}"),
    Entry::Template("test://numbers/{n}"),
    Entry::Method("x/echo"),
];

/// Adds a filter that hides these entries while the flag is set.
fn hide(router: &Router, hidden: &'static [Entry<'static>]) -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(true));
    let hides = Arc::clone(&flag);
    router.show_if(move |_, entry| !hides.load(Ordering::SeqCst) || !hidden.contains(&entry));
    flag
}

fn names<A: Adapter>(served: &OnPipes<A>, method: &str) -> String {
    let list = served.ask(method, &json!({})).unwrap();
    list.to_string()
}

fn text(result: Result<Value, CallFailure>) -> String {
    match result {
        Err(CallFailure::PeerError(error)) => format!("{} {}", error.code, error.message),
        other => panic!("{other:?}"),
    }
}

pub(crate) fn hidden_entries_do_not_exist<A: Adapter>() {
    let router = router();
    router.method::<Echo, Value, _>(|params, _| Ok(Json(params)));
    let flag = hide(&router, &HIDDEN);
    let tool = |name: &str| json!({"name": name, "arguments": {"a": 1, "b": 2}});
    let prompt = json!({"name": "times", "arguments": {"word": "x", "count": "2"}});
    let complete =
        |reference: Value| json!({"ref": reference, "argument": {"name": "word", "value": "he"}});
    let of_prompt = complete(json!({"type": "ref/prompt", "name": "times"}));
    let of_template = complete(json!({"type": "ref/resource", "uri": "test://words/{word}"}));
    let read = |uri: &str| json!({ "uri": uri });
    for revisions in BOTH {
        flag.store(true, Ordering::SeqCst);
        let served = OnPipes::<A>::new(&router, revisions);
        let tools = names(&served, "tools/list");
        assert!(!tools.contains(r#""name":"add""#) && tools.contains("add_json"), "{tools}");
        let prompts = names(&served, "prompts/list");
        assert!(!prompts.contains("times") && prompts.contains("plain"), "{prompts}");
        let resources = names(&served, "resources/list");
        assert!(!resources.contains("blob") && resources.contains("test://text"), "{resources}");
        let templates = names(&served, "resources/templates/list");
        assert!(!templates.contains("words") && templates.contains("tags"), "{templates}");
        // The refusals are those of entries that do not exist, to the letter.
        assert_eq!(
            text(served.ask("tools/call", &tool("add"))),
            "-32602 there is no such tool: add"
        );
        assert_eq!(
            text(served.ask("prompts/get", &prompt)),
            "-32602 there is no such prompt: times"
        );
        assert_eq!(
            text(served.ask("completion/complete", &of_prompt)),
            "-32602 there is no such prompt: times"
        );
        assert_eq!(
            text(served.ask("completion/complete", &of_template)),
            "-32602 there is no such resource: test://words/{word}"
        );
        let unknown = text(served.ask("resources/read", &read("test://unknown")));
        for uri in ["test://blob", "test://words/a", "test://numbers/1"] {
            assert_eq!(text(served.ask("resources/read", &read(uri))), unknown, "{uri}");
            for method in ["resources/read", "resources/subscribe"] {
                if method == "resources/subscribe" && revisions != RevisionSet::LEGACY {
                    continue;
                }
                let refused = served.ask(method, &read(uri));
                let Err(CallFailure::PeerError(error)) = &refused else { panic!("{refused:?}") };
                let data = error.data.as_ref().map(|data| data.as_json().to_owned());
                assert_eq!(data, Some(read(uri).to_string()));
                assert_eq!(text(refused), unknown, "{uri}");
            }
        }
        assert_eq!(text(served.ask("x/echo", &json!({}))), "-32601 method not found");
        // The same client sees them as soon as the filter shows them.
        flag.store(false, Ordering::SeqCst);
        assert!(served.ask("tools/call", &tool("add")).is_ok());
        assert!(served.ask("prompts/get", &prompt).is_ok());
        assert!(served.ask("completion/complete", &of_prompt).is_ok());
        assert!(served.ask("resources/read", &read("test://words/a")).is_ok());
        assert!(served.ask("resources/read", &read("test://blob")).is_ok());
        assert!(served.ask("x/echo", &json!({})).is_ok());
        assert!(names(&served, "tools/list").contains(r#""name":"add""#));
        served.end();
    }
}

pub(crate) fn pages_have_the_entries_that_a_client_sees<A: Adapter>() {
    let router = Router::new();
    for number in 0..6 {
        router.tool_with(tool(&format!("t{number}")), |_: Value, _| "done");
    }
    router.pages_of(2);
    router.show_if(|_, entry| !matches!(entry, Entry::Tool("t1" | "t4")));
    router.show_if(|_, entry| entry != Entry::Tool("t5"));
    let served = OnPipes::<A>::new(&router, RevisionSet::MODERN);
    let tools = served.connection.handle().list_all_tools().wait().unwrap();
    let names: Vec<_> = tools.iter().map(|tool| tool.name.to_string()).collect();
    assert_eq!(names, ["t0", "t2", "t3"]);
    served.end();
}

/// A filter hides by the name in its own router, however that router is mounted.
pub(crate) fn filters_hold_in_a_mounted_router<A: Adapter>() {
    let inner = Router::new();
    inner.tool_with(tool("secret"), |_: Value, _| "secret");
    inner.tool_with(tool("open"), |_: Value, _| "open");
    inner.method::<Echo, Value, _>(|params, _| Ok(Json(params)));
    inner.show_if(|_, entry| !matches!(entry, Entry::Tool("secret") | Entry::Method("x/echo")));
    let middle = Router::new();
    middle.mount("a_", &inner).unwrap();
    middle.show_if(|_, entry| entry != Entry::Tool("secret"));
    let outer = Router::new();
    outer.mount("b_", &middle).unwrap();
    outer.tool_with(tool("secret"), |_: Value, _| "of the outer router");
    let served = OnPipes::<A>::new(&outer, RevisionSet::MODERN);
    let tools = served.connection.handle().list_all_tools().wait().unwrap();
    let names: Vec<_> = tools.iter().map(|tool| tool.name.to_string()).collect();
    assert_eq!(names, ["b_a_open", "secret"]);
    assert_eq!(served.code("tools/call", &json!({"name": "b_a_secret"})), -32602);
    assert!(served.call("b_a_open", &json!({})).is_ok());
    assert!(served.call("secret", &json!({})).is_ok());
    assert_eq!(served.code("x/echo", &json!({})), -32601);
    served.end();
}
