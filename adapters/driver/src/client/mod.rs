//! Connections that this side opens: to a server on streams, or to a server that is a child process.

mod calls;
mod connection;
mod kill_switch;
mod open_error;
mod options;
mod process;
mod process_group;
mod subscriptions;
mod unread;
mod wire;

pub use connection::{ClientParts, Connection};
pub use kill_switch::KillSwitch;
pub use open_error::OpenError;
pub(crate) use options::ChildOptions;
pub use process::{Process, ProcessOptions, Stderr};
