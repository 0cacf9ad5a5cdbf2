//! Random sessions, with and without restarts: the client cannot tell the difference.

use mcp_sansio::model::LoggingLevel;
use mcp_sansio::subscription::{ChangedList, Log};
use mcp_sansio::testing::Choices;
use mcp_sansio::{Request, ServerEvent};

use super::message::plain;
use super::site::{ResponseParts, Site, Turn, get, in_session};
use super::standalone::{accept, changed, elicit};

/// The number of seeds, unless `RESTART_SEEDS` sets another one.
fn seeds() -> u64 {
    std::env::var("RESTART_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(300)
}

/// A step of a session. No request is open between two steps.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// A call with so much progress, whose client reads after some of it, and may disconnect then.
    Call {
        progress: u32,
        read: u32,
        disconnects: bool,
    },
    /// A call that requires an answer of its client.
    Elicit,
    /// The client resumes the stream with this number after this event.
    Resume {
        stream: u32,
        event: u32,
    },
    /// The client opens its event stream, or closes it.
    Listen,
    Subscribe {
        uri: u32,
        ends: bool,
    },
    SetLevel {
        level: u32,
    },
    /// Notifications of the server.
    Update {
        uri: u32,
    },
    ChangeTools,
    Log {
        level: u32,
    },
    /// All connections break off, and in one of two runs the process is replaced.
    Break,
}

const LEVELS: [LoggingLevel; 3] =
    [LoggingLevel::Debug, LoggingLevel::Warning, LoggingLevel::Emergency];

impl Step {
    fn draw(choices: &mut Choices) -> Self {
        let mut below = |most: u64| u32::try_from(choices.below(most)).unwrap();
        match below(12) {
            0 | 1 => Self::Call { progress: below(4), read: below(5), disconnects: below(2) == 0 },
            2 => Self::Elicit,
            3 | 4 => Self::Resume { stream: below(12), event: below(4) },
            5 => Self::Listen,
            6 => Self::Subscribe { uri: below(3), ends: below(3) == 0 },
            7 => Self::SetLevel { level: below(3) },
            8 => Self::Update { uri: below(3) },
            9 => Self::ChangeTools,
            10 => Self::Log { level: below(3) },
            _ => Self::Break,
        }
    }
}

/// A client and its server.
struct Run {
    site: Site,
    session: String,
    restarts: bool,
    next_id: u32,
    /// The response of the event stream.
    listening: Option<Turn>,
    /// Everything that the client has received, and the events of the server.
    seen: Vec<String>,
}

impl Run {
    fn new(revision: &str, restarts: bool) -> Self {
        let mut site = Site::with(|http, _| http.kept_streams = 64);
        let session = site.open(revision);
        Self { site, session, restarts, next_id: 1, listening: None, seen: Vec::new() }
    }

    /// Reads a response, and returns whether it goes on.
    fn note(&mut self, turn: Turn) -> bool {
        let ResponseParts { status, chunks, is_over, .. } = self.site.read_response(turn);
        self.seen.push(format!("{status} {is_over} {chunks:?}"));
        !is_over
    }

    /// Sends a request that reaches the application.
    fn ask(&mut self, method: &str, members: &str) -> (Turn, Option<Request<'static>>) {
        let id = self.next_id.to_string();
        self.next_id += 1;
        let turn = self.site.send("POST", &in_session(&self.session), plain(&id, method, members));
        let mut events = self.site.events();
        self.seen.extend(events.iter().map(|event| format!("{event:?}")).filter(|event| {
            // A request is shown with the number of its connection.
            !event.starts_with("Request")
        }));
        match events.pop() {
            Some(ServerEvent::Request(request)) => (turn, Some(request)),
            _ => (turn, None),
        }
    }

    fn call(&mut self) -> (Turn, Option<Request<'static>>) {
        let token = self.next_id;
        self.ask("tools/call", &format!(r#""name":"t","_meta":{{"progressToken":{token}}}"#))
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Call { progress, read, disconnects } => {
                let (turn, request) = self.call();
                let id = request.expect("a call").id;
                for number in 1..=progress {
                    self.site.progress(id, number.into());
                    if number == read {
                        self.note(turn);
                        if disconnects {
                            self.site.disconnect(turn);
                        }
                    }
                }
                self.site.respond(id, r#"{"content":[]}"#);
                let is_gone = disconnects && (1..=progress).contains(&read);
                if !is_gone {
                    self.note(turn);
                }
            }
            Step::Elicit => self.elicit(),
            Step::Resume { stream, event } => {
                let last = format!("{}\nLast-Event-ID: {stream}-{event}", get(&self.session));
                let turn = self.site.send("GET", &last, "");
                if self.note(turn) && stream == 0 {
                    self.listening = Some(turn);
                }
            }
            Step::Listen => match self.listening.take() {
                Some(turn) => self.site.disconnect(turn),
                None => {
                    let turn = self.site.send("GET", &get(&self.session), "");
                    self.listening = self.note(turn).then_some(turn);
                }
            },
            Step::Subscribe { uri, ends } => {
                let method = if ends { "resources/unsubscribe" } else { "resources/subscribe" };
                self.respond_to(method, &format!(r#""uri":"file:///{uri}""#));
            }
            Step::SetLevel { level } => {
                let level = LEVELS[level as usize];
                self.respond_to("logging/setLevel", &format!(r#""level":"{level}""#));
            }
            Step::Update { .. } | Step::ChangeTools | Step::Log { .. } => self.notify(step),
            Step::Break => self.break_off(),
        }
    }

    fn respond_to(&mut self, method: &str, members: &str) {
        let (turn, request) = self.ask(method, members);
        if let Some(request) = request {
            self.site.respond(request.id, "{}");
        }
        self.note(turn);
    }

    fn elicit(&mut self) {
        let (turn, request) = self.call();
        let id = request.expect("a call").id;
        self.seen.push(format!("{:?}", elicit(&mut self.site, id)));
        let asked = self.site.read_response(turn).chunks;
        let own_id = asked.iter().find_map(|chunk| {
            let (_, rest) = chunk.split_once(r#""jsonrpc":"2.0","id":"#)?;
            Some(rest.split_once(',')?.0.to_owned())
        });
        if let Some(own_id) = own_id {
            let turn = self.site.send("POST", &in_session(&self.session), accept(&own_id));
            self.note(turn);
            assert!(matches!(self.site.events()[..], [ServerEvent::CallEnded(_)]));
        }
        self.site.respond(id, r#"{"content":[]}"#);
        self.note(turn);
    }

    fn notify(&mut self, step: Step) {
        let delivered = match step {
            Step::ChangeTools => changed(&mut self.site, ChangedList::Tools),
            _ => {
                let connection = self.site.http.connections().next().unwrap();
                let notified = self.site.http.with(connection, self.site.now, |server, out| {
                    let mut notifications = server.notifications();
                    match step {
                        Step::Update { uri } => {
                            notifications.resource_updated(&format!("file:///{uri}"), out)
                        }
                        Step::Log { level } => {
                            notifications.log(&Log::new(LEVELS[level as usize], "text"), out)
                        }
                        _ => unreachable!("no other step notifies"),
                    }
                });
                notified.unwrap().ok()
            }
        };
        self.seen.push(format!("{delivered:?}"));
        if let Some(turn) = self.listening {
            self.note(turn);
        }
    }

    fn break_off(&mut self) {
        if let Some(turn) = self.listening.take() {
            self.site.disconnect(turn);
        }
        if self.restarts {
            self.site.restart();
        }
        self.seen.push("all connections break off".into());
    }
}

#[test]
fn a_restart_is_invisible_to_the_client() {
    let mut breaks = 0;
    for seed in 0..seeds() {
        let mut choices = Choices::seeded(seed);
        let revision = ["2025-03-26", "2025-06-18", "2025-11-25", "2025-11-25"];
        let revision = revision[usize::try_from(choices.below(4)).unwrap()];
        let (mut without, mut with) = (Run::new(revision, false), Run::new(revision, true));
        for _ in 0..40 {
            let step = Step::draw(&mut choices);
            breaks += u64::from(matches!(step, Step::Break));
            without.step(step);
            with.step(step);
            assert_eq!(with.seen, without.seen, "seed {seed}, {revision}, after {step:?}");
        }
        let saved = |run: &Run| serde_json::to_string(&run.site.http.save_sessions()).unwrap();
        assert_eq!(saved(&with), saved(&without), "seed {seed}, {revision}");
    }
    assert!(seeds() < breaks, "too few restarts: {breaks}");
}
