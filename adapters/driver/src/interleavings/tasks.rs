//! Tasks that two connections share.

use mcp_sansio::model::CallToolResult;
use mcp_sansio::subscription::ChangedList;
use mcp_sansio::task::{NewTask, TasksConfig};
use shuttle::sync::Mutex;
use shuttle::sync::mpsc::channel;
use shuttle::thread::spawn;

use super::explore;
use super::kit::{Written, config, read, server, session};
use crate::{ConnectionGroup, ConnectionOptions, SharedTasks};

/// Two connections end and change while the group of both announces: no thread waits for another in a circle.
#[test]
fn a_group_announces_while_connections_end() {
    explore(|| {
        let group = ConnectionGroup::new();
        let wires = [(); 2].map(|()| server(config(), &ConnectionOptions::new(), |_| {}));
        wires.iter().for_each(|wire| group.add(&wire.handle()));
        let written = Written::of(&wires[0]);
        let announces = {
            let group = group.clone();
            spawn(move || group.list_changed(ChangedList::Tools))
        };
        wires[1].abandon();
        group.list_changed(ChangedList::Tools);
        announces.join().unwrap();
        read(&wires[0], Vec::new(), true).join().unwrap();
        wires[0].wait().unwrap();
        assert_eq!(written.messages().len(), 0, "no client has subscribed");
    });
}

/// A task ends on the thread of its handler while another connection cancels it, and the first one waits for its
/// result: it has one end, and everything gets one response.
#[test]
fn a_result_and_a_cancellation_from_elsewhere() {
    explore(|| {
        let tasks = SharedTasks::new(TasksConfig::default());
        let options = ConnectionOptions::new().tasks(tasks.clone());
        let mut config = config();
        config.capabilities = config.capabilities.with_tasks();
        let (sender, steps) = channel();
        let sender = Mutex::new(sender);
        let home = server(config.clone(), &options, move |exchange| {
            let task = exchange.begin_task(NewTask::new("t-1")).unwrap();
            sender.lock().unwrap().send(true).unwrap();
            let completed = task.complete(&CallToolResult::text("done")).is_ok();
            sender.lock().unwrap().send(completed).unwrap();
        });
        let other = server(config, &options, |_| {});
        let (at_home, elsewhere) = (Written::of(&home), Written::of(&other));
        let call =
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","task":{}}}"#;
        let calls = read(&home, [session(), vec![call.into()]].concat(), false);
        let cancels = read(&other, [session(), vec![about_task("tasks/cancel", 1)]].concat(), true);
        assert!(steps.recv().unwrap(), "the task has begun");
        calls.join().unwrap();
        read(&home, vec![about_task("tasks/result", 2)], false).join().unwrap();
        let is_completed = steps.recv().unwrap();
        cancels.join().unwrap();
        other.wait().unwrap();
        read(&home, Vec::new(), true).join().unwrap();
        home.wait().unwrap();
        match (is_completed, at_home.responses().as_slice(), elsewhere.responses().as_slice()) {
            // It was not found, or had ended.
            (true, [(0, None), (1, None), (2, None)], [(0, None), (1, Some(_))]) => {}
            (false, [(0, None), (1, None), (2, Some(_))], [(0, None), (1, None)]) => {}
            other => panic!("{other:?}"),
        }
        assert_eq!(tasks.with(|tasks, _| tasks.len()), 1);
    });
}

/// A request about the task of the test.
fn about_task(method: &str, id: u32) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"taskId":"t-1"}}}}"#)
}
