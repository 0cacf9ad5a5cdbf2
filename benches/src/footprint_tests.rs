//! Tests that bound the memory of an idle session.

use crate::allocations::held;
use crate::footprint::{IdleClient, IdleServer};
use crate::http_endpoint::HttpEndpoint;

/// The maximum size of an idle session in bytes: the struct and its heap.
const MOST: usize = 1_024;

/// The maximum size of an idle session over HTTP in bytes, including the state of the endpoint and the runtime.
const MOST_OVER_HTTP: usize = 2_000;

#[test]
fn an_idle_server_is_small() {
    let config = IdleServer::config();
    let (session, heap) = held(|| IdleServer::released(&config));
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
        // The second round checks that sessions release their memory repeatedly.
        sessions.iter().for_each(|session| endpoint.call(Some(session), 1));
        endpoint.idle();
    };
    let ((), heap) = held(open_all);
    assert!(heap < 100 * MOST_OVER_HTTP, "{} bytes", heap / 100);
}
