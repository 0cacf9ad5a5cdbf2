//! The exit code of the lists of a server.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::Command;

/// The server gives the same cursor again, so the end of its list is not reached.
#[test]
fn a_list_that_is_not_whole_is_a_failure() {
    let script = r#"read opening
        echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}'
        read opened
        for id in 2 3; do
            read list
            echo '{"jsonrpc":"2.0","id":'$id',"result":{"tools":[{"name":"t'$id'","inputSchema":{"type":"object"}}],"nextCursor":"c"}}'
        done
        cat > /dev/null"#;
    let mut listing = Command::new(env!("CARGO_BIN_EXE_mcp-inspect"));
    listing.args(["--revision", "2025-11-25", "--", "sh", "-c", script]);
    let output = listing.output().unwrap();
    let (stdout, stderr) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(stdout.contains("t2") && stdout.contains("t3"), "{stdout}");
    assert!(stderr.contains("tools/list: the list is not whole: "), "{stderr}");
    assert_eq!(output.status.code(), Some(1));
}
