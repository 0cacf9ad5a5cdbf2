//! An idle session takes next to nothing.

use crate::allocations::held;
use crate::footprint::{IdleClient, IdleServer};

/// What an idle session may take in all, of itself and on the heap.
const MOST: usize = 1_024;

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
