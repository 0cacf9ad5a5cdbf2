//! The smallest useful client: starts a server and calls its tool `hello`.
//!
//! Usage, after `cargo build --example hello_server`:
//! `cargo run --example hello_client -- target/debug/examples/hello_server`

use std::process::Command;
use std::time::Duration;

use mcp_sansio::ClientConfig;
use mcp_sansio_std::{RefuseAll, spawn};
use serde_json::json;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut command = Command::new(arguments.next().ok_or("which server?")?);
    command.args(arguments);

    let connection = spawn(ClientConfig::new("hello", "1.0.0"), command, RefuseAll::new())?;
    let result = connection.handle().call_tool("hello", &json!({"name": "you"})).wait()?;
    for text in result.texts() {
        println!("{text}");
    }
    connection.close(Duration::from_secs(5)).wait()?;
    Ok(())
}
