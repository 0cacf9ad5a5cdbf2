//! A wire with an application at either end. Neither application depends on the era.

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

/// The revisions of a legacy side.
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

/// The observations of the client's application.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// The results of connecting, in order.
    pub(super) connections: Vec<ClientEvent<'static>>,
    /// The outcomes of its calls.
    pub(super) ended: Vec<(CallId, Outcome<'static>)>,
    /// The methods of the received requests.
    pub(super) asked: Vec<String>,
    /// The methods of the received notifications, also of subscriptions.
    pub(super) notifications: Vec<String>,
    /// Unexpected events.
    pub(super) wrong: Vec<String>,
}

/// The wire and the applications.
pub(super) struct World {
    pub(super) pair: Pair,
    pub(super) known: Known,
    /// All messages, with `>` in front of the client's and `<` in front of the server's.
    pub(super) wire: Vec<String>,
    /// The number of bytes that move at a time.
    pub(super) chunk: usize,
    /// The client's response to an elicitation; `None` refuses every request.
    pub(super) form: Option<&'static str>,
}

impl World {
    /// Connects both sides, successfully or not.
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

    /// Advances the clock.
    pub(super) fn elapse(&mut self, milliseconds: u64) {
        self.pair.now = self.pair.now + Duration::from_millis(milliseconds);
        self.run();
    }

    /// Runs both sides until neither has work left.
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

    /// Records the unsent messages, unless the wire is chunked.
    fn note(&mut self, direction: char) {
        let from = if direction == '>' { &self.pair.client_out } else { &self.pair.server_out };
        if self.chunk == usize::MAX {
            let unsent = String::from_utf8_lossy(from.unsent());
            self.wire.extend(unsent.lines().map(|line| format!("{direction}{line}")));
        }
    }

    /// Handles an event in the client's application.
    fn at_the_client(&mut self, event: ClientEvent<'static>) {
        match event {
            ClientEvent::Connected(_) | ClientEvent::ConnectFailed(_) => {
                self.known.connections.push(event);
            }
            ClientEvent::CallEnded(end) => self.known.ended.push((end.call, end.outcome)),
            ClientEvent::Request(request) => self.give(&request),
            ClientEvent::Notification(notifications) => {
                self.known.notifications.push(notifications.method.to_str().into_owned());
            }
            ClientEvent::Subscription(update) => {
                if let mcp_sansio::event::SubscriptionNews::Changed(notifications) = update.news {
                    self.known.notifications.push(notifications.method.to_str().into_owned());
                }
            }
            ClientEvent::Progress(_) => self.known.notifications.push("progress".to_owned()),
            ClientEvent::Closed { .. } => {}
            event => self.known.wrong.push(format!("{event:?}")),
        }
    }

    /// Responds to a request for input, in either form.
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

    /// Handles an event in the server's application.
    fn at_the_server(&mut self, event: ServerEvent<'static>) {
        match event {
            ServerEvent::Request(request) => self.serve(&request),
            ServerEvent::Opened(_)
            | ServerEvent::Ready
            | ServerEvent::Subscribed(_)
            | ServerEvent::Cancelled(_)
            | ServerEvent::Closed { .. } => {}
            // A server of one era reports the opening of the other one as a violation.
            ServerEvent::Violation(violation)
                if violation.answered
                    && matches!(
                        violation.kind,
                        ViolationKind::UnknownMethod | ViolationKind::UnsupportedRevision
                    ) => {}
            event => self.known.wrong.push(format!("{event:?}")),
        }
    }

    /// Serves a request; the handler is the same for both eras.
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
            server.notifications().log(&log, out).unwrap();
        }
        let inputs = request.inputs.as_ref().map_or("", Raw::as_json);
        let state = request.state.as_ref().map(|state| state.to_str().into_owned());
        let text = format!("{tool} {inputs} {}", state.unwrap_or_default());
        let result = serde_json::json!({"content": [{"type": "text", "text": text}]});
        server.respond(request.id, &result, out).unwrap();
    }

    /// Returns the text of the only outcome.
    #[track_caller]
    pub(super) fn text(&self, call: CallId) -> String {
        let outcomes: Vec<_> =
            self.known.ended.iter().filter(|(ended, _)| *ended == call).collect();
        let [(_, Outcome::Result(result))] = &outcomes[..] else { panic!("{outcomes:?}") };
        let result: serde_json::Value = serde_json::from_str(result.as_json()).unwrap();
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// Expects that nothing is left and no unexpected event has occurred.
    #[track_caller]
    pub(super) fn is_clean(&self) {
        assert_eq!(self.known.wrong, [""; 0], "{:#?}", self.wire);
        let counts = (self.pair.client.in_flight().counts(), self.pair.server.in_flight().counts());
        assert_eq!((counts.0.inbound, counts.1.outbound), (0, 0));
    }
}

/// Returns a form with one field.
fn form() -> ElicitParams<'static> {
    let schema: ObjectSchema<'static> = serde_json::from_str(
        r#"{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}"#,
    )
    .unwrap();
    ElicitParams::form("Who?", schema)
}

/// Returns the input that a tool requires before its result.
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

/// Returns the subscriptions of a client.
pub(super) fn lists() -> SubscriptionFilter<'static> {
    SubscriptionFilter::new().with_tools().with_prompts().with_resources()
}
