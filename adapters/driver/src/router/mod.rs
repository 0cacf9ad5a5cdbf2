//! [`Router`]: the tools, prompts and resources of a server, as functions.

mod arguments;
#[cfg(feature = "jsonschema")]
mod checks;
#[cfg(not(feature = "jsonschema"))]
#[path = "no_checks.rs"]
mod checks;
mod completions;
mod function;
mod listen;
mod methods;
mod middleware;
mod misfit;
mod mount;
mod output;
mod prompts;
mod registry;
mod resources;
mod serve;
mod text_values;
mod tools;
mod uri_template;
mod visibility;

use std::fmt;
use std::sync::{Arc, OnceLock, PoisonError};

use mcp_sansio::ServerConfig;
use mcp_sansio::model::{EmptyCapability, ListChanged, ResourcesCapability};
use mcp_sansio::subscription::ChangedList;

use crate::blocking::Threads;
use crate::connection_group::ConnectionGroup;
use crate::sync::{Mutex, MutexGuard};
use crate::trace;
pub use function::FunctionResult;
use middleware::Middleware;
pub use middleware::Next;
pub use mount::DuplicateNames;
#[cfg(feature = "schemars")]
pub use output::Typed;
pub use output::{Failed, PromptOutput, ResourceOutput, ToolOutput};
use registry::{Named, Registrations, Registry};
#[cfg(feature = "schemars")]
pub use tools::tool_for;
pub use uri_template::InvalidUriTemplate;
pub use visibility::Entry;
use visibility::Filter;

/// Tools, prompts and resources, each with a function. It is the complete handler of a simple server.
///
/// The router provides the lists, their pages, the change notifications and the errors for unknown names. A
/// function either blocks or returns a future. Where handlers are tasks, blocking functions run on separate threads
/// outside the runtime: see [`Blocking`](crate::Blocking).
///
/// | entry | blocking function | function that returns a future | described by hand |
/// |---|---|---|---|
/// | tool | `tool` | `async_tool` | `tool_with`, `async_tool_with` |
/// | prompt | `prompt` | `async_prompt` | `prompt_with`, `async_prompt_with` |
/// | resource | `resource` | `async_resource` | `resource_with`, `async_resource_with` |
/// | resource template | `template` | `async_template` | `template_with`, `async_template_with` |
/// | completion | `completion` | `async_completion` | |
/// | method of an extension | `method` | `async_method` | |
///
/// `tool`, `async_tool`, `prompt` and `async_prompt` describe the arguments by their type, which needs the feature
/// `schemars`.
/// [`wrap`](Self::wrap) adds middleware, [`show_if`](Self::show_if) hides entries from some clients, and
/// [`mount`](Self::mount) adds the entries of another router.
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
    /// In the order in which they run.
    middleware: Arc<[Middleware]>,
    /// An entry is shown if all of them show it.
    filters: Arc<[Filter]>,
}

impl Router {
    /// Creates an empty router.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the configuration of a server with the capabilities of the current entries: add entries first. Requests
    /// about a kind of entry that the router lacks now are refused, also after such an entry was added. Resources can be
    /// [declared](Self::declare_resources) without an entry.
    ///
    /// Add middleware and filters first as well: with them, the router decides about subscriptions of 2026-07-28
    /// ([`Listening::Asked`](mcp_sansio::config::Listening::Asked)).
    pub fn config(&self, name: &str, version: &str) -> ServerConfig {
        let mut config = ServerConfig::new(name, version);
        config.listening = self.listening();
        let registry = &self.lock().registry;
        let notified = ListChanged::notified();
        config.capabilities.tools = (!registry.tools.is_empty()).then_some(notified);
        config.capabilities.prompts = (!registry.prompts.is_empty()).then_some(notified);
        let has_resources = registry.declares_resources
            || !registry.resources.is_empty()
            || !registry.templates.is_empty();
        config.capabilities.resources = has_resources.then(ResourcesCapability::notified);
        let has_completions = !registry.completions.is_empty();
        config.capabilities.completions = has_completions.then(EmptyCapability::default);
        for (name, settings) in &registry.extensions {
            config.capabilities =
                config.capabilities.with_extension(name.clone(), settings.clone());
        }
        config
    }

    /// Sets the number of entries on each page of a list. By default a list has one page.
    pub fn pages_of(&self, items: usize) -> &Self {
        self.lock().registry.set_page(items);
        self
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

    /// Returns the kinds and names of the entries that have replaced an entry with the same name or URI, for example
    /// `tool search`. An entry that was removed before it was added again replaces none. The test of a server checks
    /// that there are none, if its entries do not change.
    pub fn duplicates(&self) -> Vec<String> {
        self.lock().registry.duplicates.clone()
    }

    fn add<T: Named>(&self, list: ChangedList, item: T, function: T::Served) -> &Self
    where
        Registry: AsMut<Registrations<T>>,
    {
        let name = item.key().to_owned();
        let replaced = self.change(list, |registry| {
            let replaced = registry.as_mut().put(item, function);
            if replaced.is_replaced {
                registry.note_duplicate(format!("{} {name}", T::KIND));
            }
            replaced
        });
        if replaced.is_replaced {
            trace::replaced(T::KIND, &name);
        }
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

    fn lock(&self) -> MutexGuard<'_, Shared> {
        // No function of the application runs under the lock.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(not(feature = "schemars"))]
mod needs_schemars {
    #![allow(unnameable_types, reason = "nothing implements it")]

    /// No type implements this trait.
    #[diagnostic::on_unimplemented(
        message = "arguments that are described by their type need the feature `schemars`",
        label = "needs the feature `schemars`",
        note = "enable the feature `schemars` of the adapter, or describe the tool or prompt by \
                hand: `tool_with`, `async_tool_with`, `prompt_with`, `async_prompt_with`"
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
