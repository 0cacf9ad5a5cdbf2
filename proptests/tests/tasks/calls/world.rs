//! A client and a server that hosts tasks, connected by hand, with one clock.

use std::time::Duration;

use mcp_sansio::call::TaskOptions;
use mcp_sansio::json::Raw;
use mcp_sansio::model::{CallToolParams, InputRequired, TaskSupport, method};
use mcp_sansio::request::TaskMode;
use mcp_sansio::task::{NewTask, TaskKey, TaskNews, Tasks, TasksConfig};
use mcp_sansio::{
    CallId, CallOptions, ClientEvent, ClientRequest, ErrorCode, IncomingId, RevisionSet,
    ServerEvent,
};
use mcp_sansio_proptests::{ClientSide, ServerSide, config};

/// Both sides, the tasks of the server, and the events so far.
pub(super) struct World {
    pub(super) client: ClientSide,
    pub(super) server: ServerSide,
    pub(super) tasks: Tasks,
    /// The events of the client.
    pub(super) events: Vec<ClientEvent<'static>>,
    /// The task news of the server.
    pub(super) news: Vec<TaskNews>,
    /// The methods of all transferred messages, or `"result"`.
    pub(super) passed: Vec<String>,
    begun: u32,
}

impl World {
    /// Connected sides of these revisions, in the legacy or the modern era.
    pub(super) fn of(revisions: RevisionSet) -> Self {
        let mut of_server = config::server_of_both_eras();
        of_server.capabilities = of_server.capabilities.with_tasks();
        of_server.revisions = revisions;
        let mut of_client = config::client_of_both_eras();
        of_client.capabilities = of_client.capabilities.with_tasks();
        of_client.revisions = revisions;
        let mut world = Self {
            client: ClientSide::with(of_client),
            server: ServerSide::with(of_server),
            tasks: Tasks::new(TasksConfig::default()),
            events: Vec::new(),
            news: Vec::new(),
            passed: Vec::new(),
            begun: 0,
        };
        world.client.client.connect(world.client.now, &mut world.client.out).unwrap();
        world.settle();
        assert!(matches!(world.events.remove(0), ClientEvent::Connected(_)));
        world.passed.clear();
        world
    }

    /// Calls the tool, as a task if possible.
    pub(super) fn call(&mut self) -> CallId {
        self.call_with(CallOptions::new().task(TaskOptions::new()))
    }

    pub(super) fn call_with(&mut self, options: CallOptions) -> CallId {
        let (params, now) = (CallToolParams::new("t"), self.client.now);
        self.client
            .client
            .call::<method::CallTool>(&params, options, now, &mut self.client.out)
            .unwrap()
    }

    /// The task that was begun last.
    pub(super) fn task(&self) -> TaskKey {
        self.tasks.find(&format!("task-{}", self.begun)).expect("a task")
    }

    /// Transfers messages until none is left.
    pub(super) fn settle(&mut self) {
        loop {
            let (to_server, to_client) = (self.client.sent(), self.server.sent());
            if to_server.is_empty() && to_client.is_empty() && !self.has_more() {
                return;
            }
            for message in to_server {
                self.note(&message);
                self.served(&message);
            }
            for message in to_client {
                self.note(&message);
                self.events.extend(self.client.receive(&message));
            }
            self.events.extend(self.client.outcomes());
        }
    }

    /// Settles the tasks of the server. Returns whether the tasks had news for the connection.
    fn has_more(&mut self) -> bool {
        let connection = self.server.server.connection_number();
        let had = self.tasks.has_news_for(connection);
        self.server.server.tasks(&mut self.tasks).settle(self.server.now, &mut self.server.out);
        had
    }

    fn note(&mut self, message: &str) {
        let method = Raw::new(message).unwrap().get("method").map(|name| name.parse().unwrap());
        self.passed.push(method.unwrap_or_else(|| "result".to_string()));
    }

    fn served(&mut self, message: &str) {
        let now = self.server.now;
        let request = match self.server.receive(message) {
            Some(ServerEvent::Request(request)) => request,
            Some(ServerEvent::TaskAnswer(answer)) => {
                return self.news.extend(self.tasks.answered(&answer, now));
            }
            _ => return,
        };
        let (server, tasks, out) = (&mut self.server.server, &mut self.tasks, &mut self.server.out);
        if let ClientRequest::Task(call) = &request.kind {
            self.news.extend(server.tasks(tasks).serve(request.id, call, now, out).unwrap());
            return;
        }
        match server.task_mode(request.id, &TaskSupport::Optional, out).unwrap() {
            Some(TaskMode::Task) => {
                self.begun += 1;
                let task = NewTask::new(format!("task-{}", self.begun));
                server.tasks(tasks).begin(request.id, task, now, out).unwrap();
            }
            Some(TaskMode::Inline) => {
                self.server.respond(request.id, r#"{"content":[]}"#);
            }
            None => {}
        }
    }

    /// Advances the time of both sides.
    pub(super) fn elapse(&mut self, milliseconds: u64) {
        self.server.now = self.server.now + Duration::from_millis(milliseconds);
        _ = self.server.outcomes();
        while self.tasks.handle_timeout(self.server.now).is_some() {}
        self.events.extend(self.client.elapse(milliseconds));
        self.settle();
    }

    /// Completes the task with this text.
    pub(super) fn complete(&mut self, text: &str) {
        let result = mcp_sansio::model::CallToolResult::text(text);
        let (key, now) = (self.task(), self.server.now);
        self.tasks.complete(key, &result, now).unwrap();
        self.settle();
    }

    pub(super) fn fail(&mut self) {
        let (key, now) = (self.task(), self.server.now);
        self.tasks.fail(key, ErrorCode::new(-7), "broken", now).unwrap();
        self.settle();
    }

    pub(super) fn require(&mut self, required: &InputRequired<'_>) {
        let (key, now) = (self.task(), self.server.now);
        self.tasks.require_input(key, required, now).unwrap();
        self.settle();
    }

    /// Takes the requests to the client's application out of the events.
    pub(super) fn questions(&mut self) -> Vec<(IncomingId, Option<CallId>)> {
        let mut questions = Vec::new();
        self.events.retain(|event| match event {
            ClientEvent::Request(request) => {
                questions.push((request.id, request.needed_for));
                false
            }
            _ => true,
        });
        questions
    }

    /// The short texts of the client's events.
    /// Notifications of tasks that the client does not poll are left out.
    pub(super) fn take_event_texts(&mut self) -> Vec<String> {
        let is_no_notification =
            |event: &ClientEvent<'_>| !matches!(event, ClientEvent::Notification(_));
        self.events.retain(is_no_notification);
        self.events.drain(..).map(|event| short(&event)).collect()
    }
}

fn short(event: &ClientEvent<'_>) -> String {
    match event {
        ClientEvent::Task(update) => {
            format!("{} {}", update.ticket.task_id, update.status.as_str())
        }
        ClientEvent::CallEnded(ended) => match &ended.outcome {
            mcp_sansio::Outcome::Result(result) => format!("result {}", result.as_json()),
            mcp_sansio::Outcome::PeerError(error) => {
                format!("error {} {}", error.code.get(), error.message.to_str())
            }
            other => format!("{other:?}"),
        },
        other => format!("{other:?}"),
    }
}
