//! A server with every table full at once, against the formula in the documentation of `Limits`.

use mcp_sansio::call::TaskOptions;
use mcp_sansio::json::Raw;
use mcp_sansio::{CallOptions, Frames, Inbox, Limits, Revision, ServerEvent};
use mcp_sansio_proptests::allocations::held;
use mcp_sansio_proptests::memory_formula::MemoryFormula;
use mcp_sansio_proptests::{ServerSide, config};

use super::memory_tables::{ALONE, is_near, request, result, text};

/// A server connection on which as many tables as possible are full.
struct Crowded {
    side: ServerSide,
    inbox: Inbox,
    limits: Limits,
    ids: u32,
    calls: u64,
}

impl Crowded {
    fn new(limits: Limits) -> Self {
        let mut config = config::server_of_both_eras();
        config.capabilities = config.capabilities.with_tasks();
        config.connection.limits = limits.clone();
        let inbox = Inbox::new(&limits);
        Self { side: ServerSide::with(config), inbox, limits, ids: 0, calls: 0 }
    }

    /// Returns the next id, with the maximum length.
    fn id(&mut self) -> String {
        self.ids += 1;
        format!("\"{}\"", text(self.ids as usize, self.limits.id_bytes - 2))
    }

    fn open(&mut self, revision: Revision) {
        let side = &mut self.side;
        let opened = side.receive(&request("0", "initialize", &format!(
            r#""protocolVersion":"{revision}","capabilities":{{"roots":{{}},"elicitation":{{"form":{{}},"url":{{}}}},"tasks":{{"requests":{{"elicitation":{{"create":{{}}}}}}}}}},"clientInfo":{{"name":"c","version":"1"}}"#
        )));
        assert!(matches!(opened, Some(ServerEvent::Opened(_))), "{opened:?}");
        // Messages before the session opens are held, and then move into the outbox.
        while side.server.notify_method("x", &(), None, &mut side.out).is_ok()
            && side.server.notify_method("y", &(), None, &mut side.out).is_ok()
        {}
        let ready = side.receive(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        assert_eq!(ready, Some(ServerEvent::Ready));
        _ = side.sent();
    }

    fn subscribe(&mut self) {
        for number in 0..self.limits.subscriptions {
            let id = self.id();
            let subscribe = request(&id, "resources/subscribe", &format!(r#""uri":"a:{number}""#));
            let id = self.side.request(&subscribe);
            self.side.respond(id, "{}");
        }
        for _ in 0..self.limits.listens {
            let id = self.id();
            let uris: Vec<String> =
                (0..self.limits.subscriptions).map(|uri| format!("\"a:{uri}\"")).collect();
            let params = format!(
                r#"{ALONE},"notifications":{{"resourceSubscriptions":[{}]}}"#,
                uris.join(",")
            );
            _ = self.side.receive(&request(&id, "subscriptions/listen", &params));
        }
        _ = self.side.sent();
    }

    /// Fills the tables of calls that have become tasks, and of remembered calls.
    fn call(&mut self) {
        for _ in 0..self.limits.remembered_calls {
            let call = self.side.call("x/call");
            self.calls += 1;
            _ = self.side.sent();
            self.side.server.cancel(call, None, &mut self.side.out).unwrap();
        }
        let side = &mut self.side;
        for number in 0..self.limits.outbound_calls as usize {
            self.calls += 1;
            let url = text(number, self.limits.uri_bytes - 2);
            let params = format!(
                r#"{{"mode":"url","message":"m","url":"https://x/","elicitationId":"{url}"}}"#
            );
            let options = CallOptions::new().task(TaskOptions::new());
            let (params, now) = (Raw::new(&params).unwrap(), side.now);
            if side.server.revision() == Some(Revision::V2025_11_25) {
                side.server
                    .call_method("elicitation/create", &params, options, now, &mut side.out)
                    .unwrap();
                let message = "m".repeat(self.limits.kept_bytes - self.limits.uri_bytes - 200);
                let task = format!(
                    r#""task":{{"taskId":"{url}","status":"working","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttl":null,"statusMessage":"{message}"}}"#
                );
                let event = side.receive(&result(self.calls, &task));
                assert!(matches!(event, Some(ServerEvent::Task(_))), "{event:?}");
            } else {
                side.server
                    .call_method("x/call", &(), CallOptions::new(), now, &mut side.out)
                    .unwrap();
            }
            _ = side.sent();
        }
    }

    /// Fills the table of batches, and then responds to all but one request of each, until the limit of kept bytes.
    fn batch(&mut self) {
        let answer = format!(r#"{{"text":"{}"}}"#, "x".repeat(3_000));
        for _ in 0..self.limits.batches {
            let mut elements = Vec::new();
            for _ in 0..self.limits.batch_elements {
                elements.push(request(&self.id(), "x/work", ""));
            }
            let batch = format!("[{}]", elements.join(","));
            let mut open = Vec::new();
            for frame in Frames::of(batch.as_bytes(), &self.limits) {
                if let Some(ServerEvent::Request(request)) =
                    self.side.server.receive(frame, self.side.now, &mut self.side.out)
                {
                    open.push(request.id);
                }
            }
            let answer = Raw::new(&answer).unwrap();
            for id in open.into_iter().skip(1) {
                self.side.server.respond(id, &answer, &mut self.side.out).unwrap();
                // A response without room in its batch is a message of its own.
                if !self.side.sent().is_empty() {
                    break;
                }
            }
        }
    }

    /// Sends requests up to the limit.
    fn request(&mut self) {
        loop {
            let id = self.id();
            let params = format!(r#""_meta":{{"progressToken":{id}}}"#);
            match self.side.receive(&request(&id, "x/work", &params)) {
                Some(ServerEvent::Request(_)) => {}
                Some(ServerEvent::Violation(_)) => return,
                event => panic!("{event:?}"),
            }
        }
    }

    /// Fills an outbox that is never emptied, and an inbox with an endless line.
    fn crowd_bytes(&mut self) {
        self.side.out.release();
        let side = &mut self.side;
        while side.server.notify_method("x", &(), None, &mut side.out).is_ok()
            && side.server.notify_method("y", &(), None, &mut side.out).is_ok()
        {}
        for _ in 0..self.limits.frame_bytes / 1_000 {
            assert_eq!(self.inbox.feed(&[b'x'; 1_000]), 1_000);
            assert!(self.inbox.next().is_none());
        }
    }
}

/// The long ids of refused requests in batches leave no memory behind.
#[test]
fn long_ids_in_batches_are_not_kept() {
    let mut side = ServerSide::ready(Revision::V2025_03_26);
    let limits = Limits::default();
    let ping = |id: usize| request(&id.to_string(), "ping", "");
    let ((), bytes) = held(|| {
        for pings in 0..20 {
            let mut elements: Vec<String> = (0..pings).map(ping).collect();
            elements.push(request(&format!("\"{}\"", "A".repeat(100_000)), "x/work", ""));
            let batch = format!("[{}]", elements.join(","));
            for frame in Frames::of(batch.as_bytes(), &limits) {
                _ = side.server.receive(frame, side.now, &mut side.out);
            }
            assert!(side.sent()[0].contains("AAA"), "the refusal has the id");
        }
        side.out.release();
    });
    assert!(bytes < 100_000, "{bytes} bytes");
}

/// All at once: a server whose tables are all full holds no more than the sum of the formula.
#[test]
fn a_server_with_full_tables_matches_the_memory_formula() {
    let mut limits = Limits::default();
    (limits.frame_bytes, limits.chunk_bytes) = (100_000, 1_000);
    (limits.outbox_bytes, limits.reserve_bytes, limits.held_bytes) = (60_000, 2_000, 20_000);
    (limits.inbound_requests, limits.outbound_calls) = (1_025, 65);
    (limits.subscriptions, limits.listens, limits.elicitations) = (129, 9, 17);
    (limits.batches, limits.batch_elements) = (17, 33);
    (limits.uri_bytes, limits.kept_bytes, limits.connection_bytes) = (1_000, 4_000, 1 << 20);
    for revision in [Revision::V2025_03_26, Revision::V2025_11_25] {
        let (crowded, bytes) = held(|| {
            let mut crowded = Crowded::new(limits.clone());
            crowded.open(revision);
            crowded.subscribe();
            crowded.call();
            if revision == Revision::V2025_03_26 {
                crowded.batch();
            }
            crowded.request();
            crowded.crowd_bytes();
            crowded
        });
        let formula = MemoryFormula::new(&limits);
        let of_revision = match revision {
            Revision::V2025_03_26 => formula.batches(),
            _ => formula.tasks(),
        };
        let counts = crowded.side.server.in_flight().counts();
        println!("{revision}: {counts:?}");
        is_near(
            bytes,
            formula.all() + of_revision,
            &format!("everything in a session of {revision}"),
        );
    }
}
