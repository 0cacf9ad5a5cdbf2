//! Tasks that ask the user with a form: the content must match the form, however long it takes.

use mcp_sansio::json::Raw;
use mcp_sansio::schema::{EncodeError, Problem};
use mcp_sansio::task::{NewTask, RestoreError, TaskError, TaskKey, TaskRecord, Tasks};
use mcp_sansio_proptests::ClientSide;
use serde_json::{Value, json};

use crate::sessions::kit::{Host, Reaction, Stage, request};

const FORM: &str =
    r#"{"type":"object","properties":{"age":{"type":"integer"}},"required":["age"]}"#;

/// A client with an elicitation request that has become a task.
fn asked() -> (Stage<ClientSide>, TaskKey) {
    let mut stage = Stage::<ClientSide>::quiet();
    let members = format!(r#""message":"m","requestedSchema":{FORM},"task":{{}}"#);
    let Reaction::Request(request) = stage.receive(&request("1", "elicitation/create", &members))
    else {
        panic!("no request")
    };
    let key = stage.host.begin(request, NewTask::new("a"), &mut stage.tasks).unwrap();
    (stage, key)
}

fn complete(stage: &mut Stage<ClientSide>, key: TaskKey, content: &str) -> Result<(), TaskError> {
    let result = format!(r#"{{"action":"accept","content":{content}}}"#);
    let now = stage.now();
    stage.tasks.complete(key, &Raw::new(&result).unwrap(), now)
}

#[track_caller]
fn is_held_to_its_form(stage: &mut Stage<ClientSide>, key: TaskKey) {
    for (content, problem) in [("{}", Problem::Missing), (r#"{"age":"x"}"#, Problem::WrongType)] {
        match complete(stage, key, content) {
            Err(TaskError::Encode(EncodeError::Misfit(misfit))) => {
                assert_eq!((misfit.field, misfit.problem), ("content", problem), "{content}");
            }
            other => panic!("{content}: {other:?}"),
        }
    }
    assert_eq!(complete(stage, key, r#"{"age":7}"#), Ok(()));
}

#[test]
fn a_task_is_held_to_the_form_it_was_begun_with() {
    let (mut stage, key) = asked();
    is_held_to_its_form(&mut stage, key);
}

/// The form is also enforced after a restart.
#[test]
fn the_form_of_a_task_is_kept() {
    let (mut stage, key) = asked();
    let record = serde_json::to_value(stage.tasks.save(key).unwrap()).unwrap();
    assert_eq!(record["request"]["form"], json!(FORM));
    let restored = |tasks: &mut Tasks, record: &Value| {
        tasks.restore(serde_json::from_value::<TaskRecord>(record.clone()).unwrap())
    };
    let config = stage.tasks.config().clone();
    let mut tasks = Tasks::new(config);
    for form in ["[]", "7", "{"] {
        let mut wrong = record.clone();
        wrong["request"]["form"] = json!(form);
        let refused = restored(&mut tasks, &wrong);
        assert_eq!(refused, Err(RestoreError::Corrupt("form")), "{form}");
    }
    let key = restored(&mut tasks, &record).unwrap();
    stage.tasks = tasks;
    is_held_to_its_form(&mut stage, key);
}

/// A task of an elicitation by URL refuses a result with content, also after a restart.
#[test]
fn the_visit_of_a_task_is_kept() {
    let mut stage = Stage::<ClientSide>::quiet();
    let members = r#""message":"m","mode":"url","url":"https://x/","elicitationId":"e","task":{}"#;
    let Reaction::Request(request) = stage.receive(&request("1", "elicitation/create", members))
    else {
        panic!("no request")
    };
    let key = stage.host.begin(request, NewTask::new("a"), &mut stage.tasks).unwrap();
    let is_refused = |stage: &mut Stage<ClientSide>, key: TaskKey| {
        let completed = complete(stage, key, r#"{"age":7}"#);
        let Err(TaskError::Encode(EncodeError::Misfit(misfit))) = completed else {
            panic!("{completed:?}")
        };
        assert_eq!((misfit.field, misfit.problem), ("content", Problem::NotAllowed));
    };
    is_refused(&mut stage, key);
    let record = serde_json::to_value(stage.tasks.save(key).unwrap()).unwrap();
    assert_eq!(record["request"]["visit"], json!(true));
    let restored = |record: &Value| {
        let mut tasks = Tasks::default();
        let record = serde_json::from_value::<TaskRecord>(record.clone()).unwrap();
        tasks.restore(record).map(|key| (tasks, key))
    };
    let corrupt = RestoreError::Corrupt("visit");
    let mut wrong = record.clone();
    wrong["request"]["form"] = json!(FORM);
    assert_eq!(restored(&wrong).err(), Some(corrupt));
    wrong["request"]["form"] = Value::Null;
    wrong["request"]["method"] = json!("sampling/createMessage");
    assert_eq!(restored(&wrong).err(), Some(corrupt));
    // A record of an earlier version lacks the member.
    let mut earlier = record.clone();
    earlier["request"].as_object_mut().unwrap().remove("visit");
    assert!(restored(&earlier).is_ok());
    let (tasks, key) = restored(&record).unwrap();
    stage.tasks = tasks;
    is_refused(&mut stage, key);
    let now = stage.now();
    let accepted = Raw::new(r#"{"action":"accept"}"#).unwrap();
    assert_eq!(stage.tasks.complete(key, &accepted, now), Ok(()));
}
