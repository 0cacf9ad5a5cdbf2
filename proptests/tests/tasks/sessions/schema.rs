//! The messages of a side that hosts tasks, checked against the official schema.

use mcp_sansio::ErrorCode;
use mcp_sansio::model::{ElicitParams, InputRequired, ObjectSchema};
use mcp_sansio::progress::{Progress, ProgressReport};
use mcp_sansio::task::{NewTask, Tasks};
use mcp_sansio_proptests::{ClientSide, ServerSide};
use serde_json::Value;

use crate::sessions::closed::Schemas;
use crate::sessions::kit::{Host, Stage, WITH_TASKS, about, related, request};

/// Checks each sent message, or its result, against a definition.
#[track_caller]
fn fits(sent: &[String], definitions: &[&str]) {
    let Some(schemas) = Schemas::of(WITH_TASKS) else { return };
    assert_eq!(sent.len(), definitions.len(), "{sent:?}");
    for (message, definition) in sent.iter().zip(definitions) {
        let value: Value = serde_json::from_str(message).unwrap();
        match value.get("result") {
            // A schema that combines two parts cannot reject members that are in neither.
            Some(result) if ["GetTaskResult", "CancelTaskResult"].contains(definition) => {
                schemas.open(definition, result).unwrap();
                schemas.closed("Task", result).unwrap();
            }
            Some(result) => schemas.closed(definition, result).unwrap(),
            None if *definition == "TaskStatusNotification" => {
                schemas.open(definition, &value).unwrap();
                schemas.closed("Task", &value["params"]).unwrap();
            }
            None => schemas.message(definition, &value).unwrap(),
        }
    }
}

/// Proves L-TASK-17, L-TASK-22, L-TASK-34, L-AMB-24: every message about a task matches the schema.
#[test]
fn task_messages_match_the_schema() {
    fn check<H: Host>(result: &str) {
        let mut stage = Stage::<H>::with(|config| config.page_items = 1);
        let with_token = r#""task":{"ttl":5},"_meta":{"progressToken":"t"}"#;
        let id = stage.requested("1", with_token);
        let new = NewTask::new("a").message("m").immediate_response("r").ttl(None);
        let key = stage.host.begin(id, new, &mut stage.tasks).unwrap();
        fits(&stage.sent(), &["CreateTaskResult"]);
        stage.begin("b");
        let report = Progress::new(1_u32).total(2_u32).message("m");
        let reported = stage.host.report(key, report, &mut stage.tasks);
        assert_eq!(reported, Ok(ProgressReport::Sent));
        fits(&stage.sent(), &["ProgressNotification"]);
        fits(&stage.answers(&about("2", "get", "a")), &["GetTaskResult"]);
        fits(&stage.answers(&request("3", "tasks/list", "")), &["ListTasksResult"]);
        stage.serve(&about("4", "result", "a"));
        stage.complete(key);
        fits(&stage.settled_messages(), &["TaskStatusNotification", result]);
        let cancelled = ["CancelTaskResult", "TaskStatusNotification"];
        fits(&stage.answers(&about("5", "cancel", "b")), &cancelled);
        fits(&stage.answers(&about("6", "result", "b")), &["JSONRPCErrorResponse"]);
        fits(&stage.answers(&about("7", "get", "c")), &["JSONRPCErrorResponse"]);
        let key = stage.begin("d");
        let now = stage.now();
        stage.tasks.fail_with(key, ErrorCode::new(-9), "m", "data", now).unwrap();
        fits(&stage.settled_messages(), &["TaskStatusNotification"]);
        fits(&stage.answers(&about("8", "result", "d")), &["JSONRPCErrorResponse"]);
        let mut plain = Stage::of(H::plain(), Tasks::default());
        let id = plain.requested("1", &related("x"));
        plain.host.answer(id, H::RESULT).unwrap();
        fits(&plain.sent(), &[result]);
    }
    check::<ServerSide>("CallToolResult");
    check::<ClientSide>("CreateMessageResult");
}

/// Proves L-TASK-46: the requests of a task and their cancellations match it as well.
#[test]
fn requests_of_a_task_match_the_schema() {
    let mut stage = Stage::<ServerSide>::new();
    let key = stage.begin("a");
    let now = stage.now();
    let form = ElicitParams::form("m", ObjectSchema::default());
    let needed = InputRequired::new().elicit("p", form).roots("r");
    stage.tasks.require_input(key, &needed, now).unwrap();
    fits(
        &stage.settled_messages(),
        &["TaskStatusNotification", "ElicitRequest", "ListRootsRequest"],
    );
    stage.tasks.cancel(key, now).unwrap();
    let ended = ["CancelledNotification", "CancelledNotification", "TaskStatusNotification"];
    fits(&stage.settled_messages(), &ended);
}
