//! What must not happen to tokens, whoever wants it and whatever ends.

use std::fs;
use std::path::PathBuf;
use std::{env, process};

use mcp_sansio::Revision;
use mcp_sansio::auth::Saved;
use mcp_sansio_http::{FileStorage, TokenStorage};
use tokio::runtime::Runtime;

use super::kit::{Protected, authorization, connect};
use super::requests::{call, text};
use crate::http::kit::soon;

fn folder(name: &str) -> PathBuf {
    let path = env::temp_dir().join(format!("mcp-sansio-hostile-{}-{name}", process::id()));
    _ = fs::remove_dir_all(&path);
    fs::create_dir(&path).unwrap();
    path
}

/// Proves A-GEN-02: an authorization outlives the runtime on which it was used first.
#[test]
fn an_authorization_is_used_on_another_runtime() {
    let servers = Runtime::new().unwrap();
    let protected = servers.block_on(Protected::new());
    let url = protected.url();
    let (authorization, user, _heard) = {
        let _guard = servers.enter();
        authorization(&url)
    };
    for _ in 0..2 {
        let runtime = Runtime::new().unwrap();
        runtime.block_on(async {
            let connection = connect(&url, Revision::V2026_07_28, &authorization).await.unwrap();
            assert_eq!(text(call(&connection, "note", "")).await, "noted");
        });
        drop(runtime);
        protected.issuer.lock().revoke_access_tokens();
    }
    assert_eq!(user.was_asked(), 1);
    assert_eq!(protected.issuer.lock().counts.refresh, 1);
}

/// Proves A-SEC-04: tokens are not written to a file that somebody else has put where they will be written.
#[cfg(unix)]
#[tokio::test]
async fn tokens_do_not_go_through_a_link() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = folder("link");
    let (bait, file) = (folder.join("bait"), folder.join("tokens.json"));
    fs::write(&bait, "").unwrap();
    fs::set_permissions(&bait, fs::Permissions::from_mode(0o666)).unwrap();
    // Every name that has been used for a file that is new.
    let id = process::id();
    symlink(&bait, folder.join(format!("tokens.new{id}"))).unwrap();
    for number in 0..1000 {
        symlink(&bait, folder.join(format!("tokens.json.new{id}-{number}"))).unwrap();
    }
    FileStorage::new(&file).save(&Saved::default()).await.unwrap();
    assert_eq!(fs::read_to_string(&bait).unwrap(), "");
    let metadata = fs::symlink_metadata(&file).unwrap();
    assert!(metadata.is_file());
    assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
    fs::remove_dir_all(folder).unwrap();
}

/// Proves A-SEC-04: files that differ in what follows the last dot have neither a lock nor a new file in common.
#[tokio::test]
async fn files_of_servers_with_similar_names_are_apart() {
    let folder = folder("similar");
    let [one, other] = ["mcp.example", "mcp.test"].map(|name| FileStorage::new(folder.join(name)));
    let first = soon(one.lock()).await.unwrap();
    let second = soon(other.lock()).await.unwrap();
    drop((first, second));
    fs::remove_dir_all(folder).unwrap();
}
