//! The contract of `Store`, checked with each store.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use mcp_sansio_store::{
    Change, MemoryStore, RedisStore, SqliteStore, Store, Stored, Write, Written, shared_key,
};

fn put(key: &str, expected: Option<u64>, value: &[u8], lifetime: Option<Duration>) -> Write {
    Write { key: key.into(), expected, change: Change::Put { value: value.into(), lifetime } }
}

fn remove(key: &str, expected: Option<u64>) -> Write {
    Write { key: key.into(), expected, change: Change::Remove }
}

fn stored(version: u64, value: &[u8]) -> Option<Stored> {
    Some(Stored { version, value: value.into() })
}

/// Checks what the documentation of `Store` says.
async fn check(store: &dyn Store) {
    use Written::{Conflict, Done};
    assert_eq!(store.read("session/1").await, Ok(None));
    assert_eq!(store.write(&[]).await, Ok(vec![]));
    let bytes: Vec<u8> = (0..=255).collect();
    let writes = [
        put("session/1", Some(0), b"one", None),
        put("session/1", Some(0), b"too late", None),
        put("session/1", Some(1), &bytes, None),
        put("session/2", None, b"", None),
        remove("session/3", Some(0)),
        remove("session/3", Some(1)),
    ];
    assert_eq!(store.write(&writes).await, Ok(vec![Done, Conflict, Done, Done, Done, Conflict]));
    assert_eq!(store.read("session/1").await, Ok(stored(2, &bytes)));
    assert_eq!(store.read("session/2").await, Ok(stored(1, b"")));
    assert_eq!(store.write(&[put("session/2", None, b"any", None)]).await, Ok(vec![Done]));
    assert_eq!(store.read("session/2").await, Ok(stored(2, b"any")));
    let writes =
        [remove("session/1", Some(1)), remove("session/1", Some(2)), remove("session/2", None)];
    assert_eq!(store.write(&writes).await, Ok(vec![Conflict, Done, Done]));
    assert_eq!(store.read("session/1").await, Ok(None));

    // Without another operation the value is gone when its time has passed, also for a write.
    let short = Some(Duration::from_millis(150));
    let long = Some(Duration::from_secs(3600));
    let writes = [put("node/1", Some(0), b"short", short), put("node/2", Some(0), b"long", long)];
    assert_eq!(store.write(&writes).await, Ok(vec![Done, Done]));
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(store.read("node/1").await, Ok(None));
    assert_eq!(store.read("node/2").await, Ok(stored(1, b"long")));
    // A value without lifetime takes the place of one with it.
    let writes =
        [put("node/1", Some(0), b"again", None), put("node/2", Some(1), b"for ever", None)];
    assert_eq!(store.write(&writes).await, Ok(vec![Done, Done]));

    // Of many who expect the same version, one succeeds.
    let many =
        (0..64).map(|_| async { store.write(&[put("race", Some(0), b"x", None)]).await.unwrap() });
    let mut done = 0;
    for written in futures_of(many).await {
        done += usize::from(written == [Done]);
    }
    assert_eq!(done, 1);
    let key = shared_key(store, "request-state").await.unwrap();
    assert_eq!(shared_key(store, "request-state").await, Ok(key));
    assert_ne!(shared_key(store, "another").await, Ok(key));
}

/// Runs futures at the same time.
async fn futures_of<T>(futures: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    let mut futures: Vec<_> = futures.map(Box::pin).collect();
    let mut results = Vec::new();
    std::future::poll_fn(move |context| {
        futures.retain_mut(|future| match future.as_mut().poll(context) {
            std::task::Poll::Ready(result) => {
                results.push(result);
                false
            }
            std::task::Poll::Pending => true,
        });
        if futures.is_empty() {
            std::task::Poll::Ready(std::mem::take(&mut results))
        } else {
            std::task::Poll::Pending
        }
    })
    .await
}

#[tokio::test]
async fn the_store_in_memory() {
    check(&MemoryStore::new()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_store_in_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("store.sqlite");
    check(&SqliteStore::open(&file).unwrap()).await;
    // The values are there for the next process.
    let store = SqliteStore::open(&file).unwrap();
    assert_eq!(store.read("node/1").await, Ok(stored(1, b"again")));
    let file = directory.path().join("text");
    std::fs::write(&file, "this is no database, although it has the length of the header of one")
        .unwrap();
    let error = SqliteStore::open(&file).unwrap_err().to_string();
    assert!(error.starts_with("the store failed: "), "{error}");
}

/// Two processes with the same file wait for one another.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_with_one_file() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("store.sqlite");
    let stores =
        [SqliteStore::open(&file).unwrap(), SqliteStore::open(&file).unwrap()].map(Arc::new);
    let adds = stores.map(|store| {
        tokio::spawn(async move {
            for _ in 0..50 {
                loop {
                    let found = store.read("count").await.unwrap();
                    let (version, count) = found.map_or((0, 0), |found| {
                        (found.version, found.value.first().copied().unwrap())
                    });
                    let write = put("count", Some(version), &[count + 1], None);
                    if store.write(&[write]).await.unwrap() == [Written::Done] {
                        break;
                    }
                }
            }
        })
    });
    for add in adds {
        add.await.unwrap();
    }
    let store = SqliteStore::open(&file).unwrap();
    assert_eq!(store.read("count").await, Ok(stored(100, &[100])));
}

/// A server of Redis, which is killed on drop.
struct Server {
    process: Child,
    port: u16,
    directory: tempfile::TempDir,
}

impl Server {
    /// `None` if there is no Redis here, which is an error in CI.
    fn start() -> Option<Self> {
        let program = Command::new("redis-server").arg("--version").stdout(Stdio::null()).status();
        if program.is_err() {
            assert!(std::env::var("CI").as_deref() != Ok("true"), "redis-server is missing");
            eprintln!("NOT RUN: redis-server is missing");
            return None;
        }
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let directory = tempfile::tempdir().unwrap();
        let process = Self::spawn(port, directory.path());
        Some(Self { process, port, directory })
    }

    fn spawn(port: u16, directory: &std::path::Path) -> Child {
        let mut command = Command::new("redis-server");
        command.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""]);
        command.args(["--appendonly", "yes", "--appendfsync", "always", "--dir"]).arg(directory);
        command.stdout(Stdio::null()).spawn().unwrap()
    }

    fn restart(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        self.process = Self::spawn(self.port, self.directory.path());
    }

    async fn connect(&self) -> RedisStore {
        let url = format!("redis://127.0.0.1:{}", self.port);
        loop {
            match RedisStore::connect(&*url, "mcp/").await {
                Ok(store) => return store,
                // It is starting.
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_store_on_redis() {
    let Some(mut server) = Server::start() else { return };
    let store = server.connect().await;
    check(&store).await;
    // The server is killed and starts again: what was written is there, and the connection and the script come back.
    server.restart();
    let key = loop {
        match store.read("node/1").await {
            Ok(found) => break found,
            Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    };
    assert_eq!(key, stored(1, b"again"));
    assert_eq!(
        store.write(&[put("node/1", Some(1), b"after", None)]).await,
        Ok(vec![Written::Done])
    );
    assert_eq!(store.read("node/1").await, Ok(stored(2, b"after")));
}
