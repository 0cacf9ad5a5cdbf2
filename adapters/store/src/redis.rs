//! [`RedisStore`]: a store on a server of Redis or Valkey.

use std::fmt;
use std::time::Duration;

use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use redis::{Client, IntoConnectionInfo, Pipeline, Script};

use crate::store::{Change, Store, StoreError, StoreFuture, Stored, Write, Written};

/// How long an operation waits for the server.
const PATIENCE: Duration = Duration::from_secs(5);

/// The longest pause between two attempts to connect.
const RETRY: Duration = Duration::from_millis(500);

/// One write: KEYS[1] is the key, ARGV the expected version or `any`, `put` or `remove`, the value, and the lifetime in
/// milliseconds or an empty text. It returns 1 if it was done.
const WRITE: &str = "
local version = tonumber(redis.call('HGET', KEYS[1], 'version') or '0')
if ARGV[1] ~= 'any' and tonumber(ARGV[1]) ~= version then return 0 end
redis.call('DEL', KEYS[1])
if ARGV[2] == 'put' then
    redis.call('HSET', KEYS[1], 'version', version + 1, 'value', ARGV[3])
    if ARGV[4] ~= '' then redis.call('PEXPIRE', KEYS[1], ARGV[4]) end
end
return 1";

/// A store on a server of Redis (7 or later) or Valkey, for nodes on many computers.
///
/// The writes of a batch are one round trip, and each of them is a script, which runs alone. What survives a crash of the
/// server is what its configuration says: with `appendonly yes` and `appendfsync always` each write that was done.
pub struct RedisStore {
    connection: ConnectionManager,
    script: Script,
    prefix: String,
}

impl RedisStore {
    /// Connects to a server, such as `redis://localhost`. Every key begins with the prefix, so that several endpoints can
    /// share a server. A connection that breaks is opened again.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the server cannot be reached.
    pub async fn connect(
        server: impl IntoConnectionInfo,
        prefix: impl Into<String>,
    ) -> Result<Self, StoreError> {
        let client = Client::open(server).map_err(StoreError::new)?;
        let config = ConnectionManagerConfig::new()
            .set_connection_timeout(Some(PATIENCE))
            .set_response_timeout(Some(PATIENCE))
            .set_max_delay(RETRY);
        let connection =
            ConnectionManager::new_with_config(client, config).await.map_err(StoreError::new)?;
        Ok(Self { connection, script: Script::new(WRITE), prefix: prefix.into() })
    }

    fn key(&self, key: &str) -> String {
        format!("{}{key}", self.prefix)
    }

    async fn write_all(&self, writes: &[Write]) -> redis::RedisResult<Vec<Written>> {
        if writes.is_empty() {
            // An empty pipeline is an error.
            return Ok(Vec::new());
        }
        let mut connection = self.connection.clone();
        let mut pipeline = Pipeline::with_capacity(writes.len());
        for write in writes {
            let expected =
                write.expected.map_or_else(|| "any".to_owned(), |version| version.to_string());
            let mut call = self.script.key(self.key(&write.key));
            call.arg(expected);
            match &write.change {
                Change::Put { value, lifetime } => {
                    let lifetime = lifetime.map(|time| time.as_millis().to_string());
                    call.arg("put").arg(&value[..]).arg(lifetime.unwrap_or_default());
                }
                Change::Remove => {
                    call.arg("remove");
                }
            }
            pipeline.invoke_script(&call);
        }
        let done: Vec<u8> = match pipeline.query_async(&mut connection).await {
            // The server has forgotten the script, most likely because it started again. No write was done.
            Err(error) if error.code() == Some("NOSCRIPT") => {
                self.script.prepare_invoke().load_async(&mut connection).await?;
                pipeline.query_async(&mut connection).await?
            }
            done => done?,
        };
        let written = |done| if done == 1 { Written::Done } else { Written::Conflict };
        Ok(done.into_iter().map(written).collect())
    }
}

/// Limits the time of an operation: the connection is opened again meanwhile, which takes several attempts.
async fn in_time<T>(
    operation: impl Future<Output = redis::RedisResult<T>>,
) -> Result<T, StoreError> {
    let late = |_| StoreError::new("the server has not responded in time");
    tokio::time::timeout(PATIENCE, operation).await.map_err(late)?.map_err(StoreError::new)
}

impl Store for RedisStore {
    fn read<'s>(&'s self, key: &'s str) -> StoreFuture<'s, Option<Stored>> {
        Box::pin(async move {
            let mut connection = self.connection.clone();
            let mut get = redis::cmd("HMGET");
            get.arg(self.key(key)).arg("version").arg("value");
            let found: (Option<u64>, Option<Vec<u8>>) =
                in_time(get.query_async(&mut connection)).await?;
            Ok(match found {
                (Some(version), Some(value)) => Some(Stored { version, value }),
                _ => None,
            })
        })
    }

    fn write<'s>(&'s self, writes: &'s [Write]) -> StoreFuture<'s, Vec<Written>> {
        Box::pin(async move { in_time(self.write_all(writes)).await })
    }
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("RedisStore").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}
