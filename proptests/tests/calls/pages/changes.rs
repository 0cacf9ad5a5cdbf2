//! Walks through lists that change meanwhile, or whose cursors become invalid.

use mcp_sansio::call::Paging;
use mcp_sansio::event::RestartCause;
use mcp_sansio::model::method::{ListPrompts, ListResourceTemplates};
use mcp_sansio::{ClientEvent, ErrorCode, Revision};
use mcp_sansio_proptests::ClientSide;

use super::walk::{Walk, Walked, asked, over, page, restarts};

const TOOLS_CHANGED: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;

/// Proves L-PAGE-11, L-RACE-21, L-RACE-24: a walk restarts once for any number of changes of its list, and reports
/// that the earlier pages are obsolete.
#[test]
fn a_list_that_changes_meanwhile_is_walked_again() {
    let mut walk = Walk::of_tools(Paging::default());
    let first = r#"{"tools":["old"],"nextCursor":"two"}"#;
    assert_eq!(walk.answer(2, first), page(first));
    assert_eq!(walk.side.sent(), [asked(3, "tools/list", Some("\"two\""))]);
    for _ in 0..3 {
        walk.change(TOOLS_CHANGED);
    }
    assert_eq!(walk.side.sent(), [""; 0], "it waits for the page that is on its way");
    let late = r#"{"tools":["old too"],"nextCursor":"three"}"#;
    assert_eq!(walk.answer(3, late), Walked::Restarted(RestartCause::Changed));
    assert_eq!(walk.side.sent(), [asked(4, "tools/list", None)]);
    // The same cursors in the new walk are no repetition.
    let first = r#"{"tools":["new"],"nextCursor":"two"}"#;
    assert_eq!(walk.answer(4, first), page(first));
    assert_eq!(walk.side.sent(), [asked(5, "tools/list", Some("\"two\""))]);
    assert_eq!(walk.answer(5, r#"{"tools":["new too"]}"#), over(r#"{"tools":["new too"]}"#));
    assert_eq!(walk.side.sent(), [""; 0]);
}

/// Proves L-PAGE-11, L-RACE-21: the same for a change before the last page, after which no further page would be
/// requested.
#[test]
fn a_change_before_the_last_page_begins_the_walk_anew() {
    let mut walk = Walk::of_tools(Paging::default());
    let first = r#"{"tools":["old"],"nextCursor":"two"}"#;
    assert_eq!(walk.answer(2, first), page(first));
    _ = walk.side.sent();
    walk.change(TOOLS_CHANGED);
    let last = r#"{"tools":["old too"]}"#;
    assert_eq!(walk.answer(3, last), Walked::Restarted(RestartCause::Changed));
    assert_eq!(walk.side.sent(), [asked(4, "tools/list", None)]);
    assert!(walk.side.client.in_flight().is_pending(walk.call));
    assert_eq!(walk.answer(4, r#"{"tools":[]}"#), over(r#"{"tools":[]}"#));
}

/// Proves L-PAGE-11, L-RACE-21: a walk with no restarts allowed finishes and marks its pages as stale.
#[test]
fn a_walk_that_may_not_begin_anew_is_finished_and_marked() {
    let mut walk = Walk::of_tools(restarts(0));
    let first = r#"{"tools":[1],"nextCursor":"two"}"#;
    assert_eq!(walk.answer(2, first), page(first));
    walk.change(TOOLS_CHANGED);
    let second = r#"{"tools":[2],"nextCursor":"three"}"#;
    assert_eq!(walk.answer(3, second), Walked::Page { result: second.into(), stale: true });
    let last = r#"{"tools":[3]}"#;
    assert_eq!(walk.answer(4, last), Walked::Over { result: last.into(), stale: true });
    assert_eq!(walk.side.sent().len(), 2);
}

/// Proves L-RACE-21: a list that changes repeatedly is not walked without end.
#[test]
fn a_second_change_finishes_the_walk_as_stale() {
    let mut walk = Walk::of_tools(restarts(1));
    walk.change(TOOLS_CHANGED);
    let first = r#"{"tools":[1],"nextCursor":"two"}"#;
    assert_eq!(walk.answer(2, first), Walked::Restarted(RestartCause::Changed));
    assert_eq!(walk.side.sent(), [asked(3, "tools/list", None)]);
    walk.change(TOOLS_CHANGED);
    assert_eq!(walk.answer(3, first), Walked::Page { result: first.into(), stale: true });
    assert_eq!(walk.side.sent(), [asked(4, "tools/list", Some("\"two\""))]);
    walk.change(TOOLS_CHANGED);
    let last = r#"{"tools":[2]}"#;
    assert_eq!(walk.answer(4, last), Walked::Over { result: last.into(), stale: true });
    assert_eq!(walk.side.sent(), [""; 0]);
}

/// Proves L-PAGE-11: only a change of the walked list counts.
#[test]
fn only_a_change_of_the_same_list_counts() {
    let changed =
        |list: &str| format!(r#"{{"jsonrpc":"2.0","method":"notifications/{list}/list_changed"}}"#);
    let mut walk = Walk::of_tools(Paging::default());
    for list in ["resources", "prompts"] {
        walk.change(&changed(list));
    }
    let update =
        r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"x:y"}}"#;
    walk.change(update);
    assert_eq!(walk.answer(2, r#"{"tools":[]}"#), over(r#"{"tools":[]}"#));

    // Resource templates have no notification of their own.
    let mut walk = Walk::begin::<ListResourceTemplates>(Revision::V2025_11_25, Paging::default());
    walk.change(&changed("resources"));
    let result = r#"{"resourceTemplates":[]}"#;
    assert_eq!(walk.answer(2, result), Walked::Restarted(RestartCause::Changed));

    let mut walk = Walk::begin::<ListPrompts>(Revision::V2024_11_05, Paging::default());
    walk.change(&changed("prompts"));
    assert_eq!(walk.answer(2, r#"{"prompts":[]}"#), Walked::Restarted(RestartCause::Changed));
}

/// Proves L-RACE-23, L-RACE-24: a response that is in flight when the list changes is discarded. The list is
/// requested once more, for any number of changes.
#[test]
fn a_change_while_the_first_page_is_on_its_way_asks_for_it_once_more() {
    let mut walk = Walk::of_tools(Paging::default());
    for _ in 0..5 {
        walk.change(TOOLS_CHANGED);
    }
    let only = r#"{"tools":["perhaps old"]}"#;
    assert_eq!(walk.answer(2, only), Walked::Restarted(RestartCause::Changed));
    assert_eq!(walk.side.sent(), [asked(3, "tools/list", None)]);
    assert_eq!(walk.answer(3, only), over(only));
    assert_eq!(walk.side.sent(), [""; 0]);
}

/// Proves L-RACE-23: a call without paging is marked as stale if its result may be old.
#[test]
fn a_single_request_for_a_list_says_whether_it_is_stale() {
    let mut side = ClientSide::ready(Revision::V2025_11_25);
    let table =
        [("tools/list", "tools"), ("resources/list", "resources"), ("prompts/list", "prompts")];
    for (id, (method, items)) in (2..).step_by(3).zip(table) {
        let changed =
            format!(r#"{{"jsonrpc":"2.0","method":"notifications/{items}/list_changed"}}"#);
        let answer =
            |id: u32| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"{items}":[]}}}}"#);
        let calls = [side.call(method), side.call("x/other")];
        assert!(matches!(side.receive(&changed), Some(ClientEvent::Notification(_))));
        let fresh = side.call(method);
        let expected = [(id, calls[0], true), (id + 1, calls[1], false), (id + 2, fresh, false)];
        for (id, call, stale) in expected {
            let Some(ClientEvent::CallEnded(ended)) = side.receive(&answer(id)) else { panic!() };
            assert_eq!((ended.call, ended.stale), (call, stale), "{method} {id}");
        }
    }
}

/// Proves L-PAGE-12: the walk restarts once from the first page; a second refusal is the outcome.
#[test]
fn a_dead_cursor_restarts_the_walk_once() {
    let mut walk = Walk::of_tools(Paging::default());
    let first = r#"{"tools":[1],"nextCursor":"two"}"#;
    assert_eq!(walk.answer(2, first), page(first));
    _ = walk.side.sent();
    assert_eq!(walk.refuse(3), Walked::Restarted(RestartCause::InvalidCursor));
    assert_eq!(walk.side.sent(), [asked(4, "tools/list", None)]);
    assert_eq!(walk.answer(4, first), page(first));
    assert_eq!(walk.side.sent(), [asked(5, "tools/list", Some("\"two\""))]);
    let refused = Walked::Refused { code: ErrorCode::INVALID_PARAMS, stale: false };
    assert_eq!(walk.refuse(5), refused);
    assert_eq!(walk.side.sent(), [""; 0]);
    assert!(!walk.side.client.in_flight().is_pending(walk.call));
}

/// Proves L-PAGE-12: a refusal of a request without a cursor has another reason.
#[test]
fn only_an_invalid_cursor_restarts_a_walk() {
    let refused = |code| Walked::Refused { code, stale: false };
    let mut walk = Walk::of_tools(Paging::default());
    assert_eq!(walk.refuse(2), refused(ErrorCode::INVALID_PARAMS));
    assert_eq!(walk.side.sent(), [""; 0]);

    let mut walk = Walk::of_tools(Paging::default());
    let first = r#"{"tools":[1],"nextCursor":"two"}"#;
    assert_eq!(walk.answer(2, first), page(first));
    _ = walk.side.sent();
    let event = walk
        .side
        .receive(r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"out of order"}}"#);
    assert_eq!(walk.walked(event), refused(ErrorCode::INTERNAL_ERROR));
    assert_eq!(walk.side.sent(), [""; 0]);
}

/// Proves L-PAGE-12, L-RACE-21: a change that also invalidates the cursor causes one restart and not two.
#[test]
fn a_change_and_a_dead_cursor_restart_the_walk_once() {
    let mut walk = Walk::of_tools(Paging::default());
    let first = r#"{"tools":[1],"nextCursor":"two"}"#;
    assert_eq!(walk.answer(2, first), page(first));
    _ = walk.side.sent();
    walk.change(TOOLS_CHANGED);
    assert_eq!(walk.refuse(3), Walked::Restarted(RestartCause::InvalidCursor));
    assert_eq!(walk.side.sent(), [asked(4, "tools/list", None)]);
    assert_eq!(walk.answer(4, r#"{"tools":[2]}"#), over(r#"{"tools":[2]}"#));
}
