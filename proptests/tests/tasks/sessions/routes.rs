//! The routes of what a task sends over HTTP: the responses to requests that wait for its result, and the event stream
//! that a client may have opened.

use std::collections::BTreeMap;

use mcp_sansio::model::{ElicitParams, InputRequired, ObjectSchema};
use mcp_sansio::task::TaskKey;
use mcp_sansio::{Framing, IncomingId, Limits, Outbox, Outboxes, Route};
use mcp_sansio_proptests::ServerSide;

use crate::sessions::kit::{Host, Reaction, Stage, about, changed, related, request, shown};

/// The streams of a server over HTTP.
struct Streams {
    /// The stream for messages outside of requests, and whether the client reads it.
    standalone: Outbox,
    is_read: bool,
    /// The responses to requests, and whether messages on them can reach the client.
    responses: BTreeMap<IncomingId, (Outbox, bool)>,
}

impl Streams {
    fn new(standalone_bytes: usize) -> Self {
        let mut limits = Limits::default();
        limits.outbox_bytes = standalone_bytes;
        let standalone = Outbox::new(Framing::Messages, &limits);
        Self { standalone, is_read: false, responses: BTreeMap::new() }
    }

    fn response(&mut self, id: IncomingId) -> &mut (Outbox, bool) {
        let stream = || (Outbox::new(Framing::Messages, &Limits::default()), true);
        self.responses.entry(id).or_insert_with(stream)
    }

    /// Takes the messages on the response to a request.
    fn on(&mut self, id: IncomingId) -> Vec<String> {
        taken(&mut self.response(id).0)
    }
}

fn taken(outbox: &mut Outbox) -> Vec<String> {
    outbox.messages().map(|message| String::from_utf8(message.to_vec()).unwrap()).collect()
}

impl Outboxes for Streams {
    fn outbox(&mut self, route: Route) -> &mut Outbox {
        match route {
            Route::Exchange(id) => &mut self.response(id).0,
            _ => &mut self.standalone,
        }
    }

    fn has_reader(&self, route: Route) -> bool {
        route != Route::Connection || self.is_read
    }

    fn can_ask(&self, route: Route) -> bool {
        match route {
            Route::Exchange(id) => self.responses.get(&id).is_none_or(|(_, can_reach)| *can_reach),
            _ => true,
        }
    }
}

/// A server that hosts the task `a`.
struct World {
    stage: Stage<ServerSide>,
    streams: Streams,
    key: TaskKey,
}

impl World {
    fn new(standalone_bytes: usize) -> Self {
        let mut stage = Stage::<ServerSide>::new();
        let key = stage.begin("a");
        Self { stage, streams: Streams::new(standalone_bytes), key }
    }

    /// The task requires a form under this key.
    fn require(&mut self, key: &'static str) {
        self.require_of(key, ElicitParams::form("m", ObjectSchema::default()));
    }

    fn require_of(&mut self, key: &'static str, params: ElicitParams<'static>) {
        let now = self.stage.now();
        let needed = InputRequired::new().elicit(key, params);
        self.stage.tasks.require_input(self.key, &needed, now).unwrap();
        self.settle();
    }

    fn settle(&mut self) {
        let (machine, now, _) = self.stage.host.parts();
        machine.tasks(&mut self.stage.tasks).settle(now, &mut self.streams);
    }

    /// Receives a request for the result of the task, which waits.
    fn wait(&mut self, id: &str) -> IncomingId {
        let Reaction::Task(request, call) = self.stage.receive(&about(id, "result", "a")) else {
            panic!()
        };
        let (machine, now, _) = self.stage.host.parts();
        let mut tasks = machine.tasks(&mut self.stage.tasks);
        assert_eq!(tasks.serve(request, &call, now, &mut self.streams), Ok(None));
        self.settle();
        request
    }

    /// Takes the messages on the event stream.
    fn standalone(&mut self) -> Vec<String> {
        taken(&mut self.streams.standalone)
    }
}

/// The request of the task to the user.
fn question(id: u32) -> String {
    let form = r#""message":"m","requestedSchema":{"type":"object","properties":{}}"#;
    let members = format!("{form},{}", related("a"));
    request(&id.to_string(), "elicitation/create", &members)
}

/// Without an event stream of the client, a task asks when a request waits for its result.
///
/// Proves L-TASK-47.
#[test]
fn a_question_waits_for_a_stream_that_the_client_reads() {
    let mut world = World::new(10_000);
    world.require("p");
    let status = changed(shown("a", "input_required"));
    assert_eq!(world.standalone(), [&*status], "it is optional, and waits for a reader");
    let waiter = world.wait("1");
    assert_eq!(world.streams.on(waiter), [question(1)]);
    assert_eq!(world.standalone(), [""; 0]);
    // So it does if the client opens its event stream only then.
    let mut world = World::new(10_000);
    world.require("p");
    assert_eq!(world.standalone(), [&*status]);
    world.settle();
    assert_eq!(world.standalone(), [""; 0]);
    world.streams.is_read = true;
    world.settle();
    assert_eq!(world.standalone(), [question(1)]);
    // A client with an event stream is asked at once.
    let mut world = World::new(10_000);
    world.streams.is_read = true;
    world.require("p");
    assert_eq!(world.standalone(), [status, question(1)]);
}

/// A question that waits on an event stream that has ended goes to the request for the result.
#[test]
fn a_question_that_was_not_read_is_asked_on_the_next_stream() {
    let mut world = World::new(10_000);
    world.streams.is_read = true;
    world.require("p");
    world.streams.is_read = false;
    let waiter = world.wait("1");
    assert_eq!(world.streams.on(waiter), [question(2)]);
    assert_eq!(world.standalone(), [changed(shown("a", "input_required"))]);
}

/// The same elicitation by URL is requested again on the next stream, with its id.
#[test]
fn an_elicitation_by_url_is_requested_again_with_its_id() {
    let visit = |id: u32| {
        let mode = r#""mode":"url","message":"m","url":"https://x.y/","elicitationId":"e""#;
        request(&id.to_string(), "elicitation/create", &format!("{mode},{}", related("a")))
    };
    let mut world = World::new(10_000);
    world.streams.is_read = true;
    world.require_of("p", ElicitParams::url("m", "https://x.y/", "e"));
    world.streams.is_read = false;
    let waiter = world.wait("1");
    assert_eq!(world.streams.on(waiter), [visit(2)]);
    assert_eq!(world.standalone(), [changed(shown("a", "input_required"))]);
}

/// A status notification that finds no room holds up no question, and is dropped if there is no reader.
///
/// Proves L-TASK-45.
#[test]
fn a_status_without_room_holds_up_no_question() {
    for is_read in [false, true] {
        let mut world = World::new(300);
        world.streams.is_read = true;
        world.stage.tasks.set_message(world.key, Some("x"), world.stage.host.now).unwrap();
        world.settle();
        world.streams.is_read = is_read;
        let waiter = world.wait("1");
        world.require("p");
        assert_eq!(world.streams.on(waiter), [question(1)], "{is_read}");
        let connection = world.stage.host.server.connection_number();
        assert_eq!(world.stage.tasks.has_news_for(connection), is_read);
        assert_eq!(world.standalone(), [changed(shown("a", "working").message("x"))]);
        world.settle();
        let later =
            if is_read { vec![changed(shown("a", "input_required").message("x"))] } else { vec![] };
        assert_eq!(world.standalone(), later);
    }
}

/// A task asks on the latest request whose stream can reach the client. A stream that breaks off loses no question: it
/// is asked again on the next one.
#[test]
fn a_question_goes_to_a_stream_that_reaches_the_client() {
    let mut world = World::new(10_000);
    let [broken, good, last] = ["1", "2", "3"].map(|id| world.wait(id));
    for id in [broken, last] {
        world.streams.response(id).1 = false;
    }
    world.require("p");
    let sent = [broken, good, last].map(|id| world.streams.on(id));
    assert_eq!(sent, [vec![], vec![question(1)], vec![]]);
    world.streams.response(good).1 = false;
    let next = world.wait("4");
    assert_eq!(world.streams.on(next), [question(2)]);
    // Another request does not repeat what the client has received.
    let other = world.wait("5");
    assert_eq!((world.streams.on(next), world.streams.on(other)), (vec![], vec![]));
}
