//! Capabilities: the requests that this side sends and serves.

use mcp_sansio::capability::Capability;
use mcp_sansio::error::{NotAllowed, NotifyError, ViolationKind};
use mcp_sansio::json::Raw;
use mcp_sansio::model::LoggingLevel;
use mcp_sansio::subscription::{Delivery, Log};
use mcp_sansio::{
    CallError, CallId, CallOptions, ClientEvent, ErrorCode, IncomingId, Outcome, Revision,
    ServerEvent,
};
use mcp_sansio_proptests::{ClientSide, ServerSide, config, payload};

const UNAVAILABLE: (i64, &str) = (-32601, "method not available in this session");
const NOT_OFFERED: (i64, &str) = (-32602, "the params need a capability that was not declared");

/// The requests of a client, each with its capability and the first revision that requires the capability.
const OPENED_BY_SERVERS: [(&str, Capability, Revision); 11] = {
    use Capability::*;
    [
        ("tools/list", Tools, Revision::V2024_11_05),
        ("tools/call", Tools, Revision::V2024_11_05),
        ("resources/list", Resources, Revision::V2024_11_05),
        ("resources/read", Resources, Revision::V2024_11_05),
        ("resources/templates/list", Resources, Revision::V2024_11_05),
        ("resources/subscribe", ResourcesSubscribe, Revision::V2024_11_05),
        ("resources/unsubscribe", ResourcesSubscribe, Revision::V2024_11_05),
        ("prompts/list", Prompts, Revision::V2024_11_05),
        ("prompts/get", Prompts, Revision::V2024_11_05),
        ("completion/complete", Completions, Revision::V2025_03_26),
        ("logging/setLevel", Logging, Revision::V2024_11_05),
    ]
};

fn client_of(capabilities: &str, revision: Revision) -> ClientSide {
    let mut side = ClientSide::fresh();
    side.client.connect(side.now, &mut side.out).unwrap();
    let event = side.receive(&format!(
        r#"{{"jsonrpc":"2.0","id":1,"result":{{"protocolVersion":"{revision}","capabilities":{capabilities},"serverInfo":{{"name":"s","version":"1"}}}}}}"#
    ));
    assert!(matches!(event, Some(ClientEvent::Connected(_))), "{event:?}");
    assert_eq!(side.sent().len(), 2);
    side
}

fn server_of(capabilities: &str, revision: Revision) -> ServerSide {
    let mut side = ServerSide::fresh();
    let event = side.receive(&format!(
        r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{revision}","capabilities":{capabilities},"clientInfo":{{"name":"c","version":"1"}}}}}}"#
    ));
    assert!(matches!(event, Some(ServerEvent::Opened(_))), "{event:?}");
    let event = side.receive(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    assert_eq!(event, Some(ServerEvent::Ready));
    assert_eq!(side.sent().len(), 1);
    side
}

/// Creates a client that declares these capabilities.
fn client_with(capabilities: &'static str, revision: Revision) -> ClientSide {
    let mut config = config::bare_client();
    config.capabilities = serde_json::from_str(capabilities).unwrap();
    ClientSide::ready_with(config, revision)
}

fn client_call(side: &mut ClientSide, method: &str) -> Result<CallId, CallError> {
    let params = payload::params(method);
    side.client.call_method(method, &params, CallOptions::new(), side.now, &mut side.out)
}

fn server_call(side: &mut ServerSide, method: &str, params: &str) -> Result<CallId, CallError> {
    let params = Raw::new(params).unwrap();
    side.server.call_method(method, &params, CallOptions::new(), side.now, &mut side.out)
}

const fn missing<T>(capability: Capability) -> Result<T, CallError> {
    Err(CallError::NotAllowed(NotAllowed::Capability(capability)))
}

fn request(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{params}}}"#)
}

fn refusal((code, message): (i64, &str)) -> [String; 1] {
    [format!(r#"{{"jsonrpc":"2.0","id":7,"error":{{"code":{code},"message":"{message}"}}}}"#)]
}

#[track_caller]
fn client_refuses(side: &mut ClientSide, frame: &str, with: (i64, &str)) {
    let event = side.receive(frame);
    assert!(matches!(&event, Some(ClientEvent::Violation(v)) if v.answered), "{frame} {event:?}");
    assert_eq!(side.sent(), refusal(with), "{frame}");
    assert_eq!(side.client.in_flight().counts().inbound, 0);
}

/// Proves L-CAP-03, L-CAP-10, L-CAP-11, L-CAP-13, L-LIFE-23, L-AMB-42, L-AMB-43. The check is on by default.
#[test]
fn a_client_call_of_an_undeclared_capability_is_not_sent() {
    for revision in Revision::LEGACY {
        for (method, capability, since) in OPENED_BY_SERVERS {
            let mut side = client_of("{}", revision);
            let outcome = client_call(&mut side, method);
            if revision < since {
                assert!(outcome.is_ok(), "{revision} {method}: nothing has to open it yet");
                assert_eq!(side.sent().len(), 1);
                continue;
            }
            assert_eq!(outcome, missing(capability), "{revision} {method}");
            assert_eq!(side.sent(), [""; 0], "{revision} {method}");
            assert_eq!(side.client.in_flight().counts().outbound, 0);
            assert!(client_call(&mut ClientSide::ready(revision), method).is_ok());
        }
    }
}

/// Proves L-CAP-10, L-AMB-42. Other capabilities do not help: each method has its own.
#[test]
fn resource_subscriptions_need_the_subscribe_capability() {
    let declarations = [
        r#"{"resources":{}}"#,
        r#"{"resources":{"listChanged":true}}"#,
        r#"{"resources":{"subscribe":false}}"#,
    ];
    for declaration in declarations {
        let mut side = client_of(declaration, Revision::V2025_11_25);
        let mut config = config::bare_server();
        config.capabilities = serde_json::from_str(declaration).unwrap();
        let mut server = ServerSide::ready_with(config, Revision::V2025_11_25);
        for method in ["resources/subscribe", "resources/unsubscribe"] {
            assert_eq!(client_call(&mut side, method), missing(Capability::ResourcesSubscribe));
            let event = server.receive(&request(method, r#"{"uri":"x:y"}"#));
            assert!(matches!(event, Some(ServerEvent::Violation(v)) if v.answered));
            assert_eq!(server.sent(), refusal(UNAVAILABLE));
        }
        assert_eq!(side.sent(), [""; 0]);
        for method in ["resources/list", "resources/read", "resources/templates/list"] {
            assert!(client_call(&mut side, method).is_ok());
            let id = server.request(&request(method, payload::params("resources/read").as_json()));
            server.respond(id, payload::result(method).as_json());
            assert_eq!((side.sent().len(), server.sent().len()), (1, 1), "{method}");
        }
    }
}

/// Proves L-CAP-10, L-CAP-11, L-CAP-13, L-AMB-43: a server serves only declared capabilities, independent of the
/// client's checks.
#[test]
fn a_server_refuses_requests_for_undeclared_capabilities() {
    for revision in Revision::LEGACY {
        for (method, _, since) in OPENED_BY_SERVERS {
            let frame = request(method, payload::params(method).as_json()).replace("null", "{}");
            ServerSide::ready(revision).request(&frame);
            let mut bare = ServerSide::ready_with(config::bare_server(), revision);
            if revision < since {
                bare.request(&frame);
                continue;
            }
            let event = bare.receive(&frame);
            let Some(ServerEvent::Violation(violation)) = event else { panic!("{event:?}") };
            assert_eq!(violation.kind, ViolationKind::MethodNotAvailable);
            assert_eq!(bare.sent(), refusal(UNAVAILABLE), "{revision} {method}");
        }
    }
}

/// Proves L-CAP-13 for the messages themselves: a server that declared no logging sends no log messages.
#[test]
fn a_server_without_logging_does_not_log() {
    let log = Log::new(LoggingLevel::Emergency, "on fire");
    for revision in Revision::LEGACY {
        let mut bare = ServerSide::ready_with(config::bare_server(), revision);
        let refused = NotifyError::NotAllowed(NotAllowed::Capability(Capability::Logging));
        assert_eq!(bare.server.notifications().log(&log, &mut bare.out), Err(refused));
        assert_eq!(bare.sent(), [""; 0]);
        let mut side = ServerSide::ready(revision);
        assert_eq!(side.server.notifications().log(&log, &mut side.out), Ok(Delivery::Sent));
        assert_eq!(
            side.sent(),
            [
                r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"emergency","data":"on fire"}}"#
            ]
        );
    }
}

/// Proves L-CAP-03, L-LIFE-23, L-AMB-43 for a server.
#[test]
fn a_server_call_of_an_undeclared_capability_is_not_sent() {
    let methods = [
        ("roots/list", Capability::Roots, Revision::V2024_11_05),
        ("sampling/createMessage", Capability::Sampling, Revision::V2024_11_05),
        ("elicitation/create", Capability::Elicitation, Revision::V2025_06_18),
    ];
    for revision in Revision::LEGACY {
        for (method, capability, since) in methods {
            let params = payload::params(method);
            let mut side = server_of("{}", revision);
            let outcome = server_call(&mut side, method, params.as_json());
            if revision < since {
                let unknown = Err(CallError::NotAllowed(NotAllowed::Revision));
                assert_eq!(outcome, unknown, "{revision} {method}");
            } else {
                assert_eq!(outcome, missing(capability), "{revision} {method}");
                assert!(
                    server_call(&mut ServerSide::ready(revision), method, params.as_json()).is_ok()
                );
            }
            assert_eq!(side.sent(), [""; 0]);
            assert_eq!(side.server.in_flight().counts().outbound, 0);
        }
    }
}

/// Proves L-ERR-21, L-ERR-26, L-ROOT-05, L-AMB-29, L-AMB-37: a request for an undeclared capability gets "method not
/// found".
#[test]
fn a_client_refuses_requests_for_undeclared_capabilities() {
    for revision in Revision::LEGACY {
        for method in ["roots/list", "sampling/createMessage", "elicitation/create"] {
            let frame = request(method, payload::params(method).as_json()).replace("null", "{}");
            client_refuses(&mut client_with("{}", revision), &frame, UNAVAILABLE);
        }
    }
}

/// Proves L-ERR-21, L-ROOT-05: a failure of a client that has roots is another error.
#[test]
fn a_client_in_trouble_with_its_roots_says_so() {
    for revision in Revision::LEGACY {
        let mut side = ClientSide::ready(revision);
        let id: IncomingId = side.request(&request("roots/list", "{}"));
        let trouble = (ErrorCode::INTERNAL_ERROR, "the disk is gone");
        side.client.reject(id, trouble.0, trouble.1, &mut side.out).unwrap();
        assert_eq!(side.sent(), refusal((-32603, "the disk is gone")));
        // The server receives it like any other error.
        let mut server = ServerSide::ready(revision);
        server.call("roots/list");
        let answer = refusal((-32603, "the disk is gone"))[0].replace(":7,", ":1,");
        let event = server.receive(&answer);
        let Some(ServerEvent::CallEnded(ended)) = event else { panic!("{event:?}") };
        assert!(
            matches!(ended.outcome, Outcome::PeerError(error) if error.code.get() == -32603),
            "{revision}"
        );
    }
}

const WITH_TOOLS: [&str; 3] = [
    r#"{"messages":[],"maxTokens":1,"tools":[]}"#,
    r#"{"messages":[],"maxTokens":1,"toolChoice":{"mode":"none"}}"#,
    r#"{"messages":[],"maxTokens":1,"tools":[{"name":"t","inputSchema":{"type":"object"}}],"toolChoice":{}}"#,
];

/// Proves L-CAP-14.
#[test]
fn a_server_offers_no_tools_to_a_model_that_takes_none() {
    let method = "sampling/createMessage";
    for params in WITH_TOOLS {
        for declared in [r#"{"sampling":{}}"#, r#"{"sampling":{"context":{}}}"#] {
            let mut side = server_of(declared, Revision::V2025_11_25);
            assert_eq!(
                server_call(&mut side, method, params),
                missing(Capability::SamplingTools),
                "{params}"
            );
            assert_eq!(side.sent(), [""; 0]);
            assert_eq!(side.server.in_flight().counts().outbound, 0);
        }
        let mut side = server_of(r#"{"sampling":{"tools":{}}}"#, Revision::V2025_11_25);
        assert!(server_call(&mut side, method, params).is_ok(), "{params}");
        assert_eq!(
            side.sent(),
            [format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#)]
        );
    }
}

/// Proves L-SAMP-10, L-ERR-24, L-AMB-31.
#[test]
fn a_client_refuses_tools_for_a_model_that_takes_none() {
    for params in WITH_TOOLS {
        let frame = request("sampling/createMessage", params);
        for declared in [r#"{"sampling":{}}"#, r#"{"sampling":{"context":{}}}"#] {
            let mut side = client_with(declared, Revision::V2025_11_25);
            client_refuses(&mut side, &frame, NOT_OFFERED);
            side.request(&request("sampling/createMessage", r#"{"messages":[],"maxTokens":1}"#));
        }
        client_with(r#"{"sampling":{"tools":{}}}"#, Revision::V2025_11_25).request(&frame);
    }
}

/// Proves L-CAP-15: only the latest legacy revision has a capability for the context of servers.
#[test]
fn a_server_asks_for_context_only_where_there_is_some() {
    let method = "sampling/createMessage";
    for revision in Revision::LEGACY {
        for context in ["thisServer", "allServers", "none"] {
            let params = format!(r#"{{"messages":[],"includeContext":"{context}","maxTokens":1}}"#);
            let mut side = server_of(r#"{"sampling":{"tools":{}}}"#, revision);
            let outcome = server_call(&mut side, method, &params);
            if revision == Revision::V2025_11_25 && context != "none" {
                assert_eq!(outcome, missing(Capability::SamplingContext), "{context}");
                assert_eq!(side.sent(), [""; 0]);
                side = server_of(r#"{"sampling":{"context":{}}}"#, revision);
                assert!(server_call(&mut side, method, &params).is_ok());
            } else {
                assert!(outcome.is_ok(), "{revision} {context}: {outcome:?}");
            }
            assert_eq!(
                side.sent(),
                [format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#)]
            );
        }
    }
}

const FORM: &str =
    r#"{"mode":"form","message":"m","requestedSchema":{"type":"object","properties":{}}}"#;
const PLAIN: &str = r#"{"message":"m","requestedSchema":{"type":"object","properties":{}}}"#;
const URL: &str = r#"{"mode":"url","message":"m","url":"https://x.example/","elicitationId":"e"}"#;

/// Declarations of elicitation, and whether each includes forms and URLs.
const MODES: [(&str, bool, bool); 4] = [
    (r#"{"elicitation":{}}"#, true, false),
    (r#"{"elicitation":{"form":{}}}"#, true, false),
    (r#"{"elicitation":{"url":{}}}"#, false, true),
    (r#"{"elicitation":{"form":{},"url":{}}}"#, true, true),
];

/// Proves L-CAP-16.
#[test]
fn a_server_asks_in_modes_that_the_client_has() {
    for (declared, forms, urls) in MODES {
        let cases = [
            (PLAIN, forms, Capability::ElicitationForm),
            (FORM, forms, Capability::ElicitationForm),
            (URL, urls, Capability::ElicitationUrl),
        ];
        for (params, has_mode, mode) in cases {
            let mut side = server_of(declared, Revision::V2025_11_25);
            let outcome = server_call(&mut side, "elicitation/create", params);
            if has_mode {
                assert!(outcome.is_ok(), "{declared} {params} {outcome:?}");
                assert_eq!(side.sent().len(), 1);
            } else {
                assert_eq!(outcome, missing(mode), "{declared} {params}");
                assert_eq!(side.sent(), [""; 0]);
                assert_eq!(side.server.in_flight().counts().outbound, 0);
            }
        }
    }
}

/// Proves L-ELIC-15, L-ERR-25.
#[test]
fn a_client_refuses_modes_that_it_does_not_have() {
    for (declared, forms, urls) in MODES {
        for (params, has_mode) in [(PLAIN, forms), (FORM, forms), (URL, urls)] {
            let mut side = client_with(declared, Revision::V2025_11_25);
            let frame = request("elicitation/create", params);
            if has_mode {
                side.request(&frame);
                assert_eq!(side.sent(), [""; 0]);
            } else {
                client_refuses(&mut side, &frame, NOT_OFFERED);
            }
        }
    }
}

/// Proves L-ELIC-01, L-CAP-19: even if both sides declare it, it does not exist before its revision.
#[test]
fn elicitation_does_not_exist_before_its_revision() {
    for revision in [Revision::V2024_11_05, Revision::V2025_03_26] {
        for params in [PLAIN, FORM, URL] {
            let mut client = client_with(r#"{"elicitation":{"form":{},"url":{}}}"#, revision);
            client_refuses(&mut client, &request("elicitation/create", params), UNAVAILABLE);
            let mut server = server_of(r#"{"elicitation":{"form":{},"url":{}}}"#, revision);
            assert!(server.server.peer_capabilities().is_empty(), "{revision}");
            assert_eq!(
                server_call(&mut server, "elicitation/create", params),
                Err(CallError::NotAllowed(NotAllowed::Revision)),
            );
            assert_eq!(server.sent(), [""; 0]);
        }
    }
}

/// Proves L-CAP-19, L-LIFE-22 for capabilities that were added to existing methods.
#[test]
fn capabilities_of_a_later_revision_have_no_effect() {
    let revision = Revision::V2025_06_18;
    let declared = r#"{"sampling":{"tools":{},"context":{}},"elicitation":{"form":{},"url":{}}}"#;
    let mut server = server_of(declared, revision);
    let known: Vec<_> = server.server.peer_capabilities().iter().collect();
    assert_eq!(known, [Capability::Sampling, Capability::Elicitation, Capability::ElicitationForm]);
    let cases = [
        (WITH_TOOLS[0], "sampling/createMessage", "tools does not exist in this revision"),
        (WITH_TOOLS[1], "sampling/createMessage", "toolChoice does not exist in this revision"),
        (URL, "elicitation/create", "mode does not exist in this revision"),
    ];
    for (params, method, problem) in cases {
        let error = server_call(&mut server, method, params).unwrap_err();
        assert_eq!(error.to_string(), format!("the request could not be written: {problem}"));
    }
    assert_eq!(server.sent(), [""; 0]);
    // The completions capability came after the first revision, in which every server may have completions.
    let client = client_of(r#"{"completions":{}}"#, Revision::V2024_11_05);
    assert!(client.client.peer_capabilities().is_empty());
    let client = client_of(r#"{"completions":{}}"#, Revision::V2025_03_26);
    assert!(client.client.peer_capabilities().contains(Capability::Completions));
}

/// Members that only look like those of a capability declare nothing: neither a path, nor members in the object of
/// another capability.
///
/// Proves L-CAP-08, L-CAP-09, L-TASK-07.
#[test]
fn a_member_declares_only_what_it_is_in_its_place() {
    let task = r#"{"tools":{"call":{}}}"#;
    for (declared, expected) in [
        (r#"{"tools.listChanged":true}"#.to_owned(), vec![]),
        (r#"{"tools.listChanged":{}}"#.to_owned(), vec![]),
        (format!(r#"{{"prompts":{{"requests":{task}}}}}"#), vec![Capability::Prompts]),
        (r#"{"tasks":{"requests.tools.call":{}}}"#.to_owned(), vec![Capability::ServerTasks]),
        (
            format!(r#"{{"tools":{{"listChanged":true}},"tasks":{{"requests":{task}}}}}"#),
            vec![
                Capability::Tools,
                Capability::ToolsListChanged,
                Capability::ServerTasks,
                Capability::ServerTasksCallTool,
            ],
        ),
    ] {
        let side = client_of(&declared, Revision::V2025_11_25);
        let capabilities: Vec<_> = side.client.peer_capabilities().iter().collect();
        assert_eq!(capabilities, expected, "{declared}");
    }
}
