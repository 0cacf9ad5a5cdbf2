//! The client's responses to requests of the server, and its handling of events.

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use mcp_sansio::error::ViolationKind;
use mcp_sansio::event::{Notification, SubscriptionEnd, SubscriptionNews, Violation};
use mcp_sansio::json::{Number, Raw};
use mcp_sansio::model::{
    Content, CreateMessageResult, ElicitParams, ElicitResult, ElicitationMode, ListRootsResult,
    ObjectSchema, PrimitiveSchema, Root, StopReason, StringSchema, method,
};
use mcp_sansio::{Client, ClientEvent, ErrorCode, RespondError, ServerRequest};
use mcp_sansio_std::{Exchange, Handle, Handler};
use serde_json::{Map, Value};

use crate::arguments::Arguments;
use crate::ending::Ending;
use crate::say::{self, say, shown};
use crate::watch;

/// The notice of a restart: the first process ended without a response, as legacy servers may.
const STARTED_AGAIN: &str = "the server ended when it was asked `server/discover`; \
    it is started again, and asked to `initialize`";

/// A handler that responds as the command line specifies.
pub(crate) struct Answers {
    roots: Vec<String>,
    form: Option<Raw<'static>>,
    sample: String,
    server_output: Arc<ServerOutput>,
    ending: Arc<Ending>,
    watch: bool,
    /// Whether the server has been started before.
    has_begun: AtomicBool,
}

/// The output of the server that is no message.
#[derive(Default)]
pub(crate) struct ServerOutput {
    first: Mutex<Option<String>>,
}

impl ServerOutput {
    fn note(&self, line: &[u8]) {
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        if first.is_none() {
            *first = Some(beginning(line));
        }
    }

    /// Returns a hint about a server with such output.
    pub(crate) fn hint(&self) -> String {
        match &*self.first.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(line) => format!("\nIt wrote something that is not MCP: {line}"),
            None => String::new(),
        }
    }
}

impl Answers {
    pub(crate) fn new(
        arguments: &Arguments,
        server_output: Arc<ServerOutput>,
        ending: Arc<Ending>,
    ) -> Self {
        let mut roots = arguments.roots.clone();
        if roots.is_empty()
            && let Ok(directory) = std::env::current_dir()
        {
            let path = directory.as_os_str().as_encoded_bytes();
            roots.push(if cfg!(windows) { windows_file_uri(path) } else { file_uri(path) });
        }
        let (form, sample) = (arguments.form.clone(), arguments.sample.clone());
        let (watch, has_begun) = (arguments.watch, AtomicBool::new(false));
        Self { roots, form, sample, server_output, ending, watch, has_begun }
    }

    fn answer(&self, exchange: &Exchange<Client>) -> Result<(), RespondError> {
        match &exchange.request().kind {
            ServerRequest::ListRoots => {
                let roots = self.roots.iter().map(|root| Root::new(root.as_str()));
                exchange.respond(&roots.collect::<ListRootsResult<'_>>())
            }
            ServerRequest::CreateMessage(_) => {
                say!("the server asks for a model; it gets {:?}", self.sample);
                let content = Content::text(self.sample.as_str());
                let mut message = CreateMessageResult::new("inspect", content);
                message.stop_reason = Some(StopReason::EndTurn);
                exchange.respond(&message)
            }
            ServerRequest::Elicit(params) => match params.parse::<ElicitParams<'_>>() {
                Ok(params) => self.fill_in(exchange, &params),
                Err(error) => exchange.reject(ErrorCode::INVALID_PARAMS, &error.to_string()),
            },
            _ => exchange.reject(ErrorCode::METHOD_NOT_FOUND, "method not found"),
        }
    }

    /// Prints a notification: to standard output with `--watch`, otherwise to standard error.
    fn show(&self, notification: &Notification<'_>) {
        match watch::change(notification) {
            Some(change) if self.watch => {
                let mut stdout = std::io::stdout();
                let written = writeln!(stdout, "{}", shown(&change, stdout.is_terminal()));
                written.unwrap_or_else(|error| self.ending.not_printed(error));
            }
            Some(change) => say!("{change}"),
            None => say!("{}", notification.method),
        }
    }

    fn fill_in(
        &self,
        exchange: &Exchange<Client>,
        params: &ElicitParams<'_>,
    ) -> Result<(), RespondError> {
        if let (ElicitationMode::Url, Some(url)) = (params.mode(), &params.url) {
            // A person would check the address and decide; this client opens nothing.
            say!("the server sends you to {url}: {}", params.message);
            return exchange.respond(&ElicitResult::accept_url());
        }
        let Some(schema) = &params.requested_schema else {
            return exchange.respond(&ElicitResult::decline());
        };
        let content = match &self.form {
            Some(form) => form.clone(),
            None => Raw::from_serialize(&default_form_values(schema))?,
        };
        say!("the server asks {:?}; it gets {content}", params.message);
        match exchange.respond(&ElicitResult::accept(content)) {
            Err(RespondError::Encode(error)) => {
                say!("inspect: the form does not fit: {error}");
                exchange.respond(&ElicitResult::cancel())
            }
            answered => answered,
        }
    }
}

impl Handler<Client> for Answers {
    fn serve(&self, exchange: &Exchange<Client>) {
        // A server that has cancelled or disconnected is no error of this side.
        _ = self.answer(exchange);
    }

    fn begin(&self, handle: &Handle<Client>) {
        if self.has_begun.swap(true, Ordering::Relaxed) {
            say!("{STARTED_AGAIN}");
        }
        self.ending.of(handle);
    }

    fn event(&self, _handle: &Handle<Client>, event: ClientEvent<'static>) {
        match event {
            ClientEvent::Violation(violation) => {
                self.server_output.note(&violation.message);
                let quote = quoted(&violation).map(|line| format!(": {line}")).unwrap_or_default();
                say!("the server broke the protocol: {}{quote}", violation.kind);
            }
            ClientEvent::Notification(notification) => match notification.parse::<method::Log>() {
                Some(Ok(log)) => {
                    let logger = log.logger.map(|logger| format!(" {logger}")).unwrap_or_default();
                    say!("{}{logger}: {}", log.level, log.data);
                }
                _ => self.show(&notification),
            },
            ClientEvent::Subscription(update) => match &update.news {
                SubscriptionNews::Changed(notification) => self.show(notification),
                news => {
                    watch::news(news).into_iter().for_each(|text| say!("{text}"));
                    // A lost connection is the end of the session, or is opened again with its subscriptions.
                    if let SubscriptionNews::Ended(end) = news
                        && !matches!(end, SubscriptionEnd::Lost(_))
                    {
                        self.ending.subscription_ended();
                    }
                }
            },
            // The first session is no event. The next one, over HTTP, has no subscriptions, and changes were missed.
            ClientEvent::Connected(_) if self.watch => self.ending.replaced(),
            ClientEvent::Task(update) => {
                let message = update.message.map(|text| format!(": {text}")).unwrap_or_default();
                say!("task: {}{message}", update.status.as_str());
            }
            ClientEvent::Closed { .. } => {
                // While a request is made, its failure says so.
                if say::is_redirected() {
                    say!("The server has ended.");
                }
                self.ending.over();
            }
            ClientEvent::UnsolicitedError(error) => {
                say!("the server could not read a message: {}", error.message);
            }
            _ => {}
        }
    }
}

/// Quotes output that is no JSON, because it may identify its source. Messages with other violations may contain
/// secrets.
fn quoted(violation: &Violation<'_>) -> Option<String> {
    match violation.kind {
        ViolationKind::NotJson | ViolationKind::NotUtf8 | ViolationKind::ContentLength => {
            Some(beginning(&violation.message))
        }
        _ => None,
    }
}

/// Returns the first characters of a line, with control characters escaped.
fn beginning(line: &[u8]) -> String {
    const MOST: usize = 60;
    let text = String::from_utf8_lossy(line);
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{:?}…", text.get(..end).unwrap_or_default()),
        None => format!("{text:?}"),
    }
}

/// Fills in a form with its defaults, and with matching values for fields without a default.
fn default_form_values(schema: &ObjectSchema<'_>) -> Map<String, Value> {
    schema.properties.iter().map(|(name, field)| (name.to_string(), fitting(field))).collect()
}

fn fitting(field: &PrimitiveSchema<'_>) -> Value {
    match field {
        PrimitiveSchema::String(schema) => fitting_text(schema).into(),
        PrimitiveSchema::Number(schema) => {
            let number = schema.default.or(schema.minimum).unwrap_or(Number::ZERO);
            serde_json::to_value(number).unwrap_or_default()
        }
        PrimitiveSchema::Boolean(schema) => schema.default.unwrap_or(false).into(),
        PrimitiveSchema::Array(schema) => match &schema.default {
            Some(values) => values.iter().map(|value| value.to_string()).collect(),
            None => {
                let plain = schema.items.choices.iter().flatten().map(|choice| choice.to_string());
                let titled =
                    schema.items.any_of.iter().flatten().map(|option| option.value.to_string());
                let fewest = schema.min_items.unwrap_or(0);
                plain.chain(titled).take(usize::try_from(fewest).unwrap_or(usize::MAX)).collect()
            }
        },
        _ => Value::Null,
    }
}

fn fitting_text(schema: &StringSchema<'_>) -> String {
    let choice = schema.choices.iter().flatten().next();
    let option = schema.one_of.iter().flatten().next().map(|option| &option.value);
    if let Some(text) = schema.default.as_ref().or(choice).or(option) {
        return text.to_string();
    }
    match schema.format.as_deref() {
        Some("email") => "someone@example.com".into(),
        Some("uri") => "https://example.com".into(),
        Some("date") => "2025-01-01".into(),
        Some("date-time") => "2025-01-01T00:00:00Z".into(),
        _ => {
            let shortest = schema.min_length.and_then(|length| usize::try_from(length).ok());
            let longest = schema.max_length.and_then(|length| usize::try_from(length).ok());
            let mut text = "inspect".to_string();
            text.truncate(longest.unwrap_or(usize::MAX));
            let missing = shortest.unwrap_or(0).min(1000).saturating_sub(text.len());
            text + &"t".repeat(missing)
        }
    }
}

/// Returns the URI of a path, with the reserved characters escaped.
fn file_uri(path: &[u8]) -> String {
    let mut uri = String::from("file://");
    for byte in path.iter().copied() {
        if byte.is_ascii_alphanumeric() || b"/-._~:".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    uri
}

/// As [`file_uri`], for a path on Windows: `C:\Users\me`, or `\\server\share` on another computer.
fn windows_file_uri(path: &[u8]) -> String {
    let slash = |byte: &u8| if *byte == b'\\' { b'/' } else { *byte };
    let path: Vec<u8> = path.iter().map(slash).collect();
    // The prefix `\\?\` of a path that Windows does not normalize.
    let (remote, path) = match path.strip_prefix(b"//?/") {
        Some(path) => (path.strip_prefix(b"UNC/"), path),
        None => (path.strip_prefix(b"//"), &*path),
    };
    // The other computer is the host of the URI.
    match remote {
        Some(remote) => file_uri(remote),
        None => file_uri(&[b"/", path].concat()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_the_uri_of_a_file() {
        assert_eq!(file_uri("/home/é b".as_bytes()), "file:///home/%C3%A9%20b");
        for (path, expected) in [
            (r"C:\Users\me", "file:///C:/Users/me"),
            (r"C:\", "file:///C:/"),
            (r"C:\a b#1", "file:///C:/a%20b%231"),
            (r"\\server\share\a", "file://server/share/a"),
            (r"\\?\C:\Users", "file:///C:/Users"),
            (r"\\?\UNC\server\share", "file://server/share"),
        ] {
            assert_eq!(windows_file_uri(path.as_bytes()), expected);
        }
    }
}
