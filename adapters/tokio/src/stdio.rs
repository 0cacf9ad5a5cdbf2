//! Reads and writes standard input and output: in tasks of the runtime where it can poll them, otherwise on threads.

use std::io;
use std::sync::Arc;

use mcp_sansio::Server;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
use mcp_sansio_driver::ExternalStream;
use mcp_sansio_driver::Wire;
use mcp_sansio_driver::asynchronous::InlineWorker;
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

/// Starts to read standard input and to write to standard output. Returns the task of the streams that the runtime polls,
/// which also runs handlers that do not wait; `None` if threads read and write.
///
/// # Errors
///
/// The error of the operating system if it cannot start a thread.
pub(crate) fn start(
    wire: &Arc<Wire<Server>>,
    worker: Option<InlineWorker>,
) -> io::Result<Option<AbortOnDrop>> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let (input, output) = (polled::stdin(), polled::stdout());
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    let (input, output) = (None::<ExternalStream>, None::<ExternalStream>);
    if output.is_none() {
        wire.write_on_thread(io::stdout())?;
    }
    if input.is_none() {
        wire.read_on_thread(io::stdin())?;
    }
    if input.is_none() && output.is_none() {
        return Ok(None);
    }
    let task = tokio::spawn(wire.streams(input, output).with_worker(worker));
    Ok(Some(AbortOnDrop(task.abort_handle())))
}
