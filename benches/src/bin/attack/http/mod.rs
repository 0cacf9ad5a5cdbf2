//! Attacks over HTTP.

mod answers;
mod batches;
mod bodies;
mod calls;
mod client;
mod crowd;
mod floods;
mod good_client;
mod heads;
mod run;
mod sessions;

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;

use tokio::time::Instant;

use crate::Failure;
use crate::http::crowd::Siege;
pub(crate) use crate::http::run::{Control, Server, run};

/// The attacked server, and the end of the attack.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) address: SocketAddr,
    pub(crate) path: String,
    /// The time at which the attack ends.
    pub(crate) until: Instant,
}

type Running = Pin<Box<dyn Future<Output = Result<Siege, Failure>>>>;

/// An attack.
#[derive(Clone, Copy)]
pub(crate) struct Attack {
    pub(crate) name: &'static str,
    /// Its description, in one line.
    pub(crate) does: &'static str,
    attack: fn(Target) -> Running,
}

macro_rules! attacks {
    ($($name:literal $does:literal $attack:path,)*) => {
        /// All attacks over HTTP, in the order of their execution.
        pub(crate) const ATTACKS: &[Attack] = &[$(
            Attack { name: $name, does: $does, attack: |target| Box::pin($attack(target)) },
        )*];
    };
}

attacks! {
    "slow-bodies" "150 unfinished bodies of 4 MiB, then a byte every 29 s" bodies::slow_bodies,
    "slow-heads" "300 heads, a byte a second" heads::slow_heads,
    "endless-heads" "20 heads with a field of 64 MiB" heads::endless_heads,
    "listens" "120 subscriptions with 3.9 MB of URIs each" calls::listens,
    "unread-answers" "120 answers of 3 MiB that are not read" answers::unread,
    "pipelining" "20 times 1,000 requests on a connection, whose answers are not read" answers::pipelining,
    "half-closed" "500 connections that are closed for writing after a request" answers::half_closed,
    "kept-events" "40 sessions with 8 broken event streams of 3 MiB each" sessions::kept_events,
    "stored-events" "900 sessions with a read event of 900 KiB each" sessions::stored_events,
    "session-flood" "10,000 sessions" sessions::flood,
    "slow-calls" "79 slow calls with arguments of 3.9 MB" calls::slow_calls,
    "questions" "120 calls that ask the user, with questions of 3 MiB" calls::questions,
    "tasks" "300 tasks with results of 3 MiB" calls::tasks,
    "open-batches" "20 sessions with 15 open batches of 255 pings each" batches::open_batches,
    "colliding-ids" "300 slow calls whose ids collide" batches::colliding_ids,
    "rapid-reset" "streams of HTTP/2 that are reset at once" floods::rapid_reset,
    "huge-ids" "ids of 3.9 MB" floods::huge_ids,
    "deep-nesting" "2,000,000 arrays in one another" floods::deep_nesting,
    "noise" "random bytes, as bodies and instead of HTTP" floods::noise_everywhere,
}
