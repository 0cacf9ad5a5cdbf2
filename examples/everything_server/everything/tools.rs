//! The tools.

use std::time::{Duration, Instant};

use mcp_sansio::json::{ParseError, Raw};
use mcp_sansio::model::{
    AudioContent, CallToolResult, Content, EmbeddedResource, ImageContent, LoggingLevel,
    ResourceContents, TaskSupport, Tool, ToolExecution,
};
use mcp_sansio::progress::Progress;
use mcp_sansio::request::CallTool;
use mcp_sansio::subscription::ChangedList;
use mcp_sansio::{ErrorCode, RespondError, Server};
use mcp_sansio_std::Exchange;
use serde::Deserialize;

use super::asking::Answered;
use super::media::{PNG, WAV};
use super::{Everything, asking, elicitation, jobs, log, resources};

/// The interval at which a slow tool checks for cancellation.
const TICK: Duration = Duration::from_millis(50);

const NO_ARGUMENTS: &str = r#"{"type":"object","additionalProperties":false}"#;

const TEXT_ARGUMENT: &str = r#"{"type":"object","properties":{"text":{"type":"string","description":"What to say"}},"required":["text"]}"#;

const NUMBERS: &str = r#"{"type":"object","properties":{"a":{"type":"number","description":"The first number"},"b":{"type":"number","description":"The second number"}},"required":["a","b"]}"#;

const MILLISECONDS: &str = r#"{"type":"object","properties":{"ms":{"type":"integer","minimum":0,"description":"How long to take"}},"required":["ms"]}"#;

const PROMPT: &str = r#"{"type":"object","properties":{"prompt":{"type":"string","description":"What to ask the model"}},"required":["prompt"]}"#;

const MESSAGE: &str = r#"{"type":"object","properties":{"message":{"type":"string","description":"What to ask the user"}},"required":["message"]}"#;

const REGION: &str = r#"{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}},"required":["region"]}"#;

const NAME: &str = r#"{"type":"object","properties":{"name":{"type":"string","description":"Whom to greet"}},"required":["name"]}"#;

const COMPUTATION: &str = r#"{"type":"object","properties":{"seconds":{"type":"number","minimum":0,"description":"How long to take"},"label":{"type":"string","description":"What to call it"}},"required":["seconds"]}"#;

const FILENAME: &str = r#"{"type":"object","properties":{"filename":{"type":"string","description":"The file"}},"required":["filename"]}"#;

const DIALECT_2020_12: &str = r##"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},"then":{"required":["phone"]},"else":{"required":["email"]},"additionalProperties":false}"##;

/// The name, description and schema of each tool.
const TOOLS: &[(&str, &str, &str)] = &[
    ("echo", "Says what it is told", TEXT_ARGUMENT),
    ("add_numbers", "Adds two numbers", NUMBERS),
    ("slow", "Takes its time, and reports progress", MILLISECONDS),
    ("test_trigger_resource_update", "Changes the watched resource", NO_ARGUMENTS),
    ("test_simple_text", "Returns text", NO_ARGUMENTS),
    ("test_image_content", "Returns a picture", NO_ARGUMENTS),
    ("test_audio_content", "Returns a sound", NO_ARGUMENTS),
    ("test_embedded_resource", "Returns a resource", NO_ARGUMENTS),
    ("test_multiple_content_types", "Returns several kinds of content", NO_ARGUMENTS),
    ("test_tool_with_logging", "Logs while it works", NO_ARGUMENTS),
    ("test_tool_with_progress", "Reports progress while it works", NO_ARGUMENTS),
    ("test_error_handling", "Fails", NO_ARGUMENTS),
    ("test_sampling", "Asks the model of the client", PROMPT),
    ("test_elicitation", "Asks the user", MESSAGE),
    ("test_elicitation_sep1034_defaults", "Asks the user, with defaults", NO_ARGUMENTS),
    ("test_elicitation_sep1330_enums", "Asks the user to choose", NO_ARGUMENTS),
    ("json_schema_2020_12_tool", "Tool with JSON Schema 2020-12 features", DIALECT_2020_12),
    ("test_reconnection", "Answers after a moment", NO_ARGUMENTS),
    ("test_missing_capability", "Needs a client with a model", NO_ARGUMENTS),
    ("test_streaming_elicitation", "Asks the user while it works", NO_ARGUMENTS),
    ("test_logging_tool", "Logs one message", NO_ARGUMENTS),
    ("test_trigger_tool_change", "Says that the list of tools has changed", NO_ARGUMENTS),
    ("test_trigger_prompt_change", "Says that the list of prompts has changed", NO_ARGUMENTS),
    ("test_input_required_result_elicitation", "Asks the user for a name", NO_ARGUMENTS),
    ("test_input_required_result_sampling", "Asks the model for a capital", NO_ARGUMENTS),
    ("test_input_required_result_list_roots", "Asks the client for its roots", NO_ARGUMENTS),
    ("test_input_required_result_request_state", "Asks, and keeps a state", NO_ARGUMENTS),
    ("test_input_required_result_tampered_state", "Asks, and guards its state", NO_ARGUMENTS),
    ("test_input_required_result_multiple_inputs", "Asks for several things", NO_ARGUMENTS),
    ("test_input_required_result_multi_round", "Asks one thing after another", NO_ARGUMENTS),
    ("test_input_required_result_capabilities", "Asks for what it can get", NO_ARGUMENTS),
    ("test_x_mcp_header", "Has an argument that is also a header", REGION),
    ("list_roots", "Asks the client for its roots", NO_ARGUMENTS),
    ("announce_changes", "Says that every list has changed", NO_ARGUMENTS),
    ("visit_page", "Sends the user to a web page, and says when it is done", NO_ARGUMENTS),
    ("greet", "Says hello", NAME),
    ("slow_compute", "Takes its time, as a task if it may", COMPUTATION),
    ("failing_job", "Fails after a second", NO_ARGUMENTS),
    ("protocol_error_job", "Ends with an error after a second", NO_ARGUMENTS),
    ("confirm_delete", "Pretends to delete a file if the user agrees", FILENAME),
    ("multi_input", "Asks the user for two things at once", NO_ARGUMENTS),
    ("test_tool_with_task", "Asks the user for a name before it begins", NO_ARGUMENTS),
    ("needs_visit", "Fails until the user has visited a web page", NO_ARGUMENTS),
];

pub(super) fn list() -> Vec<Tool<'static>> {
    let tools = TOOLS.iter().filter_map(|(name, description, schema)| {
        let mut tool = Tool::new(*name, Raw::new(schema).ok()?);
        tool.description = Some((*description).into());
        let support = jobs::support(name);
        if support != TaskSupport::Forbidden {
            let mut execution = ToolExecution::default();
            execution.task_support = Some(support);
            tool.execution = Some(execution);
        }
        Some(tool)
    });
    tools.collect()
}

/// A text argument, which has several possible names.
#[derive(Deserialize)]
struct Words {
    #[serde(alias = "prompt", alias = "message", alias = "name")]
    text: String,
}

#[derive(Deserialize)]
struct Numbers {
    a: f64,
    b: f64,
}

#[derive(Deserialize)]
struct Milliseconds {
    ms: u32,
}

pub(super) type ToolResult = CallToolResult<'static>;

impl Everything {
    pub(super) fn call_tool(
        &self,
        exchange: &Exchange<Server>,
        call: &CallTool<'_>,
    ) -> Result<(), RespondError> {
        let Some(mode) = exchange.task_mode(&jobs::support(&call.name.to_str()))? else {
            // The call has been rejected.
            return Ok(());
        };
        let answered = jobs::call(exchange, call, mode);
        if let Some(answered) = answered.or_else(|| self.with_client(exchange, call)) {
            return answered;
        }
        let done = with_arguments(exchange, call).or_else(|| self.without(exchange, call).map(Ok));
        let result = match done {
            Some(Ok(result)) => result,
            Some(Err(error)) => return exchange.reject_arguments(&error.to_string()),
            None => return exchange.reject(ErrorCode::INVALID_PARAMS, "unknown tool"),
        };
        match exchange.respond(&result) {
            // The revision of the connection cannot express the result.
            Err(RespondError::Encode(error)) => {
                exchange.respond(&ToolResult::error(error.to_string()))
            }
            answered => answered,
        }
    }

    /// Runs a tool that requires client input.
    fn with_client(&self, exchange: &Exchange<Server>, call: &CallTool<'_>) -> Option<Answered> {
        let words = || call.parse().map(|Words { text }| text);
        let refuse = |error: ParseError| exchange.reject_arguments(&error.to_string());
        let name = &*call.name.to_str();
        let completed = "Elicitation completed:";
        Some(match name {
            "needs_visit" => self.visits.need(exchange),
            "visit_page" => self.visits.visit(exchange),
            "list_roots" => asking::roots(exchange),
            "test_missing_capability" => asking::missing_capability(exchange),
            "test_sampling" => match words() {
                Ok(text) => asking::sampling(exchange, text),
                Err(error) => refuse(error),
            },
            "test_elicitation" => match words() {
                Ok(text) => asking::elicit(exchange, text, elicitation::user(), "User response:"),
                Err(error) => refuse(error),
            },
            "test_elicitation_sep1034_defaults" => {
                let question = "Please review and update the form fields with defaults".into();
                asking::elicit(exchange, question, elicitation::defaults(), completed)
            }
            "test_elicitation_sep1330_enums" => {
                let question = "Please select options from the enum fields".into();
                asking::elicit(exchange, question, elicitation::choices(), completed)
            }
            _ => return self.rounds.call(exchange, name),
        })
    }

    /// Runs a tool that ignores its arguments or accepts any.
    fn without(&self, exchange: &Exchange<Server>, call: &CallTool<'_>) -> Option<ToolResult> {
        Some(match &*call.name.to_str() {
            "test_trigger_resource_update" => {
                self.audience.resource_updated(resources::WATCHED);
                ToolResult::text("Resource updated")
            }
            "test_simple_text" => ToolResult::text("This is a simple text response for testing."),
            "test_image_content" => ToolResult::new([image()]),
            "test_audio_content" => {
                ToolResult::new([Content::Audio(AudioContent::new(WAV, "audio/wav"))])
            }
            "test_embedded_resource" => embedded(),
            "test_multiple_content_types" => several(),
            "test_tool_with_logging" => logging(exchange),
            "test_tool_with_progress" => progress(exchange),
            "test_error_handling" => {
                ToolResult::error("This tool intentionally returns an error for testing")
            }
            "json_schema_2020_12_tool" => {
                let arguments = call.arguments.as_ref().map_or("{}", |raw| raw.as_json());
                ToolResult::text(format!("Called with {arguments}"))
            }
            "test_reconnection" => {
                // If the client can resume the response, it has to.
                exchange.close_response();
                exchange.wait_cancelled(2 * TICK);
                ToolResult::text("Reconnection test completed")
            }
            "test_logging_tool" => {
                log(exchange, LoggingLevel::Info, "This is what was logged");
                ToolResult::text("Logged")
            }
            "test_trigger_tool_change" => self.announce(&[ChangedList::Tools]),
            "test_trigger_prompt_change" => self.announce(&[ChangedList::Prompts]),
            "test_x_mcp_header" => ToolResult::text("Wherever that is"),
            "announce_changes" => {
                self.announce(&[ChangedList::Tools, ChangedList::Resources, ChangedList::Prompts])
            }
            _ => return None,
        })
    }

    fn announce(&self, lists: &[ChangedList]) -> ToolResult {
        lists.iter().for_each(|list| self.audience.list_changed(*list));
        ToolResult::text("Announced")
    }
}

/// Runs a tool that has typed arguments.
fn with_arguments(
    exchange: &Exchange<Server>,
    call: &CallTool<'_>,
) -> Option<Result<ToolResult, ParseError>> {
    Some(match &*call.name.to_str() {
        "echo" => call.parse().map(|Words { text }| ToolResult::text(text)),
        "greet" => call.parse().map(|Words { text }| ToolResult::text(format!("Hello, {text}!"))),
        "add_numbers" => call.parse().map(|Numbers { a, b }| ToolResult::text((a + b).to_string())),
        "slow" => call.parse().map(|Milliseconds { ms }| slow(exchange, ms)),
        _ => return None,
    })
}

fn logging(exchange: &Exchange<Server>) -> ToolResult {
    let lines = ["Tool execution started", "Tool processing data", "Tool execution completed"];
    for (index, line) in lines.into_iter().enumerate() {
        if 0 < index {
            exchange.wait_cancelled(TICK);
        }
        log(exchange, LoggingLevel::Info, line);
    }
    ToolResult::text("Tool with logging executed successfully")
}

fn image() -> Content<'static> {
    Content::Image(ImageContent::new(PNG, "image/png"))
}

fn embedded() -> ToolResult {
    let contents =
        ResourceContents::text("test://embedded-resource", "This is an embedded resource content.");
    let resource = EmbeddedResource::new(contents.mime_type("text/plain"));
    ToolResult::new([Content::Resource(resource)])
}

fn several() -> ToolResult {
    let contents =
        ResourceContents::text("test://mixed-content-resource", r#"{"test":"data","value":123}"#);
    let resource = EmbeddedResource::new(contents.mime_type("application/json"));
    ToolResult::new([
        Content::text("Multiple content types test:"),
        image(),
        Content::Resource(resource),
    ])
}

/// Works for the given time, unless the call is cancelled.
fn slow(exchange: &Exchange<Server>, milliseconds: u32) -> ToolResult {
    let total = Duration::from_millis(milliseconds.into());
    let started = Instant::now();
    loop {
        let left = total.saturating_sub(started.elapsed());
        if left.is_zero() {
            return ToolResult::text(format!("slept {milliseconds} ms"));
        }
        if exchange.wait_cancelled(left.min(TICK)) {
            // The response is no longer wanted.
            return ToolResult::error("cancelled");
        }
        let passed = u64::try_from(started.elapsed().min(total).as_millis()).unwrap_or(u64::MAX);
        let report = Progress::new(passed).total(u64::from(milliseconds));
        _ = exchange.progress(report);
    }
}

fn progress(exchange: &Exchange<Server>) -> ToolResult {
    for (index, step) in [0_u8, 50, 100].into_iter().enumerate() {
        if 0 < index {
            exchange.wait_cancelled(TICK);
        }
        _ = exchange.progress(Progress::new(step).total(100_u8));
    }
    ToolResult::text("Tool with progress executed successfully")
}
