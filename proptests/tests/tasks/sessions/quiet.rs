//! Debug output contains no secrets.

use mcp_sansio::ErrorCode;
use mcp_sansio::json::Raw;
use mcp_sansio::model::{ElicitParams, InputRequired, ObjectSchema};
use mcp_sansio::task::{NewTask, TaskEvent};
use mcp_sansio_proptests::ServerSide;

use crate::sessions::kit::{Host, Reaction, Stage, about, on_both, related, result};

/// A task id gives access to the result, so debug output contains neither ids nor results nor other payloads.
#[test]
fn debug_shows_no_ids_and_no_payloads() {
    const SECRET: &str = "secret";
    let mut stage = Stage::<ServerSide>::new();
    let new = NewTask::new("secret-id").message("secret words").immediate_response("secret");
    let mut shown = vec![format!("{new:?}")];
    let key = stage.begin_new(r#""task":{},"_meta":{"progressToken":"t"}"#, new);
    let now = stage.now();
    let form = ElicitParams::form("secret question", ObjectSchema::default());
    let needed = InputRequired::new().elicit("secret-key", form).roots("other");
    stage.tasks.require_input(key, &needed, now).unwrap();
    stage.settle();
    let look = |stage: &Stage<ServerSide>, shown: &mut Vec<String>| {
        shown.push(format!("{:?}", stage.tasks));
        shown.push(format!("{:?}", stage.tasks.get(key).unwrap()));
        shown.push(format!("{:?}", stage.tasks.save(key).unwrap()));
        shown.push(format!("{:?}", stage.host.server));
    };
    look(&stage, &mut shown);
    let content = r#"{"action":"accept","content":{},"_meta":{"a":"secret"}}"#;
    stage.sent();
    let Reaction::Answer(answer) = stage.receive(&result("1", content)) else { panic!() };
    shown.push(format!("{answer:?}"));
    _ = stage.tasks.answered(&answer, now);
    for what in ["get", "result", "cancel"] {
        let Reaction::Task(_, call) =
            stage.receive(&about(&format!("\"{what}\""), what, "secret-id"))
        else {
            panic!("{what}")
        };
        shown.push(format!("{call:?}"));
    }
    look(&stage, &mut shown);
    let outcome = Raw::new(r#"{"content":[],"secret":1}"#).unwrap();
    let mut failed = stage.clone();
    stage.tasks.complete(key, &outcome, now).unwrap();
    look(&stage, &mut shown);
    failed.tasks.fail_with(key, ErrorCode::new(1), "secret", "secret", now).unwrap();
    look(&failed, &mut shown);
    for text in shown {
        assert!(!text.contains(SECRET), "{text}");
    }
    // Only the event of an expired task contains the id.
    stage.tasks.set_ttl(key, Some(std::time::Duration::ZERO)).unwrap();
    let Some(TaskEvent::Expired { id, .. }) = stage.tasks.handle_timeout(now) else { panic!() };
    assert_eq!(id, "secret-id");
}

/// The same holds for tasks of the peer.
#[test]
fn debug_shows_no_ids_of_the_peer() {
    fn check<H: Host>() {
        let mut stage = Stage::<H>::new();
        stage.requested("1", &related("secret-id"));
        assert!(!format!("{:?}", stage.host).contains("secret"), "{:?}", stage.host);
    }
    on_both!(check);
}
