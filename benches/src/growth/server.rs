//! A server with requests in flight.

use std::hint::black_box;

use mcp_sansio::progress::Progress;
use mcp_sansio::schema::Json;
use mcp_sansio::{IncomingId, Instant, Outbox, Server, ServerEvent};

use super::{Dice, Meter, Round, Work, limits, spread};
use crate::core_server::Serving;
use crate::messages::{self, Echo};

pub(super) const ALL: &[Work] = &[
    Work::in_flight("server: call and answer", calls),
    Work::in_flight("server: cancellation taken in", cancellations),
    Work::in_flight("server: progress reported", reports),
    Work::in_flight("server: subscription taken in", subscriptions),
    Work::in_flight("server: nothing due", polls),
    Work::in_flight("server: ping beside batches that wait", pings),
];

/// A server with pending requests.
struct Busy {
    serving: Serving,
    /// The pending requests, each with the number that its id is derived from.
    open: Vec<(u64, IncomingId)>,
    /// The number of received requests.
    taken: u64,
    dice: Dice,
}

impl Busy {
    fn with(in_flight: usize) -> Self {
        let serving = Serving::with(limits());
        let mut busy = Self { serving, open: Vec::new(), taken: 0, dice: Dice::new() };
        for _ in 0..in_flight {
            let line = busy.next_line();
            let request = busy.take_in(&line);
            busy.open.push(request);
        }
        busy
    }

    /// Returns the line of the next request.
    fn next_line(&self) -> Vec<u8> {
        let id = spread(self.taken);
        let call = messages::call(messages::TEXT)
            .replace(r#""id":1"#, &format!(r#""id":{id}"#))
            .replace(r#""name""#, &format!(r#""_meta":{{"progressToken":{id}}},"name""#));
        messages::line(&call)
    }

    fn take_in(&mut self, line: &[u8]) -> (u64, IncomingId) {
        let mut request = None;
        self.serving.feed(line, &mut |_: &mut Server, event: &ServerEvent<'_>, _: &mut Outbox| {
            if let ServerEvent::Request(of) = event {
                request = Some(of.id);
            }
        });
        self.taken += 1;
        (self.taken - 1, request.unwrap())
    }
}

/// Receives a request and responds to one of the pending requests.
fn calls(in_flight: usize) -> Round {
    let mut busy = Busy::with(in_flight);
    Box::new(move |meter: &Meter| {
        let line = busy.next_line();
        let at = busy.dice.roll(in_flight);
        meter.count(|| {
            let request = busy.take_in(black_box(&line));
            let (_, answered) = std::mem::replace(&mut busy.open[at], request);
            let Serving { server, outbox, .. } = &mut busy.serving;
            server.respond(answered, &Json(&Echo::of(messages::TEXT)), outbox).unwrap();
            assert_ne!(busy.serving.send(), 0);
        });
        1
    })
}

/// Receives the cancellation of one of the pending requests.
fn cancellations(in_flight: usize) -> Round {
    let mut busy = Busy::with(in_flight);
    Box::new(move |meter: &Meter| {
        let line = busy.next_line();
        let request = busy.take_in(&line);
        let at = busy.dice.roll(in_flight);
        let (number, cancelled) = std::mem::replace(&mut busy.open[at], request);
        let line = messages::line(&format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{}}}}}"#,
            spread(number)
        ));
        let mut reported = None;
        let mut handle = |_: &mut Server, event: &ServerEvent<'_>, _: &mut Outbox| {
            if let ServerEvent::Cancelled(cancelled) = event {
                reported = Some(cancelled.id);
            }
        };
        meter.count(|| busy.serving.feed(black_box(&line), &mut handle));
        assert_eq!(reported, Some(cancelled));
        1
    })
}

/// Sends progress of one of the pending requests.
fn reports(in_flight: usize) -> Round {
    let mut busy = Busy::with(in_flight);
    let mut done = 100_000_u64;
    Box::new(move |meter: &Meter| {
        done += 1;
        let at = busy.dice.roll(in_flight);
        let (_, request) = busy.open[at];
        meter.count(|| {
            let Serving { server, outbox, .. } = &mut busy.serving;
            server.progress(request, Progress::new(done), Instant::EPOCH, outbox).unwrap();
            assert_ne!(busy.serving.send(), 0);
        });
        1
    })
}

/// Receives and grants a subscription to a resource, beside pending tool calls.
fn subscriptions(in_flight: usize) -> Round {
    let mut busy = Busy::with(in_flight);
    Box::new(move |meter: &Meter| {
        let line = messages::line(&format!(
            r#"{{"jsonrpc":"2.0","id":{},"method":"resources/subscribe","params":{{"uri":"file:///a"}}}}"#,
            spread(busy.taken)
        ));
        meter.count(|| {
            let (_, request) = busy.take_in(black_box(&line));
            let Serving { server, outbox, .. } = &mut busy.serving;
            server.respond(request, &serde_json::Map::new(), outbox).unwrap();
            assert_ne!(busy.serving.send(), 0);
        });
        1
    })
}

/// Polls for timeouts when none is due.
fn polls(in_flight: usize) -> Round {
    let mut busy = Busy::with(in_flight);
    Box::new(move |meter: &Meter| {
        meter.count(|| {
            let Serving { server, outbox, .. } = &mut busy.serving;
            black_box(server.poll_timeout());
            assert!(server.handle_timeout(Instant::EPOCH, outbox).is_none());
        });
        1
    })
}

/// Receives a ping beside batches whose responses wait for one unanswered request each.
fn pings(batches: usize) -> Round {
    let initialize = r#"{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
    let mut serving = Serving::opened_by(initialize, limits());
    for batch in 0..batches as u64 {
        let id = spread(batch);
        let text = format!(
            r#"[{{"jsonrpc":"2.0","id":{id},"method":"tools/list"}},{{"jsonrpc":"2.0","id":"{id}","method":"ping"}}]"#
        );
        let mut ignored = |_: &mut Server, _: &ServerEvent<'_>, _: &mut Outbox| {};
        serving.feed(&messages::line(&text), &mut ignored);
    }
    let mut taken = 0;
    Box::new(move |meter: &Meter| {
        taken += 1;
        let ping = format!(r#"{{"jsonrpc":"2.0","id":"{}","method":"ping"}}"#, 1_000_000 + taken);
        let ping = messages::line(&ping);
        meter.count(|| {
            let mut ignored = |_: &mut Server, _: &ServerEvent<'_>, _: &mut Outbox| {};
            serving.feed(black_box(&ping), &mut ignored);
            assert_ne!(serving.send(), 0);
        });
        1
    })
}
