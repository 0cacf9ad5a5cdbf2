//! Messages that a modern server sends.
//!
//! Requests of clients are in the same table: each is compared with its schema before the server receives it, with
//! the metadata that a client adds.

use mcp_sansio::error::{NotAllowed, NotifyError};
use mcp_sansio::json::{Number, Raw};
use mcp_sansio::model::{EmptyCapability, ResourcesCapability};
use mcp_sansio::progress::Progress;
use mcp_sansio::subscription::{ChangedList, Delivery};
use mcp_sansio::{IncomingId, Phase, RespondError, Revision, ServerEvent};
use mcp_sansio_proptests::{ServerSide, config, payload};
use serde_json::Value;

use crate::official::closed::Schemas;
use crate::official::messages::{Exchange, NOTIFICATIONS, REQUESTS, Sender};
use crate::official::stateless::{self, REVISION, SERVER, asked, claim, frame, side};
use crate::official::{Sent, check, parse, raw};

/// Returns the requests that clients send in this revision, one entry of the table each.
pub(crate) fn of_clients(schemas: &Schemas) -> impl Iterator<Item = &'static Exchange> {
    let requests = schemas.union("ClientRequest");
    assert!(!requests.is_empty(), "the schema has no such union");
    REQUESTS.iter().filter(move |exchange| {
        exchange.sender == Sender::Client && requests.iter().any(|name| name == exchange.request)
    })
}

fn result(method: &str, result: &str) -> Sent {
    let (mut side, id) = asked(method);
    side.sent();
    let answered = side.server.respond(id, &Raw::new(result).unwrap(), &mut side.out);
    match answered {
        Ok(()) => Sent::Message(stateless::only(&mut side)["result"].take()),
        Err(RespondError::Encode(_)) => {
            assert_eq!(side.sent(), [""; 0], "what is refused leaves nothing behind");
            Sent::NoWord
        }
        Err(error) => panic!("{method}: {error}"),
    }
}

fn notification(method: &str, params: &str) -> Sent {
    let (mut side, _) = asked("subscriptions/listen");
    let meta = claim(r#""io.modelcontextprotocol/logLevel":"debug""#);
    let call = side.request(&frame(8, "tools/call", r#"{"name":"n"}"#, &meta));
    side.sent();
    let about = (method == "notifications/message").then_some(call);
    let params = Raw::new(params).unwrap();
    let delivered = match method {
        "notifications/resources/updated" => {
            side.server.notifications().resource_updated("x:y", &mut side.out)
        }
        _ => side.server.notify_method(method, &params, about, &mut side.out),
    };
    match delivered {
        Ok(delivery) => {
            assert_eq!(delivery, Delivery::Sent, "{method}");
            Sent::Message(stateless::only(&mut side))
        }
        Err(NotifyError::NotAllowed(NotAllowed::Revision | NotAllowed::Direction)) => {
            Sent::NoMethod
        }
        Err(error) => panic!("{method}: {error}"),
    }
}

/// The requests in these tests are valid requests of clients.
#[test]
fn every_request_that_is_fed_fits_the_schema() {
    let Some(schemas) = Schemas::of(REVISION) else { return };
    for exchange in of_clients(schemas) {
        for params in exchange.params {
            let text = frame(7, exchange.method, params, &claim(""));
            schemas.message(exchange.request, &serde_json::from_str(&text).unwrap()).unwrap();
            let mut side = side();
            let reached = side.receive(&text);
            let is_served = match exchange.method {
                "server/discover" => reached.is_none(),
                "subscriptions/listen" => matches!(reached, Some(ServerEvent::Subscribed(_))),
                _ => matches!(reached, Some(ServerEvent::Request(_))),
            };
            assert!(is_served, "{text}: {reached:?}");
        }
    }
}

/// Proves M-RES-01, M-RES-13, M-TOOL-14, M-RSRC-04 for all members of the schema.
#[test]
fn every_result_fits_the_schema() {
    let Some(schemas) = Schemas::of(REVISION) else { return };
    let mut seen = 0;
    for exchange in of_clients(schemas) {
        for text in exchange.results {
            let sent = result(exchange.method, text);
            if let Sent::Message(message) = &sent {
                assert_eq!(message["resultType"], "complete", "{}", exchange.method);
                seen += 1;
            }
            let value: Value = serde_json::from_str(text).unwrap();
            check(schemas, exchange.result, sent, value, REVISION);
        }
    }
    assert_eq!(seen, 23, "none of them is refused");
}

#[test]
fn every_notification_fits_the_schema() {
    let Some(schemas) = Schemas::of(REVISION) else { return };
    for notice in NOTIFICATIONS.iter().filter(|notice| notice.sender == Sender::Server) {
        for params in notice.params {
            let sent = notification(notice.method, params);
            assert!(matches!(sent, Sent::Message(_)), "{}", notice.method);
            check(schemas, notice.name, sent, raw(notice.method, params), REVISION);
        }
    }
}

/// Each notification by method name reaches its subscriptions, as if it had been sent by its dedicated function.
#[test]
fn list_changes_by_method_name_reach_subscriptions() {
    for (method, params) in [
        ("notifications/tools/list_changed", "{}"),
        ("notifications/prompts/list_changed", "{}"),
        ("notifications/resources/list_changed", "{}"),
    ] {
        notifies_by_method_name(method, params);
    }
}

#[test]
fn resource_updates_by_method_name_reach_subscriptions() {
    notifies_by_method_name("notifications/resources/updated", r#"{"uri":"x:y"}"#);
}

#[track_caller]
fn notifies_by_method_name(method: &str, params: &str) {
    let (mut side, _) = asked("subscriptions/listen");
    side.sent();
    let params = Raw::new(params).unwrap();
    let delivered = side.server.notify_method(method, &params, None, &mut side.out);
    // A copy for the session is held, because a session may still open.
    assert_eq!(delivered, Ok(Delivery::Sent), "{method}");
    assert_eq!(stateless::only(&mut side)["method"], method);
}

/// The result of a method outside MCP: the minimal result.
///
/// Proves M-RES-14, and M-RES-01 for a method unknown to the server.
#[test]
fn an_empty_result_says_that_it_is_complete() {
    let Some(schemas) = Schemas::of(REVISION) else { return };
    let (mut side, id) = asked("com.example/own");
    side.server.respond(id, &(), &mut side.out).unwrap();
    let sent = side.sent();
    let expected = format!(
        r#"{{"jsonrpc":"2.0","id":7,"result":{{"resultType":"complete","_meta":{{{SERVER}}}}}}}"#
    );
    assert_eq!(sent, [expected]);
    schemas.closed("EmptyResult", &parse(&sent)["result"]).unwrap();
}

/// Every method with its minimal result, and the sent text.
const LEAST: [(&str, &str); 10] = [
    ("tools/list", r#"{"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"private"@}"#),
    ("tools/call", r#"{"resultType":"complete","content":[]@}"#),
    (
        "resources/list",
        r#"{"resultType":"complete","resources":[],"ttlMs":0,"cacheScope":"private"@}"#,
    ),
    (
        "resources/templates/list",
        r#"{"resultType":"complete","resourceTemplates":[],"ttlMs":0,"cacheScope":"private"@}"#,
    ),
    (
        "resources/read",
        r#"{"resultType":"complete","contents":[],"ttlMs":0,"cacheScope":"private"@}"#,
    ),
    ("prompts/list", r#"{"resultType":"complete","prompts":[],"ttlMs":0,"cacheScope":"private"@}"#),
    ("prompts/get", r#"{"resultType":"complete","messages":[]@}"#),
    ("completion/complete", r#"{"resultType":"complete","completion":{"values":[]}@}"#),
    (
        "subscriptions/listen",
        r#"{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":7$}}"#,
    ),
    (
        "server/discover",
        r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"prompts":{"listChanged":true},"completions":{},"logging":{}},"ttlMs":0,"cacheScope":"private"@}"#,
    ),
];

/// Proves M-RES-01, M-RES-08, M-RES-13, M-CACHE-01, M-CACHE-02, M-DISC-02, M-DISC-03, M-RPC-01: the exact bytes of
/// all ten methods, with and without the server information.
#[test]
fn every_result_contains_its_type_and_server_info() {
    let Some(schemas) = Schemas::of(REVISION) else { return };
    for identify in [true, false] {
        for (method, template) in LEAST {
            let mut config = config::server_of_both_eras();
            config.identify = identify;
            let mut side = ServerSide::with(config);
            if method == "server/discover" {
                assert_eq!(side.receive(&frame(7, method, "null", &claim(""))), None);
            } else {
                let id = stateless::ask(&mut side, method);
                side.sent();
                side.server.respond(id, &payload::result(method), &mut side.out).unwrap();
            }
            let (meta, more) = match identify {
                true => (format!(r#","_meta":{{{SERVER}}}"#), format!(",{SERVER}")),
                false => (String::new(), String::new()),
            };
            let result = template.replace('@', &meta).replace('$', &more);
            let sent = side.sent();
            assert_eq!(sent, [format!(r#"{{"jsonrpc":"2.0","id":7,"result":{result}}}"#)]);
            let of_method = REQUESTS.iter().find(|exchange| exchange.method == method).unwrap();
            schemas.closed(of_method.result, &parse(&sent)["result"]).unwrap();
        }
    }
}

/// Proves M-RES-09: the same results in a session have none of these members, and the results of modern requests
/// beside the session have all of them.
#[test]
fn the_same_results_are_bare_in_a_session() {
    for revision in Revision::LEGACY {
        for (method, _) in &LEAST[..8] {
            let mut side = ServerSide::ready_with(config::server_of_both_eras(), revision);
            let params = payload::params(method);
            let params = if params.as_json() == "null" { "{}" } else { params.as_json() };
            let text =
                format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{params}}}"#);
            let id = side.request(&text);
            let result = payload::result(method);
            side.server.respond(id, &result, &mut side.out).unwrap();
            let bare = format!(r#"{{"jsonrpc":"2.0","id":7,"result":{}}}"#, result.as_json());
            assert_eq!(side.sent(), [bare], "{revision}");
            let id = stateless::ask(&mut side, method);
            side.server.respond(id, &result, &mut side.out).unwrap();
            let sent = stateless::only(&mut side);
            assert_eq!(sent["result"]["resultType"], "complete");
            assert!(sent["result"]["_meta"]["io.modelcontextprotocol/serverInfo"].is_object());
        }
    }
}

/// The application's description of itself and of its capabilities is sent in the form of each era.
///
/// Proves M-CAP-01 for encoding servers, M-DISC-02.
#[test]
fn capabilities_are_declared_in_the_form_of_each_era() {
    let Some(schemas) = Schemas::of(REVISION) else { return };
    let mut config = config::server_of_both_eras();
    let names = r#"{"com.example/x":{"a":1},"io.modelcontextprotocol/tasks":{}}"#;
    config.capabilities.extensions = serde_json::from_str(names).unwrap();
    config.capabilities.experimental = serde_json::from_str(r#"{"e":{"b":[2]}}"#).unwrap();
    config.instructions = Some(String::new());
    let mut side = ServerSide::with(config);
    assert_eq!(side.receive(&frame(7, "server/discover", "null", &claim(""))), None);
    let sent = side.sent();
    let offered = r#""tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"prompts":{"listChanged":true},"completions":{},"logging":{},"experimental":{"e":{"b":[2]}}"#;
    let expected = format!(
        r#"{{"jsonrpc":"2.0","id":7,"result":{{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{{{offered},"extensions":{names}}},"instructions":"","ttlMs":0,"cacheScope":"private","_meta":{{{SERVER}}}}}}}"#
    );
    assert_eq!(sent, [expected]);
    schemas.closed("DiscoverResult", &parse(&sent)["result"]).unwrap();

    let initialize = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
    assert!(side.receive(initialize).is_some());
    let sent = side.sent();
    let expected = format!(
        r#"{{"jsonrpc":"2.0","id":1,"result":{{"protocolVersion":"2025-11-25","capabilities":{{{offered}}},"serverInfo":{{"name":"server","version":"1"}},"instructions":""}}}}"#
    );
    assert_eq!(sent, [expected]);
}

/// A config can contain a value that no result may have. Then `server/discover` gets an error, as `initialize` does.
#[test]
fn server_discover_fails_if_capabilities_are_invalid() {
    let Some(schemas) = Schemas::of(REVISION) else { return };
    let mut config = config::server_of_both_eras();
    config.capabilities.extensions = serde_json::from_str(r#"{"com.example/x":true}"#).unwrap();
    let mut side = ServerSide::with(config);
    // Unread output makes no difference.
    for unread in [0, 1] {
        for _ in 0..unread {
            let id = stateless::ask(&mut side, "tools/list");
            side.respond(id, r#"{"tools":[]}"#);
        }
        let event = side.receive(&frame(7, "server/discover", "null", &claim("")));
        assert!(matches!(event, Some(ServerEvent::Violation(_))), "{event:?}");
        let mut sent = side.sent();
        assert_eq!(sent.len(), unread + 1);
        let answer = parse(&sent.split_off(unread));
        assert_eq!(answer["id"], 7);
        schemas.closed("InternalError", &answer["error"]).unwrap();
        assert_eq!(side.server.phase(), Phase::Opening);
    }
}

fn opened(config: mcp_sansio::ServerConfig, id: &str, filter: &str) -> (ServerSide, IncomingId) {
    let mut side = ServerSide::with(config);
    let text = format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"subscriptions/listen","params":{{"notifications":{filter},"_meta":{{{}}}}}}}"#,
        claim("")
    );
    match side.receive(&text) {
        Some(ServerEvent::Subscribed(subscribed)) => (side, subscribed.id),
        other => panic!("{other:?}"),
    }
}

/// Proves M-META-14, M-SUB-06, M-SUB-07, M-SUB-09: the acknowledgement, the notifications and the result of a
/// subscription contain its id unchanged.
#[test]
fn subscription_messages_contain_the_subscription_id() {
    let Some(schemas) = Schemas::of(REVISION) else { return };
    for id in ["7", "0", "-1", r#""a""#, r#""""#, r#""7""#] {
        let meta = format!(r#""_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}"#);
        let all = r#"{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["x:y"]}"#;
        let (mut side, request) = opened(config::server_of_both_eras(), id, all);
        let delivered = |method: &str, params: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/{method}","params":{{{params}{meta}}}}}"#
            )
        };
        let mut expected = vec![(
            "SubscriptionsAcknowledgedNotification",
            delivered("subscriptions/acknowledged", &format!(r#""notifications":{all},"#)),
        )];
        for list in [ChangedList::Tools, ChangedList::Prompts, ChangedList::Resources] {
            assert_eq!(
                side.server.notifications().list_changed(list, &mut side.out),
                Ok(Delivery::Sent)
            );
        }
        expected.push(("ToolListChangedNotification", delivered("tools/list_changed", "")));
        expected.push(("PromptListChangedNotification", delivered("prompts/list_changed", "")));
        expected.push(("ResourceListChangedNotification", delivered("resources/list_changed", "")));
        assert_eq!(
            side.server.notifications().resource_updated("x:y", &mut side.out),
            Ok(Delivery::Sent)
        );
        expected.push((
            "ResourceUpdatedNotification",
            delivered("resources/updated", r#""uri":"x:y","#),
        ));
        let below =
            side.server.notifications().resource_updated_below("x:y", "x:y/z", &mut side.out);
        assert_eq!(below, Ok(Delivery::Sent));
        expected.push((
            "ResourceUpdatedNotification",
            delivered("resources/updated", r#""uri":"x:y/z","#),
        ));
        let sent = side.sent();
        assert_eq!(sent.len(), expected.len());
        for (sent, (name, expected)) in sent.iter().zip(&expected) {
            assert_eq!(sent, expected);
            schemas.message(name, &serde_json::from_str(sent).unwrap()).unwrap();
        }
        side.server.respond(request, &(), &mut side.out).unwrap();
        let sent = side.sent();
        assert_eq!(
            sent,
            [format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","_meta":{{"io.modelcontextprotocol/subscriptionId":{id},{SERVER}}}}}}}"#
            )]
        );
        schemas.closed("SubscriptionsListenResult", &parse(&sent)["result"]).unwrap();
    }
    // Subscriptions that the server does not offer are not acknowledged.
    let mut config = config::server_of_both_eras();
    config.capabilities.tools = None;
    config.capabilities.resources = Some(ResourcesCapability::default());
    config.capabilities.logging = Some(EmptyCapability::default());
    let filter = r#"{"toolsListChanged":true,"promptsListChanged":true,"resourceSubscriptions":["x:y"],"x":true}"#;
    let (mut side, _) = opened(config, "7", filter);
    let sent = side.sent();
    assert_eq!(
        sent,
        [
            r#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"promptsListChanged":true},"_meta":{"io.modelcontextprotocol/subscriptionId":7}}}"#
        ]
    );
    schemas.message("SubscriptionsAcknowledgedNotification", &parse(&sent)).unwrap();
}

/// Proves M-PROG-02, M-LOG-05 for the bytes: the unchanged token, and only the present members.
#[test]
fn progress_and_log_messages_fit_the_schema() {
    let Some(schemas) = Schemas::of(REVISION) else { return };
    for token in ["1", r#""1""#, "0", r#""""#] {
        let meta =
            claim(&format!(r#""progressToken":{token},"io.modelcontextprotocol/logLevel":"info""#));
        let mut side = side();
        let id = side.request(&frame(7, "tools/call", r#"{"name":"n"}"#, &meta));
        let half = Number::try_from(0.5).unwrap();
        let whole = Progress::new(half).total(2_u8).message("half");
        side.server.progress(id, whole, side.now, &mut side.out).unwrap();
        side.server.progress(id, Progress::new(1_u8), side.now, &mut side.out).unwrap();
        let log =
            mcp_sansio::subscription::Log::new(mcp_sansio::model::LoggingLevel::Info, &[1, 2])
                .about(id);
        assert_eq!(
            side.server.notifications().log(&log.logger("l"), &mut side.out),
            Ok(Delivery::Sent)
        );
        assert_eq!(
            side.server.notifications().log(&log.with_data("d"), &mut side.out),
            Ok(Delivery::Sent)
        );
        let sent = side.sent();
        assert_eq!(
            sent,
            [
                format!(r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":0.5,"total":2,"message":"half"}}}}"#),
                format!(r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":1}}}}"#),
                r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","logger":"l","data":[1,2]}}"#.to_owned(),
                r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"d"}}"#.to_owned(),
            ]
        );
        for (message, name) in sent.iter().zip([
            "ProgressNotification",
            "ProgressNotification",
            "LoggingMessageNotification",
            "LoggingMessageNotification",
        ]) {
            schemas.message(name, &serde_json::from_str(message).unwrap()).unwrap();
        }
    }
}
