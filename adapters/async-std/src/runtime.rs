//! Timers, on any runtime.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use mcp_sansio_driver::{Sleep, Timer};

/// A timer of async-io, whose thread serves every runtime.
#[derive(Default)]
pub(crate) struct Sleeps {
    timer: Option<(Instant, async_io::Timer)>,
}

impl Timer for Sleeps {
    fn poll_until(&mut self, context: &mut Context<'_>, deadline: Option<Instant>) -> Poll<()> {
        let Some(deadline) = deadline else { return Poll::Pending };
        if deadline <= Instant::now() {
            return Poll::Ready(());
        }
        let (known, timer) =
            self.timer.get_or_insert_with(|| (deadline, async_io::Timer::at(deadline)));
        if *known != deadline {
            *known = deadline;
            timer.set_at(deadline);
        }
        Pin::new(timer).poll(context).map(|_| ())
    }
}

impl Sleep for Sleeps {
    fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(async move { _ = async_io::Timer::after(time).await })
    }
}
