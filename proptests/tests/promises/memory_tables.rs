//! The tables of a connection, each filled to its limit, against the formula in the documentation of `Limits`.

use mcp_sansio::call::{Paging, TaskOptions};
use mcp_sansio::json::Raw;
use mcp_sansio::model::{InputRequired, SubscriptionFilter, method};
use mcp_sansio::{
    CallOptions, ClientConfig, ClientEvent, Frames, IncomingId, Limits, Revision, RevisionSet,
    ServerEvent,
};
use mcp_sansio_proptests::allocations::held;
use mcp_sansio_proptests::memory_formula::MemoryFormula;
use mcp_sansio_proptests::{ClientSide, ServerSide, config};

use super::memory::within;

/// The `_meta` member of a modern message.
pub(super) const ALONE: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

pub(super) fn request(id: &str, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params}}}}}"#)
}

pub(super) fn result(id: u64, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{{result}}}}}"#)
}

/// Returns a string of this length that differs for each number.
pub(super) fn text(number: usize, bytes: usize) -> String {
    format!("{number:0bytes$}")
}

/// Creates a client of a modern server. Its next request has id 2.
fn without_session(change: impl FnOnce(&mut Limits)) -> ClientSide {
    let mut config: ClientConfig = config::client_of_both_eras();
    config.capabilities = config.capabilities.with_tasks();
    config.revisions = RevisionSet::MODERN;
    change(&mut config.connection.limits);
    let mut side = ClientSide::with(config);
    side.client.connect(side.now, &mut side.out).unwrap();
    let discovery = r#""resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true},"extensions":{"io.modelcontextprotocol/tasks":{}}},"ttlMs":0,"cacheScope":"private""#;
    assert!(side.receive(&result(1, discovery)).is_some());
    _ = side.sent();
    side.out.release();
    side
}

fn limits_of(side: &ClientSide) -> Limits {
    side.client.config().connection.limits.clone()
}

#[track_caller]
pub(super) fn is_near(bytes: usize, formula: usize, what: &str) {
    within(bytes, formula, what);
    assert!(formula <= 4 * bytes, "{what}: {bytes} bytes, and the formula says {formula}");
}

/// Each task of the peer has the longest id and the longest description, and as many open requests about it as
/// possible.
#[test]
fn tasks_of_calls_match_the_memory_formula() {
    tasks(2_000, 8_000);
    tasks(8_192, 9_000);
}

fn tasks(uri_bytes: usize, kept_bytes: usize) {
    let mut side = without_session(|limits| {
        (limits.outbound_calls, limits.uri_bytes, limits.kept_bytes) = (65, uri_bytes, kept_bytes);
    });
    let limits = limits_of(&side);
    let task = |number: usize, bytes: usize, more: &str| {
        let id = text(number, limits.uri_bytes - 2);
        let task = |message: &str| {
            format!(
                r#""taskId":"{id}","status":"working","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttlMs":null,"pollIntervalMs":1000,"statusMessage":"{message}"{more}"#
            )
        };
        let rest = bytes - task("").len() - r#""resultType":"task"{}"#.len();
        task(&"m".repeat(rest))
    };
    let ((), bytes) = held(|| {
        for number in 0..limits.outbound_calls as usize {
            let params = Raw::new(r#"{"name":"t"}"#).unwrap();
            let options = CallOptions::new().task(TaskOptions::new());
            let (now, out) = (side.now, &mut side.out);
            side.client.call_method("tools/call", &params, options, now, out).unwrap();
            let created =
                format!(r#""resultType":"task",{}"#, task(number, limits.kept_bytes - 10, ""));
            assert!(matches!(
                side.receive(&result(number as u64 + 2, &created)),
                Some(ClientEvent::Task(_))
            ));
        }
        _ = side.elapse(1_000);
        let asked = u64::from(limits.outbound_calls) + 2;
        for number in 0..limits.outbound_calls as usize {
            let inputs = r#","inputRequests":{"k":{"method":"roots/list"}}"#;
            let got = format!(
                r#""resultType":"complete",{}"#,
                task(number, limits.kept_bytes - 4, inputs).replace("working", "input_required")
            );
            let event = side.receive(&result(asked + number as u64, &got));
            assert!(matches!(event, Some(ClientEvent::Task(_))), "{event:?}");
        }
        let needed: Vec<IncomingId> = side
            .outcomes()
            .iter()
            .filter_map(|event| match event {
                ClientEvent::Request(request) => Some(request.id),
                _ => None,
            })
            .collect();
        assert_eq!(needed.len(), limits.outbound_calls as usize);
        for id in needed {
            side.respond(id, r#"{"roots":[]}"#);
        }
        _ = side.elapse(1_000);
        assert_eq!(side.client.in_flight().counts().outbound, 3 * limits.outbound_calls as usize);
        _ = side.sent();
        side.out.release();
    });
    is_near(bytes, MemoryFormula::new(&limits).tasks(), "tasks");
}

/// Each subscription has as many resources as possible, with the shortest URIs.
#[test]
fn open_subscriptions_match_the_memory_formula() {
    let mut config = config::server_of_both_eras();
    let limits = &mut config.connection.limits;
    (limits.listens, limits.subscriptions) = (9, 1_025);
    let limits = limits.clone();
    let mut side = ServerSide::with(config);
    let ((), bytes) = held(|| {
        for number in 0..limits.listens {
            let uris: Vec<String> =
                (0..limits.subscriptions).map(|uri| format!("\"a:{uri}\"")).collect();
            let params = format!(
                r#"{ALONE},"notifications":{{"resourceSubscriptions":[{}]}}"#,
                uris.join(",")
            );
            _ = side.receive(&request(&number.to_string(), "subscriptions/listen", &params));
            assert!(!side.sent().is_empty(), "it is acknowledged");
        }
        side.out.release();
    });
    is_near(bytes, MemoryFormula::new(&limits).listens(), "subscriptions that requests keep open");
}

/// The resource subscriptions of a session count as kept bytes, and take no more than that.
#[test]
fn session_subscriptions_match_their_counted_bytes() {
    for length in [1, 9, 100] {
        let mut side = ServerSide::ready(Revision::V2025_06_18);
        let ((), bytes) = held(|| {
            for number in 0..Limits::default().subscriptions {
                let uri = format!("a:{}", text(number as usize, length));
                let id = side.request(&request(
                    "1",
                    "resources/subscribe",
                    &format!(r#""uri":"{uri}""#),
                ));
                side.respond(id, "{}");
                _ = side.sent();
            }
            side.out.release();
        });
        let kept = side.server.in_flight().counts().kept_bytes;
        is_near(bytes, kept, "what a session is subscribed to");
        side.server.close();
        _ = side.outcomes();
        assert_eq!(side.server.in_flight().counts().kept_bytes, 0);
    }
}

/// Messages of any length that are held until the handshake ends.
#[test]
fn held_messages_match_the_memory_formula() {
    for (what, length) in [("short", 1), ("long", 1_000)] {
        let mut config = config::client();
        let limits = &mut config.connection.limits;
        (limits.held_bytes, limits.outbound_calls) = (100_000, 5);
        let limits = limits.clone();
        let mut side = ClientSide::with(config);
        let ((), bytes) = held(|| {
            for number in 0.. {
                let method = if number % 2 == 0 { "x".repeat(length) } else { "y".repeat(length) };
                if side.client.notify_method(&method, &(), None, &mut side.out).is_err() {
                    break;
                }
            }
        });
        assert!(99_000 < side.client.in_flight().counts().held_bytes);
        is_near(
            bytes,
            MemoryFormula::new(&limits).held(),
            &format!("{what} messages that are held"),
        );
    }
}

/// Creates a server whose client has sent as many batches as may wait, of requests with ids of this length.
fn batches(limits: &Limits, length: usize) -> ServerSide {
    let mut config = config::server();
    config.connection.limits = limits.clone();
    let mut side = ServerSide::ready_with(config, Revision::V2025_03_26);
    side.out.release();
    for batch in 0..limits.batches as usize {
        let id = |element: usize| {
            format!("\"{}\"", text(batch * limits.batch_elements as usize + element, length))
        };
        let mut elements = vec![request(&id(0), "x/work", "")];
        elements.extend(
            (1..limits.batch_elements as usize).map(|element| {
                format!(r#"{{"jsonrpc":"2.0","id":{},"method":"ping"}}"#, id(element))
            }),
        );
        let batch = format!("[{}]", elements.join(","));
        for frame in Frames::of(batch.as_bytes(), limits) {
            _ = side.server.receive(frame, side.now, &mut side.out);
        }
        assert_eq!(side.sent(), [""; 0], "the answers wait");
    }
    side
}

#[test]
fn pending_batches_match_the_memory_formula() {
    let mut limits = Limits::default();
    limits.batches = 17;
    for length in [6, limits.id_bytes - 2] {
        let (side, bytes) = held(|| batches(&limits, length));
        limits.connection_bytes = side.server.in_flight().counts().kept_bytes;
        let formula = limits.connection_bytes + MemoryFormula::new(&limits).batches();
        let what = format!("batches of requests with ids of {length} bytes");
        if length < 100 {
            within(bytes, formula, &what);
        } else {
            is_near(bytes, formula, &what);
        }
        limits.connection_bytes = Limits::default().connection_bytes;
    }
}

/// The ids of URL elicitations, with the maximum length.
#[test]
fn elicitations_match_the_memory_formula() {
    let mut side = ClientSide::ready(Revision::V2025_11_25);
    let limits = limits_of(&side);
    side.out.release();
    let ((), bytes) = held(|| {
        for number in 0..2 * limits.elicitations as usize {
            let id = text(number, limits.uri_bytes - 2);
            let params =
                format!(r#""mode":"url","message":"m","url":"https://x/","elicitationId":"{id}""#);
            let id = side.request(&request("1", "elicitation/create", &params));
            side.respond(id, r#"{"action":"accept"}"#);
            _ = side.sent();
        }
        side.client.release();
        side.out.release();
    });
    is_near(bytes, MemoryFormula::new(&limits).elicitations(), "elicitations");
}

/// Early notifications of unacknowledged subscriptions count as kept bytes, for any number of subscriptions.
#[test]
fn early_notifications_match_their_counted_bytes() {
    for length in [1, 4_000] {
        let mut side = without_session(|limits| limits.uri_bytes = 4_000);
        let limits = limits_of(&side);
        let ((), bytes) = held(|| {
            for number in 2..34 {
                let filter = SubscriptionFilter::new().with_resource("a:b");
                side.client.subscribe(&filter, side.now, &mut side.out).unwrap();
                for change in 0..=limits.early_notifications {
                    let uri = text(change as usize, length);
                    _ = side.receive(&format!(
                        r#"{{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{{"uri":"{uri}","_meta":{{"io.modelcontextprotocol/subscriptionId":{number}}}}}}}"#
                    ));
                }
            }
            _ = side.sent();
            side.out.release();
        });
        let kept = side.client.in_flight().counts().kept_bytes;
        let subscriptions = 32 * 420 * 2;
        is_near(bytes, kept + subscriptions, &format!("early notifications of {length} bytes"));
    }
}

/// A client whose calls require several inputs, all of which but one are given.
#[test]
fn inputs_of_waiting_calls_match_their_counted_bytes() {
    let mut side = without_session(|limits| {
        limits.connection_bytes = 1 << 20;
        limits.kept_bytes = 1_000;
    });
    let limits = limits_of(&side);
    let ((), bytes) = held(|| {
        for number in 2..102 {
            let params = Raw::new(r#"{"name":"t"}"#).unwrap();
            let options = CallOptions::new();
            let (now, out) = (side.now, &mut side.out);
            side.client.call_method("tools/call", &params, options, now, out).unwrap();
            let message = "m".repeat(10_000);
            let asks = |key: &str| {
                format!(
                    r#""{key}":{{"method":"elicitation/create","params":{{"mode":"form","message":"{message}","requestedSchema":{{"type":"object","properties":{{}}}}}}}}"#
                )
            };
            let keys: Vec<String> = (0..9).map(|key| asks(&key.to_string())).collect();
            let needs = format!(
                r#""resultType":"input_required","inputRequests":{{{}}},"requestState":"{}""#,
                keys.join(","),
                text(number as usize, 3_000)
            );
            let first = side.receive(&result(number, &needs));
            let asked: Vec<IncomingId> = first
                .into_iter()
                .chain(side.outcomes())
                .filter_map(|event| match event {
                    ClientEvent::Request(request) => Some(request.id),
                    _ => None,
                })
                .collect();
            for id in asked.into_iter().skip(1) {
                side.respond(id, r#"{"action":"accept","content":{}}"#);
            }
        }
        _ = side.sent();
        side.out.release();
    });
    let kept = side.client.in_flight().counts().kept_bytes;
    assert!(kept <= limits.connection_bytes && limits.connection_bytes < kept + kept / 4);
    let formula = MemoryFormula::new(&limits);
    let calls = 2 * 100 * (420 + limits.kept_bytes);
    is_near(bytes, kept + calls + 2 * 100 * 360, "what calls need");
    assert!(limits.connection_bytes < formula.all(), "it is a part of the formula");
}

/// A list of a thousand pages.
#[test]
fn pages_of_a_list_take_the_documented_memory() {
    let mut side = ClientSide::ready(Revision::V2025_11_25);
    let (options, now) = (CallOptions::new(), side.now);
    side.client.list::<method::ListTools>(Paging::default(), options, now, &mut side.out).unwrap();
    _ = side.sent();
    side.out.release();
    let ((), bytes) = held(|| {
        for id in 2..1_001 {
            let page = result(id, &format!(r#""tools":[],"nextCursor":"{id}""#));
            assert!(matches!(side.receive(&page), Some(ClientEvent::Page(_))));
            _ = side.sent();
        }
        side.out.release();
    });
    is_near(bytes, 24 * 1_000, "the pages of a list");
}

/// Two subscriptions of a session have the same filter, and all notifications arrive before the application polls the
/// earlier ones.
#[test]
fn notifications_for_two_subscriptions_match_counted_bytes() {
    let mut side = ClientSide::ready(Revision::V2025_11_25);
    for _ in 0..2 {
        let filter = SubscriptionFilter::new().with_tools();
        side.client.subscribe(&filter, side.now, &mut side.out).unwrap();
    }
    assert_eq!(side.outcomes().len(), 2, "they are open");
    let most = Limits::default().early_notifications as usize;
    let changed = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    let ((), bytes) = held(|| {
        for _ in 0..10_000 {
            drop(side.receive(changed));
        }
    });
    is_near(
        bytes,
        side.client.in_flight().counts().kept_bytes,
        "notifications for two subscriptions",
    );
    assert_eq!(side.outcomes().len(), most + 1, "and that some are lost");
    assert_eq!(side.client.in_flight().counts().kept_bytes, 0);
}

/// The memory of long forms is freed with their responses.
#[test]
fn forms_that_have_been_answered_take_nothing() {
    let mut side = ClientSide::ready(Revision::V2025_11_25);
    let limits = limits_of(&side);
    side.out.release();
    let text = "x".repeat(limits.kept_bytes - 1_000);
    let form = format!(
        r#""message":"m","requestedSchema":{{"type":"object","properties":{{"a":{{"type":"string","title":"{text}"}}}}}}"#
    );
    let ((), bytes) = held(|| {
        let asked: Vec<IncomingId> = (0..100)
            .map(|id| side.request(&request(&id.to_string(), "elicitation/create", &form)))
            .collect();
        for id in asked {
            side.respond(id, r#"{"action":"decline"}"#);
        }
        _ = side.sent();
        side.out.release();
    });
    within(bytes, 2 * 128 * (limits.id_bytes + limits.token_bytes + 360), "forms");
}

/// A server whose requests wait for their last input, and hold the others.
#[test]
fn requests_waiting_for_input_match_their_counted_bytes() {
    let mut config = config::server();
    config.connection.limits.connection_bytes = 1 << 20;
    let limits = config.connection.limits.clone();
    let mut side = ServerSide::ready_with(config, Revision::V2025_06_18);
    let ((), bytes) = held(|| {
        let mut call = 0;
        for number in 0..200 {
            let text = request(
                &number.to_string(),
                "tools/call",
                &format!(r#""name":"{}""#, text(number, 1_000)),
            );
            let Some(ServerEvent::Request(request)) = side.receive(&text) else { break };
            let needed = InputRequired::new().roots("a").roots("b");
            side.server.require_input(&request, &needed, side.now, &mut side.out).unwrap();
            let name = "x".repeat(8_000);
            let roots = format!(r#""roots":[{{"uri":"file:///","name":"{name}"}}]"#);
            call += 1;
            side.receive(&result(call, &roots));
            call += 1;
            _ = side.sent();
        }
        side.out.release();
    });
    let kept = side.server.in_flight().counts().kept_bytes;
    assert!(kept <= limits.connection_bytes && limits.connection_bytes < kept + kept / 4);
    is_near(bytes, kept + 2 * 200 * 420, "requests that wait for input");
}
