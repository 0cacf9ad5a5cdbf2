//! The memory of messages that are stored for clients, or that no client can read.

use std::time::Duration;

use mcp_sansio::http::Streams;
use mcp_sansio_proptests::allocations::held;

use super::message::progress;
use super::resuming::{CONTENT, answer, call, calling, no_event, resume};
use super::site::{in_session, numbered, stream};
use super::standalone::listen;

/// The stored events take memory that a host can count and free. No client misses an event unnoticed.
///
/// Proves H-HTTP-199.
#[test]
fn a_host_without_memory_forgets_the_events() {
    let (mut site, session, turn, id) = calling(|_| {});
    let (beside, other) = site.ask(&in_session(&session), &call("8"));
    site.progress(other.id, 1);
    site.read_response(beside);
    site.disconnect(turn);
    let bytes = |site: &mut super::site::Site| site.with_machine(id, |_, out| out.stored_bytes());
    let texts = progress("7", 1).len() + progress("8", 1).len();
    let stored = bytes(&mut site);
    assert!(texts < stored && stored < texts + 2 * 100, "{stored}");
    site.with_machine(id, |_, out| Streams::forget_events(out));
    assert_eq!(bytes(&mut site), 0);
    let early = resume(&mut site, &session, "3-0");
    assert_eq!(site.read_response(early), no_event());
    // This client has missed nothing, and the other one is still there.
    site.respond(id, CONTENT);
    let resumed = resume(&mut site, &session, "3-1");
    assert_eq!(site.read_response(resumed), stream(&[numbered("3-2", answer("7"))], true));
    site.respond(other.id, CONTENT);
    assert_eq!(site.news(beside), [numbered("4-2", answer("8"))]);
}

/// Stored events have the configured age, and a timer removes those that are older.
///
/// Proves H-HTTP-199.
#[test]
fn stored_events_expire_at_the_configured_age() {
    let hour = Duration::from_secs(3_600);
    let (mut site, session, turn, id) = calling(|http| {
        (http.kept_for, http.session_idle, http.keep_alive) = (hour, None, None);
    });
    let bytes = |site: &mut super::site::Site| site.with_machine(id, |_, out| out.stored_bytes());
    site.elapse(1_800_000);
    site.progress(id, 2);
    assert_eq!(site.news(turn), [numbered("3-2", progress("7", 2))]);
    let two = bytes(&mut site);
    site.elapse(1_799_999);
    assert_eq!(bytes(&mut site), two);
    let mut early = site.clone();
    let resumed = resume(&mut early, &session, "3-0");
    let expected = [numbered("3-1", progress("7", 1)), numbered("3-2", progress("7", 2))];
    assert_eq!(early.read_response(resumed), stream(&expected, false));
    // The deadline is that of the oldest event.
    assert_eq!(site.http.poll_timeout(), Some(site.now + Duration::from_millis(1)));
    site.elapse(1);
    assert!(bytes(&mut site) < two);
    let gone = resume(&mut site, &session, "3-0");
    assert_eq!(site.read_response(gone), no_event());
    let resumed = resume(&mut site, &session, "3-1");
    assert_eq!(site.read_response(resumed), stream(&expected[1..], false));
    site.elapse(1_800_000);
    assert_eq!(bytes(&mut site), 0);
    assert_eq!(site.http.poll_timeout(), None);
}

/// A response whose client cannot resume its stream any more takes no memory.
#[test]
fn a_response_that_no_client_can_read_takes_no_memory() {
    let (mut site, session, turn, id) = calling(|http| http.kept_streams = 0);
    listen(&mut site, &session);
    site.disconnect(turn);
    let content = format!(r#"{{"content":[],"x":"{}"}}"#, "x".repeat(1 << 20));
    let ((), bytes) = held(|| site.respond(id, &content));
    assert!(bytes < 10_000, "{bytes} bytes");
}
