//! The rules that apply to a message: the decision table of servers of both eras, row by row.

use mcp_sansio::config::RepliesWithoutId;
use mcp_sansio::error::ViolationKind;
use mcp_sansio::{Frames, Revision, RevisionSet, ServerEvent};
use mcp_sansio_proptests::{ServerSide, config};

use crate::modern::kit::*;

/// The state of the server when a message arrives.
#[derive(Clone, Copy, Debug, PartialEq)]
enum World {
    /// Both eras, no message so far.
    Fresh,
    /// Both eras, and a session of 2025-11-25.
    Session,
    /// Modern era only.
    OnlyModern,
    /// Legacy era only, without a session.
    OnlySessions,
    /// Legacy era only, with a session.
    OnlySession,
}

const WORLDS: [World; 5] =
    [World::Fresh, World::Session, World::OnlyModern, World::OnlySessions, World::OnlySession];

impl World {
    fn build(self) -> ServerSide {
        let mut config = config::server_of_both_eras();
        config.connection.replies_without_id =
            Some(RepliesWithoutId::at_most(9, std::time::Duration::from_secs(1)));
        config.revisions = match self {
            Self::Fresh | Self::Session => RevisionSet::ALL,
            Self::OnlyModern => RevisionSet::MODERN,
            Self::OnlySessions | Self::OnlySession => RevisionSet::LEGACY,
        };
        match self {
            Self::Session | Self::OnlySession => {
                ServerSide::ready_with(config, Revision::V2025_11_25)
            }
            _ => ServerSide::with(config),
        }
    }

    /// Asserts that a valid request reaches the application.
    #[track_caller]
    fn lives(self, side: &mut ServerSide) {
        let frame = match self {
            Self::OnlySessions if side.server.revision().is_none() => return,
            Self::OnlySessions | Self::OnlySession => of_session("7", "x/own", ""),
            _ => modern_request("7", "x/own", ""),
        };
        side.request(&frame);
        assert_eq!(side.sent(), [""; 0]);
    }
}

/// The effect of a message.
#[derive(Clone, Debug, PartialEq)]
enum Fate {
    /// The application receives a modern request.
    Stateless,
    /// The application receives a request of the session.
    InSession,
    /// A session is opened.
    Opened,
    /// The machine answers by itself, without an event.
    Answered(String),
    /// The message is refused, and the client gets an error.
    Refused(ViolationKind, String),
    /// The message is refused without a reply.
    Ignored(ViolationKind),
    /// The application receives a notification.
    Notified,
    /// The response matches no request.
    UnmatchedResponse,
    /// No effect.
    Nothing,
}

fn fate(side: &mut ServerSide, text: &str) -> Fate {
    let limits = side.server.config().connection.limits.clone();
    let mut events = Vec::new();
    for frame in Frames::of(text.as_bytes(), &limits) {
        let event = side.server.receive(frame, side.now, &mut side.out);
        events.extend(event.map(ServerEvent::into_owned));
    }
    let mut sent = side.sent();
    assert!(events.len() < 2 && sent.len() < 2, "{events:?} {sent:?}");
    match (events.pop(), sent.pop()) {
        (None, None) => Fate::Nothing,
        (None, Some(sent)) => Fate::Answered(sent),
        (Some(ServerEvent::Request(request)), None) => {
            let stateless = request.context.revision == Revision::V2026_07_28;
            if stateless { Fate::Stateless } else { Fate::InSession }
        }
        (Some(ServerEvent::Opened(opened)), Some(_)) => {
            assert_eq!(opened.revision, Revision::V2025_11_25);
            Fate::Opened
        }
        (Some(ServerEvent::Violation(violation)), sent) => {
            assert_eq!(violation.answered, sent.is_some());
            match sent {
                Some(sent) => Fate::Refused(violation.kind, sent),
                None => Fate::Ignored(violation.kind),
            }
        }
        (Some(ServerEvent::Notification(_)), None) => Fate::Notified,
        (Some(ServerEvent::UnmatchedResponse(_)), None) => Fate::UnmatchedResponse,
        other => panic!("{other:?}"),
    }
}

fn no_method() -> Fate {
    Fate::Refused(ViolationKind::MethodNotAvailable, unavailable("1"))
}

fn unknown_method() -> Fate {
    Fate::Refused(ViolationKind::UnknownMethod, error("1", -32601, "method not found"))
}

fn no_session() -> Fate {
    let text = "the session is not initialized";
    Fate::Refused(ViolationKind::NotInitialized, error("1", -32600, text))
}

fn second_session() -> Fate {
    let text = "the session is initialized already";
    Fate::Refused(ViolationKind::AlreadyInitialized, error("1", -32600, text))
}

fn unclaimed() -> Fate {
    Fate::Refused(ViolationKind::NoRequestMeta, no_request_meta("1"))
}

fn unsupported(requested: &str) -> Fate {
    Fate::Refused(ViolationKind::UnsupportedRevision, other_version("1", requested))
}

fn malformed(what: &str) -> Fate {
    let text = format!("malformed _meta: io.modelcontextprotocol/{what}");
    let text = match what {
        "clientCapabilities" => format!("{text} is missing"),
        _ => format!("{text} has the wrong type"),
    };
    Fate::Refused(ViolationKind::MalformedRequestMeta, error("1", -32602, &text))
}

fn no_batch(id: &str) -> Fate {
    let text = error(id, -32600, "this revision has no batches");
    Fate::Refused(ViolationKind::BatchNotAllowed, text.replace(r#""id":none,"#, ""))
}

const V: &str = "io.modelcontextprotocol/protocolVersion";

/// An `initialize` request with a member in `_meta`.
fn initialize_with(meta: &str) -> String {
    let members = r#""protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}"#;
    with_meta("1", "initialize", meta, members)
}

/// A row of the table: its name, the message, and the effect in each world.
type Row = (&'static str, String, [Fate; 5]);

/// Rows 1 to 3 and 16: requests with a claim.
fn claiming() -> Vec<Row> {
    let only_version = format!(r#""{V}":"2026-07-28""#);
    let not_text = format!(r#""{V}":7,"io.modelcontextprotocol/clientCapabilities":{{}}"#);
    let taken =
        |late: Fate| [Fate::Stateless, Fate::Stateless, Fate::Stateless, late, Fate::InSession];
    let refused = |fate: Fate| [fate.clone(), fate.clone(), fate, no_session(), Fate::InSession];
    let mut rows = vec![
        ("1", modern_request("1", "tools/list", ""), taken(no_session())),
        ("1, own method", modern_request("1", "x/own", ""), taken(unknown_method())),
        (
            "3, a key missing",
            with_meta("1", "tools/list", &only_version, ""),
            refused(malformed("clientCapabilities")),
        ),
        (
            "3, no text",
            with_meta("1", "tools/list", &not_text, ""),
            refused(malformed("protocolVersion")),
        ),
    ];
    let versions = ["1.0", "2099-01-01", "2026-07-28-beta", "v999", "", "2025-11-25", "2024-11-05"];
    for version in versions {
        let frame = of_version("1", "tools/list", version, "{}", "");
        rows.push(("2 or 16", frame, refused(unsupported(version))));
    }
    rows
}

/// Rows 4 to 6 and 18: `initialize`.
fn opening() -> Vec<Row> {
    let sound = format!(r#""{V}":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}"#);
    let opens =
        |refusal: Fate| [Fate::Opened, second_session(), refusal, Fate::Opened, second_session()];
    let mut rows = vec![
        ("4", initialize("1", "2025-11-25"), opens(unsupported("2025-11-25"))),
        (
            "4, a version without sessions",
            initialize("1", "2026-07-28"),
            opens(unsupported("2026-07-28")),
        ),
        (
            "5",
            initialize_with(&sound),
            [no_method(), no_method(), no_method(), Fate::Opened, second_session()],
        ),
    ];
    for (meta, named) in [
        (format!(r#""{V}":"x""#), "2025-11-25"),
        (format!(r#""{V}":"2026-07-28""#), "2025-11-25"),
        (format!(r#""{V}":7"#), "2025-11-25"),
        (format!(r#""{V}":"x","io.modelcontextprotocol/clientCapabilities":{{}}"#), "x"),
        (
            format!(r#""{V}":"2025-11-25","io.modelcontextprotocol/clientCapabilities":{{}}"#),
            "2025-11-25",
        ),
    ] {
        rows.push(("6", initialize_with(&meta), opens(unsupported(named))));
    }
    rows
}

/// Rows 7 to 9: requests without a claim.
fn silent() -> Vec<Row> {
    let pong = || Fate::Answered(plain("1", ""));
    vec![
        ("7", of_session("1", "ping", ""), [pong(), pong(), unclaimed(), pong(), pong()]),
        (
            "8",
            of_session("1", "tools/list", ""),
            [unclaimed(), Fate::InSession, unclaimed(), no_session(), Fate::InSession],
        ),
        (
            "8, without params",
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#.into(),
            [unclaimed(), Fate::InSession, unclaimed(), no_session(), Fate::InSession],
        ),
        (
            "8, own method",
            of_session("1", "x/own", ""),
            [unclaimed(), Fate::InSession, unclaimed(), unknown_method(), Fate::InSession],
        ),
        (
            "8, other keys of _meta only",
            with_meta("1", "tools/list", r#""io.modelcontextprotocol/clientCapabilities":{}"#, ""),
            [unclaimed(), Fate::InSession, unclaimed(), no_session(), Fate::InSession],
        ),
        (
            "9",
            of_session("1", "server/discover", ""),
            [unclaimed(), no_method(), unclaimed(), unknown_method(), no_method()],
        ),
        (
            "9, of a listen",
            of_session("1", "subscriptions/listen", r#""notifications":{}"#),
            [unclaimed(), no_method(), unclaimed(), unknown_method(), no_method()],
        ),
    ]
}

/// Rows 10 to 15: all messages that are no requests.
fn others() -> Vec<Row> {
    let unexpected = || Fate::Ignored(ViolationKind::UnexpectedNotification);
    let note = |method: &str| format!(r#"{{"jsonrpc":"2.0","method":"{method}"}}"#);
    let batch = format!("[{}]", modern_request("1", "tools/list", ""));
    let text = r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"the line is not JSON"}}"#;
    // A session of the latest revision permits an error without an id, and so does a server without a session.
    let unparsable = || Fate::Refused(ViolationKind::NotJson, text.into());
    let delivered =
        |fresh: Fate| [fresh.clone(), Fate::Notified, fresh.clone(), fresh, Fate::Notified];
    vec![
        (
            "10",
            note("notifications/initialized"),
            [unexpected(), Fate::Nothing, unexpected(), unexpected(), Fate::Nothing],
        ),
        ("11, of nothing", cancel("5"), [(); 5].map(|()| Fate::Nothing)),
        ("12", note("notifications/roots/list_changed"), delivered(unexpected())),
        ("12, own method", note("notifications/x"), delivered(unexpected())),
        ("13", plain("5", ""), [(); 5].map(|()| Fate::UnmatchedResponse)),
        (
            "14",
            batch,
            [no_batch("1"), no_batch("none"), no_batch("1"), no_batch("1"), no_batch("none")],
        ),
        ("15", "hello".into(), [(); 5].map(|()| unparsable())),
    ]
}

/// Proves M-ARCH-03, M-ERA-02, M-ERA-03, M-ERA-04, M-ERA-05, M-ERA-06, M-ERA-30, M-ERA-35, M-ERA-36, M-DISC-09,
/// M-DISC-10, M-DISC-11, M-DISC-18, M-DISC-21, M-RPC-17, M-RPC-18, M-AMB-05, M-AMB-06, M-AMB-42, M-AMB-48,
/// M-AMB-51: every row of the decision table, in every world.
#[test]
fn every_message_is_under_the_rules_that_it_names() {
    let rows = [claiming(), opening(), silent(), others()].concat();
    assert_eq!(rows.len(), 33);
    for (name, frame, fates) in rows {
        for (world, expected) in WORLDS.into_iter().zip(fates) {
            let mut side = world.build();
            assert_eq!(fate(&mut side, &frame), expected, "row {name} in {world:?}: {frame}");
            world.lives(&mut side);
        }
    }
}

/// Proves M-DISC-09: the method of a request is not looked at while its version is unknown.
#[test]
fn an_unknown_version_comes_before_everything_that_is_asked() {
    let mut side = server();
    let methods = ["server/discover", "foo/bar", "tools/call", "subscriptions/listen", "ping"];
    for method in methods.into_iter().chain(METHODS.map(|(method, ..)| method)) {
        let frame = of_version("1", method, "2099-01-01", "{}", "");
        let sent = other_version("1", "2099-01-01");
        refused(&mut side, &frame, ViolationKind::UnsupportedRevision, &sent);
    }
}

/// Proves M-ERR-19: of several faults in a request, the first one is reported.
#[test]
fn only_the_first_fault_of_a_request_is_reported() {
    const VALID: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}"#;
    let no_capabilities = format!(r#""{V}":"x""#);
    let version = "Unsupported protocol version";
    let mut side = server_with(|config| config.capabilities.prompts = None);
    // Each line has all faults of the lines below it, and one more.
    let ladder = [
        (
            r#"{"jsonrpc":"1.0","id":1,"method":"prompts/get","params":{"_meta":"\x"}}"#.to_owned(),
            -32700,
            "a string holds a raw control character or a wrong escape",
        ),
        (
            with_meta("1", "prompts/get", &no_capabilities, "").replace("2.0", "1.0"),
            -32600,
            r#"jsonrpc must be \"2.0\""#,
        ),
        (
            with_meta("1", "prompts/get", &no_capabilities, ""),
            -32602,
            "malformed _meta: io.modelcontextprotocol/clientCapabilities is missing",
        ),
        (of_version("1", "prompts/get", "x", "{}", ""), -32022, version),
        (with_meta("1", "prompts/get", VALID, ""), -32601, "method not available in this session"),
        (with_meta("1", "tools/call", VALID, ""), -32602, "invalid params: name is missing"),
    ];
    for (frame, code, message) in ladder {
        assert!(side.receive(&frame).is_some());
        match (code, side.sent().as_slice()) {
            (-32022, sent) => assert_eq!(sent, [other_version("1", "x")]),
            (_, sent) => assert_eq!(sent, [error("1", code, message)], "{frame}"),
        }
        lives(&mut side);
    }
}

/// Proves M-ERR-13, M-ERR-14, M-RPC-24: required members that are missing or have a wrong type.
#[test]
fn a_modern_request_needs_version_and_capabilities_in_meta() {
    let own = |meta: &str| with_meta("1", "tools/list", meta, "");
    let capabilities = |value: &str| of_version("1", "tools/list", "2026-07-28", value, "");
    let wrong = "malformed _meta: io.modelcontextprotocol/clientCapabilities has the wrong type";
    let lacks = "malformed _meta: io.modelcontextprotocol/clientCapabilities is missing";
    let version = "malformed _meta: io.modelcontextprotocol/protocolVersion has the wrong type";
    let mut side = server();
    for frame in [
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#.to_owned(),
        of_session("1", "tools/list", ""),
        of_session("1", "tools/list", r#""_meta":{}"#),
        of_session("1", "tools/list", r#""_meta":7"#),
        of_session("1", "tools/list", r#""_meta":null"#),
        of_session("1", "tools/list", r#""_meta":[]"#),
        own(r#""io.modelcontextprotocol/clientCapabilities":{}"#),
    ] {
        refused(&mut side, &frame, ViolationKind::NoRequestMeta, &no_request_meta("1"));
    }
    for (frame, text) in [
        (own(&format!(r#""{V}":"2026-07-28""#)), lacks),
        (capabilities("null"), wrong),
        (capabilities("[]"), wrong),
        (capabilities("true"), wrong),
        (capabilities(r#""{}""#), wrong),
        (capabilities("{}").replace(r#""2026-07-28""#, "7"), version),
        (capabilities("{}").replace(r#""2026-07-28""#, "null"), version),
        (capabilities("{}").replace(r#""2026-07-28""#, "{}"), version),
    ] {
        let sent = error("1", -32602, text);
        refused(&mut side, &frame, ViolationKind::MalformedRequestMeta, &sent);
    }
    let frame = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}"#;
    let sent = error("1", -32602, "params must be an object");
    refused(&mut side, frame, ViolationKind::ParamsNotAnObject, &sent);
}
