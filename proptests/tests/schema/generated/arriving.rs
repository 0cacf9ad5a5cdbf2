//! Messages of a peer: each one that matches the schema reaches the application.

use mcp_sansio::{ClientEvent, Outcome, Revision, ServerEvent};
use mcp_sansio_proptests::{ClientSide, ServerSide, config};
use serde_json::Value;

use super::instances::Instances;
use super::{client, complete, for_each_request, has_other_rules, request};
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
