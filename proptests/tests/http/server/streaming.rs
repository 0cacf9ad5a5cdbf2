//! Event streams of modern requests: their conditions, their content, and their end.

use std::time::Duration;

use mcp_sansio::http::{ResponseMode, ResponsePart};
use mcp_sansio::model::LoggingLevel;
use mcp_sansio::progress::Progress;
use mcp_sansio::subscription::Log;
use mcp_sansio::{CallOptions, Cause, Instant, ServerEvent};

use super::message::{cacheable, error, progress, watched, with_meta};
use super::site::{Site, about, event, json, modern_headers, stream};

fn list() -> String {
    watched("1", "tools/list", "")
}

const TOOLS: &str = r#"{"tools":[]}"#;

fn answer() -> String {
    cacheable("1", r#""tools":[]"#)
}

/// Proves H-HTTP-94, H-HTTP-97, M-AMB-36.
#[test]
fn nothing_but_the_request_is_on_its_stream() {
    let mut site = Site::new();
    let level = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"sampling":{},"roots":{},"elicitation":{}},"io.modelcontextprotocol/logLevel":"info""#;
    let (turn, request) =
        site.ask(&modern_headers("tools/list"), &with_meta("1", "tools/list", level, ""));
    let (other, beside) = site.ask(&modern_headers("tools/list"), &list());
    let now = site.now;
    site.with_machine(request.id, |server, out| {
        // The server can send no request, and unrelated messages are sent to no client.
        let options = CallOptions::new().parent(request.id);
        assert!(server.call_method("roots/list", &(), options, now, out).is_err());
        assert!(server.call_method("ping", &(), CallOptions::new(), now, out).is_err());
        let log = Log::new(LoggingLevel::Info, "for everybody");
        _ = server.notifications().log(&log, out);
        _ = server.notifications().list_changed(mcp_sansio::subscription::ChangedList::Tools, out);
        server
            .notifications()
            .log(&Log::new(LoggingLevel::Info, "for it").about(request.id), out)
            .unwrap();
    });
    site.progress(beside.id, 1);
    site.respond(request.id, TOOLS);
    let log = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"for it"}}"#;
    let received = site.read_response(turn);
    assert_eq!(received, stream(&[event(log), event(answer())], true));
    for chunk in received.chunks {
        assert!(chunk.lines().all(|line| line.starts_with("data: ") || line.is_empty()));
    }
    assert_eq!(site.read_response(other), stream(&[event(progress("1", 1))], false));
}

/// Proves H-HTTP-96, H-HTTP-244.
#[test]
fn every_event_is_handed_out_whole_and_nothing_holds_it_back() {
    let mut site = Site::new();
    let (turn, request) = site.ask(&modern_headers("tools/list"), &list());
    for number in 1..4 {
        site.progress(request.id, number);
    }
    let (head, buffer) = site.part(turn);
    let ResponsePart::Head(head) = head else { panic!("{head:?}") };
    assert_eq!((head.status, buffer.len()), (200, 0));
    assert_eq!(
        head.headers(),
        [
            ("Content-Type", "text/event-stream"),
            ("Cache-Control", "no-cache"),
            ("X-Accel-Buffering", "no")
        ]
    );
    for number in 1..4 {
        assert_eq!(site.part(turn), (ResponsePart::Body, event(progress("1", number))));
    }
    assert_eq!(site.part(turn), (ResponsePart::Nothing, String::new()));
    site.respond(request.id, TOOLS);
    assert_eq!(site.part(turn), (ResponsePart::Body, event(answer())));
    for _ in 0..3 {
        assert_eq!(site.part(turn), (ResponsePart::End, String::new()));
    }
    site.assert_forgotten();
}

/// Proves H-HTTP-07, H-HTTP-98, H-HTTP-101.
#[test]
fn a_slow_answer_becomes_a_stream_that_says_that_it_lives() {
    let mut site = Site::with(|http, _| {
        http.stream_after = Some(Duration::from_secs(5));
        http.keep_alive = Some(Duration::from_secs(15));
    });
    let start = site.now;
    let (turn, request) = site.ask(&modern_headers("tools/list"), &list());
    assert_eq!(site.read_response(turn).status, 0);
    assert_eq!(site.http.poll_timeout(), Some(start + Duration::from_secs(5)));
    assert!(site.elapse(4_999).is_empty());
    assert_eq!(site.read_response(turn).status, 0);
    assert!(site.elapse(1).is_empty());
    assert_eq!(woken(&mut site), [request.id.connection().get()]);
    assert_eq!(site.read_response(turn), stream::<&str>(&[], false));

    assert_eq!(site.http.poll_timeout(), Some(start + Duration::from_secs(20)));
    assert!(site.elapse(14_999).is_empty());
    assert!(site.news(turn).is_empty());
    site.elapse(1);
    assert_eq!(site.news(turn), [": \n\n"]);
    site.elapse(10_000);
    site.progress(request.id, 1);
    assert_eq!(site.news(turn), [event(progress("1", 1))]);
    site.elapse(14_999);
    assert!(site.news(turn).is_empty(), "the silence begins anew");
    site.elapse(1);
    assert_eq!(site.news(turn), [": \n\n"]);
    // One keep-alive suffices, however long the response was not polled.
    site.elapse(100_000);
    assert_eq!(site.news(turn), [": \n\n"]);
    site.respond(request.id, TOOLS);
    assert_eq!(site.news(turn), [event(answer())]);
    site.assert_forgotten();
}

fn woken(site: &mut Site) -> Vec<u32> {
    let mut woken: Vec<u32> = site.http.woken().map(|(number, _)| number.get()).collect();
    woken.dedup();
    woken
}

/// Proves H-HTTP-100, H-HTTP-226.
#[test]
fn the_form_of_answers_is_a_matter_of_configuration() {
    use ResponseMode::{Automatic, EventStream, Json};
    let events = event(progress("1", 1));
    for mode in [Automatic, EventStream, Json] {
        let mut site = Site::with(|http, _| http.responses = mode);
        let (turn, request) = site.ask(&modern_headers("tools/list"), &list());
        let early =
            if mode == EventStream { stream::<&str>(&[], false) } else { site.read_response(turn) };
        assert_eq!(site.read_response(turn), early, "{mode:?}");
        site.respond(request.id, TOOLS);
        let plain = json(200, answer());
        let streamed = stream(&[event(answer())], true);
        let expected = if mode == EventStream { streamed } else { plain };
        assert_eq!(site.read_response(turn), expected, "{mode:?}");

        let (turn, request) = site.ask(&modern_headers("tools/list"), &list());
        site.progress(request.id, 1);
        let expected = if mode == Json { 0 } else { 200 };
        assert_eq!(site.read_response(turn).status, expected, "{mode:?}");
        site.progress(request.id, 2);
        site.elapse(60_000);
        site.respond(request.id, TOOLS);
        let expected = match mode {
            Json => json(200, answer()),
            _ => stream(&[events.clone(), event(progress("1", 2)), event(answer())], true),
        };
        assert_eq!(site.read_response(turn), expected, "{mode:?}");

        // A response with a status of its own is not a stream.
        let (turn, request) = site.ask(&modern_headers("x/y"), &watched("1", "x/y", ""));
        site.reject(request.id, -32601, "no");
        assert_eq!(site.read_response(turn), json(404, error("1", -32601, "no")), "{mode:?}");
        site.assert_forgotten();
    }
}

/// Proves H-HR-03.
#[test]
fn an_error_at_the_very_instant_still_has_a_status() {
    for is_answered_in_time in [true, false] {
        let mut site = Site::new();
        let (turn, request) = site.ask(&modern_headers("x/y"), &watched("1", "x/y", ""));
        site.read_response(turn);
        site.elapse(15_000);
        if !is_answered_in_time {
            assert_eq!(site.read_response(turn), stream::<&str>(&[], false));
        }
        site.reject(request.id, -32601, "no");
        let refused = error("1", -32601, "no");
        let in_band = stream(&[event(&refused)], true);
        let expected = if is_answered_in_time { json(404, refused) } else { in_band };
        assert_eq!(site.read_response(turn), expected);
        site.assert_forgotten();
    }
}

/// Proves H-HTTP-08.
#[test]
fn progress_on_an_unread_stream_is_bounded() {
    let mut site = Site::with(|_, server| server.connection.limits.outbox_bytes = 500);
    let (turn, request) =
        site.ask(&about("tools/call", "t"), &watched("1", "tools/call", r#""name":"t""#));
    let now = site.now;
    let events: Vec<bool> = (1..20)
        .map(|number| {
            let report = |server: &mut mcp_sansio::Server, out: &mut mcp_sansio::http::Streams| {
                server.progress(request.id, Progress::new(number), now, out).is_ok()
            };
            site.with_machine(request.id, report)
        })
        .collect();
    let sent = events.iter().filter(|is_sent| **is_sent).count();
    assert!((3..6).contains(&sent), "{events:?}");
    assert!(events[..sent].iter().all(|is_sent| *is_sent), "the first ones");
    assert_eq!(site.read_response(turn).chunks.len(), sent);
    site.progress(request.id, 20);
    site.respond(request.id, r#"{"content":[]}"#);
    assert_eq!(site.read_response(turn).chunks.len(), sent + 2);
    site.assert_forgotten();
}

/// Proves H-HTTP-118, H-HTTP-119, H-HR-01, M-ARCH-09, M-CANC-18.
#[test]
fn a_client_cancels_by_going_away() {
    // The client disconnects before the head, after it, and with unread bytes.
    for reads in [0, 1, 2] {
        let mut site = Site::new();
        let (turn, request) = site.ask(&modern_headers("tools/list"), &list());
        let (beside, other) = site.ask(&modern_headers("tools/list"), &list());
        if 0 < reads {
            site.progress(request.id, 1);
        }
        if reads == 1 {
            site.read_response(turn);
        }
        site.disconnect(turn);
        let events = site.settle();
        let [ServerEvent::Cancelled(cancelled), ServerEvent::Closed { cause }] = &events[..] else {
            panic!("{events:?}")
        };
        assert_eq!((cancelled.id, *cause), (request.id, Cause::WriteFailed));
        assert_eq!(site.read_response(turn).chunks.len(), reads % 2, "nothing more");
        let connection = request.id.connection();
        assert!(site.http.with(connection, Instant::EPOCH, |_, _| ()).is_none(), "forgotten");
        site.respond(other.id, TOOLS);
        assert_eq!(site.read_response(beside), json(200, answer()), "nothing of it goes elsewhere");
        site.assert_forgotten();
    }
}

/// Proves H-HTTP-120, H-HR-02.
#[test]
fn a_disconnect_after_the_response_cancels_nothing() {
    // The response has been handed over, completely, in part, or not at all.
    for parts in 0..4 {
        let mut site = Site::new();
        let (turn, request) = site.ask(&modern_headers("tools/list"), &list());
        site.respond(request.id, TOOLS);
        let exchange = site.exchange(turn);
        for _ in 0..parts {
            site.part(turn);
        }
        site.http.disconnected(exchange, site.now);
        let events = site.settle();
        assert!(matches!(events[..], [ServerEvent::Closed { .. }]), "{parts} {events:?}");
        assert_eq!(site.part(turn), (ResponsePart::End, String::new()));
        site.assert_forgotten();
    }
}
