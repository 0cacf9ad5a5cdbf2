//! The client under test in the official conformance suite.
//!
//! Usage, by the suite: `MCP_CONFORMANCE_SCENARIO=tools_call conformance_client URL`. The client performs the
//! operations of the scenario, and exits with 0 on success. `MCP_CONFORMANCE_PROTOCOL_VERSION` contains the
//! revision, and `MCP_CONFORMANCE_CONTEXT` contains further data as JSON.

mod authorization;

use std::env::var;
use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use mcp_sansio::config::CapabilityPolicy;
use mcp_sansio::http::HttpClientConfig;
use mcp_sansio::json::Raw;
use mcp_sansio::model::{
    CallToolParams, ElicitParams, ElicitResult, GetPromptParams, ListChanged, PageParams,
    ReadResourceParams, method,
};
use mcp_sansio::{
    CallOptions, Client, ClientConfig, ErrorCode, RespondError, Revision, RevisionSet,
    ServerRequest,
};
use mcp_sansio_http::{
    Authorized, CallFailure, Connection, ConnectionOptions, Exchange, Handle, connect,
    connect_with, plain,
};
use serde_json::{Value, json};

type Failure = Box<dyn Error + Send + Sync>;

/// Performs the client operations of a scenario of the conformance suite.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// The URL of the server
    url: String,
}

/// Calls a tool. The suite judges errors of the tool.
async fn call(server: &Handle<Client>, name: &str, arguments: &Value) -> Result<(), Failure> {
    let mut params = CallToolParams::new(name);
    params.arguments = Some(Raw::from_serialize(arguments)?);
    match server.call::<method::CallTool>(&params, CallOptions::new()).await {
        Ok(_) | Err(CallFailure::PeerError(_)) => Ok(()),
        Err(failure) => Err(failure.into()),
    }
}

/// Returns the names of the tools, each with its schema.
async fn tools(server: &Handle<Client>) -> Result<Vec<(String, Value)>, Failure> {
    let params = PageParams::default();
    let reply = server.call::<method::ListTools>(&params, CallOptions::new()).await?;
    let tools = reply.parse()?.tools;
    let named = |tool: &mcp_sansio::model::Tool<'_>| {
        Ok((tool.name.to_string(), serde_json::from_str(tool.input_schema.as_json())?))
    };
    tools.iter().map(named).collect()
}

async fn call_all(server: &Handle<Client>) -> Result<(), Failure> {
    for (name, _) in tools(server).await? {
        call(server, &name, &json!({})).await?;
    }
    Ok(())
}

async fn read_all(server: &Handle<Client>) -> Result<(), Failure> {
    let (params, options) = (PageParams::default(), CallOptions::new);
    let resources = server.call::<method::ListResources>(&params, options()).await?;
    for resource in resources.parse()?.resources.iter() {
        let params = ReadResourceParams::new(&*resource.uri);
        server.call::<method::ReadResource>(&params, options()).await?;
    }
    let prompts = server.call::<method::ListPrompts>(&params, options()).await?;
    for prompt in prompts.parse()?.prompts.iter() {
        let params = GetPromptParams::new(&*prompt.name);
        server.call::<method::GetPrompt>(&params, options()).await?;
    }
    Ok(())
}

/// Lists the tools, then makes the calls that the context lists.
async fn call_listed(server: &Handle<Client>) -> Result<(), Failure> {
    tools(server).await?;
    let context: Value = serde_json::from_str(&var("MCP_CONFORMANCE_CONTEXT")?)?;
    for one in context.get("toolCalls").and_then(Value::as_array).into_iter().flatten() {
        let name = one.get("name").and_then(Value::as_str).ok_or("a call without a name")?;
        let arguments = one.get("arguments").cloned().unwrap_or_else(|| json!({}));
        call(server, name, &arguments).await?;
    }
    Ok(())
}

async fn echo_schema(server: &Handle<Client>) -> Result<(), Failure> {
    let tools = tools(server).await?;
    let focal = tools.iter().find(|(name, _)| name != "json_schema_echo").ok_or("no tool")?;
    call(server, "json_schema_echo", &json!({ "schema": focal.1 })).await
}

/// Accepts each elicitation, with the default values of its fields.
async fn answer(exchange: Exchange<Client>) -> Result<(), RespondError> {
    let ServerRequest::Elicit(params) = &exchange.request().kind else {
        return exchange.reject(ErrorCode::METHOD_NOT_FOUND, "only the user is here");
    };
    let params = params.parse::<ElicitParams<'_>>().unwrap_or_default();
    let defaults = params.requested_schema.map(|form| form.defaults());
    let content = match defaults.filter(|defaults| *defaults != Raw::EMPTY_OBJECT) {
        Some(defaults) => defaults,
        None => Raw::from_serialize(&json!({ "confirmed": true }))?,
    };
    exchange.respond(&ElicitResult::accept(content))
}

async fn play(server: &Handle<Client>, scenario: &str) -> Result<(), Failure> {
    match scenario {
        "initialize" => Ok(()),
        "tools_call" => {
            tools(server).await?;
            call(server, "add_numbers", &json!({ "a": 5, "b": 3 })).await
        }
        "http-standard-headers" => {
            call_all(server).await?;
            read_all(server).await
        }
        "http-custom-headers" => call_listed(server).await,
        "json-schema-ref-no-deref" => tools(server).await.map(|_| ()),
        "json-schema-2020-12-preservation" => echo_schema(server).await,
        // The other scenarios test how tools are called, independent of the tools.
        _ => call_all(server).await,
    }
}

async fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut config = ClientConfig::new("conformance-client", env!("CARGO_PKG_VERSION"));
    config.capabilities.roots = Some(ListChanged::default());
    config.capabilities.elicitation = Some(Default::default());
    config.capabilities.sampling = Some(Default::default());
    // The servers of the suite serve more than they declare.
    config.connection.capability_policy = CapabilityPolicy::Off;
    if let Some(revision) = var("MCP_CONFORMANCE_PROTOCOL_VERSION")
        .ok()
        .and_then(|version| Revision::from_name(&version))
    {
        config.revisions = RevisionSet::only(revision);
    }
    let scenario = var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
    let connection: Connection = if scenario.starts_with("auth/") {
        let context = var("MCP_CONFORMANCE_CONTEXT").unwrap_or_else(|_| "{}".into());
        let context = serde_json::from_str(&context)?;
        let authorization = authorization::authorization(&arguments.url, &scenario, &context)?;
        let http = HttpClientConfig::new(&arguments.url);
        let transport = Authorized::new(plain(), authorization);
        connect_with(config, http, &ConnectionOptions::new(), transport, answer).await?
    } else {
        connect(config, &arguments.url, answer).await?
    };
    let played = play(connection.handle(), &scenario).await;
    connection.close(Duration::from_secs(1)).await?;
    played
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(&Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("conformance_client: {failure}");
            ExitCode::FAILURE
        }
    }
}
