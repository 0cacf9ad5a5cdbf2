//! The floor on standard input and output: the cost of the same calls for threads and a tokio runtime without MCP.

use std::io::{self, BufRead, Write};
use std::sync::mpsc;
use std::thread;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
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

/// Serves with the threads and tasks of the adapter: one thread reads, a task of the runtime responds, and another
/// thread writes.
pub(super) fn serve() -> io::Result<()> {
    let (calls, mut called) = unbounded_channel::<Call>();
    let (lines, written) = mpsc::channel::<Vec<u8>>();
    thread::spawn(move || {
        let mut line = Vec::new();
        let mut stdin = io::stdin().lock();
        while stdin.read_until(b'\n', &mut line).is_ok_and(|bytes| bytes != 0) {
            if let Some(call) = read(&line) {
                _ = calls.send(call);
            }
            line.clear();
        }
    });
    let writer = thread::spawn(move || {
        let mut stdout = io::stdout().lock();
        for line in written {
            stdout.write_all(&line)?;
            stdout.flush()?;
        }
        io::Result::Ok(())
    });
    runtime()?.block_on(async {
        while let Some(call) = called.recv().await {
            _ = lines.send(respond(&call));
        }
        drop(lines);
    });
    writer.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
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
