//! Params with any value in any place: they reach the application, or the error names the member.

use mcp_sansio::error::ViolationKind;
use mcp_sansio::{ClientEvent, Revision, ServerEvent};
use mcp_sansio_proptests::{ClientSide, ServerSide, config};
use serde_json::{Value, json};

/// Values of every kind.
fn values() -> Vec<Value> {
    let scalars = [json!(null), json!(true), json!(7), json!(-1.5), json!(""), json!("debug")];
    let nested = [json!([]), json!([7]), json!(["x"]), json!([{}]), json!({}), json!({"a": 7})];
    scalars.into_iter().chain(nested).collect()
}

/// Returns the pointers of all members and elements.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(members) => {
            members.iter().map(|(name, value)| (name.clone(), value)).collect()
        }
        Value::Array(elements) => {
            elements.iter().enumerate().map(|(index, value)| (index.to_string(), value)).collect()
        }
        _ => Vec::new(),
    };
    for (name, value) in children {
        let place = format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
        found.push(place.clone());
        places(value, &place, found);
    }
}

/// Returns the params with each value in each place, and without each member.
fn substituted(params: &Value) -> Vec<Value> {
    let mut found = Vec::new();
    places(params, "", &mut found);
    let mut all = vec![params.clone()];
    for place in found {
        for value in values() {
            let mut changed = params.clone();
            *changed.pointer_mut(&place).unwrap() = value;
            all.push(changed);
        }
        let (parent, name) = place.rsplit_once('/').unwrap();
        let mut changed = params.clone();
        let parent = changed.pointer_mut(parent).unwrap();
        if let Some(members) = parent.as_object_mut() {
            members.remove(&name.replace("~1", "/").replace("~0", "~"));
            all.push(changed);
        }
    }
    all
}

fn request(method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string()
}

/// The requests of a client, with every member that the machine reads.
fn of_clients() -> Vec<(&'static str, Value)> {
    let reference = json!({ "type": "ref/prompt", "name": "p" });
    vec![
        ("tools/call", json!({ "name": "t", "arguments": { "a": 1 } })),
        ("tools/list", json!({ "cursor": "c" })),
        ("prompts/list", json!({ "cursor": "c" })),
        ("prompts/get", json!({ "name": "p", "arguments": { "a": "b" } })),
        ("resources/list", json!({ "cursor": "c" })),
        ("resources/templates/list", json!({ "cursor": "c" })),
        ("resources/read", json!({ "uri": "x:y" })),
        ("resources/subscribe", json!({ "uri": "x:y" })),
        ("resources/unsubscribe", json!({ "uri": "x:y" })),
        ("logging/setLevel", json!({ "level": "debug" })),
        ("tasks/get", json!({ "taskId": "t" })),
        ("tasks/result", json!({ "taskId": "t" })),
        ("tasks/cancel", json!({ "taskId": "t" })),
        ("tasks/list", json!({ "cursor": "c" })),
        (
            "tasks/update",
            json!({ "taskId": "t", "inputResponses": { "k": { "action": "cancel" } } }),
        ),
        (
            "completion/complete",
            json!({
                "ref": reference, "argument": { "name": "a", "value": "" },
                "context": { "arguments": { "b": "c" } },
            }),
        ),
        (
            "subscriptions/listen",
            json!({
                "notifications": {
                    "toolsListChanged": true, "resourceSubscriptions": ["x:y"], "taskIds": ["t"],
                },
            }),
        ),
    ]
}

/// Receives a request, and ends it. Returns whether it is refused for its params.
fn is_refused(side: &mut ServerSide, frame: &str) -> bool {
    let event = side.receive(frame);
    _ = side.sent();
    match event {
        Some(ServerEvent::Violation(violation)) => {
            let is_params = violation.kind == ViolationKind::InvalidParams;
            assert!(!is_params || violation.misfit.is_some(), "{frame}: {violation:?}");
            is_params
        }
        Some(ServerEvent::Request(request)) => {
            _ = side.server.respond(request.id, &(), &mut side.out);
            false
        }
        _ => false,
    }
}

/// A server in a session of a revision.
fn in_session(revision: Revision) -> ServerSide {
    let mut config = config::server();
    config.connection.limits.violations_in_a_row = u32::MAX;
    config.capabilities = config.capabilities.with_tasks();
    ServerSide::ready_with(config, revision)
}

/// A server of modern requests.
fn without_session() -> ServerSide {
    let mut config = config::server_of_both_eras();
    config.capabilities = config.capabilities.with_tasks();
    ServerSide::with(config)
}

#[test]
fn params_reach_the_application_or_the_error_names_the_member() {
    let (mut refused, mut served) = (0, 0);
    let mut count = |is_refused: bool| *(if is_refused { &mut refused } else { &mut served }) += 1;
    for (method, params) in of_clients() {
        for params in substituted(&params) {
            for revision in Revision::LEGACY {
                count(is_refused(&mut in_session(revision), &request(method, &params)));
            }
            let Some(members) = params.as_object() else { continue };
            let mut members = members.clone();
            members.insert(
                "_meta".into(),
                json!({
                    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                    "io.modelcontextprotocol/clientCapabilities": {
                        "extensions": { "io.modelcontextprotocol/tasks": {} },
                    },
                }),
            );
            count(is_refused(&mut without_session(), &request(method, &members.into())));
        }
    }
    assert!(1_000 < refused && 1_000 < served, "{refused} refused, {served} served");
}

/// The requests of a server, with every member that the machine reads.
fn of_servers() -> Vec<(&'static str, Value)> {
    let form = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
    vec![
        ("roots/list", json!({ "x": 1 })),
        ("elicitation/create", json!({ "message": "m", "requestedSchema": form })),
        (
            "elicitation/create",
            json!({ "mode": "url", "message": "m", "url": "https://x/", "elicitationId": "e" }),
        ),
        (
            "sampling/createMessage",
            json!({
                "messages": [{ "role": "user", "content": { "type": "text", "text": "t" } }],
                "maxTokens": 7, "systemPrompt": "s", "temperature": 0.5, "stopSequences": ["x"],
            }),
        ),
        ("tasks/get", json!({ "taskId": "t" })),
        ("tasks/result", json!({ "taskId": "t" })),
        ("tasks/cancel", json!({ "taskId": "t" })),
        ("tasks/list", json!({ "cursor": "c" })),
    ]
}

#[test]
fn params_of_a_server_reach_the_application_or_the_error_names_the_member() {
    let (mut refused, mut served) = (0, 0);
    for (method, params) in of_servers() {
        for (params, revision) in
            substituted(&params).iter().flat_map(|params| Revision::LEGACY.map(|it| (params, it)))
        {
            let mut config = config::client();
            config.capabilities = config.capabilities.with_tasks();
            let mut side = ClientSide::ready_with(config, revision);
            let frame = request(method, params);
            match side.receive(&frame) {
                Some(ClientEvent::Violation(violation)) => {
                    let is_params = violation.kind == ViolationKind::InvalidParams;
                    assert!(!is_params || violation.misfit.is_some(), "{frame}: {violation:?}");
                    refused += 1;
                }
                _ => served += 1,
            }
        }
    }
    assert!(100 < refused && 100 < served, "{refused} refused, {served} served");
}
