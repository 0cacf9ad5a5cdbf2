//! Many attackers at once, who stay when they have done what they came for.

use std::any::Any;
use std::future::{Future, pending};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

use crate::Failure;

/// How long an attack may take to build up what it holds, however short its time is.
const BEGIN: Duration = Duration::from_secs(6);

/// How many requests or connections of an attack were served, and how many were refused, so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    served: AtomicU64,
    refused: AtomicU64,
    /// Attackers that have done what they came for.
    done: AtomicU64,
}

impl Tally {
    /// Counts one more.
    pub(crate) fn add(&self, is_served: bool) {
        let count = if is_served { &self.0.served } else { &self.0.refused };
        count.fetch_add(1, Ordering::Relaxed);
    }

    /// How many there are.
    pub(crate) fn all(&self) -> u64 {
        self.0.served.load(Ordering::Relaxed) + self.0.refused.load(Ordering::Relaxed)
    }
}

/// An attack that goes on until this is dropped: what it holds of the server, and what it has counted.
#[derive(Default)]
pub(crate) struct Siege {
    pub(crate) served: u64,
    pub(crate) refused: u64,
    /// Where the work for a message is measured; a session of its own otherwise.
    pub(crate) probe: Option<Probe>,
    /// Connections and tasks.
    pub(crate) held: Vec<Box<dyn Any>>,
}

/// Pings to measure the work with: in this session, with these ids.
#[derive(Clone, Debug)]
pub(crate) struct Probe {
    pub(crate) session: String,
    pub(crate) ids: Vec<String>,
}

impl Probe {
    /// With an id that is like any other.
    pub(crate) fn new(session: String) -> Self {
        Self { session, ids: vec!["probe".into()] }
    }
}

/// Starts so many attackers. Each counts its requests, and keeps what it gives: connections, for example. That one
/// fails, because the server has closed its connection, is a refusal.
pub(crate) async fn crowd<A, T>(
    count: usize,
    until: Instant,
    attacker: impl Fn(usize, Tally) -> A,
) -> Siege
where
    A: Future<Output = Result<T, Failure>> + Send + 'static,
    T: Send + 'static,
{
    let tally = Tally::default();
    let mut tasks = JoinSet::new();
    let latest = until.max(Instant::now() + BEGIN);
    for number in 0..count {
        let (attacker, tally) = (attacker(number, tally.clone()), tally.clone());
        tasks.spawn(async move {
            let kept = attacker.await;
            if kept.is_err() {
                tally.add(false);
            }
            tally.0.done.fetch_add(1, Ordering::Relaxed);
            pending::<()>().await;
            drop(kept);
        });
    }
    let is_done = || tally.0.done.load(Ordering::Relaxed) == count as u64;
    while !is_done() && Instant::now() < latest {
        sleep(Duration::from_millis(10)).await;
    }
    sleep_until(until).await;
    let served = tally.0.served.load(Ordering::Relaxed);
    let refused = tally.0.refused.load(Ordering::Relaxed);
    Siege { served, refused, probe: None, held: vec![Box::new(tasks)] }
}
