use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::index::Index;
use super::table::Table;
use super::*;
use crate::codes::{ALL_VIOLATIONS, ViolationKind};
use crate::handle::{ConnectionNumber, SlotKey};
use crate::json::Envelope;
use crate::limits::Limits;

const CONNECTION: ConnectionNumber = ConnectionNumber::new(0);

impl Recycle for u32 {
    fn recycle(&mut self) {
        *self = 0;
    }
}

fn random(state: &mut u64, below: u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    (*state >> 33) % below
}

fn id(literal: &str) -> Id<'_> {
    Id::from_literal(literal, 256).expect("an id")
}

/// Proves L-JSONRPC-02, L-JSONRPC-04, L-JSONRPC-08.
#[test]
fn ids_are_integers_of_any_size_or_strings() {
    for literal in [
        "0",
        "-1",
        "9007199254740993",
        "18446744073709551615",
        "\"\"",
        "\"é\"",
        "1234567890123456789012345678901234567890",
    ] {
        assert_eq!(id(literal).as_wire(), literal);
    }
    let malformed = ["1.0", "1.5", "1e2", "-0", "true", "[]", "{}"];
    for literal in malformed {
        assert_eq!(Id::from_literal(literal, 256), Err(ViolationKind::MalformedId), "{literal}");
    }
    assert_eq!(Id::from_literal("null", 256), Err(ViolationKind::NullId));
    assert_eq!(Id::from_literal("12345", 4), Err(ViolationKind::LongId));
    assert_eq!(Id::from_literal("1234", 4).map(|id| id.to_string()), Ok("1234".to_string()));
    assert_ne!(id("7"), id("\"7\""));
    assert_eq!(id("\"a\""), id("\"\\u0061\""));
    assert_eq!(id("\"\\u0061\""), id("\"a\""));
    assert_eq!(id("\"a\"").hash32(), id("\"\\u0061\"").hash32());
    assert_ne!(id("\"\\ud800\""), id("\"\\ud801\""));
}

#[test]
fn an_id_distinguishes_integers_from_strings() {
    assert_eq!(id("-7").as_integer(), Some(-7));
    assert_eq!(id("\"7\"").as_integer(), None);
    assert_eq!(id("9223372036854775808").as_integer(), None);
    assert_eq!(alloc::format!("{:?} {:?}", id("7"), id("\"7\"")), "Id(7) Id(\"7\")");
}

/// The hash is the same on every platform, and differs for similar ids: FNV-1a, folded.
#[test]
fn ids_have_hashes_that_anybody_can_compute() {
    assert_eq!(id("7").hash32(), 0x2962_3dda);
    assert_eq!(id("10").hash32(), 0xb342_9aa3);
    assert_eq!(id("\"a\"").hash32(), 0xb358_1f4b);
}

#[test]
fn numbers_in_strings_count_where_that_is_allowed() {
    assert_eq!(id("7").number(false), Some(7));
    assert_eq!(id("\"7\"").number(false), None);
    assert_eq!(id("\"7\"").number(true), Some(7));
    assert_eq!(id("\"0\"").number(true), Some(0));
    for literal in ["\"07\"", "\"+7\"", "\"\"", "\"x\"", "-7"] {
        assert_eq!(id(literal).number(true), None, "{literal}");
    }
}

#[test]
fn the_index_finds_exactly_its_entries() {
    let mut state = 7;
    let mut index = Index::default();
    let mut model: Vec<(u32, u32)> = Vec::new();
    for _ in 0..20_000 {
        // Few hashes, so that they collide and wrap around.
        let hash = random(&mut state, 40) as u32 * 0x0100_0000;
        let place = random(&mut state, 100) as u32;
        let known = model.iter().position(|entry| entry.1 == place);
        match known {
            Some(at) => {
                let (hash, place) = model.swap_remove(at);
                index.remove(hash, place);
            }
            None => {
                model.push((hash, place));
                index.insert(hash, place);
            }
        }
        let hash = random(&mut state, 40) as u32 * 0x0100_0000;
        let mut found = Vec::new();
        index.find(hash, |place| {
            found.push(place);
            false
        });
        found.sort_unstable();
        let mut expected: Vec<u32> =
            model.iter().filter(|entry| entry.0 == hash).map(|entry| entry.1).collect();
        expected.sort_unstable();
        assert_eq!(found, expected);
    }
}

/// Ended entries leave nothing behind, neither in the index nor in the table.
#[test]
fn ended_entries_do_not_grow_the_tables() {
    let mut inbound: Inbound<u32> = Inbound::new(CONNECTION);
    let mut index = Index::default();
    let mut live = alloc::collections::VecDeque::new();
    for round in 0..100_000_u32 {
        let literal = round.to_string();
        live.push_back((inbound.insert(&id(&literal)), literal));
        index.insert(round.wrapping_mul(0x9e37_79b1), round % 128);
        if 64 < live.len() {
            let (place, literal) = live.pop_front().expect("there are some");
            assert_eq!(inbound.find(&id(&literal)), Some(place));
            assert!(inbound.remove(place, Ending::Answered));
            assert!(place.index <= 64, "places are dense");
            let gone = round - 64;
            index.remove(gone.wrapping_mul(0x9e37_79b1), gone % 128);
        }
    }
    assert_eq!(index.homes(), 128);
}

/// A hundred thousand open requests in each direction, ended in any order.
#[test]
fn many_requests_are_found_among_many() {
    const MANY: u64 = 100_000;
    let mut inbound: Inbound<u32> = Inbound::new(CONNECTION);
    let mut outbound: Outbound<u32> = Outbound::new(CONNECTION, 1, 0);
    for number in 1..=MANY {
        inbound.insert(&id(&alloc::format!("\"request {number}\"")));
        outbound.insert(|_| {});
    }
    for step in 0..MANY {
        // Visits all of them, because the numbers have no common divisor.
        let number = step * 61_803 % MANY + 1;
        let literal = alloc::format!("\"request {number}\"");
        let place = inbound.find(&id(&literal)).expect("it is there");
        assert!(inbound.remove(place, Ending::Answered));
        assert_eq!(inbound.find(&id(&literal)), None);
        let place = outbound.find(number).expect("it is there");
        assert!(outbound.remove(place, Ending::Answered));
        assert_eq!(outbound.find(number), None);
    }
    assert!(inbound.is_empty() && outbound.is_empty());
}

/// Pain 87.
#[test]
fn places_are_used_again_under_new_names() {
    let mut table: Table<u32> = Table::new(CONNECTION);
    let first = table.insert(|entry| *entry = 1);
    let second = table.insert(|entry| *entry = 2);
    assert!(table.remove(first, Ending::Answered));
    assert!(!table.remove(first, Ending::Answered));
    assert_eq!(table.get(first), None);
    assert_eq!(table.ending(first), Some(Ending::Answered));
    let third = table.insert(|entry| *entry = 3);
    assert_eq!(third.index, first.index);
    assert_ne!(third, first);
    assert_eq!(table.get(first), None);
    assert_eq!(table.get(third), Some(&3));
    assert_eq!(table.iter().map(|(_, entry)| *entry).collect::<Vec<_>>(), [2, 3]);
    let elsewhere = SlotKey { connection: ConnectionNumber::new(1), ..second };
    assert_eq!(table.get(elsewhere), None);
    assert_eq!(table.ending(elsewhere), None);
    assert!(!table.remove(elsewhere, Ending::Answered));
}

#[test]
fn a_table_remembers_how_the_last_sixteen_entries_of_a_place_ended() {
    let mut table: Table<u32> = Table::new(CONNECTION);
    let endings = [Ending::Answered, Ending::Cancelled, Ending::Closed];
    let mut places = Vec::new();
    for ending in endings.iter().cycle().take(20) {
        let place = table.insert(|_| {});
        table.remove(place, *ending);
        places.push((place, *ending));
    }
    for (age, (place, ending)) in places.iter().rev().enumerate() {
        assert_eq!(table.ending(*place), (age < 16).then_some(*ending), "age {age}");
    }
}

#[test]
fn a_table_keeps_its_entries_in_the_order_they_came() {
    let mut state = 3;
    let mut table: Table<u32> = Table::new(CONNECTION);
    let mut model: Vec<(SlotKey, u32)> = Vec::new();
    for step in 0..5_000 {
        if random(&mut state, 2) == 0 || model.is_empty() {
            model.push((table.insert(|entry| *entry = step), step));
        } else {
            let at = random(&mut state, model.len() as u64) as usize;
            assert!(table.remove(model.remove(at).0, Ending::Answered));
        }
        assert!(table.iter().map(|(place, entry)| (place, *entry)).eq(model.iter().copied()));
        assert_eq!(table.first(), model.first().map(|(place, _)| *place));
        assert_eq!(table.len() as usize, model.len());
    }
}

#[test]
fn requests_are_found_by_the_decoded_value_of_their_id() {
    let mut inbound: Inbound<u32> = Inbound::new(CONNECTION);
    let number = inbound.insert(&id("7"));
    let string = inbound.insert(&id("\"7\""));
    assert_eq!(inbound.find(&id("7")), Some(number));
    assert_eq!(inbound.find(&id("\"\\u0037\"")), Some(string));
    assert_eq!(inbound.find(&id("8")), None);
    assert_eq!(inbound.id(string).map(|id| id.to_string()), Some("\"7\"".to_string()));
    inbound.remove(number, Ending::Answered);
    assert_eq!(inbound.find(&id("7")), None);
    assert_eq!(inbound.len(), 1);
}

/// Requests with the same id are found one after the other, regardless of removals in between.
#[test]
fn twins_are_found_until_the_last_one_is_gone() {
    let mut state = 11;
    let mut inbound: Inbound<u32> = Inbound::new(CONNECTION);
    let mut model: Vec<(SlotKey, String, bool)> = Vec::new();
    for _ in 0..20_000 {
        let literal = random(&mut state, 4).to_string();
        match random(&mut state, 4) {
            0 | 1 => model.push((inbound.insert_twin(&id(&literal)), literal, true)),
            2 if !model.is_empty() => {
                let at = random(&mut state, model.len() as u64) as usize;
                assert!(inbound.remove(model.swap_remove(at).0, Ending::Answered));
            }
            3 if !model.is_empty() => {
                let at = random(&mut state, model.len() as u64) as usize;
                inbound.detach(model[at].0);
                model[at].2 = false;
            }
            _ => {}
        }
        for number in 0..4 {
            let literal = number.to_string();
            let twins = model.iter().filter(|entry| entry.1 == literal && entry.2);
            let mut twins: Vec<_> = twins.map(|entry| entry.0.index).collect();
            let first = inbound.find(&id(&literal));
            let found = core::iter::successors(first, |place| inbound.next_twin(*place));
            let mut found: Vec<_> = found.map(|place| place.index).collect();
            twins.sort_unstable();
            found.sort_unstable();
            assert_eq!(found, twins, "the requests with the id {literal}");
        }
        assert_eq!(inbound.len() as usize, model.len());
    }
}

/// Proves L-JSONRPC-05: ids are never reused.
#[test]
fn calls_get_ids_that_count_up() {
    let mut outbound: Outbound<u32> = Outbound::new(CONNECTION, 0, 2);
    let mut places = Vec::new();
    for expected in 0..10_000 {
        let place = outbound.insert(|_| {});
        assert_eq!(outbound.id(place), Some(expected));
        assert_eq!(outbound.find(expected), Some(place));
        if expected % 3 == 0 {
            outbound.remove(place, Ending::Answered);
        } else {
            places.push(place);
        }
    }
    assert_eq!(outbound.len() as usize, places.len());
}

/// A reused slot contains no data of its former call.
#[test]
fn a_call_begins_with_nothing_of_those_before() {
    let mut outbound: Outbound<u32> = Outbound::new(CONNECTION, 1, 0);
    let place = outbound.insert(|extra| *extra = 7);
    outbound.remove(place, Ending::Answered);
    let mut before = None;
    let again = outbound.insert(|extra| before = Some(*extra));
    assert_eq!((again.index, before), (place.index, Some(0)));
}

#[test]
fn unmatched_responses_are_classified_by_cause() {
    let mut outbound: Outbound<u32> = Outbound::new(CONNECTION, 1, 2);
    let places: Vec<SlotKey> = (0..5).map(|_| outbound.insert(|_| {})).collect();
    outbound.remove(places[0], Ending::Answered);
    outbound.give_up(places[1], GivenUp::Cancelled);
    outbound.give_up(places[2], GivenUp::TimedOut);
    outbound.give_up(places[3], GivenUp::Cancelled);
    assert_eq!(outbound.unmatched_cause_of(None), UnmatchedCause::NeverIssued);
    assert_eq!(outbound.unmatched_cause_of(Some(0)), UnmatchedCause::NeverIssued);
    assert_eq!(outbound.unmatched_cause_of(Some(1)), UnmatchedCause::Completed);
    assert_eq!(
        outbound.unmatched_cause_of(Some(2)),
        UnmatchedCause::Completed,
        "only two are remembered"
    );
    assert_eq!(outbound.unmatched_cause_of(Some(3)), UnmatchedCause::TimedOut);
    assert_eq!(outbound.unmatched_cause_of(Some(4)), UnmatchedCause::Cancelled);
    assert_eq!(outbound.unmatched_cause_of(Some(6)), UnmatchedCause::NeverIssued);
}

/// Returns the classification of a frame in words.
fn class(frame: &str) -> String {
    let envelope = Envelope::scan(frame.as_bytes(), 128);
    match classify(&envelope, &Limits::default(), Versions::Exact) {
        Ok(Message::Request { id, method, .. }) => alloc::format!("request {id} {method}"),
        Ok(Message::Notification { method, .. }) => alloc::format!("notification {method}"),
        Ok(Message::Result { id, .. }) => alloc::format!("result {id}"),
        Ok(Message::Error { id, error }) => {
            alloc::format!("error {id} {} {:?}", error.code, error.message.to_str())
        }
        Ok(Message::IdlessError { error }) => alloc::format!("idless error {}", error.code),
        Err(Defective { kind, id, meant, intent }) => {
            let id = id.map_or_else(|| "-".into(), |id| id.to_string());
            let doubt = if id != "-" && !meant { "?" } else { "" };
            alloc::format!("{kind:?} {intent:?} {id}{doubt}")
        }
    }
}

/// Frames and their classification.
const CLASSES: &[(&str, &str)] = &[
    // Well formed.
    (r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#, "request 1 m"),
    (r#"{"jsonrpc":"2.0","id":"","method":"m","params":null}"#, "request \"\" m"),
    (r#"{"jsonrpc":"2.0","method":"m","params":{}}"#, "notification m"),
    (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, "result 1"),
    (r#"{"jsonrpc":"2.0","id":1,"error":{"code":-5,"message":"x"}}"#, "error 1 -5 \"x\""),
    (r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32000}}"#, "error 1 -32000 \"\""),
    (r#"{"jsonrpc":"2.0","error":{"code":1,"message":"x"}}"#, "idless error 1"),
    (r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}"#, "idless error 1"),
    (r#"{"jsonrpc":"2.0","id":1,"method":"m","foo":[]}"#, "request 1 m"),
    // The version.
    (r#"{"jsonrpc":"\u0032.0","id":1,"method":"m"}"#, "request 1 m"),
    (r#"{"id":1,"method":"m"}"#, "WrongJsonrpc Request 1"),
    (r#"{"jsonrpc":"1.0","id":1,"method":"m"}"#, "WrongJsonrpc Request 1"),
    (r#"{"jsonrpc":2.0,"id":1,"method":"m"}"#, "WrongJsonrpc Request 1"),
    (r#"{"jsonrpc":"1.0","method":"m"}"#, "WrongJsonrpc Notification -"),
    (r#"{"jsonrpc":"1.0","id":1,"result":{}}"#, "WrongJsonrpc Response 1"),
    // The id.
    (r#"{"jsonrpc":"2.0","id":null,"method":"m"}"#, "NullId Request -"),
    (r#"{"jsonrpc":"2.0","id":1.5,"method":"m"}"#, "MalformedId Request -"),
    (r#"{"jsonrpc":"2.0","id":true,"method":"m"}"#, "MalformedId Request -"),
    (r#"{"jsonrpc":"2.0","id":[1],"result":{}}"#, "MalformedId Response -"),
    (r#"{"jsonrpc":"2.0","id":1,"id":1,"method":"m"}"#, "DuplicateId Request -"),
    // The method.
    (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, "MissingMethod Request 1"),
    (r#"{"jsonrpc":"2.0","id":1,"method":null}"#, "MissingMethod Either 1"),
    (r#"{"jsonrpc":"2.0","id":1,"params":{}}"#, "MissingMethod Either 1"),
    (r#"{"jsonrpc":"2.0","method":7}"#, "MissingMethod Notification -"),
    (r#"{"jsonrpc":"2.0","params":{}}"#, "MissingMethod Notification -"),
    (r#"{"jsonrpc":"2.0","id":1}"#, "NotAMessage Either 1"),
    (r#"{"id":1}"#, "NotAMessage Either -"),
    (r#"{"jsonrpc":"2.0"}"#, "NotAMessage Other -"),
    (r#"{"level":"info"}"#, "NotAMessage Other -"),
    // The params.
    (r#"{"jsonrpc":"2.0","id":1,"method":"m","params":[]}"#, "ParamsNotAnObject Request 1"),
    (r#"{"jsonrpc":"2.0","id":1,"method":"m","params":"x"}"#, "ParamsNotAnObject Request 1"),
    (r#"{"jsonrpc":"2.0","method":"m","params":[]}"#, "ParamsNotAnObject Notification -"),
    // Other members beside a result or an error are ignored, except a method.
    (r#"{"jsonrpc":"2.0","id":1,"result":{},"params":{}}"#, "result 1"),
    (r#"{"jsonrpc":"2.0","id":1,"method":null,"result":{}}"#, "result 1"),
    (
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"},"params":null}"#,
        "error 1 1 \"x\"",
    ),
    // Contradictions.
    (r#"{"jsonrpc":"2.0","id":1,"method":7,"result":{}}"#, "Ambiguous Either 1"),
    (r#"{"jsonrpc":"2.0","method":"m","result":{}}"#, "Ambiguous Notification -"),
    (r#"{"jsonrpc":"2.0","id":1,"method":"m","result":{}}"#, "Ambiguous Either 1"),
    (r#"{"jsonrpc":"2.0","id":1,"method":"m","method":"m"}"#, "DuplicateMember Request 1"),
    (r#"{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"result":{}}"#, "DuplicateMember Response 1"),
    // Responses.
    (r#"{"jsonrpc":"2.0","id":1,"result":null}"#, "MalformedResponse Response 1"),
    (r#"{"jsonrpc":"2.0","id":1,"result":1}"#, "MalformedResponse Response 1"),
    (
        r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}"#,
        "MalformedResponse Response 1",
    ),
    (
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":"x","message":""}}"#,
        "MalformedResponse Response 1",
    ),
    (
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":1.5,"message":""}}"#,
        "MalformedResponse Response 1",
    ),
    (r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":5}}"#, "MalformedResponse Response 1"),
    (r#"{"jsonrpc":"2.0","id":1,"error":"x"}"#, "MalformedResponse Response 1"),
    (r#"{"jsonrpc":"2.0","id":1,"error":{}}"#, "MalformedResponse Response 1"),
    (r#"{"jsonrpc":"2.0","result":{}}"#, "MalformedResponse Response -"),
    (r#"{"jsonrpc":"2.0","error":{}}"#, "MalformedResponse Response -"),
    // Not JSON from some point on.
    (r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{oops}}"#, "NotJson Request 1"),
    (r#"{"jsonrpc":"2.0","id":1,"result":{"a":"#, "SplitOverLines Response 1"),
    (r#"{"jsonrpc":"2.0","id":1,"x":"#, "SplitOverLines Either 1"),
    (r#"{"id":1,"method":"m","params":{oops}}"#, "NotJson Request 1?"),
    (r#"{"id":1,"result":{"a":oops}}"#, "NotJson Response 1?"),
    // A defect inside a string, which does not hide the following members.
    ("{\"id\":1,\"result\":{\"a\":\"\t\"},\"jsonrpc\":\"2.0\"}", "BadString Response 1"),
    (r#"{"params":{"a":"\x"},"method":"m","jsonrpc":"2.0","id":1}"#, "BadString Request 1"),
    ("Server started", "NotJson Other -"),
    ("42", "NotAMessage Other -"),
    ("", "SplitOverLines Other -"),
];

/// Proves L-JSONRPC-01, L-JSONRPC-03, L-JSONRPC-09, L-JSONRPC-10, L-JSONRPC-11, L-JSONRPC-12,
/// L-JSONRPC-22, L-JSONRPC-23.
#[test]
fn a_frame_is_classified_by_its_members() {
    for (frame, expected) in CLASSES {
        assert_eq!(class(frame), *expected, "{frame}");
    }
}

#[test]
fn a_method_may_be_as_long_as_the_limit() {
    let mut limits = Limits::default();
    limits.method_bytes = 3;
    let kind = |method: &str| {
        let frame = alloc::format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"}}"#);
        let envelope = Envelope::scan(frame.as_bytes(), 128);
        classify(&envelope, &limits, Versions::Exact).err().map(|defective| defective.kind)
    };
    assert_eq!(kind("abc"), None);
    assert_eq!(kind("abcd"), Some(ViolationKind::LongMethod));
}

#[test]
fn a_result_is_of_the_kind_that_it_says() {
    let table = [
        ("{}", ResultType::Absent),
        (r#"{"resultType":"complete"}"#, ResultType::Complete),
        (r#"{"resultType":"input_required"}"#, ResultType::InputRequired),
        (r#"{"resultType":"t\u0061sk"}"#, ResultType::Task),
        (r#"{"resultType":"tasks"}"#, ResultType::Other),
        (r#"{"resultType":7}"#, ResultType::Other),
    ];
    for (result, expected) in table {
        let frame = alloc::format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#);
        let envelope = Envelope::scan(frame.as_bytes(), 128);
        match classify(&envelope, &Limits::default(), Versions::Exact) {
            Ok(Message::Result { result_type, .. }) => assert_eq!(result_type, expected),
            other => panic!("{result}: {other:?}"),
        }
    }
}

#[test]
fn a_frame_that_is_only_too_deep_keeps_its_shape() {
    let deep = "[".repeat(200) + &"]".repeat(200);
    let request =
        alloc::format!(r#"{{"jsonrpc":"2.0","method":"m","params":{{"a":{deep}}},"id":4}}"#);
    assert_eq!(class(&request), "TooDeep Request 4");
    let response = alloc::format!(r#"{{"result":{{"a":{deep}}},"id":4}}"#);
    assert_eq!(class(&response), "TooDeep Response 4");
    let notification =
        alloc::format!(r#"{{"jsonrpc":"2.0","method":"m","params":{{"a":{deep}}}}}"#);
    assert_eq!(class(&notification), "TooDeep Notification -");
}

#[test]
fn every_violation_has_a_text_of_its_own() {
    let mut texts: Vec<&str> = ALL_VIOLATIONS.iter().map(|kind| kind.text()).collect();
    texts.sort_unstable();
    texts.dedup();
    assert_eq!(texts.len(), ALL_VIOLATIONS.len());
    assert!(texts.iter().all(|text| !text.is_empty() && !text.ends_with('.')));
}
