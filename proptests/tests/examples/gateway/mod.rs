//! `gateway`, with servers of either era behind it.

mod ends;
mod inputs;
mod kit;
mod passing;
