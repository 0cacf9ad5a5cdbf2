//! An idle session takes next to nothing.

use crate::allocations::held;
use crate::footprint::{IdleClient, IdleServer};
use crate::http_endpoint::HttpEndpoint;

/// What an idle session may take in all, of itself and on the heap.
const MOST: usize = 1_024;

/// The same over HTTP, with what the endpoint and the runtime keep of it.
const MOST_OVER_HTTP: usize = 2_000;

#[test]
fn an_idle_server_is_small() {
    let config = IdleServer::config();
    let (session, heap) = held(|| {
        let mut session = IdleServer::new(&config);
        session.release();
        session
    });
    let stack = size_of_val(&session);
    assert!(stack + heap < MOST, "{stack} bytes of itself, {heap} on the heap");
}

#[test]
fn an_idle_client_is_small() {
    let config = IdleClient::config();
    let (session, heap) = held(|| {
        let mut session = IdleClient::new(&config);
        session.release();
        session
    });
    let stack = size_of_val(&session);
    assert!(stack + heap < MOST, "{stack} bytes of itself, {heap} on the heap");
}

#[test]
fn an_idle_session_over_http_is_small() {
    let endpoint = HttpEndpoint::new();
    let open = || {
        let session = endpoint.open();
        endpoint.call(Some(&session), 1);
        session
    };
    drop(open());
    endpoint.idle();
    let open_all = || {
        let sessions: Vec<String> = (0..100).map(|_| open()).collect();
        endpoint.idle();
        // They give it back again and again.
        sessions.iter().for_each(|session| endpoint.call(Some(session), 1));
        endpoint.idle();
    };
    let ((), heap) = held(open_all);
    assert!(heap < 100 * MOST_OVER_HTTP, "{} bytes", heap / 100);
}
