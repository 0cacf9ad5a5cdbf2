//! Lists: the items of all servers, in the order of the configuration.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use mcp_sansio::json::{Raw, Str};
use mcp_sansio::model::method::{
    ListPrompts, ListResourceTemplates, ListResources, ListTools, PagedMethod,
};
use mcp_sansio::pagination::Pager;
use mcp_sansio::{ErrorCode, RespondError, Revision};
use mcp_sansio_tokio::Exchange;
use tokio::time::Instant;

use super::routes::by_prefix;
use crate::gateway::Gateway;
use crate::upstream::Upstream;
use crate::upstream::list_items::Items;
use crate::upstream::list_kind::ListKind;

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
    /// Items that the revision of the client cannot express are left out.
    fn items<M: PagedMethod>(&self, revision: Revision) -> Vec<&'l Raw<'static>> {
        let mut names = BTreeSet::new();
        let mut items = Vec::new();
        for (upstream, part) in self.parts {
            let (misfits, are_new) = part.misfits::<M>(revision);
            for (at, (name, item)) in part.items.iter().enumerate() {
                let misfit = misfits.get(&at);
                if let Some(misfit) = misfit.filter(|_| are_new) {
                    let list = self.kind.member();
                    upstream.problem(&format!("{list}: {name} is left out for a client: {misfit}"));
                }
                let owner = match self.kind {
                    ListKind::Tools | ListKind::Prompts => {
                        by_prefix(self.visible.iter().copied(), name)
                    }
                    ListKind::Resources | ListKind::Templates => None,
                };
                let leads_here = owner.is_none_or(|owner| Arc::ptr_eq(owner, upstream));
                if leads_here && names.insert(name) && misfit.is_none() {
                    items.push(item);
                }
            }
        }
        items
    }

    /// Returns a number that differs if the list is another one: a position in it would be that of another item.
    fn version(&self, revision: Revision) -> u64 {
        let mut version = DefaultHasher::new();
        revision.hash(&mut version);
        for upstream in self.visible {
            let part = self.parts.iter().find(|(of, _)| Arc::ptr_eq(of, upstream));
            (&upstream.config.name, part.map(|(_, part)| part.version)).hash(&mut version);
        }
        version.finish()
    }

    /// Responds with a page. A cursor of another list, or of the list before a change, is refused: the client begins
    /// again.
    fn respond<M: PagedMethod>(
        &self,
        exchange: &Exchange,
        cursor: Option<&Str<'_>>,
        page_size: usize,
    ) -> Result<(), RespondError> {
        let revision = exchange.request().context.revision;
        let items = self.items::<M>(revision);
        let pager = Pager::new(page_size).key(self.kind as u64).version(self.version(revision));
        match pager.page(&items, cursor) {
            Ok(page) => exchange.respond(&page.result::<M>()),
            Err(error) => exchange.reject(ErrorCode::INVALID_PARAMS, &error.to_string()),
        }
    }
}
