//! Calls that become tasks of the peer.

use std::io::pipe;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use mcp_sansio::call::TaskOptions;
use mcp_sansio::model::{
    CallToolParams, CallToolResult, ListChanged, ListToolsResult, PageParams, TaskSupport, method,
};
use mcp_sansio::request::TaskMode;
use mcp_sansio::{
    CallError, CallOptions, Client, ClientConfig, ClientRequest, RevisionSet, Server, ServerConfig,
};
use mcp_sansio_std::{
    CallFailure, Connection, ConnectionOptions, Exchange, Handler, PendingCall, RefuseAll,
    SharedTasks, TaskHandle, connect as connect_to, new_task, serve_with,
};

const ERAS: [RevisionSet; 2] = [RevisionSet::LEGACY, RevisionSet::MODERN];

/// A handler that makes every call a task, and sends its handle to the test.
struct Jobs(Mutex<Sender<TaskHandle>>);

impl Handler<Server> for Jobs {
    fn serve(&self, exchange: &Exchange<Server>) {
        if !matches!(exchange.request().kind, ClientRequest::CallTool(_)) {
            return exchange.respond(&ListToolsResult::new([])).unwrap();
        }
        let mode = exchange.task_mode(&TaskSupport::Optional).unwrap();
        assert_eq!(mode, Some(TaskMode::Task));
        let task = exchange.begin_task(new_task().unwrap()).unwrap();
        self.0.lock().unwrap().send(task).unwrap();
    }
}

/// Connects a client to a server with these tasks, and returns the task handles that the server creates.
fn connect(revisions: RevisionSet, tasks: &SharedTasks) -> (Connection, Receiver<TaskHandle>) {
    let mut of_server = ServerConfig::new("server", "1");
    of_server.capabilities.tools = Some(ListChanged::default());
    of_server.capabilities = of_server.capabilities.with_tasks();
    of_server.revisions = revisions;
    let mut of_client = ClientConfig::new("client", "1");
    of_client.capabilities = of_client.capabilities.with_tasks();
    of_client.revisions = revisions;
    let ((from_client, to_server), (from_server, to_client)) = (pipe().unwrap(), pipe().unwrap());
    let (sender, jobs) = channel();
    let handler = Jobs(Mutex::new(sender));
    let options = ConnectionOptions::new().tasks(tasks.clone());
    thread::spawn(move || serve_with(of_server, &options, from_client, to_client, handler));
    (connect_to(of_client, from_server, to_server, RefuseAll::new()).unwrap(), jobs)
}

fn call(connection: &Connection) -> PendingCall<Client> {
    let options = TaskOptions::new().poll_interval(Duration::from_millis(10));
    let options = CallOptions::new().task(options);
    let params = CallToolParams::new("job");
    connection.handle().call_method("tools/call", &params, options)
}

#[test]
fn a_blocking_call_returns_the_result_of_its_task() {
    for era in ERAS {
        let tasks = SharedTasks::default();
        let (connection, jobs) = connect(era, &tasks);
        let call = call(&connection);
        jobs.recv().unwrap().complete(&CallToolResult::text("done")).unwrap();
        let reply = call.wait().unwrap();
        let text = reply.raw().pointer("/content/0/text").unwrap();
        assert_eq!(text.as_json(), "\"done\"");
    }
}

#[test]
fn a_task_is_taken_up_on_another_connection() {
    for era in ERAS {
        let tasks = SharedTasks::default();
        let (connection, jobs) = connect(era, &tasks);
        let lost = call(&connection);
        let job = jobs.recv().unwrap();
        // Messages of the server arrive in order, so the client knows of the task after this response.
        let params = PageParams::default();
        let handle = connection.handle();
        assert!(handle.call::<method::ListTools>(&params, CallOptions::new()).wait().is_ok());
        let (other, _) = connect(era, &tasks);
        _ = connection.close(Duration::from_secs(5)).wait();
        let Err(CallFailure::Task(task)) = lost.wait() else { panic!("it has become a task") };
        let ticket = task.ticket;
        let resumed = other.handle().resume_task(&ticket, TaskOptions::new());
        job.complete(&CallToolResult::text("late")).unwrap();
        assert!(resumed.wait().is_ok());
    }
}

#[test]
fn a_task_can_be_cancelled_and_waited_for() {
    for era in ERAS {
        let tasks = SharedTasks::default();
        let (connection, jobs) = connect(era, &tasks);
        let call = call(&connection);
        let job = jobs.recv().unwrap();
        // The response that creates the task may still be in flight.
        while let Err(error) = call.cancel_task() {
            assert_eq!(error, CallError::NotATask);
            thread::yield_now();
        }
        assert!(matches!(call.wait(), Err(CallFailure::TaskCancelled)));
        assert!(job.wait_cancelled(Duration::from_secs(120)));
    }
}
