//! Official extensions of the Model Context Protocol for [`mcp_sansio`], as types and as entries of a
//! [`Router`](mcp_sansio_driver::Router).
//!
//! | module | extension | status |
//! |---|---|---|
//! | [`skills`] | `io.modelcontextprotocol/skills` ([SEP-2640](https://modelcontextprotocol.io/seps/2640-skills-extension)) | final |
//! | [`apps`] | `io.modelcontextprotocol/ui` ([SEP-1865](https://modelcontextprotocol.io/seps/1865-mcp-apps-interactive-user-interfaces-for-mcp)) | stable |
//!
//! Nothing here is known to the core: an extension of your own is built in the same way, by
//! [`Method::EXTENSION`](mcp_sansio::model::method::Method::EXTENSION) and
//! [`Router::method`](mcp_sansio_driver::Router::method). Both sides declare an extension in their capabilities
//! (`with_extension`); the legacy era has none.
//!
//! Server cards are missing here, because their proposal has not been accepted yet.

pub mod apps;
pub mod skills;

/// Compiles the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
