//! A wire with an application at either end. Neither of the two knows of eras.

use std::time::Duration;

use mcp_sansio::error::ViolationKind;
use mcp_sansio::json::Raw;
use mcp_sansio::model::{
    CreateMessageParams, ElicitParams, InputRequired, LoggingLevel, ObjectSchema,
    SubscriptionFilter,
};
use mcp_sansio::progress::Progress;
use mcp_sansio::subscription::Log;
use mcp_sansio::{
    CallId, CallOptions, ClientConfig, ClientEvent, ClientRequest, ErrorCode, Outcome, Request,
    RequestFromServer, RevisionSet, ServerConfig, ServerEvent, ServerRequest,
};
use mcp_sansio_proptests::{Pair, Seen, config, payload};

/// What a side speaks.
pub(super) const LEGACY: RevisionSet = RevisionSet::LEGACY;
pub(super) const MODERN: RevisionSet = RevisionSet::MODERN;
pub(super) const BOTH: RevisionSet = RevisionSet::ALL;
pub(super) const KINDS: [RevisionSet; 3] = [LEGACY, MODERN, BOTH];

pub(super) fn client(revisions: RevisionSet) -> ClientConfig {
    let mut config = config::client_of_both_eras();
    config.revisions = revisions;
    config
}

pub(super) fn server(revisions: RevisionSet) -> ServerConfig {
    let mut config = config::server_of_both_eras();
    config.revisions = revisions;
    config
}

/// What the client's application has come to know.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// What came of connecting, in order.
    pub(super) connections: Vec<ClientEvent<'static>>,
    /// The outcomes of its calls.
    pub(super) ended: Vec<(CallId, Outcome<'static>)>,
    /// The methods of what it was asked for.
    pub(super) asked: Vec<String>,
    /// The methods of what it was told, also by subscriptions.
    pub(super) told: Vec<String>,
    /// Everything that should not be.
    pub(super) wrong: Vec<String>,
}

/// The wire, and the applications.
pub(super) struct World {
    pub(super) pair: Pair,
    pub(super) known: Known,
    /// Every message, the client's with `>` in front of it and the server's with `<`.
    pub(super) wire: Vec<String>,
    /// How many bytes move at a time.
    pub(super) chunk: usize,
    /// What the client's application answers to an elicitation; nothing to refuse everything.
    pub(super) form: Option<&'static str>,
}

impl World {
    /// Both have tried to come to terms.
    pub(super) fn new(client: ClientConfig, server: ServerConfig) -> Self {
        Self::chunked(client, server, usize::MAX)
    }

    pub(super) fn chunked(client: ClientConfig, server: ServerConfig, chunk: usize) -> Self {
        let mut pair = Pair::new(client, server);
        pair.client.connect(pair.now, &mut pair.client_out).unwrap();
        let form = Some(r#"{"action":"accept","content":{"name":"x"}}"#);
        let mut world = Self { pair, known: Known::default(), wire: Vec::new(), chunk, form };
        world.run();
        world
    }

    /// Calls a method by name.
    pub(super) fn call(&mut self, method: &str, params: &str, options: CallOptions) -> CallId {
        let pair = &mut self.pair;
        let params = Raw::new(params).unwrap();
        pair.client.call_method(method, &params, options, pair.now, &mut pair.client_out).unwrap()
    }

    /// Calls a tool.
    pub(super) fn tool(&mut self, name: &str) -> CallId {
        self.call("tools/call", &format!(r#"{{"name":"{name}"}}"#), CallOptions::new())
    }

    /// Lets time pass.
    pub(super) fn elapse(&mut self, milliseconds: u64) {
        self.pair.now = self.pair.now + Duration::from_millis(milliseconds);
        self.run();
    }

    /// Lets both sides work until neither has anything to do.
    pub(super) fn run(&mut self) {
        loop {
            self.note('>');
            let mut seen = self.pair.to_server(self.chunk);
            self.note('<');
            seen.extend(self.pair.to_client(self.chunk));
            while let Some(event) =
                self.pair.client.handle_timeout(self.pair.now, &mut self.pair.client_out)
            {
                seen.push(Seen::Client(event));
            }
            while let Some(event) =
                self.pair.server.handle_timeout(self.pair.now, &mut self.pair.server_out)
            {
                seen.push(Seen::Server(event));
            }
            let is_over = seen.is_empty()
                && self.pair.client_out.is_empty()
                && self.pair.server_out.is_empty();
            for seen in seen {
                match seen {
                    Seen::Client(event) => self.at_the_client(event),
                    Seen::Server(event) => self.at_the_server(event),
                }
            }
            if is_over {
                return;
            }
        }
    }

    /// Notes what is about to go over the wire. In chunks the wire is not looked at.
    fn note(&mut self, direction: char) {
        let from = if direction == '>' { &self.pair.client_out } else { &self.pair.server_out };
        if self.chunk == usize::MAX {
            let unsent = String::from_utf8_lossy(from.unsent());
            self.wire.extend(unsent.lines().map(|line| format!("{direction}{line}")));
        }
    }

    /// The application of the client.
    fn at_the_client(&mut self, event: ClientEvent<'static>) {
        match event {
            ClientEvent::Connected(_) | ClientEvent::ConnectFailed(_) => {
                self.known.connections.push(event);
            }
            ClientEvent::CallEnded(end) => self.known.ended.push((end.call, end.outcome)),
            ClientEvent::Request(request) => self.give(&request),
            ClientEvent::Notification(told) => {
                self.known.told.push(told.method.to_str().into_owned());
            }
            ClientEvent::Subscription(update) => {
                if let mcp_sansio::event::SubscriptionNews::Changed(told) = update.news {
                    self.known.told.push(told.method.to_str().into_owned());
                }
            }
            ClientEvent::Progress(_) => self.known.told.push("progress".to_owned()),
            ClientEvent::Closed { .. } => {}
            event => self.known.wrong.push(format!("{event:?}")),
        }
    }

    /// What the user, the model and the disk say, however it is asked for.
    fn give(&mut self, request: &RequestFromServer<'_>) {
        self.known.asked.push(request.method.to_str().into_owned());
        let (client, out) = (&mut self.pair.client, &mut self.pair.client_out);
        let Some(form) = self.form else {
            client.reject(request.id, ErrorCode::USER_REJECTED, "no", out).unwrap();
            return;
        };
        let answer = match &request.kind {
            ServerRequest::ListRoots => r#"{"roots":[{"uri":"file:///a"}]}"#,
            ServerRequest::CreateMessage(_) => {
                r#"{"role":"assistant","content":{"type":"text","text":"t"},"model":"m"}"#
            }
            ServerRequest::Elicit(_) => form,
            _ => panic!("{request:?}"),
        };
        client.respond(request.id, &Raw::new(answer).unwrap(), out).unwrap();
    }

    /// The application of the server.
    fn at_the_server(&mut self, event: ServerEvent<'static>) {
        match event {
            ServerEvent::Request(request) => self.serve(&request),
            ServerEvent::Opened(_)
            | ServerEvent::Ready
            | ServerEvent::Subscribed(_)
            | ServerEvent::Cancelled(_)
            | ServerEvent::Closed { .. } => {}
            // A server does not know how the other era opens, and says so.
            ServerEvent::Violation(violation)
                if violation.answered
                    && matches!(
                        violation.kind,
                        ViolationKind::UnknownMethod | ViolationKind::UnsupportedRevision
                    ) => {}
            event => self.known.wrong.push(format!("{event:?}")),
        }
    }

    /// One handler for both eras.
    fn serve(&mut self, request: &Request<'_>) {
        let (server, out, now) = (&mut self.pair.server, &mut self.pair.server_out, self.pair.now);
        let tool = match &request.kind {
            ClientRequest::CallTool(call) => call.name.to_str().into_owned(),
            _ => {
                let result = payload::result(&request.method.to_str());
                return server.respond(request.id, &result, out).unwrap();
            }
        };
        if let Some(required) = needs(&tool, request) {
            if server.require_input(request, &required, now, out).is_err() {
                server.reject(request.id, ErrorCode::INVALID_PARAMS, "it cannot be", out).unwrap();
            }
            return;
        }
        if tool == "watched" {
            server.progress(request.id, Progress::new(1_u8), now, out).unwrap();
            let log = Log::new(LoggingLevel::Info, "working").about(request.id);
            server.log(&log, out).unwrap();
        }
        let inputs = request.inputs.as_ref().map_or("", Raw::as_json);
        let state = request.state.as_ref().map(|state| state.to_str().into_owned());
        let text = format!("{tool} {inputs} {}", state.unwrap_or_default());
        let result = serde_json::json!({"content": [{"type": "text", "text": text}]});
        server.respond(request.id, &result, out).unwrap();
    }

    /// The text of the outcome of a tool, of which there is one.
    #[track_caller]
    pub(super) fn text(&self, call: CallId) -> String {
        let outcomes: Vec<_> =
            self.known.ended.iter().filter(|(ended, _)| *ended == call).collect();
        let [(_, Outcome::Result(result))] = &outcomes[..] else { panic!("{outcomes:?}") };
        let result: serde_json::Value = serde_json::from_str(result.as_json()).unwrap();
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// Nothing is left over, and nothing went wrong.
    #[track_caller]
    pub(super) fn is_clean(&self) {
        assert_eq!(self.known.wrong, [""; 0], "{:#?}", self.wire);
        let counts = (self.pair.client.counts(), self.pair.server.counts());
        assert_eq!((counts.0.inbound, counts.1.outbound), (0, 0));
    }
}

/// A form with a name to fill in.
fn form() -> ElicitParams<'static> {
    let schema: ObjectSchema<'static> = serde_json::from_str(
        r#"{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}"#,
    )
    .unwrap();
    ElicitParams::form("Who?", schema)
}

/// What a tool needs of the client before it can answer this.
fn needs(tool: &str, request: &Request<'_>) -> Option<InputRequired<'static>> {
    let round = request.state.as_ref().map_or(0, |state| state.to_str().len());
    match (tool, round) {
        ("form", 0) => Some(InputRequired::new().elicit("form", form()).state("1")),
        ("roots", 0) => Some(InputRequired::new().roots("roots").state("1")),
        ("model", 0) => {
            Some(InputRequired::new().sample("model", CreateMessageParams::new([], 9)).state("1"))
        }
        ("page", 0) => {
            let visit = ElicitParams::visit("Go", "https://x.test/");
            Some(InputRequired::new().elicit("page", visit).state("1"))
        }
        ("everything", 0) => Some(
            InputRequired::new()
                .elicit("form", form())
                .roots("roots")
                .sample("model", CreateMessageParams::new([], 9))
                .state("1"),
        ),
        ("twice", 0) => Some(InputRequired::new().roots("first").state("1")),
        ("twice", 1) => Some(InputRequired::new().elicit("second", form()).state("22")),
        ("slow", 0) => Some(InputRequired::new().state("1")),
        ("never", _) => Some(InputRequired::new().roots("r").state("1")),
        _ => None,
    }
}

/// What a client wants to be told.
pub(super) fn lists() -> SubscriptionFilter<'static> {
    SubscriptionFilter::new().with_tools().with_prompts().with_resources()
}
