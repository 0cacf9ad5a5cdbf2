//! The cost of a message for a server, beside all state that its client can pile up, in steps of `WorkMeter`.

use mcp_sansio::error::ViolationKind;
use mcp_sansio::model::{InputRequired, method};
use mcp_sansio::subscription::Delivery;
use mcp_sansio::task::{NewTask, Tasks};
use mcp_sansio::testing::WorkMeter;
use mcp_sansio::{CallOptions, ClientRequest, Limits, Phase, Revision, ServerEvent};
use mcp_sansio_proptests::{ServerSide, config};

/// The maximum factor between the cost of a message with and without the pile.
const MOST: u64 = 4;

pub(super) fn request(id: &str, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
}

/// A name, and a function that creates a server with this pile.
type Pile = (&'static str, fn() -> ServerSide);

/// The state that clients can pile up.
const PILES: [Pile; 14] = [
    ("requests in flight", requests),
    ("requests whose ids collide", colliding),
    ("batches that wait for one answer", batches),
    ("batched answers whose ids collide", colliding_answers),
    ("subscriptions to resources", subscriptions),
    ("subscriptions", listens),
    ("subscriptions with changes that find no room", changes),
    ("requests that wait for input", inputs),
    ("elicitations", elicitations),
    ("tasks, each with requests that wait for its result", tasks),
    ("calls of the server", calls),
    ("calls that are remembered", remembered),
    ("answers that have not been sent", unsent),
    ("messages that wait for the session", messages_held),
];

fn ready() -> ServerSide {
    session(Revision::V2025_03_26)
}

/// Creates a session of a server that also serves modern requests.
fn session(revision: Revision) -> ServerSide {
    ServerSide::ready_with(config::server_of_both_eras(), revision)
}

fn requests() -> ServerSide {
    let mut side = ready();
    for id in 1..Limits::default().inbound_requests {
        side.request(&request(&id.to_string(), "x/work", "{}"));
    }
    side
}

/// The bucket of an id among a thousand, as in `src/rpc/index.rs`. Any peer can compute it.
fn home(id: u64) -> u64 {
    let hash = id.to_string().bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let folded = (hash ^ hash >> 32) & u64::from(u32::MAX);
    (folded.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % 1024
}

/// Returns ids in the same bucket.
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

/// Pings with colliding ids, whose answers wait for other answers of their batches. Most pings are refused.
fn colliding_answers() -> ServerSide {
    let mut side = ready();
    let limits = Limits::default();
    let mut ids = colliding_ids();
    for batch in 0..3 {
        let mut elements = vec![request(&format!("\"{batch}\""), "x/work", "{}")];
        let pings = ids.by_ref().take(limits.batch_elements as usize - 1);
        elements.extend(pings.map(|id| request(&id.to_string(), "ping", "{}")));
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

/// The `_meta` member of a modern message.
const ALONE: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

fn listens() -> ServerSide {
    let mut side = ready();
    for number in 0..Limits::default().listens {
        let params = format!(
            r#"{{{ALONE},"notifications":{{"toolsListChanged":true,"resourceSubscriptions":["file:///{number}"]}}}}"#
        );
        let id = format!("\"{number}\"");
        let event = side.receive(&request(&id, "subscriptions/listen", &params));
        assert!(matches!(event, Some(ServerEvent::Subscribed(_))), "{event:?}");
        assert!(!side.sent().is_empty(), "it is acknowledged");
    }
    side
}

/// Each subscription has many resources, of which the last one has changed while the client does not read.
fn changes() -> ServerSide {
    let mut config = config::server_of_both_eras();
    config.connection.limits.outbox_bytes = 100_000;
    let mut side = ServerSide::ready_with(config, Revision::V2025_03_26);
    let uris: Vec<String> =
        (0..Limits::default().subscriptions).map(|uri| format!("\"a:{uri}\"")).collect();
    let uris = uris.join(",");
    for number in 1..Limits::default().listens {
        let params = format!(r#"{{{ALONE},"notifications":{{"resourceSubscriptions":[{uris}]}}}}"#);
        _ = side.receive(&request(&format!("\"{number}\""), "subscriptions/listen", &params));
        assert!(!side.sent().is_empty(), "it is acknowledged");
    }
    while side.server.notify_method("x", &(), None, &mut side.out).is_ok()
        && side.server.notify_method("y", &(), None, &mut side.out).is_ok()
    {}
    assert_eq!(
        side.server.notifications().resource_updated("a:999", &mut side.out),
        Ok(Delivery::Lagged)
    );
    side
}

fn inputs() -> ServerSide {
    let mut side = session(Revision::V2025_06_18);
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

fn elicitations() -> ServerSide {
    let mut side = session(Revision::V2025_11_25);
    for number in 0..Limits::default().elicitations {
        let id = format!("{number:0200}");
        let params = mcp_sansio::model::ElicitParams::url("m", "https://x/", id.as_str());
        let (now, options) = (side.now, CallOptions::new());
        side.server.call::<method::Elicit>(&params, options, now, &mut side.out).unwrap();
        _ = side.sent();
    }
    side
}

fn tasks() -> ServerSide {
    let mut config = config::server_of_both_eras();
    config.capabilities = config.capabilities.with_tasks();
    let mut side = ServerSide::ready_with(config, Revision::V2025_11_25);
    let mut tasks = Tasks::default();
    for number in 0..500 {
        let work = request("1", "tools/call", r#"{"name":"t","task":{}}"#);
        let id = side.request(&work);
        let (now, new) = (side.now, NewTask::new(format!("t-{number}")));
        side.server.tasks(&mut tasks).begin(id, new, now, &mut side.out).unwrap();
        let wait = format!(r#"{{"taskId":"t-{number}"}}"#);
        let event = side.receive(&request(&format!("\"{number}\""), "tasks/result", &wait));
        let Some(ServerEvent::Request(request)) = event else { panic!("{event:?}") };
        let ClientRequest::Task(call) = &request.kind else { panic!("{request:?}") };
        side.server.tasks(&mut tasks).serve(request.id, call, now, &mut side.out).unwrap();
        _ = side.sent();
    }
    side
}

fn calls() -> ServerSide {
    let mut side = ready();
    for _ in 1..Limits::default().outbound_calls {
        side.call("x/call");
        _ = side.sent();
    }
    side
}

fn remembered() -> ServerSide {
    let mut side = ready();
    for _ in 0..2 * Limits::default().remembered_calls {
        let call = side.call("x/call");
        _ = side.sent();
        side.server.cancel(call, None, &mut side.out).unwrap();
        _ = side.sent();
    }
    side
}

/// The client does not read, so the output piles up.
fn unsent() -> ServerSide {
    let mut side = ready();
    while side.out.len() < Limits::default().outbox_bytes / 16 {
        _ = side.receive(&request("1", "ping", "{}"));
    }
    side
}

/// A server whose session is not open, with all messages that it may hold.
fn messages_held() -> ServerSide {
    let mut side = ServerSide::with(config::server_of_both_eras());
    while side.server.notify_method("x", &(), None, &mut side.out).is_ok()
        && side.server.notify_method("y", &(), None, &mut side.out).is_ok()
    {}
    side
}

/// Returns the steps of common messages.
fn cost(side: &mut ServerSide, colliding: u64) -> Vec<u64> {
    let cancelled =
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"c"}}"#;
    let listen = format!(r#"{{{ALONE},"notifications":{{"toolsListChanged":true}}}}"#);
    let unsent = side.out.len();
    let mut costs = Vec::new();
    for text in [
        request("\"p\"", "ping", "{}"),
        request("\"c\"", "tools/list", "{}"),
        cancelled.to_owned(),
        request("\"c\"", "subscriptions/listen", &listen),
        cancelled.to_owned(),
        r#"{"jsonrpc":"2.0","id":987654321,"result":{}}"#.to_owned(),
        "noise".to_owned(),
        request(&colliding.to_string(), "ping", "{}"),
    ] {
        let meter = WorkMeter::start();
        _ = side.server.receive(text.as_str(), side.now, &mut side.out);
        _ = side.server.poll_timeout();
        costs.push(meter.steps());
        // Keeps the pile that existed before.
        if unsent == 0 {
            _ = side.sent();
        }
    }
    costs
}

/// Checks that no pile of a client makes a message cost more than four times as much.
pub(super) fn check() {
    // An id that is not in the pile.
    let colliding = colliding_ids().nth(1_000).unwrap();
    let usual = cost(&mut ready(), colliding);
    let unopened = cost(&mut ServerSide::with(config::server_of_both_eras()), colliding);
    for (name, pile) in PILES {
        let mut side = pile();
        let usual = if side.server.phase() == Phase::Opening { &unopened } else { &usual };
        let piled = cost(&mut side, colliding);
        println!("{name}: {piled:?} steps, and {usual:?} without");
        is_flat(name, &piled, usual);
    }
}

/// Checks that no message costs more than four times as much.
pub(super) fn is_flat(name: &str, piled: &[u64], usual: &[u64]) {
    assert_eq!(piled.len(), usual.len());
    assert!(0 < usual.iter().sum::<u64>(), "{name}: no step is counted");
    for (piled, usual) in piled.iter().zip(usual) {
        // Allows one lookup in each of a few tables that are empty without the pile. It also allows a scan of the two
        // small tables: remembered calls and elicitations.
        let few = Limits::default().remembered_calls.max(Limits::default().elicitations);
        let most = MOST * usual + 24 + u64::from(few);
        assert!(*piled <= most, "{name}: {piled} steps, and {usual} without");
    }
}

#[test]
fn ids_that_collide_are_refused_and_others_are_served() {
    let mut side = colliding();
    side.request(&request("1", "x/work", "{}"));
    side.request(&request("\"a\"", "x/work", "{}"));
}
