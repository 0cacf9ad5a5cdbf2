//! Changes of the roots of a client.

use mcp_sansio::capability::Capability;
use mcp_sansio::error::{NotAllowed, NotifyError};
use mcp_sansio::model::ListChanged;
use mcp_sansio::model::method::RootsChanged;
use mcp_sansio::subscription::Delivery;
use mcp_sansio::{Outcome, Revision, ServerEvent};
use mcp_sansio_proptests::{ClientSide, Pair, Seen, ServerSide, config};

const CHANGED: &str = r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#;

fn roots_changed(side: &mut ClientSide) -> Result<Delivery, NotifyError> {
    side.client.notify_method("notifications/roots/list_changed", &(), None, &mut side.out)
}

/// Proves L-ROOT-03: a declared change is notified, without params, and an undeclared one is not.
#[test]
fn roots_list_changed_is_sent_only_if_declared() {
    let mut silent = ListChanged::default();
    silent.list_changed = Some(false);
    for revision in Revision::LEGACY {
        let mut config = config::bare_client();
        config.capabilities.roots = Some(ListChanged::notified());
        let mut side = ClientSide::ready_with(config.clone(), revision);
        assert_eq!(roots_changed(&mut side), Ok(Delivery::Sent));
        assert_eq!(roots_changed(&mut side), Ok(Delivery::Repeated));
        assert_eq!(side.sent(), [CHANGED]);
        let delivered =
            side.client.notify::<RootsChanged>(&Default::default(), None, &mut side.out);
        assert_eq!(delivered, Ok(Delivery::Sent));
        assert_eq!(side.sent(), [CHANGED.replace('}', r#","params":{}}"#)]);

        for roots in [None, Some(ListChanged::default()), Some(silent)] {
            config.capabilities.roots = roots;
            let mut side = ClientSide::ready_with(config.clone(), revision);
            let refused = NotAllowed::Capability(Capability::RootsListChanged);
            assert_eq!(roots_changed(&mut side), Err(NotifyError::NotAllowed(refused)));
            assert_eq!(side.sent(), [""; 0]);
        }
    }
}

/// Answers `roots/list` and returns whether the result is stale.
#[track_caller]
fn stale(side: &mut ServerSide, id: u32, call: mcp_sansio::CallId) -> bool {
    let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"roots":[]}}}}"#);
    match side.receive(&answer) {
        Some(ServerEvent::CallEnded(ended)) => {
            assert_eq!(ended.call, call);
            assert!(matches!(ended.outcome, Outcome::Result(_)), "{:?}", ended.outcome);
            ended.stale
        }
        other => panic!("{other:?}"),
    }
}

fn receive_a_change(side: &mut ServerSide) {
    let Some(ServerEvent::Notification(received)) = side.receive(CHANGED) else {
        panic!("a change")
    };
    assert!(received.is::<RootsChanged>());
}

/// Proves L-ROOT-04, L-RACE-29: a request before the change may get the old roots, so its result is stale; a result
/// requested afterwards is not.
#[test]
fn an_answer_about_roots_is_stale_if_they_have_changed_since_the_question() {
    for revision in Revision::LEGACY {
        let mut side = ServerSide::ready(revision);
        let before = side.call("roots/list");
        let other = side.call("ping");
        receive_a_change(&mut side);
        let after = side.call("roots/list");
        assert_eq!(
            side.sent(),
            [
                r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#,
                r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#,
                r#"{"jsonrpc":"2.0","id":3,"method":"roots/list"}"#,
            ],
            "nothing is asked by itself"
        );
        // In any order of the responses.
        assert!(!stale(&mut side, 3, after));
        assert!(stale(&mut side, 1, before));
        assert!(!stale(&mut side, 2, other), "a ping asks for no list");
        // A change without a request in flight makes no later result stale.
        receive_a_change(&mut side);
        let call = side.call("roots/list");
        assert!(!stale(&mut side, 4, call));
        // Several changes are one reason to ask again.
        let call = side.call("roots/list");
        receive_a_change(&mut side);
        receive_a_change(&mut side);
        assert!(stale(&mut side, 5, call));
        let call = side.call("roots/list");
        assert!(!stale(&mut side, 6, call));
    }
}

/// Proves L-RACE-29: the roots change while the client is asked for them, and both messages cross.
#[test]
fn roots_that_change_while_they_are_listed_are_asked_for_again() {
    let mut pair = mcp_sansio_proptests::ready(config::client(), config::server());
    let ask = |pair: &mut Pair| {
        let options = mcp_sansio::CallOptions::new();
        let out = &mut pair.server_out;
        let call = pair.server.call_method("roots/list", &(), options, pair.now, out).unwrap();
        match &pair.to_client(usize::MAX)[..] {
            [Seen::Client(mcp_sansio::ClientEvent::Request(request))] => (call, request.id),
            other => panic!("{other:?}"),
        }
    };
    let answer = |pair: &mut Pair, request| {
        let roots = serde_json::json!({"roots": [{"uri": "file:///a"}]});
        pair.client.respond(request, &roots, &mut pair.client_out).unwrap();
    };
    let (call, request) = ask(&mut pair);
    pair.client.notify::<RootsChanged>(&Default::default(), None, &mut pair.client_out).unwrap();
    answer(&mut pair, request);
    let seen = pair.settle();
    assert!(
        matches!(&seen[..], [
            Seen::Server(ServerEvent::Notification(_)),
            Seen::Server(ServerEvent::CallEnded(ended)),
        ] if ended.call == call && ended.stale),
        "{seen:?}"
    );
    // A second request gets a fresh result.
    let (call, request) = ask(&mut pair);
    answer(&mut pair, request);
    let seen = pair.settle();
    assert!(
        matches!(&seen[..], [Seen::Server(ServerEvent::CallEnded(ended))]
            if ended.call == call && !ended.stale),
        "{seen:?}"
    );
}
