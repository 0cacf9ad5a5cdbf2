//! Connections that this side opens: to a server on streams, or to one that is a child process.

mod connection;
mod family;
mod kill_switch;
mod open_error;
mod process;
mod unread;

pub use connection::{ClientParts, Connection, Sleep};
pub use kill_switch::KillSwitch;
pub use open_error::OpenError;
pub use process::{Process, ProcessOptions, Stderr};
