//! Authorization over HTTP: OAuth 2.1 as MCP uses it, still without IO
//! ([authorization](https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization)).
//!
//! [`resource_server`] has the checks of an MCP server that takes bearer tokens, as functions.

pub mod resource_server;
mod secret;

pub use self::secret::Secret;
