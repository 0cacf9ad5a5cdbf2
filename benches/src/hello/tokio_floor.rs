//! The floor on standard input and output: the cost of the same calls for a tokio runtime without MCP.

use std::io;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::pipe::OpenOptions;
use tokio::sync::mpsc::unbounded_channel;

use super::until_closed::runtime;

/// The parsed members of a message.
#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    params: Option<Params<'a>>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Greeting {
    name: String,
}

#[derive(Serialize)]
struct Response<'a> {
    jsonrpc: &'a str,
    id: &'a RawValue,
    result: CallToolResult<'a>,
}

#[derive(Serialize)]
struct CallToolResult<'a> {
    content: [Text<'a>; 1],
}

#[derive(Serialize)]
struct Text<'a> {
    r#type: &'a str,
    text: String,
}

/// A received call, which waits for its handler.
struct Call {
    id: Box<RawValue>,
    arguments: Box<RawValue>,
}

/// Serves with the tasks of the adapter: one reads, one responds, and one writes.
pub(super) fn serve() -> io::Result<()> {
    let (calls, mut called) = unbounded_channel::<Call>();
    let (lines, mut written) = unbounded_channel::<Vec<u8>>();
    runtime()?.block_on(async {
        let mut stdin = BufReader::new(OpenOptions::new().open_receiver("/proc/self/fd/0")?);
        let mut stdout = OpenOptions::new().open_sender("/proc/self/fd/1")?;
        let reading = tokio::spawn(async move {
            let mut line = Vec::new();
            while stdin.read_until(b'\n', &mut line).await? != 0 {
                if let Some(call) = read(&line) {
                    _ = calls.send(call);
                }
                line.clear();
            }
            io::Result::Ok(())
        });
        let responding = tokio::spawn(async move {
            while let Some(call) = called.recv().await {
                _ = lines.send(respond(&call));
            }
        });
        while let Some(mut output) = written.recv().await {
            // All lines that are ready leave in one write.
            while let Ok(line) = written.try_recv() {
                output.extend_from_slice(&line);
            }
            stdout.write_all(&output).await?;
        }
        responding.await?;
        reading.await?
    })
}

/// Reads a request; `initialize` counts as a call without arguments.
fn read(line: &[u8]) -> Option<Call> {
    let Message { id, params } = serde_json::from_slice(line).ok()?;
    let arguments = params.and_then(|params| params.arguments).unwrap_or(RawValue::NULL);
    Some(Call { id: id?.to_owned(), arguments: arguments.to_owned() })
}

/// Responds like the tool.
fn respond(call: &Call) -> Vec<u8> {
    let greeting = serde_json::from_str(call.arguments.get());
    let Greeting { name } = greeting.unwrap_or(Greeting { name: String::new() });
    let content = [Text { r#type: "text", text: format!("Hello, {name}!") }];
    let result = CallToolResult { content };
    let response = Response { jsonrpc: "2.0", id: &call.id, result };
    let mut line = serde_json::to_vec(&response).unwrap_or_default();
    line.push(b'\n');
    line
}
