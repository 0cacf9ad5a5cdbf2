//! Lists: the items of all servers, in the order of the configuration.

use std::collections::BTreeSet;
use std::sync::Arc;

use mcp_sansio::json::{Raw, Str};
use mcp_sansio::model::method::{
    ListPrompts, ListResourceTemplates, ListResources, ListTools, PagedMethod,
};
use mcp_sansio::pagination::Pager;
use mcp_sansio::schema::{EncodeError, Misfit};
use mcp_sansio::{ErrorCode, RespondError};
use mcp_sansio_tokio::Exchange;
use tokio::time::Instant;

use super::routes::by_prefix;
use crate::gateway::Gateway;
use crate::upstream::Upstream;
use crate::upstream::list_items::Items;
use crate::upstream::list_kind::ListKind;

/// The most items of a page that are left out because the revision of the client cannot express them.
const MOST_MISFITS: usize = 64;

impl Gateway {
    /// Serves a list request. A server that does not answer in time is left out; its clients are notified later.
    pub(super) async fn list(
        &self,
        exchange: &Exchange,
        kind: ListKind,
        cursor: Option<&Str<'_>>,
    ) -> Result<(), RespondError> {
        let routes = self.routes();
        let visible: Vec<&Arc<Upstream>> = routes.visible(exchange).collect();
        // All of them are asked before the first is waited for.
        visible.iter().for_each(|upstream| upstream.prefetch(kind));
        let now = Instant::now();
        let mut parts = Vec::new();
        for upstream in visible.iter().copied() {
            let list = upstream.list(kind, now + upstream.config.list_timeout);
            let part = tokio::select! {
                biased;
                () = exchange.cancelled() => return Err(RespondError::Cancelled),
                part = list => part,
            };
            parts.extend(part.map(|part| (upstream, part)));
        }
        let (list, size) = (List { kind, parts: &parts, visible: &visible }, self.page_size());
        match kind {
            ListKind::Tools => list.respond::<ListTools>(exchange, cursor, size),
            ListKind::Prompts => list.respond::<ListPrompts>(exchange, cursor, size),
            ListKind::Resources => list.respond::<ListResources>(exchange, cursor, size),
            ListKind::Templates => list.respond::<ListResourceTemplates>(exchange, cursor, size),
        }
    }
}

/// A list of the items of several servers.
struct List<'l> {
    kind: ListKind,
    parts: &'l [(&'l Arc<Upstream>, Arc<Items>)],
    /// All servers that the client may use.
    visible: &'l [&'l Arc<Upstream>],
}

impl<'l> List<'l> {
    /// Returns the items of all servers. Of items with the same name or URI, the one is in the list that requests lead to.
    fn items(&self) -> Vec<&'l Raw<'static>> {
        let mut names = BTreeSet::new();
        let mut items = Vec::new();
        for (upstream, part) in self.parts {
            for (name, item) in &part.items {
                let owner = match self.kind {
                    ListKind::Tools | ListKind::Prompts => {
                        by_prefix(self.visible.iter().copied(), name)
                    }
                    ListKind::Resources | ListKind::Templates => None,
                };
                let leads_here = owner.is_none_or(|owner| Arc::ptr_eq(owner, upstream));
                if leads_here && names.insert(name) {
                    items.push(item);
                }
            }
        }
        items
    }

    /// Reports an item that the revision of a client cannot express.
    fn report(&self, item: &Raw<'_>, misfit: &Misfit) {
        for (upstream, part) in self.parts {
            let mut items = part.items.iter();
            if let Some((name, _)) = items.find(|(_, other)| std::ptr::eq(other, item)) {
                let list = self.kind.member();
                upstream.problem(&format!("{list}: {name} is left out for a client: {misfit}"));
            }
        }
    }

    /// Responds with a page. Items that the revision of the client cannot express are left out.
    fn respond<M: PagedMethod>(
        &self,
        exchange: &Exchange,
        cursor: Option<&Str<'_>>,
        page_size: usize,
    ) -> Result<(), RespondError> {
        let (pager, mut items) = (Pager::new(page_size), self.items());
        for _ in 0..MOST_MISFITS {
            let page = match pager.page(&items, cursor) {
                Ok(page) => page,
                Err(error) => {
                    return exchange.reject(ErrorCode::INVALID_PARAMS, &error.to_string());
                }
            };
            let misfit = match exchange.respond(&page.result::<M>()) {
                Err(RespondError::Encode(EncodeError::Misfit(misfit))) => misfit,
                responded => return responded,
            };
            let index = index_in(misfit.path());
            let Some(item) = index.and_then(|index| page.items.get(index).copied()) else {
                // The exchange responds with the reason.
                return Err(RespondError::Encode(EncodeError::Misfit(misfit)));
            };
            self.report(item, &misfit);
            items.retain(|other| !std::ptr::eq(*other, item));
        }
        exchange.reject(
            ErrorCode::INTERNAL_ERROR,
            "too many items do not fit the revision of the client",
        )
    }
}

/// Returns the index in a path such as `tools[3].inputSchema`.
fn index_in(path: &str) -> Option<usize> {
    let (_, rest) = path.split_once('[')?;
    rest.split_once(']')?.0.parse().ok()
}
