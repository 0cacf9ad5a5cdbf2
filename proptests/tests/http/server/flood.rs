//! Clients that open sessions and abandon them.

use std::net::IpAddr;
use std::time::Duration;

use mcp_sansio::error::RestoreSessionError;
use mcp_sansio::http::{HttpServerConfig, RequestSource, SessionId, Sessions};
use mcp_sansio::{Cause, Instant, Principal, ServerEvent};

use super::message::{error, fault, initialize, plain, result};
use super::site::{POST, ResponseParts, Site, get, in_session, json};

const NOW: Instant = Instant::from_millis(1_000_000);

/// Opens a session without `notifications/initialized`, and returns its id.
#[track_caller]
fn initialize_only(site: &mut Site) -> String {
    let received = site.post(POST, initialize("0", "2025-11-25"));
    assert_eq!(received.status, 200, "{received:?}");
    let id = received.headers.iter().find_map(|line| line.strip_prefix("Mcp-Session-Id: "));
    id.unwrap().to_owned()
}

fn ping(site: &mut Site, session: &str) -> u16 {
    site.post(&in_session(session), plain("1", "ping", "")).status
}

/// Returns the response when there is no room; the client may try again.
pub(super) fn full() -> ResponseParts {
    let text = "there are too many sessions (HttpServerConfig::most_sessions)";
    let mut refused = json(503, fault(-32603, text));
    refused.headers.push("Retry-After: 1".into());
    refused
}

fn from(site: &mut Site, principal: u64, address: Option<[u8; 4]>) {
    site.principal = Principal::new(principal);
    site.address = address.map(IpAddr::from);
}

/// Such a session ends after a minute instead of half an hour.
///
/// Proves H-HTTP-175.
#[test]
fn a_session_that_never_becomes_ready_lasts_for_a_minute() {
    let mut site = Site::new();
    let lost = initialize_only(&mut site);
    let used = initialize_only(&mut site);
    assert_eq!(ping(&mut site, &used), 200);
    assert!(!matches!(site.elapse(59_999)[..], [.., ServerEvent::Closed { .. }]));
    let events = site.elapse(1);
    assert!(
        matches!(events[..], [ServerEvent::Closed { cause: Cause::ShutDown, .. }]),
        "{events:?}"
    );
    assert_eq!((ping(&mut site, &lost), ping(&mut site, &used)), (404, 200));

    // The configured time applies, but never more than the idle timeout of a ready session.
    let mut site = Site::with(|http, _| http.ready_within = Duration::from_secs(2));
    initialize_only(&mut site);
    site.elapse(1_999);
    assert_eq!(site.http.sessions(), 1);
    site.elapse(1);
    site.assert_forgotten();
    let mut site = Site::with(|http, _| http.session_idle = Some(Duration::from_secs(3)));
    initialize_only(&mut site);
    site.elapse(3_000);
    site.assert_forgotten();
}

/// A flood of `initialize` requests displaces only sessions that are not ready, even if all clients are anonymous.
#[test]
fn a_flood_of_initialize_displaces_no_ready_session() {
    let mut site = Site::with(|http, _| http.most_sessions = 100);
    let before = site.open("2025-11-25");
    for number in 0..1_000 {
        initialize_only(&mut site);
        site.events();
        assert!(site.http.sessions() <= 100);
        if number % 100 == 50 {
            let during = site.open("2025-11-25");
            assert_eq!(ping(&mut site, &during), 200);
        }
        site.settle();
    }
    let after = site.open("2025-11-25");
    for session in [before, after] {
        assert_eq!(ping(&mut site, &session), 200);
    }
    // Displaced sessions leave nothing behind, and the remaining ones end soon.
    site.settle();
    assert_eq!(site.http.connections().count(), 100);
    site.elapse(60_000);
    assert_eq!(site.http.sessions(), 12, "those that are ready");
}

/// Proves H-HTTP-175 for each client.
#[test]
fn a_client_has_its_share_of_the_sessions() {
    for (one, other) in [
        ((7, None), (8, None)),
        ((0, Some([192, 0, 2, 1])), (0, Some([192, 0, 2, 2]))),
        ((0, Some([192, 0, 2, 1])), (7, Some([192, 0, 2, 1]))),
    ] {
        let mut site = Site::with(|http, _| {
            (http.most_sessions, http.sessions_of_client) = (10, 3);
        });
        from(&mut site, other.0, other.1);
        let theirs = initialize_only(&mut site);
        from(&mut site, one.0, one.1);
        let own: Vec<String> = (0..3).map(|_| initialize_only(&mut site)).collect();
        // The client's own oldest session is displaced, although the other client's is older and there is room.
        let newest = initialize_only(&mut site);
        assert_eq!(ping(&mut site, &own[0]), 404);
        for session in [&own[1], &own[2], &newest] {
            assert_eq!(ping(&mut site, session), 200);
        }
        // All sessions of the client are ready now.
        assert_eq!(site.post(POST, initialize("0", "2025-11-25")), full());
        from(&mut site, other.0, other.1);
        assert_eq!(ping(&mut site, &theirs), 200);
        site.open("2025-11-25");
        site.events();
    }
}

/// A client at its limit displaces its oldest session that is not ready, also behind one that is.
#[test]
fn a_ready_session_hides_no_other() {
    let mut site = Site::with(|http, _| http.sessions_of_client = 2);
    from(&mut site, 7, None);
    let ready = site.open("2025-11-25");
    let lost = initialize_only(&mut site);
    let newest = initialize_only(&mut site);
    assert_eq!([&ready, &lost, &newest].map(|id| ping(&mut site, id)), [200, 404, 200]);
}

/// The deadline of a session that is not ready counts beside the idle times of the others.
#[test]
fn the_earliest_deadline_of_all_sessions_counts() {
    let mut sessions = Sessions::new(&HttpServerConfig::default());
    let id = |number: u8| SessionId::from_random([number; 16]);
    let source = || RequestSource::from(Principal::new(1));
    assert_eq!(sessions.insert(id(1), source(), 1, NOW, |_| None), Ok(None));
    assert!(sessions.get(id(1), Principal::new(1), NOW).is_some());
    assert_eq!(sessions.poll_timeout(), Some(NOW + Duration::from_secs(1_800)));
    let later = NOW + Duration::from_secs(60);
    assert_eq!(sessions.insert(id(2), source(), 2, later, |_| None), Ok(None));
    assert_eq!(sessions.poll_timeout(), Some(later + Duration::from_secs(60)));
}

/// No more sessions of a client are restored than it may have, and each keeps the address of its client.
#[test]
fn restored_sessions_count_for_their_client() {
    let mut config = HttpServerConfig::default();
    config.sessions_of_client = 1;
    let mut sessions = Sessions::new(&config);
    let id = |number: u8| SessionId::from_random([number; 16]);
    let address = IpAddr::from([192, 0, 2, 1]);
    let source = RequestSource::from(Principal::default()).address(address);
    sessions.restore(id(1), source, 1, NOW).unwrap();
    assert_eq!(sessions.source(id(1)), Some(source));
    assert_eq!(sessions.restore(id(2), source, 2, NOW), Err(RestoreSessionError::Full));
    let other = RequestSource::from(Principal::new(7));
    sessions.restore(id(2), other, 2, NOW).unwrap();
    assert_eq!(sessions.source(id(2)), Some(other));
}

/// Requests from a loopback address may come from a proxy, so they do not identify a client.
#[test]
fn a_loopback_address_is_no_client() {
    let mut site = Site::with(|http, _| http.sessions_of_client = 1);
    for address in ["127.0.0.1", "::1"] {
        site.address = Some(address.parse().unwrap());
        site.open("2025-11-25");
        site.open("2025-11-25");
    }
    assert_eq!(site.http.sessions(), 4);
}

/// Proves H-HTTP-174.
#[test]
fn sessions_are_found_and_taken_out_by_their_principals_only() {
    let mut sessions = Sessions::new(&HttpServerConfig::default());
    let (own, id) = (Principal::new(1), SessionId::from_random([1; 16]));
    assert_eq!(sessions.insert(id, own, "it", NOW, |_| None), Ok(None));
    for stranger in [Principal::default(), Principal::new(2)] {
        assert_eq!(sessions.remove(id, stranger), None);
        assert_eq!(sessions.get(id, stranger, NOW), None);
    }
    // A look at the session is no use of it.
    assert_eq!(sessions.peek(id), Some(&"it"));
    assert_eq!(sessions.peek(SessionId::from_random([2; 16])), None);
    // The strangers have not made the session ready either.
    let later = NOW + Duration::from_secs(60);
    assert_eq!(sessions.poll_timeout(), Some(later));
    assert_eq!(sessions.get(id, own, NOW).copied(), Some("it"));
    assert!(later < sessions.poll_timeout().unwrap());
    assert_eq!(sessions.remove(id, own), Some("it"));
    assert!(sessions.is_empty() && sessions.poll_timeout().is_none());
}

/// Tests which session is displaced.
#[test]
fn the_session_that_has_waited_longest_is_displaced() {
    let mut config = HttpServerConfig::default();
    (config.most_sessions, config.sessions_of_client) = (3, 2);
    let mut sessions = Sessions::new(&config);
    // Ids whose order differs from the order of insertion, all at the same time.
    let id = |number: u8| SessionId::from_random([9 - number; 16]);
    let known = |principal| RequestSource::from(Principal::new(principal));
    assert_eq!(sessions.insert(id(1), known(1), 1, NOW, |_| None), Ok(None));
    assert_eq!(sessions.insert(id(2), known(2), 2, NOW, |_| None), Ok(None));
    assert_eq!(sessions.insert(id(3), known(2), 3, NOW, |_| None), Ok(None));
    assert_eq!(sessions.insert(id(4), known(2), 4, NOW, |_| None), Ok(Some(2)), "its own oldest");
    assert_eq!(
        sessions.insert(id(5), known(3), 5, NOW, |_| None),
        Ok(Some(1)),
        "the oldest of all"
    );
    for (number, principal) in [(3, 2), (4, 2), (5, 3)] {
        assert_eq!(
            sessions.get(id(number), Principal::new(principal), NOW),
            Some(&mut number.clone())
        );
    }
    for principal in [1, 2, 3] {
        assert!(!sessions.has_room(known(principal), NOW, |_| None));
        assert_eq!(sessions.insert(id(6), known(principal), 6, NOW, |_| None), Err(6));
    }
    assert_eq!(sessions.remove(id(3), Principal::new(2)), Some(3));
    assert_eq!(sessions.insert(id(6), known(2), 6, NOW, |_| None), Ok(None));
    assert_eq!(sessions.insert(id(6), known(3), 7, NOW, |_| None), Ok(Some(6)), "the same id");
    assert_eq!(sessions.len(), 3);
}

/// Ready sessions make room for others once they have been idle for a while, so indistinguishable clients do not lock
/// others out for long. The least recently used session goes first; sessions in use stay.
///
/// Proves H-HTTP-175.
#[test]
fn idle_sessions_make_room_when_there_is_none() {
    let mut site = Site::with(|http, _| http.most_sessions = 3);
    let sessions: Vec<String> = (0..3).map(|_| site.open("2025-11-25")).collect();
    for session in &sessions {
        assert_eq!(ping(&mut site, session), 200);
    }
    site.elapse(30_000);
    assert_eq!(ping(&mut site, &sessions[0]), 200);
    site.elapse(29_999);
    assert_eq!(site.post(POST, initialize("0", "2025-11-25")), full());
    site.elapse(1);
    // The first session has been used meanwhile.
    let newest = site.open("2025-11-25");
    site.settle();
    let alive = |site: &mut Site| {
        let alive: Vec<u16> = sessions.iter().map(|session| ping(site, session)).collect();
        alive
    };
    assert_eq!(alive(&mut site), [200, 404, 200]);
    assert_eq!(ping(&mut site, &newest), 200);
    // No session has been idle for long now.
    assert_eq!(site.post(POST, initialize("0", "2025-11-25")), full());
    // An open stream is use, even without events; so is an open request.
    site.send("GET", &get(&sessions[0]), "");
    let (turn, request) =
        site.ask(&in_session(&sessions[2]), &plain("2", "tools/call", r#""name":"t""#));
    site.elapse(600_000);
    let last = site.open("2025-11-25");
    site.settle();
    assert_eq!(ping(&mut site, &newest), 404);
    assert_eq!(site.post(POST, initialize("0", "2025-11-25")), full());
    site.elapse(120_000);
    assert_eq!(ping(&mut site, &last), 200);
    assert_eq!(site.post(POST, initialize("0", "2025-11-25")), full());
    site.respond(request.id, r#"{"content":[]}"#);
    assert_eq!(site.read_response(turn).status, 200);
    assert_eq!(alive(&mut site), [200, 404, 200]);
}

/// A session in use is not idle, even if the time until a session is displaced is zero.
#[test]
fn a_session_in_use_is_not_displaced_at_once() {
    let mut config = HttpServerConfig::default();
    (config.most_sessions, config.displaced_after) = (1, Duration::ZERO);
    let mut sessions = Sessions::new(&config);
    let (id, owner) = (SessionId::from_random([1; 16]), Principal::new(1));
    assert_eq!(sessions.insert(id, owner, 1, NOW, |_| None), Ok(None));
    assert!(sessions.get(id, owner, NOW).is_some());
    let other = RequestSource::from(Principal::new(2));
    let later = NOW + Duration::from_secs(1);
    for (now, used_until, is_idle) in [
        (later + Duration::from_secs(1), Some(later + Duration::from_nanos(1)), true),
        (NOW, None, false),
        (NOW, Some(NOW), false),
        (later, Some(later), false),
    ] {
        let mut sessions = sessions.clone();
        assert_eq!(sessions.has_room(other, now, |_| used_until), is_idle, "{used_until:?}");
    }
}

/// A client at its own limit displaces neither its own ready sessions nor those of other clients.
#[test]
fn a_client_at_its_bound_displaces_nothing_that_is_ready() {
    let mut config = HttpServerConfig::default();
    (config.most_sessions, config.sessions_of_client) = (3, 2);
    config.session_idle = None;
    let mut sessions = Sessions::new(&config);
    let id = |number: u8| SessionId::from_random([number; 16]);
    let known = |principal| RequestSource::from(Principal::new(principal));
    let later = NOW + Duration::from_secs(60);
    for (number, principal) in [(1, 1), (2, 2), (3, 2)] {
        assert_eq!(sessions.insert(id(number), known(principal), number, NOW, |_| None), Ok(None));
        assert!(sessions.get(id(number), Principal::new(principal), NOW).is_some());
    }
    assert_eq!(sessions.poll_timeout(), None, "they last for ever");
    assert!(!sessions.has_room(known(2), later, |_| None));
    let soon = later + Duration::from_nanos(1);
    // The first and the second session are in use for longer than their last request suggests.
    let used_until = |number: &u8| match number {
        1 => Some(soon),
        2 => Some(NOW + Duration::from_nanos(1)),
        _ => None,
    };
    assert!(!sessions.has_room(known(3), NOW + Duration::from_secs(59), used_until));
    assert!(sessions.has_room(known(3), soon, used_until));
    assert_eq!(sessions.insert(id(4), known(3), 4, soon, used_until), Ok(Some(3)));
    assert!(sessions.get(id(4), Principal::new(3), soon).is_some());
    assert_eq!(sessions.insert(id(5), known(3), 5, soon, used_until), Ok(Some(2)));
    assert!(sessions.get(id(5), Principal::new(3), soon).is_some());
    assert_eq!(sessions.insert(id(6), known(2), 6, soon, used_until), Err(6));
    assert_eq!(sessions.expire(soon + Duration::from_secs(9_999), |_| None), None);
}

/// A stranger cannot keep the session of another client alive, nor distinguish it from a missing one.
///
/// Proves H-HTTP-174.
#[test]
fn a_stranger_does_not_make_a_session_ready() {
    let mut site = Site::new();
    from(&mut site, 1, None);
    let session = initialize_only(&mut site);
    from(&mut site, 2, None);
    let foreign = site.post(&in_session(&session), plain("1", "ping", ""));
    let none = site.post(&in_session(&"0".repeat(32)), plain("1", "ping", ""));
    assert_eq!((foreign.status, &foreign), (404, &none));
    site.elapse(60_000);
    site.assert_forgotten();
}

/// Tasks are listed only to their requestor; for anonymous requestors the capability is not declared.
///
/// Proves L-TASK-63.
#[test]
fn tasks_list_requires_distinguishable_requestors() {
    use mcp_sansio::http::SessionMode;
    let with = |mode| {
        Site::with(|http, server| {
            http.sessions = mode;
            server.capabilities = server.capabilities.clone().with_tasks();
            server.capabilities.tasks = server.capabilities.tasks.map(|tasks| tasks.listed());
        })
    };
    let declares = |site: &mut Site| {
        let received = site.post(POST, initialize("0", "2025-11-25"));
        assert_eq!(received.status, 200);
        received.chunks.concat().contains(r#""list":{}"#)
    };
    let list = plain("1", "tasks/list", "");
    let lines = format!("{POST}\nMCP-Protocol-Version: 2025-11-25");
    for principal in [0, 7] {
        let mut site = with(SessionMode::Sessions);
        from(&mut site, principal, None);
        assert!(declares(&mut site), "a session is told from others");
        let mut site = with(SessionMode::Assumed);
        from(&mut site, principal, None);
        assert_eq!(declares(&mut site), principal == 7);
        if principal == 7 {
            let (turn, request) = site.ask(&lines, &list);
            site.respond(request.id, r#"{"tasks":[]}"#);
            assert_eq!(site.read_response(turn), json(200, result("1", r#""tasks":[]"#)));
        } else {
            let received = site.post(&lines, &list);
            assert!(received.chunks.concat().contains(r#""code":-32601"#), "{received:?}");
            assert_ne!(received, json(200, error("1", -32602, "no such task")));
        }
    }
}
