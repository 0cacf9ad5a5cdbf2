//! [`Subscribers`]: the resources that clients have subscribed to, and the servers that are watched for them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mcp_sansio::auth::Scopes;
use mcp_sansio::capability::Capability;
use mcp_sansio::error::ErrorObject;
use mcp_sansio::event::Subscribed;
use mcp_sansio::model::SubscriptionFilter;
use mcp_sansio::request::Requestor;
use mcp_sansio::{ConnectionNumber, ErrorCode, IncomingId, Phase, RespondError, Server};
use mcp_sansio_tokio::{Exchange, Handle};
use tokio::time::Instant;

use super::routes::{Routes, granted};
use crate::client_key::for_limits;
use crate::gateway::Gateway;
use crate::upstream::shared::LinkState;
use crate::upstream::{Upstream, WatchedResource};

/// How long a server that cannot be reached delays a subscription. Its changes are announced once it is back.
const GRANTED_WITHIN: Duration = Duration::from_secs(10);

/// Why a resource is not watched.
const MANY_WATCHED: &str = "too many resources of the server are watched";

/// The subscriptions of all clients, by connection. The endpoint limits the number of subscriptions of a connection.
#[derive(Default)]
pub(crate) struct Subscribers {
    state: Mutex<BTreeMap<ConnectionNumber, Subscriber>>,
}

struct Subscriber {
    handle: Handle<Server>,
    requestor: Requestor,
    /// The scopes of the access token of the client, if the endpoint needs one.
    granted: Option<Scopes>,
    /// The subscriptions, by the request that keeps them open (a session has none) and by URI.
    subscriptions: BTreeMap<Option<IncomingId>, BTreeMap<String, Vec<WatchedResource>>>,
}

impl Subscribers {
    /// Adds a subscription, unless the connection has ended.
    fn add(
        &self,
        (handle, requestor, granted): (&Handle<Server>, Requestor, Option<Scopes>),
        listen: Option<IncomingId>,
        (uri, watched): (&str, Vec<WatchedResource>),
    ) {
        let connection = handle.connection();
        let mut state = self.lock();
        let subscriber = state.entry(connection).or_insert_with(|| Subscriber {
            handle: handle.clone(),
            requestor,
            granted: None,
            subscriptions: BTreeMap::new(),
        });
        subscriber.granted = granted;
        let subscriptions = subscriber.subscriptions.entry(listen).or_default();
        let old = subscriptions.insert(uri.to_owned(), watched);
        drop(state);
        drop(old);
        // Its end may have been handled before this.
        if handle.phase() == Phase::Closed {
            self.remove_connection(connection);
        }
    }

    fn remove_uri(&self, connection: ConnectionNumber, uri: &str) {
        let mut state = self.lock();
        let Some(subscriber) = state.get_mut(&connection) else { return };
        let of_session = subscriber.subscriptions.get_mut(&None);
        let old = of_session.and_then(|subscriptions| subscriptions.remove(uri));
        subscriber.subscriptions.retain(|_, subscriptions| !subscriptions.is_empty());
        let left = Self::without_subscriptions(&mut state, connection);
        drop(state);
        drop((old, left));
    }

    /// Removes and returns a client that has no subscriptions any more. It is dropped without the lock.
    fn without_subscriptions(
        state: &mut BTreeMap<ConnectionNumber, Subscriber>,
        connection: ConnectionNumber,
    ) -> Option<Subscriber> {
        let is_over = state.get(&connection).is_some_and(|of| of.subscriptions.is_empty());
        if is_over { state.remove(&connection) } else { None }
    }

    /// Removes a subscription that its client has ended.
    pub(crate) fn remove_listen(&self, listen: IncomingId) {
        let (mut state, connection) = (self.lock(), listen.connection());
        let of_connection = state.get_mut(&connection);
        let old = of_connection.and_then(|of| of.subscriptions.remove(&Some(listen)));
        let left = Self::without_subscriptions(&mut state, connection);
        drop(state);
        drop((old, left));
    }

    /// Removes the subscriptions of a connection that has ended.
    pub(crate) fn remove_connection(&self, connection: ConnectionNumber) {
        let old = self.lock().remove(&connection);
        drop(old);
    }

    /// Returns the number of connections with subscriptions.
    pub(crate) fn count(&self) -> usize {
        self.lock().len()
    }

    /// Watches every resource at the servers of these routes, instead of those before. The clients are notified, because
    /// changes in between were missed.
    pub(crate) fn rewatch(&self, routes: &Routes) {
        let (mut old, mut all) = (Vec::new(), Vec::new());
        let mut state = self.lock();
        for Subscriber { handle, requestor, granted, subscriptions } in state.values_mut() {
            for (uri, watched) in subscriptions.values_mut().flatten() {
                let owners = routes.announcers(granted.as_ref(), uri);
                let new = watch(&owners, uri, (handle, *requestor), true);
                old.push(std::mem::replace(watched, new));
                all.push((handle.clone(), uri.clone()));
            }
        }
        drop(state);
        drop(old);
        for (handle, uri) in all {
            // A client that does not read misses it, and learns from the lists that something has changed.
            _ = handle.resource_updated(&uri);
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ConnectionNumber, Subscriber>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn watch(
    owners: &[Arc<Upstream>],
    uri: &str,
    client: (&Handle<Server>, Requestor),
    is_granted: bool,
) -> Vec<WatchedResource> {
    owners.iter().filter_map(|owner| owner.watch(uri, client, is_granted)).collect()
}

/// Whether a server announces changes of resources, or is not connected.
pub(super) fn may_announce(upstream: &Upstream) -> bool {
    match upstream.shared.state() {
        LinkState::Open(link) => link.has(Capability::ResourcesSubscribe),
        LinkState::Stopped => false,
        LinkState::Connecting | LinkState::Failed { .. } => true,
    }
}

impl Gateway {
    /// Subscribes a session to a resource. The response is given when every server concerned has granted or refused the
    /// subscription: an earlier one would promise changes that a server does not announce yet.
    pub(super) async fn subscribe(
        &self,
        exchange: &Exchange,
        uri: &str,
    ) -> Result<(), RespondError> {
        let (granted, handle, routes) = (granted(exchange), exchange.handle(), self.routes());
        let requestor = for_limits(exchange);
        let owners = routes.announcers(granted.as_ref(), uri);
        let (mut kept, deadline) = (Vec::new(), Instant::now() + GRANTED_WITHIN);
        let all = watch(&owners, uri, (handle, requestor), false);
        if all.is_empty() && !owners.is_empty() {
            return exchange.reject(ErrorCode::INTERNAL_ERROR, MANY_WATCHED);
        }
        for mut watched in all {
            let is_granted = tokio::select! {
                biased;
                () = exchange.cancelled() => return Err(RespondError::Cancelled),
                is_granted = watched.is_granted() => is_granted,
                () = tokio::time::sleep_until(deadline) => watched.rely(),
            };
            if is_granted {
                kept.push(watched);
            }
        }
        if kept.is_empty() {
            let message = "no server here announces changes of this resource";
            return exchange.reject(ErrorCode::INVALID_PARAMS, message);
        }
        self.subscribers().add((handle, requestor, granted), None, (uri, kept));
        self.rewatch_unless(&routes);
        let responded = exchange.respond(&());
        if responded.is_err() {
            self.subscribers().remove_uri(handle.connection(), uri);
        }
        responded
    }

    /// Ends the subscription of a session.
    pub(super) fn unsubscribe(&self, exchange: &Exchange, uri: &str) -> Result<(), RespondError> {
        self.subscribers().remove_uri(exchange.handle().connection(), uri);
        exchange.respond(&())
    }

    /// Watches the resources of a subscription of the modern era, which has been granted already. It ends with an error if
    /// that is not possible.
    pub(super) fn listen(&self, handle: &Handle<Server>, subscribed: &Subscribed<'_>) {
        let wanted = subscribed.requested.parse::<SubscriptionFilter<'_>>().unwrap_or_default();
        let (routes, granted) = (self.routes(), self.granted(subscribed.context.principal));
        for uri in wanted.resource_subscriptions.into_iter().flatten() {
            let owners = routes.announcers(granted.as_ref(), &uri);
            let requestor = subscribed.context.requestor;
            let watched = watch(&owners, &uri, (handle, requestor), true);
            if watched.is_empty() && !owners.is_empty() {
                let error = ErrorObject::new(ErrorCode::INTERNAL_ERROR, MANY_WATCHED);
                // It may have ended already.
                _ = handle.end_subscription(subscribed.id, &error);
                return self.subscribers().remove_listen(subscribed.id);
            }
            let client = (handle, requestor, granted.clone());
            self.subscribers().add(client, Some(subscribed.id), (&uri, watched));
        }
        self.rewatch_unless(&routes);
    }

    /// Watches all resources again, if a reload has replaced these routes meanwhile and may have missed a subscription.
    fn rewatch_unless(&self, routes: &Arc<Routes>) {
        let newest = self.routes();
        if !Arc::ptr_eq(routes, &newest) {
            self.subscribers().rewatch(&newest);
        }
    }
}
