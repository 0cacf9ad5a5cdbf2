//! The limit on the bytes of all tasks together.

use mcp_sansio::json::Raw;
use mcp_sansio::model::{CallToolResult, ElicitParams, InputRequired, ObjectSchema};
use mcp_sansio::schema::EncodeError;
use mcp_sansio::task::{NewTask, Status, TaskError, TaskNews, Tasks, TasksConfig};
use mcp_sansio::testing::WorkMeter;
use mcp_sansio::{ErrorCode, Instant, Limits, RespondError};
use mcp_sansio_proptests::ServerSide;
use mcp_sansio_proptests::allocations::{count, held};

use crate::sessions::kit::*;

/// Proves L-TASK-75 for bytes: results, input requests and answers count. A value over the limit is refused, the
/// task can still end in another way, and a forgotten task frees its bytes.
#[test]
fn all_tasks_together_have_so_many_bytes() {
    let mut stage = Stage::<ServerSide>::with(|config| config.bytes = 10_000);
    let now = Instant::from_millis(2_000_000);
    let text = "x".repeat(4_000);
    let long = CallToolResult::text(text.as_str());
    let keys: Vec<_> = ["a", "b", "c", "d"].map(|id| stage.begin(id)).into();
    let begun = stage.tasks.bytes();
    stage.tasks.complete(keys[0], &long, now).unwrap();
    stage.tasks.complete(keys[1], &long, now).unwrap();
    assert!(begun + 8_000 < stage.tasks.bytes() && stage.tasks.bytes() <= 10_000);
    assert_eq!(stage.tasks.complete(keys[2], &long, now), Err(TaskError::TooManyBytes));
    let code = ErrorCode::INTERNAL_ERROR;
    let failed = stage.tasks.fail_with(keys[2], code, "no", &text, now);
    assert_eq!(failed, Err(TaskError::TooManyBytes));
    assert_eq!(stage.tasks.get(keys[2]).unwrap().status(), Status::Working);
    let form = ElicitParams::form(text.as_str(), ObjectSchema::default());
    let question = InputRequired::new().elicit("k", form);
    let asked = stage.tasks.require_input(keys[3], &question, now);
    assert_eq!(asked, Err(TaskError::TooManyBytes));
    stage.tasks.fail(keys[2], code, "there is no room", now).unwrap();
    // A task whose data has no room does not begin.
    let request = stage.requested("99", r#""task":{}"#);
    let new = NewTask::new("y".repeat(2_000));
    let refused = stage.host.begin(request, new, &mut stage.tasks);
    assert_eq!(refused, Err(TaskError::TooManyBytes));
    assert!(stage.tasks.remove(keys[0]));
    stage.tasks.complete(keys[3], &long, now).unwrap();
    for key in &keys[1..] {
        assert!(stage.tasks.remove(*key));
    }
    assert_eq!(stage.tasks.bytes(), 0);
}

/// The message of a task counts, once. A task can fail at any time, so the message of its error is cut to the room that is
/// left; another message without room is refused.
///
/// Proves L-TASK-75.
#[test]
fn messages_of_tasks_have_room_or_are_cut() {
    let mut stage = Stage::<ServerSide>::with(|config| {
        (config.bytes, config.result_bytes, config.notify) = (10_000, 1_000, false);
    });
    let now = stage.now();
    let [first, second, third] = ["a", "b", "c"].map(|id| stage.begin(id));
    let (begun, code) = (stage.tasks.bytes(), ErrorCode::INTERNAL_ERROR);
    let long = format!("x{}", "\u{e9}".repeat(20_000));
    stage.tasks.fail(first, code, &long, now).unwrap();
    let failed = stage.tasks.get(first).unwrap();
    // A character is not divided.
    assert_eq!(failed.message(), Some(&long[..999]));
    assert!(failed.error().unwrap().message == long[..999]);
    assert_eq!(stage.tasks.bytes(), begun + 999);
    let refused = stage.tasks.set_message(second, Some(&long), now);
    assert_eq!(refused, Err(TaskError::TooManyBytes));
    assert_eq!(stage.tasks.get(second).unwrap().message(), None);
    for text in ["m", "n"] {
        let text = text.repeat(10_000 - begun - 999);
        assert_eq!(stage.tasks.set_message(second, Some(&text), now), Ok(()));
        assert_eq!(stage.tasks.bytes(), 10_000);
    }
    stage.tasks.fail(third, code, &long, now).unwrap();
    assert_eq!(stage.tasks.get(third).unwrap().message(), Some(&long[..199]));
    // The stored record has the message, and the restored task shows it.
    let saved = stage.tasks.save(first).unwrap();
    assert!(stage.tasks.remove(first) && stage.tasks.remove(second));
    let before = stage.tasks.bytes();
    let restored = stage.tasks.restore(saved).unwrap();
    assert_eq!(stage.tasks.get(restored).unwrap().message(), Some(&long[..999]));
    assert_eq!(stage.tasks.bytes() - before, begun / 3 + 999);
}

/// Requests about tasks do not read the results of these tasks again. One that asks for many tasks would read all of them.
#[test]
fn a_look_at_a_task_does_not_depend_on_the_length_of_its_result() {
    let work = |length: usize, is_restored: bool| {
        let mut stage = Stage::<ServerSide>::quiet();
        let key = stage.begin("a");
        let (now, text) = (stage.now(), "x".repeat(length));
        let failed = CallToolResult::error(format!("no disk\n{text}"));
        stage.tasks.complete(key, &failed, now).unwrap();
        if is_restored {
            let saved = stage.tasks.save(key).unwrap();
            assert!(stage.tasks.remove(key));
            stage.tasks.restore(saved).unwrap();
        }
        let meter = WorkMeter::start();
        let shown = shown("a", "failed").message("no disk");
        assert_eq!(stage.answers(&about("1", "get", "a")), [result("1", shown.clone())]);
        let list = result("2", format!(r#"{{"tasks":[{shown}]}}"#));
        assert_eq!(stage.answers(&request("2", "tasks/list", "")), [list]);
        meter.steps()
    };
    for is_restored in [false, true] {
        let (short, long) = (work(10, is_restored), work(1_000_000, is_restored));
        assert!(long < short + 100, "{long} steps, {short} for a short result");
    }
}

/// Tasks with the longest tokens take the memory that the documentation of `TasksConfig` names, and not much less.
#[test]
fn tasks_take_the_documented_memory() {
    let total = |config: &TasksConfig, limits: &Limits| {
        2 * config.bytes + config.tasks as usize * (limits.token_bytes + 1_250)
    };
    let limits = Limits::default();
    assert_eq!(total(&TasksConfig::default(), &limits).div_ceil(1 << 20), 143);

    let more = format!(
        r#""task":{{}},"_meta":{{"progressToken":"{}"}}"#,
        "t".repeat(limits.token_bytes - 2)
    );
    for tasks in [1_024, 1_025] {
        let mut stage = Stage::<ServerSide>::with(|config| {
            (config.tasks, config.tasks_of_owner, config.notify) = (tasks, tasks, false);
        });
        stage.host.out().release();
        let ((), held) = held(|| {
            for number in 0..tasks {
                stage.principal = u64::from(number) + 1;
                stage.begin_new(&more, NewTask::new(number.to_string()));
            }
            stage.host.out().release();
        });
        let mut full = stage.tasks.config().clone();
        full.bytes = stage.tasks.bytes();
        let most = total(&full, &limits);
        println!("{tasks} tasks: {held} of {most} bytes");
        assert!(held <= most && most <= 3 * held, "{tasks} tasks: {held} bytes, documented {most}");
    }
}

/// The bytes that count for each input beside its texts, as the documentation of `TasksConfig::bytes` says.
const INPUT_BYTES: usize = 128;

/// Inputs with the shortest keys and without params take the memory that the documentation of `TasksConfig` names.
#[test]
fn inputs_take_the_documented_memory() {
    let mut stage = Stage::<ServerSide>::with(|config| config.notify = false);
    let keys: Vec<_> = (0..100).map(|number| stage.begin(&number.to_string())).collect();
    let most = stage.tasks.config().inputs;
    let before = stage.tasks.bytes();
    let now = stage.now();
    let ((), held) = held(|| {
        for key in keys {
            // The list of a task has doubled for the last one.
            for number in 0..=most / 2 {
                let input = char::from_u32(0x100 + number).unwrap().to_string();
                stage.tasks.require_input(key, &InputRequired::new().roots(input), now).unwrap();
            }
        }
    });
    let counted = stage.tasks.bytes() - before;
    assert!(held <= 2 * counted && counted <= held, "{held} bytes, {counted} counted");
}

/// A request that waits for a task takes the memory that the documentation of `TasksConfig` names.
#[test]
fn requests_that_wait_take_the_documented_memory() {
    const WAITING: usize = 1_000;
    let mut stage = Stage::<ServerSide>::quiet();
    stage.begin("a");
    let requests: Vec<_> = (0..WAITING)
        .map(|id| match stage.receive(&about(&id.to_string(), "result", "a")) {
            Reaction::Task(request, call) => (request, call),
            other => panic!("{other:?}"),
        })
        .collect();
    let Stage { host, tasks, .. } = &mut stage;
    let ((), held) = held(|| {
        for (request, call) in &requests {
            host.serve(*request, call, tasks).unwrap();
        }
    });
    println!("{held} bytes for {WAITING} requests");
    assert!((50 * WAITING..100 * WAITING).contains(&held), "{held} bytes");
}

#[test]
fn a_removed_task_returns_its_own_bytes() {
    let mut stage = Stage::<ServerSide>::with(|config| config.notify = false);
    let [first, _, third] = ["a", "b", "c"].map(|id| stage.begin(id));
    let three = stage.tasks.bytes();
    assert!(stage.tasks.remove(third));
    assert_eq!(stage.tasks.bytes(), three / 3 * 2);
    assert!(stage.tasks.remove(first));
    assert_eq!(stage.tasks.bytes(), three / 3);
}

/// The answers to the input of a task count at once, those without room are refused, and the keys of past input count
/// as long as the task.
///
/// Proves L-TASK-75.
#[test]
fn the_input_of_a_task_counts() {
    let mut stage =
        Stage::<ServerSide>::with(|config| (config.bytes, config.notify) = (10_000, false));
    let now = stage.now();
    let key = stage.begin("a");
    let before = stage.tasks.bytes();
    let long = "k".repeat(5_000);
    let asks = |keys: &[&str]| {
        keys.iter().fold(InputRequired::new(), |needed, key| needed.roots(String::from(*key)))
    };
    // The keys count: two of them are too much.
    let other = "l".repeat(5_000);
    let refused = stage.tasks.require_input(key, &asks(&[&long, &other]), now);
    assert_eq!(refused, Err(TaskError::TooManyBytes));
    stage.tasks.require_input(key, &asks(&[&long, "b"]), now).unwrap();
    let asked = stage.tasks.bytes();
    assert_eq!(asked, before + 5_001 + 2 * INPUT_BYTES);
    assert_eq!(stage.settled_messages().len(), 2);
    let answer = |id: &str, length: usize| {
        let root = format!(r#"{{"uri":"file:///","name":"{}"}}"#, "x".repeat(length));
        result(id, format!(r#"{{"roots":[{root}]}}"#))
    };
    assert_eq!(stage.answered(&answer("1", 1_000)), None);
    let answered = stage.tasks.bytes();
    assert!(asked + 1_000 < answered, "the other answer is still missing");
    // There is no room for the second answer, so it counts as refused.
    assert_eq!(stage.answered(&answer("2", 6_000)), Some(TaskNews::Input(key)));
    assert_eq!(stage.tasks.bytes(), answered);
    // The next round retires the keys, which still count.
    stage.tasks.require_input(key, &asks(&["c"]), now).unwrap();
    assert_eq!(stage.tasks.bytes(), asked + 1 + INPUT_BYTES);
}

/// Requests for a result without room cost little at each message: the result is not read before there is room for it.
///
/// Proves L-TASK-75.
#[test]
fn results_without_room_are_not_read() {
    fn check<H: Host>() {
        let host = H::host_with(WITH_TASKS, |config| config.limits.outbox_bytes = 250_000);
        let mut stage = Stage::of(host, Tasks::default());
        let key = stage.begin("a");
        for id in 0..70 {
            stage.serve(&about(&id.to_string(), "result", "a"));
        }
        let (now, text) = (stage.now(), format!(r#""text":"{}""#, "x".repeat(100_000)));
        let result = H::RESULT.split(r#""text":""#).collect::<Vec<_>>();
        let [before, after] = &result[..] else { panic!("{result:?}") };
        let after = after.split_once('"').unwrap().1;
        let long = format!("{before}{text}{after}");
        stage.tasks.complete(key, &Raw::new(&long).unwrap(), now).unwrap();
        stage.settle();
        let unsent = stage.host.out().len();
        assert!((200_000..250_000).contains(&unsent), "{unsent} bytes");
        let meter = WorkMeter::start();
        let ((), allocations) = count(|| stage.settle());
        assert!(meter.steps() < 1_000, "{} steps", meter.steps());
        assert_eq!(allocations, 0);
        assert_eq!(stage.host.out().len(), unsent);
        // A request that comes now does not fit either.
        let meter = WorkMeter::start();
        let refused = stage.try_serve(&about("70", "result", "a"));
        assert_eq!(refused, Err(RespondError::Encode(EncodeError::Full)));
        assert!(meter.steps() < 2_000, "{} steps", meter.steps());
        let mut answers = 0;
        while stage.tasks.next_connection().is_some() {
            stage.settle();
            let sent = stage.sent();
            answers += sent.iter().filter(|message| message.contains(r#""result""#)).count();
        }
        assert_eq!(answers, 70);
    }
    on_both!(check);
}
