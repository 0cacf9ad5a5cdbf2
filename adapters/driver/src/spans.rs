//! Spans of `tracing` around requests and calls, with the attributes of the [semantic conventions of OpenTelemetry for
//! MCP](https://opentelemetry.io/docs/specs/semconv/gen-ai/mcp/).
//!
//! No span contains a payload: the attributes are methods, ids, codes, and the names of tools, prompts and resources.

use std::future::Future;
use std::sync::OnceLock;

use mcp_sansio::event::Id;
use mcp_sansio::json::Raw;
use mcp_sansio::model::TraceContext;
use mcp_sansio::{CallId, Connection, ErrorCode, Revision};
use tracing::field::{Empty, display};
use tracing::{Instrument, Span};

use crate::failure::CallFailure;
use crate::machine::RequestParts;
use crate::trace_propagator::Propagation;

const CALL_TOOL: &str = "tools/call";

/// The most characters of an attribute that a peer chooses.
const MOST_CHARACTERS: usize = 256;

/// Creates a span. Both roles have the same attributes; the fields of a span are known at compile time.
macro_rules! span {
    ($name:literal, $kind:literal $(, parent: $parent:expr)?) => {
        tracing::info_span!(
            target: "mcp",
            $(parent: $parent,)?
            $name,
            otel.kind = $kind,
            otel.name = Empty,
            otel.status_code = Empty,
            mcp.method.name = Empty,
            mcp.protocol.version = Empty,
            mcp.resource.uri = Empty,
            mcp.session.id = Empty,
            jsonrpc.request.id = Empty,
            gen_ai.operation.name = Empty,
            gen_ai.tool.name = Empty,
            gen_ai.prompt.name = Empty,
            rpc.response.status_code = Empty,
            "error.type" = Empty,
        )
    };
}

/// The span of a request of the peer. It begins when the handler starts and ends with the last clone of its exchange.
#[derive(Default)]
pub(crate) struct RequestSpan {
    span: OnceLock<Span>,
    /// Whether the response of a tool can be an error.
    is_tool: OnceLock<bool>,
}

/// The connection of a request. Its functions are called only if a subscriber wants the span.
pub(crate) trait RequestSource {
    /// Returns the id that the peer gave the request.
    fn peer_id(&self) -> Option<Id<'static>>;
    /// Returns the id of the session over HTTP.
    fn session_id(&self) -> Option<&str>;
    /// Returns the propagator of the connection.
    fn propagation(&self) -> Option<&Propagation>;
}

impl RequestSpan {
    /// Begins the span, or returns the span that has begun.
    pub(crate) fn begin(&self, parts: &RequestParts<'_>, source: &impl RequestSource) -> SpanScope {
        let begin = || {
            // A root on every runtime: on one thread the span of the HTTP request would be the current one.
            let span = span!("mcp.request", "server", parent: None);
            if span.is_disabled() {
                return span;
            }
            describe(&span, &parts.method.to_str(), parts.params);
            _ = self.is_tool.set(*parts.method == *CALL_TOOL);
            span.record("mcp.protocol.version", parts.revision.name());
            if let Some(id) = source.session_id() {
                span.record("mcp.session.id", &*short(id));
            }
            if let Some(id) = source.peer_id() {
                let text = id.as_string();
                let text = text.as_ref().map_or_else(|| id.as_wire().into(), |text| text.to_str());
                span.record("jsonrpc.request.id", &*short(&text));
            }
            if let Some(Propagation(propagator)) = source.propagation()
                && let Some(context) = TraceContext::of(parts.meta)
            {
                propagator.extract(&span, &context);
            }
            span
        };
        SpanScope(self.span.get_or_init(begin).clone())
    }

    /// Notes the result: that of a tool can be an error.
    pub(crate) fn result(&self, result: impl FnOnce() -> Option<Raw<'static>>) {
        if let Some(span) = self.wanted()
            && self.is_tool.get() == Some(&true)
            && result().is_some_and(|result| is_tool_error(&result))
        {
            fail(span, "tool_error");
        }
    }

    /// Notes that the request was refused for a reason whose code depends on the revision.
    pub(crate) fn failed(&self, kind: &str) {
        if let Some(span) = self.wanted() {
            fail(span, kind);
        }
    }

    /// Notes the error that the request got.
    pub(crate) fn error(&self, code: ErrorCode) {
        if let Some(span) = self.wanted() {
            fail_with(span, code);
        }
    }

    /// Notes that the response was no longer wanted.
    pub(crate) fn cancelled(&self) {
        if let Some(span) = self.wanted() {
            fail(span, "cancelled");
        }
    }

    fn wanted(&self) -> Option<&Span> {
        self.span.get().filter(|span| !span.is_disabled())
    }
}

/// A span in which code can run.
#[derive(Clone)]
pub(crate) struct SpanScope(Span);

impl SpanScope {
    /// Returns the span of the current code.
    pub(crate) fn current() -> Self {
        Self(Span::current())
    }

    pub(crate) fn span(&self) -> &Span {
        &self.0
    }

    /// Runs a function in the span.
    pub(crate) fn run<T>(&self, run: impl FnOnce() -> T) -> T {
        self.0.in_scope(run)
    }

    /// Returns a future that runs in the span.
    pub(crate) fn around<F: Future>(self, work: F) -> impl Future<Output = F::Output> + use<F> {
        work.instrument(self.0)
    }
}

/// The attributes of a call that has been sent.
#[derive(Default)]
pub(crate) struct SentCall {
    id: Option<u64>,
    revision: Option<Revision>,
}

/// The span of a call, if a subscriber wants it. It ends when the caller has taken the result, or has dropped the call.
///
/// It is in a box to keep futures small: few calls have one.
pub(crate) struct CallSpan(Option<Box<OpenCall>>);

struct OpenCall {
    span: Span,
    is_tool: bool,
}

impl CallSpan {
    /// Begins the span of a call.
    pub(crate) fn begin(method: &str, params: Option<&Raw<'_>>) -> Self {
        let span = span!("mcp.call", "client");
        if span.is_disabled() {
            return Self::none();
        }
        describe(&span, method, params);
        Self(Some(Box::new(OpenCall { span, is_tool: method == CALL_TOOL })))
    }

    /// Returns no span, for a call that is not traced by itself.
    pub(crate) const fn none() -> Self {
        Self(None)
    }

    /// Returns the params with the trace context of this span, unless they have one.
    pub(crate) fn propagated<'p>(
        &self,
        params: Raw<'p>,
        propagation: Option<&Propagation>,
    ) -> Raw<'p> {
        let Some(Propagation(propagator)) = propagation else { return params };
        let meta = params.get("_meta");
        if !params.as_json().starts_with('{') || TraceContext::of(meta.as_ref()).is_some() {
            return params;
        }
        let context = match &self.0 {
            Some(call) => propagator.inject(&call.span),
            // The caller may have a span all the same.
            None => propagator.inject(&Span::current()),
        };
        let Some(context) = context else { return params };
        params.edited(&[("_meta", Some(context.added_to(meta.as_ref())))])
    }

    /// Returns how the call was sent.
    pub(crate) fn sent(&self, connection: &Connection, call: Option<CallId>) -> SentCall {
        if self.0.is_none() {
            return SentCall::default();
        }
        SentCall {
            id: call.and_then(|call| connection.in_flight().own_id(call)),
            revision: connection.revision(),
        }
    }

    /// Records how the call was sent.
    pub(crate) fn record(&self, sent: &SentCall) {
        let Some(OpenCall { span, .. }) = self.0.as_deref() else { return };
        if let Some(id) = sent.id {
            span.record("jsonrpc.request.id", display(id));
        }
        if let Some(revision) = sent.revision {
            span.record("mcp.protocol.version", revision.name());
        }
    }

    /// Ends the span with the outcome of the call.
    pub(crate) fn end(&mut self, outcome: Result<&Raw<'_>, &CallFailure>) {
        let Some(call) = self.0.take() else { return };
        let OpenCall { span, is_tool } = *call;
        match outcome {
            Ok(result) if is_tool && is_tool_error(result) => fail(&span, "tool_error"),
            Ok(_) => {}
            Err(CallFailure::PeerError(error)) => fail_with(&span, error.code),
            Err(failure) => fail(&span, failure.kind()),
        }
    }
}

/// Records the method and its target.
fn describe(span: &Span, method: &str, params: Option<&Raw<'_>>) {
    let method = short(method);
    let member = |name| Some(params?.get(name)?.into_str()?.to_str().into_owned());
    span.record("mcp.method.name", &*method);
    let (member_name, attribute) = match &*method {
        CALL_TOOL => ("name", "gen_ai.tool.name"),
        "prompts/get" => ("name", "gen_ai.prompt.name"),
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => {
            ("uri", "mcp.resource.uri")
        }
        _ => ("", ""),
    };
    if method == CALL_TOOL {
        span.record("gen_ai.operation.name", "execute_tool");
    }
    let target = if member_name.is_empty() { None } else { member(member_name) };
    let Some(target) = target else {
        span.record("otel.name", &*method);
        return;
    };
    let target = short(&target);
    span.record(attribute, &*target);
    // The names of spans have few different values, unlike URIs.
    if member_name == "name" {
        span.record("otel.name", display(format_args!("{method} {target}")));
    } else {
        span.record("otel.name", &*method);
    }
}

fn short(text: &str) -> std::borrow::Cow<'_, str> {
    match text.char_indices().nth(MOST_CHARACTERS) {
        None => text.into(),
        Some((end, _)) => text.get(..end).unwrap_or_default().into(),
    }
}

fn is_tool_error(result: &Raw<'_>) -> bool {
    result.get("isError").is_some_and(|flag| flag.as_json() == "true")
}

fn fail(span: &Span, kind: &str) {
    span.record("error.type", kind);
    span.record("otel.status_code", "ERROR");
}

fn fail_with(span: &Span, code: ErrorCode) {
    span.record("rpc.response.status_code", display(code));
    span.record("error.type", display(code));
    span.record("otel.status_code", "ERROR");
}
