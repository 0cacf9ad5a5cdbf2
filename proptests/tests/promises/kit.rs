//! The simulation kit as users of this crate apply it to their own code.

use std::time::Duration;

use mcp_sansio::json::Raw;
use mcp_sansio::testing::{
    Application, Broken, Divergence, Link, MessageLink, Mismatch, Monitor, Monitors, Promise,
    Recorder, Recording, StepKind, converse, replay,
};
use mcp_sansio::{
    CallId, CallOptions, ClientEvent, ErrorCode, Framing, Inbox, IncomingId, Instant, Limits,
    Outbox, Revision, Server, ServerEvent, transcript,
};
use mcp_sansio_proptests::world::{Setup, Step, World};
use mcp_sansio_proptests::{ClientSide, Pair, Seen, ServerSide, config};

const NOW: Instant = Instant::from_millis(1_000);

/// Returns an outbox with a call in it, and the length of the call.
fn written() -> (Outbox, usize) {
    let mut side = ClientSide::ready(Revision::V2025_11_25);
    side.out = Outbox::new(Framing::Lines, &Limits::default());
    side.call("tools/list");
    let length = side.out.len();
    (side.out, length)
}

#[test]
fn a_link_splits_joins_and_is_full() {
    let (mut outbox, length) = written();
    let (mut link, mut inbox) = (Link::new(10), Inbox::new(&Limits::default()));
    assert_eq!((link.take(&mut outbox, 4, NOW), link.room()), (4, 6));
    assert_eq!(link.take(&mut outbox, 100, NOW), 6);
    assert_eq!((link.take(&mut outbox, 100, NOW), link.len()), (0, 10));
    assert_eq!((link.give(&mut inbox, 3, NOW), link.len(), link.room()), (3, 7, 3));
    let mut given = 3;
    while given < length {
        _ = link.take(&mut outbox, 100, NOW);
        given += link.give(&mut inbox, 100, NOW);
    }
    assert!(link.is_empty() && outbox.is_empty());
    assert!(inbox.next().unwrap().bytes().starts_with(b"{\"jsonrpc\""));
}

#[test]
fn a_link_holds_bytes_back_and_keeps_their_order() {
    let (mut outbox, length) = written();
    let (mut link, mut inbox) = (Link::new(usize::MAX), Inbox::new(&Limits::default()));
    let later = NOW + Duration::from_millis(5);
    link.take(&mut outbox, 8, later);
    link.take(&mut outbox, usize::MAX, NOW);
    assert_eq!(link.poll_timeout(), Some(later));
    assert_eq!(link.give(&mut inbox, usize::MAX, NOW), 0, "what came first is not here yet");
    assert_eq!(link.give(&mut inbox, usize::MAX, later), length);
    assert_eq!(link.poll_timeout(), None);
}

#[test]
fn noise_goes_between_messages_only() {
    let (mut outbox, _) = written();
    let mut link = Link::new(usize::MAX);
    assert!(link.add_noise(b"first"));
    link.take(&mut outbox, 4, NOW);
    assert!(!link.add_noise(b"in the middle"));
    link.take(&mut outbox, usize::MAX, NOW);
    assert!(link.add_noise(b"last"));
    let mut inbox = Inbox::new(&Limits::default());
    link.give(&mut inbox, usize::MAX, NOW);
    assert_eq!(inbox.next().unwrap().bytes(), b"first");
    assert!(inbox.next().unwrap().bytes().starts_with(b"{"));
    assert_eq!(inbox.next().unwrap().bytes(), b"last");
    assert!(inbox.next().is_none());
}

#[test]
fn a_broken_link_loses_its_bytes() {
    let (mut outbox, length) = written();
    let mut link = Link::new(usize::MAX);
    link.take(&mut outbox, 4, NOW);
    link.break_off();
    assert!(link.is_broken() && link.is_empty());
    assert_eq!((link.take(&mut outbox, 100, NOW), outbox.len()), (0, length - 4));
    assert!(!link.add_noise(b"x"));
    let mut inbox = Inbox::new(&Limits::default());
    assert_eq!(link.give(&mut inbox, 100, NOW), 0);
}

#[test]
fn messages_are_lost_repeated_and_overtaken_whole() {
    let mut link = MessageLink::new();
    for message in ["a", "b", "c", "d"] {
        link.add(message.as_bytes());
    }
    link.lose(1);
    link.repeat(0);
    link.hurry(2);
    for nothing in [4, usize::MAX] {
        link.lose(nothing);
        link.repeat(nothing);
        link.hurry(nothing);
    }
    let given: Vec<Vec<u8>> = std::iter::from_fn(|| link.give()).collect();
    assert_eq!(given, [b"d", b"a", b"c", b"a"]);
}

#[test]
fn a_pair_ends_over_a_broken_link_without_spinning() {
    let mut pair = Pair::new(config::client(), config::server());
    pair.connect().unwrap();
    pair.downstream.break_off();
    let (params, options) = (Raw::new(r#"{"name":"t"}"#).unwrap(), CallOptions::new());
    let call =
        pair.client.call_method("tools/call", &params, options, pair.now, &mut pair.client_out);
    call.unwrap();
    pair.settle();
    pair.server.shut_down(Duration::ZERO, pair.now);
    assert!(!pair.handle_timeout().is_empty());
    assert_eq!(pair.settle(), []);
}

/// Rejects each request with this text.
struct Says(&'static str);

impl Application<Server> for Says {
    fn event(&mut self, event: ServerEvent<'_>, server: &mut Server, _: Instant, out: &mut Outbox) {
        if let ServerEvent::Request(request) = event {
            _ = server.reject(request.id, ErrorCode::new(-1), self.0, out);
        }
    }
}

#[test]
fn a_replay_says_where_it_goes_another_way() {
    let server = ServerSide::ready(Revision::V2025_11_25).server;
    let limits = Limits::default();
    let mut recorder = Recorder::new(server.clone(), Says("no"), &limits);
    let line = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n";
    recorder.happened(NOW, StepKind::Read(line.to_vec()));
    let written = recorder.written(NOW, usize::MAX);
    let recording: Recording = recorder.recording().to_string().parse().unwrap();
    assert!(replay(&recording, server.clone(), Says("no"), &limits).is_ok());
    let Err(Divergence { index, message, expected, found, after, .. }) =
        replay(&recording, server, Says("later"), &limits)
    else {
        panic!("the same")
    };
    assert_eq!((index, message, expected.as_slice()), (1, 1, written.trim_ascii_end()));
    assert!(String::from_utf8(found).unwrap().contains("later"));
    assert_eq!(after, line.trim_ascii_end());
    for (text, line) in [
        ("x", 1),
        ("5 read \\q", 1),
        ("5 end\n\n6 command \\xff", 3),
        ("5 x y", 1),
        ("5 failed", 1),
    ] {
        assert_eq!(text.parse::<Recording>().unwrap_err().line, line, "{text}");
    }
}

/// Messages are complete wherever the chunks were cut, and a last line without a newline is a message as well.
#[test]
fn a_recording_knows_its_messages() {
    let text = "1000000 read {\"id\":1,\"method\":\"ping\"}\\n{\"id\":\n\
                2000000 read 2,\"method\":\"ping\"}\\n \\x0d\\n{\"method\":\n\
                3000000 written {\"id\":1,\n\
                3000000 command go\n\
                4000000 written \"result\":{}}\\n{\n\
                5000000 read \"x\"}\n\
                6000000 end\n\
                7000000 failed write\n";
    let recording: Recording = text.parse().unwrap();
    assert_eq!(recording.to_string(), text);
    let texts = |messages: &mut dyn Iterator<Item = (Instant, Vec<u8>)>| {
        messages
            .map(|(at, message)| {
                format!("{} {}", at.since_epoch().as_millis(), String::from_utf8(message).unwrap())
            })
            .collect::<Vec<_>>()
    };
    let received = [
        "1 {\"id\":1,\"method\":\"ping\"}",
        "2 {\"id\":2,\"method\":\"ping\"}",
        "6 {\"method\":\"x\"}",
    ];
    assert_eq!(texts(&mut recording.received()), received);
    assert_eq!(texts(&mut recording.written()), ["4 {\"id\":1,\"result\":{}}"]);
    let at = Instant::from_millis;
    let between = |from, to| recording.between(at(from), at(to)).len();
    assert_eq!((between(2, 4), between(0, 100), between(3, 3), between(4, 2)), (3, 8, 0, 0));
    let diagram = recording.diagram("client", "server").to_string();
    let drawn: Vec<&str> = diagram.lines().map(|line| line.split_at(18).1).collect();
    let expected = [
        "client                                            server",
        "|--- ping #1 ------------------------------------>|",
        "|--- ping #2 ------------------------------------>|",
        "|                                                 | command: go",
        "|<---------------------------------- result #1 ---|",
        "|--- x ------------------------------------------>|",
        "| end of input",
        "|                                                 | writing fails",
    ];
    assert_eq!(drawn, expected);
}

/// A step is recorded before it happens, so the cause of a crash is recorded.
#[test]
fn a_step_is_noted_before_it_happens() {
    let server = ServerSide::ready(Revision::V2025_11_25).server;
    let mut noted = Vec::new();
    let mut recorder = Recorder::with_sink(
        server,
        Panics,
        &Limits::default(),
        |step: &mcp_sansio::testing::Step| {
            noted.push(step.to_string());
        },
    );
    let line = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n";
    let happens = || recorder.happened(NOW, StepKind::Read(line.to_vec()));
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(happens)).is_err());
    drop(recorder);
    assert!(noted.len() == 1 && noted[0].contains(" read {"), "{noted:?}");
}

/// An application that panics on every event.
struct Panics;

impl Application<Server> for Panics {
    fn event(&mut self, _: ServerEvent<'_>, _: &mut Server, _: Instant, _: &mut Outbox) {
        panic!("as expected");
    }
}

#[test]
fn a_transcript_says_which_line_does_not_hold() {
    let mut side = ServerSide::ready(Revision::V2025_11_25);
    let ping = r#"> {"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let list = r#"> {"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;
    let cases = [
        (format!("{ping}\n< nothing"), 2, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#),
        (format!("{ping}\n{ping}"), 2, r#"first the message {"jsonrpc""#),
        (format!("{list}\n< x"), 2, "first the event Request"),
        (format!("{list}\n! Progress"), 2, "Request"),
        ("< x".to_owned(), 1, "no message"),
        ("! x".to_owned(), 1, "no event"),
        ("? x".to_owned(), 1, "a line begins with"),
        ("+ soon".to_owned(), 1, "not a time"),
        ("// fine\n\n".to_owned() + ping, 3, r#"{"jsonrpc":"2.0","id":1"#),
    ];
    for (text, expected, what) in cases {
        let (mut server, mut now) = (side.server.clone(), side.now);
        side.out = Outbox::new(Framing::Messages, &Limits::default());
        let talk = converse(&mut server, &mut now, &mut side.out, &text);
        let Err(Mismatch { line, found, .. }) = talk else { panic!("{text} holds") };
        assert_eq!(line, expected, "{text}: {found}");
        assert!(found.starts_with(what), "{text}: {found}");
    }
}

#[test]
fn a_transcript_is_a_conversation() {
    let mut side = ServerSide::ready(Revision::V2025_11_25);
    transcript!(
        side.server,
        side.now,
        side.out,
        r#"
        > {"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t"}}
        ! Request
        // The client thinks better of it, and nothing is answered.
        > {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}
        ! Cancelled
        + 60000 ms
        "#
    );
}

/// Returns a pair whose server has an open request, watched by the monitors.
fn asked(monitors: &mut Monitors) -> (Pair, CallId, IncomingId) {
    let mut pair = Pair::new(config::client(), config::server());
    pair.connect().unwrap();
    let Pair { client, client_out, now, .. } = &mut pair;
    let options = CallOptions::new();
    let call = client.call_method("x/unusual", &(), options, *now, client_out).unwrap();
    monitors.client.called(call).unwrap();
    let seen = pair.watched_by(monitors).settle().unwrap();
    let [Seen::Server(ServerEvent::Request(request))] = &seen[..] else { panic!("{seen:?}") };
    let request = request.id;
    (pair, call, request)
}

/// The monitors observe all messages on the wire, in any chunking, and every event.
#[test]
fn a_pair_that_is_watched_keeps_its_promises() {
    for bytes in [1, 7, usize::MAX] {
        let mut monitors = Monitors::new();
        let (mut pair, call, request) = asked(&mut monitors);
        pair.server.respond(request, &(), &mut pair.server_out).unwrap();
        monitors.server.answered(request).unwrap();
        let mut seen = Vec::new();
        while seen.is_empty() {
            seen = pair.watched_by(&mut monitors).to_client(bytes).unwrap();
        }
        let [Seen::Client(ClientEvent::CallEnded(ended))] = &seen[..] else { panic!("{seen:?}") };
        assert_eq!(ended.call, call);
        pair.client.shut_down(Duration::ZERO, pair.now);
        let seen = pair.watched_by(&mut monitors).handle_timeout().unwrap();
        assert!(matches!(seen[..], [.., Seen::Client(ClientEvent::Closed { .. })]), "{seen:?}");
        assert!(monitors.client.is_closed() && !monitors.server.is_closed());
    }
}

/// A frame with another defect gets its response by its id, even if the name `id` is escaped. A misspelled name is no
/// id.
#[test]
fn a_name_with_escapes_is_the_name_it_stands_for() {
    let refusal = br#"{"jsonrpc":"2.0","id":9,"error":{"code":-32700,"message":"broken"}}"#;
    for (frame, verdict) in [
        (r#"{"\u0069d":9,"method":"x","x":"\q"}"#, Ok(())),
        (r#"{"i\d":9,"method":"x"}"#, Err(Promise::OneAnswer)),
    ] {
        let mut monitor = Monitor::new();
        monitor.delivered(frame.as_bytes());
        let sent = monitor.sent(refusal).map_err(|broken| broken.promise);
        assert_eq!(sent, verdict, "{frame}");
    }
}

#[test]
fn a_watched_pair_reports_broken_promises() {
    // A response that was not reported to the monitor.
    let mut monitors = Monitors::new();
    let (mut pair, _, request) = asked(&mut monitors);
    pair.server.respond(request, &(), &mut pair.server_out).unwrap();
    let broken = pair.watched_by(&mut monitors).handle_timeout().unwrap_err();
    assert_eq!(broken.promise, Promise::OneAnswer);
    assert_eq!(monitors.check(&pair), Err(broken));

    // A response to a request that the monitors have not observed.
    let mut late = Monitors::new();
    let broken = pair.watched_by(&mut late).to_client(1).unwrap_err();
    assert!(broken.what.starts_with("answers once too often"), "{broken}");

    // A response to a cancelled request.
    let mut monitors = Monitors::new();
    let (mut pair, call, _) = asked(&mut monitors);
    pair.client.cancel(call, None, &mut pair.client_out).unwrap();
    monitors.client.cancelled(call).unwrap();
    let seen = pair.watched_by(&mut monitors).settle().unwrap();
    assert!(matches!(seen[..], [Seen::Server(ServerEvent::Cancelled(_))]), "{seen:?}");
    let broken = monitors.server.sent(br#"{"jsonrpc":"2.0","id":2,"result":{}}"#).unwrap_err();
    assert!(broken.what.starts_with("answers what was cancelled"), "{broken}");
}

/// The verdicts of a monitor on reports of impossible events.
#[test]
fn a_monitor_detects_impossible_events() {
    let mut side = ServerSide::ready(Revision::V2025_11_25);
    let request = side.request(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    let call = side.call("roots/list");
    let promise = |result: Result<(), Broken>| result.map_err(|broken| broken.promise);
    let mut monitor = Monitor::new();
    assert_eq!(promise(monitor.answered(request)), Err(Promise::OneAnswer));
    assert_eq!(promise(monitor.cancelled(call)), Err(Promise::OneOutcome));
    assert_eq!(promise(monitor.check(&side.server, side.now)), Err(Promise::OneOutcome));
    assert_eq!(promise(monitor.called(call)), Ok(()));
    assert_eq!(promise(monitor.called(call)), Err(Promise::OneOutcome));
    assert_eq!(promise(monitor.check(&side.server, side.now)), Err(Promise::OneAnswer));
    let answer = br#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    assert_eq!(promise(monitor.sent(answer)), Err(Promise::OneAnswer), "nobody has asked");
    monitor.delivered(br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    assert_eq!(promise(monitor.sent(answer)), Ok(()));
    assert_eq!(promise(monitor.sent(answer)), Err(Promise::OneAnswer), "twice");
    monitor.delivered(br#"{"jsonrpc":"2.0","id":"\u0061","method":"ping"}"#);
    monitor.cancelled_by(
        br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}"#,
    );
    let late = br#"{"jsonrpc":"2.0","id":"a","result":{}}"#;
    assert_eq!(promise(monitor.sent(late)), Err(Promise::OneAnswer), "after its cancellation");
    let wrong: [&[u8]; 4] = [b"{", b"{}\n{}", b"{\"id\":1}", b"[1]"];
    for text in wrong {
        assert_eq!(promise(monitor.sent(text)), Err(Promise::Order), "{}", text.escape_ascii());
    }
    let asks = br#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#;
    assert_eq!(promise(monitor.sent(asks)), Ok(()));
    assert_eq!(promise(monitor.sent(asks)), Err(Promise::OneOutcome), "an id twice");
    let cancel =
        br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":10}}"#;
    assert_eq!(promise(monitor.sent(cancel)), Err(Promise::NothingWaits), "never sent");
}

/// A failure is printed as its events and as the messages on the wire.
#[test]
fn a_run_is_drawn() {
    let mut choices = mcp_sansio::testing::Choices::seeded(0);
    let mut setup = Setup::choose(&mut choices);
    (setup.client, setup.server) = (config::client(), config::server());
    let mut world = World::new(setup);
    world.draw();
    world.step(&Step::Connect).unwrap();
    world.step(&Step::Flow).unwrap();
    let drawn = world.diagram().unwrap().to_string();
    assert!(drawn.contains("|--- initialize #1 ------------------------------>|"), "{drawn}");
    assert!(drawn.contains("|<---------------------------------- result #1 ---|"), "{drawn}");
    assert_eq!(drawn.lines().next().unwrap().split_whitespace().count(), 2);
}
