//! [`Routes`]: which server serves a request.

use std::sync::Arc;
use std::time::Duration;

use mcp_sansio::ClientRequest;
use mcp_sansio::auth::Scopes;
use mcp_sansio::capability::Capability;
use mcp_sansio::http::ParamHeaders;
use mcp_sansio::json::Raw;
use mcp_sansio_http::HttpRequest;
use mcp_sansio_tokio::Exchange;
use tokio::time::Instant;

use super::params::Subject;
use super::subscribers::may_announce;
use crate::upstream::Upstream;
use crate::upstream::list_kind::ListKind;
use crate::upstream::shared::LinkState;

/// How long a request waits at most for lists that were never read, to find its server.
const SOON: Duration = Duration::from_secs(5);

/// The servers behind the gateway at one time. A reload replaces them together.
#[derive(Default)]
pub(crate) struct Routes {
    pub(crate) upstreams: Vec<Arc<Upstream>>,
}

/// The server for a request.
pub(crate) struct Destination {
    pub(crate) upstream: Arc<Upstream>,
    /// The name of the tool or the prompt there.
    pub(crate) name: Option<String>,
    /// The servers to ask next, if this one does not have the resource.
    pub(crate) others: Vec<Arc<Upstream>>,
}

impl Routes {
    /// Returns the destination of a request that has a subject. A request that is repeated goes to the server that has asked
    /// for that.
    pub(crate) async fn destination(
        &self,
        exchange: &Exchange,
        subject: &Subject<'_>,
        server: Option<&str>,
    ) -> Option<Destination> {
        if let Some(server) = server {
            let upstream =
                self.visible(exchange).find(|upstream| upstream.config.name == server)?;
            let name = match subject {
                Subject::Name(name) => Some(upstream.config.names.original(name)?),
                Subject::Uri(_) => None,
            };
            let upstream = Arc::clone(upstream);
            return Some(Destination { upstream, name, others: Vec::new() });
        }
        match subject {
            Subject::Name(name) => {
                let kind = match &exchange.request().kind {
                    ClientRequest::CallTool(_) => ListKind::Tools,
                    _ => ListKind::Prompts,
                };
                let (upstream, name) = self.named(exchange, kind, name).await?;
                Some(Destination { upstream, name: Some(name), others: Vec::new() })
            }
            Subject::Uri(uri) => {
                self.know_resources(exchange, uri).await;
                let mut owners = self.owners(exchange, uri).into_iter();
                let upstream = owners.next()?;
                Some(Destination { upstream, name: None, others: owners.collect() })
            }
        }
    }

    /// Returns the server with this tool or prompt, and its name there. A server with a prefix is known by it; a server
    /// without one has the name if it lists the name.
    async fn named(
        &self,
        exchange: &Exchange,
        kind: ListKind,
        shown: &str,
    ) -> Option<(Arc<Upstream>, String)> {
        let mut candidates: Vec<_> = self
            .visible(exchange)
            .filter_map(|upstream| Some((upstream, upstream.config.names.original(shown)?)))
            .collect();
        // The sort is stable: of servers without a prefix, the first one wins.
        candidates
            .sort_by_key(|(upstream, _)| std::cmp::Reverse(upstream.config.names.prefix.len()));
        let now = Instant::now();
        for (upstream, name) in candidates {
            if !upstream.config.names.prefix.is_empty() {
                return Some((Arc::clone(upstream), name));
            }
            let deadline = now + upstream.config.list_timeout.min(SOON);
            if upstream.lists_name(kind, shown, deadline).await {
                return Some((Arc::clone(upstream), name));
            }
        }
        None
    }

    /// Whether a server that has replaced another one in a reload serves a call of that one, under the same name.
    pub(crate) fn serves_as(
        &self,
        exchange: &Exchange,
        successor: &Arc<Upstream>,
        stopped: &Upstream,
        name: Option<&str>,
    ) -> bool {
        self.serves_for(granted(exchange).as_ref(), successor, stopped, name)
    }

    /// As [`serves_as`](Self::serves_as), for a client with these scopes.
    pub(crate) fn serves_for(
        &self,
        granted: Option<&Scopes>,
        successor: &Arc<Upstream>,
        stopped: &Upstream,
        name: Option<&str>,
    ) -> bool {
        let is_visible = self.permitted(granted).any(|visible| Arc::ptr_eq(visible, successor));
        let shown = |upstream: &Upstream, name| upstream.config.names.shown(name);
        is_visible
            && name.is_none_or(|name| {
                let now = shown(successor, name);
                now.is_some() && now == shown(stopped, name)
            })
    }

    /// Returns a server that may have any name, because it has no prefix and its list was never read.
    pub(super) fn unlisted(&self, exchange: &Exchange) -> Option<&Arc<Upstream>> {
        let kind = match &exchange.request().kind {
            ClientRequest::CallTool(_) => ListKind::Tools,
            _ => ListKind::Prompts,
        };
        self.visible(exchange).find(|upstream| {
            upstream.config.names.prefix.is_empty() && upstream.known_list(kind).is_none()
        })
    }

    /// Waits for the lists of resources that were never read, so that a resource is asked of its own server.
    /// All are waited for together.
    async fn know_resources(&self, exchange: &Exchange, uri: &str) {
        let kinds = [ListKind::Resources, ListKind::Templates];
        let has_resources = |upstream: &&Arc<Upstream>| may_have_resources(upstream);
        if self.visible(exchange).any(|upstream| lists_resource(upstream, uri)) {
            return;
        }
        for upstream in self.visible(exchange).filter(has_resources) {
            kinds.into_iter().for_each(|kind| upstream.prefetch(kind));
        }
        let now = Instant::now();
        for upstream in self.visible(exchange).filter(has_resources) {
            let deadline = now + upstream.config.list_timeout.min(SOON);
            for kind in kinds {
                upstream.list_soon(kind, deadline).await;
                if lists_resource(upstream, uri) {
                    return;
                }
            }
        }
    }

    /// Returns the servers that may have a resource, among those that the sender of a request may use: the first one that
    /// lists it, or all with resources.
    pub(crate) fn owners(&self, exchange: &Exchange, uri: &str) -> Vec<Arc<Upstream>> {
        owners(self.visible(exchange), uri)
    }

    /// Returns the servers that may announce changes of a resource to a client with these scopes.
    pub(crate) fn announcers(&self, granted: Option<&Scopes>, uri: &str) -> Vec<Arc<Upstream>> {
        let mut owners = owners(self.permitted(granted), uri);
        owners.retain(|owner| may_announce(owner));
        owners
    }

    /// Returns the servers that a client with these scopes may use.
    fn permitted<'r>(
        &'r self,
        granted: Option<&'r Scopes>,
    ) -> impl Iterator<Item = &'r Arc<Upstream>> + Clone {
        self.upstreams.iter().filter(move |upstream| is_permitted(upstream, granted))
    }

    /// Returns the header fields in which modern clients repeat the arguments of a tool, as far as its list is known,
    /// and all clients have the tool of the same server.
    pub(crate) fn headers_of(&self, tool: &str) -> Option<Arc<ParamHeaders>> {
        let owner = by_prefix(self.upstreams.iter(), tool).or_else(|| {
            let has_tool = |one: &&Arc<Upstream>| {
                one.known_list(ListKind::Tools).is_some_and(|list| list.has(tool))
            };
            owner_for_all(self.upstreams.iter().filter(has_tool))
        });
        owner?.known_list(ListKind::Tools)?.headers(tool)
    }

    /// Returns the server that has replaced another one in a reload.
    pub(crate) fn successor(&self, stopped: &Arc<Upstream>) -> Option<Arc<Upstream>> {
        let is_it = |upstream: &&Arc<Upstream>| {
            upstream.config.name == stopped.config.name && !Arc::ptr_eq(upstream, stopped)
        };
        self.upstreams.iter().find(is_it).cloned()
    }

    /// Returns the servers that the sender of a request may use.
    pub(crate) fn visible(
        &self,
        exchange: &Exchange,
    ) -> impl Iterator<Item = &Arc<Upstream>> + Clone {
        let granted = granted(exchange);
        self.upstreams.iter().filter(move |upstream| is_permitted(upstream, granted.as_ref()))
    }

    /// Returns the scopes that a tool, a prompt or a resource needs, from the name or the URI in the request. If it
    /// depends on the client whose it is, these are none, and the handler chooses among the servers that the client may
    /// use.
    pub(crate) fn scopes_of(&self, name: Option<&str>) -> Scopes {
        let Some(name) = name else { return Scopes::none() };
        let owner = by_prefix(self.upstreams.iter(), name).or_else(|| {
            let lists_it = |upstream: &&Arc<Upstream>| lists_resource(upstream, name);
            owner_for_all(self.upstreams.iter().filter(lists_it))
        });
        owner.map_or_else(Scopes::none, |upstream| upstream.config.scopes.clone())
    }
}

/// Returns the server that a name leads to, if that does not depend on lists: the one with the longest prefix of the name.
pub(crate) fn by_prefix<'u>(
    upstreams: impl Iterator<Item = &'u Arc<Upstream>>,
    shown: &str,
) -> Option<&'u Arc<Upstream>> {
    let named = upstreams.filter(|upstream| {
        let names = &upstream.config.names;
        !names.prefix.is_empty() && names.original(shown).is_some()
    });
    // Of several with the same prefix, the first one.
    named.fold(None, |longest: Option<&Arc<Upstream>>, next| match longest {
        Some(longest) if next.config.names.prefix.len() <= longest.config.names.prefix.len() => {
            Some(longest)
        }
        _ => Some(next),
    })
}

/// Returns the server that has a name or a resource for all clients: the first of its owners, unless there are clients
/// that may use only another one.
fn owner_for_all<'u>(
    mut owners: impl Iterator<Item = &'u Arc<Upstream>>,
) -> Option<&'u Arc<Upstream>> {
    let first = owners.next()?;
    let needed = &first.config.scopes;
    owners.all(|other| other.config.scopes.covers(needed)).then_some(first)
}

/// Whether a client with these scopes may use a server.
fn is_permitted(upstream: &Upstream, granted: Option<&Scopes>) -> bool {
    let needed = &upstream.config.scopes;
    needed.is_empty() || granted.is_some_and(|granted| granted.covers(needed))
}

fn owners<'u>(
    mut upstreams: impl Iterator<Item = &'u Arc<Upstream>> + Clone,
    uri: &str,
) -> Vec<Arc<Upstream>> {
    let all = upstreams.clone();
    if let Some(owner) = upstreams.find(|upstream| lists_resource(upstream, uri)) {
        return vec![Arc::clone(owner)];
    }
    all.filter(|upstream| may_have_resources(upstream)).cloned().collect()
}

/// Whether a server has listed this resource, or this template.
fn lists_resource(upstream: &Upstream, uri: &str) -> bool {
    let lists = [ListKind::Resources, ListKind::Templates];
    lists.into_iter().filter_map(|kind| upstream.known_list(kind)).any(|list| list.has(uri))
}

/// Whether a server has resources, or is not connected.
fn may_have_resources(upstream: &Upstream) -> bool {
    match upstream.shared.state() {
        LinkState::Open(link) => link.has(Capability::Resources),
        LinkState::Stopped => false,
        LinkState::Connecting | LinkState::Failed { .. } => true,
    }
}

/// Returns the scopes of the access token of a request, if the endpoint needs one.
pub(super) fn granted(exchange: &Exchange) -> Option<Scopes> {
    Some(exchange.extension::<HttpRequest>()?.claims()?.scopes.clone())
}

/// Returns the text of a member.
pub(crate) fn text(value: &Raw<'_>, name: &str) -> Option<String> {
    Some(value.get(name)?.into_str()?.to_str().into_owned())
}
