//! One handler that requires input, and one application that gives it, in every mix of eras.

use mcp_sansio::{ErrorCode, Outcome, Revision, RevisionSet};

use super::world::{BOTH, KINDS, LEGACY, MODERN, World, client, server};

/// Returns the mixes with a common revision, and whether each is modern.
fn mixes() -> impl Iterator<Item = (RevisionSet, RevisionSet, bool)> {
    KINDS.into_iter().flat_map(|client| KINDS.map(|server| (client, server))).filter_map(
        |(client, server)| match (client, server) {
            (LEGACY, MODERN) | (MODERN, LEGACY) => None,
            _ => Some((client, server, client != LEGACY && server != LEGACY)),
        },
    )
}

/// Proves M-MRTR-44, M-ERA-28, M-RPC-14, M-RPC-15, M-MRTR-09, M-MRTR-15: the same two applications reach the same
/// result in every mix, with any chunking of the wire.
#[test]
fn one_handler_and_one_application_serve_both_eras() {
    let form = r#""form":{"action":"accept","content":{"name":"x"}}"#;
    let roots = r#""roots":{"roots":[{"uri":"file:///a"}]}"#;
    let model = r#""model":{"role":"assistant","content":{"type":"text","text":"t"},"model":"m"}"#;
    let tools = [
        ("form", format!("form {{{form}}} 1"), vec!["elicitation/create"]),
        ("roots", format!("roots {{{roots}}} 1"), vec!["roots/list"]),
        ("model", format!("model {{{model}}} 1"), vec!["sampling/createMessage"]),
        (
            "everything",
            format!("everything {{{form},{roots},{model}}} 1"),
            vec!["elicitation/create", "roots/list", "sampling/createMessage"],
        ),
        (
            "twice",
            r#"twice {"second":{"action":"accept","content":{"name":"x"}}} 22"#.to_owned(),
            vec!["roots/list", "elicitation/create"],
        ),
    ];
    for (of_client, of_server, is_modern) in mixes() {
        for chunk in [1, usize::MAX] {
            let mut world = World::chunked(client(of_client), server(of_server), chunk);
            for (tool, text, asked) in &tools {
                world.known.asked.clear();
                world.wire.clear();
                let call = world.tool(tool);
                world.run();
                assert_eq!(world.text(call), *text, "{of_client:?} {of_server:?}");
                assert_eq!(world.known.asked, *asked, "{of_client:?} {of_server:?} {tool}");
                world.is_clean();
                // In the modern era requests flow in one direction and responses in the other.
                let is_response =
                    |line: &str| line.contains(r#""result":"#) || line.contains(r#""error":"#);
                if chunk == usize::MAX {
                    let crossing =
                        world.wire.iter().filter(|line| is_response(line) == line.starts_with('>'));
                    assert_eq!(crossing.count() == 0, is_modern, "{tool}: {:#?}", world.wire);
                }
            }
        }
    }
}

/// Proves M-MRTR-10, M-ERA-28: a handler that only requests to run again.
#[test]
fn a_handler_that_wants_to_be_asked_again_is() {
    for (of_client, of_server, is_modern) in mixes() {
        let mut world = World::new(client(of_client), server(of_server));
        let call = world.tool("slow");
        world.run();
        if is_modern {
            assert!(world.known.ended.is_empty());
            world.elapse(50);
        }
        assert!(world.text(call).starts_with("slow "), "{of_client:?} {of_server:?}");
        assert!(world.text(call).ends_with(" 1"));
        world.is_clean();
    }
}

/// Proves M-MRTR-23, M-ELIC-05, M-ELIC-08: declining is a valid response in both eras, and a URL elicitation has no
/// content.
#[test]
fn to_decline_is_an_answer_in_both_eras() {
    for (of_client, of_server, _) in mixes() {
        for (tool, answer) in [
            ("form", r#"{"action":"decline"}"#),
            ("form", r#"{"action":"cancel"}"#),
            ("page", r#"{"action":"accept"}"#),
            ("page", r#"{"action":"decline"}"#),
        ] {
            let mut world = World::new(client(of_client), server(of_server));
            world.form = Some(answer);
            let call = world.tool(tool);
            world.run();
            assert_eq!(world.text(call), format!(r#"{tool} {{"{tool}":{answer}}} 1"#));
            world.is_clean();
        }
    }
}

/// Proves M-MRTR-22, M-MRTR-24: refused input, and input requests without end, end the call in both eras.
#[test]
fn refused_or_endless_input_ends_the_call_in_both_eras() {
    for (of_client, of_server, is_modern) in mixes() {
        let mut world = World::new(client(of_client), server(of_server));
        world.form = None;
        world.wire.clear();
        let call = world.tool("roots");
        world.run();
        let [(ended, outcome)] = &world.known.ended[..] else { panic!("{:?}", world.known) };
        assert_eq!(*ended, call);
        if is_modern {
            assert_eq!(*outcome, Outcome::InputRefused(ErrorCode::USER_REJECTED));
            assert_eq!(world.wire.len(), 2, "the server hears nothing: {:#?}", world.wire);
        } else {
            assert!(matches!(outcome, Outcome::Result(_) | Outcome::PeerError(_)), "{outcome:?}");
        }
        let mut world = World::new(client(of_client), server(of_server));
        let call = world.tool("never");
        world.run();
        let [(ended, outcome)] = &world.known.ended[..] else { panic!("{:?}", world.known) };
        assert_eq!(*ended, call);
        assert_eq!(world.known.asked.len(), 10, "{of_client:?} {of_server:?}");
        assert_eq!(*outcome == Outcome::TooManyRounds, is_modern, "{outcome:?}");
        assert_eq!(world.pair.client.in_flight().counts().inbound, 0);
    }
}

/// Proves M-ELIC-12, M-META-18: each revision has its own features in its own form.
#[test]
fn a_revision_without_a_thing_is_not_asked_for_it() {
    let table = [
        (Revision::V2024_11_05, false, false),
        (Revision::V2025_03_26, false, false),
        (Revision::V2025_06_18, true, false),
        (Revision::V2025_11_25, true, true),
        (Revision::V2026_07_28, true, true),
    ];
    for (revision, has_forms, has_pages) in table {
        for (tool, has) in [("form", has_forms), ("page", has_pages), ("roots", true)] {
            let mut world = World::new(client(BOTH), server(RevisionSet::only(revision)));
            if tool == "page" {
                world.form = Some(r#"{"action":"accept"}"#);
            }
            let call = world.tool(tool);
            world.run();
            assert_eq!(world.pair.client.revision(), Some(revision));
            let [(ended, outcome)] = &world.known.ended[..] else { panic!("{:?}", world.known) };
            assert_eq!(*ended, call);
            assert_eq!(
                matches!(outcome, Outcome::Result(_)),
                has,
                "{revision} {tool}: {outcome:?}"
            );
            assert_eq!(world.known.asked.len(), usize::from(has));
            let asked = world.wire.iter().find(|line| line.contains("elicitation/create"));
            if let Some(asked) = asked {
                assert_eq!(asked.contains(r#""mode""#), tool == "page", "{asked}");
                let is_named = tool == "page" && revision == Revision::V2025_11_25;
                assert_eq!(asked.contains("elicitationId"), is_named, "{asked}");
                let needed = asked.split("elicitation/create").nth(1).unwrap();
                assert!(!needed.contains("protocolVersion"), "{asked}");
            }
        }
    }
}

/// Proves M-MRTR-46, M-R-14, M-R-15, M-CANC-03: the client cancels at every step, in both eras, and nothing is left
/// on either side.
#[test]
fn a_call_is_cancelled_at_every_step_in_both_eras() {
    for (of_client, of_server, _) in mixes() {
        for steps in 0..6 {
            let mut world = World::new(client(of_client), server(of_server));
            let call = world.tool("everything");
            for step in 0..steps {
                // The bytes move in alternating directions, and the input requests get no response.
                if step % 2 == 0 {
                    world.pair.to_server(usize::MAX);
                } else {
                    world.pair.to_client(usize::MAX);
                }
            }
            let (client, out) = (&mut world.pair.client, &mut world.pair.client_out);
            assert!(client.cancel(call, None, out).is_ok(), "{of_client:?} {of_server:?} {steps}");
            world.known.wrong.clear();
            world.run();
            assert!(world.known.ended.is_empty(), "{:?}", world.known.ended);
            assert_eq!(world.pair.client.in_flight().calls().count(), 0);
            let other = world.tool("plain");
            world.run();
            assert_eq!(world.text(other), "plain  ");
        }
    }
}
