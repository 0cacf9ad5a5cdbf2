//! Tasks that several processes share: one works on a task, and others have copies of its record.

use std::time::Duration;

use crate::sessions::kit::{
    Host, Reaction, Stage, about, asking, error, on_both, result, result_of, was_cancelled,
};
use mcp_sansio::json::Raw;
use mcp_sansio::model::{ElicitParams, InputRequired, ObjectSchema};
use mcp_sansio::task::{
    NewTask, RestoreError, Status, TaskError, TaskKey, TaskNews, TaskRecord, TaskSharing, Tasks,
    TasksConfig,
};
use mcp_sansio::{ErrorCode, Instant};
use mcp_sansio_proptests::ServerSide;

fn stored(tasks: &Tasks, id: &str) -> TaskRecord {
    let record = tasks.save(tasks.find(id).unwrap()).unwrap();
    serde_json::from_str(&serde_json::to_string(&record).unwrap()).unwrap()
}

/// Two processes that share their tasks.
fn shared<H: Host>() -> (Stage<H>, Stage<H>) {
    let (mut one, mut other) = (Stage::<H>::new(), Stage::<H>::new());
    TaskSharing::of(&mut one.tasks).begin();
    TaskSharing::of(&mut other.tasks).begin();
    // Their times agree.
    one.pass(7);
    other.pass(7);
    (one, other)
}

/// The id of a request for input.
fn question_id(message: &str) -> String {
    message.split(r#""id":"#).nth(1).unwrap().split(',').next().unwrap().to_owned()
}

/// The requests for input that a stage has sent.
fn questions<H: Host>(stage: &mut Stage<H>) -> Vec<String> {
    let mut sent = stage.sent();
    sent.retain(|message| message.contains("elicitation/create"));
    sent
}

fn changes(tasks: &mut Tasks) -> Vec<TaskKey> {
    std::iter::from_fn(|| TaskSharing::of(tasks).next_changed()).collect()
}

fn asks(key: &'static str) -> InputRequired<'static> {
    InputRequired::new().elicit(key, ElicitParams::form(key, ObjectSchema::default()))
}

/// A command for a task.
type Step = fn(&mut Tasks, TaskKey, Instant);

/// Every command that changes the record of a task is reported, and nothing else.
#[test]
fn changes_are_reported() {
    let mut stage = Stage::<ServerSide>::quiet();
    let unshared = stage.begin("unshared");
    assert!(!TaskSharing::of(&mut stage.tasks).has_changed(), "only shared tasks are tracked");
    assert_eq!(TaskSharing::of(&mut stage.tasks).next_changed(), None);
    TaskSharing::of(&mut stage.tasks).begin();
    assert!(!TaskSharing::of(&mut stage.tasks).has_changed());
    let (key, now) = (stage.begin("a"), stage.now());
    assert_eq!(changes(&mut stage.tasks), [key]);
    TaskSharing::of(&mut stage.tasks).begin();
    stage.serve(&about("1", "get", "a"));
    stage.serve(&about("2", "result", "a"));
    stage.sent();
    stage.settle();
    assert!(!TaskSharing::of(&mut stage.tasks).has_changed(), "requests that only read");
    let steps: [(&str, Step); 7] = [
        ("message", |tasks, key, now| tasks.set_message(key, Some("m"), now).unwrap()),
        ("interval", |tasks, key, now| {
            tasks.set_poll_interval(key, Duration::from_secs(3), now).unwrap();
        }),
        ("ttl", |tasks, key, _| tasks.set_ttl(key, Some(Duration::from_secs(99))).unwrap()),
        ("checkpoint", |tasks, key, _| {
            TaskSharing::of(tasks).set_checkpoint(key, Some("half")).unwrap()
        }),
        ("input", |tasks, key, now| tasks.require_input(key, &asks("p"), now).unwrap()),
        ("end", |tasks, key, now| {
            tasks.fail(key, ErrorCode::new(-32050), "broken", now).unwrap();
        }),
        ("removal", |tasks, key, _| assert!(tasks.remove(key))),
    ];
    for (name, step) in steps {
        let before = stage.tasks.save(key);
        step(&mut stage.tasks, key, now);
        assert!(TaskSharing::of(&mut stage.tasks).has_changed(), "{name}");
        assert_eq!(changes(&mut stage.tasks), [key], "{name}");
        assert_ne!(stage.tasks.save(key), before, "{name}");
    }
    // Forgetting a task that has expired.
    stage.tasks.set_ttl(unshared, Some(Duration::from_secs(1))).unwrap();
    assert_eq!(changes(&mut stage.tasks), [unshared]);
    stage.pass(9);
    let now = stage.now();
    assert!(stage.tasks.handle_timeout(now).is_some());
    assert_eq!(changes(&mut stage.tasks), [unshared]);
    // A task that is restored is as it is stored.
    stage.begin("b");
    let mut other = Tasks::default();
    TaskSharing::of(&mut other).begin();
    other.restore(stored(&stage.tasks, "b")).unwrap();
    assert!(!TaskSharing::of(&mut other).has_changed());
}

/// A cancellation that only asks changes the record as well.
#[test]
fn requested_cancellations_are_reported() {
    let mut stage = Stage::<ServerSide>::with(|config| config.cancel_at_once = false);
    TaskSharing::of(&mut stage.tasks).begin();
    let key = stage.begin("a");
    changes(&mut stage.tasks);
    let mut copy = Tasks::new(stage.tasks.config().clone());
    TaskSharing::of(&mut copy).begin();
    copy.restore(stored(&stage.tasks, "a")).unwrap();
    // The copy is cancelled by a client of another era.
    let text = serde_json::to_string(&stored(&copy, "a")).unwrap();
    let text = text.replace(r#""cancel_requested":false"#, r#""cancel_requested":true"#);
    let asked: TaskRecord = serde_json::from_str(&text).unwrap();
    let now = stage.now();
    assert_eq!(
        TaskSharing::of(&mut stage.tasks).merge(asked.clone(), now),
        Ok(Some(TaskNews::CancelRequested(key)))
    );
    assert_eq!(changes(&mut stage.tasks), [key]);
    assert_eq!(TaskSharing::of(&mut stage.tasks).merge(asked, now), Ok(None), "the second time");
    assert_eq!(stage.tasks.get(key).unwrap().status(), Status::Working);
    assert!(stage.tasks.get(key).unwrap().is_cancel_requested());
}

/// A copy that is brought up to date answers the requests that wait for it, and reports the change.
#[test]
fn a_refreshed_copy_answers_who_waits() {
    fn check<H: Host>() {
        let (mut one, mut other) = shared::<H>();
        let key = one.begin("a");
        let copy = TaskSharing::of(&mut other.tasks).refresh(stored(&one.tasks, "a")).unwrap();
        assert!(!TaskSharing::of(&mut other.tasks).is_awaited(copy));
        assert_eq!(other.answers(&about("1", "result", "a")), [""; 0]);
        assert!(TaskSharing::of(&mut other.tasks).is_awaited(copy));
        // The same again is no change.
        assert_eq!(TaskSharing::of(&mut other.tasks).refresh(stored(&one.tasks, "a")), Ok(copy));
        assert_eq!(other.settled_messages(), [""; 0]);
        let now = one.now();
        one.tasks.set_message(key, Some("half"), now).unwrap();
        TaskSharing::of(&mut other.tasks).refresh(stored(&one.tasks, "a")).unwrap();
        let message = r#""status":"working","statusMessage":"half""#;
        let settled = other.settled_messages();
        assert!(settled[0].contains(message) && settled.len() == 1, "{settled:?}");
        one.tasks.set_poll_interval(key, Duration::from_secs(3), now).unwrap();
        TaskSharing::of(&mut other.tasks).refresh(stored(&one.tasks, "a")).unwrap();
        let settled = other.settled_messages();
        assert!(settled[0].contains("3000") && settled.len() == 1, "{settled:?}");
        one.complete(key);
        TaskSharing::of(&mut other.tasks).refresh(stored(&one.tasks, "a")).unwrap();
        let settled = other.settled_messages();
        let [status, answer] = &*settled else { panic!("{settled:?}") };
        assert!(status.contains(r#""status":"completed""#), "{status}");
        assert_eq!(*answer, result_of::<H>("1", "a"));
        assert!(!TaskSharing::of(&mut other.tasks).has_changed());
        assert!(!TaskSharing::of(&mut other.tasks).is_awaited(copy));
        // A copy that is older than this one is the caller's mistake, and replaces it.
        assert_eq!(other.tasks.get(copy).unwrap().status(), Status::Completed);
    }
    on_both!(check);
}

/// A copy is not awaited any more once the request for its result is cancelled, or its connection has ended.
#[test]
fn a_cancelled_request_does_not_wait_for_a_copy() {
    fn check<H: Host>() {
        let (mut one, mut other) = shared::<H>();
        one.begin("a");
        let copy = TaskSharing::of(&mut other.tasks).refresh(stored(&one.tasks, "a")).unwrap();
        let is_awaited = |stage: &mut Stage<H>| TaskSharing::of(&mut stage.tasks).is_awaited(copy);
        let cancel = |stage: &mut Stage<H>, id: &str| {
            let frame = format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
            );
            let Reaction::Cancelled(request, _) = stage.receive(&frame) else { panic!("{id}") };
            TaskSharing::of(&mut stage.tasks).request_cancelled(request);
            // The second time it has no effect.
            TaskSharing::of(&mut stage.tasks).request_cancelled(request);
        };
        for id in ["1", "2"] {
            assert_eq!(other.answers(&about(id, "result", "a")), [""; 0]);
        }
        cancel(&mut other, "1");
        assert!(is_awaited(&mut other));
        cancel(&mut other, "2");
        assert!(!is_awaited(&mut other));
        // A cancelled request that did not wait has no effect on those that do.
        assert_eq!(other.answers(&about("3", "result", "a")), [""; 0]);
        other.receive(&asking::<H>("4", ""));
        cancel(&mut other, "4");
        assert!(is_awaited(&mut other));
        other.tasks.disconnected(other.host.machine().connection_number());
        assert!(!is_awaited(&mut other));
    }
    on_both!(check);
}

/// What a requestor does to a copy is done to the task: a cancellation.
#[test]
fn a_copy_is_cancelled() {
    fn check<H: Host>() {
        let (mut one, mut other) = shared::<H>();
        let key = one.begin("a");
        let copy = TaskSharing::of(&mut other.tasks).refresh(stored(&one.tasks, "a")).unwrap();
        assert_eq!(other.serve(&about("1", "cancel", "a")), Some(TaskNews::Cancelled(copy)));
        assert_eq!(changes(&mut other.tasks), [copy]);
        let (cancelled, now) = (stored(&other.tasks, "a"), one.now());
        changes(&mut one.tasks);
        assert_eq!(
            TaskSharing::of(&mut one.tasks).merge(cancelled.clone(), now),
            Ok(Some(TaskNews::Cancelled(key)))
        );
        assert_eq!(changes(&mut one.tasks), [key]);
        assert_eq!(one.tasks.get(key).unwrap().status(), Status::Cancelled);
        assert_eq!(
            TaskSharing::of(&mut one.tasks).merge(cancelled, now),
            Ok(None),
            "the second time"
        );
        assert!(one.answers(&about("2", "result", "a")).contains(&was_cancelled("2")));
    }
    on_both!(check);
}

/// A task that has ended, or does not exist, takes nothing from a copy.
#[test]
fn a_copy_comes_too_late() {
    fn check<H: Host>() {
        let (mut one, mut other) = shared::<H>();
        let key = one.begin("a");
        TaskSharing::of(&mut other.tasks).refresh(stored(&one.tasks, "a")).unwrap();
        other.serve(&about("1", "cancel", "a"));
        one.complete(key);
        let (late, now) = (stored(&other.tasks, "a"), one.now());
        assert_eq!(
            TaskSharing::of(&mut one.tasks).merge(late.clone(), now),
            Err(TaskError::Final(Status::Completed))
        );
        // The copy is as the task again.
        changes(&mut other.tasks);
        let copy = TaskSharing::of(&mut other.tasks).refresh(stored(&one.tasks, "a")).unwrap();
        assert_eq!(other.tasks.get(copy).unwrap().status(), Status::Completed);
        assert!(one.tasks.remove(key));
        assert_eq!(TaskSharing::of(&mut one.tasks).merge(late, now), Err(TaskError::Unknown));
    }
    on_both!(check);
}

/// A result in a copy is not that of the task.
#[test]
fn a_copy_does_no_work() {
    fn check<H: Host>() {
        let (mut one, mut other) = shared::<H>();
        let key = one.begin("a");
        let copy = TaskSharing::of(&mut other.tasks).refresh(stored(&one.tasks, "a")).unwrap();
        other.complete(copy);
        let now = one.now();
        assert_eq!(TaskSharing::of(&mut one.tasks).merge(stored(&other.tasks, "a"), now), Ok(None));
        assert_eq!(one.tasks.get(key).unwrap().status(), Status::Working);
    }
    on_both!(check);
}

/// The responses to required input reach the task through a copy. A request for input that is open at the copy's connection
/// goes on when the copy is brought up to date, and is withdrawn when another connection has answered.
#[test]
fn input_arrives_through_a_copy() {
    let (mut one, mut other) = shared::<ServerSide>();
    let (key, now) = (one.begin("a"), one.now());
    let both = asks("p").elicit("q", ElicitParams::form("q", ObjectSchema::default()));
    one.tasks.require_input(key, &both, now).unwrap();
    let copy = TaskSharing::of(&mut other.tasks).refresh(stored(&one.tasks, "a")).unwrap();
    other.serve(&about("1", "result", "a"));
    let asked = questions(&mut other);
    assert_eq!(asked.len(), 2, "{asked:?}");
    // The requests for input are open: they are not sent again.
    TaskSharing::of(&mut other.tasks).refresh(stored(&one.tasks, "a")).unwrap();
    assert_eq!(other.settled_messages(), [""; 0]);
    let accepted = r#"{"action":"accept","content":{}}"#;
    assert_eq!(other.answered(&result(&question_id(&asked[0]), accepted)), None);
    assert_eq!(TaskSharing::of(&mut one.tasks).merge(stored(&other.tasks, "a"), now), Ok(None));
    assert_eq!(one.tasks.get(key).unwrap().waits_for().collect::<Vec<_>>(), ["q"]);
    let news = other.answered(&result(&question_id(&asked[1]), accepted));
    assert_eq!(news, Some(TaskNews::Input(copy)));
    let given = stored(&other.tasks, "a").requests();
    assert_eq!(
        TaskSharing::of(&mut one.tasks).merge(given.clone(), now),
        Ok(Some(TaskNews::Input(key)))
    );
    let inputs = format!(r#"{{"p":{accepted},"q":{accepted}}}"#);
    assert_eq!(one.tasks.get(key).unwrap().inputs().as_json(), inputs);
    assert_eq!(TaskSharing::of(&mut one.tasks).merge(given, now), Ok(None), "the second time");
}

#[test]
fn input_that_was_answered_elsewhere_is_not_asked_for() {
    let (mut one, mut other) = shared::<ServerSide>();
    let (key, now) = (one.begin("a"), one.now());
    one.tasks.require_input(key, &asks("p"), now).unwrap();
    TaskSharing::of(&mut other.tasks).refresh(stored(&one.tasks, "a")).unwrap();
    other.serve(&about("1", "result", "a"));
    let asked = questions(&mut other);
    one.tasks.fail(key, ErrorCode::new(-32050), "broken", now).unwrap();
    TaskSharing::of(&mut other.tasks).refresh(stored(&one.tasks, "a")).unwrap();
    let settled = other.settled_messages();
    let id = question_id(&asked[0]);
    let withdrawn = format!(r#""requestId":{id}"#);
    assert!(settled.iter().any(|message| message.contains(&withdrawn)), "{settled:?}");
    assert!(settled.contains(&error("1", -32050, "broken")), "{settled:?}");
}

/// Tasks of several processes have one order, that of their beginning, and no two of them have the same number.
#[test]
fn shared_tasks_have_one_order() {
    let (mut one, mut other) = shared::<ServerSide>();
    let mut expected = Vec::new();
    for round in 0..3 {
        for (stage, name) in [(&mut one, "a"), (&mut other, "b")] {
            let id = format!("{name}{round}");
            stage.begin(&id);
            expected.push(id);
        }
        one.pass(1);
        other.pass(1);
    }
    let mut all = Tasks::new(TasksConfig::default());
    TaskSharing::of(&mut all).begin();
    // They began at the same time in both processes, so they have the same numbers there.
    for tasks in [&one.tasks, &other.tasks] {
        for record in tasks.save_all() {
            all.restore(record).unwrap();
        }
    }
    let owner = all.iter().next().unwrap().1.owner();
    let ids: Vec<_> =
        all.tasks_of(owner).map(|key| all.get(key).unwrap().id().to_owned()).collect();
    assert_eq!(ids, expected);
    // Without sharing, the same number is a mistake.
    let mut unshared = Tasks::default();
    unshared.restore(stored(&one.tasks, "a0")).unwrap();
    let again = unshared.restore(stored(&other.tasks, "b0"));
    assert_eq!(again.unwrap_err(), RestoreError::Present);
}

/// A checkpoint is kept in the record and counted, and ends with the work. No peer sees it.
#[test]
fn a_checkpoint_is_kept_with_the_task() {
    fn check<H: Host>() {
        let mut stage = Stage::<H>::quiet();
        let new = NewTask::new("a").checkpoint("step 1 of \"work\"");
        let key = stage.begin_new(r#""task":{}"#, new);
        let (before, now) = (stage.tasks.bytes(), stage.now());
        assert_eq!(stage.tasks.get(key).unwrap().checkpoint(), Some("step 1 of \"work\""));
        let shown = stage.answers(&about("1", "get", "a"));
        assert!(!shown[0].contains("step 1"), "{shown:?}");
        TaskSharing::of(&mut stage.tasks).set_checkpoint(key, Some("step 2")).unwrap();
        assert_eq!(before - stage.tasks.bytes(), "step 1 of \"work\"".len() - "step 2".len());
        let mut other = Tasks::default();
        let copy = other.restore(stored(&stage.tasks, "a")).unwrap();
        assert_eq!(other.get(copy).unwrap().checkpoint(), Some("step 2"));
        // A record of an earlier release has none.
        let text = serde_json::to_string(&stored(&stage.tasks, "a")).unwrap();
        let text = text.replace(r#""checkpoint":"step 2","#, "");
        let record: TaskRecord = serde_json::from_str(&text).unwrap();
        let mut older = Tasks::default();
        let copy = older.restore(record).unwrap();
        assert_eq!(older.get(copy).unwrap().checkpoint(), None);
        stage.tasks.complete(key, &Raw::new(H::RESULT).unwrap(), now).unwrap();
        assert_eq!(stage.tasks.get(key).unwrap().checkpoint(), None);
        let late = TaskSharing::of(&mut stage.tasks).set_checkpoint(key, Some("late"));
        assert_eq!(late, Err(TaskError::Final(Status::Completed)));
        // The limit of all tasks together.
        let mut stage = Stage::<H>::with(|config| config.bytes = 100);
        let key = stage.begin("b");
        let long = "x".repeat(100);
        assert_eq!(
            TaskSharing::of(&mut stage.tasks).set_checkpoint(key, Some(&long)),
            Err(TaskError::TooManyBytes)
        );
        assert_eq!(stage.tasks.get(key).unwrap().checkpoint(), None);
        TaskSharing::of(&mut stage.tasks).set_checkpoint(key, Some(&long[..90])).unwrap();
    }
    on_both!(check);
}

/// A copy keeps within the limits, and nothing changes beyond them.
#[test]
fn copies_are_limited() {
    let (mut one, _) = shared::<ServerSide>();
    let key = one.begin("a");
    let mut copies = Tasks::new({
        let mut config = TasksConfig::default();
        (config.tasks, config.bytes) = (1, 40);
        config
    });
    let copy = TaskSharing::of(&mut copies).refresh(stored(&one.tasks, "a")).unwrap();
    one.complete(key);
    let full = TaskSharing::of(&mut copies).refresh(stored(&one.tasks, "a"));
    assert_eq!(full, Err(RestoreError::TooManyBytes));
    assert_eq!(copies.get(copy).unwrap().status(), Status::Working);
    one.begin("b");
    assert_eq!(
        TaskSharing::of(&mut copies).refresh(stored(&one.tasks, "b")),
        Err(RestoreError::TooManyTasks)
    );
}

/// A change that was not reported yet is not overwritten, and the task of another owner is not replaced.
#[test]
fn a_copy_with_a_change_stays() {
    let (mut one, mut other) = shared::<ServerSide>();
    let key = one.begin("a");
    let copy = TaskSharing::of(&mut other.tasks).refresh(stored(&one.tasks, "a")).unwrap();
    one.complete(key);
    let now = other.now();
    other.tasks.cancel(copy, now).unwrap();
    assert_eq!(TaskSharing::of(&mut other.tasks).refresh(stored(&one.tasks, "a")), Ok(copy));
    assert_eq!(other.tasks.get(copy).unwrap().status(), Status::Cancelled);
    assert_eq!(changes(&mut other.tasks), [copy]);
    TaskSharing::of(&mut other.tasks).refresh(stored(&one.tasks, "a")).unwrap();
    assert_eq!(other.tasks.get(copy).unwrap().status(), Status::Completed);
    let text = serde_json::to_string(&stored(&one.tasks, "a")).unwrap();
    let foreign = serde_json::from_str(&text.replace(r#""owner":0"#, r#""owner":5"#)).unwrap();
    assert_eq!(TaskSharing::of(&mut other.tasks).refresh(foreign), Err(RestoreError::Present));
}

#[test]
fn no_task_has_a_number_beyond_the_last() {
    let mut stage = Stage::<ServerSide>::quiet();
    ["a", "b"].into_iter().for_each(|id| _ = stage.begin(id));
    let last = |id| -> TaskRecord {
        let mut record = serde_json::to_value(stored(&stage.tasks, id)).unwrap();
        record["serial"] = (u64::MAX / 2).into();
        serde_json::from_value(record).unwrap()
    };
    let mut other = Tasks::default();
    TaskSharing::of(&mut other).begin();
    other.restore(last("a")).unwrap();
    assert_eq!(other.restore(last("b")), Err(RestoreError::Present));
}

#[test]
fn a_record_has_the_time_of_its_end() {
    let mut stage = Stage::<ServerSide>::quiet();
    let now = stage.now();
    stage.begin_new(r#""task":{"ttl":2000}"#, NewTask::new("a"));
    assert_eq!(stored(&stage.tasks, "a").expires_at(), Some(now + Duration::from_secs(2)));
    stage.begin_new(r#""task":{}"#, NewTask::new("b").ttl(None));
    assert_eq!(stored(&stage.tasks, "b").expires_at(), None);
}
