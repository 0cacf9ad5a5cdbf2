use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

use super::*;

/// An event in comparable form: type, data, last id, retry in milliseconds.
type Seen = Result<(String, Option<String>, String, Option<u64>), SseError>;

fn event(kind: &str, data: Option<&str>, id: &str, retry: Option<u64>) -> Seen {
    Ok((kind.to_owned(), data.map(ToOwned::to_owned), id.to_owned(), retry))
}

fn message(data: &str) -> Seen {
    event("message", Some(data), "", None)
}

/// Decodes these chunks, and returns the events and the decoder.
fn fed(most_bytes: usize, chunks: &[&[u8]]) -> (Vec<Seen>, SseDecoder) {
    let mut decoder = SseDecoder::new(most_bytes);
    let mut events = Vec::new();
    for chunk in chunks {
        let mut chunk = *chunk;
        while let Some(event) = decoder.next(&mut chunk) {
            events.push(event.map(|event| {
                let data = event.data.map(|data| String::from_utf8(data.to_vec()).unwrap());
                let retry = event.retry.map(|retry| u64::try_from(retry.as_millis()).unwrap());
                (event.event_type.to_owned(), data, event.last_event_id.to_owned(), retry)
            }));
        }
        assert!(chunk.is_empty());
    }
    (events, decoder)
}

/// Feeds the text whole, byte by byte, and split in two at every position.
fn decoded_to(most_bytes: usize, text: &[u8]) -> Vec<Seen> {
    let (events, whole) = fed(most_bytes, &[text]);
    let bytes: Vec<&[u8]> = text.chunks(1).collect();
    let (one_by_one, decoder) = fed(most_bytes, &bytes);
    assert_eq!(one_by_one, events, "byte by byte");
    assert_eq!(decoder.last_event_id(), whole.last_event_id());
    for cut in 0..=text.len() {
        let (first, second) = text.split_at(cut);
        assert_eq!(fed(most_bytes, &[first, &[], second]).0, events, "cut at {cut}");
    }
    events
}

fn decoded(text: &[u8]) -> Vec<Seen> {
    decoded_to(1000, text)
}

/// Proves H-HTTP-235
#[test]
fn events_are_read_as_the_standard_has_them() {
    let table: [(&[u8], Vec<Seen>); 21] = [
        (b"data: a\n\n", vec![message("a")]),
        (b"data: a\r\n\r\n", vec![message("a")]),
        (b"data: a\r\r", vec![message("a")]),
        (
            b"data: a\n\r\ndata: b\r\n\ndata: c\r\n\r",
            vec![message("a"), message("b"), message("c")],
        ),
        (b"data:a\n\ndata:  a\n\n", vec![message("a"), message(" a")]),
        (b"data\n\n", vec![message("")]),
        (b"data:\n\ndata: \n\n", vec![message(""), message("")]),
        (b"data\ndata\n\n", vec![message("\n")]),
        (b"data: YHOO\ndata: +2\ndata: 10\n\n", vec![message("YHOO\n+2\n10")]),
        (b"data: a\rdata: b\r\ndata: c\n\n", vec![message("a\nb\nc")]),
        (b"data: a:b: c\n\n", vec![message("a:b: c")]),
        (b"\xef\xbb\xbfdata: a\n\n", vec![message("a")]),
        (b"\xef\xbb\xbf: hi\n\n\xef\xbb\xbfdata: a\n\ndata: b\n\n", vec![message("b")]),
        (b"\xef\xbbdata: a\n\ndata: b\n\n", vec![message("b")]),
        (b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\ndata: b\n\n", vec![message("b")]),
        (b": test\n\ndata: a\n:\ndata: b\n\n\n\n\r\r", vec![message("a\nb")]),
        ("data: ü世\n\n".as_bytes(), vec![message("ü世")]),
        (
            b"event: add\ndata: 7\n\ndata: 8\n\n",
            vec![event("add", Some("7"), "", None), message("8")],
        ),
        (
            b"event: add\nevent: b\n\nevent: c\nevent\ndata: 1\n\n",
            vec![event("b", None, "", None), message("1")],
        ),
        (
            b"id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n",
            vec![
                event("message", Some("a"), "1", None),
                event("message", Some("b"), "1", None),
                message("c"),
            ],
        ),
        (b"event: \xff\nid: a\xc3\n\n", vec![event("\u{fffd}", None, "a\u{fffd}", None)]),
    ];
    for (text, expected) in table {
        assert_eq!(decoded(text), expected, "{}", String::from_utf8_lossy(text));
    }
}

/// Proves H-HTTP-236
#[test]
fn an_event_without_a_final_blank_line_is_discarded() {
    for text in ["data: a", "data: a\n", "data: a\r\n", "id: 1\ndata: a\n", ": a\n", "\n", ""] {
        assert_eq!(decoded(text.as_bytes()), [], "{text:?}");
        assert_eq!(fed(1000, &[text.as_bytes()]).1.last_event_id(), "");
    }
    assert_eq!(decoded(b"data: a\n\ndata: b\n"), [message("a")]);
}

/// Proves H-HTTP-237, H-HTTP-99
#[test]
fn fields_that_mean_nothing_are_ignored() {
    let table = [
        "id: a\0b\n\n",
        "retry: 1s\n\n",
        "retry: -1\n\n",
        "retry: +1\n\n",
        "retry: 1.5\n\n",
        "retry:\n\n",
        "retry:  1\n\n",
        "Data: a\n\n",
        " data: a\n\n",
        "data : a\n\n",
        "dat: a\nx\nidx: 1\n\n",
        ": id: 1\n:data: a\n\n",
    ];
    for text in table {
        assert_eq!(decoded(text.as_bytes()), [], "{text:?}");
        let before = format!("id: 1\ndata: a\n\n{text}data: b\n\n");
        let expected =
            [event("message", Some("a"), "1", None), event("message", Some("b"), "1", None)];
        assert_eq!(decoded(before.as_bytes()), expected, "{text:?}");
    }
    assert_eq!(decoded(b"retry: 0500\n\n"), [event("message", None, "", Some(500))]);
    assert_eq!(decoded(b"retry: 1\nretry: x\nretry:2\n\n"), [event("message", None, "", Some(2))]);
    let longest = event("message", None, "", Some(u64::MAX));
    assert_eq!(decoded(b"retry: 99999999999999999999\n\n"), [longest]);
    let names =
        [("message", true), ("", true), ("Message", false), ("endpoint", false), ("x", false)];
    for (name, is_message) in names {
        let text = format!("event: {name}\ndata: a\n\n");
        let mut decoder = SseDecoder::new(100);
        let event = decoder.next(&mut text.as_bytes()).unwrap().unwrap();
        assert_eq!(event.message(), is_message.then_some(&b"a"[..]), "{name}");
    }
}

/// Proves H-HTTP-190, H-HTTP-238
#[test]
fn events_without_data_bring_ids_and_no_message() {
    let mut decoder = SseDecoder::new(100);
    let table = [
        ("id: 1\ndata: \n\n", "1", None, None),
        ("data: \n\n", "1", None, None),
        ("id: 2\nretry: 500\n\n", "2", None, Some(Duration::from_millis(500))),
        ("data: {}\n\n", "2", Some(&b"{}"[..]), None),
        ("id\ndata: {}\n\n", "", Some(&b"{}"[..]), None),
    ];
    for (text, id, message, retry) in table {
        let mut chunk = text.as_bytes();
        let event = decoder.next(&mut chunk).unwrap().unwrap();
        assert_eq!((event.last_event_id, event.message(), event.retry), (id, message, retry));
        assert_eq!(decoder.last_event_id(), id);
        assert!(decoder.next(&mut chunk).is_none());
    }
}

/// Proves H-HTTP-241
#[test]
fn an_event_that_is_too_long_costs_only_itself() {
    let long = Err(SseError::TooLong);
    let table: [(&[u8], Vec<Seen>); 11] = [
        (b"data: 1234\n\n", vec![message("1234")]),
        (b"data: 12345\n\n", vec![long.clone()]),
        (b"data:1\ndata\n\n", vec![message("1\n")]),
        (b"data:12\ndata\n\n", vec![long.clone()]),
        (b"data: 12345\ndata: 123456789\nid: 9\n\ndata: 1\n\n", vec![long.clone(), message("1")]),
        (
            b"id: 1\n\nid: 2\ndata: 12345\n\ndata:\n\n",
            vec![
                event("message", None, "1", None),
                long.clone(),
                event("message", Some(""), "1", None),
            ],
        ),
        (b"data: 12345\n: c\n\ndata: 123456\n\n", vec![long.clone(), long.clone()]),
        (b"event: 12345\r\n\r\ndata: 1\r\n\r\n", vec![long.clone(), message("1")]),
        (b"x: 1234567890\n\ndata: 1\n\n", vec![long.clone(), message("1")]),
        (b"data: 12345\n:\n", vec![long]),
        (b": 12345678901\n: 12345678901\ndata: 1\n: 12345678901\n\n", vec![message("1")]),
    ];
    for (text, expected) in table {
        assert_eq!(decoded_to(10, text), expected, "{}", String::from_utf8_lossy(text));
    }
}

#[test]
fn an_event_is_delivered_before_a_possible_line_feed() {
    let mut decoder = SseDecoder::new(100);
    assert!(decoder.next(&mut &b"data: 1\r\n"[..]).is_none());
    let mut chunk = &b"\r\ndata: 2"[..];
    assert_eq!(decoder.next(&mut chunk).unwrap().unwrap().data, Some(&b"1"[..]));
    // The line feed of the blank line is left in the chunk, and is not a line of its own.
    assert_eq!(chunk, b"\ndata: 2");
    assert!(decoder.next(&mut chunk).is_none());
    assert_eq!(decoder.next(&mut &b"\r\r"[..]).unwrap().unwrap().data, Some(&b"2"[..]));
    assert!(decoder.next(&mut &b"\n"[..]).is_none());
}

#[test]
fn the_sse_decoder_buffer_is_bounded_and_released() {
    let mut decoder = SseDecoder::new(1 << 10);
    let mut comment = vec![b'x'; 1 << 20];
    comment[0] = b':';
    assert!(decoder.next(&mut &*comment).is_none());
    assert!(decoder.next(&mut &comment[1..]).is_none());
    assert_eq!(decoder.next(&mut &b"\ndata: 1\n\n"[..]).unwrap().unwrap().data, Some(&b"1"[..]));
    assert_eq!(decoder.next(&mut &comment[1..]), Some(Err(SseError::TooLong)));
    assert!(decoder.next(&mut &comment[1..]).is_none());
    assert_eq!(format!("{decoder:?}"), "SseDecoder { waiting: 1, skipping: true, .. }");
    assert!(decoder.next(&mut &b"\n\n"[..]).is_none());
    decoder.release();
    // Only the state of the byte order mark, which can occur once, differs from that of a new decoder.
    let mut fresh = SseDecoder::new(1 << 10);
    assert!(fresh.next(&mut &b"\n"[..]).is_none());
    assert_eq!(decoder, fresh);
}

#[test]
fn a_started_event_is_not_released() {
    let mut decoder = SseDecoder::new(100);
    for part in ["da", "ta: a", "\n", "data: ", "b\n"] {
        assert!(decoder.next(&mut part.as_bytes()).is_none());
        decoder.release();
    }
    assert!(decoder.next(&mut &b"id: 1"[..]).is_none());
    assert_eq!(format!("{decoder:?}"), "SseDecoder { waiting: 19, skipping: false, .. }");
    let event = decoder.next(&mut &b"\n\n"[..]).unwrap().unwrap();
    assert_eq!((event.data, event.last_event_id), (Some(&b"a\nb"[..]), "1"));
    let [line, data, ..] = decoder.capacities();
    assert!(0 < line && 0 < data);
    decoder.release();
    assert_eq!(decoder.capacities().get(..2), Some(&[0, 0][..]));
    assert_eq!(decoder.last_event_id(), "1");
}

#[test]
fn a_warm_decoder_asks_for_no_memory() {
    let text = b"event: message\nid: 1234\ndata: {\"a\":\ndata: 1}\n\n";
    let mut decoder = SseDecoder::new(1000);
    let mut pass = |length: usize| {
        let mut events = 0;
        for mut chunk in text.chunks(length) {
            while decoder.next(&mut chunk).is_some() {
                events += 1;
            }
        }
        assert_eq!(events, 1);
        decoder.capacities()
    };
    let warm = (pass(1), pass(1)).1;
    for length in 1..text.len() + 1 {
        assert_eq!(pass(length), warm);
    }
}

#[test]
fn debug_output_of_sse_events_hides_their_contents() {
    let mut decoder = SseDecoder::new(100);
    let mut chunk = &b"event: e\nid: secret\ndata: secret\n\n"[..];
    let shown = format!("{:?}", decoder.next(&mut chunk).unwrap().unwrap());
    let expected = "SseEvent { event_type: \"e\", data_bytes: Some(6), last_event_id_bytes: 6, \
                    retry: None }";
    assert_eq!(shown, expected);
}

fn written(event: Option<&str>, id: Option<&str>, retry: Option<u64>, data: &str) -> String {
    let mut out = b"before".to_vec();
    let id: Option<&dyn core::fmt::Display> = id.as_ref().map(|id| id as _);
    write_event(&mut out, event, id, retry.map(Duration::from_millis), data.as_bytes());
    String::from_utf8(out).unwrap().strip_prefix("before").unwrap().to_owned()
}

/// Proves H-HTTP-243
#[test]
fn events_are_written_as_lines_with_a_blank_one() {
    assert_eq!(written(None, None, None, r#"{"a":1}"#), "data: {\"a\":1}\n\n");
    assert_eq!(written(Some("message"), None, None, "{}"), "event: message\ndata: {}\n\n");
    assert_eq!(
        written(Some("e"), Some("s/1"), Some(500), "{}"),
        "event: e\nid: s/1\nretry: 500\ndata: {}\n\n"
    );
    assert_eq!(written(None, Some(""), None, ""), "id: \ndata: \n\n");
    assert_eq!(
        written(None, None, None, "a\nb\r\nc\rd\n"),
        "data: a\ndata: b\ndata: c\ndata: d\ndata: \n\n"
    );
    assert_eq!(
        written(Some("a\nb\r"), Some("\n1\0\r2"), None, "x"),
        "event: ab\nid: 12\ndata: x\n\n"
    );
}

#[test]
fn comments_are_written_as_lines_with_a_blank_one() {
    for (text, expected) in [("", ": \n\n"), ("ping", ": ping\n\n"), ("a\r\nb", ": a\n: b\n\n")] {
        let mut out = Vec::new();
        write_comment(&mut out, text);
        assert_eq!(out, expected.as_bytes());
        assert_eq!(decoded(&out), []);
    }
}

#[test]
fn a_written_sse_event_is_decoded_unchanged() {
    for data in ["", "{}", "a\nb", "\n", " a", ":", "\n\n a\n", "ü"] {
        for (kind, id, retry) in [(None, None, None), (Some("x: y"), Some(" : 1"), Some(7))] {
            let text = written(kind, id, retry, data);
            let expected =
                event(kind.unwrap_or("message"), Some(data), id.unwrap_or_default(), retry);
            assert_eq!(decoded(text.as_bytes()), [expected], "{text:?}");
        }
    }
}
