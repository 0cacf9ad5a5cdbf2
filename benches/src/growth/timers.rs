//! Timers, many at once.

use std::hint::black_box;
use std::time::Duration;

use mcp_sansio::call::Timeout;
use mcp_sansio::{CallOptions, ClientEvent};

use super::client::Busy;
use super::{Meter, Round, Work};
use crate::core_client::Asking;

pub(super) const ALL: &[Work] = &[
    Work::in_flight("client: nothing due", |in_flight| polls(Busy::timed(in_flight))),
    Work::in_flight("client: nothing due, without timers", |in_flight| {
        polls(Busy::untimed(in_flight))
    }),
    Work::in_flight("client: nothing due, all calls but the last one without timers", late_polls),
    Work::in_flight("client: call with the next timer", settings).logarithmic(),
    Work::in_flight("client: timeout, all at once", expiries).logarithmic().all_at_once(),
];

/// Polls for timeouts when none is due.
fn polls(mut busy: Busy) -> Round {
    Box::new(move |meter: &Meter| {
        meter.count(|| {
            let Asking { client, outbox, .. } = &mut busy.asking;
            black_box(client.poll_timeout());
            assert!(client.handle_timeout(busy.now, outbox).is_none());
        });
        1
    })
}

/// Polls for timeouts when only the latest call has a timer.
fn late_polls(in_flight: usize) -> Round {
    let mut busy = Busy::untimed(in_flight - 1);
    busy.call(CallOptions::new());
    polls(busy)
}

/// Makes a call whose timer precedes all others: the most expensive insertion into the heap.
fn settings(in_flight: usize) -> Round {
    let mut busy = Busy::timed(in_flight);
    let options = CallOptions::new().total(Timeout::After(Duration::from_secs(1)));
    Box::new(move |meter: &Meter| {
        let call = meter.count(|| busy.call(options));
        busy.answer(call);
        1
    })
}

/// All calls time out at the same moment.
fn expiries(in_flight: usize) -> Round {
    let mut busy = Busy::timed(0);
    Box::new(move |meter: &Meter| {
        busy.call_many(in_flight);
        busy.open.clear();
        busy.now = busy.now + Duration::from_secs(100);
        let expired = meter.count(|| {
            let Asking { client, outbox, .. } = &mut busy.asking;
            let timeouts = std::iter::from_fn(|| client.handle_timeout(busy.now, outbox));
            timeouts.filter(|event| matches!(event, ClientEvent::CallEnded(_))).count()
        });
        assert_eq!(expired, in_flight);
        busy.asking.send();
        expired as u64
    })
}
