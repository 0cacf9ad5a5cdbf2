//! [`SqliteStore`]: a store in one file.

use std::fmt;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};
use tokio::sync::oneshot;

use crate::store::{Change, Store, StoreError, StoreFuture, Stored, Write, Written};

/// How long a write waits for those of other processes.
const PATIENCE: Duration = Duration::from_secs(5);

/// The time of the system in milliseconds since the Unix epoch, by SQLite.
const NOW: &str = "CAST(unixepoch('subsec') * 1000 AS INTEGER)";

const SCHEMA: &str = "CREATE TABLE IF NOT EXISTS store (
    key TEXT PRIMARY KEY, version INTEGER NOT NULL, value BLOB NOT NULL, until INTEGER
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS store_until ON store (until) WHERE until IS NOT NULL;";

/// A store in one file, for the nodes of one computer. SQLite is compiled in.
///
/// The writes of a batch are one transaction, which is on the disk before it is done: it survives a crash of the
/// computer as well. Two threads do the work, one for reads and one for writes, so a read does not wait for a write.
/// They end with the store. Lifetimes are counted by the clock of the system: if it is set forward by more than
/// [`silence`](crate::NodeOptions::silence), the nodes take sessions from each other, and by more than
/// [`session_lifetime`](crate::NodeOptions::session_lifetime), the sessions end.
pub struct SqliteStore {
    reads: Worker,
    writes: Worker,
}

impl SqliteStore {
    /// Opens the file, or creates it. Its directory must be on a local disk, as SQLite locks the file.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the file cannot be opened, or is not that of a store, or if no thread can be started.
    pub fn open(file: impl AsRef<Path>) -> Result<Self, StoreError> {
        // One after the other: the first one creates the table.
        let writes = Worker::start("sqlite-writes", connect(file.as_ref()))?;
        let reads = Worker::start("sqlite-reads", connect(file.as_ref()))?;
        Ok(Self { reads, writes })
    }
}

fn connect(file: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(file)?;
    connection.busy_timeout(PATIENCE)?;
    // A write does not wait for those who read.
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.execute_batch(SCHEMA)?;
    Ok(connection)
}

type Job = Box<dyn FnOnce(&mut Connection) + Send>;

/// A thread with a connection to the file. It ends when this value is dropped.
struct Worker {
    jobs: mpsc::Sender<Job>,
}

impl Worker {
    fn start(name: &str, connection: rusqlite::Result<Connection>) -> Result<Self, StoreError> {
        let mut connection = connection.map_err(StoreError::new)?;
        let (jobs, waiting) = mpsc::channel::<Job>();
        let work = move || waiting.iter().for_each(|job| job(&mut connection));
        let thread = std::thread::Builder::new().name(name.to_owned());
        thread.spawn(work).map_err(StoreError::new)?;
        Ok(Self { jobs })
    }

    /// Runs a function on the thread.
    async fn run<T: Send + 'static>(
        &self,
        run: impl FnOnce(&mut Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (done, result) = oneshot::channel();
        let job = move |connection: &mut Connection| {
            // The request that has asked may be gone.
            if !done.is_closed() {
                _ = done.send(run(connection));
            }
        };
        let over = || StoreError::new("the thread of SQLite has ended");
        self.jobs.send(Box::new(job)).map_err(|_| over())?;
        result.await.map_err(|_| over())?.map_err(StoreError::new)
    }
}

impl Store for SqliteStore {
    fn read<'s>(&'s self, key: &'s str) -> StoreFuture<'s, Option<Stored>> {
        let key = key.to_owned();
        Box::pin(self.reads.run(move |connection| {
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
        Box::pin(self.writes.run(move |connection| {
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
