//! Values that pass unchanged from one application to the other: metadata, URIs, and members unknown to the tables.

use super::{raw, request, sent_notification, sent_params, sent_result};
use mcp_sansio::Revision::{self, V2025_06_18 as C, V2025_11_25 as D};
use mcp_sansio::error::ViolationKind;
use mcp_sansio::model::ReadResourceParams;
use mcp_sansio::model::method::ReadResource;
use mcp_sansio::schema::Problem::{self, Missing, WrongType};
use mcp_sansio::subscription::Delivery;
use mcp_sansio::{CallOptions, ClientEvent, ClientRequest, Outcome, ServerEvent};
use mcp_sansio_proptests::{ClientSide, ServerSide};

/// Metadata that breaks no rule, that has odd values under names of MCP, and that breaks all rules.
const METADATA: [&str; 4] = [
    r#"{"com.example/k":{"a":[1,null]},"":2}"#,
    r#"{"io.modelcontextprotocol/related-task":7,"modelcontextprotocol.io/x":[],"mcp.dev/y":null}"#,
    r#"{"/":1,"1a/x":2,"-":3,"a b/é":4,"a/b/c":5}"#,
    "{}",
];

/// The params or the result of each method or notification, up to the metadata.
const ASKED: [(&str, &str); 13] = [
    ("tools/list", "{"),
    ("tools/call", r#"{"name":"n","#),
    ("resources/list", "{"),
    ("resources/templates/list", "{"),
    ("resources/read", r#"{"uri":"x:y","#),
    ("resources/subscribe", r#"{"uri":"x:y","#),
    ("prompts/list", "{"),
    ("prompts/get", r#"{"name":"n","#),
    (
        "completion/complete",
        r#"{"ref":{"type":"ref/prompt","name":"n"},"argument":{"name":"a","value":""},"#,
    ),
    ("logging/setLevel", r#"{"level":"debug","#),
    ("ping", "{"),
    ("x/own", "{"),
    ("roots/list", "{"),
];

const ANSWERED: [(&str, &str); 10] = [
    ("tools/list", r#"{"tools":[],"#),
    ("tools/call", r#"{"content":[],"#),
    ("resources/list", r#"{"resources":[],"#),
    ("resources/read", r#"{"contents":[],"#),
    ("prompts/list", r#"{"prompts":[],"#),
    ("prompts/get", r#"{"messages":[],"#),
    ("completion/complete", r#"{"completion":{"values":[]},"#),
    ("logging/setLevel", "{"),
    ("roots/list", r#"{"roots":[],"#),
    (
        "sampling/createMessage",
        r#"{"role":"assistant","content":{"type":"text","text":"t"},"model":"m","#,
    ),
];

const NOTIFICATIONS: [(&str, &str); 3] = [
    ("notifications/message", r#"{"level":"emergency","data":null,"#),
    ("notifications/tools/list_changed", "{"),
    ("notifications/x", "{"),
];

fn with(begun: &str, metadata: &str) -> String {
    format!(r#"{begun}"_meta":{metadata}}}"#)
}

/// Proves L-META-01, L-META-04, L-META-08: metadata is sent unchanged, for any keys and values.
#[test]
fn metadata_leaves_unchanged() {
    for revision in Revision::LEGACY {
        for metadata in METADATA {
            for (method, begun) in ASKED {
                let params = with(begun, metadata);
                assert_eq!(sent_params(method, revision, &raw(&params)), Ok(params), "{method}");
            }
            for (method, begun) in ANSWERED {
                let result = with(begun, metadata);
                assert_eq!(sent_result(method, revision, &raw(&result)), Ok(result), "{method}");
            }
            for (method, begun) in NOTIFICATIONS {
                let params = with(begun, metadata);
                let sent = sent_notification(method, revision, &raw(&params));
                assert_eq!(sent, Ok(params), "{method}");
            }
        }
        let wrong = Err(("_meta", WrongType));
        assert_eq!(sent_params("tools/list", revision, &raw(r#"{"_meta":[]}"#)), wrong);
        let result = raw(r#"{"tools":[],"_meta":7}"#);
        assert_eq!(sent_result("tools/list", revision, &result), wrong);
    }
}

/// Proves L-META-01, L-META-04, L-META-08: metadata arrives unchanged, and no key or value makes a message invalid.
#[test]
fn metadata_arrives_unchanged() {
    for revision in Revision::LEGACY {
        for metadata in METADATA {
            for (method, begun) in ASKED {
                let params = with(begun, metadata);
                let frame = request(method, &params);
                let (found, all) = if method == "roots/list" {
                    match ClientSide::ready(revision).receive(&frame) {
                        Some(ClientEvent::Request(request)) => (request.meta, request.params),
                        other => panic!("{frame}: {other:?}"),
                    }
                } else if method == "ping" {
                    continue;
                } else {
                    match ServerSide::ready(revision).receive(&frame) {
                        Some(ServerEvent::Request(request)) => (request.meta, request.params),
                        other => panic!("{frame}: {other:?}"),
                    }
                };
                assert_eq!((found, all), (Some(raw(metadata)), Some(raw(&params))), "{method}");
            }
            for (method, begun) in NOTIFICATIONS {
                let params = with(begun, metadata);
                let frame = format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#);
                match ClientSide::ready(revision).receive(&frame) {
                    Some(ClientEvent::Notification(delivered)) => {
                        assert_eq!(delivered.params, Some(raw(&params)));
                    }
                    other => panic!("{frame}: {other:?}"),
                }
            }
            let mut side = ClientSide::ready(revision);
            _ = side.call("tools/list");
            let result = with(r#"{"tools":[],"#, metadata);
            let answer = format!(r#"{{"jsonrpc":"2.0","id":2,"result":{result}}}"#);
            let Some(ClientEvent::CallEnded(ended)) = side.receive(&answer) else { panic!() };
            assert_eq!(ended.outcome, Outcome::Result(raw(&result)));
        }
        let mut side = ServerSide::ready(revision);
        match side.receive(&request("tools/list", r#"{"_meta":[]}"#)) {
            Some(ServerEvent::Violation(violation)) => {
                assert_eq!(violation.kind, ViolationKind::InvalidParams);
            }
            other => panic!("{other:?}"),
        }
    }
}

/// Proves L-RES-15: URIs and templates are not parsed, and their escapes are not changed.
#[test]
fn uris_pass_byte_for_byte() {
    let uris = ["FILE:///A/../b%7e", "x:ü ö", "", "no uri", "a:b#c?d/./", "x://H:80/%2F"];
    for (uri, revision) in uris.into_iter().flat_map(|uri| Revision::LEGACY.map(|one| (uri, one))) {
        let params = format!(r#"{{"uri":"{uri}"}}"#);
        let mut client = ClientSide::ready(revision);
        let typed = ReadResourceParams::new(uri);
        let options = CallOptions::new();
        client.client.call::<ReadResource>(&typed, options, client.now, &mut client.out).unwrap();
        let asked =
            format!(r#"{{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{params}}}"#);
        assert_eq!(client.sent(), [asked.as_str()]);

        let mut server = ServerSide::ready(revision);
        let Some(ServerEvent::Request(asked)) = server.receive(&asked) else { panic!("{uri}") };
        assert!(matches!(&asked.kind, ClientRequest::ReadResource { uri: found } if *found == uri));
        let result = format!(r#"{{"contents":[{{"uri":"{uri}","text":""}}]}}"#);
        server.respond(asked.id, &result);
        let answer = format!(r#"{{"jsonrpc":"2.0","id":2,"result":{result}}}"#);
        assert_eq!(server.sent(), [answer.as_str()]);
        let Some(ClientEvent::CallEnded(ended)) = client.receive(&answer) else { panic!() };
        assert_eq!(ended.outcome, Outcome::Result(raw(&result)));

        let id = server.request(&request("resources/subscribe", &params));
        server.respond(id, "{}");
        _ = server.sent();
        assert!(server.server.notifications().subscriptions().eq([uri]));
        assert_eq!(
            server.server.notifications().resource_updated(uri, &mut server.out),
            Ok(Delivery::Sent)
        );
        assert_eq!(
            server.sent(),
            [format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{params}}}"#
            )]
        );
        // URIs with different bytes are different resources.
        let other = format!("{uri}/");
        let delivery = server.server.notifications().resource_updated(&other, &mut server.out);
        assert_eq!(delivery, Ok(Delivery::NotWanted));
    }
    for template in ["file:///{+path}{?q*}", "{", "x:{y}%7b"] {
        let list =
            format!(r#"{{"resourceTemplates":[{{"uriTemplate":"{template}","name":"n"}}]}}"#);
        assert_eq!(sent_result("resources/templates/list", D, &raw(&list)), Ok(list));
    }
}

/// Proves L-JSONRPC-24, L-AMB-50: unknown members are tolerated and stay accessible.
#[test]
fn unknown_members_are_accepted_and_preserved() {
    for revision in Revision::LEGACY {
        let mut side = ClientSide::fresh();
        side.client.connect(side.now, &mut side.out).unwrap();
        let result = format!(
            r#"{{"protocolVersion":"{revision}","capabilities":{{"x":{{}}}},"serverInfo":{{"name":"s","version":"1","y":2}},"foo":1}}"#
        );
        let answer = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result},"extra":[]}}"#);
        let Some(ClientEvent::Connected(connected)) = side.receive(&answer) else { panic!() };
        assert_eq!(connected.result.get("foo"), Some(raw("1")));
        assert_eq!(connected.result, raw(&result));

        let mut side = ClientSide::ready(revision);
        _ = side.call("tools/call");
        let result = r#"{"content":[{"type":"text","text":"t","z":1}],"foo":{"a":null}}"#;
        let answer = format!(r#"{{"jsonrpc":"2.0","extra":0,"id":2,"result":{result}}}"#);
        let Some(ClientEvent::CallEnded(ended)) = side.receive(&answer) else { panic!() };
        assert_eq!(ended.outcome, Outcome::Result(raw(result)));
        // The result of a method without a result type may have members, too.
        _ = side.call("logging/setLevel");
        let answer = r#"{"jsonrpc":"2.0","id":3,"result":{"foo":1},"extra":0}"#;
        let Some(ClientEvent::CallEnded(ended)) = side.receive(answer) else { panic!() };
        assert_eq!(ended.outcome, Outcome::Result(raw(r#"{"foo":1}"#)));
        let delivered = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"foo":1},"extra":0}"#;
        let Some(ClientEvent::Notification(delivered)) = side.receive(delivered) else { panic!() };
        assert_eq!(delivered.params, Some(raw(r#"{"foo":1}"#)));

        let mut side = ServerSide::ready(revision);
        let frame = r#"{"extra":{},"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"n","foo":1},"other":2}"#;
        let Some(ServerEvent::Request(request)) = side.receive(frame) else { panic!() };
        assert_eq!(request.params, Some(raw(r#"{"name":"n","foo":1}"#)));
        let ping = r#"{"jsonrpc":"2.0","id":2,"method":"ping","params":{"foo":1},"extra":0}"#;
        assert_eq!(side.receive(ping), None);
        assert_eq!(side.sent(), [r#"{"jsonrpc":"2.0","id":2,"result":{}}"#], "nothing is echoed");
    }
}

/// Proves L-TOOL-18: a call of a tool with an odd name reaches the application.
#[test]
fn a_tool_with_an_odd_name_can_be_called() {
    let long = "n".repeat(500);
    for name in ["", "a b", "é/✓", "Name", "name", long.as_str()] {
        for revision in Revision::LEGACY {
            let mut side = ServerSide::ready(revision);
            let params = format!(r#"{{"name":"{name}"}}"#);
            let event = side.receive(&request("tools/call", &params));
            let Some(ServerEvent::Request(request)) = event else { panic!("{name}") };
            let ClientRequest::CallTool(call) = request.kind else { panic!("{name}") };
            assert_eq!(call.name, name);
        }
    }
}

/// Returns the reason why a notification of a server is not delivered, if any. It never gets a response.
#[track_caller]
fn notification_misfit(
    revision: Revision,
    method: &str,
    params: &str,
) -> Option<(&'static str, Problem)> {
    let mut side = ClientSide::ready(revision);
    let frame = format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#);
    let event = side.receive(&frame);
    assert_eq!(side.sent(), [""; 0]);
    match event {
        Some(ClientEvent::Notification(notification)) => {
            assert_eq!(notification.params, Some(raw(params)));
            None
        }
        Some(ClientEvent::Violation(violation)) => {
            assert_eq!(violation.kind, ViolationKind::MalformedNotification);
            assert!(!violation.answered);
            violation.misfit.map(|misfit| (misfit.field, misfit.problem))
        }
        other => panic!("{frame}: {other:?}"),
    }
}

/// Proves L-LOG-06, L-RES-13: the required members of these notifications; without them, a notification is reported
/// and not delivered.
#[test]
fn notifications_without_their_members_are_not_delivered() {
    let log = "notifications/message";
    let updated = "notifications/resources/updated";
    for revision in Revision::LEGACY {
        for fine in [
            r#"{"level":"debug","data":null}"#,
            r#"{"level":"emergency","logger":"l","data":{"a":1}}"#,
            r#"{"data":"text","level":"info"}"#,
        ] {
            assert_eq!(notification_misfit(revision, log, fine), None);
        }
        assert_eq!(
            notification_misfit(revision, log, r#"{"level":"debug"}"#),
            Some(("data", Missing))
        );
        assert_eq!(notification_misfit(revision, log, r#"{"data":1}"#), Some(("level", Missing)));
        let wrong = r#"{"level":"debug","logger":7,"data":1}"#;
        assert_eq!(notification_misfit(revision, log, wrong), Some(("logger", WrongType)));
        assert_eq!(
            notification_misfit(revision, updated, r#"{"uri":"x:y","_meta":{"k":1}}"#),
            None
        );
        assert_eq!(notification_misfit(revision, updated, "{}"), Some(("uri", Missing)));
        assert_eq!(
            notification_misfit(revision, updated, r#"{"uri":7}"#),
            Some(("uri", WrongType))
        );
    }
}

/// Proves L-ELIC-08: a list is no form value in 2025-06-18; a value of a valid kind arrives.
#[test]
fn form_value_types_depend_on_the_revision() {
    for (value, takes) in [
        (r#""s""#, [true, true]),
        ("1.5", [true, true]),
        ("false", [true, true]),
        (r#"["x"]"#, [false, true]),
        (r#"{"b":1}"#, [false, false]),
        ("[1]", [false, false]),
    ] {
        for (revision, takes) in [C, D].into_iter().zip(takes) {
            let mut side = ServerSide::ready(revision);
            _ = side.call("elicitation/create");
            let result = format!(r#"{{"action":"accept","content":{{"a":{value}}}}}"#);
            let answer = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#);
            let message = answer.as_bytes().into();
            let kind = ViolationKind::InvalidResult;
            let expected = if takes {
                Outcome::Result(raw(&result))
            } else {
                Outcome::Malformed { kind, message }
            };
            let Some(ServerEvent::CallEnded(ended)) = side.receive(&answer) else { panic!() };
            assert_eq!(ended.outcome, expected, "{revision} {value}");
        }
    }
}
