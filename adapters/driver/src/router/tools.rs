//! The tools of a router.

use std::future::Future;
use std::sync::Arc;

use mcp_sansio::ErrorCode;
#[cfg(feature = "schemars")]
use mcp_sansio::json::Raw;
use mcp_sansio::model::{TaskSupport, Tool};
use mcp_sansio::subscription::ChangedList;
use serde::de::DeserializeOwned;

use super::Router;
use super::arguments::arguments_of;
use super::checks::ToolChecks;
use super::function::Function;
use super::output::{Failed, ToolOutput};
use crate::exchange::Exchange;

/// # Tools
impl Router {
    /// Adds a tool whose function blocks, or replaces the one with this name. The schema of the arguments is derived
    /// from their type. So is the schema of the output if that is `Typed`. A function without arguments takes `()`.
    ///
    /// Rules such as `#[schemars(range(min = 1))]` are only shown to clients, unless the feature `jsonschema` compares
    /// arguments with them. Import the trait with `use …::schemars::{self, JsonSchema}`: its derive looks for a crate
    /// with the name `schemars`.
    #[cfg(feature = "schemars")]
    pub fn tool<A, O>(
        &self,
        name: &str,
        description: &str,
        run: impl Fn(A, &Exchange) -> O + Send + Sync + 'static,
    ) -> &Self
    where
        A: DeserializeOwned + schemars::JsonSchema,
        O: ToolOutput,
    {
        self.tool_with(tool_for::<A, O>(name, description), run)
    }

    /// As `tool`, with a function that returns a future.
    #[cfg(feature = "schemars")]
    pub fn async_tool<A, F>(
        &self,
        name: &str,
        description: &str,
        run: impl Fn(A, Exchange) -> F + Send + Sync + 'static,
    ) -> &Self
    where
        A: DeserializeOwned + schemars::JsonSchema,
        F: Future<Output: ToolOutput> + Send + 'static,
    {
        self.async_tool_with(tool_for::<A, F::Output>(name, description), run)
    }

    /// Exists only for a compiler error that names the missing feature instead of a missing method.
    #[cfg(not(feature = "schemars"))]
    #[doc(hidden)]
    pub fn tool<A: super::needs_schemars::Schema>(&self, _: &str, _: &str, _: A) -> &Self {
        self
    }

    /// As `tool`.
    #[cfg(not(feature = "schemars"))]
    #[doc(hidden)]
    pub fn async_tool<A: super::needs_schemars::Schema>(&self, _: &str, _: &str, _: A) -> &Self {
        self
    }

    /// Adds a tool with a description by hand, or replaces the one with this name.
    ///
    /// Arguments that do not match their type are refused with
    /// [`reject_arguments`](mcp_sansio::Server::reject_arguments) and a text that contains the path of the error. With
    /// the feature `jsonschema`, arguments and structured results are compared with the schemas of the tool first: a
    /// result that does not fit is an error `-32603`, and so is every call of a tool whose schema is not valid. A
    /// result that ends a task is not compared.
    ///
    /// A call that the [`task_support`](Tool::task_support) of the tool does not allow is rejected, as
    /// [`Server::task_mode`](mcp_sansio::Server::task_mode) describes; a tool without it is never run as a task. The
    /// function of a tool that can run as a task calls [`Exchange::task_mode`], and begins the task if it returns
    /// [`TaskMode::Task`](mcp_sansio::request::TaskMode::Task).
    pub fn tool_with<A, O>(
        &self,
        tool: Tool<'static>,
        run: impl Fn(A, &Exchange) -> O + Send + Sync + 'static,
    ) -> &Self
    where
        A: DeserializeOwned,
        O: ToolOutput,
    {
        let (checks, support) = (ToolChecks::of(&tool), support_of(&tool));
        let run = move |exchange: &Exchange| {
            check_task(exchange, &support)?;
            let arguments = arguments_of(exchange, &checks)?;
            checks.result(run(arguments, exchange).into_tool_result())
        };
        self.add(ChangedList::Tools, tool, Function::blocking(run))
    }

    /// As [`tool_with`](Self::tool_with), with a function that returns a future.
    pub fn async_tool_with<A, F>(
        &self,
        tool: Tool<'static>,
        run: impl Fn(A, Exchange) -> F + Send + Sync + 'static,
    ) -> &Self
    where
        A: DeserializeOwned,
        F: Future<Output: ToolOutput> + Send + 'static,
    {
        let (checks, support) = (Arc::new(ToolChecks::of(&tool)), support_of(&tool));
        let run = move |exchange: Exchange| {
            let checks = Arc::clone(&checks);
            let arguments =
                check_task(&exchange, &support).and_then(|()| arguments_of(&exchange, &checks));
            let begun = arguments.map(|arguments| run(arguments, exchange));
            async move { checks.result(begun?.await.into_tool_result()) }
        };
        self.add(ChangedList::Tools, tool, Function::asynchronous(run))
    }
}

fn support_of(tool: &Tool<'static>) -> TaskSupport<'static> {
    let support = tool.execution.as_ref().and_then(|execution| execution.task_support.clone());
    support.unwrap_or(TaskSupport::Forbidden)
}

/// Rejects a call that the task support of the tool does not allow. After an error, the exchange has been answered.
fn check_task(exchange: &Exchange, support: &TaskSupport<'_>) -> Result<(), Failed> {
    let asks = exchange.request().context.task.is_some();
    if !asks && *support != TaskSupport::Required {
        return Ok(());
    }
    match exchange.task_mode(support) {
        Ok(Some(_)) => Ok(()),
        Ok(None) => {
            Err(Failed::refused(ErrorCode::METHOD_NOT_FOUND, "the tool does not support this call"))
        }
        Err(error) => Err(Failed::refused(ErrorCode::INTERNAL_ERROR, error.to_string())),
    }
}

/// Describes a tool with the schemas of its argument and output types, as `Router::tool` does. For tools with further
/// members, such as annotations:
///
/// ```
/// use mcp_sansio::model::ToolAnnotations;
/// use mcp_sansio_driver::schemars::{self, JsonSchema};
/// use mcp_sansio_driver::{Router, tool_for};
///
/// #[derive(serde::Deserialize, JsonSchema)]
/// struct Query {
///     text: String,
/// }
///
/// let annotations = ToolAnnotations::default().read_only_hint(true);
/// let tool = tool_for::<Query, String>("search", "Searches the index").annotations(annotations);
/// let router = Router::new();
/// router.tool_with(tool, |query: Query, _| format!("nothing for {}", query.text));
/// ```
#[cfg(feature = "schemars")]
pub fn tool_for<A: schemars::JsonSchema, O: ToolOutput>(
    name: &str,
    description: &str,
) -> Tool<'static> {
    let mut tool = Tool::new(name.to_owned(), arguments_schema::<A>());
    tool.description = Some(description.to_owned().into());
    tool.output_schema = O::output_schema();
    tool
}

/// Returns the schema of arguments, which are an object in every revision. A type such as `()` or `serde_json::Value` has
/// another schema or none: then any object is described. One tool must not make the list of all tools invalid.
#[cfg(feature = "schemars")]
fn arguments_schema<A: schemars::JsonSchema>() -> Raw<'static> {
    let mut schema = schemars::SchemaGenerator::default().into_root_schema_for::<A>();
    match schema.get("type") {
        Some(kind) if *kind == "object" => {}
        // An enum, for example: its variants are alternatives.
        None if schema.as_object().is_some_and(|members| !members.is_empty()) => {
            schema.insert("type".into(), "object".into());
        }
        _ => schema = schemars::json_schema!({ "type": "object" }),
    }
    // `schemars` returns a JSON object.
    Raw::from_serialize(&schema).unwrap_or(Raw::EMPTY_OBJECT)
}

#[cfg(all(test, feature = "schemars"))]
mod tests {
    use mcp_sansio::schema::Json;
    use schemars::JsonSchema;
    use serde::Serialize;

    use super::*;
    use crate::router::{Failed, Typed};

    #[derive(JsonSchema, Serialize)]
    struct Sum {
        /// Of all of them
        sum: i64,
    }

    #[derive(JsonSchema, Serialize)]
    struct Found {
        #[serde(skip_serializing_if = "Vec::is_empty")]
        notes: Vec<String>,
        #[serde(rename(serialize = "total"))]
        count: u32,
    }

    #[test]
    fn a_tool_output_schema_describes_the_serialized_form() {
        let schema = Typed::<Found>::output_schema().unwrap();
        assert_eq!(schema.get("required").unwrap().as_json(), r#"["total"]"#);
        assert!(schema.pointer("/properties/total").is_some());
        assert!(schema.pointer("/properties/notes").is_some());
    }

    #[derive(JsonSchema)]
    #[serde(tag = "kind")]
    #[allow(dead_code, reason = "only its schema matters")]
    enum Either {
        One { a: u8 },
        Other,
    }

    #[test]
    fn the_schema_of_arguments_is_that_of_an_object() {
        let schema = |tool: Tool<'static>| tool.input_schema.to_string();
        let any = r#"{"type":"object"}"#;
        assert_eq!(schema(tool_for::<(), String>("t", "")), any);
        let of_value = schema(tool_for::<serde_json::Value, String>("t", ""));
        assert!(of_value.contains(r#""type":"object""#), "{of_value}");
        assert_eq!(schema(tool_for::<String, String>("t", "")), any);
        assert_eq!(schema(tool_for::<Vec<u8>, String>("t", "")), any);
        let either = schema(tool_for::<Either, String>("t", ""));
        assert!(either.contains("oneOf") && either.contains(r#""type":"object""#), "{either}");
    }

    #[test]
    fn only_typed_object_results_have_an_output_schema() {
        let schema = |tool: Tool<'static>| tool.output_schema.map(|schema| schema.to_string());
        let typed = schema(tool_for::<Sum, Typed<Sum>>("t", "")).unwrap();
        assert!(typed.contains(r#""description":"Of all of them""#), "{typed}");
        assert_eq!(schema(tool_for::<Sum, Result<Typed<Sum>, Failed>>("t", "")), Some(typed));
        assert_eq!(schema(tool_for::<Sum, Typed<Vec<Sum>>>("t", "")), None);
        assert_eq!(schema(tool_for::<Sum, Json<Sum>>("t", "")), None);
        assert_eq!(schema(tool_for::<Sum, Result<String, Failed>>("t", "")), None);
        assert!(
            Typed(Sum { sum: 3 })
                .into_tool_result()
                .unwrap()
                .to_string()
                .contains(r#""structuredContent":{"sum":3}"#)
        );
    }
}
