//! Authorization: the machine of a client, and what goes over the wire.

mod authorization_server;
mod challenges;
mod discovery;
mod extensions;
mod kit;
mod login;
mod refreshing;
mod registration;
mod resource_server;
mod step_up;
mod tokens;
mod worlds;
