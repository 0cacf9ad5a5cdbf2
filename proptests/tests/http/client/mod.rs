//! A client behind HTTP: which requests it makes, and what it concludes from what comes back.

mod answers;
mod broken_off;
mod eras;
mod kit;
mod one_stream;
mod requests;
mod resuming;
mod sessions;
mod tools;
