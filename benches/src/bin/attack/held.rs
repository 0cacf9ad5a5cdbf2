//! Resources that an attack holds.

use tokio::task::JoinHandle;

/// A task that is aborted when this is dropped.
pub(crate) struct AbortOnDrop(pub(crate) JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}
