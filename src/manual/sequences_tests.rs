//! Draws the exchange of each chapter: a client and a server run, and their messages are recorded.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Debug;
use core::time::Duration;

use super::compare;
use crate::call::{Paging, TaskOptions, Timeout};
use crate::json::Raw;
use crate::model::{
    CallToolParams, CallToolResult, ElicitParams, ElicitResult, ElicitationCapability,
    InputRequired, ListChanged, SubscriptionFilter, Tool, method,
};
use crate::pagination::Pager;
use crate::progress::Progress;
use crate::subscription::ChangedList;
use crate::task::{NewTask, Tasks};
use crate::testing::Diagram;
use crate::{
    CallId, CallOptions, Client, ClientConfig, ClientEvent, ClientRequest, Framing, Instant,
    Outbox, Request, Revision, RevisionSet, Server, ServerConfig, ServerEvent,
};

/// A client, a server, and the diagram of what happens between them.
struct World {
    client: Client,
    server: Server,
    client_out: Outbox,
    server_out: Outbox,
    now: Instant,
    diagram: Diagram,
}

impl World {
    /// A world in which the client does not know the server yet.
    fn new(client: ClientConfig, mut server: ServerConfig) -> Self {
        server.capabilities.tools = Some(ListChanged::notified());
        let now = Instant::from_millis(1_764_066_600_000);
        let outbox = |limits| Outbox::new(Framing::Messages, limits);
        let (client_out, server_out) =
            (outbox(&client.connection.limits), outbox(&server.connection.limits));
        let (client, server) = (Client::new(client.into()), Server::new(server.into()));
        let diagram = Diagram::new("client", "server", now);
        Self { client, server, client_out, server_out, now, diagram }
    }

    /// A world in a session, or in the modern era. The diagram begins after the connection is open.
    fn open(revision: Revision) -> Self {
        let mut client = ClientConfig::new("client", "1.0");
        client.known = Some(revision);
        client.capabilities.elicitation = Some(ElicitationCapability::default());
        let mut server = ServerConfig::new("server", "1.0");
        server.capabilities = server.capabilities.with_tasks();
        let mut world = Self::new(client, server);
        world.client.connect(world.now, &mut world.client_out).unwrap();
        world.settle();
        world.diagram = Diagram::new("client", "server", world.now);
        world
    }

    /// Carries the messages of the client to the server, and returns the events.
    fn up(&mut self) -> Vec<ServerEvent<'static>> {
        let mut events = Vec::new();
        for message in
            self.client_out.messages().map(|message| message.to_vec()).collect::<Vec<_>>()
        {
            self.diagram.to_the_right(self.now, &message);
            let event = self.server.receive(&*message, self.now, &mut self.server_out);
            events.extend(event.map(ServerEvent::into_owned));
        }
        for event in &events {
            self.diagram.right(self.now, name(event));
        }
        events
    }

    /// Carries the messages of the server to the client, and returns the events.
    fn down(&mut self) -> Vec<ClientEvent<'static>> {
        let mut events = Vec::new();
        for message in
            self.server_out.messages().map(|message| message.to_vec()).collect::<Vec<_>>()
        {
            self.diagram.to_the_left(self.now, &message);
            let event = self.client.receive(&*message, self.now, &mut self.client_out);
            events.extend(event.map(ClientEvent::into_owned));
        }
        for event in &events {
            self.diagram.left(self.now, name(event));
        }
        events
    }

    /// Carries messages until there are none.
    fn settle(&mut self) {
        while !(self.client_out.is_empty() && self.server_out.is_empty()) {
            self.up();
            self.down();
        }
    }

    /// Lets time pass, and handles the timeouts that are due.
    fn pass(&mut self, seconds: u64) {
        self.now = self.now + Duration::from_secs(seconds);
        while let Some(event) = self.client.handle_timeout(self.now, &mut self.client_out) {
            self.diagram.left(self.now, name(&event));
        }
        while let Some(event) = self.server.handle_timeout(self.now, &mut self.server_out) {
            self.diagram.right(self.now, name(&event));
        }
    }

    fn client_does(&mut self, action: &str) {
        self.diagram.left(self.now, action);
    }

    fn server_does(&mut self, action: &str) {
        self.diagram.right(self.now, action);
    }

    fn call(&mut self, tool: &str, options: CallOptions) -> CallId {
        self.client_does("call()");
        let params = CallToolParams::new(tool);
        self.client
            .call::<method::CallTool>(&params, options, self.now, &mut self.client_out)
            .unwrap()
    }

    fn respond(&mut self, request: &Request<'_>, text: &str) {
        self.server_does("respond()");
        let result = CallToolResult::text(text);
        self.server.respond(request.id, &result, &mut self.server_out).unwrap();
    }
}

/// The variant name of an event, for an ended call also its outcome.
fn name(event: &impl Debug) -> String {
    let text = format!("{event:?}");
    let word = |text: &str| {
        let is_letter = |c: &char| c.is_alphanumeric();
        text.chars().take_while(is_letter).collect::<String>()
    };
    match text.split_once("outcome: ") {
        Some((_, outcome)) => format!("event {}: {}", word(&text), word(outcome)),
        None => format!("event {}", word(&text)),
    }
}

/// The request among the events of a server.
fn request(events: Vec<ServerEvent<'static>>) -> Request<'static> {
    events
        .into_iter()
        .find_map(|event| match event {
            ServerEvent::Request(request) => Some(request),
            _ => None,
        })
        .unwrap()
}

fn requests() -> String {
    let mut world = World::open(Revision::V2025_11_25);
    world.call("build", CallOptions::new().progress());
    let request = request(world.up());
    world.server_does("progress()");
    let half = Progress::new(1).total(2);
    world.server.progress(request.id, half, world.now, &mut world.server_out).unwrap();
    world.down();
    world.respond(&request, "done");
    world.down();
    world.diagram.svg("A call with progress and its response")
}

fn cancellation() -> String {
    let mut world = World::open(Revision::V2025_11_25);
    let call = world.call("build", CallOptions::new());
    let request = request(world.up());
    world.client_does("cancel()");
    world.client.cancel(call, None, &mut world.client_out).unwrap();
    world.up();
    let late = CallToolResult::text("done");
    let late = world.server.respond(request.id, &late, &mut world.server_out).unwrap_err();
    world.server_does(&format!("respond() fails: {late:?}"));
    world.diagram.svg("A cancellation that arrives before the response")
}

fn cancellation_late() -> String {
    let mut world = World::open(Revision::V2025_11_25);
    let call = world.call("build", CallOptions::new());
    let request = request(world.up());
    world.respond(&request, "done");
    world.client_does("cancel()");
    world.client.cancel(call, None, &mut world.client_out).unwrap();
    world.down();
    world.up();
    world.server_does("the cancellation is ignored");
    world.diagram.svg("A cancellation that crosses the response")
}

fn time() -> String {
    let mut world = World::open(Revision::V2025_11_25);
    let idle = CallOptions::new().progress().idle(Timeout::After(Duration::from_secs(60)));
    world.call("build", idle);
    let request = request(world.up());
    world.pass(50);
    world.server_does("progress()");
    let half = Progress::new(1).total(2);
    world.server.progress(request.id, half, world.now, &mut world.server_out).unwrap();
    world.down();
    world.client_does("the idle timeout of 60 s begins again");
    world.pass(60);
    world.up();
    world.diagram.svg("A call that times out after progress")
}

/// The same handler in both eras.
fn input(revision: Revision, title: &str) -> String {
    let mut world = World::open(revision);
    world.call("deploy", CallOptions::new());
    let first = request(world.up());
    world.server_does("require_input()");
    let schema = r#"{"type":"object","properties":{"stage":{"type":"string"}}}"#;
    let form = ElicitParams::form("Where to?", serde_json::from_str(schema).unwrap());
    let required = InputRequired::new().elicit("stage", form);
    world.server.require_input(&first, &required, world.now, &mut world.server_out).unwrap();
    let asked = world.down().into_iter().find_map(|event| match event {
        ClientEvent::Request(request) => Some(request),
        _ => None,
    });
    world.client_does("respond()");
    let answer = ElicitResult::accept(Raw::new(r#"{"stage":"test"}"#).unwrap());
    world.client.respond(asked.unwrap().id, &answer, &mut world.client_out).unwrap();
    let again = request(world.up());
    world.respond(&again, "deployed to test");
    world.down();
    world.diagram.svg(title)
}

fn tasks() -> String {
    let mut world = World::open(Revision::V2025_11_25);
    let mut tasks = Tasks::default();
    world.call("train", CallOptions::new().task(TaskOptions::new()));
    let begun = request(world.up());
    world.server_does("tasks().begin()");
    let new = NewTask::new("t").poll_interval(Duration::from_secs(1));
    let (now, out) = (world.now, &mut world.server_out);
    let task = world.server.tasks(&mut tasks).begin(begun.id, new, now, out).unwrap();
    world.down();
    world.pass(1);
    let serve = |world: &mut World, tasks: &mut Tasks| {
        let request = request(world.up());
        let ClientRequest::Task(call) = &request.kind else { panic!("{request:?}") };
        world.server_does("tasks().serve()");
        let (now, out) = (world.now, &mut world.server_out);
        world.server.tasks(tasks).serve(request.id, call, now, out).unwrap();
        world.down();
    };
    serve(&mut world, &mut tasks);
    world.server_does("the work is done: complete(), then tasks().settle()");
    tasks.complete(task, &CallToolResult::text("trained"), world.now).unwrap();
    let (now, out) = (world.now, &mut world.server_out);
    world.server.tasks(&mut tasks).settle(now, out);
    world.down();
    serve(&mut world, &mut tasks);
    world.diagram.svg("A call that becomes a task, in a session")
}

fn pagination() -> String {
    let mut world = World::open(Revision::V2026_07_28);
    let schema = Raw::new(r#"{"type":"object"}"#).unwrap();
    let tools = ["add", "sub", "mul"].map(|name| Tool::new(name, schema.clone()));
    let pager = Pager::new(2).key(0x5eed).version(1);
    world.client_does("list()");
    let (now, out) = (world.now, &mut world.client_out);
    world
        .client
        .list::<method::ListTools>(Paging::default(), CallOptions::new(), now, out)
        .unwrap();
    for _ in 0..2 {
        let request = request(world.up());
        let ClientRequest::ListTools(page) = &request.kind else { panic!("{request:?}") };
        let page = pager.page(&tools, page.cursor.as_ref()).unwrap();
        world.server_does("respond() with a page");
        let result = page.result::<method::ListTools>();
        world.server.respond(request.id, &result, &mut world.server_out).unwrap();
        world.down();
    }
    world.diagram.svg("A list of two pages")
}

fn subscription() -> String {
    let mut world = World::open(Revision::V2026_07_28);
    world.client_does("subscribe()");
    let filter = SubscriptionFilter { tools_list_changed: Some(true), ..Default::default() };
    world.client.subscribe(&filter, world.now, &mut world.client_out).unwrap();
    world.up();
    world.down();
    world.server_does("list_changed()");
    let out = &mut world.server_out;
    world.server.notifications().list_changed(ChangedList::Tools, out).unwrap();
    world.down();
    world.diagram.svg("A subscription of the modern era")
}

fn detection(legacy: bool, title: &str) -> String {
    let mut server = ServerConfig::new("server", "1.0");
    if legacy {
        server.revisions = RevisionSet::LEGACY;
    }
    let mut world = World::new(ClientConfig::new("client", "1.0"), server);
    world.client_does("connect()");
    world.client.connect(world.now, &mut world.client_out).unwrap();
    world.settle();
    world.call("hi", CallOptions::new());
    let request = request(world.up());
    world.respond(&request, "hi");
    world.down();
    world.diagram.svg(title)
}

/// The exchanges of the chapters are those of the machines.
#[test]
fn the_sequence_diagrams_match_the_state_machines() {
    let both = "An input that a server requires, ";
    for (file, svg) in [
        ("requests", requests()),
        ("cancellation_early", cancellation()),
        ("cancellation_late", cancellation_late()),
        ("timeout", time()),
        ("input_session", input(Revision::V2025_11_25, &(both.to_string() + "in a session"))),
        ("input_modern", input(Revision::V2026_07_28, &(both.to_string() + "in the modern era"))),
        ("task", tasks()),
        ("pages", pagination()),
        ("subscription", subscription()),
        ("detect_modern", detection(false, "A client meets a server of the modern era")),
        ("detect_legacy", detection(true, "A client meets a server of the legacy era")),
    ] {
        compare(&format!("sequence_{file}.svg"), &svg);
    }
}
