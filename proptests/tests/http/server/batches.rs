//! Batches, which only sessions of 2025-03-26 have.

use mcp_sansio::http::ResponseMode;

use super::message::{self, error, fault, notification, plain, progress, result};
use super::site::{Site, Turn, event, in_session, json, status, stream};
use mcp_sansio::{Request, ServerEvent};

fn ask(site: &mut Site, lines: &str, body: &str) -> (Turn, Vec<Request<'static>>) {
    let turn = site.send("POST", lines, body);
    let requests = site.events().into_iter().map(|event| match event {
        ServerEvent::Request(request) => request,
        other => panic!("not a request: {other:?}"),
    });
    (turn, requests.collect())
}

/// If several messages of a POST are refused without a response, the reply is about the first of them.
#[test]
fn a_reply_is_about_the_first_fault() {
    let mut site = Site::new();
    let session = site.open("2025-03-26");
    let list = |id| plain(id, "tools/list", "");
    let (turn, requests) =
        ask(&mut site, &in_session(&session), &format!("[{},{}]", list("1"), list("2")));
    for ids in [["1", "2"], ["2", "1"]] {
        let body = format!("[{},{}]", list(ids[0]), list(ids[1]));
        let refused = json(400, error(ids[0], -32600, "the id is in flight already"));
        assert_eq!(site.post(&in_session(&session), &body), refused);
    }
    for request in requests {
        site.respond(request.id, r#"{"tools":[]}"#);
    }
    assert_eq!(site.read_response(turn).status, 200);
}

/// Proves H-HTTP-135, H-HTTP-138, H-HTTP-139, H-HTTP-142.
#[test]
fn a_batch_is_answered_together() {
    let body = format!(
        "[{},\n{},{},{}]",
        plain("1", "tools/list", ""),
        notification("notifications/x", ""),
        plain("2", "ping", ""),
        plain(r#""c""#, "tools/list", r#""_meta":{"progressToken":"t"}"#),
    );
    for mode in [ResponseMode::Automatic, ResponseMode::EventStream, ResponseMode::Json] {
        for reports in [false, true] {
            let mut site = Site::with(|http, _| http.responses = mode);
            let session = site.open("2025-03-26");
            let turn = site.send("POST", &in_session(&session), &body);
            let requests: Vec<_> = site
                .events()
                .into_iter()
                .filter_map(|event| match event {
                    ServerEvent::Request(request) => Some(request.id),
                    _ => None,
                })
                .collect();
            if reports {
                site.progress(requests[1], 1);
            }
            site.respond(requests[1], r#"{"tools":[]}"#);
            assert!(!site.read_response(turn).is_over);
            site.reject(requests[0], -32603, "broken");
            let answers = format!(
                "[{},{},{}]",
                result("2", ""),
                result(r#""c""#, r#""tools":[]"#),
                error("1", -32603, "broken")
            );
            let report = reports.then(|| event(progress(r#""t""#, 1)));
            let expected = match mode {
                ResponseMode::Json => json(200, answers),
                ResponseMode::Automatic if !reports => json(200, answers),
                _ => {
                    let events: Vec<_> = report.into_iter().chain([event(answers)]).collect();
                    stream(&events, true)
                }
            };
            assert_eq!(site.read_response(turn), expected, "{mode:?} {reports}");
        }
    }
}

/// Proves H-HTTP-135, H-HTTP-137.
#[test]
fn other_revisions_have_no_batches() {
    let refused = json(400, fault(-32600, "this revision has no batches"));
    let request = format!("[{}]", plain("1", "ping", ""));
    let received = format!("[{}]", notification("notifications/x", ""));
    let answers = r#"[{"jsonrpc":"2.0","id":1,"result":{}}]"#.to_string();
    for revision in ["2024-11-05", "2025-06-18", "2025-11-25"] {
        let mut site = Site::new();
        let session = site.open(revision);
        for body in [&request, &received, &answers] {
            assert_eq!(site.post(&in_session(&session), body), refused, "{revision} {body}");
        }
        assert_eq!(site.post(&in_session(&session), plain("1", "ping", "")).status, 200);
    }
    let mut site = Site::new();
    let session = site.open("2025-03-26");
    let lines = in_session(&session);
    assert_eq!(site.post(&lines, &request), json(200, format!("[{}]", result("1", ""))));
    for body in [&received, &answers] {
        let turn = site.send("POST", &lines, body);
        assert_eq!(site.read_response(turn), status(202), "{body}");
        site.events();
    }
}

/// Proves H-HTTP-136, H-HTTP-224.
#[test]
fn a_batch_is_all_of_one_kind() {
    let mut site = Site::new();
    let session = site.open("2025-03-26");
    let lines = in_session(&session);
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    for (body, text) in [
        (
            format!("[{},{answer}]", plain("1", "ping", "")),
            "a batch holds either requests or responses",
        ),
        (
            format!("[{answer},{}]", notification("x", "")),
            "a batch holds either requests or responses",
        ),
        (
            format!(
                "[{},{}]",
                plain("1", "ping", ""),
                message::modern_request("2", "tools/list", "")
            ),
            "a modern request must not be in a batch",
        ),
        (format!("[{},7]", plain("1", "ping", "")), "the batch holds something that is no message"),
        (format!("[[{}]]", plain("1", "ping", "")), "the batch holds something that is no message"),
        ("[]".into(), "a batch must not be empty"),
    ] {
        assert_eq!(site.post(&lines, &body), json(400, fault(-32600, text)), "{body}");
    }
    let long = format!("[{}]", vec![plain("1", "ping", ""); 1001].join(","));
    let received = site.post(&lines, long);
    assert_eq!(received, json(400, fault(-32600, "the batch has too many elements")));
}

/// Proves H-HTTP-135.
#[test]
fn cancelled_requests_are_omitted_from_a_batch_response() {
    let mut site = Site::new();
    let session = site.open("2025-03-26");
    let lines = in_session(&session);
    let body = format!("[{},{}]", plain("1", "tools/list", ""), plain("2", "tools/list", ""));
    let cancel =
        |id: &str| notification("notifications/cancelled", &format!(r#""requestId":{id}"#));
    let (turn, requests) = ask(&mut site, &lines, &body);
    site.respond(requests[0].id, r#"{"tools":[]}"#);
    assert_eq!(site.post(&lines, cancel("2")), status(202));
    assert_eq!(site.read_response(turn), json(200, format!("[{}]", result("1", r#""tools":[]"#))));

    let (turn, _) = ask(&mut site, &lines, &body);
    assert_eq!(site.post(&lines, cancel("2")), status(202));
    assert_eq!(site.read_response(turn).status, 0);
    assert_eq!(site.post(&lines, cancel("1")), status(202));
    assert_eq!(site.read_response(turn), stream::<&str>(&[], true));
}
