//! Tokens in a file: its permissions, processes that share it, and processes that are killed.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::Arc;
use std::time::Duration;
use std::{env, fs, io};

use futures_lite::future::{block_on, poll_once};
use mcp_sansio::Revision;
use mcp_sansio::auth::{Saved, Stage};
use mcp_sansio_http::{Authorization, FileStorage, HostFuture, StorageLock, TokenStorage};
use mcp_sansio_proptests::authorization_server::Misbehaviour;
use serde_json::Value;
use tokio::runtime::Runtime;
use tokio::sync::mpsc::UnboundedReceiver;

use super::kit::{Host, Protected, User, authorizer_config, connect, open};
use super::requests::{call, text};
#[cfg(unix)]
use crate::http::kit::beside_others;
use crate::http::kit::soon;

/// A folder that is removed on drop.
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn new(name: &str) -> Self {
        let path = env::temp_dir().join(format!("mcp-sansio-{}-{name}", std::process::id()));
        _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    pub(super) fn file(&self) -> PathBuf {
        self.0.join("tokens.json")
    }

    /// Returns the content of the file.
    pub(super) async fn saved(&self) -> Option<Saved> {
        FileStorage::new(self.file()).load().await.unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

/// Creates an authorization that keeps its tokens in this storage.
pub(super) fn stored(
    url: &str,
    storage: impl TokenStorage,
) -> (Authorization, Arc<User>, UnboundedReceiver<String>) {
    let (user, received) = User::new();
    let authorization = Authorization::new(authorizer_config(url), Host(Arc::clone(&user)));
    (authorization.storage(storage), user, received)
}

/// Makes a call that needs a token, and returns how often the user was asked.
pub(super) async fn note(url: &str, storage: impl TokenStorage) -> usize {
    let (authorization, user, _received) = stored(url, storage);
    let connection = connect(url, Revision::V2026_07_28, &authorization).await.unwrap();
    assert_eq!(text(call(&connection, "note", "")).await, "noted");
    user.was_asked()
}

/// Storage that never finishes saving.
struct Stuck(FileStorage);

impl TokenStorage for Stuck {
    fn load(&self) -> HostFuture<'_, io::Result<Option<Saved>>> {
        self.0.load()
    }

    fn save<'a>(&'a self, _: &'a Saved) -> HostFuture<'a, io::Result<()>> {
        println!("{SAYS}saving");
        Box::pin(std::future::pending())
    }

    fn lock(&self) -> HostFuture<'_, io::Result<StorageLock>> {
        self.0.lock()
    }
}

const ROLE: &str = "MCP_SANSIO_CHILD";
const URL: &str = "MCP_SANSIO_URL";
const FILE: &str = "MCP_SANSIO_FILE";
/// The prefix of the lines of a child; its test harness prints other lines.
const SAYS: &str = "child: ";

/// Creates a command that runs this program again in a role.
fn child(role: &str, url: &str, file: &Path) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command
        .args(["--exact", "http::authorized::storage::a_child_plays_its_role", "--nocapture"])
        .env(ROLE, role)
        .env(URL, url)
        .env(FILE, file)
        .stdout(Stdio::piped());
    command
}

/// Plays the role of a child process for the other tests here. Does nothing when run as a test.
#[test]
fn a_child_plays_its_role() {
    let Ok(role) = env::var(ROLE) else { return };
    let (url, file) = (env::var(URL).unwrap(), PathBuf::from(env::var_os(FILE).unwrap()));
    let storage = FileStorage::new(&file);
    Runtime::new().unwrap().block_on(async {
        match &*role {
            "note" => println!("\n{SAYS}asked {}", note(&url, storage).await),
            "stuck" => _ = note(&url, Stuck(storage)).await,
            _ => {
                let both = [file.with_extension("a"), file.with_extension("b")];
                let both = both.map(|path| Saved::from_text(&fs::read_to_string(path).unwrap()));
                let both = both.map(Result::unwrap);
                for count in 0_usize.. {
                    storage.save(&both[count % 2]).await.unwrap();
                    if count == 2 {
                        println!("\n{SAYS}saved");
                    }
                }
            }
        }
    });
}

/// Returns the lines that a child has printed.
fn printed_lines(output: &Output) -> Vec<String> {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    assert!(output.status.success(), "{text}");
    text.lines().filter_map(|line| line.strip_prefix(SAYS)).map(String::from).collect()
}

/// Waits until a child prints this line.
fn wait_for(child: &mut Child, line: &str) -> BufReader<ChildStdout> {
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    let mut read = String::new();
    while !read.trim_end().ends_with(&format!("{SAYS}{line}")) {
        read.clear();
        assert_ne!(reader.read_line(&mut read).unwrap(), 0, "the child has ended");
    }
    reader
}

fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

#[cfg(unix)]
#[tokio::test]
async fn only_its_owner_can_read_the_file() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new("private");
    let protected = Protected::new().await;
    assert_eq!(note(&protected.url(), FileStorage::new(folder.file())).await, 1);
    // Refreshing locks the file.
    protected.issuer.lock().revoke_access_tokens();
    assert_eq!(note(&protected.url(), FileStorage::new(folder.file())).await, 0);
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(&folder.0).unwrap().map(Result::unwrap) {
        assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        names.insert(entry.file_name().into_string().unwrap());
    }
    assert_eq!(names.into_iter().collect::<Vec<_>>(), ["tokens.json", "tokens.json.lock"]);
    assert_eq!(folder.saved().await.unwrap().generation(), 2);
}

/// A damaged file is reported to the host, and the user logs in again.
#[tokio::test]
async fn a_file_that_cannot_be_read_means_a_new_login() {
    let folder = Folder::new("damaged");
    let protected = Protected::new().await;
    assert_eq!(note(&protected.url(), FileStorage::new(folder.file())).await, 1);
    let whole = fs::read(folder.file()).unwrap();
    let torn = [&b""[..], b"garbage", b"{}", &whole[..whole.len() / 2], &[0xff, 0xfe]];
    for content in torn {
        fs::write(folder.file(), content).unwrap();
        let (authorization, user, mut received) =
            stored(&protected.url(), FileStorage::new(folder.file()));
        let connection =
            connect(&protected.url(), Revision::V2026_07_28, &authorization).await.unwrap();
        assert_eq!(text(call(&connection, "note", "")).await, "noted");
        assert!(soon(received.recv()).await.unwrap().starts_with("storage: "));
        assert_eq!(soon(received.recv()).await.unwrap(), "asked");
        assert_eq!(user.was_asked(), 1);
        assert_eq!(folder.saved().await.unwrap().generation(), 1);
    }
}

/// Two processes are refused at the same moment. One refreshes; the other takes the tokens that the first has stored.
/// The authorization server revokes a grant whose refresh token is used twice, so it would detect a second refresh.
///
/// Proves A-REF-08.
#[tokio::test]
async fn two_processes_that_refresh_at_once_have_one_grant() {
    let folder = Folder::new("two");
    let protected = Protected::new().await;
    assert_eq!(note(&protected.url(), FileStorage::new(folder.file())).await, 1);
    protected.issuer.lock().revoke_access_tokens();
    protected.refuse_together(2);
    let children = [(); 2].map(|()| {
        let mut command = child("note", &protected.url(), &folder.file());
        tokio::task::spawn_blocking(move || command.output().unwrap())
    });
    for output in children {
        assert_eq!(printed_lines(&soon(output).await.unwrap()), ["asked 0"]);
    }
    let (counts, revoked) = {
        let server = protected.issuer.lock();
        (server.counts, server.revoked_grants())
    };
    assert_eq!((counts.authorize, counts.token, counts.refresh, revoked), (1, 2, 1, 0));
    assert_eq!(folder.saved().await.unwrap().generation(), 2);
    // The stored tokens work for the next refresh, too.
    protected.refuse_together(1);
    protected.issuer.lock().revoke_access_tokens();
    assert_eq!(note(&protected.url(), FileStorage::new(folder.file())).await, 0);
    assert_eq!(protected.issuer.lock().revoked_grants(), 0);
}

/// Only the new refresh token is lost with the process, so the user has to log in again.
#[tokio::test]
async fn a_process_that_is_killed_before_it_saves_leaves_the_old_tokens() {
    let folder = Folder::new("killed");
    let protected = Protected::new().await;
    assert_eq!(note(&protected.url(), FileStorage::new(folder.file())).await, 1);
    let before = folder.saved().await;
    protected.issuer.lock().revoke_access_tokens();
    let mut child = child("stuck", &protected.url(), &folder.file()).spawn().unwrap();
    let waiting = tokio::task::spawn_blocking(move || {
        drop(wait_for(&mut child, "saving"));
        kill(child);
    });
    soon(waiting).await.unwrap();
    assert_eq!(protected.issuer.lock().counts.refresh, 1);
    assert_eq!(folder.saved().await, before);
    // The lock of the process has ended with it.
    assert_eq!(note(&protected.url(), FileStorage::new(folder.file())).await, 1);
    let counts = protected.issuer.lock().counts;
    assert_eq!((counts.authorize, counts.refresh, counts.register), (2, 2, 1));
}

/// A refresh goes on after the last connection, because the authorization server has replaced the refresh token.
/// Another process that waits for the lock finds the new one.
///
/// Proves A-REF-05, A-REF-06, A-REF-07.
#[tokio::test]
async fn a_refresh_ends_with_stored_tokens_although_nothing_waits_for_it() {
    let folder = Folder::new("unawaited");
    let protected = Protected::new().await;
    let (authorization, _user, _received) =
        stored(&protected.url(), FileStorage::new(folder.file()));
    let connection =
        connect(&protected.url(), Revision::V2026_07_28, &authorization).await.unwrap();
    assert_eq!(text(call(&connection, "note", "")).await, "noted");
    {
        let mut server = protected.issuer.lock();
        server.revoke_access_tokens();
        server.options.misbehaviour = Some(Misbehaviour::Slow);
        server.options.delay = Duration::from_millis(500);
    }
    let pending = call(&connection, "note", "");
    let is_refreshing = async {
        while protected.issuer.lock().counts.refresh == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    soon(is_refreshing).await;
    drop((pending, connection, authorization));
    let lock = soon(FileStorage::new(folder.file()).lock()).await.unwrap();
    assert_eq!(folder.saved().await.unwrap().generation(), 2);
    drop(lock);
    protected.issuer.lock().options.misbehaviour = None;
    assert_eq!(note(&protected.url(), FileStorage::new(folder.file())).await, 0);
    let server = protected.issuer.lock();
    assert_eq!((server.counts.refresh, server.revoked_grants()), (1, 0));
}

/// The client id that the authorization server has registered is stored, but no user is asked to log in for a connection
/// that was dropped.
#[tokio::test]
async fn a_registration_is_stored_although_nothing_waits_for_it() {
    let folder = Folder::new("registered");
    let protected = Protected::with(|options| {
        options.misbehaviour = Some(Misbehaviour::Slow);
        options.delay = Duration::from_millis(200);
    });
    let protected = protected.await;
    let (authorization, user, _received) =
        stored(&protected.url(), FileStorage::new(folder.file()));
    let connecting = {
        let (url, authorization) = (protected.url(), authorization.clone());
        tokio::spawn(async move { open(&url, Revision::V2026_07_28, &authorization).await })
    };
    let is_registering = async {
        while authorization.stage() != Stage::Registering {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    soon(is_registering).await;
    connecting.abort();
    assert!(connecting.await.unwrap_err().is_cancelled());
    drop(authorization);
    // The last owner of the authorization drops its host.
    let is_dropped = async {
        while Arc::strong_count(&user) > 1 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    soon(is_dropped).await;
    assert_eq!((user.was_asked(), protected.issuer.lock().counts.authorize), (0, 0));
    let saved = folder.saved().await.unwrap();
    assert!(saved.to_text().expose().contains(r#""client_id""#), "{saved:?}");
    // The next process uses the registration.
    protected.issuer.lock().options.misbehaviour = None;
    assert_eq!(note(&protected.url(), FileStorage::new(folder.file())).await, 1);
    assert_eq!(protected.issuer.lock().counts.register, 1);
}

/// A process that saves continuously is killed: the file always has one of the two contents that the process writes.
#[tokio::test]
async fn a_process_that_is_killed_while_it_saves_leaves_a_whole_file() {
    let folder = Folder::new("torn");
    let protected = Protected::new().await;
    assert_eq!(note(&protected.url(), FileStorage::new(folder.file())).await, 1);
    let one = fs::read_to_string(folder.file()).unwrap();
    let mut other: Value = serde_json::from_str(&one).unwrap();
    other["generation"] = 2.into();
    other["grant"]["access_token"] = "x".repeat(100_000).into();
    fs::write(folder.file().with_extension("a"), &one).unwrap();
    fs::write(folder.file().with_extension("b"), other.to_string()).unwrap();
    let both = [one, other.to_string()].map(|text| Saved::from_text(&text).unwrap());
    for _ in 0..5 {
        let mut child = child("save", "", &folder.file()).spawn().unwrap();
        let output = wait_for(&mut child, "saved");
        for _ in 0..100 {
            assert!(both.contains(&folder.saved().await.unwrap()));
        }
        kill(child);
        drop(output);
        assert!(both.contains(&folder.saved().await.unwrap()));
    }
}

/// A logout before the first request discards the tokens of an earlier process, and keeps its registration.
#[tokio::test]
async fn a_logout_discards_tokens_that_were_never_read() {
    let folder = Folder::new("unread");
    let protected = Protected::new().await;
    assert_eq!(note(&protected.url(), FileStorage::new(folder.file())).await, 1);
    let (authorization, user, _received) =
        stored(&protected.url(), FileStorage::new(folder.file()));
    soon(authorization.log_out()).await.unwrap();
    let saved = folder.saved().await.unwrap();
    assert_eq!((saved.generation(), saved.scopes()), (2, None));
    let connection =
        connect(&protected.url(), Revision::V2026_07_28, &authorization).await.unwrap();
    assert_eq!(text(call(&connection, "note", "")).await, "noted");
    assert_eq!(user.was_asked(), 1);
    assert_eq!(protected.issuer.lock().counts.register, 1);
}

/// A logout discards the tokens in the file although another process has stored newer ones.
#[tokio::test]
async fn a_logout_discards_the_newer_tokens_of_another_process() {
    let folder = Folder::new("newer");
    let protected = Protected::new().await;
    let (authorization, user, _received) =
        stored(&protected.url(), FileStorage::new(folder.file()));
    let connection =
        connect(&protected.url(), Revision::V2026_07_28, &authorization).await.unwrap();
    assert_eq!(text(call(&connection, "note", "")).await, "noted");
    for generation in 2..4 {
        protected.issuer.lock().revoke_access_tokens();
        assert_eq!(note(&protected.url(), FileStorage::new(folder.file())).await, 0);
        assert_eq!(folder.saved().await.unwrap().generation(), generation);
    }
    soon(authorization.log_out()).await.unwrap();
    let saved = folder.saved().await.unwrap();
    assert_eq!((saved.generation(), saved.scopes()), (4, None));
    assert_eq!(text(call(&connection, "note", "")).await, "noted");
    assert_eq!(user.was_asked(), 2);
}

/// A logout makes the stored state newer, once.
#[tokio::test]
async fn a_logout_is_one_generation_newer() {
    let folder = Folder::new("once");
    let protected = Protected::new().await;
    let (authorization, _user, _received) =
        stored(&protected.url(), FileStorage::new(folder.file()));
    let connection =
        connect(&protected.url(), Revision::V2026_07_28, &authorization).await.unwrap();
    assert_eq!(text(call(&connection, "note", "")).await, "noted");
    for _ in 0..2 {
        soon(authorization.log_out()).await.unwrap();
    }
    let saved = folder.saved().await.unwrap();
    assert_eq!((saved.generation(), saved.scopes()), (3, None));
}

/// A cleared file is newer than the tokens that other processes know, so that they do not store them again. They log in
/// again.
#[tokio::test]
async fn a_cleared_file_is_newer_than_the_tokens_before() {
    let folder = Folder::new("cleared");
    let storage = FileStorage::new(folder.file());
    storage.clear().unwrap();
    assert!(!folder.file().exists());
    let protected = Protected::new().await;
    let (authorization, user, _received) = stored(&protected.url(), storage.clone());
    let connection =
        connect(&protected.url(), Revision::V2026_07_28, &authorization).await.unwrap();
    assert_eq!(text(call(&connection, "note", "")).await, "noted");
    assert_eq!(folder.saved().await.unwrap().generation(), 1);
    storage.clear().unwrap();
    let saved = folder.saved().await.unwrap();
    assert_eq!((saved.generation(), saved.scopes()), (2, None));
    assert!(!fs::read_to_string(folder.file()).unwrap().contains("client_id"));

    protected.issuer.lock().revoke_access_tokens();
    assert_eq!(text(call(&connection, "note", "")).await, "noted");
    assert_eq!((user.was_asked(), protected.issuer.lock().counts.refresh), (2, 0));
    assert_eq!(folder.saved().await.unwrap().generation(), 3);
    // A damaged file is replaced.
    fs::write(folder.file(), "garbage").unwrap();
    storage.clear().unwrap();
    assert_eq!(folder.saved().await.unwrap().scopes(), None);
}

/// Clearing waits for a process that holds the lock, and does not wait for ever.
#[tokio::test]
async fn a_locked_file_is_cleared_after_the_lock() {
    let folder = Folder::new("locked");
    let storage = FileStorage::new(folder.file());
    storage.save(&Saved::default()).await.unwrap();
    let lock = storage.lock().await.unwrap();
    let clearing = tokio::task::spawn_blocking({
        let storage = storage.clone();
        move || storage.clear()
    });
    // The lock ends with a newer state, as after a refresh.
    storage.save(&Saved::default().cleared().cleared()).await.unwrap();
    drop(lock);
    soon(clearing).await.unwrap().unwrap();
    assert_eq!(folder.saved().await.unwrap().generation(), 3);

    let _lock = storage.lock().await.unwrap();
    soon(tokio::task::spawn_blocking(move || storage.clear())).await.unwrap().unwrap();
    assert_eq!(folder.saved().await.unwrap().generation(), 4);
}

/// Another process has refreshed the tokens, and the authorization server is down now: the stored tokens are used.
///
/// Proves A-REF-08.
#[tokio::test]
async fn newer_tokens_of_another_process_are_used_after_a_refusal() {
    let folder = Folder::new("restored");
    let protected = Protected::new().await;
    let (authorization, user, _received) =
        stored(&protected.url(), FileStorage::new(folder.file()));
    let connection =
        connect(&protected.url(), Revision::V2026_07_28, &authorization).await.unwrap();
    assert_eq!(text(call(&connection, "note", "")).await, "noted");
    protected.issuer.lock().revoke_access_tokens();
    assert_eq!(note(&protected.url(), FileStorage::new(folder.file())).await, 0);
    protected.issuer.kill().await;
    assert_eq!(text(call(&connection, "note", "")).await, "noted");
    assert_eq!((user.was_asked(), protected.issuer.lock().counts.refresh), (1, 1));
}

/// Without a refresh token, the tokens of a login of another process are used. After its logout, a login here is newer
/// and is stored.
#[tokio::test]
async fn a_login_follows_the_latest_state_of_other_processes() {
    let folder = Folder::new("latest");
    let protected = Protected::with(|options| options.issues_refresh_tokens = false).await;
    let (authorization, user, _received) =
        stored(&protected.url(), FileStorage::new(folder.file()));
    let connection =
        connect(&protected.url(), Revision::V2026_07_28, &authorization).await.unwrap();
    assert_eq!(text(call(&connection, "note", "")).await, "noted");
    protected.issuer.lock().revoke_access_tokens();
    assert_eq!(note(&protected.url(), FileStorage::new(folder.file())).await, 1);
    assert_eq!(text(call(&connection, "note", "")).await, "noted");
    assert_eq!(user.was_asked(), 1);

    for _ in 0..3 {
        let (other, _user, _received) = stored(&protected.url(), FileStorage::new(folder.file()));
        soon(other.log_out()).await.unwrap();
        let cleared = folder.saved().await.unwrap().cleared();
        FileStorage::new(folder.file()).save(&cleared).await.unwrap();
    }
    let before = folder.saved().await.unwrap().generation();
    protected.issuer.lock().revoke_access_tokens();
    assert_eq!(text(call(&connection, "note", "")).await, "noted");
    assert_eq!(user.was_asked(), 2);
    let saved = folder.saved().await.unwrap();
    assert_eq!((saved.generation(), saved.scopes().is_some()), (before + 1, true));
}

/// Storage that is never written.
struct Full;

impl TokenStorage for Full {
    fn load(&self) -> HostFuture<'_, io::Result<Option<Saved>>> {
        Box::pin(async { Ok(None) })
    }

    fn save<'a>(&'a self, _: &'a Saved) -> HostFuture<'a, io::Result<()>> {
        Box::pin(async { Err(io::ErrorKind::StorageFull.into()) })
    }

    fn lock(&self) -> HostFuture<'_, io::Result<StorageLock>> {
        Box::pin(async { Ok(StorageLock::new(())) })
    }
}

/// A logout that cannot be stored fails, and the process discards its tokens.
#[tokio::test]
async fn a_logout_that_is_not_stored_is_an_error() {
    let protected = Protected::new().await;
    let (authorization, user, _received) = stored(&protected.url(), Full);
    let connection =
        connect(&protected.url(), Revision::V2026_07_28, &authorization).await.unwrap();
    assert_eq!(text(call(&connection, "note", "")).await, "noted");
    let error = soon(authorization.log_out()).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    assert_eq!(text(call(&connection, "note", "")).await, "noted");
    assert_eq!(user.was_asked(), 2);
}

#[cfg(unix)]
#[tokio::test]
async fn a_slow_file_blocks_no_other_task() {
    let folder = Folder::new("slow");
    let content = Saved::default().to_text().expose().to_owned();
    let storage = FileStorage::new(folder.file());
    let loaded = beside_others(&folder.file(), content, storage.load()).await;
    assert_eq!(loaded.unwrap(), Some(Saved::default()));
}

/// A save whose future is dropped happens before later operations, also before those of others that wait for the lock.
#[tokio::test]
async fn a_dropped_save_happens_in_order() {
    let folder = Folder::new("dropped");
    let storage = FileStorage::new(folder.file());
    let protected = Protected::new().await;
    assert_eq!(note(&protected.url(), storage.clone()).await, 1);
    let text = fs::read_to_string(folder.file()).unwrap();
    for round in 1..20 {
        let mut content: Value = serde_json::from_str(&text).unwrap();
        content["generation"] = round.into();
        content["grant"]["access_token"] = "x".repeat(1_000_000).into();
        let saved = Saved::from_text(&content.to_string()).unwrap();
        let lock = storage.lock().await.unwrap();
        _ = poll_once(storage.save(&saved)).await;
        drop(lock);
        let other = FileStorage::new(folder.file());
        let reader = if round % 2 == 0 { &storage } else { &other };
        let _lock = other.lock().await.unwrap();
        assert_eq!(reader.load().await.unwrap().unwrap().generation(), round);
    }
}

#[test]
fn a_runtime_that_shuts_down_is_an_error_of_the_storage() {
    let folder = Folder::new("shutdown");
    let storage = FileStorage::new(folder.file());
    let runtime = Runtime::new().unwrap();
    let handle = runtime.handle().clone();
    drop(runtime);
    let _entered = handle.enter();
    for outcome in [
        block_on(storage.load()).map(drop),
        block_on(storage.save(&Saved::default())),
        block_on(storage.lock()).map(drop),
    ] {
        assert_eq!(outcome.unwrap_err().kind(), io::ErrorKind::Other);
    }
    assert!(!folder.file().exists());
}
