//! Keep-alive pings of a client over HTTP, each of which is an exchange that can fail.

use std::time::Duration;

use mcp_sansio::config::KeepAlive;
use mcp_sansio::http::HttpClientConfig;
use mcp_sansio::{Cause, ClientEvent, Revision};
use mcp_sansio_proptests::config;

use super::kit::{JSON, Side, URL, result};

const EVERY: u64 = 10_000;
const ANSWER_WITHIN: u64 = 3_000;

/// A client that pings a silent server, without the event stream of its session.
fn pinging() -> Side {
    let mut policy = KeepAlive::every(Duration::from_millis(EVERY));
    policy.answer_within = Duration::from_millis(ANSWER_WITHIN);
    policy.close_after = Some(2);
    let mut client = config::client();
    client.connection.keep_alive = Some(policy);
    let http = HttpClientConfig::new(URL);
    let (mut side, listening) = Side::listening_as(client, Revision::V2025_11_25, http);
    assert_eq!(side.answer(&listening, 405, &[], ""), []);
    side
}

/// A ping that cannot be delivered is missed at its deadline. No other ping is sent before the next period of silence.
#[test]
fn a_ping_whose_exchange_fails_is_missed() {
    for status in [None, Some(500), Some(429)] {
        let mut side = pinging();
        for missed in [1, 2] {
            side.elapse(EVERY);
            assert_eq!(side.due(), []);
            let ping = side.sent_one();
            assert!(ping.body().contains("\"ping\""), "{}", ping.body());
            match status {
                None => assert_eq!(side.failed(&ping), []),
                Some(status) => assert_eq!(side.answer(&ping, status, &[], ""), []),
            }
            side.does_nothing();
            side.elapse(ANSWER_WITHIN - 1);
            side.does_nothing();
            side.elapse(1);
            let events = side.due();
            let [ClientEvent::Unresponsive { missed: reported }, rest @ ..] = &events[..] else {
                panic!("{events:?}")
            };
            assert_eq!(*reported, missed);
            match rest {
                [] => assert_eq!(missed, 1),
                [ClientEvent::Closed { cause, .. }] => {
                    assert_eq!((missed, *cause), (2, Cause::Unresponsive));
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

/// An error response shows that the server is there, also with a status that is no success.
#[test]
fn a_ping_that_is_answered_with_an_error_is_not_missed() {
    let mut side = pinging();
    for _ in 0..3 {
        side.elapse(EVERY);
        assert_eq!(side.due(), []);
        let ping = side.sent_one();
        let error = format!(
            r#"{{"jsonrpc":"2.0","id":{},"error":{{"code":-32603,"message":"busy"}}}}"#,
            ping.id()
        );
        assert_eq!(side.answer(&ping, 400, &[JSON], &error), []);
        side.does_nothing();
        side.elapse(EVERY - 1);
        side.does_nothing();
        side.elapse(1);
        assert_eq!(side.due(), []);
        let ping = side.sent_one();
        assert_eq!(side.json(&ping, &result(ping.id(), "{}")), []);
        side.does_nothing();
    }
}
