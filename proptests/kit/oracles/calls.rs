//! Calls of the usual form, which take a short path, against the same calls with a member that nothing reads.

use mcp_sansio::json::Raw;
use mcp_sansio::testing::Choices;
use mcp_sansio::{ClientRequest, Revision, ServerConfig, ServerEvent};

use crate::{ServerSide, config};

/// Names and arguments. Most are invalid.
const VALUES: &[&str] =
    &[r#""t""#, r#""\ud800""#, r#""""#, "7", "null", "{}", "[]", r#"{"a":1}"#, r#"{"a":1,"a":2}"#];
const METAS: &[&str] = &[
    r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#,
    r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#,
    r#"{"progressToken":1}"#,
    r#"{"progressToken":{}}"#,
    "{}",
    "7",
];

/// Calls a tool in both forms.
///
/// # Panics
///
/// Panics if the server judges them differently.
pub fn check_call(choices: &mut Choices) {
    let mut config = config::server_of_both_eras();
    if choices.one_in(2) {
        config.capabilities.tools = None;
    }
    let revision = choices.pick(&Revision::LEGACY).filter(|_| choices.one_in(2));
    let mut members = Vec::new();
    for (name, values) in [("name", VALUES), ("arguments", VALUES), ("_meta", METAS)] {
        while members.len() < 4 && !choices.one_in(if members.is_empty() { 9 } else { 2 }) {
            let value =
                if choices.one_in(2) { values.first().copied() } else { choices.pick(values) };
            let at = choices.below(members.len() as u64 + 1) as usize;
            members.insert(at, format!("\"{name}\":{}", value.unwrap_or("0")));
        }
    }
    let usual = judged(&config, revision, &members.join(","));
    members.push(r#""other":0"#.to_owned());
    assert_eq!(usual, judged(&config, revision, &members.join(",")), "{revision:?} {members:?}");
}

/// Returns the judgement on a call with these params: of the request or of the violation, and the output.
fn judged(
    config: &ServerConfig,
    revision: Option<Revision>,
    params: &str,
) -> (String, Vec<String>) {
    let mut side = match revision {
        Some(revision) => ServerSide::ready_with(config.clone(), revision),
        None => ServerSide::with(config.clone()),
    };
    let call = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{{params}}}}}"#);
    let event = match side.receive(&call) {
        Some(ServerEvent::Request(request)) => {
            let ClientRequest::CallTool(call) = &request.kind else { panic!("{request:?}") };
            let arguments = call.arguments.as_ref().map(Raw::as_json);
            format!("{} {arguments:?} {:?}", call.name, request.context)
        }
        Some(ServerEvent::Violation(violation)) => format!("{:?}", violation.kind),
        other => format!("{other:?}"),
    };
    (event, side.sent())
}
