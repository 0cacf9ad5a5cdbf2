//! [`Store`]: what a store of several nodes has to do.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

/// The future of an operation of a store.
pub type StoreFuture<'s, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 's>>;

/// A store that several nodes share: values with versions, under keys.
///
/// Each write names the version that it expects. So of two nodes that change the same value, one gets a
/// [conflict](Written::Conflict), and no lock is ever held. A write that was [done](Written::Done) must survive the end of
/// the process of the node, and is seen by every later read of any node.
///
/// `SqliteStore`, `RedisStore` and [`MemoryStore`](crate::MemoryStore) implement it.
pub trait Store: Send + Sync + 'static {
    /// Reads a value; `None` if there is none under this key, or its time has passed.
    fn read<'s>(&'s self, key: &'s str) -> StoreFuture<'s, Option<Stored>>;

    /// Does writes, in this order, each by itself: a conflict of one does not affect the others. The result has an
    /// element for each of them. After an error it is unknown which of them were done.
    fn write<'s>(&'s self, writes: &'s [Write]) -> StoreFuture<'s, Vec<Written>>;
}

/// A value of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "stores outside of this crate create it")]
pub struct Stored {
    /// The number of the write that put the value: 1 for the first under this key, and one more for each later one.
    pub version: u64,
    /// The value.
    pub value: Vec<u8>,
}

/// A write to a store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "stores outside of this crate take it apart")]
pub struct Write {
    /// The key. Its characters are letters, digits, `/` and `-`.
    pub key: String,
    /// The version that the value under the key must have: 0 if there must be none, `None` if any is right.
    pub expected: Option<u64>,
    /// The change.
    pub change: Change,
}

/// The change of a [`Write`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "a store that does not know a change cannot do it")]
pub enum Change {
    /// Puts this value. Its version is one more than that of the value before it.
    Put {
        /// The value.
        value: Vec<u8>,
        /// The time after which the store removes the value by itself; `None` for never.
        lifetime: Option<Duration>,
    },
    /// Removes the value.
    Remove,
}

/// The result of a [`Write`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "there is nothing between the two")]
pub enum Written {
    /// The write was done.
    Done,
    /// The value has another version. Nothing was changed.
    Conflict,
}

/// A store did not do what it should: it cannot be reached, or its medium has failed. The text is that of the store.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the store failed: {0}")]
pub struct StoreError(String);

impl StoreError {
    /// An error with the text of the store.
    pub fn new(error: impl std::fmt::Display) -> Self {
        Self(error.to_string())
    }
}
