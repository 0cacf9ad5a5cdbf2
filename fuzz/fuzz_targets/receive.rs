//! Any bytes, in any chunks, into both roles: nothing panics, every request is answered at most once,
//! and the end leaves nothing in flight.
//!
//! Run with `cargo +nightly fuzz run receive`.

#![no_main]

use std::sync::Arc;
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use mcp_sansio::{
    Cause, Client, ClientConfig, ErrorCode, Framing, Inbox, Instant, Outbox, Phase, Server,
    ServerConfig, ServerEvent,
};

/// The first byte says how long the chunks are, the rest is what the peer sends.
fn feed(bytes: &[u8], inbox: &mut Inbox, mut each: impl FnMut(&mut Inbox)) {
    let Some((&first, rest)) = bytes.split_first() else { return };
    for chunk in rest.chunks(usize::from(first).max(1)) {
        let mut left = chunk;
        while !left.is_empty() {
            let taken = inbox.feed(left);
            left = &left[taken..];
            each(inbox);
        }
    }
    inbox.finish();
    each(inbox);
}

fn serve(bytes: &[u8]) {
    let mut config = ServerConfig::new("fuzz", "0");
    config.connection.limits.frame_bytes = 512;
    config.connection.limits.inbound_requests = 8;
    let mut inbox = Inbox::new(&config.connection.limits);
    let mut out = Outbox::new(Framing::Lines, &config.connection.limits);
    let mut server = Server::new(Arc::new(config));
    let mut waiting = Vec::new();
    let mut now = Instant::from_millis(1);
    feed(bytes, &mut inbox, |inbox| {
        while let Some(frame) = inbox.next() {
            now = now + Duration::from_millis(1);
            match server.receive(frame, now, &mut out) {
                Some(ServerEvent::Request(request)) => waiting.push(request.id),
                Some(ServerEvent::Cancelled(cancelled)) => waiting.retain(|id| *id != cancelled.id),
                _ => {}
            }
        }
    });
    for id in waiting {
        let first = server.reject(id, ErrorCode::METHOD_NOT_FOUND, "no", &mut out);
        assert!(first.is_ok() || server.phase() == Phase::Closed);
        assert!(server.reject(id, ErrorCode::METHOD_NOT_FOUND, "no", &mut out).is_err());
    }
    server.disconnected(Cause::EndOfInput, now);
    server.close();
    while server.handle_timeout(now, &mut out).is_some() {}
    assert_eq!(server.phase(), Phase::Closed);
    assert_eq!(server.counts().inbound, 0);
}

fn connect(bytes: &[u8]) {
    let mut config = ClientConfig::new("fuzz", "0");
    config.connection.limits.frame_bytes = 512;
    let mut inbox = Inbox::new(&config.connection.limits);
    let mut out = Outbox::new(Framing::Lines, &config.connection.limits);
    let mut client = Client::new(Arc::new(config));
    let mut now = Instant::from_millis(1);
    let _ = client.connect(now, &mut out);
    feed(bytes, &mut inbox, |inbox| {
        while let Some(frame) = inbox.next() {
            now = now + Duration::from_millis(1);
            let _ = client.receive(frame, now, &mut out);
        }
    });
    client.close();
    while client.handle_timeout(now, &mut out).is_some() {}
    assert_eq!(client.phase(), Phase::Closed);
    assert_eq!(client.counts().outbound, 0);
}

fuzz_target!(|bytes: &[u8]| {
    serve(bytes);
    connect(bytes);
});
