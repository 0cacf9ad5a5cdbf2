//! Batches of a client, which only sessions of 2025-03-26 have.

use mcp_sansio::error::BatchError;
use mcp_sansio::{CallId, CallOptions, ClientEvent, Outcome, Revision};

use super::kit::{EVENTS, JSON, Sent, Side, post, result};

const SESSION: (&str, &str) = ("Mcp-Session-Id", "s-1");
const VERSION: (&str, &str) = ("MCP-Protocol-Version", "2025-03-26");

/// Makes two calls in one batch, and returns them with their request.
fn asks_two(side: &mut Side) -> ([CallId; 2], Sent) {
    let now = side.now;
    let calls = side.http.with(|client, out| {
        client.batch(now, out, |batch| {
            let first = batch.call_method("x/a", &(), CallOptions::new())?;
            let second = batch.call_method("x/b", &(), CallOptions::new())?;
            Ok::<_, BatchError>([first, second])
        })
    });
    assert!(!side.http.transport().is_empty(), "the batch waits to be sent");
    let sent = side.sent_one();
    assert!(side.http.transport().is_empty());
    (calls.unwrap(), sent)
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
        side.does_nothing();
    }
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
