//! Modern requests on byte streams, and on transports with a stream for each request.

use std::collections::BTreeMap;
use std::time::Duration;

use mcp_sansio::config::RepliesWithoutId;
use mcp_sansio::model::{InputRequired, LoggingLevel};
use mcp_sansio::progress::Progress;
use mcp_sansio::subscription::{ChangedList, Delivery, Log};
use mcp_sansio::{
    Framing, Inbox, IncomingId, Limits, Outbox, Outboxes, Received, Route, Server, ServerEvent,
};
use mcp_sansio_proptests::{ServerSide, config};

use crate::modern::kit::*;

const TOOLS: &str = r#""toolsListChanged":true"#;
const TOOLS_CHANGED: &str = "notifications/tools/list_changed";

/// Feeds a stream to a server in pieces, answers every list request, and returns the output.
fn served(input: &[u8], step: usize, limits: &Limits) -> String {
    let mut config = config::server_of_both_eras();
    config.connection.limits = limits.clone();
    let policy = RepliesWithoutId::at_most(99, Duration::from_secs(1));
    config.connection.replies_without_id = Some(policy);
    let mut side = ServerSide::with(config);
    side.out = Outbox::new(Framing::Lines, limits);
    let mut inbox = Inbox::new(limits);
    let mut rest = input;
    loop {
        let fed = inbox.feed(&rest[..rest.len().min(step)]);
        rest = &rest[fed..];
        if rest.is_empty() {
            inbox.finish();
        }
        while let Some(frame) = inbox.next() {
            let event = side.server.receive(frame, side.now, &mut side.out);
            if let Some(ServerEvent::Request(request)) = event {
                let id = request.id;
                side.respond(id, r#"{"tools":[]}"#);
            }
        }
        if inbox.is_finished() {
            return String::from_utf8(side.out.unsent().to_vec()).unwrap();
        }
    }
}

/// Proves M-STDIO-01, M-STDIO-02, M-STDIO-04, M-STDIO-05, M-TRAN-01: lines, for any chunks and line ends; an
/// invalid line costs only itself.
#[test]
fn lines_are_served_however_they_come() {
    let list = |id: &str| modern_request(id, "tools/list", "");
    let nameless =
        |text: &str| format!(r#"{{"jsonrpc":"2.0","error":{{"code":-32700,"message":"{text}"}}}}"#);
    let mut input = Vec::from(b"\xef\xbb\xbf");
    input.extend(list("1").bytes());
    input.extend(b"\r\n\n  \r\nnoise\n{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"\xff\"}\n");
    input.extend(list("2").bytes());
    input.extend(b"\n{\"jsonrpc\":\n");
    // The last line need not end.
    input.extend(list("3").bytes());
    let whole = served(&input, usize::MAX, &Limits::default());
    let lines: Vec<&str> = whole.lines().collect();
    let answer = |id: &str| cacheable(id, r#""tools":[]"#);
    let expected = [
        answer("1"),
        nameless("the line is not JSON"),
        error("9", -32700, "the message is not UTF-8"),
        answer("2"),
        nameless("a message must stand on one line"),
        answer("3"),
    ];
    assert_eq!(lines, expected);
    assert!(whole.ends_with('\n') && !whole.contains('\r'));
    for step in 1..40 {
        assert_eq!(served(&input, step, &Limits::default()), whole, "in pieces of {step}");
    }
}

/// Proves M-STDIO-03, M-SECL-01: a line that is too long costs only itself.
#[test]
fn a_line_that_is_too_long_is_skipped() {
    let mut limits = Limits::default();
    limits.frame_bytes = 300;
    let long = modern_request("1", "tools/list", &format!(r#""x":"{}""#, "y".repeat(300)));
    let input = format!("{long}\n{}\n", modern_request("2", "tools/list", ""));
    for step in [1, 100, usize::MAX] {
        let sent = served(input.as_bytes(), step, &limits);
        let lines: Vec<&str> = sent.lines().collect();
        assert_eq!(lines.len(), 2, "{sent}");
        assert!(lines[0].contains("the message is too long") && !lines[0].contains(r#""id""#));
        assert_eq!(lines[1], cacheable("2", r#""tools":[]"#));
    }
}

/// Proves M-STDIO-01: a message is one line, with any content.
#[test]
fn a_message_is_one_line() {
    let mut side = server();
    side.out = Outbox::new(Framing::Lines, &Limits::default());
    let id = side.request(&modern_request("1", "tools/call", r#""name":"t""#));
    side.respond(id, "{\"content\":[\n{\"type\":\"text\",\r\n\"text\":\"a\\nb\"}],\n\"x\":[\n1]}");
    let request = request(&mut side, &modern_request("2", "tools/call", r#""name":"t""#));
    let need = InputRequired::new().state("a\nb\r");
    side.server.require_input(&request, &need, side.now, &mut side.out).unwrap();
    let sent = String::from_utf8(side.out.unsent().to_vec()).unwrap();
    assert_eq!(sent.matches('\n').count(), 2, "{sent}");
    assert!(sent.ends_with('\n') && !sent.contains('\r'));
    assert!(sent.contains(r#""text":"a\nb""#) && sent.contains(r#""requestState":"a\nb\r""#));
}

/// A transport with a stream for each request.
#[derive(Default)]
struct Streams {
    routes: BTreeMap<String, Outbox>,
}

impl Outboxes for Streams {
    fn outbox(&mut self, route: Route) -> &mut Outbox {
        let fresh = || Outbox::new(Framing::Messages, &Limits::default());
        self.routes.entry(format!("{route:?}")).or_insert_with(fresh)
    }
}

impl Streams {
    /// The messages on a route since the last call.
    fn sent(&mut self, route: Route) -> Vec<String> {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        self.outbox(route).messages().map(text).collect()
    }

    fn is_empty(&self) -> bool {
        self.routes.values().all(Outbox::is_empty)
    }
}

/// Proves M-TRAN-02, M-LOG-03, M-PROG-05, M-SUB-08, M-SECL-06: every message about a request is sent on the route
/// of that request.
#[test]
fn each_request_has_a_route_of_its_own() {
    let mut out = Streams::default();
    let side = server();
    let (mut server, now): (Server, _) = (side.server, side.now);
    let more = r#""progressToken":"p","io.modelcontextprotocol/logLevel":"debug""#;
    let frame = with_more("1", "tools/call", more, r#""name":"t""#);
    let Some(ServerEvent::Request(call)) = server.receive(frame.as_str(), now, &mut out) else {
        panic!();
    };
    // A transport that separates exchanges may have two with the same id; here the ids differ.
    let open = |server: &mut Server, out: &mut Streams, id: &str| -> IncomingId {
        let frame = listen(id, TOOLS);
        match server.receive(frame.as_str(), now, out) {
            Some(ServerEvent::Subscribed(subscribed)) => subscribed.id,
            other => panic!("{other:?}"),
        }
    };
    let streams = ["2", "3"].map(|id| (open(&mut server, &mut out, id), id));
    for (id, wire) in streams {
        assert_eq!(out.sent(Route::Exchange(id)), [acknowledged(wire, TOOLS)]);
    }
    assert_eq!(
        server.notifications().list_changed(ChangedList::Tools, &mut out),
        Ok(Delivery::Sent)
    );
    for (id, wire) in streams {
        assert_eq!(out.sent(Route::Exchange(id)), [tagged(wire, TOOLS_CHANGED, "")]);
    }
    server.progress(call.id, Progress::new(1_u32), now, &mut out).unwrap();
    server
        .notifications()
        .log(&Log::new(LoggingLevel::Info, "d").about(call.id), &mut out)
        .unwrap();
    server.require_input(&call, &InputRequired::new().state("s"), now, &mut out).unwrap();
    assert_eq!(out.sent(Route::Exchange(call.id)).len(), 3);
    assert!(out.is_empty());
    server.shut_down(Duration::ZERO, now);
    while server.handle_timeout(now, &mut out).is_some() {}
    for (id, wire) in streams {
        assert_eq!(out.sent(Route::Exchange(id)), [ended(wire)]);
    }
    assert!(out.is_empty());
}

/// Proves M-TRAN-02: a response of the machine itself is sent on the route of the message.
#[test]
fn automatic_responses_use_the_route_of_their_request() {
    let mut out = Streams::default();
    let mut side = server();
    let open = side.request(&modern_request("1", "x/own", ""));
    let route = Route::Exchange(open);
    for (frame, is_answered) in [
        (modern_request("2", "server/discover", ""), true),
        (modern_request("2", "ping", ""), true),
        (of_version("2", "tools/list", "x", "{}", ""), true),
        (of_session("2", "tools/list", ""), true),
        (modern_request("1", "tools/list", ""), false),
        (cancel("77"), false),
    ] {
        let received = Received::from(side.now).route(route);
        let _ = side.server.receive(frame.as_str(), received, &mut out);
        assert_eq!(out.sent(route).len(), usize::from(is_answered), "{frame}");
        assert!(out.is_empty());
    }
}

/// Proves M-SECL-05: the debug output of a request contains no payload.
#[test]
fn debug_output_of_a_modern_request_has_no_payload() {
    let mut side = server();
    let brought = r#""name":"t","arguments":{"password":"hidden"},"inputResponses":{"k":{"action":"hidden"}},"requestState":"hidden""#;
    let more = r#""io.modelcontextprotocol/clientInfo":{"name":"hidden","version":"1"}"#;
    let request = request(&mut side, &with_more("1", "tools/call", more, brought));
    assert_eq!(request.state.as_ref().unwrap().to_str(), "hidden");
    let printed = format!("{request:?} {:?}", side.server);
    assert!(!printed.contains("hidden"), "{printed}");
    let need = InputRequired::new().state("hidden");
    side.server.require_input(&request, &need, side.now, &mut side.out).unwrap();
    let printed = format!("{:?} {:?}", side.server, side.out);
    assert!(!printed.contains("hidden"), "{printed}");
    let refused = side.receive(&modern_request("2", "tools/call", r#""hidden":"hidden""#));
    assert!(!format!("{refused:?}").contains("hidden"), "{refused:?}");
}
