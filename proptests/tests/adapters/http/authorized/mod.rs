//! Clients that get access tokens for a protected server, on real sockets, from the authorization server of the kit.

mod hostile;
mod kit;
mod login;
mod redirect;
mod requests;
mod storage;
