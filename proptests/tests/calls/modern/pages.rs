//! Lists that are read page by page in the modern era.

use mcp_sansio::call::Paging;
use mcp_sansio::error::ViolationKind;
use mcp_sansio::event::RestartCause;
use mcp_sansio::model::method::{
    ListPrompts, ListResourceTemplates, ListResources, ListTools, PagedMethod,
};
use mcp_sansio::pagination::{PageLimits, PageStop};
use mcp_sansio::{CallOptions, ClientEvent, Outcome, Revision};
use mcp_sansio_proptests::{ClientSide, config};

use super::kit::{
    INITIALIZED, SESSION, absorb, asked, begun, complete, connected, ended, error, initialize,
    is_alive, malformed, only, result, tagged,
};

fn list<M: PagedMethod>(side: &mut ClientSide, paging: Paging) -> mcp_sansio::CallId {
    side.client.list::<M>(paging, CallOptions::new(), side.now, &mut side.out).unwrap()
}

fn page(items: &str, cursor: &str) -> String {
    format!(r#"{{"resultType":"complete","{items}":[]{cursor}}}"#)
}

fn walk<M: PagedMethod>(method: &str, items: &str) {
    let mut side = connected();
    let call = list::<M>(&mut side, Paging::default());
    assert_eq!(side.sent(), [asked(2, method, "")], "without a cursor");
    let cursors = [r#""""#, r#""a\u0041""#, r#"" \"x\" ""#];
    for (id, cursor) in (2..).zip(cursors) {
        let text = page(items, &format!(r#","nextCursor":{cursor}"#));
        let event = side.receive(&result(id, &text));
        let Some(ClientEvent::Page(delivered)) = event else { panic!("{event:?}") };
        assert_eq!((delivered.call, delivered.result.as_json()), (call, &*text));
        assert_eq!(side.sent(), [asked(id + 1, method, &format!(r#""cursor":{cursor}"#))]);
    }
    let last = page(items, r#","nextCursor":null"#);
    assert_eq!(complete(side.receive(&result(5, &last))), (call, last));
    is_alive(&mut side);
}

/// Proves M-PAGE-01, M-PAGE-02, M-PAGE-06, M-PAGE-07: each list, with cursors that are returned unchanged until
/// there is none.
#[test]
fn a_list_is_read_to_its_end() {
    walk::<ListTools>("tools/list", "tools");
    walk::<ListPrompts>("prompts/list", "prompts");
    walk::<ListResources>("resources/list", "resources");
    walk::<ListResourceTemplates>("resources/templates/list", "resourceTemplates");
}

/// Proves M-PAGE-05: a list does not continue without end.
#[test]
fn a_list_with_a_repeated_cursor_or_too_many_pages_ends() {
    let mut side = connected();
    let call = list::<ListTools>(&mut side, Paging::default());
    let again = page("tools", r#","nextCursor":"a""#);
    assert!(matches!(side.receive(&result(2, &again)), Some(ClientEvent::Page(_))));
    let (over, outcome) = ended(side.receive(&result(3, &again)));
    assert_eq!(over, call);
    assert!(
        matches!(outcome, Outcome::Truncated { stop: PageStop::RepeatedCursor, .. }),
        "{outcome:?}"
    );
    side.sent();
    is_alive(&mut side);
    let mut side = connected();
    let mut paging = Paging::default();
    let mut limits = PageLimits::default();
    limits.pages = 2;
    paging.limits = limits;
    let call = list::<ListTools>(&mut side, paging);
    assert!(matches!(side.receive(&result(2, &again)), Some(ClientEvent::Page(_))));
    let (over, outcome) = ended(side.receive(&result(3, &page("tools", r#","nextCursor":"b""#))));
    assert_eq!(over, call);
    assert!(
        matches!(outcome, Outcome::Truncated { stop: PageStop::TooManyPages, .. }),
        "{outcome:?}"
    );
    side.sent();
    is_alive(&mut side);
}

/// Proves M-PAGE-05, M-R-11: a list that changes meanwhile is read again, if a subscription reports the change.
#[test]
fn a_list_that_changes_is_begun_anew() {
    let (mut side, _) = super::subscriptions::open();
    let call = list::<ListTools>(&mut side, Paging::default());
    assert_eq!(side.sent(), [asked(3, "tools/list", "")]);
    assert!(side.receive(&tagged("tools/list_changed", "2", "")).is_some());
    let event = side.receive(&result(3, &page("tools", r#","nextCursor":"a""#)));
    assert!(
        matches!(event, Some(ClientEvent::ListRestarted(restarted)) if restarted.call == call && restarted.cause == RestartCause::Changed)
    );
    assert_eq!(side.sent(), [asked(4, "tools/list", "")]);
    // A call without paging is marked as stale.
    let plain = side.call("tools/list");
    side.sent();
    assert!(side.receive(&tagged("tools/list_changed", "2", "")).is_some());
    let event = side.receive(&result(5, &page("tools", "")));
    assert!(matches!(event, Some(ClientEvent::CallEnded(end)) if end.call == plain && end.stale));
    // A notification without a tag has no effect.
    let plain = side.call("tools/list");
    side.sent();
    let untagged = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    assert!(matches!(side.receive(untagged), Some(ClientEvent::Violation(_))));
    let event = side.receive(&result(6, &page("tools", "")));
    assert!(matches!(event, Some(ClientEvent::CallEnded(end)) if end.call == plain && !end.stale));
}

/// A cursor becomes invalid once, and again. Proves L-RACE-22 for the client.
#[test]
fn a_list_whose_cursor_dies_is_begun_anew_once() {
    let mut side = connected();
    let call = list::<ListTools>(&mut side, Paging::default());
    side.sent();
    for (id, cursor) in [(2, "a"), (4, "b")] {
        let text = page("tools", &format!(r#","nextCursor":"{cursor}""#));
        assert!(matches!(side.receive(&result(id, &text)), Some(ClientEvent::Page(_))));
        assert_eq!(side.sent(), [asked(id + 1, "tools/list", &format!(r#""cursor":"{cursor}""#))]);
        let event = side.receive(&error(id + 1, -32602, ""));
        if id == 2 {
            assert!(
                matches!(event, Some(ClientEvent::ListRestarted(restarted)) if restarted.cause == RestartCause::InvalidCursor)
            );
            assert_eq!(side.sent(), [asked(4, "tools/list", "")]);
        } else {
            assert!(matches!(ended(event), (over, Outcome::PeerError(_)) if over == call));
        }
    }
    is_alive(&mut side);
}

/// Proves M-RES-03, M-RES-12: a page is a result like any other.
#[test]
fn a_page_that_is_no_result_ends_the_list() {
    for kind in ["later", "input_required", "task"] {
        let mut side = connected();
        let call = list::<ListTools>(&mut side, Paging::default());
        assert!(matches!(
            side.receive(&result(2, &page("tools", r#","nextCursor":"a""#))),
            Some(ClientEvent::Page(_))
        ));
        side.sent();
        let text = format!(r#"{{"resultType":"{kind}","requestState":"s","tools":[]}}"#);
        assert_eq!(
            malformed(side.receive(&result(3, &text))),
            (call, ViolationKind::InvalidResult)
        );
        is_alive(&mut side);
    }
}

/// Proves M-DISC-12: the version of a request for a page can also be refused.
#[test]
fn the_first_page_is_corrected_like_any_request() {
    let mut side = connected();
    let call = list::<ListTools>(&mut side, Paging::default());
    side.sent();
    assert_eq!(side.receive(&error(2, -32022, super::kit::SUPPORTED)), None);
    assert_eq!(side.sent(), [asked(3, "tools/list", "")]);
    assert!(matches!(
        side.receive(&result(3, &page("tools", r#","nextCursor":"a""#))),
        Some(ClientEvent::Page(_))
    ));
    assert_eq!(side.sent(), [asked(4, "tools/list", r#""cursor":"a""#)]);
    assert_eq!(complete(side.receive(&result(4, &page("tools", "")))).0, call);
}

/// The same for a later page: a server can be replaced by a newer one in the middle of a list.
/// Proves M-DISC-12.
#[test]
fn a_later_page_is_corrected_like_any_request() {
    let mut side = connected();
    list::<ListTools>(&mut side, Paging::default());
    assert!(side.receive(&result(2, &page("tools", r#","nextCursor":"a""#))).is_some());
    side.sent();
    assert_eq!(side.receive(&error(3, -32022, super::kit::SUPPORTED)), None);
    assert_eq!(side.sent(), [asked(4, "tools/list", r#""cursor":"a""#)]);
}

/// A client that knew the server as modern, reads a list, and negotiates anew because the probe was not answered.
fn mistaken() -> (ClientSide, mcp_sansio::CallId) {
    let mut config = config::client_of_both_eras();
    config.known = Some(Revision::V2026_07_28);
    let mut side = begun(config);
    assert!(matches!(only(side.outcomes()), Some(ClientEvent::Connected(_))));
    let call = list::<ListTools>(&mut side, Paging::default());
    assert_eq!(side.sent(), [asked(1, "server/discover", ""), asked(2, "tools/list", "")]);
    assert_eq!(side.elapse(10_000), []);
    assert_eq!(side.sent(), [initialize(3, "2025-11-25")]);
    (side, call)
}

/// Proves L-LIFE-04, L-LIFE-06: a page that arrives while the client negotiates anew is the last one.
#[test]
fn no_page_is_asked_for_while_the_client_negotiates_anew() {
    let (mut side, call) = mistaken();
    let (over, outcome) = ended(side.receive(&result(2, &page("tools", r#","nextCursor":"a""#))));
    assert_eq!(over, call);
    assert!(matches!(outcome, Outcome::Truncated { stop: PageStop::NotSent, .. }), "{outcome:?}");
    assert_eq!(side.sent(), [""; 0]);
    absorb(side.receive(&result(3, SESSION)));
    assert_eq!(side.sent(), [INITIALIZED]);
}

/// Proves L-CAP-03: in the session, the list continues only if the server has declared it.
#[test]
fn a_list_continues_in_the_next_session_if_it_is_declared() {
    for (session, is_declared) in
        [(SESSION.to_owned(), true), (SESSION.replace("tools", "logging"), false)]
    {
        let (mut side, call) = mistaken();
        absorb(side.receive(&result(3, &session)));
        assert_eq!(side.sent(), [INITIALIZED]);
        let event = side.receive(&result(2, &page("tools", r#","nextCursor":"a""#)));
        if is_declared {
            assert!(matches!(event, Some(ClientEvent::Page(_))), "{event:?}");
            let next = r#"{"jsonrpc":"2.0","id":4,"method":"tools/list","params":{"cursor":"a"}}"#;
            assert_eq!(side.sent(), [next]);
        } else {
            let (over, outcome) = ended(event);
            assert_eq!(over, call);
            assert!(matches!(outcome, Outcome::Truncated { stop: PageStop::NotSent, .. }));
            assert_eq!(side.sent(), [""; 0]);
        }
    }
}
