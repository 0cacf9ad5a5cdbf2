//! Behavior that does not depend on the era.

use mcp_sansio::RevisionSet;
use mcp_sansio::call::Cancellation;
use mcp_sansio::model::{ElicitParams, InputRequired, ObjectSchema};
use mcp_sansio::task::{Status, TaskNews};

use super::world::World;

const ERAS: [RevisionSet; 2] = [RevisionSet::LEGACY, RevisionSet::MODERN];

#[test]
fn a_call_that_becomes_a_task_ends_with_the_result_of_the_task() {
    for era in ERAS {
        let mut world = World::of(era);
        let call = world.call();
        world.settle();
        assert_eq!(world.take_event_texts(), ["task-1 working"]);
        world.elapse(1_000);
        assert_eq!(world.take_event_texts(), [""; 0], "nothing is new");
        assert!(world.client.client.in_flight().is_pending(call));
        world.complete("done");
        world.elapse(1_000);
        let delivered = world.take_event_texts();
        assert!(delivered.last().unwrap().contains("\"done\""), "{delivered:?}");
        assert!(!world.client.client.in_flight().is_pending(call));
        assert_eq!(world.client.client.in_flight().counts().outbound, 0);
        world.elapse(3_600_000);
        assert_eq!(world.take_event_texts(), [""; 0]);
    }
}

#[test]
fn a_task_that_fails_ends_the_call_with_its_error() {
    for era in ERAS {
        let mut world = World::of(era);
        world.call();
        world.settle();
        world.fail();
        world.elapse(1_000);
        assert_eq!(world.take_event_texts().last().unwrap(), "error -7 broken");
    }
}

#[test]
fn a_call_that_is_cancelled_cancels_its_task() {
    for era in ERAS {
        let mut world = World::of(era);
        let call = world.call();
        world.settle();
        let key = world.task();
        let cancelled = world.client.client.cancel(call, None, &mut world.client.out).unwrap();
        assert_eq!(cancelled, Cancellation::Notified);
        world.settle();
        assert_eq!(world.news, [TaskNews::Cancelled(key)]);
        assert_eq!(world.tasks.get(key).unwrap().status(), Status::Cancelled);
        world.elapse(10_000);
        assert_eq!(world.take_event_texts(), ["task-1 working"]);
        assert_eq!(world.client.client.in_flight().counts().outbound, 0);
    }
}

#[test]
fn input_requests_of_a_task_reach_the_application_once() {
    for era in ERAS {
        let mut world = World::of(era);
        let call = world.call();
        world.settle();
        let key = world.task();
        let form = |name: &'static str| ElicitParams::form(name, ObjectSchema::default());
        world.require(&InputRequired::new().elicit("a", form("A")).elicit("b", form("B")));
        world.elapse(1_000);
        let questions = world.questions();
        assert_eq!(questions.len(), 2, "{era:?} {:?}", world.passed);
        for (question, needed_for) in questions {
            assert_eq!(needed_for, Some(call));
            world.client.respond(question, r#"{"action":"accept","content":{}}"#);
            world.settle();
            world.elapse(1_000);
        }
        assert_eq!(world.news, [TaskNews::Input(key)]);
        let inputs = world.tasks.get(key).unwrap().inputs();
        for name in ["a", "b"] {
            let answer = inputs.get(name).unwrap();
            assert_eq!(answer.get("action").unwrap().as_json(), "\"accept\"");
        }
        assert!(world.questions().is_empty(), "each is asked once");
        world.complete("thanks");
        world.elapse(1_000);
        assert!(world.take_event_texts().last().unwrap().contains("thanks"));
        assert_eq!(world.client.client.in_flight().counts().outbound, 0);
        assert_eq!(world.server.server.in_flight().counts().inbound, 0);
    }
}
