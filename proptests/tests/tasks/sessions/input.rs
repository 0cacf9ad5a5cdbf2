//! The input that a task requires before it can continue.

use std::time::Duration;

use mcp_sansio::capability::Capability;
use mcp_sansio::error::{NotAllowed, ViolationKind};
use mcp_sansio::event::{Expiry, UnmatchedCause};
use mcp_sansio::model::{
    Content, CreateMessageParams, ElicitParams, InputRequired, ObjectSchema, Role, SamplingMessage,
};
use mcp_sansio::task::{Status, TaskError, TaskKey, TaskNews, Tasks};
use mcp_sansio::{ErrorCode, Outcome};
use mcp_sansio_proptests::{ClientSide, ServerSide};

use crate::sessions::kit::{
    Host, Reaction, Stage, WITH_TASKS, about, cancelled, changed, dismissed, error, on_both,
    related, request, result, result_of, shown, was_cancelled,
};

/// The result of an accepted form.
const ACCEPTED: &str = r#"{"action":"accept","content":{}}"#;

/// Requires a form under each of these keys.
fn asks(keys: &[&'static str]) -> InputRequired<'static> {
    keys.iter().fold(InputRequired::new(), |needed, key| {
        needed.elicit(*key, ElicitParams::form("m", ObjectSchema::default()))
    })
}

/// The request of a task to the user.
fn question(id: u32, task: &str) -> String {
    let form = r#""message":"m","requestedSchema":{"type":"object","properties":{}}"#;
    let members = format!("{form},{}", related(task));
    request(&id.to_string(), "elicitation/create", &members)
}

fn require(stage: &mut Stage<ServerSide>, key: TaskKey, needed: &InputRequired<'_>) {
    let now = stage.now();
    stage.tasks.require_input(key, needed, now).unwrap();
}

/// Proves L-TASK-45, L-TASK-46, L-TASK-48, L-TASK-52, L-AMB-21, L-RACE-49: a task that requires input is
/// `input_required`. Each request names the task and leaves at once, and the task continues after the last
/// response.
#[test]
fn a_task_asks_and_goes_on() {
    let mut stage = Stage::<ServerSide>::new();
    let key = stage.begin("a");
    stage.pass(1);
    require(&mut stage, key, &asks(&["p", "q"]).roots("r"));
    assert_eq!(stage.tasks.get(key).unwrap().status(), Status::InputRequired);
    let waits = shown("a", "input_required").updated(1);
    let roots = request("3", "roots/list", &related("a"));
    assert_eq!(
        stage.settled_messages(),
        [changed(&waits), question(1, "a"), question(2, "a"), roots]
    );
    stage.pass(1);
    assert_eq!(stage.answered(&result("2", ACCEPTED)), None);
    assert_eq!(stage.answers(&about("1", "get", "a")), [result("1", &waits)]);
    assert_eq!(stage.answered(&error("1", -1, "the user is away")), None);
    let view = stage.tasks.get(key).unwrap();
    assert_eq!(view.waits_for().collect::<Vec<_>>(), ["r"]);
    assert_eq!(view.inputs().as_json(), format!(r#"{{"q":{ACCEPTED}}}"#));
    let roots = r#"{"roots":[{"uri":"file:///r"}]}"#;
    assert_eq!(stage.answered(&result("3", roots)), Some(TaskNews::Input(key)));
    let view = stage.tasks.get(key).unwrap();
    assert_eq!(view.inputs().as_json(), format!(r#"{{"q":{ACCEPTED},"r":{roots}}}"#));
    let works = shown("a", "working").updated(2);
    assert_eq!(stage.settled_messages(), [changed(&works)]);
    assert_eq!(stage.answers(&about("2", "get", "a")), [result("2", works)]);
    assert_eq!(stage.settled_messages(), [""; 0]);
}

/// An answer to a request for a sample or for the roots that does not fit is a refusal, as for any other input.
#[test]
fn an_answer_that_does_not_fit_is_a_refusal() {
    let mut stage = Stage::<ServerSide>::quiet();
    let key = stage.begin("a");
    let sample =
        CreateMessageParams::new([SamplingMessage::new(Role::User, Content::text("?"))], 7);
    require(&mut stage, key, &InputRequired::new().sample("s", sample).roots("r"));
    assert_eq!(stage.settled_messages().len(), 2);
    assert_eq!(stage.answered(&result("1", r#"{"x":1}"#)), None);
    assert_eq!(stage.answered(&result("2", r#"{"roots":7}"#)), Some(TaskNews::Input(key)));
    assert_eq!(stage.tasks.get(key).unwrap().inputs().as_json(), "{}");
}

/// Proves L-AMB-21: the requests of a task can wait until a `tasks/result` waits for it.
#[test]
fn input_requests_can_wait_for_a_tasks_result_request() {
    let mut stage = Stage::<ServerSide>::with(|config| {
        (config.notify, config.ask_at_once) = (false, false);
    });
    let key = stage.begin("a");
    require(&mut stage, key, &asks(&["p"]));
    assert_eq!(stage.settled_messages(), [""; 0]);
    assert_eq!(stage.answers(&about("1", "get", "a")).len(), 1);
    assert_eq!(stage.answers(&about("2", "result", "a")), [question(1, "a")]);
    // A second `tasks/result` repeats no request.
    assert_eq!(stage.answers(&about("3", "result", "a")), [""; 0]);
    assert!(matches!(stage.receive(&cancelled("2")), Reaction::Cancelled(..)));
    assert_eq!(stage.settled_messages(), [""; 0]);
    assert_eq!(stage.answered(&result("1", ACCEPTED)), Some(TaskNews::Input(key)));
    // The next request is sent if a `tasks/result` still waits; otherwise it waits as well.
    require(&mut stage, key, &asks(&["q"]));
    assert_eq!(stage.settled_messages(), [question(2, "a")]);
    assert_eq!(stage.answered(&result("2", ACCEPTED)), Some(TaskNews::Input(key)));
    assert!(matches!(stage.receive(&cancelled("3")), Reaction::Cancelled(..)));
    require(&mut stage, key, &asks(&["r"]));
    assert_eq!(stage.settled_messages(), [""; 0]);
    assert_eq!(stage.answers(&about("4", "result", "a")), [question(3, "a")]);
}

/// Proves L-RACE-48: a `tasks/result` that arrives after the last input response waits, and no request is repeated.
#[test]
fn a_question_is_asked_once() {
    let mut stage = Stage::<ServerSide>::quiet();
    let key = stage.begin("a");
    require(&mut stage, key, &asks(&["p"]));
    assert_eq!(stage.settled_messages(), [question(1, "a")]);
    assert_eq!(stage.answers(&about("1", "result", "a")), [""; 0]);
    assert_eq!(stage.answered(&result("1", ACCEPTED)), Some(TaskNews::Input(key)));
    assert_eq!(stage.answers(&about("2", "result", "a")), [""; 0]);
    stage.complete(key);
    let results = ["1", "2"].map(|id| result_of::<ServerSide>(id, "a"));
    assert_eq!(stage.settled_messages(), results);
}

/// Proves L-TASK-51, L-RACE-50, L-RACE-51: any end of a task cancels its open requests. A late response is
/// unmatched, and an unsent request is dropped.
#[test]
fn the_end_of_a_task_dismisses_its_questions() {
    for end in ["completed", "failed", "cancelled", "cancel", "removed", "expired"] {
        let mut stage = Stage::<ServerSide>::quiet();
        let key = stage.begin("a");
        require(&mut stage, key, &asks(&["p", "q"]));
        assert_eq!(stage.settled_messages().len(), 2);
        stage.answered(&result("2", ACCEPTED));
        stage.serve(&about("1", "result", "a"));
        stage.pass(5);
        let now = stage.now();
        let mut expected = vec![dismissed(1)];
        match end {
            "completed" => {
                stage.complete(key);
                expected.push(result_of::<ServerSide>("1", "a"));
            }
            "failed" => {
                stage.tasks.fail(key, ErrorCode::new(5), "m", now).unwrap();
                expected.push(error("1", 5, "m"));
            }
            "cancelled" => {
                stage.tasks.cancel(key, now).unwrap();
                expected.push(was_cancelled("1"));
            }
            "cancel" => {
                stage.serve(&about("2", "cancel", "a"));
                let over = shown("a", "cancelled").updated(5);
                expected.insert(0, result("2", over));
                expected.push(was_cancelled("1"));
            }
            "removed" => {
                stage.tasks.remove(key);
                expected.push(crate::sessions::kit::unknown("1"));
            }
            _ => {
                stage.tasks.set_ttl(key, Some(Duration::ZERO)).unwrap();
                assert!(stage.tasks.handle_timeout(now).is_some());
                expected.push(crate::sessions::kit::unknown("1"));
            }
        }
        stage.settle();
        assert_eq!(stage.sent(), expected, "{end}");
        let Some(mcp_sansio::ServerEvent::UnmatchedResponse(unmatched)) =
            stage.host.receive(&result("1", ACCEPTED))
        else {
            panic!("{end}: the answer is somebody's")
        };
        assert_eq!(unmatched.cause, UnmatchedCause::Cancelled, "{end}");
        assert_eq!(stage.settled_messages(), [""; 0], "{end}");
        assert_eq!(stage.host.server.in_flight().counts().outbound, 0, "{end}");
    }
}

/// The work withdraws input that it no longer needs: the request for it is cancelled, a late response is unmatched, and
/// the task goes on when nothing else is required.
#[test]
fn withdrawn_input_is_no_longer_asked_for() {
    let mut stage = Stage::<ServerSide>::new();
    let key = stage.begin("a");
    require(&mut stage, key, &asks(&["p", "q"]));
    assert_eq!(stage.settled_messages().len(), 3);
    stage.pass(1);
    let now = stage.now();
    let mut withdraw = |input| stage.tasks.withdraw_input(key, input, now);
    assert_eq!([withdraw("x"), withdraw("p"), withdraw("p")], [Ok(false), Ok(true), Ok(false)]);
    let waits = shown("a", "input_required").updated(1);
    assert_eq!(stage.settled_messages(), [dismissed(1), changed(&waits)]);
    let late = stage.host.receive(&result("1", ACCEPTED));
    let Some(mcp_sansio::ServerEvent::UnmatchedResponse(late)) = late else {
        panic!("the input has been withdrawn: {late:?}")
    };
    assert_eq!(late.cause, UnmatchedCause::Cancelled);
    assert_eq!(stage.answered(&result("2", ACCEPTED)), Some(TaskNews::Input(key)));
    let inputs = stage.tasks.get(key).unwrap().inputs();
    assert_eq!(inputs.as_json(), format!(r#"{{"q":{ACCEPTED}}}"#));
    assert_eq!(stage.settled_messages().len(), 1);

    require(&mut stage, key, &asks(&["r"]));
    assert_eq!(stage.settled_messages().len(), 2);
    // The next one has not been asked for yet.
    require(&mut stage, key, &asks(&["s"]));
    for input in ["s", "r"] {
        assert_eq!(stage.tasks.withdraw_input(key, input, now), Ok(true));
    }
    let works = shown("a", "working").updated(1);
    assert_eq!(stage.settled_messages(), [dismissed(3), changed(&works)]);
    stage.complete(key);
    let ended = stage.tasks.withdraw_input(key, "r", now);
    assert_eq!(ended, Err(TaskError::Final(Status::Completed)));
}

/// Several open requests of a task are cancelled in the order in which they were sent.
#[test]
fn the_questions_of_a_task_are_dismissed_in_order() {
    let mut stage = Stage::<ServerSide>::quiet();
    let key = stage.begin("a");
    require(&mut stage, key, &asks(&["p", "q", "r"]));
    assert_eq!(stage.settled_messages().len(), 3);
    stage.complete(key);
    assert_eq!(stage.settled_messages(), [1, 2, 3].map(dismissed));
}

/// Proves L-TASK-51, L-RACE-51: a request that was not made before the end is never made, and one still in the
/// outbox is withdrawn.
#[test]
fn a_task_that_has_ended_sends_no_pending_input_requests() {
    let mut stage = Stage::<ServerSide>::quiet();
    let key = stage.begin("a");
    require(&mut stage, key, &asks(&["p"]));
    stage.complete(key);
    assert_eq!(stage.settled_messages(), [""; 0]);
    let key = stage.begin("b");
    require(&mut stage, key, &asks(&["p"]));
    stage.settle();
    stage.complete(key);
    stage.settle();
    assert_eq!(stage.sent(), [""; 0]);
    assert_eq!(stage.host.server.in_flight().counts().outbound, 0);
}

/// Proves L-TASK-51: an input that is refused, malformed or too late does not end the task, which continues without
/// it.
#[test]
fn a_task_goes_on_without_an_answer() {
    let kinds = ["refused", "wrong", "late"];
    for kind in kinds {
        let mut stage = Stage::<ServerSide>::quiet();
        let key = stage.begin("a");
        require(&mut stage, key, &asks(&["p"]));
        assert_eq!(stage.settled_messages().len(), 1);
        let reaction = match kind {
            "refused" => stage.receive(&error("1", -1, "no")),
            "wrong" => stage.receive(&result("1", r#"{"action":7}"#)),
            _ => {
                stage.pass(900);
                let [reaction] = stage.host.due().try_into().unwrap();
                assert_eq!(stage.sent().len(), 1, "it is cancelled");
                reaction
            }
        };
        let Reaction::Answer(answer) = reaction else { panic!("{kind}: {reaction:?}") };
        assert_eq!(answer.task, key);
        match (kind, &answer.outcome) {
            ("refused", Outcome::PeerError(error)) => assert_eq!(error.code, ErrorCode::new(-1)),
            ("wrong", Outcome::Malformed { kind, .. }) => {
                assert_eq!(*kind, ViolationKind::InvalidResult);
            }
            ("late", Outcome::TimedOut(expiry)) => assert_eq!(*expiry, Expiry::Total),
            other => panic!("{other:?}"),
        }
        let now = stage.now();
        assert_eq!(stage.tasks.answered(&answer, now), Some(TaskNews::Input(key)), "{kind}");
        let view = stage.tasks.get(key).unwrap();
        assert_eq!((view.status(), view.inputs().as_json()), (Status::Working, "{}"), "{kind}");
        assert_eq!(stage.tasks.answered(&answer, now), None, "{kind}");
        assert_eq!(stage.settled_messages(), [""; 0], "{kind}");
    }
}

/// Permitted keys, and the limit on inputs in the life of a task.
#[test]
fn a_task_asks_under_each_key_once() {
    let mut stage = Stage::<ServerSide>::with(|config| (config.notify, config.inputs) = (false, 3));
    let key = stage.begin("a");
    let now = stage.now();
    let bad = Err(TaskError::BadInput);
    assert_eq!(stage.tasks.require_input(key, &InputRequired::new(), now), bad);
    let stateful = asks(&["p"]).state("s");
    let not_allowed = Err(TaskError::NotAllowed(NotAllowed::Method));
    assert_eq!(stage.tasks.require_input(key, &stateful, now), not_allowed);
    assert_eq!(stage.tasks.require_input(key, &asks(&["1", "2", "3", "4"]), now), bad);
    assert_eq!(stage.tasks.get(key).unwrap().status(), Status::Working);
    require(&mut stage, key, &asks(&["p"]));
    assert_eq!(stage.tasks.require_input(key, &asks(&["p"]), now), bad);
    // More input can be required while the first is open.
    require(&mut stage, key, &asks(&["q"]));
    assert_eq!(stage.settled_messages(), [question(1, "a"), question(2, "a")]);
    assert_eq!(stage.answered(&result("1", ACCEPTED)), None);
    assert_eq!(stage.answered(&result("2", ACCEPTED)), Some(TaskNews::Input(key)));
    assert_eq!(stage.tasks.require_input(key, &asks(&["p"]), now), bad);
    assert_eq!(stage.tasks.require_input(key, &asks(&["r", "s"]), now), bad);
    require(&mut stage, key, &asks(&["r"]));
    assert_eq!(stage.tasks.get(key).unwrap().inputs().as_json(), "{}");
    assert_eq!(stage.settled_messages(), [question(3, "a")]);
    assert_eq!(stage.answered(&result("3", ACCEPTED)), Some(TaskNews::Input(key)));
    assert_eq!(stage.tasks.require_input(key, &asks(&["t"]), now), bad);
}

/// A task requires only input that its requestor has declared; a server as the requestor declares none.
#[test]
fn a_task_requires_only_input_the_requestor_has_declared() {
    let mut stage = Stage::<ClientSide>::quiet();
    let key = stage.begin("a");
    let now = stage.now();
    let missing = |capability| Err(TaskError::NotAllowed(NotAllowed::Capability(capability)));
    let elicitation = stage.tasks.require_input(key, &asks(&["p"]), now);
    assert_eq!(elicitation, missing(Capability::Elicitation));
    let roots = stage.tasks.require_input(key, &InputRequired::new().roots("r"), now);
    assert_eq!(roots, missing(Capability::Roots));
    assert_eq!(
        (stage.settled_messages().len(), stage.tasks.get(key).unwrap().status()),
        (0, Status::Working)
    );
}

/// Proves L-TASK-50, L-TASK-52: the result of a request that belongs to a task of the peer names that task, beside
/// the result's own metadata. An error cannot.
#[test]
fn an_answer_belongs_to_the_task_of_its_request() {
    fn check<H: Host>() {
        let mut stage = Stage::of(H::plain(), Tasks::default());
        let members = H::RESULT.strip_suffix('}').unwrap();
        let request = stage.requested("1", &related("x"));
        stage.host.answer(request, H::RESULT).unwrap();
        assert_eq!(stage.sent(), [result_of::<H>("1", "x")]);
        let request = stage.requested("2", &related("x"));
        let tag = r#""io.modelcontextprotocol/related-task":{"taskId":"x"}"#;
        stage.host.answer(request, &format!(r#"{members},"_meta":{{"b":1}}}}"#)).unwrap();
        let expected = result("2", format!(r#"{members},"_meta":{{{tag},"b":1}}}}"#));
        assert_eq!(stage.sent(), [expected]);
        let request = stage.requested("3", &related("x"));
        let other = format!(r#"{members},{}}}"#, related("y"));
        stage.host.answer(request, &other).unwrap();
        assert_eq!(stage.sent(), [result_of::<H>("3", "x")]);
        // The next request in the same slot belongs to no task.
        let request = stage.requested("4", "");
        stage.host.answer(request, H::RESULT).unwrap();
        assert_eq!(stage.sent(), [result("4", H::RESULT)]);
        assert_eq!(stage.host.due(), []);
    }
    on_both!(check);
}

/// Proves L-TASK-50: malformed related-task metadata is reported and has no effect.
#[test]
fn metadata_that_names_no_task_is_ignored() {
    fn check<H: Host>() {
        let long = format!(r#"{{"taskId":"a","b":"{}"}}"#, "b".repeat(9_000));
        for bad in ["7", r#""a""#, "null", "[]", "{}", r#"{"taskId":7}"#, &long] {
            let mut stage = Stage::of(H::plain(), Tasks::default());
            let meta = format!(r#""_meta":{{"io.modelcontextprotocol/related-task":{bad}}}"#);
            let request = stage.requested("1", &meta);
            let violation = Reaction::Violation(ViolationKind::MalformedRelatedTask);
            assert_eq!(stage.host.due(), [violation], "{bad}");
            stage.host.answer(request, H::RESULT).unwrap();
            assert_eq!(stage.sent(), [result("1", H::RESULT)], "{bad}");
        }
        // Before 2025-11-25 the key has no meaning.
        let host = H::host_with(mcp_sansio::Revision::V2025_06_18, |_| ());
        let mut stage = Stage::of(host, Tasks::default());
        let request = stage.requested("1", &related("a"));
        stage.host.answer(request, H::RESULT).unwrap();
        assert_eq!((stage.sent(), stage.host.due()), (vec![result("1", H::RESULT)], vec![]));
    }
    on_both!(check);
}

/// Proves L-TASK-50: a message is one line, even if the received metadata contained line breaks.
#[test]
fn the_name_of_a_task_breaks_no_line() {
    fn check<H: Host>() {
        let mut stage = Stage::of(H::host_with(WITH_TASKS, |_| ()), Tasks::default());
        let meta =
            "\"_meta\":{\"io.modelcontextprotocol/related-task\":{\n  \"taskId\":\n\"x\"\n}}";
        let request = stage.requested("1", meta);
        stage.host.answer(request, H::RESULT).unwrap();
        assert_eq!(stage.sent(), [result_of::<H>("1", "x")]);
    }
    on_both!(check);
}

/// Requests without room are sent once there is room, each once.
#[test]
fn a_question_waits_for_room() {
    let host = ServerSide::host_with(WITH_TASKS, |config| config.limits.outbox_bytes = 600);
    let mut stage = Stage::of(host, Tasks::default());
    let key = stage.begin("a");
    require(&mut stage, key, &asks(&["p", "q", "r"]));
    let mut delivered = Vec::new();
    while stage.tasks.next_connection().is_some() {
        stage.settle();
        let sent = stage.sent();
        assert!(!sent.is_empty());
        delivered.extend(sent);
    }
    let questions: Vec<String> =
        delivered.iter().filter(|one| one.contains("elicit")).cloned().collect();
    assert_eq!(questions, [1, 2, 3].map(|id| question(id, "a")));
}
