//! The promises of the crate, one test each: its oracle. `proptests/mutants` has the defects that each of them detects.
//!
//! | invariant worth fuzzing | promise |
//! |---|---|
//! | the same bytes in any chunking give the same events and output | 5 |
//! | no panic, no growth without bound | 1, 6 |
//! | at most one response to each id, none without an id, none to responses | 3 |
//! | one outcome per call, and after the end all tables are empty | 2 |
//! | the output is complete messages, each one line | 5 |
//! | no message is sent for a cancelled request | 3 |
//! | a replay is the same to the byte | 7 |
//! | two connected sides never stall, with any transport in between | 4 |
//! | the tasks and sessions of one requestor are unreachable for others | 6, and `SECURITY.md` |
//! | the scanner and a slow parser put each line in the same class | the fuzz target `scan`, and `json.rs` |

use std::ops::Range;
use std::sync::OnceLock;

use mcp_sansio::json::Raw;
use mcp_sansio::model::{CallToolResult, Content, SubscriptionFilter};
use mcp_sansio::schema::Json;
use mcp_sansio::testing::{Broken, Choices, Promise};
use mcp_sansio::{
    CallOptions, Client, ErrorCode, Framing, Inbox, Instant, Limits, Outbox, Revision, Server,
    ServerEvent,
};
use mcp_sansio_proptests::allocations::{count, refuse};
use mcp_sansio_proptests::authorization_world::World as AuthorizationWorld;
use mcp_sansio_proptests::http_world::HttpTrial;
use mcp_sansio_proptests::oracles::owners::check_owners;
use mcp_sansio_proptests::oracles::replay::check_replay;
use mcp_sansio_proptests::oracles::sessions::check_sessions;
use mcp_sansio_proptests::single::{Act, Single, connection, revisions};
use mcp_sansio_proptests::world::{Failure, Trial, hostile, schedule};
use mcp_sansio_proptests::{ClientSide, ServerSide, config};
use serde_json::json;

/// The lengths of the simulated schedules, in turn.
const LENGTHS: [usize; 6] = [60, 120, 140, 160, 180, 200];

/// Returns the seeds for each promise.
fn seeds() -> Range<u64> {
    let seeds = std::env::var("PROMISE_SEEDS").ok().and_then(|seeds| seeds.parse().ok());
    0..seeds.unwrap_or(400)
}

/// Returns the first promise that the simulation breaks. It runs once per process: each run checks every promise, so
/// the tests share it, and it has twice as many seeds as the others.
fn first_failure() -> Option<&'static (u64, Box<Failure>)> {
    static FIRST: OnceLock<Option<(u64, Box<Failure>)>> = OnceLock::new();
    let run = |seed: u64| {
        let steps = LENGTHS[seed as usize % LENGTHS.len()];
        let (setup, schedule) = schedule(&mut Choices::seeded(seed), steps);
        Trial::run(&setup, &schedule).err().map(|failure| (seed, failure))
    };
    let Range { start, end } = seeds();
    FIRST.get_or_init(|| (start..2 * end).find_map(run)).as_ref()
}

/// Expects that this promise is kept in the simulation, as are the others.
#[track_caller]
fn kept(promise: Promise) {
    if let Some((seed, failure)) = first_failure() {
        let Broken { promise: broken, what, .. } = &failure.broken;
        // The reference model notices that a message is wrong, and not which promise it breaks.
        let is_it = *broken == promise || what.starts_with("reference model");
        let other = if is_it { "" } else { "ANOTHER, " };
        panic!("{other}seed {seed}: {failure}");
    }
}

#[track_caller]
fn is_kept(result: Result<(), Broken>, seed: u64) {
    if let Err(broken) = result {
        panic!("seed {seed}: {broken}");
    }
}

/// Generates lines of a peer, and bytes that are no lines.
fn lines(choices: &mut Choices) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..20 {
        match choices.below(5) {
            0 => bytes.extend((0..choices.below(40)).map(|_| choices.below(256) as u8)),
            1 => {
                let brackets = choices.pick(&["}", "]}", "{\"a\":[", "[[", "]", "{", "\"\\"]);
                bytes.extend(brackets.unwrap_or_default().repeat(3).bytes());
            }
            2 => bytes.extend(hostile::to_client(choices).bytes()),
            _ => bytes.extend(hostile::to_server(choices).bytes()),
        }
        if !choices.one_in(10) {
            bytes.push(b'\n');
        }
    }
    bytes
}

#[test]
fn promise_1_no_input_panics() {
    for seed in seeds() {
        let mut choices = Choices::seeded(seed);
        let (connection, revisions) = (connection(&mut choices), revisions(&mut choices));
        let mut acts = Vec::new();
        for _ in 0..8 {
            acts.push(Act::Bytes(lines(&mut choices)));
            acts.push(Act::choose(&mut choices));
        }
        let both = acts.clone();
        let server = Single::<Server>::new(connection.clone(), revisions, Framing::Lines);
        is_kept(server.run(acts), seed);
        let client = Single::<Client>::new(connection, revisions, Framing::Messages);
        is_kept(client.run(both), seed);
    }
}

#[test]
fn promise_1_work_does_not_grow_with_pending_state() {
    crate::work::check();
    crate::work_client::check();
}

#[test]
fn promise_1_depth_takes_no_stack() {
    // One stack frame for each of a million levels would overflow this stack. Levels beyond the limit are not
    // scanned, so this tests the limit.
    let small = std::thread::Builder::new().stack_size(256 << 10);
    let test = || {
        for open in ["[", "{\"a\":", "[{\"a\":"] {
            let deep = open.repeat(1 << 20);
            let message =
                format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{deep}"#);
            let mut side = ServerSide::fresh();
            assert!(matches!(side.receive(&message), Some(ServerEvent::Violation(_))));
            // The text can count as the next line of the same text, which has been reported already.
            assert!(matches!(side.receive(&deep), None | Some(ServerEvent::Violation(_))));
        }
    };
    small.spawn(test).unwrap().join().unwrap();
}

#[test]
fn promise_2_every_call_has_one_outcome() {
    kept(Promise::OneOutcome);
}

#[test]
fn promise_3_every_request_has_one_answer_at_most() {
    kept(Promise::OneAnswer);
}

#[test]
fn promise_4_nothing_waits_on_a_write() {
    kept(Promise::NothingWaits);
}

/// Returns the events and the output of a server that receives the bytes in such chunks.
fn in_chunks(bytes: &[u8], chunks: &mut dyn FnMut() -> usize) -> (Vec<String>, Vec<u8>) {
    let config = config::server_of_both_eras();
    let limits = config.connection.limits.clone();
    let (mut inbox, mut out) = (Inbox::new(&limits), Outbox::new(Framing::Lines, &limits));
    let mut server = Server::new(config.into());
    let mut events = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() || !inbox.is_finished() {
        let taken = inbox.feed(&rest[..rest.len().min(chunks())]);
        rest = &rest[taken..];
        if rest.is_empty() {
            inbox.finish();
        }
        while let Some(frame) = inbox.next() {
            let event = server.receive(frame, Instant::from_millis(1), &mut out);
            if let Some(ServerEvent::Request(request)) = &event {
                server.reject(request.id, ErrorCode::INTERNAL_ERROR, "no", &mut out).unwrap();
            }
            events.extend(event.map(|event| format!("{event:?}")));
        }
    }
    (events, out.unsent().to_vec())
}

#[test]
fn promise_5_chunks_make_no_difference() {
    for seed in seeds() {
        let mut choices = Choices::seeded(seed);
        let bytes = lines(&mut choices);
        let whole = in_chunks(&bytes, &mut || usize::MAX);
        assert_eq!(in_chunks(&bytes, &mut || 1), whole, "seed {seed}");
        assert_eq!(in_chunks(&bytes, &mut || 1 + choices.below(90) as usize), whole, "seed {seed}");
    }
}

#[test]
fn promise_5_messages_leave_whole_and_in_order() {
    kept(Promise::Order);
}

#[test]
fn promise_6_everything_is_bounded() {
    kept(Promise::Bounded);
}

/// Requests of any length, with responses at any time or never: the kept bytes never exceed their limit, and a short
/// request is served as soon as there is room.
#[test]
fn promise_6_bytes_are_bounded() {
    for seed in seeds() {
        let mut choices = Choices::seeded(seed);
        let mut config = config::server();
        let most = 1_000 + choices.below(20_000) as usize;
        config.connection.limits.connection_bytes = most;
        let mut side = ServerSide::ready_with(config, Revision::V2025_11_25);
        let mut open = Vec::new();
        for id in 0..100 {
            let text = "x".repeat(choices.below(8_000) as usize);
            let call = format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"x/work","params":{{"a":"{text}"}}}}"#
            );
            let before = side.server.in_flight().counts().kept_bytes;
            // A request counts as its message, and as much again.
            let needed = before + 2 * call.len();
            match side.receive(&call) {
                Some(ServerEvent::Request(request)) => {
                    let kept = side.server.in_flight().counts().kept_bytes;
                    assert_eq!(kept, needed, "seed {seed}");
                    open.push(request.id);
                }
                Some(ServerEvent::Violation(violation)) => {
                    assert!(violation.answered);
                    assert!(most < needed, "seed {seed}: {before} bytes, and {} more", call.len());
                }
                other => panic!("{other:?}"),
            }
            if choices.one_in(3) && !open.is_empty() {
                side.respond(open.remove(0), "{}");
            }
            _ = side.sent();
            let kept = side.server.in_flight().counts().kept_bytes;
            assert!(kept <= most, "seed {seed}: {kept} bytes are kept, and not {most}");
        }
        open.into_iter().for_each(|id| side.respond(id, "{}"));
        assert_eq!(side.server.in_flight().counts().kept_bytes, 0, "seed {seed}");
        _ = side.request(r#"{"jsonrpc":"2.0","id":100,"method":"x/work"}"#);
    }
}

#[test]
fn promise_7_the_same_again_is_the_same() {
    for seed in seeds().step_by(4) {
        let (setup, steps) = schedule(&mut Choices::seeded(seed), 120);
        let (first, again) = (Trial::once(&setup, &steps), Trial::once(&setup, &steps));
        assert_eq!(first.unwrap(), again.unwrap(), "seed {seed}");
    }
}

/// Pain 91: time and randomness come from the caller only.
#[test]
fn promise_7_a_recording_is_replayed_to_the_byte() {
    for seed in seeds().step_by(4) {
        check_replay(&mut Choices::seeded(seed), lines);
    }
}

#[test]
fn promise_8_a_warm_connection_allocates_nothing() {
    let mut side = ServerSide::ready(Revision::V2025_11_25);
    let call = r#"{"jsonrpc":"2.0","id":"12345678-1234-1234-1234-123456789012","method":"tools/call","params":{"name":"t","arguments":{"a":{"b":[1]}}}}"#;
    let result = CallToolResult::text("done");
    let mut round = || {
        let event = side.server.receive(call, side.now, &mut side.out);
        let Some(ServerEvent::Request(request)) = event else { panic!("{event:?}") };
        side.server.respond(request.id, &result, &mut side.out).unwrap();
        side.out.sent(usize::MAX);
    };
    (0..20).for_each(|_| round());
    let ((), allocations) = count(|| (0..100).for_each(|_| round()));
    assert_eq!(allocations, 0);
    refuse(|| (0..10_000).for_each(|_| round()));
}

#[test]
fn promise_9_unknown_members_are_passed_on_unchanged() {
    let content = r#"{"type":"hologram","rays":[1e3,0.10,"\u00e9"],"_meta":{"x":null}}"#;
    let known: Content<'_> = serde_json::from_str(content).unwrap();
    assert_eq!(serde_json::to_string(&known).unwrap(), content);
    let mut side = ServerSide::ready(Revision::V2025_11_25);
    let params = r#"{"name":"t","unknown":{"b":1,"a":[ ]},"arguments":{"z":1.0}}"#;
    let message = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"x/y","params":{params}}}"#);
    let event = side.receive(&message);
    let Some(ServerEvent::Request(request)) = event else { panic!("{event:?}") };
    assert_eq!(request.params.unwrap().as_json(), params);
    side.server.respond(request.id, &Raw::new(params).unwrap(), &mut side.out).unwrap();
    assert_eq!(side.sent(), [format!(r#"{{"jsonrpc":"2.0","id":1,"result":{params}}}"#)]);
}

#[test]
fn promise_10_debug_shows_no_payload() {
    kept(Promise::Quiet);
    let text = Raw::new(r#""s3cret""#).unwrap();
    assert_eq!(format!("{text:?}"), "Raw(string, 8 bytes)");
    let inbox = {
        let mut inbox = Inbox::new(&Limits::default());
        _ = inbox.feed(b"s3cret");
        inbox
    };
    assert!(!format!("{inbox:?}").contains("s3cret"));
}

/// A machine shows the handles of what is in flight, and no text of the peer or of the application.
#[test]
fn promise_10_machines_show_no_payload() {
    let mut server = ServerSide::ready(Revision::V2025_11_25);
    let message = |id: u32, method: &str, params: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
    };
    let params = r#"{"uri":"file:///s3cret"}"#;
    let subscribe = server.request(&message(1, "resources/subscribe", params));
    server.server.respond(subscribe, &(), &mut server.out).unwrap();
    let params =
        r#"{"name":"s3cret","arguments":{"a":"s3cret"},"_meta":{"progressToken":"s3cret"}}"#;
    server.request(&message(2, "tools/call", params));
    let shown = format!("{:#?}", server.server);
    assert!(!shown.contains("s3cret"), "{shown}");
    assert!(shown.contains("Ready") && shown.contains("inbound: 1"), "{shown}");

    let mut client = ClientSide::ready(Revision::V2025_11_25);
    let (params, options) = (json!({"name": "s3cret"}), CallOptions::new());
    let params = Json(&params);
    let out = &mut client.out;
    client.client.call_method("tools/call", &params, options, client.now, out).unwrap();
    let filter = SubscriptionFilter::new().with_resource("file:///s3cret");
    client.client.subscribe(&filter, client.now, &mut client.out).unwrap();
    let shown = format!("{:#?}", client.client);
    assert!(!shown.contains("s3cret"), "{shown}");
    assert!(shown.contains("outbound: ") && shown.contains("calls: ["), "{shown}");
}

/// The owner of a message over HTTP is its sender, and no client can enter the session of another one.
#[test]
fn owners_reach_the_machine_over_http() {
    for seed in seeds() {
        if let Err(failure) = HttpTrial::run(&mut Choices::seeded(seed), 120) {
            panic!("seed {seed}: {failure}");
        }
    }
}

/// Proves L-TASK-62, L-TASK-63, L-TASK-75, M-TASKX-19: for any operations of several requestors on tasks.
#[test]
fn owners_reach_their_tasks_only() {
    seeds().for_each(|seed| check_owners(&mut Choices::seeded(seed), 40));
}

/// Proves H-HTTP-174, H-HTTP-175: for any operations of several clients on sessions, no client reaches or ends a session of another principal, and
/// sessions are displaced and expire in the documented order.
#[test]
fn owners_reach_their_sessions_only() {
    seeds().for_each(|seed| check_sessions(&mut Choices::seeded(seed), 120));
}

/// The tokens of a client reach only their server and outlive the process, for any behaviour of servers and other
/// processes.
#[test]
fn tokens_are_kept_in_any_world() {
    for seed in 0..400 {
        AuthorizationWorld::play(&mut Choices::seeded(seed));
    }
}
