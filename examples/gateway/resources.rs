//! Resources: their owners, and the notifications about their changes.
//!
//! A subscription of the client, of either era, becomes a subscription at the upstream that has listed the
//! resource, or at all upstreams if none has. The machine of the upstream knows how to subscribe, and the machine
//! of the client knows the subscribers.

use mcp_sansio::capability::Capability;
use mcp_sansio::event::{Notification, Subscribed, SubscriptionNews, SubscriptionUpdate};
use mcp_sansio::json::Raw;
use mcp_sansio::model::{SubscriptionFilter, method};
use mcp_sansio::subscription::ChangedList;
use mcp_sansio::{CallId, ErrorCode, IncomingId};

use crate::gateway::Gateway;

/// A subscription to a resource at an upstream.
pub(crate) struct Watch {
    uri: String,
    upstream: usize,
    /// The call of the subscription.
    call: CallId,
    /// The request of the client that gets its response when the upstream has granted the subscription.
    asked_by: Option<IncomingId>,
}

/// A subscription of a modern client, which it keeps open.
pub(crate) struct Listener {
    request: IncomingId,
    uris: Vec<String>,
}

impl Gateway {
    /// Returns the upstream that has listed a resource or a template.
    pub(crate) fn owner(&self, uri: &str) -> Option<usize> {
        let owner = self.owners.iter().find_map(|owners| owners.get(uri).copied());
        owner.filter(|owner| self.upstreams[*owner].is_alive())
    }

    /// Subscribes a legacy client to a resource.
    pub(crate) fn subscribe(&mut self, request: IncomingId, uri: &str) {
        if self.is_watched(uri) {
            _ = self.server.respond(request, &(), &mut self.outbox);
        } else if !self.watch(uri, Some(request)) {
            self.reject(request, ErrorCode::INVALID_PARAMS, "no server here tells of that");
        }
    }

    /// Ends the subscription of a legacy client.
    pub(crate) fn unsubscribe(&mut self, request: IncomingId) {
        _ = self.server.respond(request, &(), &mut self.outbox);
        self.stop_watching();
    }

    /// Opens a subscription of a modern client.
    pub(crate) fn listen(&mut self, subscribed: &Subscribed<'_>) {
        let wanted = subscribed.requested.parse::<SubscriptionFilter<'_>>().unwrap_or_default();
        let uris = wanted.resource_subscriptions.into_iter().flatten();
        let uris: Vec<String> = uris.map(String::from).collect();
        for uri in &uris {
            if !self.is_watched(uri) {
                self.watch(uri, None);
            }
        }
        self.listeners.push(Listener { request: subscribed.id, uris });
    }

    /// Ends a subscription of the client, or the work for a request to subscribe.
    pub(crate) fn stop_listening(&mut self, request: IncomingId) {
        for watch in &mut self.watches {
            watch.asked_by.take_if(|asked_by| *asked_by == request);
        }
        self.listeners.retain(|listener| listener.request != request);
        self.stop_watching();
    }

    fn is_watched(&self, uri: &str) -> bool {
        self.watches.iter().any(|watch| watch.uri == uri)
    }

    /// Subscribes to a resource at the upstreams. Returns whether any upstream may report changes.
    fn watch(&mut self, uri: &str, asked_by: Option<IncomingId>) -> bool {
        let owner = self.owner(uri);
        for index in 0..self.upstreams.len() {
            let may_announce = self.may_offer(index, Capability::ResourcesSubscribe);
            if !may_announce || owner.is_some_and(|owner| owner != index) {
                continue;
            }
            let upstream = &mut self.upstreams[index];
            let filter = SubscriptionFilter::new().with_resource(uri);
            if let Ok(call) = upstream.client.subscribe(&filter, self.now, &mut upstream.outbox) {
                self.watches.push(Watch { uri: uri.into(), upstream: index, call, asked_by });
            }
        }
        self.is_watched(uri)
    }

    /// Ends the subscriptions that the client no longer needs.
    fn stop_watching(&mut self) {
        let listened = self.listeners.iter().flat_map(|listener| &listener.uris);
        let listened = listened.map(String::as_str);
        let wanted: Vec<&str> =
            self.server.notifications().subscriptions().chain(listened).collect();
        self.watches.retain(|watch| {
            let is_wanted = watch.asked_by.is_some() || wanted.contains(&watch.uri.as_str());
            if !is_wanted {
                let upstream = &mut self.upstreams[watch.upstream];
                _ = upstream.client.cancel(watch.call, None, &mut upstream.outbox);
            }
            is_wanted
        });
    }

    /// Handles an event of a subscription at an upstream: to a resource, or to its lists, which always exists.
    pub(crate) fn subscription(&mut self, from: usize, update: &SubscriptionUpdate<'_>) {
        let is_it = |watch: &Watch| watch.upstream == from && watch.call == update.call;
        let watch = self.watches.iter().position(is_it);
        match &update.news {
            SubscriptionNews::Changed(change) => self.changed(watch, change),
            SubscriptionNews::Granted { granted, .. } => {
                if let Some(watch) = watch {
                    self.granted(watch, granted);
                }
            }
            SubscriptionNews::Ended(_) => {
                if let Some(watch) = watch {
                    self.unwatched(watch);
                }
            }
            _ => {}
        }
    }

    fn changed(&mut self, watch: Option<usize>, change: &Notification<'_>) {
        let list = if change.is::<method::ToolsChanged>() {
            ChangedList::Tools
        } else if change.is::<method::ResourcesChanged>() {
            ChangedList::Resources
        } else if change.is::<method::PromptsChanged>() {
            ChangedList::Prompts
        } else {
            let uri = change.params.as_ref().and_then(|params| params.get("uri")?.into_str());
            if let (Some(watch), Some(uri)) = (watch, uri) {
                let (whole, uri) = (&self.watches[watch].uri, uri.to_str());
                _ = self.server.notifications().resource_updated_below(
                    whole,
                    &uri,
                    &mut self.outbox,
                );
            }
            return;
        };
        _ = self.server.notifications().list_changed(list, &mut self.outbox);
    }

    /// Handles the response of an upstream to a subscription, which may grant it or not.
    fn granted(&mut self, watch: usize, granted: &Raw<'_>) {
        let granted = granted.parse::<SubscriptionFilter<'_>>().unwrap_or_default();
        if granted.resource_subscriptions.is_none_or(|uris| uris.is_empty()) {
            let Watch { upstream, call, .. } = self.watches[watch];
            let upstream = &mut self.upstreams[upstream];
            _ = upstream.client.cancel(call, None, &mut upstream.outbox);
            return self.unwatched(watch);
        }
        let watch = &mut self.watches[watch];
        if let Some(request) = watch.asked_by.take() {
            let uri = watch.uri.clone();
            self.decided(request, &uri);
        }
    }

    /// Responds to the request once every upstream has granted or refused the subscription. An earlier response
    /// would promise changes that another upstream does not report yet.
    fn decided(&mut self, request: IncomingId, uri: &str) {
        if self.watches.iter().any(|watch| watch.asked_by == Some(request)) {
            return;
        }
        if self.is_watched(uri) {
            _ = self.server.respond(request, &(), &mut self.outbox);
        } else {
            self.reject(request, ErrorCode::INVALID_PARAMS, "no server here tells of that");
        }
    }

    /// Removes a subscription that an upstream has ended or refused.
    fn unwatched(&mut self, watch: usize) {
        let Watch { uri, asked_by, .. } = self.watches.swap_remove(watch);
        if let Some(request) = asked_by {
            self.decided(request, &uri);
        }
    }
}
