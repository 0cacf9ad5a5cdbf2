//! Requests that need more than a response: requests to the client, and tasks.

use mcp_sansio::call::Cancellation;
use mcp_sansio::http::{EventStore, MemoryEvents};
use mcp_sansio::model::{ElicitParams, InputRequired, ObjectSchema};
use mcp_sansio::task::{NewTask, Tasks, TasksConfig};
use mcp_sansio::testing::Choices;
use mcp_sansio::{CallId, CallOptions, IncomingId, Instant, ServerEvent};
use std::time::Duration;

use super::message::{error, plain, result, with_meta};
use super::site::{Site, about, event, in_session, json, numbered, priming, status, stream};
use super::standalone::accept;

const ASKED: &str = r#"{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"who?","requestedSchema":{"type":"object","properties":{}}}}"#;

/// Proves H-HTTP-140, H-HTTP-141.
#[test]
fn a_client_of_a_session_is_asked_on_the_stream_of_its_request() {
    for revision in ["2025-06-18", "2025-11-25"] {
        let mut site = Site::new();
        let session = site.open(revision);
        let lines = in_session(&session);
        let (turn, request) = site.ask(&lines, &plain("7", "tools/call", r#""name":"t""#));
        let form = ElicitParams::form("who?", ObjectSchema::new(Default::default()));
        let need = InputRequired::new().elicit("who", form);
        let now = site.now;
        site.with_machine(request.id, |server, out| {
            server.require_input(&request, &need, now, out).unwrap();
        });
        let is_primed = revision == "2025-11-25";
        let mut sent = if is_primed {
            vec![priming("3-0"), numbered("3-1", ASKED)]
        } else {
            vec![event(ASKED)]
        };
        assert_eq!(site.read_response(turn), stream(&sent, false));
        let answered = site.send("POST", &lines, accept("1"));
        assert_eq!(site.read_response(answered), status(202));
        let mut events = site.events();
        events.extend(site.settle());
        // The same request is delivered once more, with its input.
        let [ServerEvent::Request(again)] = &events[..] else { panic!("{events:?}") };
        assert!(again.input("who").is_some());
        site.respond(again.id, r#"{"content":[]}"#);
        let answer = result("7", r#""content":[]"#);
        sent.push(if is_primed { numbered("3-2", answer) } else { event(answer) });
        assert_eq!(site.read_response(turn), stream(&sent, true));
    }
}

/// The other questions of a request are withdrawn on its stream before its response, which ends the stream. Later they
/// are withdrawn on the standalone stream.
///
/// Proves M-MRTR-41 over HTTP.
#[test]
fn questions_of_an_answered_request_are_withdrawn() {
    let withdrawn = |id: u32| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
        )
    };
    let roots = |id: u32| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"roots/list"}}"#);
    let call = plain("7", "tools/call", r#""name":"t""#);
    let mut site = Site::new();
    let session = site.open("2025-06-18");
    let lines = in_session(&session);
    let ask = |site: &mut Site| {
        let (turn, request) = site.ask(&lines, &call);
        let (need, now) = (InputRequired::new().roots("a").roots("b"), site.now);
        site.with_machine(request.id, |server, out| {
            server.require_input(&request, &need, now, out).unwrap();
        });
        (turn, request.id)
    };
    let (turn, _) = ask(&mut site);
    let mut sent = vec![event(roots(1)), event(roots(2))];
    assert_eq!(site.read_response(turn), stream(&sent, false));
    let refusal = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"User rejected"}}"#;
    assert_eq!(site.post(&lines, refusal), status(202));
    let failed = r#""content":[{"type":"text","text":"the client did not give what was needed for this"}],"isError":true"#;
    sent.extend([event(withdrawn(2)), event(result("7", failed))]);
    assert_eq!(site.read_response(turn), stream(&sent, true));
    site.settle();

    let (turn, id) = ask(&mut site);
    site.respond(id, r#"{"content":[]}"#);
    let sent = [event(roots(3)), event(roots(4)), event(result("7", r#""content":[]"#))];
    assert_eq!(site.read_response(turn), stream(&sent, true));
    let listening = site.send("GET", &lines, "");
    let sent = [event(withdrawn(3)), event(withdrawn(4))];
    assert_eq!(site.read_response(listening), stream(&sent, false));
}

/// Asks the client for its roots on behalf of a request.
fn ask_for_roots(site: &mut Site, request: IncomingId) -> CallId {
    let now = site.now;
    site.with_machine(request, |server, out| {
        let options = CallOptions::new().parent(request);
        server.call_method("roots/list", &(), options, now, out).unwrap()
    })
}

/// A request to the client is cancelled after the end of the request that it belongs to, and another request has the place
/// of that one in the tables. The cancellation goes to the standalone stream.
#[test]
fn a_question_is_withdrawn_after_its_request() {
    let call = plain("7", "tools/call", r#""name":"t""#);
    let mut site = Site::new();
    let session = site.open("2025-06-18");
    let lines = in_session(&session);
    let (turn, request) = site.ask(&lines, &call);
    let asked = ask_for_roots(&mut site, request.id);
    site.respond(request.id, r#"{"content":[]}"#);
    let roots = r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#;
    let sent = [event(roots), event(result("7", r#""content":[]"#))];
    assert_eq!(site.read_response(turn), stream(&sent, true));
    let (_, other) = site.ask(&lines, &call);
    assert_eq!(other.id.index(), request.id.index());
    let cancelled = site.with_machine(other.id, |server, out| server.cancel(asked, None, out));
    assert_eq!(cancelled, Ok(Cancellation::Notified));
    let listening = site.send("GET", &lines, "");
    let withdrawn =
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    assert_eq!(site.read_response(listening), stream(&[event(withdrawn)], false));
}

/// A client need not open the standalone stream. Cancellations that find no room on it are dropped, and the session goes on.
#[test]
fn cancellations_that_no_stream_carries_do_not_end_the_session() {
    let call = plain("7", "tools/call", r#""name":"t""#);
    let mut site = Site::new();
    let session = site.open("2025-06-18");
    let lines = in_session(&session);
    for _ in 0..3_000 {
        let (turn, request) = site.ask(&lines, &call);
        let asked = ask_for_roots(&mut site, request.id);
        site.respond(request.id, r#"{"content":[]}"#);
        assert!(site.read_response(turn).is_over);
        site.with_machine(request.id, |server, out| server.cancel(asked, None, out)).unwrap();
    }
    let (_, request) = site.ask(&lines, &call);
    site.respond(request.id, r#"{"content":[]}"#);
}

/// Proves H-HTTP-114, H-HTTP-40.
#[test]
fn tasks_extension_must_be_declared_by_both_sides() {
    let tasks = r#""taskId":"x""#;
    let meta = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}"#;
    let body = with_meta("1", "tasks/get", meta, tasks);
    let lines = about("tasks/get", "x");
    let text = "method not available in this session";
    assert_eq!(Site::new().post(&lines, &body), json(404, error("1", -32601, text)));
    let mut site = Site::with(|_, server| {
        server.capabilities = std::mem::take(&mut server.capabilities).with_tasks();
    });
    let refused = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32021,"message":"Missing required client capability","data":{"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}}"#;
    assert_eq!(site.post(&lines, &body), json(400, refused));
    let listen = r#""notifications":{"taskIds":["x"]}"#;
    let body = with_meta("1", "subscriptions/listen", meta, listen);
    let lines = super::site::modern_headers("subscriptions/listen");
    assert_eq!(site.post(&lines, body), json(400, refused));
    let wrong = site.post(&about("tasks/get", "y"), with_meta("1", "tasks/get", meta, tasks));
    assert_eq!(wrong, json(400, error("1", -32020, "Mcp-Name is not what the body says")));
}

/// Proves H-HTTP-121.
#[test]
fn a_task_goes_on_without_the_client_that_wanted_it() {
    let meta = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;
    for has_begun in [true, false] {
        let mut site = Site::with(|_, server| {
            server.capabilities = std::mem::take(&mut server.capabilities).with_tasks();
        });
        let mut tasks = Tasks::new(TasksConfig::default());
        let body = with_meta("1", "tools/call", meta, r#""name":"t""#);
        let (turn, request) = site.ask(&about("tools/call", "t"), &body);
        let now = site.now;
        let mut begin = |site: &mut Site| {
            site.with_machine(request.id, |server, out| {
                let new = NewTask::new("task-1");
                server.tasks(&mut tasks).begin(request.id, new, now, out).is_ok()
            })
        };
        if has_begun {
            assert!(begin(&mut site));
        }
        site.disconnect(turn);
        if !has_begun {
            assert!(!begin(&mut site), "there is nobody to have it");
        }
        let events = site.settle();
        let is_cancelled = matches!(events[..], [ServerEvent::Cancelled(_), _]);
        assert_eq!(is_cancelled, !has_begun, "{events:?}");
        assert_eq!(tasks.len(), usize::from(has_begun));
        site.assert_forgotten();
    }
}

/// Any events: the store agrees with a list of all of them.
///
/// Proves H-HTTP-199.
#[test]
fn kept_events_agree_with_a_list() {
    for seed in 0..200 {
        let mut choices = Choices::seeded(seed);
        let (most, most_bytes) = (1 + choices.below(6) as usize, 1 + choices.below(60) as usize);
        let age = Duration::from_secs(10);
        let mut events = MemoryEvents::new(most, most_bytes, age);
        let mut list: Vec<(u32, u64, usize, Instant)> = Vec::new();
        let mut now = Instant::from_millis(0);
        for event in 1..60 {
            let stream = choices.below(3) as u32;
            match choices.below(6) {
                0 => {
                    events.forget(stream);
                    list.retain(|known| known.0 != stream);
                }
                1 => now = now + Duration::from_secs(choices.below(6)),
                _ => {
                    let length = choices.below(30) as usize;
                    events.keep(stream, event, &vec![b'x'; length], now);
                    if length <= most_bytes {
                        list.push((stream, event, length, now));
                        let bytes = |list: &[(u32, u64, usize, Instant)]| {
                            list.iter().map(|known| known.2).sum::<usize>()
                        };
                        while most < list.len()
                            || most_bytes < bytes(&list)
                            || list.first().is_some_and(|oldest| age <= now - oldest.3)
                        {
                            list.remove(0);
                        }
                    }
                }
            }
            for stream in 0..3 {
                for after in 0..60 {
                    let known = list.iter().find(|known| known.0 == stream && after < known.1);
                    let kept = events.after(stream, after).map(|(event, text)| (event, text.len()));
                    assert_eq!(kept, known.map(|known| (known.1, known.2)), "seed {seed}");
                }
            }
        }
    }
}

/// Proves H-HTTP-199.
#[test]
fn the_latest_events_are_kept_within_bounds() {
    let at = Instant::from_millis;
    let kept = |events: &MemoryEvents, stream: u32| {
        let mut kept = Vec::new();
        while let Some((event, _)) = events.after(stream, kept.last().copied().unwrap_or(0)) {
            kept.push(event);
        }
        kept
    };
    // The number of events is limited, across all streams.
    let mut events = MemoryEvents::new(3, 1_000, Duration::from_secs(60));
    for (stream, event) in [(1, 1), (2, 1), (1, 2), (1, 3)] {
        events.keep(stream, event, b"12345", at(0));
    }
    assert_eq!((kept(&events, 1), kept(&events, 2)), (vec![2, 3], vec![1]));
    events.forget(1);
    assert_eq!((kept(&events, 1), kept(&events, 2)), (vec![], vec![1]));
    assert_eq!(events.after(2, 0), Some((1, &b"12345"[..])));
    // Forgotten events leave their room to others.
    let mut events = MemoryEvents::new(100, 10, Duration::from_secs(60));
    for stream in [1, 2] {
        for event in [1, 2] {
            events.keep(stream, event, b"12345", at(0));
        }
        assert_eq!(kept(&events, stream), [1, 2]);
        events.forget(stream);
    }
    // Their total size is limited. An event that exceeds the limit is not kept, and displaces no other event.
    let mut events = MemoryEvents::new(100, 10, Duration::from_secs(60));
    for event in 1..5 {
        events.keep(1, event, b"12345", at(0));
    }
    assert_eq!(kept(&events, 1), [3, 4]);
    events.keep(1, 5, b"12345678901", at(0));
    assert_eq!(kept(&events, 1), [3, 4]);
    // Their age is limited.
    let mut events = MemoryEvents::new(100, 1_000, Duration::from_secs(60));
    events.keep(1, 1, b"12345", at(0));
    events.keep(1, 2, b"12345", at(59_999));
    assert_eq!(kept(&events, 1), [1, 2]);
    assert_eq!(events.poll_timeout(), Some(at(60_000)));
    events.keep(1, 3, b"12345", at(60_000));
    assert_eq!(kept(&events, 1), [2, 3]);
    events.expire(at(119_998));
    assert_eq!(kept(&events, 1), [2, 3]);
    events.expire(at(119_999));
    assert_eq!(kept(&events, 1), [3]);
    events.expire(at(120_000));
    assert_eq!((kept(&events, 1), events.poll_timeout()), (vec![], None));
}
