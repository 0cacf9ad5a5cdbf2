//! Time and tasks of tokio, for adapters that are built on this one.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use mcp_sansio_driver::asynchronous::{Handler, Spawn, Spawner};
use mcp_sansio_driver::{Clock, Machine, Sleep, Timer};
use tokio::runtime::RuntimeFlavor;

/// Returns a clock that stops while the time of tokio is paused (`tokio::time::pause`). Each connection has its own
/// clock; pass one to [`SharedTasks::with_clock`](crate::SharedTasks::with_clock) in tests that pause the time.
///
/// The pause applies to the threads of the runtime; on other threads the clock shows the time of the operating
/// system.
pub fn clock() -> Clock {
    Clock::with(|| tokio::time::Instant::now().into_std())
}

/// Returns a runner of a handler, whose tasks run on the current runtime.
pub fn spawner<M: Machine, H: Handler<M>>(handler: H) -> Spawner<M, H, RuntimeSpawn> {
    // The runtime is addressed by its handle, because a thread outside the runtime may respond to a request and
    // thereby start the next one.
    Spawner::new(handler, RuntimeSpawn { runtime: tokio::runtime::Handle::current() })
}

/// Spawns tasks on a runtime.
#[derive(Clone, Debug)]
pub struct RuntimeSpawn {
    runtime: tokio::runtime::Handle,
}

impl Spawn for RuntimeSpawn {
    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        drop(self.runtime.spawn(work));
    }

    fn is_parallel(&self) -> bool {
        self.runtime.runtime_flavor() != RuntimeFlavor::CurrentThread
    }

    fn is_current(&self) -> bool {
        let current = tokio::runtime::Handle::try_current();
        current.is_ok_and(|current| current.id() == self.runtime.id())
    }
}

/// A timer of tokio.
#[derive(Debug, Default)]
pub struct Sleeps {
    sleep: Option<Pin<Box<tokio::time::Sleep>>>,
}

impl Timer for Sleeps {
    fn poll_until(&mut self, context: &mut Context<'_>, deadline: Option<Instant>) -> Poll<()> {
        let Some(deadline) = deadline.map(tokio::time::Instant::from_std) else {
            return Poll::Pending;
        };
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
        if sleep.deadline() != deadline {
            sleep.as_mut().reset(deadline);
        }
        sleep.as_mut().poll(context)
    }
}

/// Returns a timer of the current runtime, which can also be awaited outside of it.
pub fn sleep() -> impl Sleep {
    RuntimeSleep { runtime: tokio::runtime::Handle::current() }
}

struct RuntimeSleep {
    runtime: tokio::runtime::Handle,
}

impl Sleep for RuntimeSleep {
    fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let sleep = self.runtime.spawn(async move { tokio::time::sleep(time).await });
        Box::pin(async move {
            if sleep.await.is_err() {
                // The runtime has ended, so this thread is not one of its workers.
                std::thread::sleep(time);
            }
        })
    }
}
