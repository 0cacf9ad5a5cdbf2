//! A client behind HTTP: its requests, and its interpretation of responses.

mod answers;
mod batches;
mod broken_off;
mod debug_output;
mod eras;
mod keep_alive;
mod kit;
mod late_tasks;
mod one_stream;
mod requests;
mod resuming;
mod sessions;
mod tools;
