//! Keeps a server connected.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use mcp_sansio::CallError;
use mcp_sansio::event::{Notification, SubscriptionNews};
use mcp_sansio::model::method;
use mcp_sansio::subscription::ChangedList;
use tokio::time::Instant;

use super::backoff::Backoff;
use super::link::{Link, all_lists};
use super::shared::LinkState;
use super::watches::Subscription;
use super::{Counters, Upstream};
use crate::status::UpstreamEvent;

/// After a connection of this length, the first attempt to connect again is made at once.
const STABLE: Duration = Duration::from_secs(10);

impl Upstream {
    /// Connects to the server, again and again, until the server is removed from the configuration.
    pub(super) async fn supervise(self: Arc<Self>) {
        let mut stopped = self.stop.subscribe();
        let mut stop = pin!(async move {
            let stop = stopped.wait_for(Option::is_some).await;
            // The sender lives as long as this value.
            stop.map_or(Duration::ZERO, |stop| stop.unwrap_or_default())
        });
        let mut backoff = Backoff::new();
        let grace = loop {
            self.shared.set(LinkState::Connecting);
            let opened = tokio::select! {
                biased;
                grace = &mut stop => break grace,
                opened = self.connect() => opened,
            };
            let problem = match opened {
                Ok(link) => {
                    let since = Instant::now();
                    let problem = tokio::select! {
                        biased;
                        grace = &mut stop => {
                            self.shared.set(LinkState::Stopped);
                            tokio::join!(link.close(grace), self.close_own(grace));
                            break grace;
                        }
                        problem = self.serve(&link) => problem,
                    };
                    if STABLE <= since.elapsed() {
                        backoff.reset();
                        self.problem(&problem);
                        continue;
                    }
                    problem
                }
                Err(problem) => problem,
            };
            self.problem(&problem);
            let pause = backoff.next();
            self.shared.set(LinkState::Failed { again: Instant::now() + pause });
            tokio::select! {
                biased;
                grace = &mut stop => break grace,
                () = tokio::time::sleep(pause) => {}
            }
        };
        self.shared.set(LinkState::Stopped);
        self.close_own(grace).await;
        self.finished.send_replace(true);
    }

    async fn connect(&self) -> Result<Arc<Link>, String> {
        let opening = Link::open(&self.gateway.name, &self.config);
        match tokio::time::timeout(self.config.connect_timeout, opening).await {
            Ok(Ok(link)) => Ok(Arc::new(link)),
            Ok(Err(failure)) => Err(failure.to_string()),
            Err(_) => Err("it has not been connected in time".into()),
        }
    }

    /// Offers a connection until it ends. Returns the reason for its end.
    async fn serve(&self, link: &Arc<Link>) -> String {
        Counters::add(&self.counters.connected);
        self.lists.set_announced(false);
        self.report(&UpstreamEvent::Connected { revision: link.revision() });
        self.shared.set(LinkState::Open(Arc::clone(link)));
        // Its lists may be others than before, and clients may have received lists without them.
        self.all_lists_changed();
        if let Some(level) = self.gateway.level() {
            link.set_log_level(level);
        }
        tokio::select! {
            biased;
            problem = link.ended() => problem,
            // Neither returns before the other is done.
            _ = async { tokio::join!(self.close_idle(), self.follow_lists(link)) } => link.ended().await,
        }
    }

    /// Ends the connections of single clients.
    async fn close_own(&self, grace: Duration) {
        let mut closing = tokio::task::JoinSet::new();
        for link in self.own.take_all() {
            closing.spawn(async move { link.close(grace).await });
        }
        while closing.join_next().await.is_some() {}
    }

    /// Follows the changes of the lists. Returns if the server does not announce any.
    async fn follow_lists(&self, link: &Link) {
        let mut backoff = Backoff::new();
        loop {
            let entry = match link.subscribe(&all_lists()) {
                Ok(entry) => Some(entry),
                // The server announces nothing.
                Err(CallError::NotAllowed(_)) => return,
                // It cannot be asked at the moment.
                Err(_) => None,
            };
            let mut subscription = Subscription { link, entry };
            while let Some(news) = subscription.next().await {
                match news {
                    SubscriptionNews::Granted { .. } => {
                        backoff.reset();
                        self.lists.set_announced(true);
                        // Changes before this were not announced.
                        self.all_lists_changed();
                    }
                    SubscriptionNews::Changed(change) => self.list_changed(&change),
                    SubscriptionNews::Lagged { .. } => self.all_lists_changed(),
                    _ => break,
                }
            }
            drop(subscription);
            self.lists.set_announced(false);
            tokio::time::sleep(backoff.next()).await;
        }
    }

    fn list_changed(&self, change: &Notification<'_>) {
        let list = if change.is::<method::ToolsChanged>() {
            ChangedList::Tools
        } else if change.is::<method::PromptsChanged>() {
            ChangedList::Prompts
        } else if change.is::<method::ResourcesChanged>() {
            ChangedList::Resources
        } else {
            return;
        };
        self.lists.changed(list);
        self.gateway.clients.list_changed(list);
    }

    fn all_lists_changed(&self) {
        for list in [ChangedList::Tools, ChangedList::Prompts, ChangedList::Resources] {
            if self.lists.changed(list) {
                self.gateway.clients.list_changed(list);
            }
        }
    }
}
