//! The input requests of a task, and the effect of answers.

use mcp_sansio::capability::Capability;
use mcp_sansio::error::NotAllowed;
use mcp_sansio::model::{CreateMessageParams, ElicitParams, InputRequired};
use mcp_sansio::task::{NewTask, Status, TaskError, TaskKey, TaskNews};

use crate::extension::kit::*;

/// The response for a task that waits for answers under these keys.
fn waiting(keys: &[&str]) -> String {
    let asked: Vec<String> = keys.iter().map(|key| format!(r#""{key}":{QUESTION}"#)).collect();
    let asked = format!(r#""inputRequests":{{{}}}"#, asked.join(","));
    complete("1", &detailed("t", "input_required", &asked))
}

/// The same answer under each of these keys.
fn answers(keys: &[&str]) -> String {
    let given: Vec<String> = keys.iter().map(|key| format!(r#""{key}":{ANSWER}"#)).collect();
    given.join(",")
}

/// A host with a task that waits for answers under these keys.
fn asked(keys: &[&'static str]) -> (Host, TaskKey) {
    let mut host = Host::new();
    let key = host.begin("t");
    host.asks(key, keys);
    (host, key)
}

/// Asserts that an update is acknowledged, with any effect.
#[track_caller]
fn acknowledges(host: &mut Host, given: &str) -> Option<TaskNews> {
    let news = host.serve(&update("1", "t", given));
    assert_eq!(host.sent(), [complete("1", "")], "{given}");
    news
}

fn inputs(host: &Host, key: TaskKey) -> String {
    host.tasks.get(key).unwrap().inputs().as_json().to_owned()
}

/// Proves M-TASKX-33, M-RES-14: an update is answered with an empty result, and the work can continue.
#[test]
fn an_update_is_acknowledged() {
    let (mut host, key) = asked(&["a"]);
    host.wait(500);
    assert_eq!(acknowledges(&mut host, &answers(&["a"])), Some(TaskNews::Input(key)));
    assert_eq!(inputs(&host, key), format!(r#"{{"a":{ANSWER}}}"#));
    let later = fresh("t", "working").replace("40.000Z\",\"ttl", "40.500Z\",\"ttl");
    assert_ne!(later, fresh("t", "working"));
    host.answers(&get("2", "t"), &complete("2", &later));
}

/// Proves M-TASKX-35, M-TASKX-21: answers can arrive one by one, and an answered input is not requested any more.
#[test]
fn answers_can_come_one_by_one() {
    let (mut host, key) = asked(&["a", "b", "c"]);
    host.answers(&get("1", "t"), &waiting(&["a", "b", "c"]));
    assert_eq!(acknowledges(&mut host, &answers(&["b"])), None);
    host.answers(&get("1", "t"), &waiting(&["a", "c"]));
    assert_eq!(host.tasks.get(key).unwrap().waits_for().collect::<Vec<_>>(), ["a", "c"]);
    assert_eq!(acknowledges(&mut host, &answers(&["c"])), None);
    host.answers(&get("1", "t"), &waiting(&["a"]));
    assert_eq!(acknowledges(&mut host, &answers(&["a"])), Some(TaskNews::Input(key)));
    host.answers(&get("1", "t"), &complete("1", &fresh("t", "working")));
    assert_eq!(inputs(&host, key), format!("{{{}}}", answers(&["a", "b", "c"])));
}

/// Proves M-TASKX-35: a task can require more input while it waits, and keeps the answers so far. The answers stay
/// until the task requires input again.
#[test]
fn no_answer_is_lost_when_a_task_asks_for_more() {
    let (mut host, key) = asked(&["a", "b"]);
    assert_eq!(acknowledges(&mut host, &answers(&["a"])), None);
    host.asks(key, &["c"]);
    host.answers(&get("1", "t"), &waiting(&["b", "c"]));
    assert_eq!(acknowledges(&mut host, &answers(&["c"])), None);
    assert_eq!(acknowledges(&mut host, &answers(&["b"])), Some(TaskNews::Input(key)));
    assert_eq!(inputs(&host, key), format!("{{{}}}", answers(&["a", "b", "c"])));
    host.asks(key, &["d"]);
    assert_eq!(inputs(&host, key), "{}");
    host.answers(&get("1", "t"), &waiting(&["d"]));
}

/// An answer that is too long to keep counts as a refusal: the client would only send it again.
#[test]
fn an_answer_that_is_too_long_is_a_refusal() {
    let (mut host, key) = asked(&["a", "b"]);
    let long = "x".repeat(host.tasks.config().input_bytes);
    let long = format!(r#""a":{{"action":"accept","content":{{"a":"{long}"}}}}"#);
    // A second answer to the same input has no effect.
    assert_eq!(acknowledges(&mut host, &format!("{long},{}", answers(&["a"]))), None);
    assert_eq!(acknowledges(&mut host, &answers(&["b"])), Some(TaskNews::Input(key)));
    assert_eq!(inputs(&host, key), format!("{{{}}}", answers(&["b"])));
}

/// Proves M-TASKX-34, M-R-26, M-R-27: an answer that was not requested or is repeated is ignored. The first answer
/// counts.
#[test]
fn the_first_answer_stands() {
    let (mut host, key) = asked(&["a", "b"]);
    assert_eq!(acknowledges(&mut host, &answers(&["a"])), None);
    let before = host.tasks.clone();
    let other = r#""a":{"action":"decline"}"#;
    let nonsense = r#""a":{"action":7},"x":{"y":1}"#;
    for given in [answers(&["a"]), other.into(), nonsense.into(), answers(&["x"]), String::new()] {
        assert_eq!(acknowledges(&mut host, &given), None);
        assert_eq!(host.tasks, before, "{given}");
    }
    // A new answer in an update counts, regardless of other answers in it.
    let mixed = format!(r#"{other},"x":{{}},"b":{ANSWER}"#);
    assert_eq!(acknowledges(&mut host, &mixed), Some(TaskNews::Input(key)));
    assert_eq!(inputs(&host, key), format!("{{{}}}", answers(&["a", "b"])));
    let before = host.tasks.clone();
    assert_eq!(acknowledges(&mut host, &mixed), None);
    assert_eq!(host.tasks, before);
    // Of two answers under one key in an update, the first one counts.
    let (mut host, key) = asked(&["a"]);
    let twice = format!(r#""a":{ANSWER},{other}"#);
    assert_eq!(acknowledges(&mut host, &twice), Some(TaskNews::Input(key)));
    assert_eq!(inputs(&host, key), format!(r#"{{"a":{ANSWER}}}"#));
}

/// Proves M-R-27, M-STATE-04: two connections answer the same request, and the first answer counts.
#[test]
fn two_connections_answer_one_question() {
    let (mut host, key) = asked(&["a"]);
    let mut other = connection(1, config());
    let given = format!(r#""a":{ANSWER}"#);
    let news = serve(&mut other, &mut host.tasks, &update("1", "t", &given));
    assert_eq!(news, Some(TaskNews::Input(key)));
    assert_eq!(other.sent(), [complete("1", "")]);
    assert_eq!(acknowledges(&mut host, r#""a":{"action":"cancel"}"#), None);
    assert_eq!(inputs(&host, key), format!("{{{given}}}"));
}

/// Proves M-TASKX-33: an answer that does not match its request is refused, together with the whole update.
#[test]
fn input_responses_must_match_their_input_requests() {
    let (mut host, _) = asked(&["a", "b"]);
    let before = host.tasks.clone();
    let misfit = error("1", -32602, "an answer does not fit what was asked for");
    for wrong in [
        "{}",
        r#"{"action":7}"#,
        r#"{"action":"accept","content":{}}"#,
        r#"{"action":"accept","content":{"name":7}}"#,
        r#"{"action":"accept","content":[]}"#,
        r#"{"action":"accept"}"#,
    ] {
        for given in [
            format!(r#""a":{wrong}"#),
            format!(r#""b":{ANSWER},"a":{wrong}"#),
            format!(r#""a":{wrong},"b":{ANSWER}"#),
        ] {
            host.answers(&update("1", "t", &given), &misfit);
            assert_eq!(host.tasks, before, "{given}");
        }
    }
    for refusal in [r#"{"action":"decline"}"#, r#"{"action":"cancel"}"#] {
        let (mut host, key) = asked(&["a"]);
        let given = format!(r#""a":{refusal}"#);
        assert_eq!(acknowledges(&mut host, &given), Some(TaskNews::Input(key)));
        assert_eq!(inputs(&host, key), format!("{{{given}}}"));
    }
}

/// Proves M-TASKX-36: a key is used once in the life of a task.
#[test]
fn a_key_is_used_once() {
    let (mut host, key) = asked(&["a", "b"]);
    let now = host.side.now;
    let taken = Err(TaskError::BadInput);
    let refuses = |host: &mut Host, keys: &[&'static str]| {
        let before = host.tasks.clone();
        assert_eq!(host.tasks.require_input(key, &questions(keys), now), taken, "{keys:?}");
        assert_eq!(host.tasks, before);
    };
    refuses(&mut host, &["a"]);
    refuses(&mut host, &["c", "b"]);
    acknowledges(&mut host, &answers(&["a"]));
    refuses(&mut host, &["a"]);
    acknowledges(&mut host, &answers(&["b"]));
    refuses(&mut host, &["a"]);
    host.asks(key, &["c"]);
    refuses(&mut host, &["a"]);
    acknowledges(&mut host, &answers(&["c"]));
    host.asks(key, &["d"]);
    refuses(&mut host, &["a"]);
    refuses(&mut host, &["c"]);
    // Answers to earlier inputs have no effect.
    assert_eq!(acknowledges(&mut host, &answers(&["a", "b", "c"])), None);
    host.answers(&get("1", "t"), &waiting(&["d"]));
    // The used keys survive a restart.
    let mut restored = Host::new();
    let key = restored.tasks.restore(host.tasks.save(key).unwrap()).unwrap();
    for used in ["a", "b", "c", "d"] {
        assert_eq!(restored.tasks.require_input(key, &questions(&[used]), now), taken, "{used}");
    }
    // Another task has its own keys.
    let other = host.begin("u");
    host.asks(other, &["a"]);
}

/// Proves M-TASKX-36: the number of inputs in the life of a task is limited, and each requirement contains at least
/// one.
#[test]
fn a_task_asks_for_something_and_not_for_too_much() {
    let mut host = Host::with(|config| config.inputs = 3);
    let key = host.begin("t");
    let now = host.side.now;
    let bad = Err(TaskError::BadInput);
    assert!(host.tasks.require_input(key, &InputRequired::new(), now).is_err());
    assert_eq!(host.tasks.require_input(key, &questions(&["a", "b", "c", "d"]), now), bad);
    host.asks(key, &["a", "b"]);
    assert_eq!(host.tasks.require_input(key, &questions(&["c", "d"]), now), bad);
    acknowledges(&mut host, &answers(&["a", "b"]));
    host.asks(key, &["c"]);
    acknowledges(&mut host, &answers(&["c"]));
    assert_eq!(host.tasks.require_input(key, &questions(&["d"]), now), bad);
    assert_eq!(host.tasks.get(key).unwrap().status(), Status::Working);
}

/// Proves M-TASKX-37, M-AMB-19: a task requires only input that the request which began it declares, and every
/// reader of the task gets all input requests.
#[test]
fn a_task_can_require_only_input_its_client_declared() {
    let extension = r#""extensions":{"io.modelcontextprotocol/tasks":{}}"#;
    let message = mcp_sansio::model::SamplingMessage::new(
        mcp_sansio::model::Role::User,
        mcp_sansio::model::Content::text("hi"),
    );
    let sample = || CreateMessageParams::new([message.clone()].to_vec(), 5);
    let visit = || ElicitParams::visit("m", "https://example.com");
    let need = InputRequired::new;
    let cases = [
        ("", need().elicit("k", form()), Some(Capability::Elicitation)),
        ("", need().sample("k", sample()), Some(Capability::Sampling)),
        ("", need().roots("k"), Some(Capability::Roots)),
        (r#""elicitation":{},"#, need().elicit("k", form()), None),
        (r#""elicitation":{},"#, need().elicit("k", visit()), Some(Capability::ElicitationUrl)),
        (
            r#""elicitation":{"url":{}},"#,
            need().elicit("k", form()),
            Some(Capability::ElicitationForm),
        ),
        (r#""elicitation":{"url":{}},"#, need().elicit("k", visit()), None),
        (r#""sampling":{},"#, need().sample("k", sample()), None),
        (r#""roots":{},"#, need().roots("k").elicit("l", form()), Some(Capability::Elicitation)),
    ];
    for (capabilities, asked, missing) in cases {
        let mut host = Host::new();
        let capabilities = format!("{{{capabilities}{extension}}}");
        let call = of_client("1", "tools/call", &capabilities, r#""name":"t""#);
        let request = host.request(&call).id;
        let key = host.begin_for(request, NewTask::new("t"));
        host.sent();
        let required = host.tasks.require_input(key, &asked, host.side.now);
        match missing {
            None => assert_eq!(required, Ok(()), "{capabilities}"),
            Some(missing) => {
                let refused = TaskError::NotAllowed(NotAllowed::Capability(missing));
                assert_eq!(required, Err(refused), "{capabilities}");
                host.answers(&get("1", "t"), &complete("1", &fresh("t", "working")));
            }
        }
    }
    // A reader need not declare the capabilities for the input.
    let (mut host, _) = asked(&["a"]);
    assert!(!get("1", "t").contains("elicitation"));
    host.answers(&get("1", "t"), &waiting(&["a"]));
}

/// Proves M-TASKX-38, M-R-20: answers to a task that has ended are acknowledged and dropped.
#[test]
fn input_responses_to_an_ended_task_are_dropped() {
    for status in [Status::Completed, Status::Failed, Status::Cancelled] {
        let (mut host, key) = asked(&["a"]);
        match status {
            Status::Completed => host.completes(key),
            Status::Failed => host.fails(key),
            _ => host.tasks.cancel(key, host.side.now).unwrap(),
        }
        let before = host.tasks.clone();
        for given in [answers(&["a"]), r#""a":{"action":7}"#.into(), String::new()] {
            assert_eq!(acknowledges(&mut host, &given), None, "{status}");
        }
        assert_eq!(host.tasks, before);
        assert_eq!(inputs(&host, key), "{}");
    }
}

/// Proves M-TASKX-39: an update without answers changes nothing.
#[test]
fn an_update_may_be_empty() {
    let (mut host, _) = asked(&["a"]);
    let before = host.tasks.clone();
    assert_eq!(acknowledges(&mut host, ""), None);
    assert_eq!(host.tasks, before);
}

/// Proves M-TASKX-33: an update whose acknowledgement has no room has no effect.
#[test]
fn an_update_that_is_not_acknowledged_has_not_happened() {
    let (mut host, key) = asked(&["a"]);
    let before = host.tasks.clone();
    let mut limits = mcp_sansio::Limits::default();
    limits.outbox_bytes = 50;
    let out = mcp_sansio::Outbox::new(mcp_sansio::Framing::Messages, &limits);
    let roomy = std::mem::replace(&mut host.side.out, out);
    let request = host.request(&update("1", "t", &answers(&["a"])));
    let mcp_sansio::ClientRequest::Task(call) = &request.kind else { panic!() };
    let (now, out) = (host.side.now, &mut host.side.out);
    let served = host.side.server.tasks(&mut host.tasks).serve(request.id, call, now, out);
    assert!(matches!(served, Err(mcp_sansio::RespondError::Encode(_))), "{served:?}");
    assert_eq!(host.tasks, before);
    host.side.out = roomy;
    let out = &mut host.side.out;
    let served = host.side.server.tasks(&mut host.tasks).serve(request.id, call, now, out);
    assert_eq!(served, Ok(Some(TaskNews::Input(key))));
    assert_eq!(host.sent(), [complete("1", "")]);
}
