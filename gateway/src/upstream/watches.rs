//! [`Watches`]: the resources of a server that clients of the gateway have subscribed to.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use mcp_sansio::event::{Notification, SubscriptionEnd, SubscriptionNews};
use mcp_sansio::model::SubscriptionFilter;
use mcp_sansio::request::Requestor;
use mcp_sansio::{CallError, ConnectionNumber, Server};
use mcp_sansio_tokio::{ConnectionGroup, Handle};
use tokio::sync::watch;
use tokio::time::Instant;

use super::Upstream;
use super::backoff::Backoff;
use super::link::Link;
use crate::budget::{Budget, Share};

/// A subscription that is granted later than this may have missed changes.
const SOON: Duration = Duration::from_secs(1);

/// The most resources of one server that are watched at the same time. Over HTTP each takes a stream. One client gets at
/// most a half.
const MOST_WATCHED: usize = 512;

/// The watched resources. A resource is watched once, for all clients.
pub(super) struct Watches {
    watched: Mutex<BTreeMap<String, Watched>>,
    budget: Budget,
}

impl Default for Watches {
    fn default() -> Self {
        Self { watched: Mutex::default(), budget: Budget::new(MOST_WATCHED) }
    }
}

struct Watched {
    /// The identity of the entry: a later one for the same resource has another.
    key: Arc<()>,
    watchers: Watchers,
    /// The share of the client that was the first to watch it.
    _share: Share,
    decision: watch::Receiver<Option<bool>>,
    /// Whether a client has received a response, and so relies on the subscription.
    is_relied_on: bool,
    /// Dropping it ends the subscription.
    _stop: watch::Sender<()>,
}

/// The connections of the clients that watch a resource, to which changes are announced.
#[derive(Clone, Default)]
struct Watchers(Arc<Mutex<BTreeMap<ConnectionNumber, Watcher>>>);

/// A connection, and how often its client watches the resource.
struct Watcher {
    uses: usize,
    /// Only this connection, which it does not keep.
    group: ConnectionGroup,
}

impl Watchers {
    fn add(&self, client: &Handle<Server>) {
        let mut watchers = self.lock();
        let watcher = watchers.entry(client.connection()).or_insert_with(|| {
            let group = ConnectionGroup::new();
            group.add(client);
            Watcher { uses: 0, group }
        });
        watcher.uses += 1;
    }

    /// Ends one use. Returns whether it was the last one of all connections.
    fn remove(&self, client: ConnectionNumber) -> bool {
        let mut watchers = self.lock();
        if let Some(watcher) = watchers.get_mut(&client) {
            watcher.uses -= 1;
            if watcher.uses == 0 {
                watchers.remove(&client);
            }
        }
        watchers.is_empty()
    }

    fn announce(&self, announce: impl Fn(&ConnectionGroup)) {
        // Without the lock, because the connections have locks of their own.
        let groups: Vec<_> = self.lock().values().map(|watcher| watcher.group.clone()).collect();
        groups.iter().for_each(announce);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ConnectionNumber, Watcher>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The use of a watched resource by one client.
pub(crate) struct WatchedResource {
    key: Arc<()>,
    upstream: Weak<Upstream>,
    uri: String,
    client: ConnectionNumber,
    decision: watch::Receiver<Option<bool>>,
}

impl WatchedResource {
    /// Waits until the server has granted or refused the subscription. Returns whether it was granted.
    pub(crate) async fn is_granted(&mut self) -> bool {
        match self.decision.wait_for(Option::is_some).await {
            Ok(decision) => *decision == Some(true),
            Err(_) => false,
        }
    }

    /// Notes that a client gets its response before the server has decided: a refusal of the server is not final then.
    /// Returns false if the server has refused meanwhile.
    pub(crate) fn rely(&self) -> bool {
        let Some(upstream) = self.upstream.upgrade() else { return false };
        let mut watched = upstream.watches.lock();
        let known = watched.get_mut(&self.uri).filter(|known| Arc::ptr_eq(&known.key, &self.key));
        known.is_some_and(|known| {
            known.is_relied_on = true;
            true
        })
    }
}

impl Drop for WatchedResource {
    fn drop(&mut self) {
        let Some(upstream) = self.upstream.upgrade() else { return };
        let mut watched = upstream.watches.lock();
        let is_it = |known: &&Watched| Arc::ptr_eq(&known.key, &self.key);
        let known = watched.get(&self.uri).filter(is_it);
        if known.is_some_and(|known| known.watchers.remove(self.client)) {
            watched.remove(&self.uri);
        }
    }
}

impl Watches {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Watched>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Upstream {
    /// Watches a resource for a client until the result is dropped. `None` if too many resources are watched, by all or by
    /// this client. `is_granted`: whether the client gets its response without waiting for the server.
    pub(crate) fn watch(
        self: &Arc<Self>,
        uri: &str,
        (client, requestor): (&Handle<Server>, Requestor),
        is_granted: bool,
    ) -> Option<WatchedResource> {
        let mut watched = self.watches.lock();
        let share = match watched.contains_key(uri) {
            true => None,
            false => Some(self.watches.budget.share(requestor, 1)?),
        };
        let begin = |share| {
            let (decide, decision) = watch::channel(None);
            let (stop, stopped) = watch::channel(());
            let (key, watchers) = (Arc::<()>::default(), Watchers::default());
            let watching = Watching {
                key: Arc::clone(&key),
                upstream: Arc::clone(self),
                uri: uri.into(),
                watchers: watchers.clone(),
                since: Instant::now(),
                decide,
            };
            tokio::spawn(watching.run(stopped));
            let is_relied_on = false;
            Watched { key, watchers, _share: share, decision, is_relied_on, _stop: stop }
        };
        if let Some(share) = share {
            watched.insert(uri.to_owned(), begin(share));
        }
        let known = watched.get_mut(uri)?;
        known.is_relied_on |= is_granted;
        known.watchers.add(client);
        Some(WatchedResource {
            key: Arc::clone(&known.key),
            upstream: Arc::downgrade(self),
            uri: uri.to_owned(),
            client: client.connection(),
            decision: known.decision.clone(),
        })
    }
}

/// The subscription to a resource, which is opened again after the connection was lost.
struct Watching {
    key: Arc<()>,
    upstream: Arc<Upstream>,
    uri: String,
    watchers: Watchers,
    /// When the resource was watched for the first time.
    since: Instant,
    /// Whether the subscription was granted, once that is known.
    decide: watch::Sender<Option<bool>>,
}

impl Watching {
    async fn run(self, mut stopped: watch::Receiver<()>) {
        let work = async {
            let mut backoff = Backoff::new();
            let mut next = self.upstream.shared.next_open().await;
            while let Some(link) = next {
                if let Some(since) = self.follow(&link).await {
                    backoff.reset_after(since);
                }
                if *self.decide.borrow() == Some(false) && !self.is_relied_on() {
                    return;
                }
                let pause = tokio::time::sleep(backoff.next());
                let mut open = pin!(async {
                    pause.await;
                    self.upstream.shared.next_open().await
                });
                next = tokio::select! {
                    biased;
                    () = link.ended() => {
                        // The next connection may be one to a server that grants it.
                        self.forget_refusal();
                        open.await
                    }
                    link = &mut open => link,
                };
            }
        };
        tokio::select! {
            // Its sender is never used, only dropped.
            _ = stopped.changed() => {}
            () = work => {}
        }
    }

    /// Whether a client relies on the subscription that the server has refused. If not, the entry is removed, and the next
    /// client asks again.
    fn is_relied_on(&self) -> bool {
        let mut watched = self.upstream.watches.lock();
        let known = watched.get(&self.uri).filter(|known| Arc::ptr_eq(&known.key, &self.key));
        let Some(known) = known else { return false };
        let is_relied_on = known.is_relied_on;
        if !is_relied_on {
            watched.remove(&self.uri);
        }
        is_relied_on
    }

    /// Follows a subscription to its end. Returns when it was granted.
    async fn follow(&self, link: &Link) -> Option<Instant> {
        let filter = SubscriptionFilter::new().with_resource(&*self.uri);
        let entry = match link.subscribe(&filter) {
            Ok(entry) => entry,
            Err(CallError::NotAllowed(_)) => {
                // The server has no subscriptions.
                self.refused();
                return None;
            }
            // It cannot be asked at the moment.
            Err(_) => return None,
        };
        self.forget_refusal();
        let mut subscription = Subscription { link, entry: Some(entry) };
        let was_granted = *self.decide.borrow() == Some(true);
        let mut since = None;
        while let Some(news) = subscription.next().await {
            match news {
                SubscriptionNews::Granted { granted, .. } => {
                    let granted = granted.parse::<SubscriptionFilter<'_>>().unwrap_or_default();
                    if granted.resource_subscriptions.is_none_or(|uris| uris.is_empty()) {
                        self.refused();
                        break;
                    }
                    since = Some(Instant::now());
                    self.decide.send_replace(Some(true));
                    if was_granted || SOON < self.since.elapsed() {
                        // Clients believe to be subscribed, and a change until now was missed.
                        self.updated();
                    }
                }
                SubscriptionNews::Changed(change) => self.announce(&change),
                SubscriptionNews::Lagged { .. } => self.updated(),
                SubscriptionNews::Ended(SubscriptionEnd::Rejected(_)) => {
                    self.refused();
                    break;
                }
                _ => break,
            }
        }
        since
    }

    /// Lets clients that come from here on wait for the next decision.
    fn forget_refusal(&self) {
        self.decide.send_if_modified(|decision| {
            decision.take_if(|is_granted| !*is_granted);
            false
        });
    }

    /// Notes a refusal, for the clients that wait for the decision. A subscription that clients rely on is tried again.
    fn refused(&self) {
        self.decide.send_if_modified(|decision| {
            let is_first = decision.is_none();
            if is_first {
                *decision = Some(false);
            }
            is_first
        });
    }

    fn announce(&self, change: &Notification<'_>) {
        let uri = change.params.as_ref().and_then(|params| params.get("uri")?.into_str());
        if let Some(uri) = uri {
            let (watched, uri) = (&*self.uri, uri.to_str());
            self.watchers.announce(|client| client.resource_updated_below(watched, &uri));
        }
    }

    fn updated(&self) {
        self.watchers.announce(|client| client.resource_updated(&self.uri));
    }
}

/// A subscription that ends when it is dropped.
pub(super) struct Subscription<'l> {
    pub(super) link: &'l Link,
    pub(super) entry: Option<super::table::SubscriptionEntry>,
}

impl Subscription<'_> {
    pub(super) async fn next(&mut self) -> Option<SubscriptionNews<'static>> {
        self.entry.as_mut()?.news.recv().await
    }
}

impl Drop for Subscription<'_> {
    fn drop(&mut self) {
        if let Some(entry) = self.entry.take() {
            self.link.unsubscribe(entry);
        }
    }
}

#[cfg(test)]
mod tests {
    use mcp_sansio_tokio::{Exchange, Handler, connect_in_memory};

    use super::*;

    struct Kept(Arc<Mutex<Option<Handle<Server>>>>);

    impl Handler<Server> for Kept {
        async fn serve(&self, _: Exchange) {}

        fn begin(&self, handle: &Handle<Server>) {
            *self.0.lock().unwrap() = Some(handle.clone());
        }
    }

    #[tokio::test]
    async fn a_connection_is_a_watcher_until_its_last_use_ends() {
        let kept = Arc::new(Mutex::new(None));
        let config = mcp_sansio::ServerConfig::new("server", "1");
        let _client = connect_in_memory(config, Kept(Arc::clone(&kept))).await.unwrap();
        let handle = kept.lock().unwrap().clone().unwrap();
        let (watchers, one) = (Watchers::default(), handle.connection());
        watchers.add(&handle);
        watchers.add(&handle);
        assert!(!watchers.remove(one));
        assert_eq!(watchers.lock().len(), 1);
        assert!(watchers.remove(one));
        assert!(watchers.lock().is_empty());
    }
}
