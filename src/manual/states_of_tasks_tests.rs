//! The life of a task: the task of a server in every status, and everything that can be done with it.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::time::Duration;

use serde_json::{Value, json};

use super::Chart;
use crate::model::{InputRequired, ListChanged};
use crate::task::{NewTask, Status, TaskError, TaskKey, TaskNews, Tasks, TasksConfig};
use crate::{
    ClientRequest, Era, ErrorCode, Framing, Instant, Limits, Outbox, Server, ServerConfig,
    ServerEvent,
};

const STEPS: [&str; 9] = [
    "`complete`",
    "`fail`",
    "`cancel`",
    "`require_input`",
    "all of that is answered",
    "`tasks/cancel` comes",
    WITHOUT_HASTE,
    "the connection ends",
    "its time is over",
];

/// In a session the protocol has it cancelled at once.
const WITHOUT_HASTE: &str = "`tasks/cancel` comes, without `cancel_at_once`";

/// A server with one task of a client that knows everything.
struct Side {
    server: Server,
    out: Outbox,
    now: Instant,
    tasks: Tasks,
    key: TaskKey,
    era: Era,
    questions: u32,
}

fn of_client(era: Era, id: u32, method: &str, mut params: Value) -> String {
    if era == Era::Modern {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities":
                {"roots": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}},
        });
    }
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

impl Side {
    fn new(era: Era, config: TasksConfig) -> Self {
        let mut of_server = ServerConfig::new("s", "1");
        of_server.capabilities.tools = Some(ListChanged::default());
        of_server.capabilities = of_server.capabilities.with_tasks();
        let mut out = Outbox::new(Framing::Messages, &Limits::default());
        let (mut server, now) = (Server::new(of_server.into()), Instant::from_millis(1_000));
        let mut tasks = Tasks::new(config);
        if era == Era::Legacy {
            let initialize = json!({
                "protocolVersion": "2025-11-25", "capabilities": {"roots": {}},
                "clientInfo": {"name": "c", "version": "1"},
            });
            let initialize = of_client(era, 1, "initialize", initialize);
            assert!(server.receive(initialize.as_str(), now, &mut out).is_some());
            let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
            assert_eq!(server.receive(ready, now, &mut out), Some(ServerEvent::Ready));
        }
        let call = of_client(era, 2, "tools/call", json!({"name": "t", "task": {}}));
        let event = server.receive(call.as_str(), now, &mut out);
        let Some(ServerEvent::Request(request)) = event else { panic!("{event:?}") };
        let task = NewTask::new("t-1");
        let key = server.tasks(&mut tasks).begin(request.id, task, now, &mut out).unwrap();
        Self { server, out, now, tasks, key, era, questions: 0 }
    }

    /// A task that has come so far.
    fn at(status: Status, era: Era, config: TasksConfig) -> Self {
        let mut side = Self::new(era, config);
        match status {
            Status::Working => {}
            Status::InputRequired => side.step(STEPS[3]).unwrap(),
            Status::Completed => side.step(STEPS[0]).unwrap(),
            Status::Failed => side.step(STEPS[1]).unwrap(),
            Status::Cancelled => side.step(STEPS[2]).unwrap(),
        }
        assert_eq!(side.status(), Some(status));
        side
    }

    fn status(&self) -> Option<Status> {
        self.tasks.get(self.key).map(|task| task.status())
    }

    fn step(&mut self, step: &str) -> Result<(), TaskError> {
        let Self { tasks, key, now, .. } = self;
        match step {
            "`complete`" => tasks.complete(*key, &json!({"content": []}), *now)?,
            "`fail`" => tasks.fail(*key, ErrorCode::INTERNAL_ERROR, "m", *now)?,
            "`cancel`" => tasks.cancel(*key, *now)?,
            "`require_input`" => {
                self.questions += 1;
                let name = format!("k{}", self.questions);
                tasks.require_input(*key, &InputRequired::new().roots(name), *now)?;
            }
            "all of that is answered" => self.answer(),
            "`tasks/cancel` comes" | WITHOUT_HASTE => {
                self.ask("tasks/cancel", json!({"taskId": "t-1"}));
            }
            "the connection ends" => tasks.disconnected(self.server.connection_number()),
            "its time is over" => {
                let until = *now + Duration::from_secs(1_000_000);
                while tasks.handle_timeout(until).is_some() {}
            }
            _ => panic!("{step}"),
        }
        Ok(())
    }

    /// The client asks about the task.
    fn ask(&mut self, method: &str, params: Value) -> Option<TaskNews> {
        let text = of_client(self.era, 3, method, params);
        let event = self.server.receive(text.as_str(), self.now, &mut self.out);
        let Some(ServerEvent::Request(request)) = event else { panic!("{event:?}") };
        let ClientRequest::Task(call) = &request.kind else { panic!("{request:?}") };
        let Self { server, tasks, now, out, .. } = self;
        server.tasks(tasks).serve(request.id, call, *now, out).unwrap()
    }

    /// The client answers everything that the task waits for.
    fn answer(&mut self) {
        let keys: Vec<String> =
            self.tasks.get(self.key).unwrap().waits_for().map(ToString::to_string).collect();
        if self.era == Era::Modern {
            let answers = keys.iter().map(|key| (key.clone(), json!({"roots": []})));
            let answers = Value::Object(answers.collect());
            self.ask("tasks/update", json!({"taskId": "t-1", "inputResponses": answers}));
            return;
        }
        // In a session it is asked by a request of the server.
        let Self { server, tasks, now, out, .. } = self;
        server.tasks(tasks).settle(*now, out);
        while let Some(message) = out.messages().next().map(<[u8]>::to_vec) {
            let message: Value = serde_json::from_slice(&message).unwrap();
            if message["method"] != "roots/list" {
                continue;
            }
            let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": {"roots": []}});
            let answer = answer.to_string();
            let event = server.receive(answer.as_str(), *now, out);
            let Some(ServerEvent::TaskAnswer(answer)) = event else { panic!("{event:?}") };
            _ = tasks.answered(&answer, *now);
        }
    }
}

/// What a step leads to. What has ended does not change, and whoever works on it is told.
fn after(status: Status, step: &str, era: Era) -> Option<Status> {
    let mut config = TasksConfig::default();
    config.cancel_at_once = step != WITHOUT_HASTE;
    let mut side = Side::at(status, era, config);
    let done = side.step(step);
    let is_command = STEPS[..4].contains(&step);
    let expected = match status.is_final() && is_command {
        true => Err(TaskError::Final(status)),
        false => Ok(()),
    };
    assert_eq!(done, expected, "{status}, {step}");
    side.status()
}

pub(super) fn section() -> String {
    let (mut chart, mut changes) = (Chart::default(), BTreeSet::new());
    for status in Status::ALL {
        for step in STEPS {
            let after_modern = after(status, step, Era::Modern);
            let as_in_a_session = if step == WITHOUT_HASTE { "`tasks/cancel` comes" } else { step };
            let in_session = after(status, step, Era::Legacy);
            let expected = after(status, as_in_a_session, Era::Modern);
            assert_eq!(in_session, expected, "{status}, {step}");
            match after_modern {
                Some(to) if to == status => {}
                Some(to) => {
                    changes.insert((status, to));
                    chart.row(status.name(), step, to.name());
                }
                None => chart.row(status.name(), step, "forgotten"),
            }
        }
    }
    // What happens is what may happen, and all of it.
    let pairs = Status::ALL.iter().flat_map(|from| Status::ALL.map(|to| (*from, to)));
    let allowed: BTreeSet<_> = pairs.filter(|(from, to)| from.may_become(*to)).collect();
    assert_eq!(changes, allowed);
    format!(
        "## Tasks\n\n\
         The [`Status`](crate::task::Status) of a task of this side, with the commands of \
         [`Tasks`](crate::task::Tasks). Both eras have the same states. A step that is not in the \
         table changes no state; neither does the end of the connection. In the modern era, `tasks/cancel` changes \
         the state only if [`cancel_at_once`](crate::task::TasksConfig::cancel_at_once) is true. A command for a \
         task that has ended fails with [`TaskError::Final`](crate::task::TaskError::Final).\n\n\
         {}\n{}",
        chart.table(),
        chart.drawing("The states of a task", "")
    )
}
