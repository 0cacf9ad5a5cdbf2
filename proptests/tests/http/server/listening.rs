//! Subscriptions of the modern era.

use mcp_sansio::http::ResponseMode;
use mcp_sansio::subscription::ChangedList;
use mcp_sansio::{IncomingId, ServerEvent};

use super::message::{self, error, fault};
use super::site::{ResponseParts, Site, Turn, event, json, modern_headers, replaced, stream};

fn body(id: &str, filter: &str) -> String {
    message::modern_request(id, "subscriptions/listen", &format!(r#""notifications":{{{filter}}}"#))
}

fn tagged(id: &str, method: &str, members: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"{method}","params":{{{members}"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}}}"#
    )
}

fn acknowledged(id: &str) -> String {
    let members = r#""notifications":{"toolsListChanged":true},"#;
    event(tagged(id, "notifications/subscriptions/acknowledged", members))
}

fn tools(id: &str) -> String {
    event(tagged(id, "notifications/tools/list_changed", ""))
}

fn ended(id: &str) -> String {
    event(format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","_meta":{{"io.modelcontextprotocol/subscriptionId":{id},"io.modelcontextprotocol/serverInfo":{{"name":"server","version":"1"}}}}}}}}"#
    ))
}

#[track_caller]
fn subscribe(site: &mut Site, id: &str) -> (Turn, IncomingId) {
    let filter = r#""toolsListChanged":true"#;
    let turn = site.send("POST", &modern_headers("subscriptions/listen"), body(id, filter));
    match &site.events()[..] {
        [ServerEvent::Subscribed(subscribed)] => (turn, subscribed.id),
        other => panic!("{other:?} {:?}", site.read_response(turn)),
    }
}

fn notify_all_connections(site: &mut Site) {
    let connections: Vec<_> = site.http.connections().collect();
    for connection in connections {
        site.http.with(connection, site.now, |server, out| {
            _ = server.notifications().list_changed(ChangedList::Tools, out);
        });
    }
}

/// Proves H-HTTP-112, H-HTTP-113, H-HTTP-115, H-HTTP-116, H-HTTP-117.
#[test]
fn a_subscription_is_a_stream_in_every_mode() {
    for mode in [ResponseMode::Automatic, ResponseMode::EventStream, ResponseMode::Json] {
        let mut site = Site::with(|http, _| http.responses = mode);
        let (turn, id) = subscribe(&mut site, "7");
        assert_eq!(site.read_response(turn), stream(&[acknowledged("7")], false), "{mode:?}");
        // Only subscribed changes are reported.
        let now = site.now;
        site.with_machine(id, |server, out| {
            let report = server.progress(id, mcp_sansio::progress::Progress::new(1), now, out);
            assert_eq!(report, Ok(mcp_sansio::progress::ProgressReport::NotWanted));
            let log =
                mcp_sansio::subscription::Log::new(mcp_sansio::model::LoggingLevel::Error, "x")
                    .about(id);
            assert_ne!(
                server.notifications().log(&log, out),
                Ok(mcp_sansio::subscription::Delivery::Sent)
            );
        });
        site.elapse(15_000);
        assert_eq!(site.news(turn), [": \n\n"]);
        notify_all_connections(&mut site);
        assert_eq!(site.news(turn), [tools("7")]);
        site.with_machine(id, |server, out| server.respond(id, &(), out)).unwrap();
        let received = site.read_response(turn);
        assert_eq!((received.chunks.last(), received.is_over), (Some(&ended("7")), true));
        site.assert_forgotten();

        let lines = replaced(&modern_headers("subscriptions/listen"), "Accept", "application/json");
        assert_eq!(site.post(&lines, body("1", "")).status, 406);
    }
}

/// Proves H-HTTP-114.
#[test]
fn a_subscription_that_is_refused_is_an_error_with_its_status() {
    let check = |site: &mut Site, body: &str, expected: ResponseParts| {
        let received = site.post(&modern_headers("subscriptions/listen"), body);
        assert_eq!(received, expected, "{body}");
    };
    let listen = |members: &str| message::modern_request("7", "subscriptions/listen", members);
    let mut site = Site::new();
    let text = "invalid params: notifications is missing";
    check(&mut site, &listen(""), json(400, error("7", -32602, text)));
    let text = "malformed _meta: io.modelcontextprotocol/clientCapabilities is missing";
    let meta = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#;
    let malformed = message::with_meta("7", "subscriptions/listen", meta, "");
    check(&mut site, &malformed, json(400, error("7", -32602, text)));

    let mut nothing = Site::with(|_, server| server.capabilities = Default::default());
    let filter = body("7", r#""toolsListChanged":true"#);
    let received = nothing.send("POST", &modern_headers("subscriptions/listen"), &filter);
    let received = nothing.read_response(received);
    // A server without such capabilities may refuse the subscription or grant nothing.
    assert!(
        received.status == 404 || received.chunks[0].contains(r#""notifications":{}"#),
        "{received:?}"
    );

    let mut full = Site::with(|_, server| server.connection.limits.listens = 0);
    let text = "too many subscriptions are open";
    check(&mut full, &filter, json(200, error("7", -32603, text)));
    full.assert_forgotten();
    let wrong = json(400, error("7", -32020, "Mcp-Method is not what the body says"));
    assert_eq!(site.post(&modern_headers("subscriptions/other"), &filter), wrong);
    assert_ne!(wrong, json(400, fault(-32020, "")));
}

/// Proves H-HTTP-118, H-HR-16.
#[test]
fn a_client_ends_a_subscription_by_going_away_and_begins_anew() {
    let mut site = Site::new();
    let (old, old_id) = subscribe(&mut site, "7");
    site.read_response(old);
    // The new subscription arrives before the end of the old one is noticed.
    let (new, _) = subscribe(&mut site, "7");
    notify_all_connections(&mut site);
    assert_eq!(site.news(old), [tools("7")]);
    assert_eq!(site.read_response(new), stream(&[acknowledged("7"), tools("7")], false));
    site.disconnect(old);
    let events = site.settle();
    let [ServerEvent::Cancelled(cancelled), ServerEvent::Closed { .. }] = &events[..] else {
        panic!("{events:?}")
    };
    assert_eq!(cancelled.id, old_id);
    notify_all_connections(&mut site);
    assert_eq!(site.news(new), [tools("7")]);
    site.disconnect(new);
    site.assert_forgotten();
}

/// Pain 79: an unread subscription gets each change once, and does not block any other one.
#[test]
fn an_unread_subscription_does_not_block_the_others() {
    let mut site = Site::new();
    let ((slow, _), (quick, _)) = (subscribe(&mut site, "7"), subscribe(&mut site, "8"));
    site.read_response(slow);
    site.read_response(quick);
    for _ in 0..1_000 {
        notify_all_connections(&mut site);
        assert_eq!(site.news(quick), [tools("8")]);
    }
    assert_eq!(site.news(slow), [tools("7")], "once, and not a thousand times");
}
