//! Tests of the table of requests.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use mcp_sansio::model::ListChanged;
use mcp_sansio::task::TaskCall;
use mcp_sansio::{Framing, Inbox, Outbox, Request, Server, ServerConfig, ServerEvent};

use super::*;
use crate::host::HostRequest;
use crate::host_requests::PendingHostRequests;
use crate::signal::Signal;

impl Signalled for Signal {
    fn signal(&self) -> &Signal {
        self
    }
}

/// This number of requests, open at the same time.
fn requests(many: usize) -> Vec<Request<'static>> {
    let mut config = ServerConfig::new("server", "1");
    config.capabilities.tools = Some(ListChanged::default());
    config.connection.limits.inbound_requests = u32::MAX;
    let limits = config.connection.limits.clone();
    let (mut inbox, mut out) = (Inbox::new(&limits), Outbox::new(Framing::Lines, &limits));
    let mut server = Server::new(Arc::new(config));
    let mut open = Vec::new();
    for id in 0..many {
        let request = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"t","_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
        ) + "\n";
        assert_eq!(inbox.feed(request.as_bytes()), request.len());
        let frame = inbox.next().unwrap();
        match server.receive(frame, Instant::from_nanos(0), &mut out) {
            Some(ServerEvent::Request(request)) => open.push(request.into_owned()),
            other => panic!("{other:?}"),
        }
    }
    open
}

/// A table in which this number of requests wait.
fn waiting(most_running: usize, many: usize) -> (Requests<Server>, Vec<IncomingId>) {
    let mut waiting = Requests::new(most_running);
    let mut ids = Vec::new();
    for request in requests(many) {
        ids.push(request.id);
        waiting.push(Admitted { request, permit: None });
    }
    (waiting, ids)
}

fn start(requests: &mut Requests<Server>) -> Option<IncomingId> {
    requests.start().map(|started| started.id())
}

#[test]
fn as_many_run_as_may_and_in_order() {
    let (mut requests, ids) = waiting(2, 4);
    assert_eq!((start(&mut requests), start(&mut requests)), (Some(ids[0]), Some(ids[1])));
    assert_eq!(start(&mut requests), None);
    requests.finished(ids[1]);
    assert_eq!((start(&mut requests), start(&mut requests)), (Some(ids[2]), None));
    // A limit of zero is raised to one.
    let (mut requests, ids) = waiting(0, 1);
    assert_eq!(start(&mut requests), Some(ids[0]));
}

/// Many cancellations of waiting requests leave few slots, and the other requests run in order.
#[test]
fn cancelled_requests_leave_no_slots() {
    let (mut requests, ids) = waiting(1, 1_000);
    for (at, id) in ids.iter().enumerate() {
        if at % 10 != 3 {
            assert!(requests.cancel(*id).signalled.is_none());
        }
        assert!(requests.cancelled <= requests.waiting.len() / 2);
    }
    assert!(requests.waiting.len() <= 200);
    for id in ids.iter().skip(3).step_by(10) {
        assert!(requests.has_waiting());
        assert_eq!(start(&mut requests), Some(*id));
        requests.finished(*id);
    }
    assert!(!requests.has_waiting() && start(&mut requests).is_none());
    assert_eq!(requests.stages.capacity(), 0, "it is given back");
}

/// The slots of waiting requests have little spare capacity, also if some requests among them are cancelled.
#[test]
fn waiting_requests_have_few_spare_slots() {
    let mut table = Requests::<Server>::new(1);
    for (at, request) in requests(3_000).into_iter().enumerate() {
        let id = request.id;
        table.push(Admitted { request, permit: None });
        if at % 3 == 0 {
            assert!(table.cancel(id).signalled.is_none());
        }
    }
    let (slots, live) = (table.waiting.capacity(), table.waiting.len() - table.cancelled);
    assert_eq!(live, 2_000);
    assert!(slots < live * 3 / 2, "{slots} slots");
}

#[test]
fn waiting_and_running_requests_can_be_cancelled() {
    let (mut requests, ids) = waiting(1, 3);
    let first = start(&mut requests).unwrap();
    let signal = Arc::new(Signal::default());
    let token = Arc::as_ptr(&signal).cast();
    requests.runs(first, Arc::<Signal>::downgrade(&signal));
    requests.answered(first, std::ptr::null());
    requests.cancel(first).signalled.unwrap().upgrade().unwrap().signal().raise();
    assert!(signal.is_raised());
    requests.runs(first, Arc::<Signal>::downgrade(&signal));
    requests.answered(first, token);
    assert!(requests.cancel(first).signalled.is_none(), "it has been answered");
    assert!(requests.cancel(ids[1]).signalled.is_none());
    requests.finished(first);
    assert_eq!(start(&mut requests), Some(ids[2]));
}

/// The permits of requests that are not served are handed out: their values must not be dropped under a lock.
#[test]
fn permits_of_cancelled_requests_are_handed_out() {
    struct Slot;
    impl Attachment for Slot {}
    let permit = || -> Permit { Arc::new(Slot) };
    let mut table = Requests::<Server>::new(1);
    let mut ids = Vec::new();
    for request in requests(4) {
        ids.push(request.id);
        table.push(Admitted { request, permit: Some(permit()) });
    }
    let running = table.start().unwrap();
    assert!(table.cancel(ids[1]).permit.is_some(), "it waited for a handler");
    let signal = Arc::new(Signal::default());
    table.runs(running.id(), Arc::<Signal>::downgrade(&signal));
    table.answered(running.id(), Arc::as_ptr(&signal).cast());
    table.wait_for_input(running.id(), running.permit);
    assert!(table.cancel(ids[0]).permit.is_some(), "it waited for input");
    assert!(table.cancel(ids[0]).permit.is_none());
    table.wait_for_input(ids[2], Some(permit()));
    assert_eq!(table.clear().len(), 3);
    assert_eq!(table.clear().len(), 0);
}

/// Any order of operations: the table agrees with lists of the waiting and the running requests.
#[test]
fn random_operations_agree_with_lists() {
    let mut state = 1_u64;
    let mut below = |most: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 33) as usize % most
    };
    let all = requests(60);
    for most in [0, 1, 2, 3].repeat(20) {
        let mut table = Requests::<Server>::new(most);
        let (mut waiting, mut running, mut lent) = (Vec::new(), Vec::new(), Vec::new());
        for request in &all {
            for _ in 0..below(4) {
                match below(5) {
                    0 if !waiting.is_empty() => {
                        let id = waiting.remove(below(waiting.len()));
                        assert!(table.cancel(id).signalled.is_none());
                        assert!(table.cancelled <= table.waiting.len() / 2);
                    }
                    1 if !running.is_empty() => {
                        let id = running.remove(below(running.len()));
                        table.lend(id);
                        lent.push(id);
                    }
                    2 if !lent.is_empty() => table.finished(lent.remove(below(lent.len()))),
                    3 if !running.is_empty() => {
                        table.finished(running.remove(below(running.len())));
                    }
                    _ => {
                        let may = running.len() < most.max(1) && !waiting.is_empty();
                        let next = may.then(|| waiting.remove(0));
                        assert_eq!(start(&mut table), next);
                        running.extend(next);
                    }
                }
                assert_eq!(table.has_waiting(), !waiting.is_empty());
            }
            table.push(Admitted { request: request.clone(), permit: None });
            waiting.push(request.id);
        }
    }
}

/// A request about a task whose response did not fit is the next one again.
#[test]
fn a_request_that_is_put_back_keeps_its_turn() {
    let mut pending = PendingHostRequests::default();
    let ids: Vec<_> = requests(3).iter().map(|request| request.id).collect();
    for id in &ids {
        pending.push(*id, HostRequest::Task(TaskCall::List { cursor: None }));
    }
    let (first, request) = pending.pop().unwrap();
    pending.push_back(first, request, 100);
    let order = std::iter::from_fn(|| pending.pop()).map(|(id, _)| id);
    assert_eq!(order.collect::<Vec<_>>(), ids);
    assert!(pending.is_empty());
}

/// A request about a task is not tried again before bytes have left the outbox, or another request is the first one.
#[test]
fn a_request_without_room_waits_until_bytes_have_left() {
    let mut pending = PendingHostRequests::default();
    let ids: Vec<_> = requests(2).iter().map(|request| request.id).collect();
    for id in &ids {
        pending.push(*id, HostRequest::Task(TaskCall::List { cursor: None }));
    }
    assert!(!pending.is_stuck(100));
    let (first, request) = pending.pop().unwrap();
    pending.push_back(first, request, 100);
    assert_eq!([101, 100, 99].map(|unsent| pending.is_stuck(unsent)), [true, true, false]);
    assert!(pending.remove(first) && !pending.is_stuck(100));
    assert!(!pending.remove(first));
    assert_eq!(pending.pop().map(|(id, _)| id), Some(ids[1]));
}

/// Cancelled requests about tasks leave nothing behind, and the others keep their order.
#[test]
fn cancelled_requests_about_tasks_leave_the_queue() {
    let mut pending = PendingHostRequests::default();
    let ids: Vec<_> = requests(1_000).iter().map(|request| request.id).collect();
    for (at, id) in ids.iter().enumerate() {
        pending.push(*id, HostRequest::Task(TaskCall::List { cursor: None }));
        assert!(at % 10 == 0 || pending.remove(*id));
        assert_eq!(pending.len(), 1 + at / 10);
        assert!(pending.ids() <= 2 * pending.len() + 8);
    }
    let order = std::iter::from_fn(|| pending.pop()).map(|(id, _)| id);
    let others: Vec<_> = ids.iter().copied().step_by(10).collect();
    assert_eq!(order.collect::<Vec<_>>(), others);
    assert_eq!((pending.len(), pending.ids()), (0, 0));
}

/// A request that has become a task lets another one run beside it and gives its slot back when its handler
/// ends, up to a limit.
#[test]
fn lending_has_a_bound_and_is_given_back() {
    let (mut requests, ids) = waiting(1, MOST_LENT + 3);
    for id in ids.iter().take(MOST_LENT) {
        assert_eq!(start(&mut requests), Some(*id));
        requests.lend(*id);
        // The second call has no effect.
        requests.lend(*id);
    }
    let counts = |requests: &Requests<Server>| {
        (requests.rest.as_ref().unwrap().lent.len(), requests.running)
    };
    assert_eq!(counts(&requests), (MOST_LENT, 0));
    let last = start(&mut requests).unwrap();
    requests.lend(last);
    assert_eq!((counts(&requests), start(&mut requests)), ((MOST_LENT, 1), None));
    requests.finished(ids[0]);
    assert_eq!((counts(&requests), start(&mut requests)), ((MOST_LENT - 1, 1), None));
    requests.finished(last);
    assert_eq!(counts(&requests), (MOST_LENT - 1, 0));
    assert!(start(&mut requests).is_some());
}
