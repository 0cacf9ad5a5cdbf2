//! The typed values of what a peer has sent: work and memory in proportion to the text, and bounded recursion.

use mcp_sansio::json::Raw;
use mcp_sansio::model::{CallToolResult, Content, List, Map, Text, Tool};
use mcp_sansio::testing::WorkMeter;
use mcp_sansio_proptests::allocations::held;

/// Returns an object with this many members.
fn object(members: usize) -> String {
    let members: Vec<_> = (0..members).map(|at| format!(r#""{at}":"{at}""#)).collect();
    format!("{{{}}}", members.join(","))
}

/// Proves promise 1: twice as many members take about twice the work.
#[test]
fn promise_1_reading_a_map_is_linear() {
    let steps = |members| {
        let text = object(members);
        let raw = Raw::new(&text).unwrap();
        let meter = WorkMeter::start();
        let map: Map<'_, Text<'_>> = raw.parse().unwrap();
        assert_eq!(map.len(), members);
        meter.steps()
    };
    let (few, many) = (steps(20_000), steps(40_000));
    assert!(0 < few && many < few * 5 / 2, "{few}, {many}");
}

/// The last value of a key wins, at the place of the first, however many keys there are.
#[test]
fn the_last_value_of_a_key_wins() {
    for others in [0, 5, 6, 7, 100] {
        let more = object(others).replace(['{', '}'], "");
        let separator = if others == 0 { "" } else { "," };
        let text = format!(r#"{{"a":"1","b":"2","a":"3"{separator}{more},"a":"4","b":"5"}}"#);
        let raw = Raw::new(&text).unwrap();
        let map: Map<'_, Text<'_>> = raw.parse().unwrap();
        assert_eq!(map.len(), 2 + others);
        let first: Vec<_> = map.iter().take(2).map(|(key, value)| (key, value.as_str())).collect();
        assert_eq!(first, [("a", "4"), ("b", "5")], "{others}");
        let mut rest = map.iter().skip(2).enumerate();
        assert!(rest.all(|(at, (key, value))| key == at.to_string() && value.as_str() == key));
    }
}

/// Proves promise 6: elements that cannot be read take much less memory than those that can.
#[test]
fn promise_6_unreadable_elements_take_little_memory() {
    const ELEMENTS: usize = 100_000;
    let text = format!("[{}1]", "1,".repeat(ELEMENTS - 1));
    let raw = Raw::new(&text).unwrap();
    let (list, bytes) = held(|| raw.parse::<List<'_, Tool<'_>>>().unwrap());
    assert_eq!((list.len(), list.skipped().count()), (0, ELEMENTS));
    assert!(bytes < 80 * ELEMENTS, "{bytes} bytes");
    let reasons: Vec<_> = list.skipped().map(|skipped| !skipped.reason.is_empty()).collect();
    assert_eq!(reasons.iter().position(|has_reason| !has_reason), Some(64));
    assert_eq!(serde_json::to_string(&list).unwrap(), text);
}

/// Elements that were read, not read, and built are written in order, also after a copy.
#[test]
fn a_mixed_list_is_written_in_order() {
    let (one, two) = (r#"{"type":"text","text":"1"}"#, r#"{"type":"text","text":"2","x":3}"#);
    let text = format!("[0,{one},1,2,{two},3]");
    let raw = Raw::new(&text).unwrap();
    let mut list: List<'_, Content<'_>> = raw.parse().unwrap();
    let indices: Vec<_> = list.skipped().map(|skipped| skipped.index).collect();
    assert_eq!((list.len(), indices), (2, vec![0, 2, 3, 5]));
    assert_eq!(list.raw(1).map(Raw::as_json), Some(two));
    list.push(Content::text("built"));
    let expected = format!(r#"[0,{one},1,2,{two},3,{{"type":"text","text":"built"}}]"#);
    assert_eq!(serde_json::to_string(&list).unwrap(), expected);
    let owned = list.clone().into_owned();
    assert_eq!(serde_json::to_string(&owned).unwrap(), expected);
    assert_eq!(owned.skipped().map(|skipped| skipped.index).sum::<usize>(), 10);
    let texts: Vec<_> =
        owned.into_iter().filter_map(|content| content.as_text().map(String::from)).collect();
    assert_eq!(texts, ["1", "2", "built"]);
}

/// Proves promise 1: a block nests as deep as serde_json allows, although each block inside is read by itself.
#[test]
fn promise_1_nested_blocks_do_not_exhaust_the_stack() {
    let nested = |levels: usize| {
        let open = r#"{"type":"tool_result","toolUseId":"","content":["#;
        format!("{}{}", open.repeat(levels), "]}".repeat(levels))
    };
    assert!(serde_json::from_str::<Content<'_>>(&nested(60)).is_ok());
    for levels in [64, 100_000] {
        let error = serde_json::from_str::<Content<'_>>(&nested(levels)).unwrap_err();
        assert!(error.to_string().contains("nest"), "{error}");
    }
    let inside = format!(r#"{{"content":[{}]}}"#, nested(100_000));
    let result: CallToolResult<'_> = serde_json::from_str(&inside).unwrap();
    assert_eq!((result.content.len(), result.content.skipped().count()), (0, 1));
}
