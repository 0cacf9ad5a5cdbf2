//! Versions in the header fields of sessions, and their errors.

use mcp_sansio::{Revision, RevisionSet};

use super::message::{error, fault, initialize, plain};
use super::site::{POST, Site, in_session, json, replaced};

/// Proves H-HTTP-179, H-HTTP-180, H-HTTP-181, H-HTTP-182, H-HTTP-178, H-HTTP-221, H-HA-07, L-HTTP-06.
#[test]
fn the_version_in_the_header_is_one_that_has_sessions() {
    let mut site = Site::new();
    let unusable = |id: &str| json(400, error(id, -32600, "MCP-Protocol-Version is not usable"));
    for (version, is_usable) in [
        ("2024-11-05", true),
        ("2025-03-26", true),
        ("2025-06-18", true),
        ("2025-11-25", true),
        ("2024-13-99", false),
        ("", false),
        ("latest", false),
    ] {
        let lines = replaced(POST, "MCP-Protocol-Version", version);
        let received = site.post(&lines, initialize("0", "2025-06-18"));
        assert_eq!((received.status == 200, received == unusable("0")), (is_usable, !is_usable));
        let session = site.open("2025-06-18");
        let lines = replaced(&in_session(&session), "MCP-Protocol-Version", version);
        let body = plain("1", "tools/list", "");
        if is_usable {
            let (_, request) = site.ask(&lines, &body);
            assert_eq!(request.context.revision.name(), "2025-06-18", "that of the session");
        } else {
            assert_eq!(site.post(&lines, &body), unusable("1"), "{version}");
            for method in ["GET", "DELETE"] {
                let turn = site.send(method, &lines, "");
                let refused = json(400, fault(-32600, "MCP-Protocol-Version is not usable"));
                assert_eq!(site.read_response(turn), refused, "{method} {version}");
            }
        }
    }
    let lines = replaced(POST, "MCP-Protocol-Version", "2026-07-28");
    let received = site.post(&lines, initialize("0", "2025-06-18"));
    let text = "MCP-Protocol-Version names a version without initialize";
    assert_eq!(received, json(400, error("0", -32020, text)));
    // A version with sessions that this server does not support.
    let mut newest = Site::with(|_, server| {
        server.revisions = RevisionSet::only(Revision::V2025_11_25);
    });
    let session = newest.open("2025-11-25");
    let lines = replaced(&in_session(&session), "MCP-Protocol-Version", "2025-06-18");
    assert_eq!(newest.post(&lines, plain("1", "ping", "")), unusable("1"));
    // Without the header field, the version of the session applies.
    let session = site.open("2025-11-25");
    let (_, request) = site.ask(&in_session(&session), &plain("1", "tools/list", ""));
    assert_eq!(request.context.revision.name(), "2025-11-25");
}

/// Proves H-HA-08.
#[test]
fn errors_of_requests_that_were_dispatched_have_no_status() {
    let mut site = Site::new();
    let session = site.open("2025-11-25");
    let lines = in_session(&session);
    for (method, members, code) in [
        ("resources/subscribe", "", -32602),
        ("tasks/list", "", -32601),
        ("server/discover", "", -32601),
    ] {
        let received = site.post(&lines, plain("1", method, members));
        assert_eq!(received.status, 200, "{method}");
        assert!(received.chunks[0].contains(&format!(r#""code":{code}"#)), "{received:?}");
    }
    for code in [-32600, -32601, -32602, -32603, -32002, 7] {
        let (turn, request) = site.ask(&lines, &plain("1", "tools/list", ""));
        site.reject(request.id, code, "no");
        assert_eq!(site.read_response(turn), json(200, error("1", code, "no")));
    }
    let received =
        site.post(&lines, r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}"#);
    assert_eq!(received, json(400, error("1", -32602, "params must be an object")));
}
