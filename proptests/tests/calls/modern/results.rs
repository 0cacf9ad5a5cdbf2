//! Results, and their treatment by the client.

use mcp_sansio::config::Relay;
use mcp_sansio::error::ViolationKind;
use mcp_sansio::model::LoggingLevel;
use mcp_sansio::{ClientEvent, Outcome, Revision};
use mcp_sansio_proptests::{ClientSide, config};

use super::kit::{
    SUPPORTED, absorb, complete, connected, connected_with, ended, error, is_alive, malformed,
    modern, only, result, violation,
};

const METHODS: [&str; 9] = [
    "tools/list",
    "tools/call",
    "prompts/list",
    "prompts/get",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "completion/complete",
    "server/discover",
];

/// Proves M-RES-03, M-RES-04, M-RES-07: an unknown kind of result is invalid, for any method.
/// Pain 73.
#[test]
fn a_strange_kind_of_result_is_none() {
    for method in METHODS {
        for kind in [
            r#""later""#,
            r#""task""#,
            r#""Complete""#,
            r#""""#,
            "1",
            "null",
            "true",
            "{}",
            r#"["complete"]"#,
        ] {
            let mut side = connected();
            let call = side.call(method);
            side.sent();
            let answer = result(
                2,
                &format!(r#"{{"resultType":{kind},"tools":[],"content":[],"taskId":"t"}}"#),
            );
            let event = side.receive(&answer);
            assert_eq!(malformed(event), (call, ViolationKind::InvalidResult), "{method} {kind}");
            is_alive(&mut side);
        }
    }
}

/// Proves M-RES-05, M-RES-06, M-AMB-02: a result without a kind is complete, whichever members it has, and a
/// violation is reported.
#[test]
fn a_result_that_does_not_say_its_kind_is_complete() {
    for method in METHODS {
        for rest in [
            "",
            r#""requestState":"s""#,
            r#""inputRequests":{"a":{"method":"roots/list"}},"requestState":"s""#,
        ] {
            let mut side = connected();
            let call = side.call(method);
            side.sent();
            let text = format!("{{{rest}}}");
            assert_eq!(complete(side.receive(&result(2, &text))), (call, text), "{method}");
            assert_eq!(side.sent(), [""; 0]);
            assert_eq!(violation(only(side.outcomes())), ViolationKind::NoResultType);
            is_alive(&mut side);
        }
    }
}

/// Proves M-RES-05, M-RES-10: in a session these members have no meaning.
#[test]
fn in_a_session_a_result_has_no_kind() {
    for text in [
        r#"{"tools":[]}"#,
        r#"{"tools":[],"resultType":"later","ttlMs":-5,"cacheScope":7}"#,
        r#"{"tools":[],"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"}}}"#,
        r#"{"tools":[],"resultType":1}"#,
    ] {
        let mut side = ClientSide::ready(Revision::V2025_11_25);
        let call = side.call("tools/list");
        side.sent();
        assert_eq!(complete(side.receive(&result(2, text))), (call, text.to_owned()));
        assert_eq!((side.outcomes(), side.sent()), (vec![], vec![]));
    }
}

/// Proves M-RES-12, M-SUB-33: only three methods may require input.
#[test]
fn only_three_methods_may_need_input() {
    let interim = r#"{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"}},"requestState":"s"}"#;
    for method in METHODS {
        let mut side = connected();
        let call = side.call(method);
        side.sent();
        let event = side.receive(&result(2, interim));
        if matches!(method, "tools/call" | "prompts/get" | "resources/read") {
            assert!(matches!(event, Some(ClientEvent::Request(_))), "{method}: {event:?}");
            assert!(side.client.in_flight().is_pending(call));
        } else {
            assert_eq!(malformed(event), (call, ViolationKind::InvalidResult), "{method}");
            assert_eq!(side.client.in_flight().counts().inbound, 0);
            is_alive(&mut side);
        }
    }
}

/// Proves M-RPC-19: unknown members of a result reach the application unchanged.
#[test]
fn unknown_members_of_a_result_are_preserved() {
    let text = r#"{"resultType":"complete","tools":[{"name":"t","inputSchema":{},"x":1}],"x":{"y":[null]},"_meta":{"io.modelcontextprotocol/serverInfo":7,"a/b":1}}"#;
    let mut side = connected();
    let call = side.call("tools/list");
    side.sent();
    let answer = format!(r#"{{"jsonrpc":"2.0","id":2,"more":1,"result":{text}}}"#);
    assert_eq!(complete(side.receive(&answer)), (call, text.to_owned()));
    is_alive(&mut side);
}

/// Proves M-RPC-12, M-RPC-23: a response has either a result or an error, and an error has a code and a message.
#[test]
fn a_broken_response_ends_its_call() {
    for rest in [
        r#""result":{},"error":{"code":1,"message":"m"}"#,
        r#""x":1"#,
        r#""result":7"#,
        r#""result":[]"#,
        r#""result":null"#,
        r#""error":{"code":1.5,"message":"m"}"#,
        r#""error":{"message":"m"}"#,
        r#""error":{"code":"1","message":"m"}"#,
        r#""error":7"#,
    ] {
        let mut side = connected();
        let (call, other) = (side.call("tools/list"), side.call("tools/list"));
        side.sent();
        let answer = format!(r#"{{"jsonrpc":"2.0","id":2,{rest}}}"#);
        let (ended, kind) = malformed(side.receive(&answer));
        let is_neither = rest.starts_with(r#""x""#);
        let expected =
            if is_neither { ViolationKind::NotAMessage } else { ViolationKind::MalformedResponse };
        assert_eq!((ended, kind), (call, expected), "{rest}");
        assert!(side.client.in_flight().is_pending(other));
        is_alive(&mut side);
    }
}

/// Proves M-ERR-18, M-ERR-04, M-ERR-06, M-ERR-08, M-CAP-15, M-RSRC-02: an error of the peer is handed on unchanged,
/// whichever meaning its code has elsewhere.
#[test]
fn any_error_of_the_peer_is_handed_on() {
    let data = r#","data":{"elicitations":[{"mode":"url","elicitationId":"e","url":"https://x.test","message":"m"}],"uri":"x:y","requiredCapabilities":{"roots":{}}}"#;
    for code in [
        -32700,
        -32600,
        -32601,
        -32602,
        -32603,
        -32000,
        -32001,
        -32002,
        -32003,
        -32004,
        -32019,
        -32020,
        -32021,
        -32023,
        -32042,
        -32077,
        -32099,
        -1,
        0,
        7,
        9_007_199_254_740_993,
    ] {
        for method in ["resources/read", "tools/call"] {
            let mut side = connected();
            let call = side.call(method);
            side.sent();
            let (ended, outcome) = ended(side.receive(&error(2, code, data)));
            let Outcome::PeerError(error) = outcome else { panic!("{outcome:?}") };
            assert_eq!((ended, error.code.get()), (call, code));
            assert!(error.message == "m");
            assert_eq!(error.data.unwrap().as_json(), &data[8..]);
            // The error leaves no state: no completion is expected.
            let completion = r#"{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"e"}}"#;
            assert!(!matches!(side.receive(completion), Some(ClientEvent::Notification(_))));
            side.outcomes();
            is_alive(&mut side);
        }
    }
}

/// A kind of result that only an extension defines reaches an application that supports the extension, if the
/// method is not one of MCP or the gateway does not check results.
#[test]
fn a_relayed_result_is_not_looked_at() {
    let text = r#"{"resultType":"later"}"#;
    let mut side = connected();
    let call = side.call("x.example/own");
    side.sent();
    assert_eq!(complete(side.receive(&result(2, text))), (call, text.to_owned()));
    let mut config = modern();
    config.connection.relay = Relay::Everything;
    let mut side = connected_with(config);
    let call = side.call("tools/call");
    side.sent();
    let interim = r#"{"resultType":"input_required","requestState":"s"}"#;
    assert_eq!(complete(side.receive(&result(2, interim))), (call, interim.to_owned()));
    assert_eq!(side.outcomes(), []);
}

/// Proves M-META-16: the server information in a result has no influence.
#[test]
fn server_info_in_a_result_does_not_matter() {
    for meta in [
        "{}",
        r#"{"io.modelcontextprotocol/serverInfo":3}"#,
        r#"{"io.modelcontextprotocol/serverInfo":null}"#,
        "7",
        "null",
    ] {
        let mut side = connected();
        let call = side.call("tools/list");
        side.sent();
        let text = format!(r#"{{"resultType":"complete","tools":[],"_meta":{meta}}}"#);
        assert_eq!(complete(side.receive(&result(2, &text))), (call, text));
        is_alive(&mut side);
    }
}

/// Proves M-META-15: the same inputs with other names give the same outputs except for the names.
#[test]
fn names_do_not_matter() {
    let run = |name: &str| {
        let mut config = config::client_of_both_eras();
        config.info = mcp_sansio::model::Implementation::new(name.to_owned(), "1");
        config.log_level = Some(LoggingLevel::Info);
        let mut side = super::kit::begun(config);
        let mut sent = side.sent();
        let discovery = super::kit::DISCOVERY.replace(r#""ttlMs""#, &format!(r#""_meta":{{"io.modelcontextprotocol/serverInfo":{{"name":"{name}","version":"9"}}}},"ttlMs""#));
        absorb(side.receive(&result(1, &discovery)));
        side.call("tools/call");
        sent.extend(side.sent());
        side.receive(&result(2, r#"{"resultType":"input_required","requestState":"s"}"#));
        side.elapse(50);
        sent.extend(side.sent());
        sent
    };
    let renamed: Vec<_> =
        run("a").into_iter().map(|sent| sent.replace(r#""name":"a""#, r#""name":"zz""#)).collect();
    assert_eq!(renamed, run("zz"));
    assert_eq!(renamed.len(), 3);
}

/// Only the error for an unsupported version is a reason to make a call again in a version that its data names.
#[test]
fn no_other_error_repeats_a_call() {
    for code in [-32601, -32602, -32021, 7] {
        let mut side = connected();
        let call = side.call("tools/list");
        side.sent();
        let (id, outcome) = ended(side.receive(&error(2, code, SUPPORTED)));
        assert!(matches!(outcome, Outcome::PeerError(error) if error.code.get() == code), "{code}");
        assert_eq!(id, call);
        is_alive(&mut side);
    }
}
