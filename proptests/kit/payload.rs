//! Minimal payloads of every MCP method.

use mcp_sansio::json::Raw;

/// Returns params that are valid in every revision with this method.
pub fn params(method: &str) -> Raw<'static> {
    let text = match method {
        "tools/call" | "prompts/get" => r#"{"name":"n"}"#,
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => r#"{"uri":"x:y"}"#,
        "completion/complete" => {
            r#"{"ref":{"type":"ref/prompt","name":"n"},"argument":{"name":"a","value":""}}"#
        }
        "logging/setLevel" => r#"{"level":"debug"}"#,
        "sampling/createMessage" => r#"{"messages":[],"maxTokens":1}"#,
        "elicitation/create" => {
            r#"{"message":"m","requestedSchema":{"type":"object","properties":{}}}"#
        }
        "notifications/message" => r#"{"level":"error","data":null}"#,
        "notifications/resources/updated" => r#"{"uri":"x:y"}"#,
        "notifications/elicitation/complete" => r#"{"elicitationId":"e"}"#,
        _ => "null",
    };
    Raw::new(text).unwrap()
}

/// Returns a result that is valid in every revision with this method.
pub fn result(method: &str) -> Raw<'static> {
    let text = match method {
        "tools/list" => r#"{"tools":[]}"#,
        "tools/call" => r#"{"content":[]}"#,
        "resources/list" => r#"{"resources":[]}"#,
        "resources/templates/list" => r#"{"resourceTemplates":[]}"#,
        "resources/read" => r#"{"contents":[]}"#,
        "prompts/list" => r#"{"prompts":[]}"#,
        "prompts/get" => r#"{"messages":[]}"#,
        "completion/complete" => r#"{"completion":{"values":[]}}"#,
        "roots/list" => r#"{"roots":[]}"#,
        "sampling/createMessage" => {
            r#"{"role":"assistant","content":{"type":"text","text":"t"},"model":"m"}"#
        }
        "elicitation/create" => r#"{"action":"decline"}"#,
        _ => "{}",
    };
    Raw::new(text).unwrap()
}
