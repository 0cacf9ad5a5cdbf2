//! The floor on standard input and output: the cost of the same calls for a tokio runtime without MCP.

use std::io;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::pipe::OpenOptions;

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

/// Serves with one task, as the adapter does.
pub(super) fn serve() -> io::Result<()> {
    runtime()?.block_on(async {
        let mut stdin = BufReader::new(OpenOptions::new().open_receiver("/proc/self/fd/0")?);
        let mut stdout = OpenOptions::new().open_sender("/proc/self/fd/1")?;
        let task = tokio::spawn(async move {
            let (mut line, mut output) = (Vec::new(), Vec::new());
            while stdin.read_until(b'\n', &mut line).await? != 0 {
                respond(&line, &mut output);
                line.clear();
                // The responses to all lines that have been read leave in one write.
                if !stdin.buffer().contains(&b'\n') {
                    stdout.write_all(&output).await?;
                    output.clear();
                }
            }
            io::Result::Ok(())
        });
        task.await?
    })
}

/// Responds like the tool; `initialize` counts as a call without arguments.
fn respond(line: &[u8], output: &mut Vec<u8>) {
    let Ok(Message { id: Some(id), params }) = serde_json::from_slice(line) else { return };
    let arguments = params.and_then(|params| params.arguments).unwrap_or(RawValue::NULL);
    let greeting = serde_json::from_str(arguments.get());
    let Greeting { name } = greeting.unwrap_or(Greeting { name: String::new() });
    let content = [Text { r#type: "text", text: format!("Hello, {name}!") }];
    let response = Response { jsonrpc: "2.0", id, result: CallToolResult { content } };
    if serde_json::to_writer(&mut *output, &response).is_ok() {
        output.push(b'\n');
    }
}
