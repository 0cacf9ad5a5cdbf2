//! The exit code of `--watch`.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::Command;
use std::time::{Duration, Instant};

/// Watches a server, which is a script. Returns the exit code, standard output and standard error.
fn watch(arguments: &[&str], script: &str) -> (Option<i32>, String, String) {
    let mut watching = Command::new(env!("CARGO_BIN_EXE_mcp-inspect"));
    watching.arg("--watch").args(arguments).args(["--", "sh", "-c", script]);
    let output = watching.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

const OLD: [&str; 2] = ["--revision", "2025-11-25"];
const MODERN: [&str; 2] = ["--revision", "2026-07-28"];

/// The beginning of a legacy server, up to the response to `resources/list`, with two resources.
const LEGACY: &str = r#"read opening
    echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"resources":{"subscribe":true}},"serverInfo":{"name":"s","version":"1"}}}'
    read opened; read list
    echo '{"jsonrpc":"2.0","id":2,"result":{"resources":[{"uri":"a:1","name":"1"},{"uri":"a:2","name":"2"}]}}'
    read first"#;

const OFFERED: &str = r#"read asked
    echo '{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}},"ttlMs":0,"cacheScope":"private"}}'
    read subscribed"#;

#[test]
fn a_refused_subscription_is_a_failure() {
    let script = format!(
        r#"{LEGACY}
        echo '{{"jsonrpc":"2.0","id":3,"error":{{"code":-32603,"message":"not today"}}}}'
        read second
        echo '{{"jsonrpc":"2.0","id":4,"result":{{}}}}'
        cat > /dev/null"#
    );
    let (code, stdout, stderr) = watch(&[&OLD[..], &["--for", "0.1"]].concat(), &script);
    let refused = "resources/subscribe failed: the peer answered with error -32603: not today";
    assert_eq!((stdout.as_str(), stderr), ("", format!("a:1: {refused}\nwatching\n")));
    assert_eq!(code, Some(1));
}

#[test]
fn a_refused_modern_subscription_is_a_failure() {
    let script = format!(
        r#"{OFFERED}
        echo '{{"jsonrpc":"2.0","id":2,"error":{{"code":-32603,"message":"not today"}}}}'
        cat > /dev/null"#
    );
    let (code, stdout, stderr) = watch(&[&MODERN[..], &["--for", "1"]].concat(), &script);
    assert_eq!(stderr, "the server tells no more: not today\n");
    assert_eq!((code, stdout.as_str()), (Some(1), ""));
}

#[test]
fn a_server_that_ends_while_it_is_watched_is_a_failure() {
    let legacy = format!(
        r#"{LEGACY}
        echo '{{"jsonrpc":"2.0","id":3,"result":{{}}}}'
        read second
        echo '{{"jsonrpc":"2.0","id":4,"result":{{}}}}'
        exit 3"#
    );
    let modern = format!("{OFFERED}; exit 3");
    for (revision, script) in [(OLD, legacy), (MODERN, modern)] {
        let (code, stdout, stderr) = watch(&[&revision[..], &["--for", "60"]].concat(), &script);
        let over = "inspect: the session has ended, and nothing is watched any more\n\
            The server has ended (exit status: 3).\n";
        assert!(stderr.ends_with(over), "{stderr}");
        assert_eq!((code, stdout.as_str()), (Some(1), ""));
    }
}

/// A server that ends at `server/discover` is started again, and then watched.
#[test]
fn the_end_of_the_first_process_is_not_the_end_of_the_watching() {
    let script = r#"read asked
        case $asked in *server/discover*) exit 1;; esac
        echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"s","version":"1"}}}'
        cat > /dev/null"#;
    let begun = Instant::now();
    let (code, _, stderr) = watch(&["--for", "1"], script);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(Duration::from_secs(1) <= begun.elapsed(), "{stderr}");
}
