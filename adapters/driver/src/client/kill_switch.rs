//! [`KillSwitch`]: ends the wait for servers that are child processes.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use crate::signal::Signal;

/// A switch that ends every wait for a server that is a child process. Once it is pulled, neither opening a
/// connection nor closing one waits for the server any longer. The server is killed, with every process that ends
/// with it ([`own_group`](crate::ProcessOptions::own_group)).
///
/// It is for a program that receives a second termination signal. It acts through the code that waits:
/// [`Connection::close`], or the future that opens the connection. Connections that are opened later are closed at
/// once, with [`Cause::ShutDown`](mcp_sansio::Cause::ShutDown). Clones are the same switch, and one switch can
/// serve any number of connections.
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
    /// Kills every server that is being waited for, now or later. Returns at once.
    pub fn pull(&self) {
        self.pulled.raise();
    }

    pub(crate) fn is_pulled(&self) -> bool {
        self.pulled.is_raised()
    }

    /// Awaits `work`, unless the switch is pulled first. Then `work` is dropped.
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
