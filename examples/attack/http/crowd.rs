//! Many attackers at once, who stay when they have done what they came for.

use std::any::Any;
use std::future::{Future, pending};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

use crate::Failure;

/// How long an attack may take at least to get going, however short its time is.
const BEGIN: Duration = Duration::from_secs(3);

/// How many requests of an attacker were served, and how many were refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    served: u64,
    refused: u64,
}

impl Count {
    /// Of one request.
    pub(crate) fn of(is_served: bool) -> Self {
        let mut count = Self::default();
        count.add(is_served);
        count
    }

    pub(crate) const fn add(&mut self, is_served: bool) {
        if is_served { self.served += 1 } else { self.refused += 1 }
    }

    /// How many requests there were.
    pub(crate) const fn all(&self) -> u64 {
        self.served + self.refused
    }
}

#[derive(Debug, Default)]
struct Tally {
    attackers: AtomicU64,
    served: AtomicU64,
    refused: AtomicU64,
}

impl Tally {
    /// One more attacker has done what it came for.
    fn add(&self, count: Count) {
        self.served.fetch_add(count.served, Ordering::Relaxed);
        self.refused.fetch_add(count.refused, Ordering::Relaxed);
        self.attackers.fetch_add(1, Ordering::Relaxed);
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
    attacker: impl Fn(usize) -> A,
) -> Siege
where
    A: Future<Output = Result<(Count, T), Failure>> + Send + 'static,
    T: Send + 'static,
{
    let tally = Arc::new(Tally::default());
    let mut tasks = JoinSet::new();
    let latest = until.max(Instant::now() + BEGIN);
    for number in 0..count {
        let (attacker, tally) = (attacker(number), Arc::clone(&tally));
        tasks.spawn(async move {
            let attacked = attacker.await;
            tally.add(attacked.as_ref().map_or_else(|_| Count::of(false), |(count, _)| *count));
            pending::<()>().await;
            drop(attacked);
        });
    }
    let is_done = || tally.attackers.load(Ordering::Relaxed) == count as u64;
    while !is_done() && Instant::now() < latest {
        sleep(Duration::from_millis(10)).await;
    }
    sleep_until(until).await;
    let served = tally.served.load(Ordering::Relaxed);
    let refused = tally.refused.load(Ordering::Relaxed);
    Siege { served, refused, probe: None, held: vec![Box::new(tasks)] }
}
