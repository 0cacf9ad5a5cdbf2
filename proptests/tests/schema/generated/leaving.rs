//! Messages of the application: each one that matches the schema leaves unchanged, and no other leaves.

use mcp_sansio::json::Raw;
use mcp_sansio::model::LoggingLevel;
use mcp_sansio::subscription::Delivery;
use mcp_sansio::{CallError, CallOptions, RespondError, Revision};
use mcp_sansio_proptests::{ClientSide, ServerSide, config, payload};
use serde_json::{Value, json};

use super::instances::Instances;
use super::{
    client, complete, for_each_notification, for_each_request, has_other_rules, notification,
    request, typed,
};
use crate::official::messages::{Exchange, Notice, Sender};
use crate::official::stateless::{REVISION, ask};

/// Responds to a request, and returns the result that is sent.
fn sent_result(
    exchange: &Exchange,
    revision: Revision,
    result: &Value,
) -> Result<Value, RespondError> {
    let result = Raw::from_serialize(result).unwrap();
    let params = serde_json::from_str(payload::params(exchange.method).as_json()).unwrap();
    let request = request(exchange.method, &params);
    let (answered, sent) = if exchange.sender == Sender::Server {
        let mut side = ClientSide::ready(revision);
        let id = side.request(&request);
        (side.client.respond(id, &result, &mut side.out), side.sent())
    } else {
        let mut config = config::server_of_both_eras();
        config.identify = false;
        let mut side = match revision {
            REVISION => ServerSide::with(config),
            _ => ServerSide::ready_with(config, revision),
        };
        let id = match revision {
            REVISION => ask(&mut side, exchange.method),
            _ => side.request(&request),
        };
        (side.server.respond(id, &result, &mut side.out), side.sent())
    };
    answered.map(|()| serde_json::from_str::<Value>(&sent[0]).unwrap()["result"].take())
}

/// Calls a method, and returns the params that are sent, without the members of the machine.
fn sent_params(
    exchange: &Exchange,
    revision: Revision,
    params: &Value,
) -> Result<Value, CallError> {
    let (method, params) = (exchange.method, Raw::from_serialize(params).unwrap());
    let options = CallOptions::new();
    let (called, sent) = if exchange.sender == Sender::Server {
        let mut side = ServerSide::ready(revision);
        let called = side.server.call_method(method, &params, options, side.now, &mut side.out);
        (called, side.sent())
    } else {
        let mut side = client(revision);
        let called = side.client.call_method(method, &params, options, side.now, &mut side.out);
        (called, side.sent())
    };
    called?;
    let mut sent = serde_json::from_str::<Value>(&sent[0]).unwrap()["params"].take();
    if let Some(meta) = sent.get_mut("_meta").and_then(Value::as_object_mut) {
        meta.retain(|key, _| !key.starts_with("io.modelcontextprotocol/"));
    }
    Ok(sent)
}

/// Returns a payload without the member that a type takes from elsewhere.
fn without(payload: &Value, member: &str) -> Value {
    let mut payload = payload.clone();
    payload.as_object_mut().unwrap().remove(member);
    payload
}

#[test]
fn every_result_of_the_schemas_leaves() {
    for_each_request(|schemas, revision, exchange, seed| {
        let result = Instances::closed(schemas, seed).of(exchange.result);
        let result = complete(result, revision);
        schemas.closed(exchange.result, &result).unwrap();
        if has_other_rules(exchange.method, &result) {
            return;
        }
        let place = format!("{revision} {}, seed {seed}: {result}", exchange.method);
        assert_eq!(sent_result(exchange, revision, &result), Ok(result.clone()), "{place}");
        // The type of the model loses nothing. The machine adds the type of the result.
        let read = typed::result(exchange.method, &result);
        assert_eq!(read, Ok(without(&result, "resultType")), "{place}");
    });
}

#[test]
fn every_request_of_the_schemas_leaves() {
    for_each_request(|schemas, revision, exchange, seed| {
        let mut params = Instances::closed(schemas, seed).params(exchange.request);
        if revision == REVISION {
            // The machine writes the rest.
            params["_meta"] = json!({ "com.example/b": 1 });
        }
        if has_other_rules(exchange.method, &params) {
            return;
        }
        let place = format!("{revision} {}, seed {seed}: {params}", exchange.method);
        assert_eq!(sent_params(exchange, revision, &params), Ok(params.clone()), "{place}");
        // The type of the model loses nothing. A task is requested by the options of the call.
        if !params.is_null() {
            let read = typed::params(exchange.method, &params);
            assert_eq!(read, Ok(without(&params, "task")), "{place}");
        }
    });
}

/// Sends a notification in a session, and returns what is sent. The client has subscribed to the resource.
fn sent_notification(revision: Revision, notice: &Notice, params: &Value) -> Vec<Value> {
    let raw = Raw::from_serialize(params).unwrap();
    let (delivered, sent) = if notice.sender == Sender::Server {
        let mut config = config::server();
        config.log_level = LoggingLevel::Debug;
        let mut side = ServerSide::ready_with(config, revision);
        if let Some(uri) = params.get("uri") {
            let id = side.request(&request("resources/subscribe", &json!({ "uri": uri })));
            side.respond(id, "{}");
            side.sent();
        }
        let delivered = side.server.notify_method(notice.method, &raw, None, &mut side.out);
        (delivered, side.sent())
    } else {
        let mut side = ClientSide::ready(revision);
        let delivered = side.client.notify_method(notice.method, &raw, None, &mut side.out);
        (delivered, side.sent())
    };
    assert_eq!(delivered, Ok(Delivery::Sent), "{revision} {}: {params}", notice.method);
    sent.iter().map(|message| serde_json::from_str(message).unwrap()).collect()
}

#[test]
fn every_notification_of_the_schemas_leaves() {
    for_each_notification(|schemas, revision, notice, seed| {
        let params = Instances::closed(schemas, seed).params(notice.name);
        let expected: Value = serde_json::from_str(&notification(notice.method, &params)).unwrap();
        assert_eq!(sent_notification(revision, notice, &params), [expected], "seed {seed}");
    });
}

/// Removes a random part of a value, or replaces it by another value. A URI is opaque text (L-RES-15), so it stays a
/// URI.
fn spoil(value: &mut Value, instances: &mut Instances<'_>) {
    let count = match value {
        Value::Object(members) => members.len(),
        Value::Array(items) => items.len(),
        _ => 0,
    };
    if count == 0 || instances.choices().one_in(4) {
        *value = instances.scalar();
        return;
    }
    let index = instances.choices().below(count as u64) as usize;
    match value {
        Value::Array(items) => spoil(&mut items[index], instances),
        Value::Object(members) => {
            let key = members.keys().nth(index).unwrap().clone();
            if matches!(&*key, "uri" | "uriTemplate" | "src" | "websiteUrl") {
                return;
            }
            if instances.choices().one_in(3) {
                members.remove(&key);
            } else {
                spoil(&mut members[&key], instances);
            }
        }
        _ => {}
    }
}

/// Whether the core judges a result otherwise on purpose: the `_meta` belongs to the application, an empty result may
/// have members, an answer to a form may be any number (L-ELIC-09), and base64 is checked (L-RES-03).
fn is_judged_otherwise(exchange: &Exchange, is_valid: bool, result: &Value) -> bool {
    let text = result.to_string();
    if is_valid {
        return text.contains("\"blob\"") || text.contains("\"data\"");
    }
    let is_number = exchange.result == "ElicitResult" && text.contains(".5");
    is_number || exchange.result == "EmptyResult" || result.get("_meta").is_some()
}

#[test]
fn no_other_result_leaves() {
    let (mut good, mut bad) = (0, 0);
    for_each_request(|schemas, revision, exchange, seed| {
        let mut instances = Instances::closed(schemas, seed);
        let mut result = instances.of(exchange.result);
        spoil(&mut result, &mut instances);
        if !result.is_object() || has_other_rules(exchange.method, &result) {
            return;
        }
        let result = complete(result, revision);
        let error = schemas.closed(exchange.result, &result).err();
        let place = format!("{revision} {}, seed {seed}: {result}", exchange.method);
        match (error, sent_result(exchange, revision, &result)) {
            (None, Ok(sent)) => {
                assert_eq!(sent, result, "{place}");
                good += 1;
            }
            (Some(_), Err(RespondError::Encode(_))) => bad += 1,
            // The member of another revision is left out.
            (Some(_), Ok(sent)) if schemas.closed(exchange.result, &sent).is_ok() => {}
            (error, sent) => {
                let is_expected = is_judged_otherwise(exchange, error.is_none(), &result);
                assert!(is_expected, "{error:?} {sent:?} {place}");
            }
        }
    });
    assert!(good != 0 && bad != 0, "{good} {bad}");
}
