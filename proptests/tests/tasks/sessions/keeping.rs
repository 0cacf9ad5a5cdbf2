//! Tasks that outlive the process.

use std::collections::BTreeMap;

use mcp_sansio::json::Raw;
use mcp_sansio::model::{ElicitParams, InputRequired, ObjectSchema};
use mcp_sansio::task::{
    NewTask, RestoreError, Status, TaskError, TaskKey, TaskNews, TaskRecord, Tasks, TasksConfig,
};
use mcp_sansio::{ErrorCode, Instant};
use mcp_sansio_proptests::{ClientSide, ServerSide};
use serde_json::{Value, json};

use crate::sessions::kit::{
    Host, Stage, about, changed, error, on_both, related, request, result, result_of, shown,
    was_cancelled,
};

/// The saved record of a task, as text.
fn written(tasks: &Tasks, key: TaskKey) -> String {
    serde_json::to_string(&tasks.save(key).unwrap()).unwrap()
}

fn read(text: &str) -> TaskRecord {
    serde_json::from_str(text).unwrap()
}

/// Restarts the process with the saved records.
fn killed<H: Host>(stage: &mut Stage<H>) {
    let records: Vec<String> =
        stage.tasks.save_all().map(|record| serde_json::to_string(&record).unwrap()).collect();
    let mut tasks = Tasks::new(stage.tasks.config().clone());
    for text in &records {
        let key = tasks.restore(read(text)).unwrap();
        assert_eq!(&written(&tasks, key), text);
    }
    let now = stage.now();
    *stage = Stage { host: H::host(), tasks, principal: stage.principal };
    *stage.host.now() = now;
}

fn asks(key: &'static str) -> InputRequired<'static> {
    InputRequired::new().elicit(key, ElicitParams::form(key, ObjectSchema::default()))
}

/// The request for an input of the task.
fn question(id: u64, input: &str) -> String {
    let form = r#""requestedSchema":{"type":"object","properties":{}}"#;
    let members = format!(r#""message":"{input}",{form},{}"#, related("a"));
    request(&id.to_string(), "elicitation/create", &members)
}

/// The life of a task, step by step.
struct Life {
    stage: Stage<ServerSide>,
    /// The ids of the latest requests, by input.
    asked: BTreeMap<&'static str, String>,
}

const STEPS: usize = 13;

impl Life {
    fn new() -> Self {
        Self { stage: Stage::new(), asked: BTreeMap::new() }
    }

    fn key(&self) -> TaskKey {
        self.stage.tasks.find("a").unwrap()
    }

    /// Takes the sent messages and records the ids of their requests.
    fn sent(&mut self) -> Vec<String> {
        let sent = self.stage.sent();
        for message in &sent {
            for input in ["p", "q"] {
                if message.contains(&format!(r#""message":"{input}""#)) {
                    let id = message.split(r#""id":"#).nth(1).unwrap().split(',').next().unwrap();
                    self.asked.insert(input, id.to_string());
                }
            }
        }
        sent
    }

    fn answered(&mut self, input: &str) -> Option<TaskNews> {
        let accepted = r#"{"action":"accept","content":{}}"#;
        self.stage.answered(&result(&self.asked[input], accepted))
    }

    /// Performs a step and returns the messages that it sends.
    fn step(&mut self, number: usize) -> Vec<String> {
        self.stage.pass(1);
        let now = self.stage.now();
        match number {
            0 => {
                let request = self.stage.requested("0", r#""task":{}"#);
                let Stage { host, tasks, .. } = &mut self.stage;
                let key = host.begin(request, NewTask::new("a"), tasks).unwrap();
                assert_eq!(key, self.key());
                self.stage.serve(&about(r#""wait""#, "result", "a"));
            }
            1 => {
                let key = self.key();
                self.stage.tasks.set_message(key, Some("begun"), now).unwrap();
            }
            2 => {
                let (key, needed) = (self.key(), asks("p"));
                let both = needed.elicit("q", ElicitParams::form("q", ObjectSchema::default()));
                self.stage.tasks.require_input(key, &both, now).unwrap();
            }
            3 => assert_eq!(self.answered("p"), None),
            4 => drop(self.stage.serve(&about("4", "get", "a"))),
            5 => assert_eq!(self.answered("q"), Some(TaskNews::Input(self.key()))),
            6 => {
                let key = self.key();
                let again = self.stage.tasks.require_input(key, &asks("p"), now);
                assert_eq!(again, Err(TaskError::BadInput), "a key is used once in a life");
                let answer = r#"{"action":"accept","content":{}}"#;
                let inputs = format!(r#"{{"p":{answer},"q":{answer}}}"#);
                assert_eq!(self.stage.tasks.get(key).unwrap().inputs().as_json(), inputs);
            }
            7 => drop(self.stage.serve(&request("7", "tasks/list", ""))),
            8 => {
                let key = self.key();
                self.stage.complete(key);
            }
            9 => drop(self.stage.serve(&about("9", "get", "a"))),
            10 => drop(self.stage.serve(&about("10", "result", "a"))),
            11 => drop(self.stage.serve(&about("11", "cancel", "a"))),
            _ => {
                self.stage.pass(3_600);
                let now = self.stage.now();
                assert!(self.stage.tasks.handle_timeout(now).is_some());
                self.stage.serve(&about("12", "get", "a"));
            }
        }
        self.stage.settle();
        self.sent()
    }

    /// The requestor reconnects, and receives the unanswered requests again.
    fn comes_back(&mut self) {
        let open: Vec<String> = match self.stage.tasks.find("a") {
            Some(key) => {
                let view = self.stage.tasks.get(key).unwrap();
                if view.status().is_final() {
                    return;
                }
                view.waits_for().map(String::from).collect()
            }
            None => return,
        };
        self.stage.serve(&about(r#""wait""#, "result", "a"));
        let sent = self.sent();
        if open.is_empty() {
            assert_eq!(sent, [""; 0]);
            return;
        }
        assert!(sent[0].contains("notifications/tasks/status"), "{sent:?}");
        let ids = 1..;
        let questions: Vec<String> =
            ids.zip(&open).map(|(id, input)| question(id, input)).collect();
        assert_eq!(sent[1..], questions);
    }
}

/// Proves L-TASK-76: a process that is killed after any step in the life of a task, or after each of them, sends
/// the same messages as an undisturbed one, once its requestor is back.
#[test]
fn a_task_survives_at_every_step() {
    let mut life = Life::new();
    let undisturbed: Vec<Vec<String>> = (0..STEPS).map(|number| life.step(number)).collect();
    assert_eq!(
        undisturbed.iter().map(Vec::len).collect::<Vec<_>>(),
        [1, 1, 3, 0, 1, 1, 0, 1, 2, 1, 1, 1, 1]
    );
    let waits = shown("a", "input_required").begun(1).message("begun").updated(3);
    assert_eq!(undisturbed[2], [changed(&waits), question(1, "p"), question(2, "q")]);
    let done = shown("a", "completed").begun(1).updated(9);
    let waited = result_of::<ServerSide>(r#""wait""#, "a");
    assert_eq!(undisturbed[8], [changed(&done), waited]);
    assert_eq!(undisturbed[9], [result("9", done)]);
    assert_eq!(undisturbed[10], [result_of::<ServerSide>("10", "a")]);
    for killed_after in 0..STEPS {
        let mut life = Life::new();
        for (number, expected) in undisturbed.iter().enumerate() {
            assert_eq!(&life.step(number), expected, "killed after {killed_after}");
            if number == killed_after {
                killed(&mut life.stage);
                life.comes_back();
            }
        }
    }
    let mut life = Life::new();
    for (number, expected) in undisturbed.iter().enumerate() {
        assert_eq!(&life.step(number), expected, "killed after each, {number}");
        killed(&mut life.stage);
        life.comes_back();
    }
}

/// Proves L-TASK-76: the input keys that a task has used are saved.
#[test]
fn used_keys_are_kept() {
    let mut stage = Stage::<ServerSide>::quiet();
    let key = stage.begin("a");
    let now = stage.now();
    for (id, input) in [("1", "p"), ("2", "q")] {
        stage.tasks.require_input(key, &asks(input), now).unwrap();
        assert_eq!(stage.settled_messages().len(), 1);
        stage.answered(&result(id, r#"{"action":"decline"}"#));
    }
    killed(&mut stage);
    let key = stage.tasks.find("a").unwrap();
    for input in ["p", "q"] {
        let again = stage.tasks.require_input(key, &asks(input), now);
        assert_eq!(again, Err(TaskError::BadInput), "{input}");
    }
    stage.tasks.require_input(key, &asks("r"), now).unwrap();
}

/// Proves L-TASK-76, L-TASK-38: the outcome of a task is saved unchanged, for each kind of end.
#[test]
fn outcomes_are_kept() {
    fn check<H: Host>() {
        for end in [Status::Completed, Status::Failed, Status::Cancelled] {
            let mut stage = Stage::<H>::quiet();
            stage.principal = 5;
            let key = stage.begin("a");
            let now = stage.now();
            let expected = match end {
                Status::Completed => {
                    stage.complete(key);
                    result_of::<H>("1", "a")
                }
                Status::Failed => {
                    let data = &json!({"b": [1, null]});
                    let code = ErrorCode::new(-5);
                    stage.tasks.fail_with(key, code, "m", data, now).unwrap();
                    r#"{"jsonrpc":"2.0","id":1,"error":{"code":-5,"message":"m","data":{"b":[1,null]}}}"#.into()
                }
                _ => {
                    stage.serve(&about("0", "cancel", "a"));
                    assert_eq!(stage.sent().len(), 1);
                    was_cancelled("1")
                }
            };
            let wish = stage.tasks.get(key).unwrap().is_cancel_requested();
            // No requestor has received the outcome when the process ends.
            killed(&mut stage);
            let key = stage.tasks.find("a").unwrap();
            assert_eq!(stage.tasks.get(key).unwrap().is_cancel_requested(), wish);
            assert_eq!(stage.settled_messages(), [""; 0]);
            assert_eq!(stage.answers(&about("1", "result", "a")), [expected]);
            let over = error("2", -32602, "the task has ended already");
            assert_eq!(stage.answers(&about("2", "cancel", "a")), [over]);
            stage.principal = 0;
            assert_eq!(
                stage.answers(&about("3", "get", "a")),
                [crate::sessions::kit::unknown("3")]
            );
        }
    }
    on_both!(check);
}

/// Proves L-TASK-60, L-TASK-72: the order of tasks, their cursors and their times survive a restart.
#[test]
fn lists_and_times_are_kept() {
    fn check<H: Host>() {
        let mut stage = Stage::<H>::with(|config| (config.notify, config.page_items) = (false, 2));
        for (id, ttl) in [("c", 9_000), ("a", 5_000), ("b", 7_000)] {
            stage.begin_new(&format!(r#""task":{{"ttl":{ttl}}}"#), NewTask::new(id));
        }
        let page = stage.answers(&request("1", "tasks/list", ""));
        let cursor = page[0].split(r#""nextCursor":""#).nth(1).unwrap().split('"').next().unwrap();
        let rest = request("2", "tasks/list", &format!(r#""cursor":"{cursor}""#));
        let second = stage.answers(&rest);
        let (begun, due) = (stage.now(), stage.tasks.poll_timeout());
        // The records are restored in any order.
        let mut records: Vec<TaskRecord> = stage.tasks.save_all().collect();
        let ids: Vec<&str> = records.iter().map(TaskRecord::id).collect();
        assert_eq!(ids, ["c", "a", "b"]);
        records.reverse();
        let mut tasks = Tasks::new(stage.tasks.config().clone());
        for record in records {
            tasks.restore(record).unwrap();
        }
        stage.tasks = tasks;
        assert_eq!(stage.answers(&request("1", "tasks/list", "")), page);
        assert_eq!(stage.answers(&rest), second);
        // The same holds for the last task, if its predecessors were forgotten before the process ended.
        let mut last = Tasks::new(stage.tasks.config().clone());
        last.restore(stage.tasks.save_all().last().unwrap()).unwrap();
        let mut later = Stage::of(stage.host.clone(), last);
        later.begin("d");
        let list = later.answers(&request("1", "tasks/list", ""));
        assert!(list[0].find(r#""taskId":"b""#) < list[0].find(r#""taskId":"d""#), "{list:?}");
        stage.begin("d");
        assert!(stage.answers(&rest)[0].contains(r#""taskId":"d""#), "new ones come last");
        assert_eq!(stage.tasks.poll_timeout(), due);
        let late = begun + std::time::Duration::from_secs(60);
        let order: Vec<String> = std::iter::from_fn(|| stage.tasks.handle_timeout(late))
            .map(|event| match event {
                mcp_sansio::task::TaskEvent::Expired { id, .. } => id,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(order, ["a", "b", "c"]);
    }
    on_both!(check);
}

/// All records are saved in the order in which their tasks were begun, also if they were restored in another order.
#[test]
fn records_are_saved_in_order() {
    let mut stage = Stage::<ServerSide>::quiet();
    for id in ["a", "b", "c"] {
        stage.begin(id);
    }
    let mut records: Vec<TaskRecord> = stage.tasks.save_all().collect();
    records.reverse();
    let mut tasks = Tasks::new(stage.tasks.config().clone());
    for record in records {
        tasks.restore(record).unwrap();
    }
    let ids: Vec<String> = tasks.save_all().map(|record| record.id().into()).collect();
    assert_eq!(ids, ["a", "b", "c"]);
}

/// The saved record of a task in each status.
fn records() -> Vec<Value> {
    let mut stage = Stage::<ServerSide>::quiet();
    let keys = ["works", "waits", "done", "failed", "over"].map(|id| stage.begin(id));
    let now = stage.now();
    let tasks = &mut stage.tasks;
    tasks.require_input(keys[1], &asks("p"), now).unwrap();
    tasks.complete(keys[2], &Raw::new(ServerSide::RESULT).unwrap(), now).unwrap();
    let data = &json!({"b": 1});
    tasks.fail_with(keys[3], ErrorCode::new(-5), "m", data, now).unwrap();
    tasks.cancel(keys[4], now).unwrap();
    keys.iter().map(|key| serde_json::from_str(&written(tasks, *key)).unwrap()).collect()
}

fn restored(record: &Value) -> Result<Tasks, RestoreError> {
    let mut tasks = Tasks::new(TasksConfig::default());
    let before = tasks.clone();
    let record = serde_json::from_value(record.clone()).unwrap();
    match tasks.restore(record) {
        Ok(_) => Ok(tasks),
        Err(error) => {
            assert_eq!(tasks, before, "nothing has changed");
            Err(error)
        }
    }
}

/// A corrupt record is refused, and the error names the member.
#[test]
fn a_wrong_record_is_refused() {
    let records = records();
    let cases = [
        (0, "/id", json!(""), "id"),
        (0, "/serial", json!(u64::MAX), "serial"),
        (0, "/serial", json!(u64::MAX - 1), "serial"),
        (0, "/serial", json!(u64::MAX / 2 + 1), "serial"),
        (0, "/request/method", json!("x/y"), "method"),
        (0, "/request/method", json!("prompts/get"), "method"),
        (0, "/request/revision", json!("2020-01-01"), "revision"),
        (0, "/request/capabilities", json!(["x"]), "capabilities"),
        (0, "/request/capabilities", json!(["tools"]), "capabilities"),
        (0, "/request/method", json!("sampling/createMessage"), "capabilities"),
        (0, "/status", json!("x"), "status"),
        (0, "/status", json!("completed"), "result"),
        (0, "/status", json!("failed"), "error"),
        (0, "/status", json!("input_required"), "wanted"),
        (1, "/status", json!("working"), "wanted"),
        (1, "/status", json!("cancelled"), "wanted"),
        (1, "/wanted", json!([]), "wanted"),
        (1, "/wanted/0/is_open", json!(false), "wanted"),
        (1, "/wanted/0/method", json!("tools/call"), "wanted"),
        (1, "/wanted/0/method", json!("x/y"), "wanted"),
        (1, "/wanted/0/params", json!("[]"), "wanted"),
        (1, "/wanted/0/params", json!("{"), "wanted"),
        (1, "/wanted/0/answer", json!("{}"), "wanted"),
        (2, "/result", json!(null), "result"),
        (2, "/result", json!("[]"), "result"),
        (2, "/result", json!(r#"{"a":}"#), "result"),
        (3, "/error", json!(null), "error"),
        (3, "/error/data", json!("{"), "error"),
    ];
    for (index, path, value, field) in cases {
        let mut record = records[index].clone();
        assert!(restored(&record).is_ok());
        *record.pointer_mut(path).unwrap() = value.clone();
        let refused = restored(&record);
        assert_eq!(refused, Err(RestoreError::Corrupt(field)), "{path} {value}");
    }
    let mut record = records[1].clone();
    record["status"] = json!("working");
    record["wanted"][0]["is_open"] = json!(false);
    record["wanted"][0]["answer"] = json!("7");
    assert_eq!(restored(&record), Err(RestoreError::Corrupt("wanted")));
    record["wanted"][0]["answer"] = json!(r#"{"action":"cancel"}"#);
    assert!(restored(&record).is_ok());
    record["serial"] = json!(u64::MAX / 2);
    assert!(restored(&record).is_ok());
}

/// A task is restored once, and only if there is room.
#[test]
fn a_task_is_restored_once() {
    let records = records();
    let record =
        |index: usize| serde_json::from_value::<TaskRecord>(records[index].clone()).unwrap();
    let mut config = TasksConfig::default();
    config.tasks_of_owner = 2;
    let mut tasks = Tasks::new(config);
    let first = tasks.restore(record(0)).unwrap();
    assert_eq!(tasks.restore(record(0)), Err(RestoreError::Present));
    let mut same_place = records[1].clone();
    same_place["serial"] = records[0]["serial"].clone();
    let same_place = serde_json::from_value(same_place).unwrap();
    assert_eq!(tasks.restore(same_place), Err(RestoreError::Present));
    tasks.restore(record(1)).unwrap();
    assert_eq!(tasks.restore(record(2)), Err(RestoreError::TooManyTasks));
    tasks.remove(first);
    tasks.restore(record(2)).unwrap();
    assert_eq!(tasks.len(), 2);
    let mut config = TasksConfig::default();
    config.bytes = 1;
    let mut tasks = Tasks::new(config);
    assert_eq!(tasks.restore(record(0)), Err(RestoreError::TooManyBytes));
    assert_eq!(tasks.len(), 0);
}

/// A record with any content is refused or becomes an ordinary task, without a panic.
#[test]
fn no_record_panics() {
    let values = [
        json!(null),
        json!(true),
        json!(0),
        json!(-1),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(1.5),
        json!(""),
        json!("{}"),
        json!("{\n\"content\"\n:[]}"),
        json!("tools/call"),
        json!("completed"),
        json!("input_required"),
        json!([]),
        json!(["p", "p"]),
        json!({}),
    ];
    for record in records() {
        for field in record.as_object().unwrap().keys() {
            for value in &values {
                let mut record = record.clone();
                record[field] = value.clone();
                let Ok(record) = serde_json::from_value::<TaskRecord>(record) else { continue };
                let mut stage = Stage::<ServerSide>::new();
                stage.begin("other");
                if let Ok(key) = stage.tasks.restore(record) {
                    lives(&mut stage, key);
                }
            }
        }
    }
}

/// Performs every operation on a task.
fn lives(stage: &mut Stage<ServerSide>, key: TaskKey) {
    let (id, principal) = {
        let view = stage.tasks.get(key).unwrap();
        (serde_json::to_string(view.id()).unwrap(), view.owner().principal().get())
    };
    stage.principal = principal;
    let id = id.trim_matches('"');
    for what in ["get", "result", "cancel", "result", "get"] {
        stage.serve(&about(&format!("\"{what}\""), what, id));
        stage.receive(&crate::sessions::kit::cancelled(&format!("\"{what}\"")));
    }
    stage.serve(&request("1", "tasks/list", ""));
    for message in stage.sent() {
        assert!(!message.contains('\n'), "{message}");
        assert!(serde_json::from_str::<Value>(&message).is_ok(), "{message}");
    }
    stage.begin("another");
    assert!(stage.tasks.save_all().count() <= 3);
    while stage.tasks.handle_timeout(Instant::from_nanos(u64::MAX)).is_some() {}
}

/// A client saves its tasks like a server.
#[test]
fn both_roles_keep_tasks() {
    let mut stage = Stage::<ClientSide>::quiet();
    let key = stage.begin("a");
    killed(&mut stage);
    let again = stage.tasks.find("a").unwrap();
    assert_eq!(
        (again.index(), stage.tasks.get(again).unwrap().method()),
        (key.index(), ClientSide::METHOD)
    );
    stage.serve(&about("1", "result", "a"));
    stage.complete(again);
    assert_eq!(stage.settled_messages(), [result_of::<ClientSide>("1", "a")]);
}
