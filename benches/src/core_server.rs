//! The server cases on mcp-sansio.

use std::hint::black_box;
use std::sync::Arc;

use mcp_sansio::json::{Envelope, Raw};
use mcp_sansio::model::method::ListTools;
use mcp_sansio::model::{CallToolResult, ListChanged, ListToolsResult, ResourcesCapability, Tool};
use mcp_sansio::progress::Progress;
use mcp_sansio::schema::{Json, Prepared};
use mcp_sansio::{
    ClientRequest, Framing, Inbox, IncomingId, Instant, Limits, Outbox, RespondError, Revision,
    Server, ServerConfig, ServerEvent,
};

use crate::messages::{self, Echo};
use crate::stage::{stage_framing, stage_handling, stage_receiving, stage_sending, stage_writing};
use crate::{Case, Rounds, sent};

/// The maximum nesting depth of a message.
const DEPTH: u8 = 128;

/// Returns the work of a server case.
pub(crate) fn rounds(case: Case) -> Option<Rounds> {
    let large = || messages::call(&messages::large_text());
    let rounds = match case {
        Case::ScanPing => scans(messages::PING),
        Case::ScanCall => scans(&messages::call(messages::TEXT)),
        Case::ScanLargeCall => scans(&large()),
        Case::Ping => answers(messages::PING, echo),
        Case::Call => answers(&messages::call(messages::TEXT), echo),
        Case::TypedCall => answers(&messages::call(messages::TEXT), typed_echo),
        Case::StatelessCall => answers(&messages::stateless_call(messages::TEXT), echo),
        Case::TypedStatelessCall => answers(&messages::stateless_call(messages::TEXT), typed_echo),
        Case::LargeCall => answers(&large(), echo),
        Case::ListTools => {
            let result = ListToolsResult::new(tools());
            lists(move |server, id, out| server.respond(id, &result, out))
        }
        Case::ListPreparedTools => {
            let result = prepared_tools();
            lists(move |server, id, out| server.respond(id, &result, out))
        }
        Case::Progress => reports(),
        _ => return None,
    };
    Some(rounds)
}

fn scans(message: &str) -> Rounds {
    let message = message.to_owned();
    Box::new(move |rounds| {
        for _ in 0..rounds {
            black_box(Envelope::scan(black_box(message.as_bytes()), DEPTH));
        }
    })
}

/// A server in a session, with its buffers, as in an event loop.
pub(crate) struct Serving {
    pub(crate) server: Server,
    pub(crate) inbox: Inbox,
    pub(crate) outbox: Outbox,
}

impl Serving {
    pub(crate) fn new() -> Self {
        Self::with(Limits::default())
    }

    pub(crate) fn with(limits: Limits) -> Self {
        Self::opened_by(messages::INITIALIZE, limits)
    }

    /// Creates a server in a session that `initialize` opens.
    pub(crate) fn opened_by(initialize: &str, limits: Limits) -> Self {
        let mut config = ServerConfig::new("bench", "1");
        config.capabilities.tools = Some(ListChanged::default());
        let mut resources = ResourcesCapability::default();
        resources.subscribe = Some(true);
        config.capabilities.resources = Some(resources);
        config.connection.limits = limits.clone();
        let mut serving = Self {
            server: Server::new(Arc::new(config)),
            inbox: Inbox::new(&limits),
            outbox: Outbox::new(Framing::Lines, &limits),
        };
        for message in [initialize, messages::INITIALIZED] {
            _ = serving.server.receive(message, Instant::EPOCH, &mut serving.outbox);
        }
        serving.send();
        serving
    }

    /// Feeds bytes to the server and passes the resulting events to `handle`.
    pub(crate) fn feed<H>(&mut self, mut bytes: &[u8], handle: &mut H)
    where
        H: FnMut(&mut Server, &ServerEvent<'_>, &mut Outbox),
    {
        let Self { server, inbox, outbox } = self;
        while !bytes.is_empty() {
            let taken = stage_framing(|| inbox.feed(bytes));
            bytes = &bytes[taken..];
            while let Some(frame) = stage_framing(|| inbox.next()) {
                let event = stage_receiving(|| server.receive(frame, Instant::EPOCH, outbox));
                if let Some(event) = event {
                    stage_handling(|| handle(server, &event, outbox));
                }
            }
        }
    }

    /// Sends the contents of the outbox and returns their length.
    pub(crate) fn send(&mut self) -> usize {
        stage_sending(|| {
            let length = sent::send(self.outbox.unsent());
            self.outbox.sent(length);
            length
        })
    }
}

/// Responds to a tool call with its text.
pub(crate) fn echo(server: &mut Server, event: &ServerEvent<'_>, out: &mut Outbox) {
    echo_with(event, |id, text| server.respond(id, &Json(&Echo::of(text)), out));
}

/// Responds to a tool call with its text, as a typed value of the model.
fn typed_echo(server: &mut Server, event: &ServerEvent<'_>, out: &mut Outbox) {
    echo_with(event, |id, text| server.respond(id, &CallToolResult::text(text), out));
}

fn echo_with(
    event: &ServerEvent<'_>,
    answer: impl FnOnce(IncomingId, &str) -> Result<(), RespondError>,
) {
    let ServerEvent::Request(request) = event else { panic!("{event:?}") };
    let ClientRequest::CallTool(call) = &request.kind else { panic!("{request:?}") };
    let text = call.arguments.as_ref().and_then(|arguments| arguments.get("text"));
    let text = text.as_ref().and_then(Raw::as_string).unwrap();
    let text = text.as_plain().unwrap();
    stage_writing(|| answer(request.id, text)).unwrap();
}

fn answers(
    message: &str,
    mut echo: impl FnMut(&mut Server, &ServerEvent<'_>, &mut Outbox) + 'static,
) -> Rounds {
    let line = messages::line(message);
    let mut serving = Serving::new();
    Box::new(move |rounds| {
        for _ in 0..rounds {
            serving.feed(black_box(&line), &mut echo);
            assert_ne!(serving.send(), 0);
        }
    })
}

/// Returns the tools as typed values of the model.
fn tools() -> Vec<Tool<'static>> {
    let tools = (0..messages::TOOLS).map(|index| {
        let mut tool = Tool::new(messages::tool_name(index), Raw::new(messages::SCHEMA).unwrap());
        tool.description = Some(messages::tool_description(index).into());
        tool
    });
    tools.collect()
}

/// Returns the tools, serialized beforehand.
fn prepared_tools() -> Prepared {
    let tools = ListToolsResult::new(tools());
    Prepared::result::<ListTools>(Revision::V2025_11_25, &tools).unwrap()
}

fn lists<A>(mut answer: A) -> Rounds
where
    A: FnMut(&mut Server, IncomingId, &mut Outbox) -> Result<(), RespondError> + 'static,
{
    let line = messages::line(messages::LIST);
    let mut serving = Serving::new();
    let mut list = move |server: &mut Server, event: &ServerEvent<'_>, out: &mut Outbox| {
        let ServerEvent::Request(request) = event else { panic!("{event:?}") };
        stage_writing(|| answer(server, request.id, out)).unwrap();
    };
    Box::new(move |rounds| {
        for _ in 0..rounds {
            serving.feed(black_box(&line), &mut list);
            assert_ne!(serving.send(), 0);
        }
    })
}

/// Sends progress notifications for one request that never ends.
fn reports() -> Rounds {
    let mut serving = Serving::new();
    let call = messages::call(messages::TEXT)
        .replace(r#""name""#, r#""_meta":{"progressToken":1},"name""#);
    let mut request: Option<IncomingId> = None;
    serving.feed(
        &messages::line(&call),
        &mut |_: &mut Server, event: &ServerEvent<'_>, _: &mut Outbox| {
            if let ServerEvent::Request(of) = event {
                request = Some(of.id);
            }
        },
    );
    let (request, mut done) = (request.unwrap(), 0_u64);
    Box::new(move |rounds| {
        for _ in 0..rounds {
            done += 1;
            let progress = Progress::new(done);
            let now = Instant::from_millis(done * 1_000);
            stage_writing(|| serving.server.progress(request, progress, now, &mut serving.outbox))
                .unwrap();
            assert_ne!(serving.send(), 0);
        }
    })
}
