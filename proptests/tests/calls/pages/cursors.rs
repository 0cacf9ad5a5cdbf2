//! Walks through lists that do not change: cursors, page sizes, and the ends of a walk.

use std::time::Duration;

use mcp_sansio::call::{Cancellation, Paging, Timeout};
use mcp_sansio::event::{Expiry, UnmatchedCause};
use mcp_sansio::model::method::{
    ListPrompts, ListResourceTemplates, ListResources, ListTools, PagedMethod,
};
use mcp_sansio::pagination::PageStop;
use mcp_sansio::{
    CallOptions, Cause, ClientEvent, ErrorCode, Framing, Outbox, Outcome, Revision, ServerEvent,
};
use mcp_sansio_proptests::{ClientSide, ServerSide};

use super::walk::{Walk, Walked, asked, list, over, page, restarts};

/// Proves L-PAGE-03, L-PAGE-04, L-AMB-26: each of the four lists is paged, in every revision.
#[test]
fn the_first_page_has_no_cursor_and_each_other_the_one_that_came() {
    for revision in Revision::LEGACY {
        pages_of::<ListTools>(revision, "tools/list", "tools");
        pages_of::<ListResources>(revision, "resources/list", "resources");
        pages_of::<ListResourceTemplates>(
            revision,
            "resources/templates/list",
            "resourceTemplates",
        );
        pages_of::<ListPrompts>(revision, "prompts/list", "prompts");
    }
}

#[track_caller]
fn pages_of<M: PagedMethod>(revision: Revision, method: &str, items: &str) {
    let mut walk = Walk::begin::<M>(revision, Paging::default());
    assert_eq!(walk.side.sent(), [asked(2, method, None)]);
    let first = format!(r#"{{"{items}":[{{"a":1}}],"nextCursor":"two"}}"#);
    assert_eq!(walk.answer(2, &first), page(&first));
    assert_eq!(walk.side.sent(), [asked(3, method, Some("\"two\""))]);
    let second = format!(r#"{{"nextCursor":"three","{items}":[]}}"#);
    assert_eq!(walk.answer(3, &second), page(&second));
    assert_eq!(walk.side.sent(), [asked(4, method, Some("\"three\""))]);
    let last = format!(r#"{{"{items}":[{{"b":2}}]}}"#);
    assert_eq!(walk.answer(4, &last), over(&last));
    assert_eq!(walk.side.sent(), [""; 0]);
    assert!(!walk.side.client.in_flight().is_pending(walk.call));
}

/// Proves L-PAGE-03: `roots/list` is not paged, whichever members its result has.
#[test]
fn roots_are_not_paged() {
    for revision in Revision::LEGACY {
        let mut side = ServerSide::ready(revision);
        let call = side.call("roots/list");
        assert_eq!(side.sent(), [r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#]);
        let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"roots":[],"nextCursor":"two"}}"#;
        let Some(ServerEvent::CallEnded(ended)) = side.receive(answer) else { panic!("over") };
        assert_eq!(ended.call, call);
        let Outcome::Result(result) = ended.outcome else { panic!("{:?}", ended.outcome) };
        assert_eq!(result.as_json(), r#"{"roots":[],"nextCursor":"two"}"#);
        assert_eq!(side.sent(), [""; 0]);
    }
}

/// Proves L-PAGE-01: a cursor is returned byte for byte and is not parsed.
#[test]
fn a_cursor_goes_back_byte_for_byte() {
    let cursors = [
        r#""a""#,
        r#"" ""#,
        r#""null""#,
        r#""2""#,
        r#""eyJwYWdlIjogMn0=""#,
        r#""{\"page\":2}""#,
        r#""\u0061\/b\u00e9é\n\t""#,
        r#""%20+&cursor=x""#,
        r#""half \ud83d a character""#,
        r#""\u0000""#,
    ];
    for cursor in cursors {
        let mut walk = Walk::of_tools(Paging::default());
        let first = format!(r#"{{"tools":[],"nextCursor":{cursor}}}"#);
        assert_eq!(walk.answer(2, &first), page(&first));
        assert_eq!(walk.side.sent(), [asked(3, "tools/list", Some(cursor))]);
    }
}

/// Proves L-PAGE-01: a cursor belongs to one listing of one method, not to the next.
#[test]
fn walks_do_not_share_cursors() {
    let mut side = ClientSide::ready(Revision::V2025_06_18);
    let first = list::<ListTools>(&mut side, Paging::default());
    let second = list::<ListTools>(&mut side, Paging::default());
    let prompts = list::<ListPrompts>(&mut side, Paging::default());
    assert_eq!(
        side.sent(),
        [
            asked(2, "tools/list", None),
            asked(3, "tools/list", None),
            asked(4, "prompts/list", None)
        ]
    );
    // The same cursor in two walks is no repetition.
    let answers = [
        (3, "tools", "x", second, asked(5, "tools/list", Some("\"x\""))),
        (4, "prompts", "p", prompts, asked(6, "prompts/list", Some("\"p\""))),
        (2, "tools", "x", first, asked(7, "tools/list", Some("\"x\""))),
        (6, "prompts", "q", prompts, asked(8, "prompts/list", Some("\"q\""))),
        (5, "tools", "y", second, asked(9, "tools/list", Some("\"y\""))),
    ];
    for (id, items, cursor, call, next) in answers {
        let answer = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"{items}":[],"nextCursor":"{cursor}"}}}}"#
        );
        let event = side.receive(&answer);
        assert!(matches!(&event, Some(ClientEvent::Page(page)) if page.call == call), "{event:?}");
        assert_eq!(side.sent(), [next]);
    }
    list::<ListTools>(&mut side, Paging::default());
    assert_eq!(
        side.sent(),
        [asked(10, "tools/list", None)],
        "a new listing begins at the beginning"
    );
}

/// Proves L-PAGE-01: a cursor ends with its session.
#[test]
fn no_cursor_outlives_its_session() {
    let mut walk = Walk::of_tools(Paging::default());
    let first = r#"{"tools":[],"nextCursor":"two"}"#;
    assert_eq!(walk.answer(2, first), page(first));
    assert_eq!(walk.side.sent(), [asked(3, "tools/list", Some("\"two\""))]);
    walk.side.client.close();
    let second = r#"{"jsonrpc":"2.0","id":3,"result":{"tools":[],"nextCursor":"three"}}"#;
    assert_eq!(walk.side.receive(second), None);
    let events = walk.side.outcomes();
    assert!(
        matches!(&events[..], [ClientEvent::CallEnded(ended), ClientEvent::Closed { .. }]
            if ended.call == walk.call && matches!(ended.outcome, Outcome::Closed(_))),
        "{events:?}"
    );
    assert_eq!(walk.side.sent(), [""; 0]);
}

/// Proves L-PAGE-02: pages of three, no, seven and one items; only the last page has no cursor.
#[test]
fn pages_have_any_size() {
    let mut walk = Walk::of_tools(Paging::default());
    for (id, items) in [(2, "[1,2,3]"), (3, "[]"), (4, "[1,2,3,4,5,6,7]"), (5, "[1]")] {
        let result = format!(r#"{{"tools":{items},"nextCursor":"after {id}"}}"#);
        assert_eq!(walk.answer(id, &result), page(&result));
        let cursor = format!("\"after {id}\"");
        assert_eq!(walk.side.sent(), [asked(id + 1, "tools/list", Some(&cursor))]);
    }
    assert_eq!(walk.answer(6, r#"{"tools":[]}"#), over(r#"{"tools":[]}"#));
}

/// Proves L-AMB-49: the empty string is a cursor, `null` is none.
#[test]
fn an_empty_cursor_is_followed_and_null_is_the_end() {
    let mut walk = Walk::of_tools(Paging::default());
    let first = r#"{"tools":[],"nextCursor":""}"#;
    assert_eq!(walk.answer(2, first), page(first));
    assert_eq!(walk.side.sent(), [asked(3, "tools/list", Some("\"\""))]);
    let last = r#"{"tools":[],"nextCursor":null}"#;
    assert_eq!(walk.answer(3, last), over(last));
    assert_eq!(walk.side.sent(), [""; 0]);
}

/// Pain 76: a server cannot keep a client walking without end.
#[test]
fn a_walk_that_would_not_end_is_cut() {
    let mut walk = Walk::of_tools(Paging::default());
    let same = r#"{"tools":[1],"nextCursor":"same"}"#;
    assert_eq!(walk.answer(2, same), page(same));
    let cut = |stop, last: &str| Walked::Truncated { stop, last: last.into(), stale: false };
    assert_eq!(walk.answer(3, same), cut(PageStop::RepeatedCursor, same));
    assert_eq!(walk.side.sent(), [asked(3, "tools/list", Some("\"same\""))]);

    let mut paging = Paging::default();
    paging.limits.pages = 2;
    let mut walk = Walk::of_tools(paging);
    let first = r#"{"tools":[1],"nextCursor":"1"}"#;
    assert_eq!(walk.answer(2, first), page(first));
    let second = r#"{"tools":[1],"nextCursor":"2"}"#;
    assert_eq!(walk.answer(3, second), cut(PageStop::TooManyPages, second));

    let mut paging = Paging::default();
    paging.limits.items = 3;
    let mut walk = Walk::of_tools(paging);
    let first = r#"{"tools":[1,2],"nextCursor":"1"}"#;
    assert_eq!(walk.answer(2, first), page(first));
    let second = r#"{"tools":[3],"nextCursor":"2"}"#;
    assert_eq!(walk.answer(3, second), cut(PageStop::TooManyItems, second));
}

/// A walk is one call: it is cancelled once, under the id of the page in flight.
#[test]
fn a_walk_is_cancelled_as_one_call() {
    let mut walk = Walk::of_tools(Paging::default());
    let first = r#"{"tools":[1],"nextCursor":"two"}"#;
    assert_eq!(walk.answer(2, first), page(first));
    _ = walk.side.sent();
    let side = &mut walk.side;
    let cancelled = side.client.cancel(walk.call, None, &mut side.out);
    assert_eq!(cancelled, Ok(Cancellation::Notified));
    assert_eq!(
        side.sent(),
        [r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}"#]
    );
    for (id, cause) in [(2, UnmatchedCause::Completed), (3, UnmatchedCause::Cancelled)] {
        let late = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[]}}}}"#);
        let event = side.receive(&late);
        assert!(
            matches!(&event, Some(ClientEvent::UnmatchedResponse(unmatched)) if unmatched.cause == cause)
        );
    }
    assert_eq!(side.sent(), [""; 0]);
}

/// A walk whose first page was answered has reached the peer: at the end of the connection it is not `NotSent`.
#[test]
fn a_walk_that_has_begun_was_sent() {
    for answers in [0, 1] {
        let mut walk = Walk::begin::<ListTools>(Revision::V2025_11_25, Paging::default());
        let first = r#"{"tools":[1],"nextCursor":"two"}"#;
        if answers == 1 {
            _ = walk.side.sent();
            assert_eq!(walk.answer(2, first), page(first));
        }
        let side = &mut walk.side;
        side.client.disconnected(Cause::EndOfInput, side.now);
        let events = side.outcomes();
        let [ClientEvent::CallEnded(ended), ..] = &events[..] else { panic!("{events:?}") };
        let expected =
            if answers == 0 { Outcome::NotSent } else { Outcome::Closed(Cause::EndOfInput) };
        assert_eq!((ended.call, &ended.outcome), (walk.call, &expected));
        assert_eq!(walk.side.sent(), [""; 0]);
    }
}

/// The idle timeout restarts with each page; the total timeout covers all pages.
#[test]
fn the_idle_time_begins_anew_with_each_page_and_the_total_does_not() {
    for (idle, total, expected) in [(100, 1000, Expiry::Idle), (100, 150, Expiry::Total)] {
        let mut side = ClientSide::ready(Revision::V2025_11_25);
        let after = |time| Timeout::After(Duration::from_millis(time));
        let options = CallOptions::new().idle(after(idle)).total(after(total));
        let call = side
            .client
            .list::<ListTools>(Paging::default(), options, side.now, &mut side.out)
            .unwrap();
        assert_eq!(side.elapse(90), []);
        let first = r#"{"jsonrpc":"2.0","id":2,"result":{"tools":[],"nextCursor":"two"}}"#;
        assert!(matches!(side.receive(first), Some(ClientEvent::Page(_))));
        _ = side.sent();
        assert_eq!(side.elapse(59), []);
        if expected == Expiry::Idle {
            assert_eq!(side.elapse(40), []);
        }
        let events = side.elapse(1);
        assert!(
            matches!(&events[..], [ClientEvent::CallEnded(ended)]
                if ended.call == call && ended.outcome == Outcome::TimedOut(expected)),
            "{events:?}"
        );
        let sent = side.sent();
        assert_eq!(sent.len(), 1);
        assert!(sent[0].starts_with(
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3"#
        ));
    }
}

/// A walk that begins early requests its first page once the session is open.
#[test]
fn a_walk_waits_for_the_session() {
    let mut side = ClientSide::fresh();
    let call = list::<ListTools>(&mut side, Paging::default());
    side.client.connect(side.now, &mut side.out).unwrap();
    assert_eq!(side.sent().len(), 1, "initialize");
    let connected = side.receive(
        r#"{"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}"#,
    );
    assert!(matches!(connected, Some(ClientEvent::Connected(_))), "{connected:?}");
    let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    assert_eq!(side.sent(), [initialized.to_owned(), asked(1, "tools/list", None)]);
    let first = r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[],"nextCursor":"two"}}"#;
    let event = side.receive(first);
    assert!(matches!(&event, Some(ClientEvent::Page(page)) if page.call == call), "{event:?}");
    assert_eq!(side.sent(), [asked(3, "tools/list", Some("\"two\""))]);
}

/// Each page reports its progress under its own token, from zero.
#[test]
fn each_page_has_its_own_progress() {
    let mut side = ClientSide::ready(Revision::V2025_11_25);
    let options = CallOptions::new().progress();
    let call =
        side.client.list::<ListTools>(Paging::default(), options, side.now, &mut side.out).unwrap();
    let progress = |token: u32| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":5}}}}"#
        )
    };
    assert_eq!(
        side.sent(),
        [
            r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{"progressToken":2}}}"#
        ]
    );
    let delivered =
        |event| matches!(event, Some(ClientEvent::Progress(update)) if update.call == call);
    assert!(delivered(side.receive(&progress(2))));
    let first = r#"{"jsonrpc":"2.0","id":2,"result":{"tools":[],"nextCursor":"two"}}"#;
    assert!(matches!(side.receive(first), Some(ClientEvent::Page(_))));
    assert_eq!(
        side.sent(),
        [
            r#"{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"cursor":"two","_meta":{"progressToken":3}}}"#
        ]
    );
    assert_eq!(side.receive(&progress(2)), None, "late");
    assert!(delivered(side.receive(&progress(3))));
}

/// A walk whose next request finds no room ends with the last page, or with the error that restarted it.
#[test]
fn a_walk_without_room_for_its_next_request_ends() {
    let full = |side: &mut ClientSide| {
        let mut limits = side.client.config().connection.limits.clone();
        limits.outbox_bytes = 1;
        side.out = Outbox::new(Framing::Messages, &limits);
    };
    let first = r#"{"tools":[1],"nextCursor":"two"}"#;
    let stop = PageStop::NotSent;
    let cut = |last: &str, stale| Walked::Truncated { stop, last: last.into(), stale };
    let mut walk = Walk::of_tools(Paging::default());
    full(&mut walk.side);
    assert_eq!(walk.answer(2, first), cut(first, false));

    let mut walk = Walk::of_tools(Paging::default());
    assert_eq!(walk.answer(2, first), page(first));
    full(&mut walk.side);
    let code = ErrorCode::INVALID_PARAMS;
    assert_eq!(walk.refuse(3), Walked::Refused { code, stale: false });

    let mut walk = Walk::of_tools(restarts(1));
    walk.change(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
    full(&mut walk.side);
    assert_eq!(walk.answer(2, first), cut(first, true));
    assert_eq!(walk.side.client.in_flight().counts().outbound, 0);
}
