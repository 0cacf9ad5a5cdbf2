//! Routers in other routers.

use std::sync::Arc;

use mcp_sansio::json::Raw;
use mcp_sansio::subscription::ChangedList;

use super::Router;
use super::completions::{ArgumentCompletion, Owner};
use super::function::Function;
use super::methods::CustomMethod;
use super::middleware::{Middleware, Wrapped};
use super::registry::{Named, Registrations, Registry};
use super::visibility::{EntryKind, Filter, OwnFilters};

/// Two routers have entries with the same name or URI. The caller is at fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("both routers have {}", names.join(", "))]
#[non_exhaustive]
pub struct DuplicateNames {
    /// The kinds and names of the entries, for example `tool search`.
    pub names: Vec<String>,
}

/// # Composition
impl Router {
    /// Adds all entries that another router has now. The names of its tools and prompts get a prefix, for example
    /// `files_`; its resources and templates keep their URIs, and its methods their names.
    ///
    /// Its functions run in its own middleware, inside the middleware of this router: there
    /// [`Next::name`](crate::Next::name) has no prefix, but the request has. Its [filters](Self::show_if) hide its entries
    /// here, too. Later changes of the other router have no effect here, and neither has its
    /// [`resource_updated`](Self::resource_updated): call that of this router.
    ///
    /// # Errors
    ///
    /// [`DuplicateNames`] if this router already has some of the names or URIs. Nothing is added.
    pub fn mount(&self, prefix: &str, other: &Self) -> Result<&Self, DuplicateNames> {
        // Copied first: the two may be the same router, with one lock.
        let (registry, around) = {
            let shared = other.lock();
            let (middleware, filters) =
                (Arc::clone(&shared.middleware), Arc::clone(&shared.filters));
            (shared.registry.clone(), Around { middleware, filters })
        };
        let mounted = mounted(registry, prefix, &around);
        let lists = [
            (!mounted.tools.is_empty(), ChangedList::Tools),
            (!mounted.prompts.is_empty(), ChangedList::Prompts),
            (
                !mounted.resources.is_empty() || !mounted.templates.is_empty(),
                ChangedList::Resources,
            ),
        ];
        let mut shared = self.lock();
        let names = shared.registry.common(&mounted);
        if !names.is_empty() {
            return Err(DuplicateNames { names });
        }
        shared.registry.append(mounted);
        drop(shared);
        let changed = lists.into_iter().filter(|(has_entries, _)| *has_entries);
        changed.for_each(|(_, list)| self.group.list_changed(list));
        Ok(self)
    }
}

/// The middleware and the filters of a mounted router.
struct Around {
    middleware: Arc<[Middleware]>,
    filters: Arc<[Filter]>,
}

impl Around {
    /// Returns the function of an entry in them.
    fn wrapped(&self, kind: EntryKind, name: &str, function: Function) -> Function {
        if self.middleware.is_empty() && self.filters.is_empty() {
            return function;
        }
        Function::Wrapped(Arc::new(Wrapped {
            middleware: Arc::clone(&self.middleware),
            name: name.into(),
            function,
            filters: OwnFilters { filters: Arc::clone(&self.filters), kind },
        }))
    }
}

/// Returns the entries with their new names, each function in the middleware and the filters of its router.
fn mounted(mut registry: Registry, prefix: &str, around: &Around) -> Registry {
    let name = |name: &str| format!("{prefix}{name}");
    registry.tools.convert(|(mut tool, function)| {
        let function = around.wrapped(EntryKind::Tool, &tool.name, function);
        tool.name = name(&tool.name).into();
        (tool, function)
    });
    registry.prompts.convert(|(mut prompt, function)| {
        let function = around.wrapped(EntryKind::Prompt, &prompt.name, function);
        prompt.name = name(&prompt.name).into();
        (prompt, function)
    });
    registry.resources.convert(|(resource, function)| {
        let function = around.wrapped(EntryKind::Resource, &resource.uri, function);
        (resource, function)
    });
    registry.templates.convert(|(template, (pattern, function))| {
        let function = around.wrapped(EntryKind::Template, &template.uri_template, function);
        (template, (pattern, function))
    });
    registry.completions = registry
        .completions
        .into_iter()
        .map(|completion| {
            let ArgumentCompletion { owner, argument, function } = completion;
            let kind = match owner {
                Owner::Prompt(_) => EntryKind::Prompt,
                Owner::Template(_) => EntryKind::Template,
            };
            let function = around.wrapped(kind, owner.name(), function);
            let owner = match owner {
                Owner::Prompt(prompt) => Owner::Prompt(name(&prompt)),
                template => template,
            };
            ArgumentCompletion { owner, argument, function }
        })
        .collect();
    for method in &mut registry.methods {
        method.function = around.wrapped(EntryKind::Method, method.name, method.function.clone());
    }
    registry
}

impl Registry {
    /// Returns the entries that both have.
    fn common(&self, other: &Self) -> Vec<String> {
        let mut names = Vec::new();
        common(&self.tools, &other.tools, &mut names);
        common(&self.prompts, &other.prompts, &mut names);
        common(&self.resources, &other.resources, &mut names);
        common(&self.templates, &other.templates, &mut names);
        let both = other
            .methods
            .iter()
            .filter(|theirs| self.methods.iter().any(|ours| ours.name == theirs.name));
        names.extend(both.map(|both| format!("{} {}", CustomMethod::KIND, both.name)));
        names
    }

    fn append(&mut self, other: Self) {
        self.tools.append(other.tools);
        self.prompts.append(other.prompts);
        self.resources.append(other.resources);
        self.templates.append(other.templates);
        self.declares_resources |= other.declares_resources;
        self.completions.extend(other.completions);
        self.methods.extend(other.methods);
        for (name, settings) in other.extensions {
            // A method declares its extension with empty settings.
            let known = self.extensions.entry(name).or_insert(Raw::EMPTY_OBJECT);
            if *known == Raw::EMPTY_OBJECT {
                *known = settings;
            }
        }
    }
}

fn common<T: Named>(ours: &Registrations<T>, theirs: &Registrations<T>, names: &mut Vec<String>) {
    let both = theirs.keys().filter(|key| ours.has(key));
    names.extend(both.map(|key| format!("{} {key}", T::KIND)));
}
