//! Tools that may take long, and become tasks if the client requests that.
//!
//! Each job is defined once: its duration, its required client input, and its result.

use std::time::Duration;

use mcp_sansio::json::{ParseError, Raw};
use mcp_sansio::model::{ElicitParams, InputRequired, TaskSupport};
use mcp_sansio::request::{CallTool, TaskMode};
use mcp_sansio::task::TaskError;
use mcp_sansio::{ErrorCode, Server};
use mcp_sansio_std::{Exchange, TaskHandle, new_task};
use serde::Deserialize;

use super::asking::{Answered, need};
use super::rounds::{field, field_of_answer, flag, text};
use super::tools::ToolResult;

/// Returns whether a tool may run as a task.
pub(super) fn support(name: &str) -> TaskSupport<'static> {
    match name {
        "slow_compute" | "confirm_delete" | "multi_input" | "test_tool_with_task" => {
            TaskSupport::Optional
        }
        "failing_job" | "protocol_error_job" => TaskSupport::Required,
        _ => TaskSupport::Forbidden,
    }
}

/// Runs one of the tools.
pub(super) fn call(
    exchange: &Exchange<Server>,
    call: &CallTool<'_>,
    mode: TaskMode,
) -> Option<Answered> {
    let job = match Job::read(exchange, call)? {
        Ok(job) => job,
        Err(error) => return Some(exchange.reject_arguments(&error.to_string())),
    };
    Some(match job {
        Some(job) if mode == TaskMode::Task => job.run_as_task(exchange),
        Some(job) => job.run_inline(exchange),
        None => {
            let question = ElicitParams::form("What is your name?", text("name"));
            need(exchange, &InputRequired::new().elicit("user_name", question))
        }
    })
}

#[derive(Deserialize)]
struct Computation {
    seconds: f64,
    #[serde(default)]
    label: String,
}

#[derive(Deserialize)]
struct Deletion {
    filename: String,
}

/// A job of one of the tools.
enum Job {
    Compute(Duration, String),
    Fail,
    Break,
    Delete(String),
    Sign,
    Greet(String),
}

impl Job {
    /// Reads the job from a call. The inner value is `None` if client input is required first.
    fn read(
        exchange: &Exchange<Server>,
        call: &CallTool<'_>,
    ) -> Option<Result<Option<Self>, ParseError>> {
        let job = match &*call.name.to_str() {
            "slow_compute" => call.parse().map(|Computation { seconds, label }| {
                // Negative and excessive times are not worth an error here.
                let time = Duration::try_from_secs_f64(seconds).unwrap_or_default();
                Self::Compute(time, label)
            }),
            "failing_job" => Ok(Self::Fail),
            "protocol_error_job" => Ok(Self::Break),
            "confirm_delete" => call.parse().map(|Deletion { filename }| Self::Delete(filename)),
            "multi_input" => Ok(Self::Sign),
            "test_tool_with_task" => {
                return Some(Ok(field(exchange, "user_name", "name").map(Self::Greet)));
            }
            _ => return None,
        };
        Some(job.map(Some))
    }

    /// The duration of the job.
    const fn time(&self) -> Duration {
        match self {
            Self::Compute(time, _) => *time,
            Self::Fail | Self::Break => Duration::from_secs(1),
            // Some clients misattribute a request that follows the creation of its task immediately.
            Self::Delete(_) | Self::Sign => Duration::from_millis(250),
            Self::Greet(_) => Duration::ZERO,
        }
    }

    /// The client input that the job requires.
    fn needs(&self) -> Option<InputRequired<'static>> {
        let needs = InputRequired::new();
        Some(match self {
            Self::Delete(filename) => {
                let question = format!("Really delete {filename}?");
                needs.elicit("confirm", ElicitParams::form(question, flag("confirm")))
            }
            Self::Sign => needs
                .elicit("name", ElicitParams::form("What is your name?", text("name")))
                .elicit("confirm", ElicitParams::form("Really sign it?", flag("confirm"))),
            _ => return None,
        })
    }

    /// The result of the job with the client's input, or its error message.
    fn result(&self, inputs: &Raw<'_>) -> Result<ToolResult, &'static str> {
        let field_of = |key: &str| field_of_answer(&inputs.get(key)?, key);
        Ok(ToolResult::text(match self {
            Self::Compute(time, label) => {
                format!("computed {label} in {} s", time.as_secs_f64())
            }
            Self::Fail => return Ok(ToolResult::error("The job has failed, as it always does")),
            Self::Break => return Err("The job has broken, as it always does"),
            Self::Delete(filename) if field_of("confirm").is_some_and(|value| value == "true") => {
                format!("Deleted {filename}")
            }
            Self::Delete(filename) => format!("Kept {filename}"),
            Self::Sign => {
                let field_of = |key| field_of(key).unwrap_or_else(|| "unknown".into());
                format!("Signed by {}, confirmed: {}", field_of("name"), field_of("confirm"))
            }
            Self::Greet(name) => format!("Hello, {name}!"),
        }))
    }

    fn run_inline(&self, exchange: &Exchange<Server>) -> Answered {
        let given = exchange.request().inputs.as_ref();
        let is_there = |key: &str| given.is_some_and(|given| given.get(key).is_some());
        if let Some(needs) = self.needs()
            && !needs.requests.iter().flat_map(|all| all.iter()).all(|(key, _)| is_there(key))
        {
            return need(exchange, &needs);
        }
        if exchange.wait_cancelled(self.time()) {
            return Ok(());
        }
        match self.result(given.unwrap_or(&Raw::EMPTY_OBJECT)) {
            Ok(result) => exchange.respond(&result),
            Err(text) => exchange.reject(ErrorCode::INTERNAL_ERROR, text),
        }
    }

    fn run_as_task(&self, exchange: &Exchange<Server>) -> Answered {
        let refuse = |text: &str| exchange.reject(ErrorCode::INTERNAL_ERROR, text);
        let new = match new_task() {
            Ok(new) => new,
            Err(error) => return refuse(&error.to_string()),
        };
        let task = match exchange.begin_task(new) {
            Ok(task) => task,
            Err(error) => return refuse(&error.to_string()),
        };
        if let Err(error) = self.work(&task) {
            // This fails if the task is no longer wanted, which is fine.
            _ = task.fail(ErrorCode::INTERNAL_ERROR, &error.to_string());
        }
        Ok(())
    }

    fn work(&self, task: &TaskHandle) -> Result<(), TaskError> {
        if task.wait_cancelled(self.time()) {
            return Ok(());
        }
        let inputs = match self.needs() {
            Some(needs) => task.require_input(&needs)?.wait()?,
            None => Raw::EMPTY_OBJECT,
        };
        match self.result(&inputs) {
            Ok(result) => task.complete(&result),
            Err(text) => task.fail(ErrorCode::INTERNAL_ERROR, text),
        }
    }
}
