//! The cost of a message to a client beside all state that a server can pile up.

use std::hint::black_box;
use std::sync::Arc;

use mcp_sansio::call::{Paging, TaskOptions};
use mcp_sansio::json::Raw;
use mcp_sansio::model::{ElicitationCapability, ListChanged, SubscriptionFilter, method};
use mcp_sansio::pagination::PageLimits;
use mcp_sansio::{
    CallId, CallOptions, Client, ClientConfig, ClientEvent, Framing, Instant, Limits, Outbox,
    RevisionSet,
};

use super::piled_server::{colliding_ids, refused_ids, request};
use super::{Meter, Round, Work, limits};

pub(super) const ALL: &[Work] = &[
    Work::piled("client: beside calls that wait", calls),
    Work::few("client: beside calls that are remembered", remembered),
    Work::piled("client: beside requests of the server", requests),
    Work::piled("client: beside ids that collide", colliding).at(&[100, 1_000]),
    Work::few("client: beside elicitations", elicitations),
    Work::piled("client: beside a subscription to resources", resources),
    Work::piled("client: beside what came before its subscription was open", early),
    Work::piled("client: beside tasks of the server", tasks),
    Work::piled("client: beside what calls need", needs),
    Work::piled("client: beside a list of many pages", pages),
    Work::piled("client: beside messages that wait for the session", held),
];

const SESSION: &str = r#""protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true}},"serverInfo":{"name":"s","version":"1"}"#;
const DISCOVERY: &str = r#""resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true},"extensions":{"io.modelcontextprotocol/tasks":{}}},"ttlMs":0,"cacheScope":"private""#;

/// Messages that any server can send and that leave no state behind.
const MESSAGES: [&str; 9] = [
    r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":"c","method":"roots/list"}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"c"}}"#,
    r#"{"jsonrpc":"2.0","id":987654321,"result":{}}"#,
    "noise",
    r#"{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:none"}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":987654321,"progress":1}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"none"}}"#,
];

fn result(id: usize, members: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{{members}}}}}"#)
}

/// A client and its outbox. Its calls have ids from 2 on.
struct Asked {
    client: Client,
    out: Outbox,
}

impl Asked {
    fn fresh(limits: Limits, revisions: RevisionSet) -> Self {
        let mut config = ClientConfig::new("bench", "1");
        config.capabilities.roots = Some(ListChanged::notified());
        config.capabilities.elicitation = Some(ElicitationCapability::both());
        config.capabilities = config.capabilities.with_tasks();
        config.revisions = revisions;
        let out = Outbox::new(Framing::Lines, &limits);
        config.connection.limits = limits;
        Self { client: Client::new(Arc::new(config)), out }
    }

    fn opened(revisions: RevisionSet, answer: &str) -> Self {
        let mut asked = Self::fresh(limits(), revisions);
        asked.client.connect(Instant::EPOCH, &mut asked.out).unwrap();
        assert!(asked.receive(&result(1, answer)).is_some());
        asked.out.sent(usize::MAX);
        asked
    }

    fn in_session() -> Self {
        Self::opened(RevisionSet::LEGACY, SESSION)
    }

    fn without_session() -> Self {
        Self::opened(RevisionSet::MODERN, DISCOVERY)
    }

    fn receive<'f>(&mut self, message: &'f str) -> Option<ClientEvent<'f>> {
        self.client.receive(message, Instant::EPOCH, &mut self.out)
    }

    fn call(&mut self) -> CallId {
        let Self { client, out } = self;
        let params = Raw::new(r#"{"name":"t"}"#).unwrap();
        let options = CallOptions::new().task(TaskOptions::new());
        let call = client.call_method("tools/call", &params, options, Instant::EPOCH, out).unwrap();
        out.sent(usize::MAX);
        call
    }

    fn subscribe(&mut self, filter: &SubscriptionFilter<'_>) {
        self.client.subscribe(filter, Instant::EPOCH, &mut self.out).unwrap();
        self.out.sent(usize::MAX);
    }

    /// Receives the messages that any server can send.
    fn round(self) -> Round {
        self.round_of(MESSAGES.map(String::from).to_vec())
    }

    fn round_of(mut self, messages: Vec<String>) -> Round {
        Box::new(move |meter: &Meter| {
            meter.count(|| {
                for message in &messages {
                    black_box(self.receive(black_box(message)));
                    black_box(self.client.poll_timeout());
                }
            });
            self.out.sent(usize::MAX);
            messages.len() as u64
        })
    }
}

fn calls(count: usize) -> Round {
    let mut asked = Asked::in_session();
    (0..count).for_each(|_| _ = asked.call());
    asked.round()
}

fn remembered(count: usize) -> Round {
    let mut asked = Asked::without_session();
    for _ in 0..count {
        let call = asked.call();
        asked.client.cancel(call, None, &mut asked.out).unwrap();
    }
    asked.out.sent(usize::MAX);
    asked.round()
}

fn requests(count: usize) -> Round {
    let mut asked = Asked::in_session();
    for id in 0..count {
        let message = request(&id.to_string(), "roots/list", "");
        assert!(matches!(asked.receive(&message), Some(ClientEvent::Request(_))));
    }
    asked.round()
}

fn colliding(count: usize) -> Round {
    let mut asked = Asked::in_session();
    let mut taken = 0;
    for id in colliding_ids(count) {
        let message = request(&id.to_string(), "roots/list", "");
        taken += usize::from(matches!(asked.receive(&message), Some(ClientEvent::Request(_))));
        if taken == count {
            break;
        }
    }
    let (more, refused) = refused_ids(count);
    for id in more {
        _ = asked.receive(&request(&id.to_string(), "roots/list", ""));
    }
    asked.out.sent(usize::MAX);
    let mut messages = MESSAGES.map(String::from).to_vec();
    messages.extend(refused.map(|id| request(&id.to_string(), "ping", "")));
    asked.round_of(messages)
}

fn elicitations(count: usize) -> Round {
    let mut asked = Asked::in_session();
    for number in 0..count {
        let params = format!(
            r#""mode":"url","message":"m","url":"https://x/","elicitationId":"{number:0200}""#
        );
        let message = request("1", "elicitation/create", &params);
        let Some(ClientEvent::Request(request)) = asked.receive(&message) else { panic!() };
        let declined = Raw::new(r#"{"action":"decline"}"#).unwrap();
        asked.client.respond(request.id, &declined, &mut asked.out).unwrap();
    }
    asked.out.sent(usize::MAX);
    asked.round()
}

fn resources(count: usize) -> Round {
    let mut asked = Asked::in_session();
    let filter = (0..count).fold(SubscriptionFilter::new(), |filter, number| {
        filter.with_resource(format!("a:{number:06}"))
    });
    asked.subscribe(&filter);
    for id in 0..count {
        // The id before those of its requests belongs to the subscription itself.
        _ = asked.receive(&result(3 + id, ""));
    }
    while asked.client.handle_timeout(Instant::EPOCH, &mut asked.out).is_some() {}
    asked.round()
}

fn early(count: usize) -> Round {
    let mut asked = Asked::without_session();
    for id in 2..2 + count.div_ceil(64) {
        asked.subscribe(&SubscriptionFilter::new().with_tools());
        let message = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}}}"#
        );
        for _ in 0..count.min(64) {
            assert!(asked.receive(&message).is_none());
        }
    }
    asked.round()
}

fn tasks(count: usize) -> Round {
    let mut asked = Asked::without_session();
    for id in 2..2 + count {
        asked.call();
        let task = format!(
            r#""resultType":"task","taskId":"t-{id}","status":"working","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttlMs":null"#
        );
        assert!(matches!(asked.receive(&result(id, &task)), Some(ClientEvent::Task(_))));
    }
    asked.round()
}

/// Pending calls need input, and the application has not taken the remaining input requests.
fn needs(count: usize) -> Round {
    let mut asked = Asked::without_session();
    let needs = r#""resultType":"input_required","inputRequests":{"a":{"method":"roots/list"},"b":{"method":"roots/list"}}"#;
    for number in 0..count {
        asked.call();
        // A call gets a new id after each response.
        assert!(asked.receive(&result(2 + 2 * number, needs)).is_some());
    }
    asked.round()
}

/// Each page is followed by another one.
fn pages(count: usize) -> Round {
    let mut asked = Asked::in_session();
    let mut limits = PageLimits::default();
    (limits.pages, limits.items, limits.bytes) = (u32::MAX, u64::MAX, usize::MAX);
    let mut paging = Paging::default();
    paging.limits = limits;
    let Asked { client, out } = &mut asked;
    let options = CallOptions::new();
    client.list::<method::ListTools>(paging, options, Instant::EPOCH, out).unwrap();
    let mut id = 1;
    let mut turn = move |asked: &mut Asked| {
        id += 1;
        let page = result(id, &format!(r#""tools":[],"nextCursor":"{id:010}""#));
        assert!(matches!(asked.receive(black_box(&page)), Some(ClientEvent::Page(_))));
        asked.out.sent(usize::MAX);
    };
    (0..count).for_each(|_| turn(&mut asked));
    Box::new(move |meter: &Meter| {
        meter.count(|| turn(&mut asked));
        1
    })
}

fn held(count: usize) -> Round {
    let mut limits = limits();
    limits.held_bytes = 1 << 30;
    let mut asked = Asked::fresh(limits, RevisionSet::LEGACY);
    for number in 0..count {
        let method = if number % 2 == 0 { "x" } else { "y" };
        asked.client.notify_method(method, &(), None, &mut asked.out).unwrap();
    }
    asked.round()
}
