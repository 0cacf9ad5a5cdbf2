//! Attacks on a server that is a child process.

mod batches;
mod calls;
mod ends;
mod framing;
mod pipe;
mod run;

use std::future::Future;
use std::pin::Pin;

use crate::Failure;
use crate::stdio::pipe::Pipe;
pub(crate) use crate::stdio::run::{Control, run};

type Running<'p> = Pin<Box<dyn Future<Output = Result<After, Failure>> + 'p>>;

/// The expected state after an attack.
#[derive(Clone, Debug)]
pub(crate) enum After {
    /// The server responds to pings. The work for one is measured with these ids.
    Alive { ids: Vec<String> },
    /// The server ends by itself, because its input has ended or its output is not read.
    Ends,
}

impl After {
    /// The server responds to pings with ordinary ids.
    pub(crate) const ALIVE: Self = Self::Alive { ids: Vec::new() };
}

/// An attack.
#[derive(Clone, Copy)]
pub(crate) struct Attack {
    pub(crate) name: &'static str,
    /// Its description, in one line.
    pub(crate) does: &'static str,
    attack: fn(&mut Pipe) -> Running<'_>,
}

macro_rules! attacks {
    ($($name:literal $does:literal $attack:path,)*) => {
        /// All attacks on standard input and output, in the order of their execution.
        pub(crate) const ATTACKS: &[Attack] = &[$(
            Attack { name: $name, does: $does, attack: |pipe| Box::pin($attack(pipe)) },
        )*];
    };
}

attacks! {
    "endless-line" "lines of 300 MiB" framing::endless_line,
    "noise" "random bytes" framing::noise_instead,
    "deep-nesting" "4,000,000 arrays in one another" framing::deep_nesting,
    "huge-ids" "ids of 15 MiB" framing::huge_ids,
    "pipelining" "pings by the thousand without waiting" framing::pipelining,
    "listens" "120 subscriptions with 3.9 MB of URIs each" calls::listens,
    "unread-answers" "120 answers of 3 MiB that are not read" calls::unread,
    "slow-calls" "79 slow calls with arguments of 15 MiB" calls::slow_calls,
    "questions" "120 calls that ask the user, with questions of 3 MiB" calls::questions,
    "tasks" "300 tasks with results of 3 MiB" calls::tasks,
    "cancelled-updates" "60 requests about tasks of 15 MiB, cancelled" calls::cancelled_updates,
    "open-batches" "1,000 open batches of 255 pings each" batches::open_batches,
    "colliding-ids" "1,000 slow calls whose ids collide" batches::colliding_ids,
    "half-closed" "an input that ends in the middle of calls" ends::half_closed,
}
