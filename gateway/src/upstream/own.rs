//! [`OwnLinks`]: connections to a server of the legacy era that belong to one client each.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mcp_sansio::Phase;
use mcp_sansio::request::Requestor;
use tokio::sync::OnceCell;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::Upstream;
use super::era::era_changed;
use super::link::Link;
use super::shared::NoLink;
use crate::client_key::ClientKey;
use crate::config::Sharing;

/// How long a connection is kept for its client, even if another client needs the room.
const LEAST_IDLE: Duration = Duration::from_secs(10);

/// How long the cancelled calls of a client that has left may take to end.
const LAST_CALLS: Duration = Duration::from_secs(5);

/// The maximum number of connections that are being closed: their processes are in no other limit any more.
const MOST_CLOSING: usize = 16;

/// The connections, by their clients.
#[derive(Default)]
pub(super) struct OwnLinks {
    links: Mutex<BTreeMap<ClientKey, OwnLink>>,
    /// The connections that are being closed.
    closing: Mutex<JoinSet<()>>,
}

#[derive(Clone)]
struct OwnLink {
    cell: Arc<OnceCell<Arc<Link>>>,
    /// The client for limits, which may have several sessions.
    requestor: Requestor,
    used: Instant,
}

impl OwnLink {
    /// Whether the connection has ended.
    fn is_over(&self) -> bool {
        self.cell.get().is_some_and(|link| link.handle().phase() == Phase::Closed)
    }

    /// Whether the attempt to open the connection was given up.
    fn is_abandoned(&self) -> bool {
        self.cell.get().is_none() && Arc::strong_count(&self.cell) == 1
    }

    /// Whether no call is in progress, and none is being begun.
    fn is_idle(&self) -> bool {
        let calls = |link: &Arc<Link>| link.handle().counts().outbound;
        Arc::strong_count(&self.cell) == 1 && self.cell.get().is_none_or(|link| calls(link) == 0)
    }
}

/// Removes and returns the connection of these clients that was not used for the longest time.
fn evict(
    links: &mut BTreeMap<ClientKey, OwnLink>,
    is_of_these: impl Fn(&OwnLink) -> bool,
) -> Option<OwnLink> {
    let is_due = |own: &OwnLink| own.is_idle() && LEAST_IDLE <= own.used.elapsed();
    let idle = links.iter().filter(|(_, own)| is_of_these(own) && is_due(own));
    let client = *idle.min_by_key(|(_, own)| own.used)?.0;
    links.remove(&client)
}

/// Makes room for another connection: of at most `most` in all, and of half of them for the sessions of one network,
/// which cannot keep all other clients out. Returns the connection that was removed for it.
///
/// # Errors
///
/// [`NoLink::TooManySessions`] if there is no room.
fn make_room(
    links: &mut BTreeMap<ClientKey, OwnLink>,
    requestor: Requestor,
    most: usize,
) -> Result<Option<OwnLink>, NoLink> {
    let is_own = |own: &OwnLink| own.requestor == requestor;
    let own = links.values().filter(|own| is_own(own)).count();
    let evicted = if most.div_ceil(2) <= own {
        evict(links, is_own)
    } else if most <= links.len() {
        evict(links, |_| true)
    } else {
        return Ok(None);
    };
    evicted.map(Some).ok_or(NoLink::TooManySessions)
}

impl OwnLinks {
    /// Closes the connections whose clients have not used them for this time.
    fn close_idle(&self, idle: Duration) {
        let now = Instant::now();
        let is_due = |own: &OwnLink| own.is_over() || own.is_idle() && own.used + idle <= now;
        let mut removed = Vec::new();
        self.lock().retain(|_, own| {
            if !own.is_idle() {
                own.used = now;
            }
            let is_due = is_due(own) || own.is_abandoned();
            if is_due {
                removed.push(own.clone());
            }
            !is_due
        });
        self.close(removed);
    }

    /// Closes removed connections: a process gets the time to end by itself, which a dropped connection does not give.
    fn close(&self, removed: impl IntoIterator<Item = OwnLink>) {
        let mut removed: Vec<OwnLink> = removed.into_iter().collect();
        let mut closing = self.closing.lock().unwrap_or_else(PoisonError::into_inner);
        while closing.try_join_next().is_some() {}
        let room = MOST_CLOSING.saturating_sub(closing.len()).min(removed.len());
        for link in removed.drain(..room).filter_map(|own| own.cell.get().cloned()) {
            closing.spawn(async move { link.close(tokio::time::sleep(LAST_CALLS)).await });
        }
        drop(closing);
        // Beyond the limit a connection is dropped, which kills its process at once. That may block, so no lock is held.
        drop(removed);
    }

    /// Removes all connections, and closes them as [`Link::close`] does. Returns when all have ended.
    pub(super) async fn close_all<F>(&self, limit: impl Fn() -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let links = std::mem::take(&mut *self.lock());
        let mut closing =
            std::mem::take(&mut *self.closing.lock().unwrap_or_else(PoisonError::into_inner));
        for link in links.into_values().filter_map(|own| own.cell.get().cloned()) {
            let limit = limit();
            closing.spawn(async move { link.close(limit).await });
        }
        while closing.join_next().await.is_some() {}
    }

    /// Returns the connection of a client, if it is open.
    pub(super) fn open(&self, client: ClientKey) -> Option<Arc<Link>> {
        let mut links = self.lock();
        let own = links.get_mut(&client)?;
        let link = own.cell.get().filter(|link| link.handle().phase() == Phase::Ready)?;
        own.used = Instant::now();
        Some(Arc::clone(link))
    }

    /// Returns all open connections.
    pub(super) fn all(&self) -> Vec<Arc<Link>> {
        self.lock().values().filter_map(|own| own.cell.get().cloned()).collect()
    }

    pub(super) fn count(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ClientKey, OwnLink>> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Upstream {
    /// Returns the connection of this client, which is opened if there is none.
    pub(super) async fn own_link(
        self: &Arc<Self>,
        (client, requestor): (ClientKey, Requestor),
        (most, idle): (usize, Duration),
    ) -> Result<Arc<Link>, NoLink> {
        self.own.close_idle(idle);
        let mut evicted = None;
        let cell = {
            let mut links = self.own.lock();
            match links.get_mut(&client) {
                Some(own) => {
                    own.used = Instant::now();
                    Arc::clone(&own.cell)
                }
                None => {
                    evicted = make_room(&mut links, requestor, most)?;
                    let cell = Arc::<OnceCell<Arc<Link>>>::default();
                    let used = Instant::now();
                    links.insert(client, OwnLink { cell: Arc::clone(&cell), requestor, used });
                    cell
                }
            }
        };
        self.own.close(evicted);
        let open = async {
            let opening = Link::open(&self.gateway.name, &self.config);
            let link = match tokio::time::timeout(self.config.connect_timeout, opening).await {
                Ok(Ok(link)) => link,
                Ok(Err(failure)) => {
                    self.problem(&failure.to_string());
                    return Err(NoLink::NotOpened);
                }
                Err(_) => return Err(NoLink::Connecting),
            };
            let link = Arc::new(link);
            self.watch_era(client, &cell, &link);
            Ok(link)
        };
        let link = cell.get_or_try_init(|| open).await.cloned();
        // Only now is the connection among those that get another level.
        if let (Ok(link), Some(level)) = (&link, self.gateway.level()) {
            link.set_log_level(level);
        }
        if link.is_err() {
            // The entry would count for the limit.
            let is_it = |own: &OwnLink| Arc::ptr_eq(&own.cell, &cell);
            let mut links = self.own.lock();
            if links.get(&client).is_some_and(is_it) && Arc::strong_count(&cell) == 2 {
                links.remove(&client);
            }
        }
        link
    }

    /// Removes the connection of a client once its server does not serve its era any more. The next call opens another
    /// one.
    fn watch_era(
        self: &Arc<Self>,
        client: ClientKey,
        cell: &Arc<OnceCell<Arc<Link>>>,
        link: &Arc<Link>,
    ) {
        let changed = era_changed(&self.config.transport, link);
        // Neither is kept: the entry may be removed, and the server.
        let (upstream, cell, ended) =
            (Arc::downgrade(self), Arc::downgrade(cell), link.handle().clone());
        tokio::spawn(async move {
            let problem = tokio::select! {
                biased;
                () = ended.ended() => return,
                problem = changed => problem,
            };
            let (Some(problem), Some(upstream)) = (problem, upstream.upgrade()) else { return };
            upstream.problem(&problem);
            let mut links = upstream.own.lock();
            let is_it = |own: &OwnLink| std::ptr::eq(Arc::as_ptr(&own.cell), cell.as_ptr());
            let removed = links.get(&client).is_some_and(is_it).then(|| links.remove(&client));
            drop(links);
            let link = removed.flatten().and_then(|own| own.cell.get().cloned());
            link.into_iter().for_each(|link| upstream.retire(link));
        });
    }

    /// Closes the connections of clients that do not use them. Returns only if clients have none of their own.
    pub(super) async fn close_idle(&self) {
        if let Sharing::PerClient { idle, .. } = self.config.sharing {
            loop {
                tokio::time::sleep(idle / 2).await;
                self.own.close_idle(idle);
            }
        }
    }

    /// Ends the connection of a client that has left.
    pub(crate) fn forget_client(&self, client: ClientKey) {
        let own = self.own.lock().remove(&client);
        self.own.close(own);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sessions of one network leave room for other clients.
    #[tokio::test(start_paused = true)]
    async fn a_network_has_half_of_the_connections() {
        let mut links = BTreeMap::new();
        let mut cells = Vec::new();
        let mut open = |links: &mut BTreeMap<_, _>, session, requestor| {
            let evicted = make_room(links, requestor, 4)?;
            let cell = Arc::default();
            // A call is being begun.
            cells.push(Arc::clone(&cell));
            let used = Instant::now();
            links.insert(ClientKey::Session(session), OwnLink { cell, requestor, used });
            Ok::<_, NoLink>(evicted.is_some())
        };
        let (network, other) = (Requestor::Unknown(1), Requestor::Unknown(2));
        assert!(matches!(open(&mut links, 1, network), Ok(false)));
        assert!(matches!(open(&mut links, 2, network), Ok(false)));
        assert!(matches!(open(&mut links, 3, network), Err(NoLink::TooManySessions)));
        assert!(matches!(open(&mut links, 4, other), Ok(false)));
        assert!(matches!(open(&mut links, 5, Requestor::Session(5)), Ok(false)));
        // All are taken.
        assert!(matches!(open(&mut links, 6, Requestor::Session(6)), Err(NoLink::TooManySessions)));
        cells.clear();
        tokio::time::sleep(LEAST_IDLE).await;
        // A network beyond its half replaces only its own sessions.
        let evicted = make_room(&mut links, network, 4).unwrap();
        assert_eq!(evicted.unwrap().requestor, network);
        assert!(matches!(make_room(&mut links, other, 4), Ok(None)));
    }
}
