//! `ToolSchemas`: the schemas of the tools of a server, for a client.

use std::collections::BTreeMap;

use mcp_sansio::Client;
use mcp_sansio::json::Raw;
use mcp_sansio::model::{CallToolResult, SchemaError, Tool};
use serde::Serialize;

use crate::failure::CallFailure;
use crate::handle::Handle;
use crate::json_schema::CompiledSchema;
use crate::waiting::Waiting;

/// The schemas of the tools of a server, for the calls of a client.
///
/// ```
/// use mcp_sansio_driver::{CallFailure, Handle, ToolSchemas};
/// use serde_json::json;
///
/// # async fn example(server: &Handle) -> Result<(), CallFailure> {
/// let tools = ToolSchemas::of(&server.list_all_tools().await?);
/// let result = tools.call(server, "greet", &json!({"name": "Alice"})).await?;
/// # _ = result; Ok(())
/// # }
/// ```
#[derive(Debug, Default)]
pub struct ToolSchemas {
    /// By the name of the tool.
    schemas: BTreeMap<String, Schemas>,
}

#[derive(Debug)]
struct Schemas {
    input: Option<CompiledSchema>,
    /// The output schema, or the reason why it cannot be compiled.
    output: Option<Result<CompiledSchema, SchemaError>>,
}

impl ToolSchemas {
    /// Compiles the schemas of these tools.
    pub fn of(tools: &[Tool<'_>]) -> Self {
        let schemas = tools.iter().map(|tool| {
            let input = CompiledSchema::of_peer(&tool.input_schema).ok();
            let output = tool.output_schema.as_ref().map(CompiledSchema::of_peer);
            (tool.name.to_string(), Schemas { input, output })
        });
        Self { schemas: schemas.collect() }
    }

    /// Compares arguments with the schema of a tool. Every argument of an unknown tool fits, and so does every
    /// argument of a tool whose schema cannot be compiled: the server decides.
    ///
    /// # Errors
    ///
    /// [`SchemaError::Mismatch`] if the arguments do not fit.
    pub fn check_arguments(&self, tool: &str, arguments: &Raw<'_>) -> Result<(), SchemaError> {
        match self.schemas.get(tool).and_then(|schemas| schemas.input.as_ref()) {
            Some(schema) => schema.check(arguments),
            None => Ok(()),
        }
    }

    /// Compares a result with the schema of a tool. Every result of an unknown tool fits, and so does a result that
    /// reports a failure, and every result of a tool without an output schema.
    ///
    /// # Errors
    ///
    /// [`SchemaError`] if the result does not fit, or if the output schema is [`unusable`](Self::unusable): a server
    /// must not be able to disable the comparison, for example with an unknown dialect ([JSON Schema
    /// usage](https://modelcontextprotocol.io/specification/2026-07-28/basic#json-schema-usage)).
    pub fn check_result(&self, tool: &str, result: &CallToolResult<'_>) -> Result<(), SchemaError> {
        let schema = self.schemas.get(tool).and_then(|schemas| schemas.output.as_ref());
        let Some(schema) = schema.filter(|_| !result.failed()) else { return Ok(()) };
        let schema = schema.as_ref().map_err(SchemaError::clone)?;
        schema.check(result.structured_content.as_ref().ok_or(SchemaError::Missing)?)
    }

    /// Returns the reason why results of a tool cannot be compared, if its output schema cannot be compiled: see
    /// [`CompiledSchema::of_peer`]. [`Handle::call_tool`] calls the tool without a comparison.
    pub fn unusable(&self, tool: &str) -> Option<&SchemaError> {
        self.schemas.get(tool)?.output.as_ref()?.as_ref().err()
    }

    /// Calls a tool as [`Handle::call_tool`] does, and compares the arguments and the result with its schemas.
    ///
    /// # Errors
    ///
    /// [`CallFailure`] if there is no result. [`CallFailure::Arguments`] if the arguments do not fit, so that the call was
    /// not made; [`CallFailure::Mismatch`] if the result does not fit. Also if the output schema is
    /// [`unusable`](Self::unusable): then the call was not made.
    pub fn call<'s, A: Serialize + ?Sized>(
        &'s self,
        server: &Handle<Client>,
        tool: &'s str,
        arguments: &A,
    ) -> Waiting<'s, Result<CallToolResult<'static>, CallFailure>> {
        let mismatch = |error: SchemaError| CallFailure::Mismatch(error.to_string());
        let arguments = Raw::from_serialize(arguments);
        let checked = match &arguments {
            Ok(arguments) if *arguments != Raw::NULL => self.check_arguments(tool, arguments),
            _ => self.check_arguments(tool, &Raw::EMPTY_OBJECT),
        };
        let called = match (self.unusable(tool), checked, arguments) {
            (Some(reason), _, _) => Err(mismatch(reason.clone())),
            (None, Ok(()), Ok(arguments)) => Ok(server.call_tool(tool, &arguments)),
            (None, Ok(()), Err(error)) => Err(CallFailure::CallError(error.into())),
            (None, Err(error), _) => Err(CallFailure::Arguments(error.to_string())),
        };
        Waiting::new(async move {
            let result = called?.await?;
            self.check_result(tool, &result).map_err(mismatch)?;
            Ok(result)
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn raw(value: &Value) -> Raw<'static> {
        Raw::from_serialize(value).unwrap()
    }

    /// Proves M-JSCH-01, M-JSCH-03.
    #[test]
    fn results_of_known_tools_are_compared() {
        let schema = raw(&json!({"type": "object", "properties": {"sum": {"type": "integer"}}}));
        let any = raw(&json!({"type": "object"}));
        let unknown = raw(&json!({"type": "object", "$schema": "https://example.com/dialect"}));
        let elsewhere = json!({"$ref": "https://example.com/schema"});
        let elsewhere = raw(&json!({"type": "object", "properties": {"a": elsewhere}}));
        let tools = ToolSchemas::of(&[
            Tool::new("sum", schema.clone()).output_schema(schema),
            Tool::new("any", any.clone()),
            Tool::new("odd", unknown.clone()).output_schema(unknown),
            Tool::new("elsewhere", any).output_schema(elsewhere),
        ]);
        let structured = |value| CallToolResult::structured(raw(&value));
        tools.check_result("sum", &structured(json!({"sum": 3}))).unwrap();
        let misfit = tools.check_result("sum", &structured(json!({"sum": "3"}))).unwrap_err();
        assert_eq!(misfit.to_string(), "sum: \"3\" is not of type \"integer\"");
        assert_eq!(
            tools.check_result("sum", &CallToolResult::text("3")),
            Err(SchemaError::Missing)
        );
        tools.check_result("sum", &CallToolResult::error("no")).unwrap();
        tools.check_result("any", &CallToolResult::text("3")).unwrap();
        tools.check_result("none", &CallToolResult::text("3")).unwrap();
        let dialect = SchemaError::UnsupportedDialect("https://example.com/dialect".into());
        assert_eq!(tools.check_result("odd", &structured(json!({}))), Err(dialect.clone()));
        assert_eq!(tools.check_result("odd", &CallToolResult::text("3")), Err(dialect));
        tools.check_result("odd", &CallToolResult::error("no")).unwrap();
        let elsewhere = tools.check_result("elsewhere", &structured(json!({}))).unwrap_err();
        let text = "the schema is not valid: a reference is no JSON pointer";
        assert_eq!(elsewhere.to_string(), text);
        assert_eq!(tools.unusable("elsewhere").map(SchemaError::to_string).as_deref(), Some(text));
        assert_eq!((tools.unusable("sum"), tools.unusable("none")), (None, None));
        assert!(tools.check_arguments("sum", &raw(&json!({"sum": "3"}))).is_err());
        tools.check_arguments("odd", &raw(&json!({"sum": "3"}))).unwrap();
    }
}
