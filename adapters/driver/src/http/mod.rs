//! Connections over HTTP: requests of a client, and responses of a server.

mod client;
mod server;

pub(crate) use client::Requests;
pub(crate) use server::Responses;
