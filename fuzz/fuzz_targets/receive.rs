//! Any bytes, in any chunks, into both roles: nothing panics, every request is answered at most once,
//! and the end leaves nothing in flight.
//!
//! Run with `cargo +nightly fuzz run receive`.

#![no_main]

use std::sync::Arc;
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use mcp_sansio::model::{
    CallToolParams, ElicitResult, ElicitationCapability, InputRequired, ListChanged,
    ListRootsResult, ResourcesCapability, SubscriptionFilter, method,
};
use mcp_sansio::{
    CallOptions, Cause, ChangedList, Client, ClientConfig, ClientEvent, ErrorCode, Framing, Inbox,
    Instant, Outbox, Phase, RevisionSet, Server, ServerConfig, ServerEvent,
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

/// Answers some requests at once with a need for input, and leaves the others for later.
fn serve(bytes: &[u8]) {
    let mut config = ServerConfig::new("fuzz", "0");
    config.connection.limits.frame_bytes = 1024;
    config.connection.limits.inbound_requests = 8;
    config.capabilities.tools = Some(ListChanged::notified());
    config.capabilities.resources = Some(ResourcesCapability::notified());
    let mut inbox = Inbox::new(&config.connection.limits);
    let mut out = Outbox::new(Framing::Lines, &config.connection.limits);
    let mut server = Server::new(Arc::new(config));
    let required = InputRequired::new().roots("r").state("s");
    let mut waiting = Vec::new();
    let mut now = Instant::from_millis(1);
    feed(bytes, &mut inbox, |inbox| {
        while let Some(frame) = inbox.next() {
            now = now + Duration::from_millis(1);
            match server.receive(frame, now, &mut out) {
                Some(ServerEvent::Request(request)) => {
                    waiting.retain(|id| *id != request.id);
                    let _ = server.require_input(&request, &required, now, &mut out);
                    if server.context(request.id).is_some() {
                        waiting.push(request.id);
                    }
                }
                Some(ServerEvent::Cancelled(cancelled)) => waiting.retain(|id| *id != cancelled.id),
                Some(ServerEvent::Subscribed(subscribed)) => waiting.push(subscribed.id),
                _ => {}
            }
            let _ = server.list_changed(ChangedList::Tools, &mut out);
            let _ = server.resource_updated("a:b", &mut out);
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
    assert_eq!((server.counts().inbound, server.counts().outbound), (0, 0));
}

/// Asks for a few things first, and gives whatever is asked for in return.
fn connect(bytes: &[u8], revisions: RevisionSet) {
    let mut config = ClientConfig::new("fuzz", "0");
    config.revisions = revisions;
    config.probe = false;
    config.capabilities.roots = Some(ListChanged::default());
    config.capabilities.elicitation = Some(ElicitationCapability::both());
    config.connection.limits.frame_bytes = 1024;
    let mut inbox = Inbox::new(&config.connection.limits);
    let mut out = Outbox::new(Framing::Lines, &config.connection.limits);
    let mut client = Client::new(Arc::new(config));
    let mut now = Instant::from_millis(1);
    let _ = client.connect(now, &mut out);
    let filter = SubscriptionFilter::new().with_tools().with_resource("a:b");
    let _ = client.subscribe(&filter, now, &mut out);
    for _ in 0..3 {
        let (params, options) = (CallToolParams::new("t"), CallOptions::new().progress());
        let _ = client.call::<method::CallTool>(&params, options, now, &mut out);
    }
    let give = |client: &mut Client, event: Option<ClientEvent<'_>>, out: &mut Outbox| {
        if let Some(ClientEvent::Request(request)) = event {
            let _ = client.respond(request.id, &ListRootsResult::default(), out);
            let _ = client.respond(request.id, &ElicitResult::decline(), out);
        }
    };
    feed(bytes, &mut inbox, |inbox| {
        while let Some(frame) = inbox.next() {
            now = now + Duration::from_millis(1);
            let event = client.receive(frame, now, &mut out);
            give(&mut client, event, &mut out);
            while let Some(event) = client.handle_timeout(now, &mut out) {
                give(&mut client, Some(event), &mut out);
            }
        }
    });
    client.close();
    while client.handle_timeout(now, &mut out).is_some() {}
    assert_eq!(client.phase(), Phase::Closed);
    assert_eq!((client.counts().inbound, client.counts().outbound), (0, 0));
}

fuzz_target!(|bytes: &[u8]| {
    serve(bytes);
    connect(bytes, RevisionSet::ALL);
    connect(bytes, RevisionSet::STATELESS);
});
