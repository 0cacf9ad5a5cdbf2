//! Clients of servers that require an access token.
//!
//! - [`Authorized`] is a [`Transport`](crate::Transport) that obtains tokens from an [`Authorization`], and repeats
//!   requests that were refused for lack of a token.
//! - An [`Authorization`] drives an [`Authorizer`](mcp_sansio::auth::Authorizer): it carries out the effects in
//!   order, in one task.
//! - [`AuthorizationHost`] contains the tasks of the application: open a browser, name a client, sign.
//!   [`TokenStorage`] stores tokens.

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
