//! Servers and clients on threads.

mod asking;
#[cfg(unix)]
mod processes;
mod restored_tasks;
mod serving;
mod slow_peers;
mod task_calls;
mod tasks;
