//! The cost of a message to a server beside all state that a client can pile up.

use std::hint::black_box;
use std::sync::Arc;

use mcp_sansio::json::Raw;
use mcp_sansio::model::{ElicitParams, InputRequired, ListChanged, ResourcesCapability, method};
use mcp_sansio::subscription::Delivery;
use mcp_sansio::task::{NewTask, Tasks, TasksConfig};
use mcp_sansio::{
    CallOptions, ClientRequest, Framing, Instant, Limits, Outbox, Server, ServerConfig, ServerEvent,
};

use super::{Meter, Round, Work, limits};

pub(super) const ALL: &[Work] = &[
    Work::piled("server: beside ids that collide", colliding).at(&[100, 1_000]),
    Work::piled("server: beside resources that a session is subscribed to", resources),
    Work::piled("server: beside open subscriptions", listens),
    Work::piled("server: beside a subscription with changes that find no room", changes),
    Work::piled("server: beside requests that wait for input", inputs),
    Work::piled("server: beside tasks, whose results are waited for", tasks),
    Work::piled("server: beside calls of its own", calls),
    Work::few("server: beside calls that are remembered", remembered),
    Work::few("server: beside elicitations", elicitations),
    Work::piled("server: beside answers that have not been sent", unsent),
    Work::piled("server: beside messages that wait for the session", held),
];

/// The request that opens a session, with a revision and the client's capabilities.
pub(super) const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{},"elicitation":{"form":{},"url":{}}},"clientInfo":{"name":"c","version":"1"}}}"#;
pub(super) const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// The `_meta` of a modern request.
const ALONE: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

/// Messages that any client can send and that leave no state behind.
pub(super) const MESSAGES: [&str; 5] = [
    r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":"c","method":"tools/list"}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"c"}}"#,
    r#"{"jsonrpc":"2.0","id":987654321,"result":{}}"#,
    "noise",
];

pub(super) fn request(id: &str, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params}}}}}"#)
}

/// A server and its outbox.
struct Served {
    server: Server,
    out: Outbox,
}

impl Served {
    fn fresh(limits: Limits) -> Self {
        let mut config = ServerConfig::new("bench", "1");
        config.capabilities.tools = Some(ListChanged::notified());
        config.capabilities.resources = Some(ResourcesCapability::notified());
        config.capabilities = config.capabilities.with_tasks();
        let out = Outbox::new(Framing::Lines, &limits);
        config.connection.limits = limits;
        Self { server: Server::new(Arc::new(config)), out }
    }

    fn with(limits: Limits) -> Self {
        let mut served = Self::fresh(limits);
        for message in [INITIALIZE, INITIALIZED] {
            _ = served.receive(message);
        }
        served.out.sent(usize::MAX);
        served
    }

    fn new() -> Self {
        Self::with(limits())
    }

    fn receive<'f>(&mut self, message: &'f str) -> Option<ServerEvent<'f>> {
        self.server.receive(message, Instant::EPOCH, &mut self.out)
    }

    /// Receives the messages that any client can send.
    fn round(self) -> Round {
        self.round_of(MESSAGES.map(String::from).to_vec())
    }

    fn round_of(mut self, messages: Vec<String>) -> Round {
        let is_read = self.out.is_empty();
        Box::new(move |meter: &Meter| {
            meter.count(|| {
                for message in &messages {
                    black_box(self.receive(black_box(message)));
                    black_box(self.server.poll_timeout());
                }
            });
            if is_read {
                self.out.sent(usize::MAX);
            }
            messages.len() as u64
        })
    }
}

/// The hash of the text of an id, as in `src/rpc/id.rs` and `src/rpc/index.rs`. The hash has no secret, so a peer can
/// compute it.
fn spread(id: u64) -> u64 {
    let hash = id.to_string().bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let folded = (hash ^ hash >> 32) & u64::from(u32::MAX);
    folded.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32
}

/// Returns ids that occupy as few home slots of the index as possible. Their chains are full, and there is at least
/// one.
pub(super) fn colliding_ids(count: usize) -> impl Iterator<Item = u64> {
    let full = (count as u64).div_ceil(16);
    (1_000_000_000_u64..).filter(move |id| home(*id, count) < full)
}

/// Returns ids for the first home slot: more than its full chain accepts, and some for the measured rounds.
pub(super) fn refused_ids(count: usize) -> (Vec<u64>, impl Iterator<Item = u64>) {
    let mut ids = (2_000_000_000_u64..).filter(move |id| home(*id, count) == 0);
    (ids.by_ref().take(200).collect(), ids.take(16))
}

fn home(id: u64, count: usize) -> u64 {
    spread(id) % count.next_power_of_two() as u64
}

fn colliding(count: usize) -> Round {
    let mut served = Served::new();
    let mut taken = 0;
    for id in colliding_ids(count) {
        let message = request(&id.to_string(), "tools/list", "");
        // Ids whose chain is already full are refused.
        taken += usize::from(matches!(served.receive(&message), Some(ServerEvent::Request(_))));
        if taken == count {
            break;
        }
    }
    let (more, refused) = refused_ids(count);
    for id in more {
        _ = served.receive(&request(&id.to_string(), "tools/list", ""));
    }
    served.out.sent(usize::MAX);
    let mut messages = MESSAGES.map(String::from).to_vec();
    messages.extend(refused.map(|id| request(&id.to_string(), "ping", "")));
    served.round_of(messages)
}

fn resources(count: usize) -> Round {
    let mut limits = limits();
    limits.subscriptions = 1_000_000;
    let mut served = Served::with(limits);
    for number in 0..count {
        let message = request("1", "resources/subscribe", &format!(r#""uri":"a:{number}""#));
        let Some(ServerEvent::Request(request)) = served.receive(&message) else { panic!() };
        served.server.respond(request.id, &(), &mut served.out).unwrap();
    }
    served.out.sent(usize::MAX);
    served.round()
}

fn listen(served: &mut Served, id: usize, uris: &str) {
    let params = format!(r#"{ALONE},"notifications":{{"resourceSubscriptions":[{uris}]}}"#);
    let message = request(&format!("\"{id}\""), "subscriptions/listen", &params);
    assert!(matches!(served.receive(&message), Some(ServerEvent::Subscribed(_))));
}

fn listens(count: usize) -> Round {
    let mut limits = limits();
    limits.listens = 1_000_000;
    let mut served = Served::with(limits);
    for number in 0..count {
        listen(&mut served, number, r#""a:b""#);
    }
    served.out.sent(usize::MAX);
    served.round()
}

fn changes(count: usize) -> Round {
    let mut limits = limits();
    (limits.subscriptions, limits.outbox_bytes) = (1_000_000, 10_000_000);
    let mut served = Served::with(limits);
    let uris: Vec<String> = (0..count).map(|uri| format!("\"a:{uri:06}\"")).collect();
    listen(&mut served, 0, &uris.join(","));
    let params = Raw::new(r#"{"text":"0123456789"}"#).unwrap();
    while served.server.notify_method("x", &params, None, &mut served.out).is_ok() {}
    let changed = served
        .server
        .notifications()
        .resource_updated(&format!("a:{:06}", count - 1), &mut served.out);
    assert_eq!(changed, Ok(Delivery::Lagged));
    served.round()
}

fn inputs(count: usize) -> Round {
    let mut served = Served::new();
    for number in 0..count {
        let message = request(&number.to_string(), "tools/call", r#""name":"n""#);
        let Some(ServerEvent::Request(request)) = served.receive(&message) else { panic!() };
        let needed = InputRequired::new().roots("roots");
        served.server.require_input(&request, &needed, Instant::EPOCH, &mut served.out).unwrap();
    }
    served.out.sent(usize::MAX);
    served.round()
}

/// Receives the messages that any client can send, and a `tasks/get` of the first task.
fn tasks(count: usize) -> Round {
    let mut served = Served::new();
    let mut config = TasksConfig::default();
    (config.tasks, config.tasks_of_owner, config.bytes) = (1_000_000, 1_000_000, 1 << 30);
    let mut tasks = Tasks::new(config);
    let now = Instant::EPOCH;
    let about = |method: &str, number: usize| {
        request(&format!("\"{method}-{number}\""), method, &format!(r#""taskId":"t-{number}""#))
    };
    let serve = move |served: &mut Served, tasks: &mut Tasks, message: &str| {
        let Some(ServerEvent::Request(request)) = served.receive(message) else { panic!() };
        let ClientRequest::Task(call) = &request.kind else { panic!() };
        served.server.tasks(tasks).serve(request.id, call, now, &mut served.out).unwrap();
    };
    for number in 0..count {
        let message = request("1", "tools/call", r#""name":"t","task":{}"#);
        let Some(ServerEvent::Request(request)) = served.receive(&message) else { panic!() };
        let new = NewTask::new(format!("t-{number}"));
        served.server.tasks(&mut tasks).begin(request.id, new, now, &mut served.out).unwrap();
        serve(&mut served, &mut tasks, &about("tasks/result", number));
    }
    served.out.sent(usize::MAX);
    let question = about("tasks/get", 0);
    Box::new(move |meter: &Meter| {
        meter.count(|| {
            for message in MESSAGES {
                black_box(served.receive(black_box(message)));
                black_box(served.server.poll_timeout());
            }
            serve(&mut served, &mut tasks, black_box(&question));
        });
        served.out.sent(usize::MAX);
        MESSAGES.len() as u64 + 1
    })
}

fn call(served: &mut Served) -> mcp_sansio::CallId {
    let Served { server, out } = served;
    server.call_method("x/call", &(), CallOptions::new(), Instant::EPOCH, out).unwrap()
}

fn calls(count: usize) -> Round {
    let mut served = Served::new();
    for _ in 0..count {
        call(&mut served);
    }
    served.out.sent(usize::MAX);
    served.round()
}

fn remembered(count: usize) -> Round {
    let mut served = Served::new();
    for _ in 0..count {
        let call = call(&mut served);
        served.out.sent(usize::MAX);
        served.server.cancel(call, None, &mut served.out).unwrap();
    }
    served.out.sent(usize::MAX);
    served.round()
}

fn elicitations(count: usize) -> Round {
    let mut served = Served::new();
    for number in 0..count {
        let id = format!("{number:0200}");
        let params = ElicitParams::url("m", "https://x/", id.as_str());
        let Served { server, out } = &mut served;
        let options = CallOptions::new();
        server.call::<method::Elicit>(&params, options, Instant::EPOCH, out).unwrap();
    }
    served.out.sent(usize::MAX);
    served.round()
}

/// Receives the messages that any client can send, and a subscription that is cancelled while messages about it are
/// unsent.
fn unsent(count: usize) -> Round {
    let mut served = Served::new();
    for _ in 0..count {
        _ = served.receive(MESSAGES[0]);
    }
    let mut messages = MESSAGES.map(String::from).to_vec();
    let params = format!(r#"{ALONE},"notifications":{{"toolsListChanged":true}}"#);
    messages.push(request("\"c\"", "subscriptions/listen", &params));
    messages.push(MESSAGES[2].into());
    served.round_of(messages)
}

fn held(count: usize) -> Round {
    let mut limits = limits();
    limits.held_bytes = 1 << 30;
    let mut served = Served::fresh(limits);
    for number in 0..count {
        let method = if number % 2 == 0 { "x" } else { "y" };
        served.server.notify_method(method, &(), None, &mut served.out).unwrap();
    }
    served.round()
}
