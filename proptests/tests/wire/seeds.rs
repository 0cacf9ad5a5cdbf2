//! Messages in other documents about MCP. Each shown message that is not MCP has one reaction, and so has its correct
//! counterpart.

use std::collections::BTreeSet;

use mcp_sansio::config::UnknownMethods;
use mcp_sansio::event::Notification;
use mcp_sansio::json::Raw;
use mcp_sansio::model::{CallToolResult, ListResourcesResult, ResourcesCapability, method};
use mcp_sansio::progress::Progress;
use mcp_sansio::{
    CallOptions, ClientEvent, ClientRequest, ErrorCode, Frames, IncomingId, Limits, Outcome, Phase,
    RespondError, Revision, ServerEvent,
};
use mcp_sansio_proptests::{ClientSide, ServerSide, config, shared};

/// The cases: inputs, actions of the application, and results.
///
/// A case begins with its ID and the initial state. `<` is a received message; `call`, `tell`, `answer`, `fail` and
/// `report` are actions of the application. `=` is the resulting event, `>` is a sent message.
const GUIDE: &str = include_str!("seeds/guide.txt");

/// Proves SEED2-01, SEED2-02, SEED2-03, SEED2-04, SEED2-05, SEED2-06, SEED2-07, SEED2-08, SEED2-09, SEED2-10,
/// SEED2-11, SEED2-12, SEED2-13, SEED2-14, SEED2-15, SEED2-16, SEED2-17, SEED2-18, SEED2-19, SEED2-20, SEED2-21,
/// SEED2-22, SEED2-23, SEED2-24, SEED2-25, SEED2-26, SEED2-27, SEED2-28, SEED2-29, SEED2-30, SEED2-31: at least one
/// case each, all in a table.
#[test]
fn messages_shown_in_guides_have_the_expected_effect() {
    let mut proven = BTreeSet::new();
    for case in GUIDE.split("## ").skip(1) {
        let lines = case.lines().filter(|line| !line.is_empty() && !line.starts_with("//"));
        let mut lines = lines.peekable();
        let (id, start) = lines.next().unwrap().split_once(' ').unwrap();
        let mut actor = Actor::at(start);
        while let Some(act) = lines.next() {
            let mut expected = Vec::new();
            while let Some(line) = lines.next_if(|line| line.starts_with(['=', '>'])) {
                expected.push(line);
            }
            assert_eq!(actor.act(act), expected, "{id} {start}: {act}");
        }
        proven.insert(id);
    }
    let all: BTreeSet<String> = (1..=31).map(|number| format!("SEED2-{number:02}")).collect();
    assert!(all.iter().eq(proven), "every disagreement has a case");
}

/// Proves SEED2-27: of the codes that JSON-RPC reserves for servers, MCP defines two, and three more in 2026-07-28.
#[test]
fn only_these_codes_of_servers_mean_something() {
    let meant: Vec<i64> =
        (-32099..=-32000).filter(|code| ErrorCode::new(*code).meaning().is_some()).collect();
    assert_eq!(meant, [-32042, -32022, -32021, -32020, -32002]);
}

/// Proves SEED2-17: a value that is not an object is never sent.
#[test]
fn an_experimental_capability_is_an_object() {
    for (value, is_object) in [("true", false), ("{}", true)] {
        let mut config = config::client();
        let mut experimental = mcp_sansio::model::Map::default();
        experimental.insert("debugging", Raw::new(value).unwrap());
        config.capabilities.experimental = Some(experimental);
        let mut side = ClientSide::with(config);
        let connected = side.client.connect(side.now, &mut side.out);
        assert_eq!(connected.is_ok(), is_object, "{value}: {connected:?}");
        assert_eq!(side.sent().len(), usize::from(is_object));
    }
}

/// Table T7 of the requirements: the documents show an embedded resource with a title, which no revision has, and
/// 2024-11-05 without the size of a resource, which it has. Both are accepted.
#[test]
fn results_with_extra_or_missing_members_are_accepted() {
    let results = [
        (
            Revision::V2025_06_18,
            "tools/call",
            r#"{"content":[{"type":"resource","resource":{"uri":"file:///a.rs","title":"t","mimeType":"text/x-rust","text":"fn"}}]}"#,
        ),
        (
            Revision::V2024_11_05,
            "resources/list",
            r#"{"resources":[{"uri":"x:y","name":"n","size":7},{"uri":"x:z","name":"m"}]}"#,
        ),
    ];
    for (revision, method, result) in results {
        let mut config = config::client();
        config.connection.check_results = true;
        let mut client = ClientSide::ready_with(config, revision);
        let call = client.call(method);
        let event = client.receive(&format!(r#"{{"jsonrpc":"2.0","id":2,"result":{result}}}"#));
        let Some(ClientEvent::CallEnded(ended)) = event else { panic!("{event:?}") };
        assert_eq!((ended.call, ended.outcome), (call, Outcome::Result(Raw::new(result).unwrap())));
    }
    let [called, listed] = results.map(|(_, _, result)| Raw::new(result).unwrap());
    assert_eq!(called.parse::<CallToolResult<'_>>().unwrap().content.len(), 1);
    let listed: ListResourcesResult<'_> = listed.parse().unwrap();
    let sizes: Vec<_> = listed.resources.iter().map(|resource| resource.size).collect();
    assert_eq!(sizes, [Some(7), None]);
}

/// None of the messages that the documents show breaks a client or a server.
#[test]
fn every_message_of_every_document_is_survived() {
    let Some(directory) = shared("seeds") else { return };
    let mut count = 0;
    for entry in std::fs::read_dir(directory).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        let examples = examples(&text);
        let shown: usize = examples.iter().map(|example| example.matches(MARK).count()).sum();
        assert_eq!(shown, text.matches(MARK).count(), "every message is found");
        count += examples.len();
        for example in examples {
            for revision in Revision::LEGACY {
                survives(&example, revision);
            }
        }
    }
    assert!(0 < count, "there are no messages in any of them");
}

/// Every message contains this text, and no other object does.
const MARK: &str = "\"jsonrpc\"";

/// Returns the messages and batches of a document, each on one line.
fn examples(text: &str) -> Vec<String> {
    let mut examples = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(MARK) {
        let before = rest[..at].trim_end();
        let object = before.strip_suffix('{').expect("the member of an object");
        let begins = object.trim_end().strip_suffix('[').unwrap_or(object).len();
        let length = value_length(&rest[begins..]);
        examples.push(rest[begins..begins + length].replace(['\r', '\n'], " "));
        rest = &rest[begins + length..];
    }
    examples
}

/// Returns the length of the JSON value at the beginning of a text, by its brackets.
fn value_length(text: &str) -> usize {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for (at, character) in text.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => in_string = !in_string,
            '{' | '[' if !in_string => depth += 1,
            '}' | ']' if !in_string => depth -= 1,
            _ => {}
        }
        if depth == 0 && !character.is_whitespace() {
            return at + character.len_utf8();
        }
    }
    panic!("the value does not end: {text}");
}

/// Either role receives the message in a session with calls in flight, and the session continues.
fn survives(example: &str, revision: Revision) {
    const PING: &str = r#"{"jsonrpc":"2.0","id":"still there?","method":"ping"}"#;
    const ANSWER: &str = r#"{"jsonrpc":"2.0","id":"still there?","result":{}}"#;
    for frames in [example, &format!("[{example}]")] {
        let (mut client, mut server) = (ClientSide::ready(revision), ServerSide::ready(revision));
        for _ in 0..15 {
            client.call("x/own");
            server.call("x/own");
        }
        for frame in Frames::of(frames.as_bytes(), &Limits::default()) {
            _ = client.client.receive(frame, client.now, &mut client.out);
            _ = server.server.receive(frame, server.now, &mut server.out);
        }
        _ = (client.sent(), server.sent());
        assert_eq!((client.receive(PING), server.receive(PING)), (None, None), "{frames}");
        assert_eq!(client.sent(), [ANSWER], "{revision}: {frames}");
        assert_eq!(server.sent(), [ANSWER], "{revision}: {frames}");
        assert_eq!((client.client.phase(), server.server.phase()), (Phase::Ready, Phase::Ready));
    }
}

/// Either role, with the request to respond to.
enum Actor {
    Client(ClientSide, Option<IncomingId>),
    Server(ServerSide, Option<IncomingId>),
}

impl Actor {
    /// Creates an actor in a session, unless `start` contains `fresh` or `connecting`. A `bare` one declares nothing.
    fn at(start: &str) -> Self {
        let bare = || config::bare_server();
        let first = Revision::V2024_11_05;
        let (kind, revision) = match start.rsplit_once(' ') {
            Some((kind, name)) if Revision::from_name(name).is_some() => {
                (kind, Revision::from_name(name).unwrap())
            }
            _ => (start, first),
        };
        let server = |side| Self::Server(side, None);
        let client = |side| Self::Client(side, None);
        match kind {
            "fresh bare server" => server(ServerSide::with(bare())),
            "fresh server" => server(ServerSide::fresh()),
            "server" => server(ServerSide::ready(revision)),
            "server without subscriptions" => {
                let mut config = bare();
                config.capabilities.resources = Some(ResourcesCapability::default());
                server(ServerSide::ready_with(config, revision))
            }
            "server without other methods" => {
                let mut config = bare();
                config.connection.unknown_methods = UnknownMethods::Reject;
                server(ServerSide::ready_with(config, revision))
            }
            "connecting client" => {
                let mut side = ClientSide::fresh();
                side.client.connect(side.now, &mut side.out).unwrap();
                assert_eq!(side.sent().len(), 1);
                client(side)
            }
            "client" => client(ClientSide::ready(revision)),
            "bare client" => client(ClientSide::ready_with(config::bare_client(), revision)),
            other => panic!("{other} is not known"),
        }
    }

    fn act(&mut self, act: &str) -> Vec<String> {
        match self {
            Self::Client(side, last) => act_of_client(side, last, act),
            Self::Server(side, last) => act_of_server(side, last, act),
        }
    }
}

macro_rules! act {
    ($name:ident, $Side:ident.$role:ident, $describe:ident) => {
        /// Performs an action on this side. Returns the events and the sent messages.
        fn $name(side: &mut $Side, last: &mut Option<IncomingId>, act: &str) -> Vec<String> {
            let (now, role, out) = (side.now, &mut side.$role, &mut side.out);
            let (verb, rest) = act.split_once(' ').unwrap();
            let payload = |text| Raw::new(text).unwrap();
            let named = || {
                let (method, params) = rest.split_once(' ').unwrap();
                (method, payload(params))
            };
            let answered = |result: Result<(), RespondError>| {
                result.map_or_else(|error| error.to_string(), |()| "done".to_string())
            };
            let outcome = match verb {
                "<" => {
                    let mut events = Vec::new();
                    for frame in Frames::of(rest.as_bytes(), &Limits::default()) {
                        let event = role.receive(frame, now, out);
                        events.extend(event.map(|event| $describe(&event, last)));
                    }
                    events.join(", ")
                }
                "call" => {
                    let ((method, params), options) = (named(), CallOptions::new().progress());
                    let call = role.call_method(method, &params, options, now, out);
                    call.map_or_else(|error| error.to_string(), |_| "done".to_string())
                }
                "tell" => {
                    let (method, params) = named();
                    let delivered = role.notify_method(method, &params, None, out);
                    delivered.map_or_else(
                        |error| error.to_string(),
                        |delivered| format!("{delivered:?}"),
                    )
                }
                "answer" => answered(role.respond(last.unwrap(), &payload(rest), out)),
                "fail" => answered(role.respond(last.unwrap(), &CallToolResult::error(rest), out)),
                "report" => {
                    let report = Progress::new(75_u8).total(100_u8).message(rest);
                    answered(role.progress(last.unwrap(), report, now, out).map(|_| ()))
                }
                other => panic!("nobody can {other}"),
            };
            let sent = side.sent().into_iter().map(|message| format!("> {message}"));
            std::iter::once(format!("= {outcome}")).chain(sent).collect()
        }
    };
}

act!(act_of_client, ClientSide.client, describe_to_client);
act!(act_of_server, ServerSide.server, describe_to_server);

fn describe_to_server(event: &ServerEvent<'_>, last: &mut Option<IncomingId>) -> String {
    match event {
        ServerEvent::Opened(opened) => {
            let names = opened.capabilities.iter().map(|capability| format!(" {capability}"));
            format!("opened{}", names.collect::<String>())
        }
        ServerEvent::Ready => "ready".to_string(),
        ServerEvent::Request(request) => {
            *last = Some(request.id);
            let page = match &request.kind {
                ClientRequest::ListTools(page)
                | ClientRequest::ListPrompts(page)
                | ClientRequest::ListResources(page)
                | ClientRequest::ListResourceTemplates(page) => page.cursor.as_ref(),
                _ => None,
            };
            let page = page.map_or_else(String::new, |cursor| format!(" at {}", cursor.to_str()));
            let unknown =
                request.kind == ClientRequest::Other && !request.method.to_str().starts_with("x/");
            let unknown = if unknown { " that MCP does not have" } else { "" };
            format!("request {}{page}{unknown}", request.method.to_str())
        }
        ServerEvent::Cancelled(_) => "cancelled".to_string(),
        ServerEvent::Notification(notification) => describe_notification(notification),
        ServerEvent::CallEnded(ended) => describe_outcome(&ended.outcome, ended.stale),
        ServerEvent::Violation(violation) => format!("{:?}", violation.kind),
        ServerEvent::UnmatchedResponse(unmatched) => format!("unmatched {:?}", unmatched.cause),
        other => format!("{other:?}"),
    }
}

fn describe_to_client(event: &ClientEvent<'_>, last: &mut Option<IncomingId>) -> String {
    match event {
        ClientEvent::Request(request) => {
            *last = Some(request.id);
            format!("request {}", request.method.to_str())
        }
        ClientEvent::Notification(notification) => describe_notification(notification),
        ClientEvent::Progress(update) => format!("progress {}", update.progress),
        ClientEvent::CallEnded(ended) => describe_outcome(&ended.outcome, ended.stale),
        ClientEvent::Violation(violation) => format!("{:?}", violation.kind),
        ClientEvent::UnmatchedResponse(unmatched) => format!("unmatched {:?}", unmatched.cause),
        other => format!("{other:?}"),
    }
}

/// Classifies a notification with the typed helpers.
fn describe_notification(notification: &Notification<'_>) -> String {
    let known = [
        (notification.is::<method::Log>(), "log"),
        (notification.is::<method::ResourceUpdated>(), "resource updated"),
        (notification.is::<method::ResourcesChanged>(), "resources changed"),
        (notification.is::<method::ToolsChanged>(), "tools changed"),
        (notification.is::<method::PromptsChanged>(), "prompts changed"),
        (notification.is::<method::RootsChanged>(), "roots changed"),
    ];
    match known.iter().find(|(is_it, _)| *is_it) {
        Some((_, name)) => (*name).to_string(),
        None => format!("other {}", notification.method.to_str()),
    }
}

fn describe_outcome(outcome: &Outcome<'_>, stale: bool) -> String {
    let stale = if stale { "stale " } else { "" };
    match outcome {
        Outcome::Result(result) => format!("{stale}result {}", result.as_json()),
        Outcome::PeerError(error) => format!("error {:?}", error.code),
        other => format!("{other:?}"),
    }
}
