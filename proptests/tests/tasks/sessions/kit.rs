//! Sides that host tasks, in either role.

use std::fmt;
use std::time::Duration;

use mcp_sansio::error::ViolationKind;
use mcp_sansio::event::{CancelCause, TaskAnswer};
use mcp_sansio::json::Raw;
use mcp_sansio::model::TasksCapability;
use mcp_sansio::progress::{Progress, ProgressReport};
use mcp_sansio::task::{NewTask, TaskCall, TaskError, TaskKey, TaskNews, Tasks, TasksConfig};
use mcp_sansio::{
    ClientConfig, ClientEvent, ClientRequest, Connection, ConnectionConfig, IncomingId, Instant,
    Outbox, Principal, Received, RespondError, Revision, ServerConfig, ServerEvent, ServerRequest,
};
use mcp_sansio_proptests::{ClientSide, ServerSide, config};

/// The revision whose sessions have tasks.
pub(crate) const WITH_TASKS: Revision = Revision::V2025_11_25;

/// The event for a frame, independent of the role.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Reaction {
    Nothing,
    Request(IncomingId),
    Task(IncomingId, TaskCall<'static>),
    Answer(TaskAnswer<'static>),
    Cancelled(IncomingId, CancelCause),
    Violation(ViolationKind),
    Other(String),
}

/// A side that hosts tasks; the same tests run for both roles.
pub(crate) trait Host: Clone + fmt::Debug + Sized {
    /// The method of the request that becomes a task, and its params.
    const METHOD: &'static str;
    const PARAMS: &'static str;
    /// A result of that method.
    const RESULT: &'static str;

    /// A side in a session, with everything declared.
    fn host() -> Self {
        Self::host_with(WITH_TASKS, |_| ())
    }
    fn host_with(revision: Revision, change: impl FnOnce(&mut ConnectionConfig)) -> Self;
    /// A side in a session that declares no tasks.
    fn plain() -> Self;
    fn take_in(&mut self, frame: &str, principal: u64) -> Reaction;
    /// The events that are due.
    fn due(&mut self) -> Vec<Reaction>;
    fn out(&mut self) -> &mut Outbox;
    fn now(&mut self) -> &mut Instant;
    /// The common machine, the time and the outbox.
    fn parts(&mut self) -> (&mut Connection, Instant, &mut Outbox);
    /// The common machine, by shared reference.
    fn machine(&self) -> &Connection;

    fn answer(&mut self, request: IncomingId, result: &str) -> Result<(), RespondError> {
        let (machine, _, out) = self.parts();
        machine.respond(request, &Raw::new(result).unwrap(), out)
    }

    fn begin(
        &mut self,
        request: IncomingId,
        new: NewTask,
        tasks: &mut Tasks,
    ) -> Result<TaskKey, TaskError> {
        let (machine, now, out) = self.parts();
        machine.tasks(tasks).begin(request, new, now, out)
    }

    fn announce(
        &mut self,
        request: IncomingId,
        key: TaskKey,
        tasks: &mut Tasks,
    ) -> Result<(), TaskError> {
        let (machine, _, out) = self.parts();
        machine.tasks(tasks).announce(request, key, None, out)
    }

    fn serve(
        &mut self,
        request: IncomingId,
        call: &TaskCall<'_>,
        tasks: &mut Tasks,
    ) -> Result<Option<TaskNews>, RespondError> {
        let (machine, now, out) = self.parts();
        machine.tasks(tasks).serve(request, call, now, out)
    }

    fn settle(&mut self, tasks: &mut Tasks) {
        let (machine, now, out) = self.parts();
        machine.tasks(tasks).settle(now, out);
    }

    fn report(
        &mut self,
        key: TaskKey,
        progress: Progress<'_>,
        tasks: &mut Tasks,
    ) -> Result<ProgressReport, TaskError> {
        let (machine, _, out) = self.parts();
        machine.tasks(tasks).report_progress(key, progress, out)
    }
}

macro_rules! host {
    ($side:ident, $machine:ident, $Event:ident, $Kind:ident) => {
        fn take_in(&mut self, frame: &str, principal: u64) -> Reaction {
            let received = Received::from(self.now).principal(Principal::new(principal));
            let event = self.$machine.receive(frame, received, &mut self.out);
            event.map_or(Reaction::Nothing, |event| Self::classify_event(event.into_owned()))
        }

        fn due(&mut self) -> Vec<Reaction> {
            self.outcomes().into_iter().map(Self::classify_event).collect()
        }

        fn out(&mut self) -> &mut Outbox {
            &mut self.out
        }

        fn now(&mut self) -> &mut Instant {
            &mut self.now
        }

        fn parts(&mut self) -> (&mut Connection, Instant, &mut Outbox) {
            (&mut self.$machine, self.now, &mut self.out)
        }

        fn machine(&self) -> &Connection {
            &self.$machine
        }
    };
}

/// Converts the events of a role.
trait Classify<E> {
    fn classify_event(event: E) -> Reaction;
}

macro_rules! classify {
    ($side:ident, $Event:ident, $Kind:ident) => {
        impl Classify<$Event<'static>> for $side {
            fn classify_event(event: $Event<'static>) -> Reaction {
                match event {
                    $Event::Request(request) => match request.kind {
                        $Kind::Task(call) => Reaction::Task(request.id, call),
                        _ => Reaction::Request(request.id),
                    },
                    $Event::TaskAnswer(answer) => Reaction::Answer(answer),
                    $Event::Cancelled(cancelled) => {
                        Reaction::Cancelled(cancelled.id, cancelled.cause)
                    }
                    $Event::Violation(violation) => Reaction::Violation(violation.kind),
                    other => Reaction::Other(format!("{other:?}")),
                }
            }
        }
    };
}

classify!(ServerSide, ServerEvent, ClientRequest);
classify!(ClientSide, ClientEvent, ServerRequest);

impl Host for ServerSide {
    const METHOD: &'static str = "tools/call";
    const PARAMS: &'static str = r#""name":"t""#;
    const RESULT: &'static str = r#"{"content":[{"type":"text","text":"done"}]}"#;

    fn host_with(revision: Revision, change: impl FnOnce(&mut ConnectionConfig)) -> Self {
        let mut config = server_config();
        change(&mut config.connection);
        Self::ready_with(config, revision)
    }

    fn plain() -> Self {
        Self::ready(WITH_TASKS)
    }

    host!(ServerSide, server, ServerEvent, ClientRequest);
}

impl Host for ClientSide {
    const METHOD: &'static str = "sampling/createMessage";
    const PARAMS: &'static str =
        r#""messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":9"#;
    const RESULT: &'static str =
        r#"{"role":"assistant","content":{"type":"text","text":"hello"},"model":"m"}"#;

    fn host_with(revision: Revision, change: impl FnOnce(&mut ConnectionConfig)) -> Self {
        let mut config = client_config();
        change(&mut config.connection);
        Self::ready_with(config, revision)
    }

    fn plain() -> Self {
        Self::ready(WITH_TASKS)
    }

    host!(ClientSide, client, ClientEvent, ServerRequest);
}

/// A server configuration with all task capabilities.
pub(crate) fn server_config() -> ServerConfig {
    let mut config = config::server();
    config.capabilities.tasks = Some(TasksCapability::of_tools().listed());
    config
}

/// A client configuration with all task capabilities.
pub(crate) fn client_config() -> ClientConfig {
    let mut config = config::client();
    config.capabilities.tasks = Some(TasksCapability::of_questions().listed());
    config
}

/// A side that hosts tasks, and the tasks.
#[derive(Clone, Debug)]
pub(crate) struct Stage<H> {
    pub(crate) host: H,
    pub(crate) tasks: Tasks,
    /// The principal of received messages.
    pub(crate) principal: u64,
}

impl<H: Host> Stage<H> {
    pub(crate) fn new() -> Self {
        Self::with(|_| ())
    }

    /// A stage with another configuration of tasks.
    pub(crate) fn with(change: impl FnOnce(&mut TasksConfig)) -> Self {
        let mut config = TasksConfig::default();
        change(&mut config);
        Self::of(H::host(), Tasks::new(config))
    }

    /// A stage without notifications of changes, so that only responses are sent.
    pub(crate) fn quiet() -> Self {
        Self::with(|config| config.notify = false)
    }

    pub(crate) fn of(host: H, tasks: Tasks) -> Self {
        Self { host, tasks, principal: 0 }
    }

    /// Begins a task without answering the request.
    pub(crate) fn create(
        &mut self,
        request: IncomingId,
        new: NewTask,
    ) -> Result<TaskKey, TaskError> {
        let (machine, now, _) = self.host.parts();
        machine.tasks(&mut self.tasks).create(request, new, now)
    }

    pub(crate) fn receive(&mut self, frame: &str) -> Reaction {
        self.host.take_in(frame, self.principal)
    }

    pub(crate) fn now(&mut self) -> Instant {
        *self.host.now()
    }

    pub(crate) fn pass(&mut self, seconds: u64) {
        let now = self.host.now();
        *now = *now + Duration::from_secs(seconds);
    }

    pub(crate) fn sent(&mut self) -> Vec<String> {
        let messages = self.host.out().messages();
        messages.map(|message| String::from_utf8(message.to_vec()).unwrap()).collect()
    }

    /// Receives a request that may become a task.
    #[track_caller]
    pub(crate) fn requested(&mut self, id: &str, more: &str) -> IncomingId {
        let frame = asking::<H>(id, more);
        match self.receive(&frame) {
            Reaction::Request(request) => request,
            other => panic!("{frame} is no request: {other:?}"),
        }
    }

    /// Receives a request and begins a task with this id for it.
    #[track_caller]
    pub(crate) fn begin(&mut self, id: &str) -> TaskKey {
        self.begin_new(r#""task":{}"#, NewTask::new(id))
    }

    /// Like `begin`, with these members and this task. The response is dropped.
    #[track_caller]
    pub(crate) fn begin_new(&mut self, more: &str, new: NewTask) -> TaskKey {
        let request = self.requested(r#""begin""#, more);
        let key = self.host.begin(request, new, &mut self.tasks).unwrap();
        assert_eq!(self.sent().len(), 1);
        key
    }

    /// Serves a request about a task. Returns its effect on the work.
    #[track_caller]
    pub(crate) fn serve(&mut self, frame: &str) -> Option<TaskNews> {
        self.try_serve(frame).unwrap()
    }

    #[track_caller]
    pub(crate) fn try_serve(&mut self, frame: &str) -> Result<Option<TaskNews>, RespondError> {
        match self.receive(frame) {
            Reaction::Task(request, call) => self.host.serve(request, &call, &mut self.tasks),
            other => panic!("{frame} is not about a task: {other:?}"),
        }
    }

    /// Serves a request and returns the sent messages.
    #[track_caller]
    pub(crate) fn answers(&mut self, frame: &str) -> Vec<String> {
        self.serve(frame);
        self.sent()
    }

    pub(crate) fn settle(&mut self) {
        self.host.settle(&mut self.tasks);
    }

    /// Settles the tasks and returns the sent messages.
    pub(crate) fn settled_messages(&mut self) -> Vec<String> {
        self.settle();
        self.sent()
    }

    #[track_caller]
    pub(crate) fn complete(&mut self, key: TaskKey) {
        let now = self.now();
        self.tasks.complete(key, &Raw::new(H::RESULT).unwrap(), now).unwrap();
    }

    /// Receives a response to a request of a task.
    #[track_caller]
    pub(crate) fn answered(&mut self, frame: &str) -> Option<TaskNews> {
        let now = self.now();
        match self.receive(frame) {
            Reaction::Answer(answer) => self.tasks.answered(&answer, now),
            other => panic!("{frame} answers no task: {other:?}"),
        }
    }
}

/// Runs a test for both roles.
macro_rules! on_both {
    ($test:ident) => {
        $test::<mcp_sansio_proptests::ServerSide>();
        $test::<mcp_sansio_proptests::ClientSide>();
    };
}

pub(crate) use crate::sessions::words::*;
pub(crate) use on_both;
