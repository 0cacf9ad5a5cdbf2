//! Reads and writes standard input and output: in tasks of the runtime where it can poll them, otherwise on threads.

use std::io;
use std::sync::Arc;

use mcp_sansio::Server;
use mcp_sansio_driver::Wire;
use tokio::task::AbortHandle;

#[cfg(any(target_os = "linux", target_os = "android"))]
mod polled;

/// A task that is aborted when this value is dropped.
#[derive(Debug)]
pub(crate) struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Starts to write to standard output. Returns the task that writes; `None` if a thread writes.
///
/// # Errors
///
/// The error of the operating system if it cannot start a thread.
pub(crate) fn write(wire: &Arc<Wire<Server>>) -> io::Result<Option<AbortOnDrop>> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    if let Some(output) = polled::stdout() {
        let task = tokio::spawn(wire.write_to(output));
        return Ok(Some(AbortOnDrop(task.abort_handle())));
    }
    wire.write_on_thread(io::stdout())?;
    Ok(None)
}

/// Starts to read standard input. Returns the task that reads; `None` if a thread reads.
///
/// # Errors
///
/// As for [`write`].
pub(crate) fn read(wire: &Arc<Wire<Server>>) -> io::Result<Option<AbortOnDrop>> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    if let Some(input) = polled::stdin() {
        let task = tokio::spawn(wire.read_from(input));
        return Ok(Some(AbortOnDrop(task.abort_handle())));
    }
    wire.read_on_thread(io::stdin())?;
    Ok(None)
}
