//! Batches of a client, which only sessions of 2025-03-26 have.

use mcp_sansio::error::{BatchError, TransportFailure, TransportFailureKind};
use mcp_sansio::http::HttpClientConfig;
use mcp_sansio::{CallId, CallOptions, ClientEvent, Outcome, Revision};

use super::kit::{Act, EVENTS, JSON, Sent, Side, URL, post, result};

const SESSION: (&str, &str) = ("Mcp-Session-Id", "s-1");
const VERSION: (&str, &str) = ("MCP-Protocol-Version", "2025-03-26");

/// Makes two calls in one batch.
fn make_two(side: &mut Side) -> [CallId; 2] {
    let now = side.now;
    let calls = side.http.with(|client, out| {
        client.batch(now, out, |batch| {
            let first = batch.call_method("x/a", &(), CallOptions::new())?;
            let second = batch.call_method("x/b", &(), CallOptions::new())?;
            Ok::<_, BatchError>([first, second])
        })
    });
    assert!(!side.http.transport().is_empty(), "the batch waits to be sent");
    calls.unwrap()
}

/// Makes two calls in one batch, and returns them with their request.
fn asks_two(side: &mut Side) -> ([CallId; 2], Sent) {
    let calls = make_two(side);
    let sent = side.sent_one();
    assert!(side.http.transport().is_empty());
    (calls, sent)
}

/// A batch is one POST, and each call ends with its response in the body, whatever the form of the body.
#[test]
fn a_batch_is_one_post_whose_response_ends_each_call() {
    let answers = format!(r#"[{},{}]"#, result(3, "{}"), result(2, r#"{"a":1}"#));
    let in_events = format!("data: {answers}\n\n");
    for (kind, body) in [(JSON, &answers), (EVENTS, &in_events)] {
        let mut side = Side::session(Revision::V2025_03_26);
        let ([first, second], sent) = asks_two(&mut side);
        let expected =
            r#"[{"jsonrpc":"2.0","id":2,"method":"x/a"},{"jsonrpc":"2.0","id":3,"method":"x/b"}]"#;
        assert_eq!(sent.text(), post(&[SESSION, VERSION], expected));
        let events = side.answer(&sent, 200, &[kind], body);
        let ended: Vec<_> = events
            .iter()
            .map(|event| match event {
                ClientEvent::CallEnded(ended) => match &ended.outcome {
                    Outcome::Result(result) => (ended.call, result.as_json()),
                    other => panic!("no result: {other:?}"),
                },
                other => panic!("no end of a call: {other:?}"),
            })
            .collect();
        assert_eq!(ended, [(second, "{}"), (first, r#"{"a":1}"#)]);
        assert_eq!(side.http.transport().exchanges(), 0);
        if kind == EVENTS {
            // The server may keep the stream open.
            side.aborts(sent.exchange);
        }
        side.does_nothing();
    }
}

/// Returns the calls that end because of the transport now, with the kind and the status of the failure.
fn fail(side: &mut Side) -> Vec<(CallId, TransportFailureKind, Option<u16>)> {
    assert!(side.acts().is_empty());
    let failed = side.due().into_iter().map(|event| match event {
        ClientEvent::CallEnded(ended) => match ended.outcome {
            Outcome::TransportFailed(TransportFailure { kind, status, .. }) => {
                assert_eq!(ended.status, status);
                (ended.call, kind, status)
            }
            other => panic!("no failure: {other:?}"),
        },
        other => panic!("no end of a call: {other:?}"),
    });
    let failed = failed.collect();
    assert_eq!(side.http.transport().exchanges(), 0);
    side.does_nothing();
    failed
}

/// If the POST of a batch fails, its calls end at once, and not by their timeouts.
#[test]
fn the_calls_of_a_batch_end_with_its_exchange() {
    use TransportFailureKind::{NoAnswer, Refused, Unreachable};
    let null = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no batches"}}"#;
    for (status, fields, body, kind, reported) in [
        (500, &[][..], "", Refused, Some(500)),
        (400, &[JSON][..], null, Refused, Some(400)),
        // Only a batch without requests may be accepted without a response.
        (202, &[][..], "", NoAnswer, None),
        (200, &[("Content-Type", "text/html")][..], "<p>", NoAnswer, None),
    ] {
        let mut side = Side::session(Revision::V2025_03_26);
        let ([first, second], sent) = asks_two(&mut side);
        assert_eq!(side.answer(&sent, status, fields, body), []);
        let expected = [(first, kind, reported), (second, kind, reported)];
        assert_eq!(fail(&mut side), expected, "{status}");
    }
    let mut side = Side::session(Revision::V2025_03_26);
    let ([first, second], sent) = asks_two(&mut side);
    assert_eq!(side.failed(&sent), []);
    assert_eq!(fail(&mut side), [(first, Unreachable, None), (second, Unreachable, None)]);
}

/// A stream that ends early ends the calls without a response, and no others.
#[test]
fn a_stream_that_breaks_off_ends_the_rest_of_a_batch() {
    let mut side = Side::session(Revision::V2025_03_26);
    let ([first, second], sent) = asks_two(&mut side);
    let mut reader = side.stream(&sent);
    let events = side.says(&mut reader, &result(2, "{}"));
    let [ClientEvent::CallEnded(ended)] = &events[..] else { panic!("{events:?}") };
    assert_eq!(ended.call, first);
    assert_eq!(side.end(&mut reader), []);
    assert_eq!(fail(&mut side), [(second, TransportFailureKind::BrokenOff, None)]);
}

/// The exchange of a batch is aborted with its last call, so that no stream stays open for nothing.
#[test]
fn the_exchange_of_a_batch_ends_with_its_last_call() {
    let mut side = Side::session(Revision::V2025_03_26);
    let ([first, second], sent) = asks_two(&mut side);
    let mut reader = side.stream(&sent);
    let events = side.says(&mut reader, &result(3, "{}"));
    assert!(matches!(&events[..], [ClientEvent::CallEnded(ended)] if ended.call == second));
    side.does_nothing();
    side.elapse(600_000);
    let events = side.due();
    assert!(matches!(&events[..], [ClientEvent::CallEnded(ended)] if ended.call == first));
    let acts = side.acts();
    let [Act::Abort(aborted), Act::Send(cancelled)] = &acts[..] else { panic!("{acts:?}") };
    assert!(cancelled.body().contains("notifications/cancelled"));
    assert_eq!((*aborted, side.http.transport().exchanges()), (sent.exchange, 1));
}

/// A server cannot make a client open any number of requests by batches of pings.
#[test]
fn batches_of_responses_count_like_responses() {
    let mut http = HttpClientConfig::new(URL);
    http.most_notices = 2;
    let (mut side, listening) = Side::listening(Revision::V2025_03_26, http);
    let mut stream = side.stream(&listening);
    for id in 1..=5 {
        let ping = format!(r#"[{{"jsonrpc":"2.0","id":{id},"method":"ping"}}]"#);
        assert_eq!(side.says(&mut stream, &ping), []);
    }
    let sent = side.sent();
    assert_eq!(sent.len(), 2, "{sent:?}");
    assert_eq!(sent[0].body(), r#"[{"jsonrpc":"2.0","id":1,"result":{}}]"#);
    assert_eq!(side.answer(&sent[0], 202, &[], ""), []);
    assert_eq!(side.sent().len(), 1);
}

/// Each batch has its own calls, also behind a batch of notifications.
#[test]
fn batches_do_not_mix_up_their_calls() {
    let mut side = Side::session(Revision::V2025_03_26);
    let now = side.now;
    let notified = side.http.with(|client, out| {
        client.batch(now, out, |batch| {
            batch.notify_method("notifications/x", &())?;
            Ok::<_, BatchError>(())
        })
    });
    notified.unwrap();
    let notice = side.sent_one();
    let ([first, second], sent) = asks_two(&mut side);
    assert_eq!(side.answer(&notice, 500, &[], ""), []);
    assert!(side.acts().is_empty());
    assert_eq!(side.due(), [], "a batch of notifications has no calls");
    assert_eq!(side.answer(&sent, 500, &[], ""), []);
    let kind = TransportFailureKind::Refused;
    assert_eq!(fail(&mut side), [(first, kind, Some(500)), (second, kind, Some(500))]);
}

/// A batch that is dropped with its session leaves its calls to the machine, which ends them with the session.
#[test]
fn a_batch_that_was_never_sent_is_forgotten() {
    let mut side = Side::session(Revision::V2025_03_26);
    make_two(&mut side);
    side.http.with(|_, transport| transport.renew());
    let ([first, second], sent) = asks_two(&mut side);
    assert_eq!(side.failed(&sent), []);
    let kind = TransportFailureKind::Unreachable;
    assert_eq!(fail(&mut side), [(first, kind, None), (second, kind, None)]);
}

/// A response to a batch without any message is no message either.
#[test]
fn an_empty_response_to_a_batch_is_no_message() {
    let mut side = Side::session(Revision::V2025_03_26);
    let (_, sent) = asks_two(&mut side);
    let mut reader = side.head(&sent, 200, &[JSON]).unwrap();
    let now = side.now;
    side.http.with(|_, transport| assert_eq!(transport.end(&mut reader, now), None));
    assert_eq!(side.http.transport().exchanges(), 0);
}

/// The exchange of a batch is aborted with its last call, also if the calls are cancelled.
#[test]
fn a_cancelled_call_leaves_its_batch() {
    let mut side = Side::session(Revision::V2025_03_26);
    let (calls, sent) = asks_two(&mut side);
    let mut cancelled = calls.map(|call| {
        side.http.with(|client, out| client.cancel(call, None, out)).unwrap();
        side.acts()
    });
    let [[Act::Send(first)], [Act::Abort(aborted), Act::Send(second)]] =
        cancelled.each_mut().map(|acts| &mut acts[..])
    else {
        panic!("{cancelled:?}")
    };
    for (cancelled, id) in [(first, 2), (second, 3)] {
        assert!(cancelled.body().contains(&format!(r#""requestId":{id}"#)), "{cancelled:?}");
        assert_eq!(side.answer(cancelled, 202, &[], ""), []);
    }
    assert_eq!((*aborted, side.http.transport().exchanges()), (sent.exchange, 0));
}

/// Nothing follows a JSON body, so it ends each call of the batch that it has no response for.
#[test]
fn a_body_without_a_response_ends_the_rest_of_a_batch() {
    let mut side = Side::session(Revision::V2025_03_26);
    let ([first, second], sent) = asks_two(&mut side);
    let transport = side.http.transport();
    assert_eq!(transport.exchange_of(first), Some(sent.exchange));
    assert_eq!(transport.exchange_of(second), Some(sent.exchange));
    let events = side.json(&sent, &format!("[{}]", result(3, "{}")));
    assert!(matches!(&events[..], [ClientEvent::CallEnded(ended)] if ended.call == second));
    assert_eq!(side.http.transport().exchange_of(first), None);
    assert_eq!(fail(&mut side), [(first, TransportFailureKind::NoAnswer, None)]);
}

/// A batch with a notification is not aborted before its head has arrived: the server may not have received it.
#[test]
fn a_notification_in_a_batch_is_sent_although_its_call_is_cancelled() {
    for head_first in [false, true] {
        let mut side = Side::session(Revision::V2025_03_26);
        let now = side.now;
        let made = side.http.with(|client, out| {
            client.batch(now, out, |batch| {
                let call = batch.call_method("x/a", &(), CallOptions::new())?;
                batch.notify_method("notifications/x", &())?;
                Ok::<_, BatchError>(call)
            })
        });
        let sent = side.sent_one();
        if head_first {
            assert!(side.head(&sent, 200, &[EVENTS]).is_some());
        }
        side.http.with(|client, out| client.cancel(made.unwrap(), None, out)).unwrap();
        let acts = side.acts();
        if head_first {
            let [Act::Abort(aborted), Act::Send(_)] = &acts[..] else { panic!("{acts:?}") };
            assert_eq!(*aborted, sent.exchange);
        } else {
            assert!(matches!(&acts[..], [Act::Send(_)]), "{acts:?}");
            assert!(side.head(&sent, 200, &[EVENTS]).is_none(), "nothing waits for the rest");
        }
        assert_eq!(side.http.transport().exchanges(), 1, "the notification of the cancellation");
    }
}

/// If the calls of a batch end before it is sent, nothing waits for its response.
#[test]
fn calls_that_end_before_their_batch_is_sent_do_not_wait() {
    let mut side = Side::session(Revision::V2025_03_26);
    let calls = make_two(&mut side);
    side.elapse(600_000);
    let events = side.due();
    assert_eq!(events.len(), 2, "{events:?}");
    let sent = side.sent();
    assert_eq!(sent.len(), 3, "the batch, and a cancellation for each call: {sent:?}");
    assert_eq!(calls.map(|call| side.http.transport().exchange_of(call)), [None; 2]);
    assert!(side.head(&sent[0], 200, &[EVENTS]).is_none());
}
