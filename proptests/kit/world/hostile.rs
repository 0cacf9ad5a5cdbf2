//! Messages of a hostile peer, and noise.

use mcp_sansio::testing::Choices;

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{},"url":{}},"roots":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}"#;

/// Returns a hostile message for a server.
pub fn to_server(choices: &mut Choices) -> String {
    let id = choices.pick(&["1", "2", "3", "\"1\"", "\"a\"", "null", "1.5"]).unwrap_or("1");
    let task = choices.below(4);
    match choices.below(16) {
        0 | 1 => format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"subscriptions/listen","params":{{"notifications":{{"toolsListChanged":true,"resourceSubscriptions":["a:/0","a:/1"]}},{META}}}}}"#
        ),
        2 => format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"t",{META}}}}}"#
        ),
        3 => format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"t","task":{{}}}}}}"#
        ),
        4 | 5 => format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
        ),
        6 => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"roots":[]}}}}"#),
        7 => format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-1,"message":"m"}}}}"#),
        8 => r#"{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{"roots":{},"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}}"#.into(),
        9 => r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.into(),
        10 => format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tasks/get","params":{{"taskId":"task-{task}",{META}}}}}"#
        ),
        11 => format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tasks/cancel","params":{{"taskId":"task-{task}"}}}}"#
        ),
        12 => format!(
            r#"[{{"jsonrpc":"2.0","id":{id},"method":"ping"}},{{"jsonrpc":"2.0","id":2,"result":{{}}}}]"#
        ),
        _ => to_either(choices),
    }
}

/// Returns a hostile message for a client.
pub fn to_client(choices: &mut Choices) -> String {
    let methods = ["subscriptions/acknowledged", "tools/list_changed", "resources/updated"];
    let method = choices.pick(&methods).unwrap_or("x");
    let id = 1 + choices.below(8);
    match choices.below(17) {
        0 => format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"input_required","requestState":"s"}}}}"#
        ),
        1 | 2 => format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"input_required","requestState":"s","inputRequests":{{"a":{{"method":"roots/list"}},"b":{{"method":"elicitation/create","params":{{"message":"m","requestedSchema":{{"type":"object","properties":{{}}}}}}}}}}}}}}"#
        ),
        3 => format!(
            r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32022,"message":"m","data":{{"supported":["2026-07-28"],"requested":"x"}}}}}}"#
        ),
        4 => format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"m"}}}}"#),
        5 => format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
        ),
        6 | 7 => format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/{method}","params":{{"uri":"a:/0","notifications":{{"toolsListChanged":true}},"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}}}"#
        ),
        8 => format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{{}}}}}}"#
        ),
        9 => format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{id},"progress":{id}}}}}"#
        ),
        10 => {
            format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[],"nextCursor":"{id}"}}}}"#)
        }
        11 => format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"protocolVersion":"2025-11-25","capabilities":{{"tools":{{}},"tasks":{{}}}},"serverInfo":{{"name":"s","version":"1"}}}}}}"#
        ),
        12 => format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"task","taskId":"task-{id}","status":"working","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttlMs":null}}}}"#
        ),
        13 => format!(
            r#"{{"jsonrpc":"2.0","id":"s{id}","method":"elicitation/create","params":{{"message":"m","requestedSchema":{{"type":"object","properties":{{}}}}}}}}"#
        ),
        _ => to_either(choices),
    }
}

/// Returns noise for either side.
fn to_either(choices: &mut Choices) -> String {
    let id = choices.below(4);
    match choices.below(9) {
        0 => "Listening on standard input".into(),
        1 => "x".repeat(200 + 40 * usize::try_from(id).unwrap_or(0)),
        2 => format!(r#"{{"jsonrpc":"2.0","id":{id}}}"#),
        3 => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"#),
        4 => "[".repeat(200),
        5 => format!(r#"{{"jsonrpc":"1.0","id":{id},"result":{{}}}}"#),
        6 => r#"{"jsonrpc":"2.0","error":{"code":-1,"message":"m"}}"#.into(),
        7 => "[]".into(),
        _ => format!(r#"{{"jsonrpc":"2.0","id":{id},"id":7,"method":"ping"}}"#),
    }
}
