//! Servers and clients on real sockets: exact bytes, broken connections, and both sides together.

mod authorized;
mod before_message;
mod bounds;
mod disconnects;
mod fake;
mod flow_control;
mod heads;
mod hidden_resources;
mod idle_sockets;
mod jwt;
pub(crate) mod kit;
mod load;
mod meeting;
mod mishaps;
mod open_requests;
mod own_service;
mod owners;
mod protected;
mod raw;
mod restarting;
mod senders;
mod sessions;
mod stopping;
mod tls;
mod transport_errors;
mod unread;
mod writes;
