//! The client cases on mcp-sansio.

use std::hint::black_box;
use std::sync::Arc;

use mcp_sansio::schema::Json;
use mcp_sansio::{
    CallId, CallOptions, Client, ClientConfig, ClientEvent, Framing, Inbox, Instant, Limits,
    Outbox, RevisionSet,
};

use crate::messages::{self, CallParams};
use crate::stage::{stage_driving, stage_framing, stage_receiving, stage_sending, stage_writing};
use crate::{Case, Rounds, sent};

/// Returns the work of a client case.
pub(crate) fn rounds(case: Case) -> Option<Rounds> {
    match case {
        Case::ClientCall => Some(calls()),
        Case::ClientProgress => Some(progress()),
        _ => None,
    }
}

/// A client in a session, with its buffers.
pub(crate) struct Asking {
    pub(crate) client: Client,
    pub(crate) inbox: Inbox,
    pub(crate) outbox: Outbox,
    /// The number of requests so far, including `initialize`.
    made: u64,
}

impl Asking {
    pub(crate) fn new() -> Self {
        Self::with(Limits::default())
    }

    pub(crate) fn with(limits: Limits) -> Self {
        let mut config = ClientConfig::new("bench", "1");
        config.revisions = RevisionSet::LEGACY;
        config.connection.limits = limits.clone();
        let mut client = Client::new(Arc::new(config));
        let mut outbox = Outbox::new(Framing::Lines, &limits);
        client.connect(Instant::EPOCH, &mut outbox).unwrap();
        let event = client.receive(messages::INITIALIZE_RESULT, Instant::EPOCH, &mut outbox);
        assert!(matches!(event, Some(ClientEvent::Connected(_))), "{event:?}");
        outbox.sent(usize::MAX);
        Self { client, inbox: Inbox::new(&limits), outbox, made: 1 }
    }

    pub(crate) fn call(&mut self, options: CallOptions) -> CallId {
        let Self { client, outbox, .. } = self;
        self.made += 1;
        let params = CallParams::of(messages::TEXT);
        let call =
            || client.call_method("tools/call", &Json(&params), options, Instant::EPOCH, outbox);
        stage_writing(call).unwrap()
    }

    /// Feeds bytes to the client and returns the number of calls that ended.
    pub(crate) fn feed(&mut self, mut bytes: &[u8]) -> usize {
        let Self { client, inbox, outbox, .. } = self;
        let mut ended = 0;
        while !bytes.is_empty() {
            let taken = stage_framing(|| inbox.feed(bytes));
            bytes = &bytes[taken..];
            while let Some(frame) = stage_framing(|| inbox.next()) {
                let event = stage_receiving(|| client.receive(frame, Instant::EPOCH, outbox));
                ended += usize::from(matches!(black_box(&event), Some(ClientEvent::CallEnded(_))));
            }
        }
        ended
    }

    pub(crate) fn send(&mut self) -> usize {
        stage_sending(|| {
            let length = sent::send(self.outbox.unsent());
            self.outbox.sent(length);
            length
        })
    }
}

fn calls() -> Rounds {
    let mut asking = Asking::new();
    // Ids count up, so the id of the next call is known before the call.
    let mut answer = Vec::with_capacity(1_000);
    Box::new(move |rounds| {
        for _ in 0..rounds {
            asking.call(CallOptions::new());
            assert_ne!(asking.send(), 0);
            stage_driving(|| messages::answer(asking.made, &mut answer));
            assert_eq!(asking.feed(&answer), 1);
        }
    })
}

fn progress() -> Rounds {
    let mut asking = Asking::new();
    asking.call(CallOptions::new().progress());
    let id = asking.made;
    let mut done = 0_u64;
    let mut report = Vec::with_capacity(1_000);
    Box::new(move |rounds| {
        for _ in 0..rounds {
            done += 1;
            stage_driving(|| messages::report(id, done, &mut report));
            assert_eq!(asking.feed(&report), 0);
        }
    })
}
