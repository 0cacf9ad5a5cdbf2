//! Extensions in a `Router`: methods of their own, typed calls of these, and tasks.

use mcp_sansio::call::TaskOptions;
use mcp_sansio::error::NotAllowed;
use mcp_sansio::model::method::{CallTool, Method};
use mcp_sansio::model::{CallToolParams, CallToolResult, TaskSupport};
use mcp_sansio::request::TaskMode;
use mcp_sansio::{CallError, CallOptions, ErrorCode, RevisionSet};
use mcp_sansio_driver::{
    CallFailure, ConnectionOptions, Exchange, Failed, Json, Next, Router, SharedTasks, new_task,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::suite::router::{BOTH, OnPipes, tool};
use crate::suite::runtimes::Adapter;

const NAME: &str = "com.example/weather";

#[derive(Debug, Deserialize, PartialEq, Serialize)]
struct City {
    name: String,
}

#[derive(Debug, Deserialize, PartialEq, Serialize)]
struct Weather {
    degrees: i32,
}

enum GetWeather {}

impl Method for GetWeather {
    const NAME: &'static str = "weather/get";
    const EXTENSION: Option<&'static str> = Some(NAME);
    type Params<'a> = Json<City>;
    type Result<'a> = Json<Weather>;
}

/// A method without an extension.
enum Echo {}

impl Method for Echo {
    const NAME: &'static str = "x/echo";
    type Params<'a> = Json<Value>;
    type Result<'a> = Json<Value>;
}

fn router() -> Router {
    let router = Router::new();
    router.method::<GetWeather, _, _>(|city: City, _| match city.name.as_str() {
        "Paris" => Ok(Json(Weather { degrees: 21 })),
        name => Err(Failed::refused(ErrorCode::INVALID_PARAMS, format!("no city {name}"))),
    });
    router.async_method::<Echo, _, _, _>(async |params: Value, _| Ok(Json(params)));
    router
}

pub(crate) fn a_router_serves_methods_of_extensions<A: Adapter>() {
    let router = router();
    for revisions in BOTH {
        let served = OnPipes::<A>::new(&router, revisions);
        let weather = served.ask("weather/get", &json!({"name": "Paris"})).unwrap();
        assert_eq!(weather["degrees"], 21);
        assert_eq!(served.ask("x/echo", &json!({"a": [1]})).unwrap()["a"], json!([1]));
        assert_eq!(served.code("weather/get", &json!({"name": "Atlantis"})), -32602);
        let misfit = served.ask("weather/get", &json!({"name": 7})).unwrap_err().to_string();
        assert!(misfit.contains("name"), "{misfit}");
        assert_eq!(served.code("weather/set", &json!({})), -32601);
        served.end();
    }
}

pub(crate) fn typed_calls_need_the_extension_on_both_sides<A: Adapter>() {
    let call = |served: &OnPipes<A>| {
        let paris = Json(City { name: "Paris".into() });
        let reply = served.connection.handle().call::<GetWeather>(&paris, CallOptions::new());
        reply.wait().map(|reply| reply.parse().unwrap().0.degrees)
    };
    // The client of the suite declares the extension, and a router without its methods does not.
    let served = OnPipes::<A>::new(&router(), RevisionSet::MODERN);
    assert_eq!(call(&served), Ok(21));
    served.end();
    let refused = CallError::NotAllowed(NotAllowed::Extension);
    for (router, revisions) in
        [(Router::new(), RevisionSet::MODERN), (router(), RevisionSet::LEGACY)]
    {
        let served = OnPipes::<A>::new(&router, revisions);
        assert_eq!(call(&served), Err(CallFailure::CallError(refused)));
        served.end();
    }
    let with_settings = router();
    let settings = mcp_sansio::json::Raw::new(r#"{"units":"si"}"#).unwrap().into_owned();
    with_settings.extension(NAME, settings);
    let capabilities = with_settings.config("s", "1").capabilities;
    assert_eq!(capabilities.extension(NAME).unwrap().as_json(), r#"{"units":"si"}"#);
}

pub(crate) fn methods_of_a_mounted_router_keep_their_names<A: Adapter>() {
    let inner = router();
    inner.wrap(async |exchange: Exchange, next: Next| match next.name() {
        "x/echo" => Err(Failed::refused(ErrorCode::new(-4), "not here")),
        _ => next.run(exchange).await,
    });
    let outer = Router::new();
    outer.mount("inner_", &inner).unwrap();
    assert_eq!(
        outer.mount("again_", &inner).unwrap_err().names,
        ["method weather/get", "method x/echo"]
    );
    let served = OnPipes::<A>::new(&outer, RevisionSet::MODERN);
    let weather = served.ask("weather/get", &json!({"name": "Paris"})).unwrap();
    assert_eq!(weather["degrees"], 21);
    assert_eq!(served.code("x/echo", &json!({})), -4);
    served.end();
    assert!(outer.config("s", "1").capabilities.extension(NAME).is_some());
    // Settings win over those that a method declares, whichever router has them.
    let settings = || mcp_sansio::json::Raw::new(r#"{"units":"si"}"#).unwrap().into_owned();
    let (with_method, with_settings) = (router(), Router::new());
    with_settings.extension(NAME, settings());
    with_method.mount("", &with_settings).unwrap();
    let capabilities = with_method.config("s", "1").capabilities;
    assert_eq!(capabilities.extension(NAME), Some(&settings()));
    inner.method::<Echo, Value, Json<Value>>(|_, _| Err(Failed::new("replaced")));
    assert_eq!(inner.duplicates(), ["method x/echo"]);
}

/// A tool of each task support. The function of the optional one makes the task.
fn tools_with_tasks() -> Router {
    let router = Router::new();
    router.tool_with(tool("never"), |(), _| "inline");
    router.async_tool_with(tool("never_later"), async |(), _: Exchange| "inline");
    router.tool_with(tool("always").task_support(TaskSupport::Required), |(), _| "not reached");
    let either = tool("either").task_support(TaskSupport::Optional);
    router.async_tool_with(either, async |(), exchange: Exchange| {
        if exchange.task_mode(&TaskSupport::Optional)? == Some(TaskMode::Task) {
            let task = exchange.begin_task(new_task()?)?;
            task.complete(&CallToolResult::text("as a task")).unwrap();
        }
        Ok::<_, Failed>("inline")
    });
    router
}

/// Proves L-TASK-09, L-TASK-11, M-TASKX-05.
pub(crate) fn a_router_rejects_calls_that_the_task_support_of_a_tool_excludes<A: Adapter>() {
    let router = tools_with_tasks();
    let served = |revisions| {
        let mut config = router.config("tasks", "1");
        config.capabilities = config.capabilities.with_tasks();
        let options = ConnectionOptions::new().tasks(SharedTasks::default());
        OnPipes::<A>::with(&router, revisions, config, options)
    };
    let call = |served: &OnPipes<A>, tool: &'static str, options: CallOptions| {
        let handle = served.connection.handle();
        let reply = handle.call::<CallTool>(&CallToolParams::new(tool), options).wait();
        match reply {
            Ok(reply) => reply.parse().unwrap().texts().next().unwrap().to_string(),
            Err(CallFailure::PeerError(error)) => error.code.get().to_string(),
            Err(other) => panic!("{tool}: {other:?}"),
        }
    };
    let as_task = || CallOptions::new().task(TaskOptions::new());
    let legacy = served(RevisionSet::LEGACY);
    assert_eq!(call(&legacy, "never", CallOptions::new()), "inline");
    assert_eq!(call(&legacy, "never", as_task()), "-32601");
    assert_eq!(call(&legacy, "never_later", as_task()), "-32601");
    assert_eq!(call(&legacy, "either", CallOptions::new()), "inline");
    assert_eq!(call(&legacy, "either", as_task()), "as a task");
    assert_eq!(call(&legacy, "always", CallOptions::new()), "-32601");
    legacy.end();
    // The client of the suite does not declare the extension.
    let modern = served(RevisionSet::MODERN);
    assert_eq!(call(&modern, "never", CallOptions::new()), "inline");
    assert_eq!(call(&modern, "either", CallOptions::new()), "inline");
    assert_eq!(call(&modern, "always", CallOptions::new()), "-32021");
    modern.end();
}
