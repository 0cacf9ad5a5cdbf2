//! Clients of servers that want an access token.
//!
//! - [`Authorized`] is a [`Transport`](crate::Transport) that asks an [`Authorization`] for tokens and repeats what was
//!   refused for want of one.
//! - An [`Authorization`] drives an [`Authorizer`](mcp_sansio::auth::Authorizer): it carries out the effects, in order, in
//!   one task.
//! - [`AuthorizationHost`] is what the application does: open a browser, name a client, sign. [`TokenStorage`] keeps tokens.

mod authorization;
mod effects;
mod fetch;
mod file_storage;
mod host;
mod operation;
mod redirect;
mod resolver;
mod storage;
mod transport;

pub use authorization::Authorization;
pub use file_storage::FileStorage;
pub use host::{AuthorizationHost, HostFuture};
pub use resolver::{CheckedResolver, checked};
pub use storage::{MemoryStorage, StorageLock, TokenStorage};
pub use transport::Authorized;
