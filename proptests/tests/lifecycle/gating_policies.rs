//! The effect of policies on capabilities, around the handshake and in older sessions.

use mcp_sansio::call::TaskOptions;
use mcp_sansio::capability::Capability;
use mcp_sansio::config::{CapabilityPolicy, Relay};
use mcp_sansio::error::{BatchError, NotAllowed, NotifyError, ViolationKind};
use mcp_sansio::event::Observation;
use mcp_sansio::json::Raw;
use mcp_sansio::model::LoggingLevel;
use mcp_sansio::subscription::{Delivery, Log};
use mcp_sansio::{
    CallError, CallId, CallOptions, Cause, ClientEvent, ClientRequest, Outbox, Outboxes, Outcome,
    Revision, RevisionSet, Route, ServerEvent,
};
use mcp_sansio_proptests::{ClientSide, ServerSide, config, payload};

const LATEST: Revision = Revision::V2025_11_25;
const SAMPLING: &str = "sampling/createMessage";
const TOOLS: &str = r#"{"messages":[],"maxTokens":1,"tools":[]}"#;
const CONTEXT: &str = r#"{"messages":[],"maxTokens":1,"includeContext":"allServers"}"#;
const URL: &str = r#"{"mode":"url","message":"m","url":"https://x.example/","elicitationId":"e"}"#;

/// An observer of undeclared capabilities in use.
struct Watched<'o> {
    out: &'o mut Outbox,
    undeclared: Vec<(String, Capability)>,
}

impl<'o> Watched<'o> {
    const fn new(out: &'o mut Outbox) -> Self {
        Self { out, undeclared: Vec::new() }
    }
}

impl Outboxes for Watched<'_> {
    fn outbox(&mut self, _route: Route) -> &mut Outbox {
        self.out
    }

    fn observe(&mut self, observation: &Observation<'_>) {
        if let Observation::NotDeclared { method, capability } = observation {
            self.undeclared.push(((*method).to_string(), *capability));
        }
    }
}

fn initialize(capabilities: &str, revision: Revision) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{revision}","capabilities":{capabilities},"clientInfo":{{"name":"c","version":"1"}}}}}}"#
    )
}

fn initialized(capabilities: &str, revision: Revision) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"result":{{"protocolVersion":"{revision}","capabilities":{capabilities},"serverInfo":{{"name":"s","version":"1"}}}}}}"#
    )
}

const REFUSED: &str = r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"method not available in this session"}}"#;

const READY: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// Creates a server that declares nothing, with a client that declares these capabilities.
fn bare_server(policy: CapabilityPolicy, capabilities: &str) -> ServerSide {
    let mut config = config::bare_server();
    config.connection.capability_policy = policy;
    let mut side = ServerSide::with(config);
    assert!(matches!(
        side.receive(&initialize(capabilities, LATEST)),
        Some(ServerEvent::Opened(_))
    ));
    assert_eq!(side.receive(READY), Some(ServerEvent::Ready));
    _ = side.sent();
    side
}

/// Creates a client that declares nothing, with a server that declares nothing.
fn bare_client(policy: CapabilityPolicy, revision: Revision) -> ClientSide {
    let mut config = config::bare_client();
    config.connection.capability_policy = policy;
    let mut side = ClientSide::with(config);
    side.client.connect(side.now, &mut side.out).unwrap();
    let event = side.receive(&initialized("{}", revision));
    assert!(matches!(event, Some(ClientEvent::Connected(_))));
    _ = side.sent();
    side
}

/// The effect of a policy: whether the message is sent, and whether the observer is notified.
const POLICIES: [(CapabilityPolicy, bool, bool); 3] = [
    (CapabilityPolicy::Strict, false, false),
    (CapabilityPolicy::Warn, true, true),
    (CapabilityPolicy::Off, true, false),
];

/// Proves L-CAP-03, L-AMB-43: strictness is configurable, and on by default. Pain 44.
#[test]
fn a_policy_decides_on_calls_of_a_client() {
    assert_eq!(config::bare_client().connection.capability_policy, CapabilityPolicy::Strict);
    for revision in Revision::LEGACY {
        for (policy, is_sent, is_reported) in POLICIES {
            let mut side = bare_client(policy, revision);
            let mut out = Watched::new(&mut side.out);
            let options = CallOptions::new();
            let call = side.client.call_method("prompts/list", &(), options, side.now, &mut out);
            let delivered = out.undeclared;
            if is_sent {
                assert!(call.is_ok(), "{policy:?}");
                let expected = [r#"{"jsonrpc":"2.0","id":2,"method":"prompts/list"}"#];
                assert_eq!(side.sent(), expected);
            } else {
                let missing = NotAllowed::Capability(Capability::Prompts);
                assert_eq!(call, Err(CallError::NotAllowed(missing)));
                assert_eq!(side.sent(), [""; 0]);
            }
            let expected = vec![("prompts/list".to_string(), Capability::Prompts)];
            assert_eq!(delivered, if is_reported { expected } else { vec![] }, "{policy:?}");
        }
    }
}

/// Proves L-CAP-14, L-CAP-15, L-CAP-16, L-CAP-03 under every policy.
#[test]
fn a_policy_decides_on_calls_of_a_server() {
    let cases = [
        ("{}", SAMPLING, r#"{"messages":[],"maxTokens":1}"#, Capability::Sampling),
        (r#"{"sampling":{}}"#, SAMPLING, TOOLS, Capability::SamplingTools),
        (r#"{"sampling":{}}"#, SAMPLING, CONTEXT, Capability::SamplingContext),
        (r#"{"elicitation":{}}"#, "elicitation/create", URL, Capability::ElicitationUrl),
    ];
    for (declared, method, params, capability) in cases {
        for (policy, is_sent, is_reported) in POLICIES {
            let mut side = bare_server(policy, declared);
            let mut out = Watched::new(&mut side.out);
            let (params, options) = (Raw::new(params).unwrap(), CallOptions::new());
            let call = side.server.call_method(method, &params, options, side.now, &mut out);
            let delivered = out.undeclared;
            if is_sent {
                assert!(call.is_ok(), "{policy:?} {method}");
                assert_eq!(
                    side.sent(),
                    [format!(
                        r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#,
                        params = params.as_json()
                    )]
                );
            } else {
                let missing = NotAllowed::Capability(capability);
                assert_eq!(call, Err(CallError::NotAllowed(missing)));
                assert_eq!(side.sent(), [""; 0]);
            }
            let expected = vec![(method.to_string(), capability)];
            assert_eq!(delivered, if is_reported { expected } else { vec![] }, "{policy:?}");
        }
    }
}

/// Proves L-CAP-13 under every policy.
#[test]
fn a_policy_decides_on_log_messages() {
    for (policy, is_sent, is_reported) in POLICIES {
        let mut side = bare_server(policy, "{}");
        let mut out = Watched::new(&mut side.out);
        let delivery =
            side.server.notifications().log(&Log::new(LoggingLevel::Info, "x"), &mut out);
        let delivered = out.undeclared;
        if is_sent {
            assert_eq!(delivery, Ok(Delivery::Sent));
            assert_eq!(
                side.sent(),
                [
                    r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}"#
                ]
            );
        } else {
            let missing = NotAllowed::Capability(Capability::Logging);
            assert_eq!(delivery, Err(NotifyError::NotAllowed(missing)));
            assert_eq!(side.sent(), [""; 0]);
        }
        let expected = vec![("notifications/message".to_string(), Capability::Logging)];
        assert_eq!(delivered, if is_reported { expected } else { vec![] }, "{policy:?}");
    }
}

/// Held calls are subject to the same policy when the session opens.
#[test]
fn a_policy_decides_on_calls_that_were_held() {
    let cases = POLICIES.into_iter().flat_map(|case| [(case, false), (case, true)]);
    for ((policy, is_sent, is_reported), is_lost) in cases {
        let mut config = config::bare_client();
        config.connection.capability_policy = policy;
        let mut side = ClientSide::with(config);
        let call = side.call("prompts/list");
        side.client.connect(side.now, &mut side.out).unwrap();
        _ = side.sent();
        let answer = initialized("{}", LATEST).replace(r#""id":1"#, r#""id":2"#);
        let mut out = Watched::new(&mut side.out);
        let event = side.client.receive(answer.as_str(), side.now, &mut out);
        assert!(matches!(event, Some(ClientEvent::Connected(_))), "{event:?}");
        let delivered = out.undeclared;
        let mut expected = vec![READY];
        if is_sent {
            expected.push(r#"{"jsonrpc":"2.0","id":1,"method":"prompts/list"}"#);
        }
        assert_eq!(side.sent(), expected, "{policy:?}");
        let expected = vec![("prompts/list".to_string(), Capability::Prompts)];
        assert_eq!(delivered, if is_reported { expected } else { vec![] }, "{policy:?}");
        if is_lost {
            side.client.disconnected(Cause::EndOfInput, side.now);
        }
        let ends = side.outcomes().into_iter().filter_map(|event| match event {
            ClientEvent::CallEnded(ended) => Some((ended.call, ended.outcome)),
            _ => None,
        });
        let missing = CallError::NotAllowed(NotAllowed::Capability(Capability::Prompts));
        let expected = match (is_sent, is_lost) {
            (true, false) => vec![],
            (true, true) => vec![(call, Outcome::Closed(Cause::EndOfInput))],
            // The first reason is reported, also if the connection ends before it was reported.
            (false, _) => vec![(call, Outcome::CallError(missing))],
        };
        assert_eq!(ends.collect::<Vec<_>>(), expected, "{policy:?} {is_lost}");
    }
}

/// The params of a held call are compared with the capabilities of the peer once these are known.
#[test]
fn a_policy_decides_on_the_params_of_held_calls() {
    for ((policy, is_sent, is_reported), (params, missing)) in
        POLICIES.into_iter().flat_map(|case| {
            [(TOOLS, Capability::SamplingTools), (CONTEXT, Capability::SamplingContext)]
                .map(|params| (case, params))
        })
    {
        let mut config = config::bare_server();
        config.connection.capability_policy = policy;
        let mut side = ServerSide::with(config);
        let params = Raw::new(params).unwrap();
        let options = CallOptions::new();
        let made = side.server.call_method(SAMPLING, &params, options, side.now, &mut side.out);
        let call = made.unwrap();
        let opened = side.receive(&initialize(r#"{"sampling":{}}"#, LATEST));
        assert!(matches!(opened, Some(ServerEvent::Opened(_))));
        _ = side.sent();
        let mut out = Watched::new(&mut side.out);
        assert_eq!(side.server.receive(READY, side.now, &mut out), Some(ServerEvent::Ready));
        let delivered = out.undeclared;
        let expected = vec![(SAMPLING.to_string(), missing)];
        assert_eq!(delivered, if is_reported { expected } else { vec![] }, "{policy:?}");
        assert_eq!(side.sent().len(), usize::from(is_sent), "{policy:?}");
        let ends = side.outcomes().into_iter().filter_map(|event| match event {
            ServerEvent::CallEnded(ended) => Some((ended.call, ended.outcome)),
            _ => None,
        });
        let refused = CallError::NotAllowed(NotAllowed::Capability(missing));
        let expected = if is_sent { vec![] } else { vec![(call, Outcome::CallError(refused))] };
        assert_eq!(ends.collect::<Vec<_>>(), expected, "{policy:?}");
    }
}

/// A batch is subject to the same policy, and the observer is notified in the same way.
#[test]
fn a_policy_decides_on_batches() {
    for (policy, is_sent, is_reported) in POLICIES {
        let mut side = bare_client(policy, Revision::V2025_03_26);
        let mut out = Watched::new(&mut side.out);
        let outcome: Result<CallId, BatchError> = side.client.batch(side.now, &mut out, |batch| {
            batch.notify_method("notifications/roots/list_changed", &())?;
            Ok(batch.call_method("prompts/list", &(), CallOptions::new())?)
        });
        let delivered = out.undeclared;
        assert_eq!((outcome.is_ok(), side.sent().len()), (is_sent, usize::from(is_sent)));
        let expected = vec![
            ("notifications/roots/list_changed".to_string(), Capability::RootsListChanged),
            ("prompts/list".to_string(), Capability::Prompts),
        ];
        assert_eq!(delivered, if is_reported { expected } else { vec![] }, "{policy:?}");
    }
}

/// Proves L-AMB-43, L-AMB-29, L-AMB-31, L-ERR-26, L-SAMP-10: a policy applies to sending only.
#[test]
fn no_policy_serves_an_undeclared_capability() {
    for (policy, ..) in POLICIES {
        let mut server = bare_server(policy, "{}");
        let event = server.receive(r#"{"jsonrpc":"2.0","id":7,"method":"tools/list"}"#);
        assert!(matches!(event, Some(ServerEvent::Violation(_))));
        assert_eq!(server.sent(), [REFUSED]);
        let mut client = bare_client(policy, LATEST);
        for method in ["roots/list", SAMPLING, "elicitation/create"] {
            let params = payload::params(method);
            let frame = format!(
                r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{}}}"#,
                params.as_json().replace("null", "{}")
            );
            let event = client.receive(&frame);
            assert!(matches!(event, Some(ClientEvent::Violation(_))), "{method}");
            assert_eq!(client.sent(), [REFUSED], "{method}");
        }
        let mut config = config::bare_client();
        config.connection.capability_policy = policy;
        config.capabilities.sampling = Some(Default::default());
        let mut client = ClientSide::ready_with(config, LATEST);
        let frame = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{SAMPLING}","params":{TOOLS}}}"#);
        let event = client.receive(&frame);
        let Some(ClientEvent::Violation(violation)) = event else { panic!("{event:?}") };
        assert_eq!(violation.kind, ViolationKind::NotOffered);
        assert_eq!(
            client.sent(),
            [
                r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"the params need a capability that was not declared"}}"#
            ]
        );
    }
}

/// Relayed messages of a gateway need no declared capability.
#[test]
fn relayed_methods_need_no_declared_capability() {
    let methods = |names: &[&str]| Relay::Methods(names.iter().map(ToString::to_string).collect());
    let relays = [
        (Relay::Nothing, false, false),
        (methods(&["prompts/list", "tools/list"]), true, true),
        (methods(&["prompts/list"]), true, false),
        (Relay::Everything, true, true),
    ];
    for (relay, relays_prompts, relays_tools) in relays {
        let mut client = config::bare_client();
        client.connection.relay = relay.clone();
        let mut client = ClientSide::with(client);
        client.client.connect(client.now, &mut client.out).unwrap();
        assert!(client.receive(&initialized("{}", Revision::V2025_06_18)).is_some());
        _ = client.sent();
        let mut server = config::bare_server();
        server.connection.relay = relay.clone();
        let mut server = ServerSide::ready_with(server, Revision::V2025_06_18);
        for (method, is_relayed) in [("prompts/list", relays_prompts), ("tools/list", relays_tools)]
        {
            let frame = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}"}}"#);
            let event = server.receive(&frame);
            if is_relayed {
                let Some(ServerEvent::Request(request)) = event else { panic!("{event:?}") };
                assert!(request.kind == ClientRequest::Other && request.method == method);
                server.respond(request.id, "{}");
                assert_eq!(server.sent(), [r#"{"jsonrpc":"2.0","id":7,"result":{}}"#]);
            } else {
                assert!(matches!(event, Some(ServerEvent::Violation(_))), "{relay:?} {method}");
                assert_eq!(server.sent(), [REFUSED]);
            }
            let (now, options) = (client.now, CallOptions::new());
            let call = client.client.call_method(method, &(), options, now, &mut client.out);
            assert_eq!(call.is_ok(), is_relayed, "{relay:?} {method}");
            assert_eq!(client.sent().len(), usize::from(is_relayed));
        }
    }
}

/// A modern server relays requests for which it has declared no capability, and those of other revisions.
#[test]
fn a_modern_server_relays_without_declared_capabilities() {
    let mut config = config::bare_server();
    config.revisions = RevisionSet::ALL;
    config.connection.relay = Relay::Methods(vec!["prompts/get".into(), "tasks/list".into()]);
    let mut side = ServerSide::with(config);
    let ask = |id: u32, method: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"name":1,"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
        )
    };
    for (id, method) in [(1, "prompts/get"), (2, "tasks/list")] {
        let Some(ServerEvent::Request(request)) = side.receive(&ask(id, method)) else {
            panic!("{method} is not relayed");
        };
        assert!(request.kind == ClientRequest::Other && request.method == method);
        side.respond(request.id, r#"{"any":1}"#);
        assert_eq!(side.sent(), [format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"any":1}}}}"#)]);
    }
    let event = side.receive(&ask(3, "prompts/list"));
    let Some(ServerEvent::Violation(violation)) = event else { panic!("{event:?}") };
    assert_eq!(violation.kind, ViolationKind::MethodNotAvailable);
}

/// A call that requires a task names the missing capability, if the revision has it.
#[test]
fn a_call_that_requires_a_task_names_what_prevents_it() {
    let missing = NotAllowed::Capability(Capability::ServerTasksCallTool);
    for (revision, refused) in [(LATEST, missing), (Revision::V2025_06_18, NotAllowed::Revision)] {
        let mut side = ClientSide::ready(revision);
        let options = CallOptions::new().task(TaskOptions::new().required());
        let params = payload::params("tools/call");
        let call = side.client.call_method("tools/call", &params, options, side.now, &mut side.out);
        assert_eq!(call, Err(CallError::NotAllowed(refused)), "{revision}");
        assert_eq!(side.sent(), [""; 0]);
    }
}

/// The policy applies in the modern era as well.
///
/// Proves M-CAP-14 under every policy.
#[test]
fn a_policy_decides_on_modern_log_messages() {
    let request = r#"{"jsonrpc":"2.0","id":1,"method":"x/own","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/logLevel":"info"}}}"#;
    for (policy, is_sent, is_reported) in POLICIES {
        let mut config = config::bare_server();
        config.revisions = RevisionSet::ALL;
        config.connection.capability_policy = policy;
        let mut side = ServerSide::with(config);
        let id = side.request(request);
        let mut out = Watched::new(&mut side.out);
        let log = Log::new(LoggingLevel::Info, "x").about(id);
        let delivery = side.server.notifications().log(&log, &mut out);
        let delivered = out.undeclared;
        if is_sent {
            assert_eq!(delivery, Ok(Delivery::Sent));
            assert_eq!(
                side.sent(),
                [
                    r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}"#
                ]
            );
        } else {
            let missing = NotAllowed::Capability(Capability::Logging);
            assert_eq!(delivery, Err(NotifyError::NotAllowed(missing)));
            assert_eq!(side.sent(), [""; 0]);
        }
        let expected = vec![("notifications/message".to_string(), Capability::Logging)];
        assert_eq!(delivered, if is_reported { expected } else { vec![] }, "{policy:?}");
    }
}
