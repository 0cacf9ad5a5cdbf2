//! The messages of each case.

use std::io::Write;

use serde::Serialize;

/// The request that opens a session with a server.
pub const INITIALIZE: &str = concat!(
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","#,
    r#""capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#
);

/// The server's response to the `initialize` of a client of the core.
pub const INITIALIZE_RESULT: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","#,
    r#""capabilities":{"tools":{}},"serverInfo":{"name":"bench","version":"1"}}}"#
);

/// The client's notification that the session is open.
pub const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// The text that the tool receives and returns.
pub const TEXT: &str = "The quick brown fox jumps over it";

/// A ping.
pub const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

/// A request for the list of tools.
pub const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;

/// The number of tools.
pub const TOOLS: usize = 50;

/// Returns a call of a tool that echoes a text, with a nested argument beside it.
pub fn call(text: &str) -> String {
    format!(
        concat!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"echo","#,
            r#""arguments":{{"nested":{{"list":[1,[2,{{"deep":true}}]],"unit":"cm"}},"text":"{}"}}}}}}"#
        ),
        text
    )
}

/// Returns the same call as a modern request.
pub fn stateless_call(text: &str) -> String {
    let call = call(text);
    let call = call.strip_suffix("}}").unwrap();
    format!("{call},{STATELESS_META}}}}}")
}

/// Returns a call of the tool of `examples/hello_server.rs`.
pub fn hello_call(id: u64) -> String {
    format!(
        concat!(
            r#"{{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{{"name":"hello","#,
            r#""arguments":{{"name":"you"}}}}}}"#
        ),
        id
    )
}

/// Returns the same call as a modern request, with the required fields of `_meta`.
pub fn stateless_hello_call(id: u64) -> String {
    let call = hello_call(id);
    let call = call.strip_suffix("}}").unwrap();
    format!(
        concat!(
            r#"{},"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
            r#""io.modelcontextprotocol/clientInfo":{{"name":"bench","version":"1"}},"#,
            r#""io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
        ),
        call
    )
}

/// All fields that the `_meta` of a modern call can contain.
const STATELESS_META: &str = concat!(
    r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
    r#""io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"#,
    r#""io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"sampling":{"tools":{}}},"#,
    r#""io.modelcontextprotocol/logLevel":"info","progressToken":"a-token-of-38-bytes-as-uuids-are-one","#,
    r#""traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}"#
);

/// Returns a text of 1 MB.
pub fn large_text() -> String {
    "x".repeat(1_000_000)
}

/// Returns a message as a line.
pub fn line(message: &str) -> Vec<u8> {
    let mut line = message.as_bytes().to_vec();
    line.push(b'\n');
    line
}

/// The result of a call.
#[derive(Serialize)]
#[non_exhaustive]
pub struct Echo<'a> {
    /// The only block of content.
    pub content: [Text<'a>; 1],
}

/// A text block of content.
#[derive(Serialize)]
pub struct Text<'a> {
    r#type: &'static str,
    text: &'a str,
}

impl<'a> Echo<'a> {
    /// Returns the echo of a text.
    pub fn of(text: &'a str) -> Self {
        Self { content: [Text { r#type: "text", text }] }
    }
}

/// The params of a call.
#[derive(Serialize)]
pub struct CallParams<'a> {
    name: &'a str,
    arguments: Arguments<'a>,
}

#[derive(Serialize)]
struct Arguments<'a> {
    nested: Nested<'a>,
    text: &'a str,
}

#[derive(Serialize)]
struct Nested<'a> {
    list: (u32, (u32, Deep)),
    unit: &'a str,
}

#[derive(Serialize)]
struct Deep {
    deep: bool,
}

impl<'a> CallParams<'a> {
    /// Returns the params of [`call`].
    pub fn of(text: &'a str) -> Self {
        let nested = Nested { list: (1, (2, Deep { deep: true })), unit: "cm" };
        Self { name: "echo", arguments: Arguments { nested, text } }
    }
}

/// The schema of the arguments of a tool.
pub const SCHEMA: &str = concat!(
    r#"{"type":"object","properties":{"text":{"type":"string","description":"What to work on"},"#,
    r#""count":{"type":"integer"}},"required":["text"]}"#
);

/// Returns the name of a tool.
pub fn tool_name(index: usize) -> String {
    format!("tool_{index:02}")
}

/// Returns the description of a tool.
pub fn tool_description(index: usize) -> String {
    format!("Does what tool {index:02} is there for, and says so")
}

/// Writes the line of the response to a call of the client.
pub fn answer(id: u64, line: &mut Vec<u8>) {
    line.clear();
    line.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    write!(line, "{id}").unwrap();
    line.extend_from_slice(ANSWER_END.as_bytes());
}

const ANSWER_END: &str = concat!(
    r#","result":{"content":[{"type":"text","text":"The quick brown fox jumps over it"}]}}"#,
    "\n"
);

/// Writes the line of a progress notification.
pub fn report(token: u64, progress: u64, line: &mut Vec<u8>) {
    line.clear();
    writeln!(
        line,
        r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":{progress}}}}}"#
    )
    .unwrap();
}
