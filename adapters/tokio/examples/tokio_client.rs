//! A client on tokio: starts a server or connects to one, lists its tools, and calls them concurrently.
//!
//! Shows a handle that several tasks share, progress as a stream, and a call that its idle timeout cancels. It knows
//! the tools of `tokio_server` and calls those that the server has.
//!
//! Usage: `cargo run -p mcp-sansio-tokio --example tokio_client COMMAND [ARGUMENT]...`, or with `--connect ADDRESS`
//! instead of a command.

use std::process::{Command, ExitCode};
use std::time::Duration;

use mcp_sansio::call::{Paging, Timeout};
use mcp_sansio::model::{CallToolResult, method};
use mcp_sansio::{CallOptions, ClientConfig};
use mcp_sansio_tokio::{CallFailure, Connection, Handle, RefuseAll, connect, spawn};
use serde_json::{Value, json};
use tokio::net::TcpStream;

type Error = Box<dyn std::error::Error>;

async fn open(arguments: &[String]) -> Result<Connection, Error> {
    let config = ClientConfig::new("tokio_client", env!("CARGO_PKG_VERSION"));
    match arguments {
        [option, address] if option == "--connect" => {
            let (reader, writer) = TcpStream::connect(address).await?.into_split();
            Ok(connect(config, reader, writer, RefuseAll::new()).await?)
        }
        [program, rest @ ..] if !program.starts_with('-') => {
            let mut command = Command::new(program);
            command.args(rest);
            Ok(spawn(config, command, RefuseAll::new()).await?)
        }
        _ => Err("usage: tokio_client COMMAND [ARGUMENT]... | --connect ADDRESS".into()),
    }
}

/// Calls a tool, prints its progress, and returns its text.
async fn call(server: &Handle, name: &str, arguments: Value) -> Result<String, Error> {
    let options = CallOptions::new().progress().total(Timeout::After(Duration::from_secs(10)));
    let params = json!({ "name": name, "arguments": arguments });
    let mut call = server.call_method("tools/call", &params, options);
    while let Some(update) = call.progress().next().await {
        println!("{name}: {}", update.progress);
    }
    let reply = call.await?;
    let result: CallToolResult<'_> = reply.parse_as()?;
    Ok(result.texts().map(ToString::to_string).collect())
}

async fn run(connection: &Connection) -> Result<(), Error> {
    let server = connection.handle();
    let lists = server.list::<method::ListTools>(Paging::default(), CallOptions::new()).await?;
    let mut names = Vec::new();
    for page in &lists.pages {
        names.extend(page.parse()?.tools.iter().map(|tool| tool.name.to_string()));
    }
    println!("tools: {}", names.join(", "));
    let calls = [
        ("sum", json!({"numbers": [1, 2, 3.5]})),
        ("divide", json!({"dividend": 17, "divisor": 5})),
        ("count_down", json!({"steps": 3})),
    ];
    let mut running = Vec::new();
    for (name, arguments) in calls {
        if names.iter().any(|known| known == name) {
            let server = server.clone();
            running.push((
                name,
                tokio::spawn(async move {
                    call(&server, name, arguments).await.map_err(|error| error.to_string())
                }),
            ));
        }
    }
    for (name, task) in running {
        println!("{name} = {}", task.await??);
    }
    if names.iter().any(|known| known == "count_down") {
        let params = json!({"name": "count_down", "arguments": {"steps": 100}});
        let options = CallOptions::new().idle(Timeout::After(Duration::from_millis(100)));
        let late = server.call_method("tools/call", &params, options).await;
        assert!(matches!(late, Err(CallFailure::TimedOut(_))));
        println!("count_down was too slow, and has been cancelled");
    }
    Ok(())
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let done = async {
        let connection = open(&arguments).await?;
        let done = run(&connection).await;
        connection.close(Duration::from_secs(1)).await?;
        done
    };
    match done.await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tokio_client: {error}");
            ExitCode::FAILURE
        }
    }
}
