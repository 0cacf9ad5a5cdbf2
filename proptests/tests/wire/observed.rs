//! What an observer of received messages and the debug output of a batch show.

use mcp_sansio::error::BatchError;
use mcp_sansio::event::Observation;
use mcp_sansio::json::Raw;
use mcp_sansio::model::{SubscriptionFilter, method};
use mcp_sansio::{CallOptions, Outbox, Outboxes, Revision, Route};
use mcp_sansio_proptests::{ClientSide, ServerSide};

/// An outbox that notes what was received.
struct Watched {
    out: Outbox,
    received: Vec<(Option<String>, Option<String>, usize)>,
}

impl Outboxes for Watched {
    fn outbox(&mut self, _: Route) -> &mut Outbox {
        &mut self.out
    }

    fn observe(&mut self, observation: &Observation<'_>) {
        if let Observation::Received { method, id, bytes } = observation {
            let owned = |text: &Option<&str>| text.map(String::from);
            self.received.push((owned(method), owned(id), *bytes));
        }
    }
}

/// The observer receives the method and the id of an invalid message, unless they have another type or are too long.
#[test]
fn the_method_and_the_id_of_an_invalid_message_are_observed() {
    let long = format!(r#"{{"jsonrpc":"1.0","id":"{0}","method":"{0}"}}"#, "x".repeat(400));
    let table = [
        (r#"{"jsonrpc":"1.0","id":7,"method":"tools/list"}"#, Some("tools/list"), Some("7")),
        (r#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#, Some("ping"), Some(r#""a""#)),
        (r#"{"jsonrpc":"1.0","method":"x/note"}"#, Some("x/note"), None),
        (r#"{"jsonrpc":"1.0","id":-3,"result":{}}"#, None, Some("-3")),
        (r#"{"jsonrpc":"2.0","id":{},"method":7}"#, None, None),
        (long.as_str(), None, None),
        ("noise", None, None),
    ];
    let mut side = ServerSide::ready(Revision::V2025_11_25);
    let mut watched = Watched { out: side.out.clone(), received: Vec::new() };
    for (frame, method, id) in table {
        let event = side.server.receive(frame, side.now, &mut watched);
        assert!(event.is_some(), "{frame}");
        let expected = (method.map(String::from), id.map(String::from), frame.len());
        assert_eq!(std::mem::take(&mut watched.received), [expected], "{frame}");
    }
}

/// A batch prints the state of its connection, without the content of messages.
#[test]
fn a_printed_batch_hides_the_content_of_messages() {
    let mut side = ClientSide::ready(Revision::V2025_03_26);
    side.request(r#"{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1,"systemPrompt":"secret"}}"#);
    let options = CallOptions::new();
    let (client, now, out) = (&mut side.client, side.now, &mut side.out);
    client.list::<method::ListTools>(Default::default(), options, now, out).unwrap();
    client.subscribe(&SubscriptionFilter::new().with_tools(), now, out).unwrap();
    let params = Raw::new(r#"{"name":"secret"}"#).unwrap();
    let printed = client.batch(now, out, |batch| {
        batch.call_method("tools/call", &params, options)?;
        Ok::<_, BatchError>(format!("{batch:?}"))
    });
    let printed = printed.unwrap();
    for shown in [
        "OutgoingRequest { owner: Application, kind: Some(CallTool), ",
        "state: Single",
        "state: Pages",
        "state: Subscription",
        "by_task: {}",
        "related: 0",
    ] {
        assert!(printed.contains(shown), "{shown} in {printed}");
    }
    assert!(!printed.contains("secret"), "{printed}");
}
