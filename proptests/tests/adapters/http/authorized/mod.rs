//! Clients that obtain access tokens for a protected server, over real sockets, from the authorization server of the
//! kit.

mod fields;
mod hostile;
mod kit;
mod login;
mod redirect;
mod requests;
mod storage;
mod unread_storage;
