//! The invariants of the traffic on the wire.

use mcp_sansio::http::{Content, HttpRequest, ResponsePart, SseDecoder};
use serde_json::Value;

use super::HttpWorld;

/// The response so far.
pub(super) struct Spoken {
    /// The requests of this response that have no response yet.
    unanswered: Vec<Value>,
    is_modern: bool,
    is_get: bool,
    resumes: bool,
    content: Option<Content>,
    decoder: SseDecoder,
    has_answered: bool,
    is_over: bool,
    /// Whether the requestor reaches the task that the request names.
    is_found: Option<bool>,
}

impl Spoken {
    pub(super) fn of(request: &HttpRequest) -> Self {
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let has =
            |name: &str| request.headers.iter().any(|(one, _)| one.eq_ignore_ascii_case(name));
        let messages = body.as_array().map_or_else(|| std::slice::from_ref(&body), Vec::as_slice);
        let requests = messages.iter().filter(|message| message.get("method").is_some());
        Self {
            unanswered: requests.filter_map(|message| message.get("id")).cloned().collect(),
            is_modern: has("Mcp-Method"),
            is_get: request.method == "GET",
            resumes: has("Last-Event-ID"),
            content: None,
            decoder: SseDecoder::new(1 << 20),
            has_answered: false,
            is_over: false,
            is_found: None,
        }
    }

    pub(super) const fn is_get(&self) -> bool {
        self.is_get
    }

    /// Whether the request names the last event that has arrived.
    pub(super) const fn resumes(&self) -> bool {
        self.resumes
    }

    /// Whether the request belongs to no session.
    pub(super) fn is_modern(&self) -> bool {
        self.is_modern
    }

    /// Sets whether the requestor reaches the task that the request names.
    pub(super) fn expect_task(&mut self, is_found: bool) {
        self.is_found = Some(is_found);
    }

    /// Checks a part of the response: one head, then a body, then the end.
    pub(super) fn part(&mut self, part: ResponsePart, reported: &str) -> Result<(), String> {
        if self.is_over {
            return Err("order: something comes after the end".into());
        }
        match part {
            ResponsePart::Head(head) if self.content.is_none() => self.content = Some(head.content),
            ResponsePart::Head(_) => return Err("order: a second head".into()),
            ResponsePart::Body => match self.content {
                Some(Content::Json) => {
                    let message: Value = serde_json::from_str(reported)
                        .map_err(|error| format!("json: {error}: {reported}"))?;
                    match message.as_array() {
                        Some(batch) => batch.iter().try_for_each(|one| self.message(one))?,
                        None => self.message(&message)?,
                    }
                }
                Some(Content::Events) => self.events(reported)?,
                _ => return Err("order: a body without a head, or where there is none".into()),
            },
            ResponsePart::End => self.is_over = true,
            _ => {}
        }
        Ok(())
    }

    fn events(&mut self, reported: &str) -> Result<(), String> {
        if self.is_modern
            && (reported.contains("\nid:")
                || reported.starts_with("id:")
                || reported.contains("retry:"))
        {
            return Err(format!("ids: an event without a session has none: {reported}"));
        }
        let (mut chunk, mut messages) = (reported.as_bytes(), Vec::new());
        while let Some(event) = self.decoder.next(&mut chunk) {
            let event = event.map_err(|error| format!("sse: {error}"))?;
            if let Some(text) = event.message().filter(|text| !text.is_empty()) {
                messages
                    .push(serde_json::from_slice(text).map_err(|error| format!("json: {error}"))?);
            }
        }
        messages.iter().try_for_each(|message| self.message(message))
    }

    fn message(&mut self, message: &Value) -> Result<(), String> {
        let is_response = message.get("method").is_none();
        if self.has_answered && self.unanswered.is_empty() && !self.is_get {
            return Err(format!("order: something comes after the answer: {message}"));
        }
        if is_response && self.is_get && !self.resumes {
            return Err(format!("get: an answer where none belongs: {message}"));
        }
        if is_response && !self.is_get {
            let id = message.get("id");
            if id.is_some_and(|id| !self.unanswered.contains(id)) {
                return Err(format!("id: the answer to another request: {message}"));
            }
            self.unanswered.retain(|one| id.is_some_and(|id| one != id));
            self.has_answered = true;
            let is_missing = message["error"]["message"] == "no such task";
            if self.is_found.is_some_and(|is_found| is_found == is_missing) {
                return Err(format!("tasks: found is {:?}: {message}", self.is_found));
            }
        }
        if self.is_modern && !is_response && message.get("id").is_some() {
            return Err(format!("requests: a server asks where there is no session: {message}"));
        }
        Ok(())
    }
}

impl HttpWorld {
    /// Checks that each message reaches the machines once: a message that was refused for its token had no effect.
    pub(super) fn check_dispatch(&mut self, at: usize) -> Result<(), String> {
        let client = self.carried[at].client;
        let connection = self.clients[client].machine.connection_number().get();
        for id in &self.carried[at].spoken.unanswered {
            if !self.dispatched.insert((client, connection, id.to_string())) {
                return Err(format!("dispatch: request {id} of client {client} is served twice"));
            }
        }
        Ok(())
    }

    /// Checks that a client's request has the required fields and no misplaced ones.
    pub(super) fn check_request(&self, request: &HttpRequest) -> Result<(), String> {
        let has =
            |name: &str| request.headers.iter().any(|(one, _)| one.eq_ignore_ascii_case(name));
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let claims = body["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"].is_string();
        let is_modern = has("Mcp-Method");
        if claims && !(is_modern && has("MCP-Protocol-Version")) {
            return Err(format!("headers: they are missing: {request:?}"));
        }
        // The fields repeat what the body says, for those who route by them.
        let field = |name: &str| {
            let mut fields = request.headers.iter();
            fields.find(|(one, _)| one.eq_ignore_ascii_case(name)).map(|(_, value)| &**value)
        };
        let names = ["name", "uri", "taskId"];
        let named = names.iter().find_map(|member| body["params"][member].as_str());
        let method = body["method"].as_str().unwrap_or_default();
        let named = named.filter(|_| method == "tools/call" || method.starts_with("tasks/"));
        if is_modern
            && (field("Mcp-Method") != body["method"].as_str() || field("Mcp-Name") != named)
        {
            return Err(format!("headers: they do not fit the body: {request:?}"));
        }
        if is_modern && (has("Mcp-Session-Id") || request.method != "POST") {
            return Err(format!("headers: a session where there is none: {request:?}"));
        }
        for (name, value) in &request.headers {
            if !value.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~')) {
                return Err(format!("headers: {name} cannot be sent"));
            }
        }
        Ok(())
    }
}
