//! The server side of HTTP against literal messages: the exact response to each HTTP request.

mod assumed;
mod batches;
mod debug_output;
mod flood;
mod headers;
mod ladder;
mod listening;
mod machines;
mod message;
mod one_stream;
mod own_store;
mod restarting;
mod restarts;
mod resuming;
mod scanned;
mod sessions;
mod site;
mod standalone;
mod stateless;
mod stored_events;
mod streaming;
mod troubles;
mod validator;
mod versions;
mod working;
