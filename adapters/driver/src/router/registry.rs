//! `Registry`: the entries of a router, each with its function.

use std::fmt;
use std::sync::Arc;

use mcp_sansio::Payload;
use mcp_sansio::json::Str;
use mcp_sansio::model::method::PagedMethod;
use mcp_sansio::model::{Prompt, Resource, ResourceTemplate, Tool};
use mcp_sansio::pagination::{InvalidCursor, Pager};

use super::function::Function;
use crate::exchange::Exchange;

/// The tools, prompts, resources and templates of a router.
#[derive(Debug, Default)]
pub(super) struct Registry {
    pub(super) tools: Registrations<Tool<'static>>,
    pub(super) prompts: Registrations<Prompt<'static>>,
    pub(super) resources: Registrations<Resource<'static>>,
    pub(super) templates: Registrations<ResourceTemplate<'static>>,
}

/// The entries of one kind, in the order in which they were added.
pub(super) struct Registrations<T> {
    /// Shared, so that a list can be sent while another thread changes it.
    things: Arc<Entries<T>>,
    pager: Pager,
    version: u64,
}

#[derive(Clone)]
struct Entries<T> {
    items: Vec<T>,
    functions: Vec<Function>,
}

/// The entries before a change, to be dropped after the lock is released.
pub(super) struct ReplacedEntries<T> {
    _things: Arc<Entries<T>>,
}

/// An entry with the name or URI that requests use.
pub(super) trait Named: Clone + Payload {
    fn key(&self) -> &str;
}

impl<T: Named> Registrations<T> {
    pub(super) fn is_empty(&self) -> bool {
        self.things.items.is_empty()
    }

    /// Adds an entry, or replaces the one with the same key. The caller drops the old entries without the lock.
    #[must_use = "the drop may run code of the application"]
    pub(super) fn put(&mut self, item: T, function: Function) -> ReplacedEntries<T> {
        self.version += 1;
        let place = self.place(item.key());
        let old = Arc::clone(&self.things);
        let things = Arc::make_mut(&mut self.things);
        let slots = place
            .and_then(|place| things.items.get_mut(place).zip(things.functions.get_mut(place)));
        match slots {
            Some((its_item, its_function)) => (*its_item, *its_function) = (item, function),
            None => {
                things.items.push(item);
                things.functions.push(function);
            }
        }
        ReplacedEntries { _things: old }
    }

    /// Removes an entry, if it exists. The caller drops the old entries without the lock.
    pub(super) fn remove(&mut self, name: &str) -> Option<ReplacedEntries<T>> {
        let place = self.place(name)?;
        self.version += 1;
        let old = Arc::clone(&self.things);
        let things = Arc::make_mut(&mut self.things);
        // Both lists have the same length, and the index is in range.
        things.items.remove(place);
        things.functions.remove(place);
        Some(ReplacedEntries { _things: old })
    }

    /// Returns the function of an entry.
    pub(super) fn function(&self, name: &str) -> Option<Function> {
        self.things.functions.get(self.place(name)?).cloned()
    }

    /// Returns all functions, in order.
    pub(super) fn functions(&self) -> Vec<Function> {
        self.things.functions.clone()
    }

    /// Returns a snapshot from which pages of the list can be sent without the registry.
    pub(super) fn list(&self) -> Listing<T> {
        Listing { things: Arc::clone(&self.things), pager: self.pager.version(self.version) }
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.things.items.iter().position(|item| item.key() == name)
    }
}

/// A snapshot of a list.
pub(super) struct Listing<T> {
    things: Arc<Entries<T>>,
    pager: Pager,
}

impl<T: Named> Listing<T> {
    /// Responds with a page of the list.
    pub(super) fn answer<M: PagedMethod>(
        &self,
        exchange: &Exchange,
        cursor: Option<&Str<'_>>,
    ) -> Result<Result<(), mcp_sansio::RespondError>, InvalidCursor> {
        let page = self.pager.page(&self.things.items, cursor)?;
        Ok(exchange.respond(&page.result::<M>()))
    }
}

impl Registry {
    pub(super) const fn set_page(&mut self, items: usize) {
        self.tools.pager = Pager::new(items);
        self.prompts.pager = Pager::new(items);
        self.resources.pager = Pager::new(items);
        self.templates.pager = Pager::new(items);
    }
}

impl<T> Default for Registrations<T> {
    fn default() -> Self {
        let things = Entries { items: Vec::new(), functions: Vec::new() };
        Self { things: Arc::new(things), pager: Pager::new(usize::MAX), version: 0 }
    }
}

impl<T> fmt::Debug for Registrations<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = formatter.debug_struct("Registrations");
        debug.field("things", &self.things.items.len()).finish_non_exhaustive()
    }
}

macro_rules! named {
    ($($Thing:ident, $key:ident, $registrations:ident;)+) => {$(
        impl Named for $Thing<'static> {
            fn key(&self) -> &str {
                &self.$key
            }
        }

        impl AsMut<Registrations<$Thing<'static>>> for Registry {
            fn as_mut(&mut self) -> &mut Registrations<$Thing<'static>> {
                &mut self.$registrations
            }
        }
    )+};
}

named! {
    Tool, name, tools;
    Prompt, name, prompts;
    Resource, uri, resources;
    ResourceTemplate, uri_template, templates;
}
