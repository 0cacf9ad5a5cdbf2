//! A host with an event store of its own.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use mcp_sansio::http::{
    EventStore, HttpServerConfig, RequestValidator, ResponseId, ResponsePart, SavedHttpSession,
    SessionId, Streams,
};
use mcp_sansio::json::Raw;
use mcp_sansio::progress::Progress;
use mcp_sansio::{ConnectionNumber, Frame, IncomingId, Instant, Principal, Server, ServerEvent};
use mcp_sansio_proptests::config;

use super::message::{initialize, notification, plain, progress, result};
use super::site::{numbered, priming};

const NOW: Instant = Instant::from_millis(1_000_000);

/// A store that records its calls, and keeps every event until `forget`, except a lost one.
struct Shelf {
    kept: Vec<(u32, u64, Vec<u8>)>,
    calls: Rc<RefCell<Vec<String>>>,
    /// The number of the lost event, on any stream.
    lost: Rc<Cell<u64>>,
}

impl EventStore for Shelf {
    fn keep(&mut self, stream: u32, event: u64, message: &[u8], now: Instant) {
        assert_eq!(now, NOW);
        let text = String::from_utf8(message.into()).unwrap();
        self.calls.borrow_mut().push(format!("keep {stream}-{event} {text}"));
        self.kept.push((stream, event, message.into()));
    }

    fn after(&self, stream: u32, event: u64) -> Option<(u64, &[u8])> {
        let lost = self.lost.get();
        let later = |kept: &&(u32, u64, _)| kept.0 == stream && event < kept.1 && kept.1 != lost;
        let (_, number, message) = self.kept.iter().find(later)?;
        Some((*number, message))
    }

    fn forget(&mut self, stream: u32) {
        self.calls.borrow_mut().push(format!("forget {stream}"));
        self.kept.retain(|kept| kept.0 != stream);
    }
}

fn validator() -> RequestValidator {
    RequestValidator::new(
        Arc::new(HttpServerConfig::default()),
        Arc::new(config::server_of_both_eras()),
    )
}

/// A server behind a validator, with the host's own store.
struct Host {
    server: Server,
    streams: Streams<Shelf>,
    calls: Rc<RefCell<Vec<String>>>,
    lost: Rc<Cell<u64>>,
}

impl Host {
    /// Opens a session, whose messages did not need to be kept.
    fn open() -> Self {
        let validator = validator();
        let (calls, lost) = <(Rc<RefCell<_>>, Rc<Cell<_>>)>::default();
        let shelf = Shelf { kept: Vec::new(), calls: Rc::clone(&calls), lost: Rc::clone(&lost) };
        let id = SessionId::from_random([7; 16]);
        let (server, streams) = validator.session_with(ConnectionNumber::new(1), id, shelf);
        let mut host = Self { server, streams, calls, lost };
        let (opening, _) = host.post(&initialize("1", "2025-11-25"));
        let (parts, end) = host.read_response(opening);
        assert_eq!((parts.len(), end), (1, ResponsePart::End));
        let (opened, _) = host.post(&notification("notifications/initialized", ""));
        assert_eq!(host.read_response(opened), (vec![], ResponsePart::End));
        assert!(host.take_store_calls().is_empty());
        host
    }

    /// Receives a message, and returns its response and, for a request, its id.
    fn post(&mut self, message: &str) -> (ResponseId, Option<IncomingId>) {
        let response = self.streams.begin(NOW);
        let received = self.streams.message_context(response, Principal::default(), NOW);
        let event = self.server.receive(Frame::from(message), received, &mut self.streams);
        let request = event.as_ref().and_then(|event| match event {
            ServerEvent::Request(request) => Some(request.id),
            _ => None,
        });
        event.iter().for_each(|event| self.streams.watch(event));
        self.streams.received(response);
        (response, request)
    }

    /// Receives a call, and sends progress on its stream twice.
    fn calling(&mut self) -> (ResponseId, IncomingId) {
        let call = plain("7", "tools/call", r#""name":"t","_meta":{"progressToken":7}"#);
        let (response, request) = self.post(&call);
        let request = request.unwrap();
        for number in [1, 2] {
            let progress = Progress::new(number);
            self.server.progress(request, progress, NOW, &mut self.streams).unwrap();
        }
        (response, request)
    }

    fn answer(&mut self, request: IncomingId) {
        let result = Raw::new(r#"{"content":[]}"#).unwrap();
        self.server.respond(request, &result, &mut self.streams).unwrap();
    }

    /// Returns the parts of a response, and its end.
    fn read_response(&mut self, response: ResponseId) -> (Vec<String>, ResponsePart) {
        let mut events = Vec::new();
        loop {
            let mut buffer = Vec::new();
            match self.streams.next(response, NOW, &mut buffer) {
                ResponsePart::Head(_) => {}
                ResponsePart::Body => events.push(String::from_utf8(buffer).unwrap()),
                end => return (events, end),
            }
        }
    }

    fn resume(&mut self, last: &str) -> Option<(Vec<String>, ResponsePart)> {
        let response = self.streams.listen(Some(last), NOW).ok()?;
        Some(self.read_response(response))
    }

    fn take_store_calls(&self) -> Vec<String> {
        self.calls.take()
    }
}

fn answered() -> String {
    result("7", r#""content":[]"#)
}

/// Proves H-HTTP-191, H-HTTP-199.
#[test]
fn a_host_keeps_events_itself() {
    let mut host = Host::open();
    let (response, request) = host.calling();
    assert!(
        host.take_store_calls().is_empty(),
        "nothing is sent, and nothing kept, that is not asked for"
    );
    let mut buffer = Vec::new();
    assert!(matches!(host.streams.next(response, NOW, &mut buffer), ResponsePart::Head(_)));
    let part = host.streams.next(response, NOW, &mut buffer);
    assert_eq!(
        (part, host.take_store_calls().len()),
        (ResponsePart::Body, 0),
        "the first brings no message"
    );
    let events = [numbered("3-1", progress("7", 1)), numbered("3-2", progress("7", 2))];
    assert_eq!(host.read_response(response), (events.into(), ResponsePart::Nothing));
    let kept = |event: u64, text: String| format!("keep 3-{event} {text}");
    assert_eq!(host.take_store_calls(), [kept(1, progress("7", 1)), kept(2, progress("7", 2))]);
    assert!(!host.streams.disconnected(response, NOW), "the session goes on");
    host.answer(request);
    let rest = [numbered("3-2", progress("7", 2)), numbered("3-3", answered())];
    assert_eq!(host.resume("3-1"), Some((rest.into(), ResponsePart::End)));
    assert_eq!(
        host.take_store_calls(),
        [kept(3, answered())],
        "what is sent again is not kept again"
    );
    host.streams.close();
    // The store is not asked to forget a stream without events.
    assert_eq!(host.take_store_calls(), ["forget 3"]);
    assert_eq!(host.resume("3-1"), None);
}

/// Proves H-HTTP-199.
#[test]
fn resumption_does_not_skip_an_event_lost_by_the_host() {
    for lost in 1..=3 {
        let mut host = Host::open();
        let (response, request) = host.calling();
        host.answer(request);
        let events = [
            priming("3-0"),
            numbered("3-1", progress("7", 1)),
            numbered("3-2", progress("7", 2)),
            numbered("3-3", answered()),
        ];
        assert_eq!(host.read_response(response), (events.to_vec(), ResponsePart::End));
        host.lost.set(lost as u64);
        for last in 0..=3 {
            let received = host.resume(&format!("3-{last}"));
            let there = (last + 1..=3).take_while(|number| *number != lost);
            let there = there.map(|number| events[number].clone()).collect();
            let expected = (last + 1 != lost).then_some((there, ResponsePart::End));
            assert_eq!(received, expected, "{lost} is lost, {last} was the last");
        }
    }
}

/// A store that outlives the process has the events already; another one gets them again.
#[test]
fn a_store_gets_the_saved_events_that_it_lacks() {
    let mut host = Host::open();
    let (response, request) = host.calling();
    host.answer(request);
    assert_eq!(host.read_response(response).0.len(), 4);
    let saved = SavedHttpSession::of(&host.server, &host.streams, Principal::default()).unwrap();
    let kept: Vec<(u32, u64, Vec<u8>)> = host
        .take_store_calls()
        .iter()
        .zip(1..)
        .map(|(call, event)| (3, event, call.split_once(' ').unwrap().1[4..].into()))
        .collect();
    assert_eq!(kept.len(), 3);
    for missing in 0..=3 {
        let calls = Rc::default();
        let shelf =
            Shelf { kept: kept[missing..].to_vec(), calls: Rc::clone(&calls), lost: Rc::default() };
        let number = ConnectionNumber::new(2);
        let restored = validator().restore_with(number, &saved, shelf, NOW).unwrap();
        assert_eq!(restored.0.connection_number(), number);
        assert_eq!(calls.borrow().len(), missing, "{calls:?}");
    }
}
