//! Lists in pages
//! ([pagination](https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/pagination)):
//! cursors that a server can check, and guards for a client that follows them.

mod catalog;
mod cursor;
mod guard;

pub use catalog::Catalog;
pub(crate) use cursor::mix;
pub use cursor::{InvalidCursor, PageResult, Pager, Slice};
pub use guard::{NextPage, PageGuard, PageLimits, PageStop};

#[cfg(test)]
mod tests;
