//! Many concurrent attackers, which keep their resources when they are done.

use std::any::Any;
use std::future::{Future, pending};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

use crate::Failure;

/// The time that an attack may take to acquire its resources, even if the attack is shorter.
const BEGIN: Duration = Duration::from_secs(6);

/// The numbers of served and of refused requests or connections of an attack so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    served: AtomicU64,
    refused: AtomicU64,
    /// The attackers that are done.
    done: AtomicU64,
}

impl Tally {
    /// Counts one request or connection.
    pub(crate) fn add(&self, is_served: bool) {
        let count = if is_served { &self.0.served } else { &self.0.refused };
        count.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the total number.
    pub(crate) fn all(&self) -> u64 {
        self.0.served.load(Ordering::Relaxed) + self.0.refused.load(Ordering::Relaxed)
    }
}

/// An attack that continues until this is dropped: its resources on the server, and its counts.
#[derive(Default)]
pub(crate) struct Siege {
    pub(crate) served: u64,
    pub(crate) refused: u64,
    /// The session in which the work for a message is measured; by default a separate one.
    pub(crate) probe: Option<Probe>,
    /// Connections and tasks.
    pub(crate) held: Vec<Box<dyn Any>>,
}

/// Pings that measure the work: in this session, with these ids.
#[derive(Clone, Debug)]
pub(crate) struct Probe {
    pub(crate) session: String,
    pub(crate) ids: Vec<String>,
}

impl Probe {
    /// A probe with an ordinary id.
    pub(crate) fn new(session: String) -> Self {
        Self { session, ids: vec!["probe".into()] }
    }
}

/// Starts `count` attackers. Each counts its requests, and its output is kept, for example a connection. An
/// attacker that fails, because the server has closed its connection, counts as refused.
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
