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
use super::era::era_changed;
use super::link::{Link, all_lists};
use super::shared::LinkState;
use super::watches::Subscription;
use super::{Counters, Upstream};
use crate::status::UpstreamEvent;

/// How long the lists of a new connection are not read, because the subscription to their changes is about to be granted.
const GRANT_PATIENCE: Duration = Duration::from_secs(2);

impl Upstream {
    /// Connects to the server, again and again, until the server is removed from the configuration.
    pub(super) async fn supervise(self: Arc<Self>) {
        let mut stopped = self.stop.subscribe();
        // The sender lives as long as this value.
        let mut stop = pin!(async move { _ = stopped.wait_for(Option::is_some).await });
        let mut backoff = Backoff::new();
        loop {
            self.shared.set(LinkState::Connecting);
            let opened = tokio::select! {
                biased;
                () = &mut stop => break,
                opened = self.connect() => opened,
            };
            let problem = match opened {
                Ok(link) => {
                    let since = Instant::now();
                    let problem = tokio::select! {
                        biased;
                        () = &mut stop => {
                            self.shared.set(LinkState::Stopped);
                            let own = self.own.close_all(|| self.time_is_up());
                            tokio::join!(link.close(self.time_is_up()), own);
                            break;
                        }
                        problem = self.serve(&link) => problem,
                    };
                    if backoff.reset_after(since) {
                        // The first attempt to connect again is made at once.
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
                () = &mut stop => break,
                () = tokio::time::sleep(pause) => {}
            }
        }
        self.shared.set(LinkState::Stopped);
        self.own.close_all(|| self.time_is_up()).await;
        self.retired().await;
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
    async fn serve(self: &Arc<Self>, link: &Arc<Link>) -> String {
        Counters::add(&self.counters.connected);
        self.lists.set_announced(false);
        self.report(&UpstreamEvent::Connected { revision: link.revision() });
        // Its lists may be others than before.
        self.lists.expire();
        self.shared.set(LinkState::Open(Arc::clone(link)));
        if let Some(level) = self.gateway.level() {
            link.set_log_level(level);
        }
        let ended = async {
            link.ended().await;
            // No more calls are made on it, even if its process goes on.
            self.shared.set(LinkState::Connecting);
            link.cause_of_end().await
        };
        let meanwhile = async {
            tokio::join!(self.close_idle(), self.follow_lists(link));
            std::future::pending().await
        };
        let problem = tokio::select! {
            biased;
            problem = ended => return problem,
            problem = meanwhile => problem,
            Some(problem) = era_changed(&self.config.transport, link) => problem,
        };
        self.shared.set(LinkState::Connecting);
        self.retire(Arc::clone(link));
        problem
    }

    /// Checks the lists of a new connection, and follows their changes. Returns if the server does not announce any.
    async fn follow_lists(self: &Arc<Self>, link: &Link) {
        let (mut backoff, mut is_checked) = (Backoff::new(), false);
        let patience = Instant::now() + GRANT_PATIENCE;
        loop {
            let entry = match link.subscribe(&all_lists()) {
                Ok(entry) => Some(entry),
                // The server announces nothing.
                Err(CallError::NotAllowed(_)) => return self.check_lists(),
                // It cannot be asked at the moment.
                Err(_) => None,
            };
            let mut subscription = Subscription { link, entry };
            let mut granted = None;
            loop {
                let news = tokio::select! {
                    biased;
                    news = subscription.next() => news,
                    () = tokio::time::sleep_until(patience), if !is_checked => {
                        is_checked = true;
                        self.check_lists();
                        continue;
                    }
                };
                match news {
                    Some(SubscriptionNews::Granted { .. }) => {
                        granted = Some(Instant::now());
                        self.lists.set_announced(true);
                        // Changes before this were not announced.
                        is_checked = true;
                        self.check_lists();
                    }
                    Some(SubscriptionNews::Changed(change)) => self.list_changed(&change),
                    Some(SubscriptionNews::Lagged { .. }) => self.check_lists(),
                    _ => break,
                }
            }
            drop(subscription);
            granted.map(|since| backoff.reset_after(since));
            link.doubt();
            self.lists.set_announced(false);
            if !std::mem::replace(&mut is_checked, true) {
                self.check_lists();
            }
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
}
