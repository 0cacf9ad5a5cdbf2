//! The responses of the hostile server.

use serde_json::{Value, json};

/// The number of tools on a page, and the length of each description.
const TOOLS: usize = 100;
const DESCRIPTION: usize = 10_000;

/// Returns the response to a message. `None` if the message is no request.
///
/// The server is of the legacy era only. Every list has another page, with a new cursor each time.
pub(super) fn answer(message: &[u8], pages: &mut u64) -> Option<String> {
    let message: Value = serde_json::from_slice(message).ok()?;
    let id = message.get("id")?;
    let method = message.get("method")?.as_str()?;
    let answer = match method {
        "initialize" => {
            let version = message.pointer("/params/protocolVersion")?;
            let capabilities = json!({"tools": {}, "resources": {}, "prompts": {}});
            let info = json!({"name": "hostile", "version": "1"});
            json!({"protocolVersion": version, "capabilities": capabilities, "serverInfo": info})
        }
        "tools/list" => {
            *pages += 1;
            let tool = |number| {
                let name = format!("tool-{pages}-{number}");
                let description = "x".repeat(DESCRIPTION);
                json!({"name": name, "description": description, "inputSchema": {"type": "object"}})
            };
            let tools: Vec<Value> = (0..TOOLS).map(tool).collect();
            json!({"tools": tools, "nextCursor": format!("cursor-{pages}")})
        }
        "ping" => json!({}),
        _ => {
            let error = json!({"code": -32601, "message": "method not found"});
            return Some(json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string());
        }
    };
    Some(json!({"jsonrpc": "2.0", "id": id, "result": answer}).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_page_is_the_last() {
        let mut pages = 0;
        let request = br#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
        let cursor = |pages: &mut u64| {
            let answer: Value = serde_json::from_str(&answer(request, pages).unwrap()).unwrap();
            answer["result"]["nextCursor"].as_str().unwrap().to_owned()
        };
        assert_ne!(cursor(&mut pages), cursor(&mut pages));
        assert_eq!(answer(br#"{"jsonrpc":"2.0","method":"x"}"#, &mut pages), None);
    }
}
