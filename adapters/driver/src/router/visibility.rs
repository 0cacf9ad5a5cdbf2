//! [`Entry`]: which client may see which entry of a router.

use std::fmt;
use std::sync::Arc;

use super::Router;
use super::function::Function;
use super::registry::{Named, Registry};
use crate::exchange::Exchange;

/// A filter with a uniform signature.
pub(super) type Filter = Arc<dyn Fn(&Exchange, Entry<'_>) -> bool + Send + Sync>;

/// An entry of a router, by the name or the URI in the router that has the filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Entry<'a> {
    /// A tool, by its name.
    Tool(&'a str),
    /// A prompt, by its name.
    Prompt(&'a str),
    /// A resource, by its URI.
    Resource(&'a str),
    /// A resource template, by its text.
    Template(&'a str),
    /// A method of an extension, by its name.
    Method(&'a str),
}

/// The kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryKind {
    Tool,
    Prompt,
    Resource,
    Template,
    Method,
}

impl EntryKind {
    const fn entry(self, name: &str) -> Entry<'_> {
        match self {
            Self::Tool => Entry::Tool(name),
            Self::Prompt => Entry::Prompt(name),
            Self::Resource => Entry::Resource(name),
            Self::Template => Entry::Template(name),
            Self::Method => Entry::Method(name),
        }
    }
}

/// The filters of a mounted router, for one of its entries.
#[derive(Clone)]
pub(super) struct OwnFilters {
    pub(super) filters: Arc<[Filter]>,
    pub(super) kind: EntryKind,
}

impl OwnFilters {
    /// Whether all filters show the entry with this name.
    pub(super) fn show(&self, exchange: &Exchange, name: &str) -> bool {
        self.filters.iter().all(|filter| filter(exchange, self.kind.entry(name)))
    }
}

/// # Visibility
impl Router {
    /// Hides entries from some clients: those for which `show` returns false. A hidden entry is in no list, and a request
    /// for it is refused as for an entry that does not exist. One request tells the difference: `resources/subscribe` for a
    /// hidden resource is refused, and for an unknown one accepted; so it is with the resources of
    /// `subscriptions/listen`. With several filters, an entry is shown if all of them
    /// show it. A filter does not block: it runs for every entry of a list, before the middleware.
    ///
    /// The filters of a mounted router hide its entries in the other router as well, by the names that they have in their
    /// own. If the answer of a filter changes while a client is connected, notify it with
    /// [`Handle::list_changed`](crate::Handle::list_changed). Subscriptions to resources stay as they were granted.
    ///
    /// ```
    /// use mcp_sansio_driver::{Entry, Router};
    ///
    /// /// A value of the request: see `Exchange::extension`.
    /// struct User {
    ///     is_admin: bool,
    /// }
    ///
    /// let router = Router::new();
    /// router.show_if(|exchange, entry| match entry {
    ///     Entry::Tool(name) if name.starts_with("admin_") => {
    ///         exchange.extension::<User>().is_some_and(|user| user.is_admin)
    ///     }
    ///     _ => true,
    /// });
    /// ```
    pub fn show_if(
        &self,
        show: impl Fn(&Exchange, Entry<'_>) -> bool + Send + Sync + 'static,
    ) -> &Self {
        let mut shared = self.lock();
        let all = shared.filters.iter().cloned().chain([Arc::new(show) as Filter]).collect();
        let old = std::mem::replace(&mut shared.filters, all);
        // Dropped without the lock.
        drop(shared);
        drop(old);
        self
    }

    /// Returns the filters of this router for one kind of entry. They run without the lock.
    pub(super) fn filters(&self, kind: EntryKind) -> OwnFilters {
        OwnFilters { filters: Arc::clone(&self.lock().filters), kind }
    }

    /// Finds an entry, if the client may see it.
    pub(super) fn shown<T: Named>(
        &self,
        exchange: &Exchange,
        name: &str,
        find: impl FnOnce(&Registry) -> Option<T::Served>,
    ) -> Option<T::Served> {
        let (served, filters) = {
            let shared = self.lock();
            let filters = (!shared.filters.is_empty()).then(|| Arc::clone(&shared.filters));
            (find(&shared.registry), filters)
        };
        // Most routers have no filters, and every call comes by.
        let filters = filters.map(|filters| OwnFilters { filters, kind: T::ENTRY });
        served.filter(|served| {
            filters.is_none_or(|filters| filters.show(exchange, name))
                && T::function(served).is_shown(exchange)
        })
    }
}

/// Whether a client may see an entry.
pub(super) fn is_shown<T: Named>(
    filters: &OwnFilters,
    exchange: &Exchange,
    name: &str,
    served: &T::Served,
) -> bool {
    filters.show(exchange, name) && T::function(served).is_shown(exchange)
}

impl Function {
    /// Whether the filters of the mounted routers that the function comes from show its entry.
    pub(super) fn is_shown(&self, exchange: &Exchange) -> bool {
        match self {
            Self::Wrapped(wrapped) => {
                wrapped.filters.show(exchange, &wrapped.name) && wrapped.function.is_shown(exchange)
            }
            _ => true,
        }
    }
}

impl fmt::Debug for OwnFilters {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("OwnFilters").field("kind", &self.kind).finish_non_exhaustive()
    }
}
