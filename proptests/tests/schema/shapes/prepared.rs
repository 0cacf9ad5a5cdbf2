//! Prepared results are sent like any other result.

use super::{raw, sent_result};
use mcp_sansio::json::Raw;
use mcp_sansio::model::method::{CallTool, ListPrompts, ListTools};
use mcp_sansio::model::{ListToolsResult, Tool};
use mcp_sansio::pagination::Pager;
use mcp_sansio::schema::{EncodeError, Json, Prepared, Problem};
use mcp_sansio::{
    Frames, IncomingId, Limits, Outbox, Payload, RespondError, Revision, RevisionSet, Server,
    ServerEvent,
};
use mcp_sansio_proptests::{ServerSide, config};

const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
const META: &str = concat!(
    r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
    r#""io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"#,
    r#""io.modelcontextprotocol/clientCapabilities":{}}"#
);

/// Returns tools with a member that some revisions lack.
fn tools() -> ListToolsResult<'static> {
    let mut tool = Tool::new("a", raw(r#"{"type": "object", "properties": {"b":{}}}"#));
    tool.title = Some("A".into());
    ListToolsResult::new(vec![tool])
}

fn prepared(revision: Revision) -> Prepared {
    Prepared::result::<ListTools>(revision, &tools()).unwrap()
}

/// The result is the same for any revision of preparation that has all requested members.
#[test]
fn a_list_is_sent_like_one_that_has_not_been_prepared() {
    for revision in RevisionSet::LEGACY.iter() {
        let expected = sent_result("tools/list", revision, &tools());
        for of in [revision, Revision::V2025_11_25] {
            let sent = sent_prepared("tools/list", revision, &prepared(of));
            assert_eq!(sent, expected, "{of} in {revision}");
            let sent = sent_result("tools/list", revision, &prepared(of));
            assert_eq!(sent, expected, "{of} in {revision}, as JSON");
        }
    }
}

/// Responds with a prepared result in this revision, and returns the sent result.
fn sent_prepared(method: &str, revision: Revision, result: &Prepared) -> super::Sent {
    let mut side = ServerSide::ready(revision);
    let id = side.request(&LIST.replace("tools/list", method));
    let answered = side.server.respond(id, result, &mut side.out);
    match answered {
        Ok(()) => {
            let sent = side.sent().concat();
            let result = sent.strip_prefix(r#"{"jsonrpc":"2.0","id":1,"result":"#).unwrap();
            Ok(result.strip_suffix('}').unwrap().into())
        }
        Err(RespondError::Encode(EncodeError::Misfit(misfit))) => {
            assert_eq!(side.sent(), [""; 0]);
            Err((misfit.field, misfit.problem))
        }
        Err(error) => panic!("{error:?}"),
    }
}

fn modern_response(
    answer: impl FnOnce(&mut Server, IncomingId, &mut Outbox) -> Result<(), RespondError>,
) -> String {
    let mut side = ServerSide::with(config::server_of_both_eras());
    let request =
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{{META}}}}}"#);
    let id = side.request(&request);
    answer(&mut side.server, id, &mut side.out).unwrap();
    side.sent().concat()
}

fn answer_with(result: &ListToolsResult<'_>) -> String {
    modern_response(|server, id, out| server.respond(id, result, out))
}

fn answer_prepared(result: &Prepared) -> String {
    modern_response(|server, id, out| server.respond(id, result, out))
}

/// Expects the usual default hints, and that hints in the result take precedence.
#[test]
fn default_hints_are_added_to_prepared_results() {
    let plain = answer_prepared(&prepared(Revision::V2026_07_28));
    assert_eq!(plain, answer_with(&tools()));
    for part in [r#""resultType":"complete""#, r#""ttlMs":0"#, r#""cacheScope":"private""#] {
        assert!(plain.contains(part), "{plain}");
    }
    let mut own = tools();
    own.ttl_ms = Some(7);
    own.meta = Some(raw(r#"{"a":1}"#));
    let of_its_own = Prepared::result::<ListTools>(Revision::V2026_07_28, &own).unwrap();
    assert_eq!(answer_prepared(&of_its_own), answer_with(&own));
    assert!(answer_prepared(&of_its_own).contains(r#""ttlMs":7"#));
    // A result prepared for sessions is treated as plain JSON.
    assert_eq!(answer_prepared(&prepared(Revision::V2025_11_25)), plain);
}

#[test]
fn a_prepared_result_of_another_method_is_refused() {
    let tools = prepared(Revision::V2025_11_25);
    let sent = sent_prepared("prompts/list", Revision::V2025_11_25, &tools);
    assert_eq!(sent, Err(("prompts", Problem::Missing)));
}

#[test]
fn a_result_of_the_wrong_shape_cannot_be_prepared() {
    let prompts = Prepared::result::<ListPrompts>(Revision::V2025_11_25, &tools());
    let Some(EncodeError::Misfit(misfit)) = prompts.err() else { panic!("they are no prompts") };
    assert_eq!((misfit.field, misfit.problem), ("prompts", Problem::Missing));
    let text = Prepared::result::<CallTool>(Revision::V2025_11_25, &Json("text"));
    assert_eq!(text.err(), Some(EncodeError::NotAnObject));
}

#[test]
fn it_goes_into_a_batch() {
    let mut side = ServerSide::ready(Revision::V2025_03_26);
    let batch = format!("[{LIST},{}]", LIST.replace(":1,", ":2,"));
    let ids: Vec<_> = Frames::of(batch.as_bytes(), &Limits::default())
        .filter_map(|frame| match side.server.receive(frame, side.now, &mut side.out) {
            Some(ServerEvent::Request(request)) => Some(request.id),
            _ => None,
        })
        .collect();
    let list = prepared(Revision::V2025_03_26);
    for id in &ids {
        side.server.respond(*id, &list, &mut side.out).unwrap();
    }
    let answer = |id| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{}}}"#, list.as_json());
    assert_eq!(side.sent(), [format!("[{},{}]", answer(1), answer(2))]);
}

#[test]
fn an_outbox_without_room_takes_nothing_of_it() {
    let mut config = config::server();
    config.connection.limits.outbox_bytes = 500;
    let mut side = ServerSide::ready_with(config, Revision::V2025_11_25);
    let mut tools = Vec::new();
    for name in 0..20 {
        tools.push(Tool::new(format!("tool {name}"), raw(r#"{"type":"object"}"#)));
    }
    let result = ListToolsResult::new(tools);
    let long = Prepared::result::<ListTools>(Revision::V2025_11_25, &result).unwrap();
    let id = side.request(LIST);
    let refused = side.server.respond(id, &long, &mut side.out);
    assert_eq!(refused, Err(RespondError::Encode(EncodeError::Full)));
    assert_eq!(side.sent(), [""; 0]);
    side.server.respond(id, &prepared(Revision::V2025_11_25), &mut side.out).unwrap();
    assert_eq!(side.sent().len(), 1);
}

/// A page of a slice is written like the list of its items, and errors in an item have the same path.
#[test]
fn a_page_is_written_as_a_list() {
    let schema = |text| Raw::new(text).unwrap();
    let mut full = Tool::new("b", schema(r#"{"type":"object"}"#));
    full.title = Some("B".into());
    full.execution = Some(Default::default());
    full.output_schema = Some(schema("[]"));
    let bare = Tool::new("a", schema(r#"{"type":"object"}"#));
    let wrong = Tool::new("c", schema("{}"));
    for tools in [vec![], vec![bare.clone()], vec![bare.clone(), full.clone()], vec![bare, wrong]] {
        let mut list = ListToolsResult::new(tools.clone());
        let pager = Pager::new(10);
        let page = pager.page(&tools, None).unwrap();
        for revision in Revision::ALL {
            let by_page = Prepared::result::<ListTools>(revision, &page.result::<ListTools>());
            let by_list = Prepared::result::<ListTools>(revision, &list);
            assert_eq!(
                by_page.as_ref().map(Prepared::as_json),
                by_list.as_ref().map(Prepared::as_json),
                "{revision}"
            );
            if RevisionSet::LEGACY.contains(revision) {
                let sent = |result: &dyn Payload| sent_result("tools/list", revision, &result);
                assert_eq!(sent(&page.result::<ListTools>()), sent(&list), "{revision}");
            }
        }
        // The page does not fit the list of another method.
        let prompts =
            Prepared::result::<ListPrompts>(Revision::V2025_11_25, &page.result::<ListTools>());
        let Some(EncodeError::Misfit(misfit)) = prompts.err() else {
            panic!("they are no prompts")
        };
        assert_eq!((misfit.field, misfit.problem), ("prompts", Problem::Missing));
        // A page that ends before the list has a cursor for the next one.
        let first = Pager::new(1).page(&tools, None).unwrap();
        let Ok(written) = Raw::from_payload(&first.result::<ListTools>()) else { panic!() };
        list = written.parse().unwrap();
        assert_eq!(list.next_cursor.is_some(), 1 < tools.len(), "{written}");
    }
}
