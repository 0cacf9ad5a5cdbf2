//! [`Router`]: the tools, prompts and resources of a server, as functions.

mod function;
mod misfit;
mod output;
mod registry;
mod serve;

use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use mcp_sansio::ServerConfig;
#[cfg(feature = "schemars")]
use mcp_sansio::json::Raw;
use mcp_sansio::model::{
    ListChanged, Prompt, Resource, ResourceTemplate, ResourcesCapability, Tool,
};
use mcp_sansio::subscription::ChangedList;
use serde::de::DeserializeOwned;

use crate::blocking::Threads;
use crate::connection_group::ConnectionGroup;
use crate::exchange::Exchange;
use function::{Function, arguments_of};
#[cfg(feature = "schemars")]
pub use output::Typed;
pub use output::{Failed, PromptOutput, ResourceOutput, ToolOutput};
use registry::{Registrations, Registry};

/// Tools, prompts and resources, each with a function. It is the complete handler of a simple server.
///
/// The router provides the lists, their pages, the change notifications and the errors for unknown names. A
/// function either blocks or returns a future. Where handlers are tasks, blocking functions run on separate threads
/// outside the runtime: see [`Blocking`](crate::Blocking).
///
/// Clones share everything. Entries that are added or removed while clients are connected are announced to them. A
/// function that captures a clone keeps the router alive as long as the function is registered.
///
/// ```
/// use mcp_sansio_driver::Router;
/// # #[cfg(feature = "schemars")] mod example {
/// # use mcp_sansio_driver::Router;
/// use mcp_sansio_driver::schemars::{self, JsonSchema};
/// use serde::Deserialize;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Sum {
///     /// The numbers to add.
///     numbers: Vec<f64>,
/// }
///
/// # pub fn example() {
/// let router = Router::new();
/// router.tool("sum", "Adds numbers up", |sum: Sum, _| {
///     sum.numbers.iter().sum::<f64>().to_string()
/// });
/// let config = router.config("calculator", "1.0");
/// # assert!(config.capabilities.tools.is_some());
/// # }
/// # }
/// # #[cfg(feature = "schemars")] example::example();
/// # _ = Router::new();
/// ```
///
/// To serve it, pass it to `serve_stdio(config, router)` of an adapter.
#[derive(Clone, Default)]
pub struct Router {
    shared: Arc<Mutex<Shared>>,
    group: ConnectionGroup,
    /// For blocking functions where handlers are tasks.
    threads: Arc<OnceLock<Threads>>,
}

#[derive(Default)]
struct Shared {
    registry: Registry,
}

impl Router {
    /// Creates an empty router.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the configuration of a server with the capabilities of the current entries: add entries first. Requests
    /// about a kind of entry that the router lacks now are refused, also after such an entry was added.
    pub fn config(&self, name: &str, version: &str) -> ServerConfig {
        let mut config = ServerConfig::new(name, version);
        let registry = &self.lock().registry;
        let notified = ListChanged::notified();
        config.capabilities.tools = (!registry.tools.is_empty()).then_some(notified);
        config.capabilities.prompts = (!registry.prompts.is_empty()).then_some(notified);
        let has_resources = !registry.resources.is_empty() || !registry.templates.is_empty();
        config.capabilities.resources = has_resources.then(ResourcesCapability::notified);
        config
    }

    /// Sets the number of entries on each page of a list. By default a list has one page.
    pub fn pages_of(&self, items: usize) -> &Self {
        self.lock().registry.set_page(items);
        self
    }

    /// Adds a tool, or replaces the one with this name. The schema of the arguments is derived from their type. So
    /// is the schema of the output if that is `Typed`.
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
        self.tool_with(described::<A, O>(name, description), run)
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
        self.async_tool_with(described::<A, F::Output>(name, description), run)
    }

    /// Exists only for a compiler error that names the missing feature instead of a missing method.
    #[cfg(not(feature = "schemars"))]
    #[doc(hidden)]
    pub fn tool<A: needs_schemars::Schema>(&self, _: &str, _: &str, _: A) -> &Self {
        self
    }

    /// As `tool`.
    #[cfg(not(feature = "schemars"))]
    #[doc(hidden)]
    pub fn async_tool<A: needs_schemars::Schema>(&self, _: &str, _: &str, _: A) -> &Self {
        self
    }

    /// Adds a tool with a description by hand, or replaces the one with this name.
    ///
    /// Arguments that do not match their type are refused with
    /// [`reject_arguments`](mcp_sansio::Server::reject_arguments) and a text that contains the path of the error.
    /// They are not validated against the schema.
    pub fn tool_with<A, O>(
        &self,
        tool: Tool<'static>,
        run: impl Fn(A, &Exchange) -> O + Send + Sync + 'static,
    ) -> &Self
    where
        A: DeserializeOwned,
        O: ToolOutput,
    {
        let run =
            move |exchange: &Exchange| run(arguments_of(exchange)?, exchange).into_tool_result();
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
        let run = move |exchange: Exchange| {
            let begun = arguments_of(&exchange).map(|arguments| run(arguments, exchange));
            async { begun?.await.into_tool_result() }
        };
        self.add(ChangedList::Tools, tool, Function::asynchronous(run))
    }

    /// Adds a prompt, or replaces the one with this name.
    pub fn prompt<A, O>(
        &self,
        prompt: Prompt<'static>,
        run: impl Fn(A, &Exchange) -> O + Send + Sync + 'static,
    ) -> &Self
    where
        A: DeserializeOwned,
        O: PromptOutput,
    {
        let run =
            move |exchange: &Exchange| run(arguments_of(exchange)?, exchange).into_prompt_result();
        self.add(ChangedList::Prompts, prompt, Function::blocking(run))
    }

    /// As [`prompt`](Self::prompt), with a function that returns a future.
    pub fn async_prompt<A, F>(
        &self,
        prompt: Prompt<'static>,
        run: impl Fn(A, Exchange) -> F + Send + Sync + 'static,
    ) -> &Self
    where
        A: DeserializeOwned,
        F: Future<Output: PromptOutput> + Send + 'static,
    {
        let run = move |exchange: Exchange| {
            let begun = arguments_of(&exchange).map(|arguments| run(arguments, exchange));
            async { begun?.await.into_prompt_result() }
        };
        self.add(ChangedList::Prompts, prompt, Function::asynchronous(run))
    }

    /// Adds a resource, or replaces the one with this URI. The function reads it.
    pub fn resource<O: ResourceOutput>(
        &self,
        resource: Resource<'static>,
        read: impl Fn(&Exchange) -> O + Send + Sync + 'static,
    ) -> &Self {
        let (uri, mime_type) = (resource.uri.clone(), resource.mime_type.clone());
        let read =
            move |exchange: &Exchange| read(exchange).into_contents(&uri, mime_type.as_deref());
        self.add(ChangedList::Resources, resource, Function::blocking(read))
    }

    /// As [`resource`](Self::resource), with a function that returns a future.
    pub fn async_resource<F>(
        &self,
        resource: Resource<'static>,
        read: impl Fn(Exchange) -> F + Send + Sync + 'static,
    ) -> &Self
    where
        F: Future<Output: ResourceOutput> + Send + 'static,
    {
        let (uri, mime_type) = (resource.uri.clone(), resource.mime_type.clone());
        let read = move |exchange: Exchange| {
            let (uri, mime_type, read) = (uri.clone(), mime_type.clone(), read(exchange));
            async move { read.await.into_contents(&uri, mime_type.as_deref()) }
        };
        self.add(ChangedList::Resources, resource, Function::asynchronous(read))
    }

    /// Adds a resource template, or replaces the same one. Its function is called with every URI that no resource
    /// has, and returns `None` for URIs that do not match the template.
    pub fn template<O: ResourceOutput>(
        &self,
        template: ResourceTemplate<'static>,
        read: impl Fn(&str, &Exchange) -> Option<O> + Send + Sync + 'static,
    ) -> &Self {
        let mime_type = template.mime_type.clone();
        let read = move |exchange: &Exchange| {
            let uri = serve::uri_of(exchange).unwrap_or_default();
            let output = read(&uri, exchange).ok_or_else(Failed::not_mine)?;
            output.into_contents(&uri, mime_type.as_deref())
        };
        self.add(ChangedList::Resources, template, Function::blocking(read))
    }

    /// Removes a tool. Returns whether it existed.
    pub fn remove_tool(&self, name: &str) -> bool {
        self.remove(ChangedList::Tools, |registry| registry.tools.remove(name))
    }

    /// Removes a prompt. Returns whether it existed.
    pub fn remove_prompt(&self, name: &str) -> bool {
        self.remove(ChangedList::Prompts, |registry| registry.prompts.remove(name))
    }

    /// Removes a resource. Returns whether it existed.
    pub fn remove_resource(&self, uri: &str) -> bool {
        self.remove(ChangedList::Resources, |registry| registry.resources.remove(uri))
    }

    /// Removes a template. Returns whether it existed.
    pub fn remove_template(&self, uri_template: &str) -> bool {
        self.remove(ChangedList::Resources, |registry| registry.templates.remove(uri_template))
    }

    /// Sends the notification that a resource has changed to the clients that are subscribed to it.
    pub fn resource_updated(&self, uri: &str) {
        self.group.resource_updated(uri);
    }

    fn add<T>(&self, list: ChangedList, item: T, function: Function) -> &Self
    where
        Registry: AsMut<Registrations<T>>,
        T: registry::Named,
    {
        self.change(list, |registry| registry.as_mut().put(item, function));
        self
    }

    /// Changes the registry, and announces the change to all connections.
    fn change<T>(&self, list: ChangedList, change: impl FnOnce(&mut Registry) -> T) -> T {
        let changed = change(&mut self.lock().registry);
        self.group.list_changed(list);
        changed
    }

    /// Removes an entry, and announces the removal if the entry existed.
    fn remove<T>(
        &self,
        list: ChangedList,
        remove: impl FnOnce(&mut Registry) -> Option<T>,
    ) -> bool {
        let removed = remove(&mut self.lock().registry);
        if removed.is_some() {
            self.change(list, |_| ());
        }
        // The entries are dropped here, without the lock.
        removed.is_some()
    }

    fn threads(&self) -> &Threads {
        self.threads.get_or_init(Threads::new)
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        // No function of the application runs under the lock.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Describes a tool with the schemas of its argument and output types.
#[cfg(feature = "schemars")]
fn described<A: schemars::JsonSchema, O: ToolOutput>(
    name: &str,
    description: &str,
) -> Tool<'static> {
    let schema =
        Raw::from_serialize(&schemars::SchemaGenerator::default().into_root_schema_for::<A>());
    // `schemars` returns a JSON object; the fallback accepts any object.
    let mut tool = Tool::new(name.to_owned(), schema.unwrap_or(Raw::EMPTY_OBJECT));
    tool.description = Some(description.to_owned().into());
    tool.output_schema = O::output_schema();
    tool
}

#[cfg(not(feature = "schemars"))]
mod needs_schemars {
    #![allow(unnameable_types, reason = "nothing implements it")]

    /// No type implements this trait.
    #[diagnostic::on_unimplemented(
        message = "the schema of the arguments of a tool needs the feature `schemars`",
        label = "the type of its first argument has no schema",
        note = "enable the feature `schemars` of the adapter, or describe the tool by hand, for \
                `tool_with`"
    )]
    pub trait Schema {}
}

impl fmt::Debug for Router {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Router")
            .field("registry", &self.lock().registry)
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, feature = "schemars"))]
mod tests {
    use mcp_sansio::schema::Json;
    use schemars::JsonSchema;
    use serde::Serialize;

    use super::*;

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

    #[test]
    fn only_typed_object_results_have_an_output_schema() {
        let schema = |tool: Tool<'static>| tool.output_schema.map(|schema| schema.to_string());
        let typed = schema(described::<Sum, Typed<Sum>>("t", "")).unwrap();
        assert!(typed.contains(r#""description":"Of all of them""#), "{typed}");
        assert_eq!(schema(described::<Sum, Result<Typed<Sum>, Failed>>("t", "")), Some(typed));
        assert_eq!(schema(described::<Sum, Typed<Vec<Sum>>>("t", "")), None);
        assert_eq!(schema(described::<Sum, Json<Sum>>("t", "")), None);
        assert_eq!(schema(described::<Sum, Result<String, Failed>>("t", "")), None);
        assert!(
            Typed(Sum { sum: 3 })
                .into_tool_result()
                .unwrap()
                .to_string()
                .contains(r#""structuredContent":{"sum":3}"#)
        );
    }
}
