//! A client behind HTTP: its requests, and its interpretation of responses.

mod answers;
mod broken_off;
mod eras;
mod kit;
mod one_stream;
mod requests;
mod resuming;
mod sessions;
mod tools;
