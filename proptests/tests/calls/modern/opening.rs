//! The first messages of a connection, the calls that wait for them, and the messages that follow.

use mcp_sansio::capability::{Capability, CapabilitySet};
use mcp_sansio::error::{ConnectError, NotAllowed};
use mcp_sansio::event::{ConnectFailure, NegotiationBasis};
use mcp_sansio::model::{Icon, IconTheme};
use mcp_sansio::schema::EncodeError;
use mcp_sansio::{CallError, CallOptions, ClientEvent, Outcome, Phase, Revision, RevisionSet};
use mcp_sansio_proptests::{ClientSide, config, payload};

use super::kit::{
    DISCOVERY, INITIALIZED, SESSION, absorb, asked, begun, connected, connected_with, ended, error,
    initialize, is_alive, modern, only, result,
};

/// Proves M-ERA-12, M-ERA-24, M-DISC-22, M-META-01, M-META-02, M-META-03: the first message of each kind of client,
/// byte for byte.
#[test]
fn the_first_message_is_a_complete_probe_or_initialize() {
    let table = [
        (config::client_of_both_eras(), asked(1, "server/discover", "")),
        (modern(), asked(1, "server/discover", "")),
        (config::client(), initialize(1, "2025-11-25")),
    ];
    for (config, expected) in table {
        let mut side = begun(config);
        assert_eq!(side.sent(), [expected]);
        assert_eq!(side.client.phase(), Phase::Handshake);
        assert_eq!((side.client.revision(), side.client.basis()), (None, None));
        let again = side.client.connect(side.now, &mut side.out);
        assert_eq!(again, Err(ConnectError::NotAtStart));
        assert_eq!(side.sent(), [""; 0]);
    }
    let mut config = config::client();
    config.revisions = RevisionSet::NONE;
    let mut side = ClientSide::with(config);
    assert_eq!(side.client.connect(side.now, &mut side.out), Err(ConnectError::NoRevision));
}

/// Proves M-META-03, M-CAP-07: a client without a name sends none, and declares only configured capabilities.
#[test]
fn a_client_sends_only_configured_info_and_capabilities() {
    let mut config = config::bare_client();
    config.revisions = RevisionSet::MODERN;
    config.identify = false;
    let mut side = begun(config);
    let bare = r#"{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    assert_eq!(side.sent(), [bare]);
    assert!(matches!(side.receive(&result(1, DISCOVERY)), Some(ClientEvent::Connected(_))));
    side.call("tools/list");
    let bare = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    assert_eq!(side.sent(), [bare]);
}

/// Proves M-DISC-08, M-CAP-15: without a probe any request may be first, for any capability, and a server without
/// the method answers with an error.
#[test]
fn a_client_that_does_not_ask_begins_with_its_work() {
    let mut config = modern();
    config.probe = false;
    let mut side = begun(config);
    assert_eq!(side.sent(), [""; 0]);
    assert_eq!(side.client.phase(), Phase::Ready);
    let Some(ClientEvent::Connected(connected)) = only(side.outcomes()) else { panic!() };
    assert_eq!(connected.revision, Revision::V2026_07_28);
    assert_eq!(connected.basis, NegotiationBasis::OnlyEra);
    assert_eq!(connected.result.as_json(), "{}");
    assert!(connected.capabilities.contains(Capability::Prompts));
    let call = side.call("prompts/list");
    assert_eq!(side.sent(), [asked(1, "prompts/list", "")]);
    let (ended, outcome) = ended(side.receive(&error(1, -32601, "")));
    assert_eq!(ended, call);
    assert!(matches!(outcome, Outcome::PeerError(error) if error.code.get() == -32601));
    is_alive(&mut side);
}

/// `Client::basis` agrees with the event.
/// Proves M-ERA-21.
#[test]
fn the_evidence_is_that_of_the_event() {
    let mut blind = modern();
    blind.probe = false;
    let mut knowing = modern();
    knowing.known = Some(Revision::V2026_07_28);
    for (config, basis) in [(blind, NegotiationBasis::OnlyEra), (knowing, NegotiationBasis::Known)]
    {
        let mut side = begun(config);
        let Some(ClientEvent::Connected(connected)) = only(side.outcomes()) else { panic!() };
        assert_eq!(connected.basis, basis);
        assert_eq!(side.client.basis(), Some(basis));
    }
}

/// A modern server may identify itself in `_meta`.
#[test]
fn server_info_is_read_from_meta_if_present() {
    let who = r#","instructions":"ask","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"2"}}"#;
    for (more, name) in [(who, Some("s")), ("", None), (r#","serverInfo":{"name":[]}"#, None)] {
        let mut side = begun(modern());
        let discovery =
            format!(r#"{{"supportedVersions":["2026-07-28"],"capabilities":{{}}{more}}}"#);
        let event = side.receive(&result(1, &discovery));
        let Some(ClientEvent::Connected(connected)) = event else { panic!("{more}: {event:?}") };
        assert_eq!(connected.server_info().map(|info| info.name.to_string()).as_deref(), name);
        assert_eq!(connected.instructions().is_some(), name.is_some(), "{more}");
    }
}

/// Proves M-CAP-16: a call that needs a capability which the server is known to lack is refused locally, unless the
/// policy permits it.
#[test]
fn calls_to_a_missing_capability_are_refused_locally() {
    let lacking = r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}"#;
    for policy in
        [mcp_sansio::config::CapabilityPolicy::Strict, mcp_sansio::config::CapabilityPolicy::Off]
    {
        let mut config = modern();
        config.connection.capability_policy = policy;
        let mut side = begun(config);
        side.sent();
        assert!(matches!(side.receive(&result(1, lacking)), Some(ClientEvent::Connected(_))));
        let (options, now) = (CallOptions::new(), side.now);
        let made = side.client.call_method("prompts/list", &(), options, now, &mut side.out);
        if policy == mcp_sansio::config::CapabilityPolicy::Strict {
            let refused = CallError::NotAllowed(NotAllowed::Capability(Capability::Prompts));
            assert_eq!(made, Err(refused));
            is_alive(&mut side);
        } else {
            assert!(made.is_ok());
            assert_eq!(side.sent(), [asked(2, "prompts/list", "")]);
        }
    }
}

/// Proves M-ERA-33, M-ERA-32, M-ERA-28: calls wait, in order, until the era is known, and are sent in the form of
/// that era, with ids from one source.
#[test]
fn calls_wait_for_the_era_and_take_its_shape() {
    for is_modern in [true, false] {
        let mut side = ClientSide::with(config::client_of_both_eras());
        let first = side.call("tools/list");
        side.client.connect(side.now, &mut side.out).unwrap();
        let second = side.call("tools/call");
        assert_eq!(side.sent(), [asked(2, "server/discover", "")]);
        let name = r#""name":"n""#;
        if is_modern {
            let event = side.receive(&result(2, DISCOVERY));
            assert!(matches!(event, Some(ClientEvent::Connected(_))), "{event:?}");
            assert_eq!(side.sent(), [asked(1, "tools/list", ""), asked(3, "tools/call", name)]);
        } else {
            assert_eq!(side.receive(&error(2, -32601, "")), None);
            assert_eq!(side.sent(), [initialize(4, "2025-11-25")]);
            let event = side.receive(&result(4, SESSION));
            assert!(matches!(event, Some(ClientEvent::Connected(_))), "{event:?}");
            let plain = [
                INITIALIZED.to_owned(),
                r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#.to_owned(),
                format!(r#"{{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{{{name}}}}}"#),
            ];
            assert_eq!(side.sent(), plain);
        }
        assert!(side.client.in_flight().calls().eq([first, second]));
        assert!(
            matches!(ended(side.receive(&result(1, r#"{"tools":[]}"#))), (call, Outcome::Result(_)) if call == first)
        );
        assert!(
            matches!(ended(side.receive(&result(3, r#"{"content":[]}"#))), (call, Outcome::Result(_)) if call == second)
        );
    }
}

/// Proves M-ERA-33: the calls that wait are limited, and a further call is an error that changes nothing.
#[test]
fn calls_waiting_for_the_era_are_bounded() {
    let mut config = config::client_of_both_eras();
    config.connection.limits.held_bytes = 100;
    let mut side = begun(config);
    side.sent();
    side.call("tools/call");
    let (options, now, params) = (CallOptions::new(), side.now, payload::params("tools/call"));
    let refused = side.client.call_method("tools/call", &params, options, now, &mut side.out);
    assert!(matches!(refused, Err(CallError::Encode(_))), "{refused:?}");
    assert_eq!(side.client.in_flight().counts().outbound, 2);
    absorb(side.receive(&result(1, DISCOVERY)));
    assert_eq!(side.sent(), [asked(2, "tools/call", r#""name":"n""#)]);
}

/// Proves M-ERA-33: a waiting call that the era does not support ends with an error and is not sent.
#[test]
fn a_call_that_the_era_does_not_have_is_not_made() {
    let table = [
        ("resources/subscribe", true, NotAllowed::Revision),
        ("resources/unsubscribe", true, NotAllowed::Revision),
        ("logging/setLevel", true, NotAllowed::Revision),
        ("server/discover", false, NotAllowed::Revision),
    ];
    for (method, is_modern, why) in table {
        let mut side = begun(config::client_of_both_eras());
        side.sent();
        let call = side.call(method);
        assert_eq!(side.sent(), [""; 0], "{method} waits");
        let sent = if is_modern {
            absorb(side.receive(&result(1, DISCOVERY)));
            0
        } else {
            side.receive(&error(1, -32601, ""));
            side.sent();
            absorb(side.receive(&result(3, SESSION)));
            1
        };
        assert_eq!(side.sent().len(), sent, "{method}");
        let (ended, outcome) = ended(only(side.outcomes()));
        assert_eq!(ended, call);
        assert_eq!(outcome, Outcome::CallError(CallError::NotAllowed(why)), "{method}");
    }
}

/// No message precedes the probe, and no legacy message is sent before the legacy era is known.
/// Proves M-ERA-12, M-ERA-26, M-ERA-33.
#[test]
fn a_ping_waits_for_the_era() {
    for before in [true, false] {
        let mut side = ClientSide::with(config::client_of_both_eras());
        let mut call = None;
        if before {
            call = Some(side.call("ping"));
            assert_eq!(side.sent(), [""; 0]);
        }
        side.client.connect(side.now, &mut side.out).unwrap();
        let call = call.unwrap_or_else(|| side.call("ping"));
        let id = if before { 2 } else { 1 };
        assert_eq!(side.sent(), [asked(id, "server/discover", "")]);
        absorb(side.receive(&result(id, DISCOVERY)));
        assert_eq!(side.sent(), [""; 0]);
        let not_made = Outcome::CallError(CallError::NotAllowed(NotAllowed::Revision));
        assert_eq!(ended(only(side.outcomes())), (call, not_made));
    }
}

/// Proves M-ERA-26, M-ROOT-02, M-PROG-10, M-RPC-15, M-ERA-28: no legacy message is sent in the modern era.
#[test]
fn nothing_of_sessions_is_sent_without_one() {
    let mut side = connected();
    let requests = ["ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"];
    for method in requests.into_iter().chain(["tasks/list", "tasks/result"]) {
        let (options, now, params) = (CallOptions::new(), side.now, payload::params(method));
        let made = side.client.call_method(method, &params, options, now, &mut side.out);
        assert_eq!(made, Err(CallError::NotAllowed(NotAllowed::Revision)), "{method}");
        is_alive(&mut side);
    }
    let (options, now) = (CallOptions::new(), side.now);
    let made = side.client.call_method("initialize", &(), options, now, &mut side.out);
    assert_eq!(made, Err(CallError::Reserved));
    for method in
        ["notifications/roots/list_changed", "notifications/initialized", "notifications/progress"]
    {
        let delivered = side.client.notify_method(method, &(), None, &mut side.out);
        assert!(delivered.is_err(), "{method}: {delivered:?}");
        is_alive(&mut side);
    }
    // The machine does not send a `ping` either.
    let mut config = modern();
    config.connection.keep_alive =
        Some(mcp_sansio::config::KeepAlive::every(std::time::Duration::from_secs(1)));
    let mut side = connected_with(config);
    side.client.on_bytes_received(side.now);
    assert_eq!(side.elapse(3_600_000), []);
    is_alive(&mut side);
}

/// Proves M-ERA-27: no modern message is sent in a session.
#[test]
fn nothing_of_the_stateless_era_is_sent_in_a_session() {
    let mut config = config::client_of_both_eras();
    config.log_level = Some(mcp_sansio::model::LoggingLevel::Debug);
    config.listen = Some(mcp_sansio::model::SubscriptionFilter::new().with_tools());
    let mut side = begun(config);
    side.sent();
    side.receive(&error(1, -32601, ""));
    assert_eq!(side.sent(), [initialize(2, "2025-11-25")]);
    absorb(side.receive(&result(2, SESSION)));
    assert_eq!(side.sent(), [INITIALIZED]);
    for method in ["server/discover", "subscriptions/listen"] {
        let (options, now) = (CallOptions::new(), side.now);
        let params = serde_json::json!({"notifications": {}});
        let made = side.client.call_method(method, &params, options, now, &mut side.out);
        assert_eq!(made, Err(CallError::NotAllowed(NotAllowed::Revision)), "{method}");
    }
    // Notifications that a session sends anyway need no request.
    let filter = mcp_sansio::model::SubscriptionFilter::new().with_tools();
    side.client.subscribe(&filter, side.now, &mut side.out).unwrap();
    assert_eq!(side.sent(), [""; 0]);
    let options = CallOptions::new()
        .log_level(mcp_sansio::model::LoggingLevel::Info)
        .capabilities(CapabilitySet::NONE)
        .progress();
    let params = payload::params("tools/call");
    side.client.call_method("tools/call", &params, options, side.now, &mut side.out).unwrap();
    let plain = r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"n","_meta":{"progressToken":5}}}"#;
    assert_eq!(side.sent(), [plain]);
}

/// A configuration that the revision cannot express is an error of the caller, in each era. Nothing is sent.
#[test]
fn a_client_that_cannot_be_described_does_not_connect() {
    let extension = mcp_sansio::json::Raw::new("true").unwrap();
    let theme = IconTheme::Other("grey".into());
    for config in [modern(), config::client_of_both_eras()] {
        let (mut settings, mut info) = (config.clone(), config);
        settings.capabilities =
            settings.capabilities.with_extension("com.example/x", extension.clone());
        info.info.icons = Some(vec![Icon::new("data:,").theme(theme.clone())]);
        for (config, path) in [(settings, "extensions.com.example/x"), (info, "icons[0].theme")] {
            let mut side = ClientSide::with(config);
            let connected = side.client.connect(side.now, &mut side.out);
            let Err(ConnectError::Encode(EncodeError::Misfit(misfit))) = connected else {
                panic!("{connected:?}");
            };
            assert_eq!(misfit.path(), path);
            assert_eq!((side.sent().len(), side.client.phase()), (0, Phase::Opening));
        }
    }
}

/// Proves M-DISC-07, M-DISC-16, M-DISC-18: in a list of versions in any order, with unknown entries, only the known
/// version counts.
#[test]
fn the_order_of_the_servers_list_does_not_matter() {
    let lists = [
        r#""2024-11-05","2025-11-25","2026-07-28""#,
        r#""2026-07-28","2025-11-25","2024-11-05""#,
        r#""9999-01-01","2026-07-28","v999""#,
        r#""2026-07-28-beta","2026-07-28""#,
        r#""2026\u002d07-28""#,
    ];
    for list in lists {
        let mut side = begun(config::client_of_both_eras());
        side.sent();
        let discovery = format!(r#"{{"supportedVersions":[{list}],"capabilities":{{}}}}"#);
        let event = side.receive(&result(1, &discovery));
        let Some(ClientEvent::Connected(connected)) = event else { panic!("{list}: {event:?}") };
        assert_eq!(connected.revision, Revision::V2026_07_28, "{list}");
        assert_eq!(connected.result.as_json(), discovery, "{list}");
        assert_eq!(side.client.basis(), Some(NegotiationBasis::Discovered));
    }
    for list in [r#""2026-07-28-beta""#, r#""v999""#, r#""9999-01-01""#, r#"" 2026-07-28""#, ""] {
        let mut side = begun(modern());
        side.sent();
        let discovery = format!(r#"{{"supportedVersions":[{list}],"capabilities":{{}}}}"#);
        let event = side.receive(&result(1, &discovery));
        let Some(ClientEvent::ConnectFailed(ConnectFailure::NoCommonRevision { theirs, ours })) =
            event
        else {
            panic!("{list}: {event:?}");
        };
        assert_eq!((theirs.as_json(), ours), (&*format!("[{list}]"), RevisionSet::MODERN));
        assert_eq!(side.sent(), [""; 0]);
        assert_eq!(side.client.phase(), Phase::Closed);
    }
}

/// Proves M-META-17, M-META-16, M-AMB-34: the server information has no influence.
#[test]
fn server_info_does_not_affect_the_client() {
    let rest = r#""supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}"#;
    for odd in [
        r#""serverInfo":{"name":"s","version":"1"}"#,
        r#""_meta":{"io.modelcontextprotocol/serverInfo":3}"#,
        r#""_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}}"#,
    ] {
        let mut side = begun(modern());
        side.sent();
        let discovery = format!(r#"{{"resultType":"complete",{rest},{odd}}}"#);
        let event = side.receive(&result(1, &discovery));
        let Some(ClientEvent::Connected(connected)) = event else { panic!("{odd}: {event:?}") };
        assert_eq!(connected.result.as_json(), discovery);
        is_alive(&mut side);
    }
}

/// The required capabilities are compared with the capabilities of the server.
#[test]
fn connecting_fails_without_required_capabilities() {
    let mut config = modern();
    config.required = [Capability::Prompts, Capability::Tools].into_iter().collect();
    let mut side = begun(config);
    side.sent();
    let discovery = r#"{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}"#;
    let event = side.receive(&result(1, discovery));
    let missing = CapabilitySet::NONE.with(Capability::Prompts);
    let failure = ConnectFailure::MissingCapabilities(missing);
    assert_eq!(event, Some(ClientEvent::ConnectFailed(failure)));
    assert_eq!(side.sent(), [""; 0]);
}

/// A server that lacks a required capability is not probed again, although its refusal of the probe was weak evidence.
#[test]
fn a_missing_capability_ends_the_negotiation() {
    let mut config = config::client_of_both_eras();
    config.required = CapabilitySet::NONE.with(Capability::Logging);
    let mut side = begun(config);
    side.sent();
    assert_eq!(side.receive(&error(1, -32022, "")), None);
    assert_eq!(side.sent(), [initialize(2, "2025-11-25")]);
    let event = side.receive(&result(2, SESSION));
    let missing = CapabilitySet::NONE.with(Capability::Logging);
    let failure = ConnectFailure::MissingCapabilities(missing);
    assert_eq!(event, Some(ClientEvent::ConnectFailed(failure)));
    assert_eq!((side.sent(), side.client.phase()), (vec![], Phase::Closed));
}
