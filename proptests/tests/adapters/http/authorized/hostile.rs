//! Attacks on tokens, and tokens across the end of a runtime.

use std::fs;
use std::path::PathBuf;
use std::{env, process};

use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use mcp_sansio::Revision;
use mcp_sansio::auth::{Saved, Stage};
use mcp_sansio_http::{Authorized, FileStorage, TokenStorage, Transport, plain};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
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

/// Proves A-GEN-02: an authorization outlives the runtime on which it was first used.
#[test]
fn an_authorization_is_used_on_another_runtime() {
    let servers = Runtime::new().unwrap();
    let protected = servers.block_on(Protected::new());
    let url = protected.url();
    let (authorization, user, _received) = {
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

/// Proves A-USE-04: a challenge of another server begins no authorization.
#[tokio::test]
async fn only_the_server_itself_can_ask_for_a_login() {
    let other = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", other.local_addr().unwrap());
    let served = tokio::spawn(async move {
        let (mut stream, _) = other.accept().await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        let answer =
            "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer\r\nContent-Length: 0\r\n\r\n";
        stream.write_all(answer.as_bytes()).await.unwrap();
        String::from_utf8(head).unwrap().to_ascii_lowercase()
    });
    let protected = Protected::new().await;
    let (authorization, user, _received) = authorization(&protected.url());
    let transport = Authorized::new(plain(), authorization.clone());
    let request = Request::get(&url).body(Full::new(Bytes::new())).unwrap();
    let response = soon(transport.send(request)).await.unwrap();
    assert_eq!((response.status().as_u16(), authorization.stage()), (401, Stage::Idle));
    assert!(!soon(served).await.unwrap().contains("authorization"));
    assert_eq!((user.was_asked(), protected.seen().len()), (0, 0));
}

/// Proves A-SEC-04: tokens are not written through a symbolic link that an attacker has created beforehand.
#[cfg(unix)]
#[tokio::test]
async fn tokens_do_not_go_through_a_link() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = folder("link");
    let (bait, file) = (folder.join("bait"), folder.join("tokens.json"));
    fs::write(&bait, "").unwrap();
    fs::set_permissions(&bait, fs::Permissions::from_mode(0o666)).unwrap();
    // Every name that the storage has ever used for a new file.
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

/// Proves A-SEC-04: files whose names differ only after the last dot share neither a lock nor a temporary file.
#[tokio::test]
async fn files_of_servers_with_similar_names_are_apart() {
    let folder = folder("similar");
    let [one, other] = ["mcp.example", "mcp.test"].map(|name| FileStorage::new(folder.join(name)));
    let first = soon(one.lock()).await.unwrap();
    let second = soon(other.lock()).await.unwrap();
    drop((first, second));
    fs::remove_dir_all(folder).unwrap();
}
