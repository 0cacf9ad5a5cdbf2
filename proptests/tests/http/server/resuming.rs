//! Event streams that break off, and clients that resume them (2025-11-25).

use std::time::Duration;

use mcp_sansio::http::{HttpServerConfig, ResponsePart};
use mcp_sansio::subscription::ChangedList;
use mcp_sansio::{IncomingId, ServerEvent};

use super::message::{fault, plain, progress, result};
use super::site::{
    ResponseParts, Site, Turn, event, get, in_session, json, numbered, priming, status, stream,
};
use super::standalone::{accept, changed, elicit, listen};

const TOOLS: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
const PROMPTS: &str = r#"{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}"#;

pub(super) fn call(id: &str) -> String {
    plain(id, "tools/call", &format!(r#""name":"t","_meta":{{"progressToken":{id}}}"#))
}

pub(super) fn answer(id: &str) -> String {
    result(id, r#""content":[]"#)
}

pub(super) const CONTENT: &str = r#"{"content":[]}"#;

/// Opens a session with a call on whose stream progress was sent.
pub(super) fn calling(
    change: impl FnOnce(&mut HttpServerConfig),
) -> (Site, String, Turn, IncomingId) {
    let mut site = Site::with(|http, _| change(http));
    let session = site.open("2025-11-25");
    let (turn, request) = site.ask(&in_session(&session), &call("7"));
    site.progress(request.id, 1);
    let expected = [priming("3-0"), numbered("3-1", progress("7", 1))];
    assert_eq!(site.read_response(turn), stream(&expected, false));
    (site, session, turn, request.id)
}

pub(super) fn resume(site: &mut Site, session: &str, last: &str) -> Turn {
    site.send("GET", &format!("{}\nLast-Event-ID: {last}", get(session)), "")
}

pub(super) fn no_event() -> ResponseParts {
    json(400, fault(-32600, "there is no such event any more"))
}

/// Proves H-HTTP-183, H-HTTP-184, H-HTTP-185, H-HTTP-243, H-HA-04.
#[test]
fn events_have_ids_that_name_their_stream_and_the_first_brings_only_that() {
    let (mut site, session, turn, id) = calling(|_| {});
    let (beside, other) = site.ask(&in_session(&session), &call("8"));
    site.progress(other.id, 1);
    site.respond(id, CONTENT);
    site.respond(other.id, CONTENT);
    assert_eq!(site.news(turn), [numbered("3-2", answer("7"))]);
    let expected =
        [priming("4-0"), numbered("4-1", progress("8", 1)), numbered("4-2", answer("8"))];
    assert_eq!(site.read_response(beside), stream(&expected, true));
    let standalone = listen(&mut site, &session);
    assert_eq!(site.news(standalone).len(), 0);
    assert_eq!(site.read_response(standalone), stream(&[priming("0-0")], false));

    // Clients of other revisions could fail on an event without data, so their events have no ids.
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18"] {
        let mut site = Site::new();
        let session = site.open(revision);
        let (turn, request) = site.ask(&in_session(&session), &call("7"));
        site.progress(request.id, 1);
        site.respond(request.id, CONTENT);
        let expected = [event(progress("7", 1)), event(answer("7"))];
        assert_eq!(site.read_response(turn), stream(&expected, true), "{revision}");
        let standalone = listen(&mut site, &session);
        assert_eq!(site.read_response(standalone), stream::<&str>(&[], false));
    }
}

/// Proves H-HTTP-186, H-HTTP-141, H-HA-10.
#[test]
fn a_long_call_need_not_hold_a_connection() {
    for early in [false, true] {
        let mut site = Site::new();
        let session = site.open("2025-11-25");
        let (turn, request) = site.ask(&in_session(&session), &call("7"));
        if !early {
            site.progress(request.id, 1);
            site.read_response(turn);
        }
        assert!(site.with_machine(request.id, |_, out| out.close_response(request.id)));
        let mut reported = vec![priming("3-0")];
        reported.extend((!early).then(|| numbered("3-1", progress("7", 1))));
        assert_eq!(
            site.read_response(turn),
            stream(&reported, true),
            "the client knows when to come back"
        );
        assert!(!site.with_machine(request.id, |_, out| out.close_response(request.id)));
        // The same stream continues without the connection, including requests of the server.
        let standalone = listen(&mut site, &session);
        elicit(&mut site, request.id).unwrap();
        assert!(site.settle().is_empty());
        assert_eq!(site.read_response(standalone).chunks.len(), 1);
        let next = if early { 1 } else { 2 };
        let turn = resume(&mut site, &session, &format!("3-{}", next - 1));
        let [asked] = &site.news(turn)[..] else { panic!("one question") };
        assert!(asked.starts_with(&format!("id: 3-{next}\ndata: ")), "{asked}");
        assert!(asked.contains("elicitation/create"));
        site.send("POST", &in_session(&session), accept("1"));
        site.events();
        // The response is closed once more, with another priming event.
        assert!(site.with_machine(request.id, |_, out| out.close_response(request.id)));
        let received = site.read_response(turn);
        assert_eq!(received.chunks[1..], [priming(&format!("3-{next}"))]);
        assert!(received.is_over);
        site.respond(request.id, CONTENT);
        let turn = resume(&mut site, &session, &format!("3-{next}"));
        let expected = [numbered(&format!("3-{}", next + 1), answer("7"))];
        assert_eq!(site.read_response(turn), stream(&expected, true));
    }
    // A response is not closed if its client could not resume it.
    for revision in ["2025-03-26", "2025-06-18"] {
        let mut site = Site::new();
        let session = site.open(revision);
        let (turn, request) = site.ask(&in_session(&session), &call("7"));
        assert!(!site.with_machine(request.id, |_, out| out.close_response(request.id)));
        site.respond(request.id, CONTENT);
        assert_eq!(site.read_response(turn), json(200, answer("7")));
    }
}

/// Proves H-HTTP-191, H-HTTP-193, H-HTTP-143, H-HR-09.
#[test]
fn a_resumed_stream_replays_missed_events_and_continues() {
    let (mut site, session, turn, id) = calling(|_| {});
    site.progress(id, 2);
    assert_eq!(site.read_response(turn).chunks.len(), 3);
    site.disconnect(turn);
    assert!(site.settle().is_empty(), "going away is no cancellation");
    site.progress(id, 3);
    site.progress(id, 4);

    let turn = resume(&mut site, &session, "3-1");
    let expected = [
        numbered("3-2", progress("7", 2)),
        numbered("3-3", progress("7", 3)),
        numbered("3-4", progress("7", 4)),
    ];
    assert_eq!(site.read_response(turn), stream(&expected, false));
    site.progress(id, 5);
    assert_eq!(site.news(turn), [numbered("3-5", progress("7", 5))]);
    site.respond(id, CONTENT);
    let received = site.read_response(turn);
    assert_eq!((received.chunks.len(), received.is_over), (5, true));
    // A complete stream can be resumed as well: its end may have been lost.
    for (last, count) in [("3-0", 6), ("3-4", 2), ("3-5", 1), ("3-6", 0)] {
        let turn = resume(&mut site, &session, last);
        let received = site.read_response(turn);
        assert_eq!(
            (received.status, received.chunks.len(), received.is_over),
            (200, count, true),
            "{last}"
        );
        assert!(count == 0 || received.chunks[count - 1] == numbered("3-6", answer("7")));
    }
}

/// Proves H-HTTP-192, H-HTTP-155.
#[test]
fn a_resumed_stream_replays_only_its_own_events() {
    let (mut site, session, turn, id) = calling(|_| {});
    let (beside, other) = site.ask(&in_session(&session), &call("8"));
    let standalone = listen(&mut site, &session);
    site.progress(other.id, 1);
    site.read_response(beside);
    changed(&mut site, ChangedList::Tools);
    site.read_response(standalone);
    for turn in [turn, beside, standalone] {
        site.disconnect(turn);
    }
    site.respond(id, CONTENT);
    site.respond(other.id, CONTENT);
    changed(&mut site, ChangedList::Prompts);
    for (last, expected, is_over) in [
        ("0-0", vec![numbered("0-1", TOOLS), numbered("0-2", PROMPTS)], false),
        ("4-0", vec![numbered("4-1", progress("8", 1)), numbered("4-2", answer("8"))], true),
        ("3-0", vec![numbered("3-1", progress("7", 1)), numbered("3-2", answer("7"))], true),
    ] {
        let turn = resume(&mut site, &session, last);
        assert_eq!(site.read_response(turn), stream(&expected, is_over), "{last}");
    }
}

/// Proves H-HTTP-194, H-HA-03.
#[test]
fn an_event_that_is_not_known_is_refused() {
    let (mut site, session, turn, _) = calling(|_| {});
    site.disconnect(turn);
    for last in [
        "3-2",
        "3-99999999999999999999",
        "4-0",
        "0-0",
        "1-0",
        "2-1",
        "",
        "3",
        "3-",
        "-1",
        "03-1",
        "3-01",
        "+3-1",
        "3-1-1",
        "3 -1",
        "x",
        "4294967299-1",
    ] {
        let turn = resume(&mut site, &session, last);
        assert_eq!(site.read_response(turn), no_event(), "{last}");
    }
    // An id of one session is unknown in another one.
    let other = site.open("2025-11-25");
    let turn = resume(&mut site, &other, "3-1");
    assert_eq!(site.read_response(turn), no_event());
    // No id is known if no events are kept.
    let mut site = Site::with(|http, _| http.resumable = false);
    let session = site.open("2025-11-25");
    let turn = resume(&mut site, &session, "0-0");
    assert_eq!(site.read_response(turn), no_event());
    let turn = listen(&mut site, &session);
    assert_eq!(site.read_response(turn), stream::<&str>(&[], false));
}

/// Proves H-HTTP-195, H-HR-08.
#[test]
fn a_resuming_connection_replaces_the_old_one() {
    let (mut site, session, old, id) = calling(|_| {});
    site.progress(id, 2);
    let new = resume(&mut site, &session, "3-1");
    // The old connection receives no further events, and its end has no effect.
    let exchange = site.exchange(old);
    let received = site.read_response(old);
    assert_eq!((received.chunks.len(), received.is_over), (2, true));
    site.http.disconnected(exchange, site.now);
    assert_eq!(site.read_response(new), stream(&[numbered("3-2", progress("7", 2))], false));
    site.respond(id, CONTENT);
    assert_eq!(site.news(new), [numbered("3-3", answer("7"))]);

    let old = listen(&mut site, &session);
    changed(&mut site, ChangedList::Tools);
    let new = resume(&mut site, &session, "0-0");
    assert_eq!(site.read_response(new), stream(&[numbered("0-1", TOOLS)], false));
    let received = site.read_response(old);
    assert_eq!((received.chunks.len(), received.is_over), (1, true));
}

/// Proves H-HTTP-199.
#[test]
fn kept_streams_are_bounded_in_time_and_number() {
    // The time is limited.
    let (mut site, session, turn, id) = calling(|http| http.kept_for = Duration::from_secs(10));
    site.disconnect(turn);
    site.elapse(9_999);
    let turn = resume(&mut site, &session, "3-0");
    assert_eq!(site.read_response(turn).chunks, [numbered("3-1", progress("7", 1))]);
    site.disconnect(turn);
    site.elapse(10_000);
    let turn = resume(&mut site, &session, "3-0");
    assert_eq!(site.read_response(turn), no_event());
    site.respond(id, CONTENT);
    let turn = resume(&mut site, &session, "3-1");
    assert_eq!(site.read_response(turn), no_event(), "no stream gets it");

    // The number of streams is limited: the latest ones are kept, and unfinished streams take precedence.
    let (mut site, session, turn, _) = calling(|http| http.kept_streams = 2);
    site.disconnect(turn);
    for id in ["8", "9"] {
        let (turn, request) = site.ask(&in_session(&session), &call(id));
        site.progress(request.id, 1);
        site.respond(request.id, CONTENT);
        assert!(site.read_response(turn).is_over);
    }
    for (last, is_known) in [("3-1", true), ("4-0", false), ("5-0", true)] {
        let turn = resume(&mut site, &session, last);
        assert_eq!(site.read_response(turn) == no_event(), !is_known, "{last}");
    }
}

/// Of several unfinished streams that broke off, the latest are kept, and one that was resumed does not count.
///
/// Proves H-HTTP-199.
#[test]
fn unfinished_streams_are_bounded_in_number() {
    let (mut site, session, turn, first) = calling(|http| http.kept_streams = 2);
    let lines = in_session(&session);
    site.disconnect(turn);
    let resumed = resume(&mut site, &session, "3-1");
    assert_eq!(site.read_response(resumed), stream::<&str>(&[], false));
    let mut others = Vec::new();
    for id in ["8", "9"] {
        let (turn, request) = site.ask(&lines, &call(id));
        site.progress(request.id, 1);
        site.read_response(turn);
        site.disconnect(turn);
        others.push(request.id);
    }
    // The first stream has a response, and the other two are kept.
    site.progress(first, 2);
    assert_eq!(site.news(resumed), [numbered("3-2", progress("7", 2))]);
    site.disconnect(resumed);
    for (last, is_known) in [("4-1", false), ("5-1", true), ("3-2", true)] {
        let turn = resume(&mut site, &session, last);
        assert_eq!(site.read_response(turn) == no_event(), !is_known, "{last}");
    }
    for request in [first, others[0], others[1]] {
        site.respond(request, CONTENT);
    }
}

/// Messages for a client that is gone for good are dropped, so that any number of them has room.
#[test]
fn messages_on_a_lost_stream_take_no_room() {
    let mut site = Site::with(|_, server| server.connection.limits.outbox_bytes = 1_000);
    let session = site.open("2025-06-18");
    let (turn, request) = site.ask(&in_session(&session), &call("7"));
    site.disconnect(turn);
    for number in 1..100 {
        site.progress(request.id, number);
    }
    site.respond(request.id, CONTENT);
}

/// The bytes of unsent events are limited: the oldest stream is dropped first.
///
/// Proves H-HTTP-199.
#[test]
fn unsent_events_of_disconnected_streams_are_bounded_in_bytes() {
    let (mut site, session, turn, first) = calling(|http| http.kept_bytes = 10_000);
    site.disconnect(turn);
    let (turn, second) = site.ask(&in_session(&session), &call("8"));
    site.progress(second.id, 1);
    site.read_response(turn);
    site.disconnect(turn);
    let long = format!(r#"{{"content":[{{"type":"text","text":"{}"}}]}}"#, "x".repeat(6_000));
    site.respond(first, &long);
    site.respond(second.id, &long);
    let gone = resume(&mut site, &session, "3-1");
    assert_eq!(site.read_response(gone), no_event());
    let kept = resume(&mut site, &session, "4-1");
    assert_eq!(site.read_response(kept).chunks.len(), 1);
    // The session continues.
    let (turn, third) = site.ask(&in_session(&session), &call("9"));
    site.respond(third.id, CONTENT);
    assert!(site.read_response(turn).is_over);
}

/// The oldest streams are forgotten until the others fit.
///
/// Proves H-HTTP-199.
#[test]
fn unsent_events_of_disconnected_streams_may_fill_the_limit() {
    let members = |length: usize| format!(r#""content":[],"x":"{}""#, "x".repeat(length));
    let rest = result("7", &members(0)).len();
    let most = 2 * (rest + 100);
    let (mut site, session, turn, first) = calling(|http| http.kept_bytes = most);
    site.disconnect(turn);
    let mut calls = vec![first];
    for id in ["8", "9"] {
        let (turn, request) = site.ask(&in_session(&session), &call(id));
        site.progress(request.id, 1);
        site.read_response(turn);
        site.disconnect(turn);
        calls.push(request.id);
    }
    // The first two responses together are as long as the third.
    for (call, length) in calls.into_iter().zip([100, 100, most - rest]) {
        site.respond(call, &format!("{{{}}}", members(length)));
    }
    for last in ["3-1", "4-1"] {
        let gone = resume(&mut site, &session, last);
        assert_eq!(site.read_response(gone), no_event());
    }
    let kept = resume(&mut site, &session, "5-1");
    let last = numbered("5-2", result("9", &members(most - rest)));
    assert_eq!(site.read_response(kept), stream(&[last], true));
}

/// A stream is dropped only for its own unsent bytes: the call of another one continues, and a response that is too long
/// alone displaces no others.
///
/// Proves H-HTTP-191, H-HTTP-199, H-HR-09.
#[test]
fn only_streams_with_unsent_bytes_are_dropped_for_room() {
    let (mut site, session, turn, first) = calling(|http| http.kept_bytes = 10_000);
    site.disconnect(turn);
    let mut calls = Vec::new();
    for id in ["8", "9", "10"] {
        let (turn, request) = site.ask(&in_session(&session), &call(id));
        site.progress(request.id, 1);
        site.read_response(turn);
        site.disconnect(turn);
        calls.push(request.id);
    }
    let long = |length| format!(r#"{{"content":[],"x":"{}"}}"#, "x".repeat(length));
    for (call, length) in calls.into_iter().zip([6_000, 6_000, 12_000]) {
        site.respond(call, &long(length));
    }
    // The responses to 8 and 9 are too long together, the response to 10 is so alone.
    for last in ["4-1", "6-1"] {
        let gone = resume(&mut site, &session, last);
        assert_eq!(site.read_response(gone), no_event(), "{last}");
    }
    let kept = resume(&mut site, &session, "5-1");
    let members = format!(r#""content":[],"x":"{}""#, "x".repeat(6_000));
    let expected = [numbered("5-2", result("9", &members))];
    assert_eq!(site.read_response(kept), stream(&expected, true));
    // The first call had nothing to send.
    site.respond(first, CONTENT);
    let kept = resume(&mut site, &session, "3-1");
    assert_eq!(site.read_response(kept), stream(&[numbered("3-2", answer("7"))], true));
}

/// Proves H-HTTP-199.
#[test]
fn events_that_are_not_kept_any_more_cannot_be_passed_over() {
    let (mut site, session, turn, id) = calling(|_| {});
    for number in 2..=1_100 {
        site.progress(id, number);
        site.read_response(turn);
    }
    site.disconnect(turn);
    // The latest 1024 events are kept.
    for (last, is_known) in [("3-0", false), ("3-75", false), ("3-76", true), ("3-1100", true)] {
        let turn = resume(&mut site, &session, last);
        assert_eq!(site.read_response(turn) == no_event(), !is_known, "{last}");
    }
}

/// Dropped events are not skipped while the client is reading either.
///
/// Proves H-HTTP-199.
#[test]
fn a_slow_reader_is_not_led_past_events_that_are_not_kept_any_more() {
    let (mut site, session, turn, id) = calling(|_| {});
    site.progress(id, 2);
    site.progress(id, 3);
    site.read_response(turn);
    site.disconnect(turn);
    let slow = resume(&mut site, &session, "3-0");
    assert!(matches!(site.part(slow).0, ResponsePart::Head(_)));
    assert_eq!(site.part(slow), (ResponsePart::Body, numbered("3-1", progress("7", 1))));
    // Meanwhile other events fill the memory except for two.
    let (beside, other) = site.ask(&in_session(&session), &call("8"));
    for number in 1..=1_022 {
        site.progress(other.id, number);
        site.read_response(beside);
    }
    assert_eq!(site.part(slow), (ResponsePart::Body, numbered("3-2", progress("7", 2))));
    site.progress(other.id, 1_023);
    site.progress(other.id, 1_024);
    site.read_response(beside);
    assert_eq!(site.part(slow), (ResponsePart::End, String::new()), "and not what comes behind");
    let turn = resume(&mut site, &session, "3-2");
    assert_eq!(site.read_response(turn), no_event());
    // A client that has read further can resume.
    let turn = resume(&mut site, &session, "3-3");
    site.respond(id, CONTENT);
    assert_eq!(site.read_response(turn), stream(&[numbered("3-4", answer("7"))], true));
}

/// Proves H-HTTP-199.
#[test]
fn the_outbox_of_a_disconnected_stream_is_bounded() {
    let mut site = Site::with(|_, server| server.connection.limits.outbox_bytes = 1_000);
    let session = site.open("2025-11-25");
    let (turn, request) = site.ask(&in_session(&session), &call("7"));
    site.progress(request.id, 1);
    site.read_response(turn);
    site.disconnect(turn);
    let now = site.now;
    let sent = (2..100).take_while(|number| {
        site.with_machine(request.id, |server, out| {
            let progress = mcp_sansio::progress::Progress::new(*number);
            server.progress(request.id, progress, now, out).is_ok()
        })
    });
    assert!((5..15).contains(&sent.count()));
}

/// A stream that has sent no id cannot be resumed.
///
/// Proves H-HR-01.
#[test]
fn a_stream_that_sent_no_event_cannot_be_resumed() {
    let mut site = Site::new();
    let session = site.open("2025-11-25");
    let (turn, request) = site.ask(&in_session(&session), &call("7"));
    site.disconnect(turn);
    site.progress(request.id, 1);
    assert!(site.settle().is_empty());
    let turn = resume(&mut site, &session, "3-0");
    assert_eq!(site.read_response(turn), no_event());
    site.respond(request.id, CONTENT);
    // The request id is free again.
    let (turn, request) = site.ask(&in_session(&session), &call("7"));
    site.respond(request.id, CONTENT);
    assert_eq!(site.read_response(turn), json(200, answer("7")));
    let ended = site.send("DELETE", &get(&session), "");
    assert_eq!(site.read_response(ended), status(200));
    site.assert_forgotten();
}

/// Proves H-HR-02.
#[test]
fn an_answer_that_was_lost_on_the_way_waits_for_its_client() {
    let (mut site, session, turn, id) = calling(|_| {});
    site.respond(id, CONTENT);
    let (part, answered) = site.part(turn);
    assert_eq!((part, answered), (ResponsePart::Body, numbered("3-2", answer("7"))));
    site.disconnect(turn);
    let events: Vec<ServerEvent<'_>> = site.settle();
    assert!(events.is_empty());
    let turn = resume(&mut site, &session, "3-1");
    assert_eq!(site.read_response(turn), stream(&[numbered("3-2", answer("7"))], true));
}
