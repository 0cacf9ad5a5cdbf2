//! `Registry`: the entries of a router, each with its function.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use mcp_sansio::Payload;
use mcp_sansio::json::{Raw, Str};
use mcp_sansio::model::method::PagedMethod;
use mcp_sansio::model::{Prompt, Resource, ResourceTemplate, Tool};
use mcp_sansio::pagination::{InvalidCursor, Pager};

use super::completions::{ArgumentCompletion, Owner};
use super::function::Function;
use super::methods::CustomMethod;
use super::uri_template::UriTemplate;
use super::visibility::{EntryKind, OwnFilters, is_shown};
use crate::exchange::Exchange;

/// The entries of a router.
#[derive(Clone, Debug, Default)]
pub(super) struct Registry {
    pub(super) tools: Registrations<Tool<'static>>,
    pub(super) prompts: Registrations<Prompt<'static>>,
    pub(super) resources: Registrations<Resource<'static>>,
    pub(super) templates: Registrations<ResourceTemplate<'static>>,
    /// Whether the capability is declared without an entry.
    pub(super) declares_resources: bool,
    pub(super) completions: Vec<ArgumentCompletion>,
    pub(super) methods: Vec<CustomMethod>,
    /// The settings of each declared extension.
    pub(super) extensions: BTreeMap<String, Raw<'static>>,
    /// The kinds and names of entries that have replaced another one.
    pub(super) duplicates: Vec<String>,
}

/// The entries of one kind, in the order in which they were added.
#[derive(Clone)]
pub(super) struct Registrations<T: Named> {
    /// Shared, so that a list can be sent while another thread changes it.
    things: Arc<Entries<T>>,
    pager: Pager,
    version: u64,
}

#[derive(Clone)]
pub(super) struct Entries<T: Named> {
    items: Vec<T>,
    functions: Vec<T::Served>,
}

impl<T: Named> Entries<T> {
    /// Returns the entries with their functions, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&T, &T::Served)> {
        self.items.iter().zip(&self.functions)
    }
}

/// The entries before a change, to be dropped after the lock is released.
pub(super) struct ReplacedEntries<T: Named> {
    _things: Arc<Entries<T>>,
    /// Whether an entry had the key of the new one.
    pub(super) is_replaced: bool,
}

/// An entry with the name or URI that requests use.
pub(super) trait Named: Clone + Payload {
    /// The kind of entry, for messages.
    const KIND: &'static str;

    /// The kind of entry, for filters.
    const ENTRY: EntryKind;

    /// The function of the entry, with what finds it if the key alone does not.
    type Served: Clone;

    fn key(&self) -> &str;

    /// Returns the function of the entry.
    fn function(served: &Self::Served) -> &Function;
}

impl<T: Named> Registrations<T> {
    pub(super) fn is_empty(&self) -> bool {
        self.things.items.is_empty()
    }

    /// Adds an entry, or replaces the one with the same key. The caller drops the old entries without the lock.
    #[must_use = "the drop may run code of the application"]
    pub(super) fn put(&mut self, item: T, function: T::Served) -> ReplacedEntries<T> {
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
        ReplacedEntries { _things: old, is_replaced: place.is_some() }
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
        Some(ReplacedEntries { _things: old, is_replaced: false })
    }

    /// Adds entries whose keys are new.
    pub(super) fn append(&mut self, mut other: Self) {
        self.version += 1;
        let things = Arc::make_mut(&mut self.things);
        let others = Arc::make_mut(&mut other.things);
        things.items.append(&mut others.items);
        things.functions.append(&mut others.functions);
    }

    /// Replaces every entry.
    pub(super) fn convert(&mut self, convert: impl FnMut((T, T::Served)) -> (T, T::Served)) {
        let things = &self.things;
        let entries = things.items.iter().cloned().zip(things.functions.iter().cloned());
        let (items, functions) = entries.map(convert).unzip();
        self.things = Arc::new(Entries { items, functions });
    }

    /// Returns the function of an entry.
    pub(super) fn function(&self, name: &str) -> Option<T::Served> {
        self.things.functions.get(self.place(name)?).cloned()
    }

    /// Returns a snapshot of the entries.
    pub(super) fn entries(&self) -> Arc<Entries<T>> {
        Arc::clone(&self.things)
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.place(key).is_some()
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &str> {
        self.things.items.iter().map(Named::key)
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
pub(super) struct Listing<T: Named> {
    things: Arc<Entries<T>>,
    pager: Pager,
}

impl<T: Named> Listing<T> {
    /// Responds with a page of the entries that the client may see.
    pub(super) fn answer<M: PagedMethod>(
        &self,
        filters: &OwnFilters,
        exchange: &Exchange,
        cursor: Option<&Str<'_>>,
    ) -> Result<Result<(), mcp_sansio::RespondError>, InvalidCursor> {
        let is_shown = |(item, served): &(&T, &T::Served)| {
            is_shown::<T>(filters, exchange, item.key(), served)
        };
        if self.things.iter().all(|entry| is_shown(&entry)) {
            let page = self.pager.page(&self.things.items, cursor)?;
            return Ok(exchange.respond(&page.result::<M>()));
        }
        let shown: Vec<T> =
            self.things.iter().filter(is_shown).map(|(item, _)| item.clone()).collect();
        let page = self.pager.page(&shown, cursor)?;
        Ok(exchange.respond(&page.result::<M>()))
    }
}

impl Registry {
    /// Whether a resource or a template is of a mounted router that has middleware or filters of its own.
    pub(super) fn has_mounted_resources(&self) -> bool {
        let is_mounted = |function: &Function| matches!(function, Function::Wrapped(_));
        self.resources.things.functions.iter().any(|served| is_mounted(Resource::function(served)))
            || self
                .templates
                .things
                .functions
                .iter()
                .any(|served| is_mounted(ResourceTemplate::function(served)))
    }

    pub(super) const fn set_page(&mut self, items: usize) {
        self.tools.pager = Pager::new(items);
        self.prompts.pager = Pager::new(items);
        self.resources.pager = Pager::new(items);
        self.templates.pager = Pager::new(items);
    }

    /// Returns the function that completes an argument.
    pub(super) fn completion(&self, owner: &Owner, argument: &str) -> Option<Function> {
        let mut all = self.completions.iter();
        let known = all.find(|known| known.owner == *owner && known.argument == argument)?;
        Some(known.function.clone())
    }

    /// Adds a completion. Returns the one that it replaces.
    pub(super) fn put_completion(&mut self, new: ArgumentCompletion) -> Option<ArgumentCompletion> {
        let mut all = self.completions.iter_mut();
        match all.find(|known| known.owner == new.owner && known.argument == new.argument) {
            Some(known) => Some(std::mem::replace(known, new)),
            None => {
                self.completions.push(new);
                None
            }
        }
    }

    /// Adds a method. Returns the one that it replaces.
    pub(super) fn put_method(&mut self, new: CustomMethod) -> Option<CustomMethod> {
        match self.methods.iter_mut().find(|known| known.name == new.name) {
            Some(known) => Some(std::mem::replace(known, new)),
            None => {
                self.methods.push(new);
                None
            }
        }
    }

    /// Notes that an entry has replaced another one.
    pub(super) fn note_duplicate(&mut self, duplicate: String) {
        if !self.duplicates.contains(&duplicate) {
            self.duplicates.push(duplicate);
        }
    }
}

impl<T: Named> Default for Registrations<T> {
    fn default() -> Self {
        let things = Entries { items: Vec::new(), functions: Vec::new() };
        Self { things: Arc::new(things), pager: Pager::new(usize::MAX), version: 0 }
    }
}

impl<T: Named> fmt::Debug for Registrations<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = formatter.debug_struct("Registrations");
        debug.field("things", &self.things.items.len()).finish_non_exhaustive()
    }
}

fn second<A, B>((_, second): &(A, B)) -> &B {
    second
}

macro_rules! named {
    ($(
        $Thing:ident, $Kind:ident, $kind:literal, $key:ident, $registrations:ident,
        $Served:ty, $function:expr;
    )+) => {$(
        impl Named for $Thing<'static> {
            const KIND: &'static str = $kind;
            const ENTRY: EntryKind = EntryKind::$Kind;

            type Served = $Served;

            fn key(&self) -> &str {
                &self.$key
            }

            fn function(served: &$Served) -> &Function {
                $function(served)
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
    Tool, Tool, "tool", name, tools, Function, std::convert::identity;
    Prompt, Prompt, "prompt", name, prompts, Function, std::convert::identity;
    Resource, Resource, "resource", uri, resources, Function, std::convert::identity;
    ResourceTemplate, Template, "resource template", uri_template, templates,
        (Arc<UriTemplate>, Function), second;
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use crate::router::function::FunctionResult;

    fn function() -> Function {
        Function::blocking(|_| -> FunctionResult { Ok(Raw::EMPTY_OBJECT) })
    }

    /// Any change of a list invalidates its cursors.
    #[test]
    fn a_cursor_belongs_to_one_version_of_a_list() {
        type Change = fn(&mut Registrations<Tool<'static>>);
        let changes: [Change; 3] = [
            |tools| drop(tools.remove("a")),
            |tools| drop(tools.put(Tool::new("d", Raw::EMPTY_OBJECT), function())),
            |tools| drop(tools.put(Tool::new("a", Raw::EMPTY_OBJECT), function())),
        ];
        for change in changes {
            let mut registry = Registry::default();
            registry.set_page(1);
            for name in ["a", "b", "c"] {
                drop(registry.tools.put(Tool::new(name, Raw::EMPTY_OBJECT), function()));
            }
            let page = |registry: &Registry, cursor: Option<&str>| {
                let list = registry.tools.list();
                let cursor = cursor.map(Str::from);
                let page = list.pager.page(&list.things.items, cursor.as_ref())?;
                Ok::<_, InvalidCursor>(page.next_cursor)
            };
            let cursor = page(&registry, None).unwrap().unwrap();
            assert!(page(&registry, Some(&cursor)).is_ok());
            change(&mut registry.tools);
            assert!(page(&registry, Some(&cursor)).is_err());
        }
    }

    /// The completion of an argument belongs to one prompt or template.
    #[test]
    fn a_completion_belongs_to_its_owner() {
        let mut registry = Registry::default();
        let owner = Owner::Prompt("p".into());
        let completion = |owner: &Owner| ArgumentCompletion {
            owner: owner.clone(),
            argument: "a".into(),
            function: function(),
        };
        assert!(registry.put_completion(completion(&owner)).is_none());
        assert!(registry.completion(&owner, "a").is_some());
        for other in [Owner::Prompt("q".into()), Owner::Template("p".into())] {
            assert!(registry.completion(&other, "a").is_none());
        }
        assert!(registry.completion(&owner, "b").is_none());
        assert!(registry.put_completion(completion(&owner)).is_some());
    }
}
