//! Ends the patience with servers that are child processes.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use crate::signal::Signal;

/// Ends the patience with a server that is a child process: once it has been pulled, nobody waits for the server any
/// more, neither to open a connection nor to end. It is killed, with everything that ends with it
/// ([`own_group`](crate::ProcessOptions::own_group)).
///
/// For whoever is told to end for the second time. Somebody has to be waiting: [`Connection::close`], or whatever opens
/// the connection. What is opened afterwards is closed at once, with
/// [`Cause::ShutDown`](mcp_sansio::Cause::ShutDown). Clones are the same switch, and one switch may be given to any
/// number of connections.
///
/// [`Connection::close`]: crate::Connection::close
///
/// ```
/// use mcp_sansio_driver::{ConnectionOptions, KillSwitch};
///
/// let switch = KillSwitch::default();
/// let options = ConnectionOptions::new().kill_switch(&switch);
/// # _ = options;
/// // Connect with these options; and from wherever a signal arrives, as often as one likes:
/// switch.pull();
/// ```
#[derive(Clone, Default)]
pub struct KillSwitch {
    pulled: Arc<Signal>,
}

impl KillSwitch {
    /// Has every server killed that is waited for, or will be. Returns at once.
    pub fn pull(&self) {
        self.pulled.raise();
    }

    pub(crate) fn is_pulled(&self) -> bool {
        self.pulled.is_raised()
    }

    /// What comes of some work, unless the switch is pulled meanwhile. Then the work is dropped.
    pub(crate) async fn unless_pulled<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let (mut work, mut pulled) = (pin!(work), pin!(self.pulled.notified()));
        poll_fn(|context| match work.as_mut().poll(context) {
            Poll::Ready(outcome) => Poll::Ready(Some(outcome)),
            Poll::Pending => pulled.as_mut().poll(context).map(|()| None),
        })
        .await
    }
}

impl fmt::Debug for KillSwitch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("KillSwitch").field("is_pulled", &self.is_pulled()).finish()
    }
}
