//! What a message costs a server beside everything that its client can pile up: steps, as `WorkMeter` counts them.

use mcp_sansio::model::InputRequired;
use mcp_sansio::testing::WorkMeter;
use mcp_sansio::{Limits, Revision, ServerEvent, ViolationKind};
use mcp_sansio_proptests::ServerSide;

/// How many times as much a message may cost as without the pile.
const MOST: u64 = 4;

fn request(id: &str, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
}

/// A name, and a server with all of it.
type Pile = (&'static str, fn() -> ServerSide);

/// What clients can pile up.
const PILES: [Pile; 6] = [
    ("requests in flight", requests),
    ("requests whose ids collide", colliding),
    ("batches that wait for one answer", batches),
    ("subscriptions to resources", subscriptions),
    ("subscriptions", listens),
    ("requests that wait for input", inputs),
];

fn ready() -> ServerSide {
    ServerSide::ready(Revision::V2025_03_26)
}

fn requests() -> ServerSide {
    let mut side = ready();
    for id in 1..Limits::default().inbound_requests {
        side.request(&request(&id.to_string(), "x/work", "{}"));
    }
    side
}

/// The home of an id among a thousand, as `src/rpc/index.rs` has it. Anybody can compute it.
fn home(id: u64) -> u64 {
    let hash = id.to_string().bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let folded = (hash ^ hash >> 32) & u64::from(u32::MAX);
    (folded.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % 1024
}

/// Ids with the same home.
pub(super) fn colliding_ids() -> impl Iterator<Item = u64> {
    (1_000_000_000_u64..).filter(|id| home(*id) == 7)
}

fn colliding() -> ServerSide {
    let mut side = ready();
    let mut refused = 0;
    for id in colliding_ids().take(1_000) {
        match side.receive(&request(&id.to_string(), "x/work", "{}")) {
            Some(ServerEvent::Request(_)) => {}
            Some(ServerEvent::Violation(violation)) => {
                let seen = (violation.kind, violation.answered);
                assert_eq!(seen, (ViolationKind::CollidingId, true));
                refused += 1;
            }
            other => panic!("{other:?}"),
        }
        _ = side.sent();
    }
    assert!(0 < refused || cfg!(mutants), "they do not collide");
    side
}

fn batches() -> ServerSide {
    let mut side = ready();
    let limits = Limits::default();
    for batch in 0..limits.batches {
        let mut elements = vec![request(&format!("\"{batch}\""), "x/work", "{}")];
        for element in 1..limits.batch_elements {
            elements.push(request(&format!("\"{batch}-{element}\""), "ping", "{}"));
        }
        let text = format!("[{}]", elements.join(","));
        for frame in mcp_sansio::Frames::of(text.as_bytes(), &limits) {
            _ = side.server.receive(frame, side.now, &mut side.out);
        }
        assert_eq!(side.sent(), [""; 0], "the answers wait");
    }
    side
}

fn subscriptions() -> ServerSide {
    let mut side = ready();
    for number in 0..Limits::default().subscriptions {
        let params = format!(r#"{{"uri":"file:///{number}"}}"#);
        let id = side.request(&request("1", "resources/subscribe", &params));
        side.respond(id, "{}");
        _ = side.sent();
    }
    side
}

/// A message that stands alone: everything but its id and its method.
const ALONE: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

fn listens() -> ServerSide {
    let mut side = ready();
    for number in 0..Limits::default().listens {
        let params = format!(
            r#"{{{ALONE},"notifications":{{"toolsListChanged":true,"resourceSubscriptions":["file:///{number}"]}}}}"#
        );
        let id = format!("\"{number}\"");
        _ = side.receive(&request(&id, "subscriptions/listen", &params));
        assert!(!side.sent().is_empty(), "it is acknowledged");
    }
    side
}

fn inputs() -> ServerSide {
    let mut side = ServerSide::ready(Revision::V2025_06_18);
    let params = r#"{"name":"n"}"#;
    for number in 0..Limits::default().inbound_requests - 1 {
        let text = request(&number.to_string(), "tools/call", params);
        let Some(ServerEvent::Request(request)) = side.receive(&text) else { panic!("a request") };
        let needed = InputRequired::new().roots("roots");
        side.server.require_input(&request, &needed, side.now, &mut side.out).unwrap();
        _ = side.sent();
    }
    side
}

/// Steps of the messages that everybody sends.
fn cost(side: &mut ServerSide, colliding: u64) -> Vec<u64> {
    let cancelled =
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"c"}}"#;
    let mut costs = Vec::new();
    for text in [
        request("\"p\"", "ping", "{}"),
        request("\"c\"", "tools/list", "{}"),
        cancelled.to_owned(),
        r#"{"jsonrpc":"2.0","id":987654321,"result":{}}"#.to_owned(),
        "noise".to_owned(),
        request(&colliding.to_string(), "ping", "{}"),
    ] {
        let meter = WorkMeter::start();
        _ = side.server.receive(text.as_str(), side.now, &mut side.out);
        _ = side.server.poll_timeout();
        costs.push(meter.steps());
        _ = side.sent();
    }
    costs
}

/// Checks that nothing that a client can pile up makes a message cost more than four times as much.
pub(super) fn check() {
    // One that is not in the pile.
    let colliding = colliding_ids().nth(1_000).unwrap();
    let usual = cost(&mut ready(), colliding);
    for (name, pile) in PILES {
        let mut side = pile();
        let piled = cost(&mut side, colliding);
        println!("{name}: {piled:?} steps, and {usual:?} without");
        for (piled, usual) in piled.iter().zip(&usual) {
            // One look at each of a few tables, which are empty otherwise.
            assert!(*piled <= MOST * usual + 24, "{name}: {piled} steps, and {usual} without");
        }
    }
}

#[test]
fn ids_that_collide_are_refused_and_others_are_served() {
    let mut side = colliding();
    side.request(&request("1", "x/work", "{}"));
    side.request(&request("\"a\"", "x/work", "{}"));
}
