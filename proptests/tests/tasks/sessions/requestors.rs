//! Principals, sessions, and unknown requestors.

use mcp_sansio::request::Requestor;
use mcp_sansio::task::{NewTask, TaskError, TaskRecord, Tasks, TasksConfig};
use mcp_sansio::{ClientRequest, IncomingId, Principal, Received, Request, ServerEvent};
use mcp_sansio_proptests::ServerSide;
use serde_json::{Value, json};

use super::kit::{Host, about, asking, request, unknown};

const KNOWN: Requestor = Requestor::Principal(Principal::new(7));

/// All kinds of requestors, some with equal numbers.
const REQUESTORS: [Requestor; 6] = [
    Requestor::Principal(Principal::new(0)),
    KNOWN,
    Requestor::Session(7),
    Requestor::Session(8),
    Requestor::Unknown(7),
    Requestor::Unknown(8),
];

#[track_caller]
fn request_of(side: &mut ServerSide, frame: &str, requestor: Requestor) -> Request<'static> {
    let received = Received::from(side.now).requestor(requestor);
    match side.server.receive(frame, received, &mut side.out).map(ServerEvent::into_owned) {
        Some(ServerEvent::Request(request)) => request,
        other => panic!("{other:?}"),
    }
}

fn ask(side: &mut ServerSide, tasks: &mut Tasks, frame: &str, requestor: Requestor) -> String {
    let request = request_of(side, frame, requestor);
    let ClientRequest::Task(call) = &request.kind else { panic!("{request:?}") };
    _ = side.server.tasks(tasks).serve(request.id, call, side.now, &mut side.out).unwrap();
    side.sent().concat()
}

fn call(side: &mut ServerSide, requestor: Requestor) -> IncomingId {
    let request = request_of(side, &asking::<ServerSide>(r#""begin""#, r#""task":{}"#), requestor);
    assert_eq!(request.context.requestor, requestor);
    assert_eq!(request.context.principal, requestor.principal());
    request.id
}

fn begin(
    side: &mut ServerSide,
    tasks: &mut Tasks,
    id: &str,
    requestor: Requestor,
) -> Result<(), TaskError> {
    let (request, now) = (call(side, requestor), side.now);
    let begun = side.server.tasks(tasks).begin(request, NewTask::new(id), now, &mut side.out);
    if begun.is_err() {
        side.server.respond(request, &json!({"content": []}), &mut side.out).unwrap();
    }
    side.sent();
    begun.map(|_| ())
}

fn listed(answer: &str) -> Vec<String> {
    let answer: Value = serde_json::from_str(answer).unwrap();
    let tasks = answer["result"]["tasks"].as_array().unwrap().iter();
    tasks.map(|task| task["taskId"].as_str().unwrap().to_owned()).collect()
}

/// A requestor reaches its own tasks by id and in lists, also after a restart.
///
/// Proves L-TASK-62, L-TASK-63
#[test]
fn a_requestor_reaches_its_own_tasks() {
    let mut side = ServerSide::host();
    let mut tasks = Tasks::default();
    let ids: Vec<String> = (0..REQUESTORS.len()).map(|index| format!("t{index}")).collect();
    for (id, requestor) in ids.iter().zip(REQUESTORS) {
        begin(&mut side, &mut tasks, id, requestor).unwrap();
        let own: Vec<&str> =
            tasks.tasks_of(requestor).map(|key| tasks.get(key).unwrap().id()).collect();
        assert_eq!(own, [id]);
    }
    let mut restored = Tasks::default();
    for record in tasks.save_all() {
        let text = serde_json::to_string(&record).unwrap();
        restored.restore(serde_json::from_str::<TaskRecord>(&text).unwrap()).unwrap();
    }
    for mut tasks in [tasks, restored] {
        for requestor in REQUESTORS {
            let is_known = !matches!(requestor, Requestor::Unknown(_));
            for (id, owner) in ids.iter().zip(REQUESTORS) {
                let is_unknown = matches!(owner, Requestor::Unknown(_));
                let is_own = owner == requestor || (!is_known && is_unknown);
                let answer = ask(&mut side, &mut tasks, &about("1", "get", id), requestor);
                assert_eq!(answer == unknown("1"), !is_own, "{requestor:?} {owner:?}");
                let key = tasks.find(id).unwrap();
                assert_eq!(tasks.get(key).unwrap().owner(), owner);
            }
            let all = ask(&mut side, &mut tasks, &request("1", "tasks/list", ""), requestor);
            let own = ids.iter().zip(REQUESTORS).filter(|(_, owner)| *owner == requestor);
            let own: Vec<String> = own.filter(|_| is_known).map(|(id, _)| id.clone()).collect();
            assert_eq!(listed(&all), own, "{requestor:?}");
        }
    }
}

/// A record from before other owners existed belongs to a principal.
#[test]
fn an_old_record_is_of_a_principal() {
    let (mut side, mut tasks) = (ServerSide::host(), Tasks::default());
    begin(&mut side, &mut tasks, "a", KNOWN).unwrap();
    let mut record = serde_json::to_value(tasks.save_all().next().unwrap()).unwrap();
    assert!(record.as_object_mut().unwrap().remove("owner_kind").is_some());
    let mut restored = Tasks::default();
    let key = restored.restore(serde_json::from_value(record).unwrap()).unwrap();
    assert_eq!(restored.get(key).unwrap().owner(), KNOWN);
}

/// A cursor is valid only for its requestor, even if the numbers are equal.
///
/// Proves L-TASK-61
#[test]
fn a_cursor_is_its_requestors() {
    let mut config = TasksConfig::default();
    config.page_items = 1;
    let (mut side, mut tasks) = (ServerSide::host(), Tasks::new(config));
    for (index, requestor) in REQUESTORS.into_iter().chain(REQUESTORS).enumerate() {
        begin(&mut side, &mut tasks, &format!("t{index}"), requestor).unwrap();
    }
    let mut list = |requestor, members: &str| {
        ask(&mut side, &mut tasks, &request("1", "tasks/list", members), requestor)
    };
    for own in &REQUESTORS[..4] {
        let first: Value = serde_json::from_str(&list(*own, "")).unwrap();
        let cursor = format!(r#""cursor":{}"#, first["result"]["nextCursor"]);
        for other in REQUESTORS {
            let answer = list(other, &cursor);
            assert_eq!(answer.contains("-32602"), other != *own, "{own:?} {other:?} {answer}");
        }
    }
}

/// Each requestor has its own limit; unknown requestors are counted by their origin.
///
/// Proves L-TASK-75
#[test]
fn a_requestor_has_room_of_its_own() {
    let mut config = TasksConfig::default();
    config.tasks_of_owner = 2;
    let (mut side, mut tasks) = (ServerSide::host(), Tasks::new(config));
    for (number, requestor) in REQUESTORS.into_iter().enumerate() {
        for which in 0..3 {
            let begun = begin(&mut side, &mut tasks, &format!("t{number}-{which}"), requestor);
            let expected = if which < 2 { Ok(()) } else { Err(TaskError::TooManyTasks) };
            assert_eq!(begun, expected, "{requestor:?}");
        }
    }
}

/// The number of a session is derived from its id.
#[test]
fn debug_does_not_show_sessions() {
    assert_eq!(format!("{:?}", Requestor::Session(77)), "Session(..)");
    assert_eq!(format!("{KNOWN:?} {:?}", Requestor::Unknown(7)), "Principal(7) Unknown(7)");
    assert_eq!(Requestor::from(Principal::default()), Requestor::default());
}
