//! Messages of a peer: each one that matches the schema reaches the application.

use mcp_sansio::{ClientEvent, Outcome, Revision, ServerEvent};
use mcp_sansio_proptests::{ClientSide, ServerSide, config};
use serde_json::{Map, Value};

use super::instances::Instances;
use super::{
    cases, client, complete, for_each_notification, for_each_request, has_other_rules,
    notification, request,
};
use crate::official::closed::Schemas;
use crate::official::messages::{Exchange, Sender};
use crate::official::stateless::{REVISION, claim, frame};

/// Calls the method, receives the result, and returns the outcome.
fn outcome(exchange: &Exchange, revision: Revision, result: &str) -> Outcome<'static> {
    let response = |id| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
    if exchange.sender == Sender::Client {
        let mut side = client(revision);
        side.call(exchange.method);
        match side.receive(&response(2)) {
            Some(ClientEvent::CallEnded(ended)) => return ended.outcome,
            other => panic!("no outcome: {other:?}"),
        }
    }
    let mut config = config::server();
    config.connection.check_results = true;
    let mut side = ServerSide::ready_with(config, revision);
    side.call(exchange.method);
    match side.receive(&response(1)) {
        Some(ServerEvent::CallEnded(ended)) => ended.outcome,
        other => panic!("no outcome: {other:?}"),
    }
}

/// Also with members that the definition does not name.
#[test]
fn every_result_of_the_schemas_arrives() {
    for_each_request(|schemas, revision, exchange, seed| {
        let result = Instances::open(schemas, seed).of(exchange.result);
        let result = complete(result, revision);
        schemas.open(exchange.result, &result).unwrap();
        if has_other_rules(exchange.method, &result) {
            return;
        }
        let text = result.to_string();
        match outcome(exchange, revision, &text) {
            Outcome::Result(arrived) => assert_eq!(arrived.as_json(), text),
            other => panic!("{revision} {}, seed {seed}: {other:?}: {text}", exchange.method),
        }
    });
}

/// Receives a request, and returns the event unless it is that request.
fn refusal(exchange: &Exchange, revision: Revision, params: &Value) -> Option<String> {
    let (method, params_text) = (exchange.method, params.to_string());
    if exchange.sender == Sender::Server {
        let event = ClientSide::ready(revision).receive(&request(method, params));
        return (!matches!(event, Some(ClientEvent::Request(_)))).then(|| format!("{event:?}"));
    }
    let event = if revision == REVISION {
        let mut side = ServerSide::with(config::server_of_both_eras());
        side.receive(&frame(7, method, &params_text, &claim("")))
    } else {
        ServerSide::ready(revision).receive(&request(method, params))
    };
    (!matches!(event, Some(ServerEvent::Request(_)))).then(|| format!("{event:?}"))
}

/// Also with members that the definition does not name.
#[test]
fn every_request_of_the_schemas_arrives() {
    for_each_request(|schemas, revision, exchange, seed| {
        let params = Instances::open(schemas, seed).params(exchange.request);
        if has_other_rules(exchange.method, &params) {
            return;
        }
        let refusal = refusal(exchange, revision, &params);
        assert_eq!(refusal, None, "{revision} {}, seed {seed}: {params}", exchange.method);
    });
}

/// A modern server asks for input in a result. The client asks its application, or calls again with the state alone.
#[test]
fn every_request_for_input_of_the_schema_arrives() {
    let Some(schemas) = Schemas::of(REVISION) else { return };
    let mut asked = 0;
    for seed in 0..cases() {
        let mut result = Instances::open(schemas, seed).of("InputRequiredResult");
        result["resultType"] = "input_required".into();
        schemas.open("InputRequiredResult", &result).unwrap();
        let inputs = result["inputRequests"].as_object().map_or(0, Map::len);
        let is_nothing = inputs == 0 && result.get("requestState").is_none();
        if is_nothing || has_other_rules("sampling/createMessage", &result) {
            continue;
        }
        let mut side = client(REVISION);
        side.call("tools/call");
        side.sent();
        let first = side.receive(&format!(r#"{{"jsonrpc":"2.0","id":2,"result":{result}}}"#));
        let events: Vec<_> = first.into_iter().chain(side.outcomes()).collect();
        let is_input = |event: &ClientEvent<'_>| matches!(event, ClientEvent::Request(_));
        assert!(events.iter().all(is_input), "seed {seed}: {events:?}: {result}");
        assert_eq!(events.len(), inputs, "seed {seed}: {result}");
        // With a state alone, the call is made again after a while.
        assert_eq!(side.client.in_flight().counts().outbound, 1, "seed {seed}: {result}");
        asked += inputs;
    }
    assert!(asked != 0);
}

#[test]
fn every_notification_of_the_schemas_arrives() {
    for_each_notification(|schemas, revision, notice, seed| {
        let params = Instances::open(schemas, seed).params(notice.name);
        let text = notification(notice.method, &params);
        let arrived = match notice.sender {
            Sender::Client => match ServerSide::ready(revision).receive(&text) {
                Some(ServerEvent::Notification(notification)) => notification,
                other => panic!("{revision} seed {seed}: {other:?}: {text}"),
            },
            Sender::Server => match ClientSide::ready(revision).receive(&text) {
                Some(ClientEvent::Notification(notification)) => notification,
                other => panic!("{revision} seed {seed}: {other:?}: {text}"),
            },
        };
        let expected = (!params.is_null()).then(|| params.to_string());
        assert_eq!(arrived.params.map(|params| params.to_string()), expected, "{text}");
    });
}
