//! A server's tasks under operations in any order, compared with a small model.

use std::collections::BTreeMap;
use std::time::Duration;

use mcp_sansio::model::InputRequired;
use mcp_sansio::task::{
    NewTask, Status, TaskError, TaskEvent, TaskKey, TaskNews, TaskRecord, TaskSharing, Tasks,
    TasksConfig,
};
use mcp_sansio::testing::Choices;
use mcp_sansio::{ClientRequest, ErrorCode, Instant, Revision, ServerEvent};
use serde_json::json;

use crate::{ServerSide, config};

/// The expected state of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Expected {
    status: Status,
    /// The time at which the task expires.
    until: Option<Instant>,
}

/// The tasks and their model.
struct Run {
    side: ServerSide,
    tasks: Tasks,
    expected: BTreeMap<String, Expected>,
    begun: u32,
    /// The records that were stored after each reported change, by key. `None` if changes are not reported.
    stored: Option<BTreeMap<TaskKey, TaskRecord>>,
    /// The copies of another process.
    copies: Tasks,
}

/// Runs `steps` operations and compares the tasks with the model after each.
pub fn check_tasks(choices: &mut Choices, steps: usize) {
    let mut of_server = config::server_of_both_eras();
    of_server.capabilities = of_server.capabilities.with_tasks();
    let side = ServerSide::ready_with(of_server, Revision::V2025_11_25);
    let (mut tasks, mut copies) = (Tasks::new(config()), Tasks::new(config()));
    let is_shared = choices.one_in(2);
    if is_shared {
        TaskSharing::of(&mut tasks).begin();
        TaskSharing::of(&mut copies).begin();
    }
    let stored = is_shared.then(BTreeMap::new);
    let mut run = Run { side, tasks, expected: BTreeMap::new(), begun: 0, stored, copies };
    for _ in 0..steps {
        if choices.is_exhausted() {
            break;
        }
        run.step(choices);
        run.compare();
        run.store(choices);
    }
    run.wait(Duration::from_secs(48 * 3_600));
    run.compare();
    run.store(choices);
    assert_eq!(run.expected.values().filter(|task| task.until.is_some()).count(), 0);
}

fn config() -> TasksConfig {
    let mut config = TasksConfig::default();
    (config.tasks, config.tasks_of_owner) = (5, 4);
    config.longest_ttl = None;
    config
}

impl Run {
    fn step(&mut self, choices: &mut Choices) {
        match choices.below(12) {
            0..3 => self.begin(choices),
            3..8 => self.work(choices),
            8 => self.wait(Duration::from_millis(choices.below(3_000))),
            9 => self.keep(),
            _ => self.ask(choices),
        }
        let Self { side, tasks, .. } = self;
        side.server.tasks(tasks).settle(side.now, &mut side.out);
        side.out.sent(usize::MAX);
        _ = side.sent();
    }

    fn begin(&mut self, choices: &mut Choices) {
        let frame = format!(
            r#"{{"jsonrpc":"2.0","id":"c{}","method":"tools/call","params":{{"name":"t","task":{{}}}}}}"#,
            self.begun
        );
        let request = self.side.request(&frame);
        let ttl = choices.one_in(2).then(|| Duration::from_millis(choices.below(2_000)));
        let id = format!("t{}", self.begun);
        self.begun += 1;
        let Self { side, tasks, .. } = self;
        let new = NewTask::new(&*id).ttl(ttl);
        let is_full = 4 <= tasks.len();
        match side.server.tasks(tasks).begin(request, new, side.now, &mut side.out) {
            Ok(key) => {
                assert!(!is_full && tasks.find(&id) == Some(key));
                let until = ttl.map(|ttl| side.now + ttl);
                self.expected.insert(id, Expected { status: Status::Working, until });
            }
            Err(error) => {
                assert!(is_full, "{error:?}");
                side.server.reject(request, ErrorCode::INTERNAL_ERROR, "", &mut side.out).unwrap();
            }
        }
    }

    /// Performs an operation on a task. A final task must not change.
    fn work(&mut self, choices: &mut Choices) {
        let keys: Vec<TaskKey> = self.tasks.iter().map(|(key, _)| key).collect();
        let Some(key) = choices.pick(&keys) else { return };
        let Self { side, tasks, expected, .. } = self;
        let id = tasks.get(key).unwrap().id().to_owned();
        let expected = expected.get_mut(&id).unwrap();
        let now = side.now;
        let (done, status) = match choices.below(8) {
            0 => (tasks.complete(key, &json!({"content": []}), now), Status::Completed),
            1 => (tasks.fail(key, ErrorCode::new(-7), "broken", now), Status::Failed),
            2 => (tasks.cancel(key, now), Status::Cancelled),
            3 | 4 => {
                let name = format!("k{}", choices.below(4));
                let required = InputRequired::new().roots(&*name);
                (tasks.require_input(key, &required, now), Status::InputRequired)
            }
            5 => (tasks.set_message(key, Some("going on"), now), expected.status),
            6 => {
                let checkpoint = format!("step {}", choices.below(4));
                (TaskSharing::of(tasks).set_checkpoint(key, Some(&checkpoint)), expected.status)
            }
            _ => {
                let ttl = choices.one_in(2).then(|| Duration::from_millis(choices.below(4_000)));
                tasks.set_ttl(key, ttl).unwrap();
                expected.until = ttl.map(|ttl| tasks.get(key).unwrap().created() + ttl);
                return;
            }
        };
        match done {
            Ok(()) => {
                assert!(!expected.status.is_final(), "{id} {expected:?} {status:?}");
                expected.status = status;
            }
            Err(TaskError::Final(_)) => assert!(expected.status.is_final(), "{id} {expected:?}"),
            // The same input was already required.
            Err(_) => assert_eq!(status, Status::InputRequired),
        }
    }

    fn wait(&mut self, duration: Duration) {
        self.side.now = self.side.now + duration;
        let now = self.side.now;
        while let Some(event) = self.tasks.handle_timeout(now) {
            let TaskEvent::Expired { id, was_going_on, .. } = event else { panic!("{event:?}") };
            let expected = self.expected.remove(&id).unwrap();
            assert!(expected.until.is_some_and(|until| until <= now), "{id} {expected:?}");
            assert_eq!(was_going_on, !expected.status.is_final());
        }
        assert!(self.tasks.poll_timeout().is_none_or(|due| now < due));
        self.expected.values().for_each(|task| assert!(task.until.is_none_or(|until| now < until)));
        _ = self.side.outcomes();
    }

    /// Checks that saved tasks can be restored by another process.
    fn keep(&self) {
        let records: Vec<_> = self.tasks.save_all().collect();
        let mut tasks = Tasks::new(config());
        for record in &records {
            tasks.restore(record.clone()).unwrap();
        }
        assert_eq!(tasks.save_all().collect::<Vec<_>>(), records);
    }

    /// Stores the tasks that are reported as changed, which must be all that have changed, and copies them in another process.
    /// A cancellation of a copy reaches the task.
    fn store(&mut self, choices: &mut Choices) {
        let Self { side, tasks, expected, stored, copies, .. } = self;
        let Some(stored) = stored else {
            return assert!(!TaskSharing::of(tasks).has_changed());
        };
        // The changes of copies were sent.
        while TaskSharing::of(copies).next_changed().is_some() {}
        while let Some(key) = TaskSharing::of(tasks).next_changed() {
            match (tasks.save(key), stored.remove(&key)) {
                (Some(record), _) => {
                    let copy = TaskSharing::of(copies).refresh(record.clone()).unwrap();
                    assert_eq!(shown(copies, copy), shown(tasks, key));
                    stored.insert(key, record);
                }
                (None, Some(record)) => {
                    let copy = copies.find(record.id()).unwrap();
                    assert!(copies.remove(copy));
                }
                (None, None) => {}
            }
        }
        let saved: BTreeMap<_, _> =
            tasks.iter().filter_map(|(key, _)| Some((key, tasks.save(key)?))).collect();
        assert_eq!(*stored, saved);
        let keys: Vec<TaskKey> = copies.iter().map(|(key, _)| key).collect();
        if !choices.one_in(8) {
            return;
        }
        let Some(copy) = choices.pick(&keys) else { return };
        let was_going_on = copies.cancel(copy, side.now).is_ok();
        let record = copies.save(copy).unwrap();
        let id = record.id().to_owned();
        let merged = TaskSharing::of(tasks).merge(record.clone(), side.now);
        if was_going_on {
            let key = tasks.find(&id).unwrap();
            assert_eq!(merged, Ok(Some(TaskNews::Cancelled(key))));
            expected.get_mut(&id).unwrap().status = Status::Cancelled;
            assert_eq!(TaskSharing::of(tasks).merge(record, side.now), Ok(None));
        }
    }

    /// Sends a client's request about an existing or invented task.
    fn ask(&mut self, choices: &mut Choices) {
        let methods = ["tasks/get", "tasks/cancel", "tasks/list", "tasks/result", "tasks/update"];
        let method = choices.pick(&methods).unwrap_or("ping");
        let (id, task) = (choices.below(1 << 32), choices.below(u64::from(self.begun) + 2));
        let frame = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"taskId":"t{task}"}}}}"#
        );
        let Some(ServerEvent::Request(request)) = self.side.receive(&frame) else { return };
        let ClientRequest::Task(call) = &request.kind else { return };
        let Self { side, tasks, expected, .. } = self;
        let news = side.server.tasks(tasks).serve(request.id, call, side.now, &mut side.out);
        if let Some(TaskNews::Cancelled(key)) = news.unwrap() {
            let expected = expected.get_mut(tasks.get(key).unwrap().id()).unwrap();
            assert!(!expected.status.is_final());
            expected.status = Status::Cancelled;
        }
    }

    fn compare(&self) {
        let found: BTreeMap<String, Status> =
            self.tasks.iter().map(|(_, view)| (view.id().to_owned(), view.status())).collect();
        let expected: BTreeMap<String, Status> =
            self.expected.iter().map(|(id, task)| (id.clone(), task.status)).collect();
        assert_eq!(found, expected);
    }
}

/// A task without the number that differs between processes.
fn shown(tasks: &Tasks, key: TaskKey) -> serde_json::Value {
    let mut record = serde_json::to_value(tasks.save(key)).unwrap();
    record["serial"] = serde_json::Value::Null;
    record
}
