//! `Debug` output of a server, which may go to logs: it shows sizes, and no text of clients.

use mcp_sansio::Instant;
use mcp_sansio::http::{EventStore, MemoryEvents, Reply};

use super::site::{Site, get};

#[test]
fn debug_output_of_stored_events_shows_no_message() {
    let mut events = MemoryEvents::default();
    for event in 1..=2 {
        events.keep(3, event, b"secret", Instant::EPOCH);
    }
    assert_eq!(format!("{events:?}"), "MemoryEvents { events: 2, bytes: 12, .. }");
}

#[test]
fn debug_output_of_a_reply_shows_no_body() {
    let mut reply = Reply::unauthorized("secret");
    reply.body = b"secret".to_vec();
    assert_eq!(format!("{reply:?}"), "Reply { status: 401, allow: None, bytes: 6 }");
}

#[test]
fn debug_output_of_a_saved_session_shows_no_id() {
    let mut site = Site::new();
    let session = site.open("2025-11-25");
    site.send("GET", &get(&session), "");
    let shown = format!("{:?}", site.http.save_sessions());
    assert!(shown.starts_with("[SavedHttpSession { session: SavedSession {"), "{shown}");
    assert!(shown.ends_with(", streams: 1, .. }]") && !shown.contains(&session), "{shown}");
}
