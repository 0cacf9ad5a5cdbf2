//! The schemas of a tool, compared with its arguments and its results (feature `jsonschema`).

use mcp_sansio::ErrorCode;
use mcp_sansio::json::Raw;
use mcp_sansio::model::{CallToolResult, SchemaError, Tool};

use super::function::FunctionResult;
use super::output::Failed;
use crate::json_schema::CompiledSchema;

/// The compiled schemas of a tool.
pub(super) struct ToolChecks {
    schemas: Result<Schemas, SchemaError>,
}

struct Schemas {
    input: CompiledSchema,
    output: Option<CompiledSchema>,
}

impl ToolChecks {
    pub(super) fn of(tool: &Tool<'_>) -> Self {
        let schemas = || {
            let input = CompiledSchema::new(&tool.input_schema)?;
            let output = tool.output_schema.as_ref().map(CompiledSchema::new).transpose()?;
            Ok(Schemas { input, output })
        };
        Self { schemas: schemas() }
    }

    /// Compares arguments with the schema of the tool.
    pub(super) fn arguments(&self, arguments: &Raw<'_>) -> Result<(), Failed> {
        let checked = self.schemas()?.input.check(arguments);
        checked.map_err(|error| Failed::arguments(format!("the arguments do not fit: {error}")))
    }

    /// Compares a result with the output schema of the tool. A result that does not fit is a defect of the tool.
    pub(super) fn result(&self, result: FunctionResult) -> FunctionResult {
        let Some(schema) = &self.schemas()?.output else { return result };
        let result = result?;
        let checked = match result.parse::<CallToolResult<'_>>() {
            Ok(parsed) if parsed.failed() => Ok(()),
            Ok(parsed) => match &parsed.structured_content {
                Some(content) => schema.check(content),
                None => Err(SchemaError::Missing),
            },
            Err(error) => Err(SchemaError::Mismatch(error.to_string())),
        };
        match checked {
            Ok(()) => Ok(result),
            Err(error) => Err(defect(&format!("the result does not fit its schema: {error}"))),
        }
    }

    fn schemas(&self) -> Result<&Schemas, Failed> {
        self.schemas.as_ref().map_err(|error| {
            let text = format!("the tool is defective: {error}");
            match error {
                SchemaError::UnsupportedDialect(_) => {
                    Failed::refused(ErrorCode::INVALID_PARAMS, &text)
                }
                _ => defect(&text),
            }
        })
    }
}

fn defect(text: &str) -> Failed {
    Failed::refused(ErrorCode::INTERNAL_ERROR, text)
}
