//! [`SqliteStore`]: a store in one file.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use crate::store::{Change, Store, StoreError, StoreFuture, Stored, Write, Written};

/// How long a write waits for those of other processes.
const PATIENCE: Duration = Duration::from_secs(5);

/// The time of the system in milliseconds since the Unix epoch, by SQLite.
const NOW: &str = "CAST(unixepoch('subsec') * 1000 AS INTEGER)";

const SCHEMA: &str = "CREATE TABLE IF NOT EXISTS store (
    key TEXT PRIMARY KEY, version INTEGER NOT NULL, value BLOB NOT NULL, until INTEGER
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS store_until ON store (until) WHERE until IS NOT NULL;";

/// A store in one file, for the nodes of one machine. SQLite is compiled in.
///
/// The writes of a batch are one transaction, which is on the disk before it is done: it survives a crash of the machine as
/// well. The work is done on the blocking threads of the runtime.
pub struct SqliteStore {
    connection: Arc<Mutex<Connection>>,
}

impl SqliteStore {
    /// Opens the file, or creates it. Its directory must be on a local disk, as SQLite locks the file.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the file cannot be opened, or is not that of a store.
    pub fn open(file: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::set_up(Connection::open(file)).map_err(StoreError::new)
    }

    fn set_up(opened: rusqlite::Result<Connection>) -> rusqlite::Result<Self> {
        let connection = opened?;
        connection.busy_timeout(PATIENCE)?;
        // A write does not wait for those who read.
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.execute_batch(SCHEMA)?;
        Ok(Self { connection: Arc::new(Mutex::new(connection)) })
    }

    /// Runs a function with the connection, on a thread that may block.
    async fn run<T: Send + 'static>(
        &self,
        run: impl FnOnce(&mut Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let connection = Arc::clone(&self.connection);
        let run = move || run(&mut connection.lock().unwrap_or_else(PoisonError::into_inner));
        let done = tokio::task::spawn_blocking(run).await;
        done.map_err(StoreError::new)?.map_err(StoreError::new)
    }
}

impl Store for SqliteStore {
    fn read<'s>(&'s self, key: &'s str) -> StoreFuture<'s, Option<Stored>> {
        let key = key.to_owned();
        Box::pin(self.run(move |connection| {
            let text = format!(
                "SELECT version, value FROM store WHERE key = ?1 AND (until IS NULL OR until > {NOW})"
            );
            let mut statement = connection.prepare_cached(&text)?;
            let row = statement.query_row(params![key], |row| {
                Ok(Stored { version: row.get::<_, i64>(0)?.cast_unsigned(), value: row.get(1)? })
            });
            row.optional()
        }))
    }

    fn write<'s>(&'s self, writes: &'s [Write]) -> StoreFuture<'s, Vec<Written>> {
        let writes = writes.to_vec();
        Box::pin(self.run(move |connection| {
            // It locks the file at once: of two processes that read first, one would fail when it writes.
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            transaction
                .prepare_cached(&format!("DELETE FROM store WHERE until <= {NOW}"))?
                .execute([])?;
            let written =
                writes.iter().map(|one| write(&transaction, one)).collect::<Result<_, _>>()?;
            transaction.commit()?;
            Ok(written)
        }))
    }
}

/// Does one write. Values whose time has passed are gone already.
fn write(transaction: &Transaction<'_>, write: &Write) -> rusqlite::Result<Written> {
    let mut version = transaction.prepare_cached("SELECT version FROM store WHERE key = ?1")?;
    let version = version.query_row(params![write.key], |row| row.get::<_, i64>(0)).optional()?;
    let version = version.unwrap_or(0);
    if write.expected.is_some_and(|expected| expected != version.cast_unsigned()) {
        return Ok(Written::Conflict);
    }
    match &write.change {
        Change::Put { value, lifetime } => {
            let lifetime =
                lifetime.map(|time| i64::try_from(time.as_millis()).unwrap_or(i64::MAX / 2));
            let text = format!(
                "INSERT OR REPLACE INTO store (key, version, value, until) VALUES (?1, ?2, ?3, {NOW} + ?4)"
            );
            let mut put = transaction.prepare_cached(&text)?;
            put.execute(params![write.key, version + 1, value, lifetime])?;
        }
        Change::Remove => {
            transaction
                .prepare_cached("DELETE FROM store WHERE key = ?1")?
                .execute(params![write.key])?;
        }
    }
    Ok(Written::Done)
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SqliteStore").finish_non_exhaustive()
    }
}
