use alloc::string::String;
use alloc::vec::Vec;

use super::*;
use crate::json::JsonErrorKind;
use crate::limits::Limits;

#[derive(Debug, PartialEq)]
enum Seen {
    Frame(String),
    Last(String),
    Element(u32, u32, String),
    Empty,
    Long,
    Broken(JsonErrorKind),
    TooLong(u64),
}

fn seen(frame: Frame<'_>) -> Seen {
    let text = || String::from_utf8_lossy(frame.bytes()).into_owned();
    match frame.origin() {
        Origin::Message => Seen::Frame(text()),
        Origin::LastLine => Seen::Last(text()),
        Origin::Element(element) => Seen::Element(element.index, element.count, text()),
        Origin::EmptyBatch => Seen::Empty,
        Origin::LongBatch => Seen::Long,
        Origin::BrokenBatch(error) => Seen::Broken(error.kind()),
        Origin::TooLong { length } => Seen::TooLong(length),
    }
}

fn limits() -> Limits {
    let mut limits = Limits::default();
    limits.frame_bytes = 32;
    limits.chunk_bytes = 8;
    limits.batch_elements = 3;
    limits
}

/// Feeds bytes in chunks and returns the frames.
fn frames(chunks: &[&[u8]]) -> Vec<Seen> {
    let limits = limits();
    let mut inbox = Inbox::new(&limits);
    let mut all = Vec::new();
    let mut drain = |inbox: &mut Inbox| {
        while let Some(frame) = inbox.next() {
            all.push(seen(frame));
        }
    };
    for chunk in chunks {
        let mut rest = *chunk;
        while !rest.is_empty() {
            let taken = inbox.feed(rest);
            assert!(0 < taken, "there is room once all frames are taken");
            rest = &rest[taken..];
            drain(&mut inbox);
        }
    }
    inbox.finish();
    drain(&mut inbox);
    assert!(inbox.is_finished());
    assert!(inbox.buffer_length() <= limits.frame_bytes + 4 + limits.chunk_bytes);
    all
}

/// Feeds bytes whole, one by one, and in two chunks with every split.
fn in_every_chunking(bytes: &[u8]) -> Vec<Seen> {
    let whole = frames(&[bytes]);
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(frames(&single), whole, "byte by byte");
    for split in 0..bytes.len() {
        let (left, right) = bytes.split_at(split);
        assert_eq!(frames(&[left, right]), whole, "split at {split}");
    }
    whole
}

fn frame(text: &str) -> Seen {
    Seen::Frame(text.into())
}

/// Proves L-STDIO-04 and L-STDIO-05.
#[test]
fn lines_become_frames_in_every_chunking() {
    let bytes =
        "{\"é\":\"😀\"}\n\r\n  \n \t{\"b\":2} \r\n{\"c\":\"\u{2028}\u{85}\"}\r\r\n".as_bytes();
    let expected =
        [frame("{\"é\":\"😀\"}"), frame("{\"b\":2}"), frame("{\"c\":\"\u{2028}\u{85}\"}")];
    assert_eq!(in_every_chunking(bytes), expected);
}

#[test]
fn a_byte_order_mark_counts_at_the_start_only() {
    let bytes = b"\xef\xbb\xbf{}\n\xef\xbb\xbf{}\n";
    assert_eq!(in_every_chunking(bytes), [frame("{}"), frame("\u{feff}{}")]);
    assert_eq!(in_every_chunking(b"\n\xef\xbb\xbf{}\n"), [frame("\u{feff}{}")]);
    assert_eq!(in_every_chunking(b"\xef\xbb\xbf\n{}\n"), [frame("{}")]);
    let exact = "x".repeat(32);
    let marked = alloc::format!("\u{feff}{exact}\r\n");
    assert_eq!(in_every_chunking(marked.as_bytes()), [frame(&exact)], "it takes no room");
    let behind_long = alloc::format!("{}\n\u{feff}{{}}\n", "y".repeat(100));
    let expected = [Seen::TooLong(100), frame("\u{feff}{}")];
    assert_eq!(in_every_chunking(behind_long.as_bytes()), expected);
}

/// Proves L-STDIO-07: the limit is exact, applies to each line, and affects only that line.
#[test]
fn a_line_that_is_too_long_is_skipped_to_its_end() {
    let exact = "x".repeat(32);
    let over = "y".repeat(33);
    let text = alloc::format!("{exact}\n{over}\n{exact}\r\n{{}}\n{over}\r\n{exact}\n");
    let expected = [
        frame(&exact),
        Seen::TooLong(33),
        frame(&exact),
        frame("{}"),
        Seen::TooLong(34),
        frame(&exact),
    ];
    assert_eq!(in_every_chunking(text.as_bytes()), expected, "all in front of the newline counts");
    let spaces = " ".repeat(31);
    let text = alloc::format!("{{}}{spaces}\n{spaces}{{}}\n");
    let expected = [Seen::TooLong(33), Seen::TooLong(33)];
    assert_eq!(in_every_chunking(text.as_bytes()), expected, "also white space");

    let mut text = b"{\"a\":1}\n".to_vec();
    text.extend(core::iter::repeat_n(b'z', 3072));
    text.extend(b"\n{\"b\":2}\n");
    let chunks: Vec<&[u8]> = text.chunks(7).collect();
    assert_eq!(frames(&chunks), [frame("{\"a\":1}"), Seen::TooLong(3072), frame("{\"b\":2}")]);
}

#[test]
fn an_inbox_is_finished_once_its_last_long_line_is_reported() {
    let mut inbox = Inbox::new(&limits());
    for byte in [b'y'; 100] {
        assert_eq!(inbox.feed(&[byte]), 1);
        assert_eq!(inbox.next().map(seen), None);
    }
    inbox.finish();
    assert!(inbox.is_empty() && !inbox.is_finished());
    assert_eq!(inbox.next().map(seen), Some(Seen::TooLong(100)));
    assert!(inbox.is_finished());
}

#[test]
fn text_after_the_last_newline_is_emitted_at_end_of_input() {
    assert_eq!(in_every_chunking(b"{}\n{\"a\":"), [frame("{}"), Seen::Last("{\"a\":".into())]);
    assert_eq!(in_every_chunking(b"{}\n  \t"), [frame("{}")]);
    let over = "y".repeat(100);
    assert_eq!(in_every_chunking(over.as_bytes()), [Seen::TooLong(100)]);
    assert_eq!(in_every_chunking(b""), []);
    assert_eq!(in_every_chunking(b"[{}"), [Seen::Last("[{}".into())]);
    assert_eq!(in_every_chunking(b"[{}]"), [Seen::Element(0, 1, "{}".into())]);
}

#[test]
fn a_batch_is_checked_whole_and_then_taken_apart() {
    let element = |index, count, text: &str| Seen::Element(index, count, text.into());
    let bytes =
        b" [ {\"a\":[1]} , 2,\"x\"] \n{}\n[]\n[ ]\n[1,2,3,4]\n[1,{]\n[1]x\n[\"\xff\"]\n[[]]\n";
    let expected = [
        element(0, 3, "{\"a\":[1]}"),
        element(1, 3, "2"),
        element(2, 3, "\"x\""),
        frame("{}"),
        Seen::Empty,
        Seen::Empty,
        Seen::Long,
        Seen::Broken(JsonErrorKind::Unexpected),
        Seen::Broken(JsonErrorKind::Trailing),
        element(0, 1, "\"\u{fffd}\""),
        element(0, 1, "[]"),
    ];
    assert_eq!(in_every_chunking(bytes), expected);
}

/// A defect inside an element affects only that element.
#[test]
fn an_element_that_is_wrong_inside_costs_its_batch_nothing() {
    let mut limits = limits();
    limits.frame_bytes = 1000;
    limits.batch_elements = 4;
    let deep = "[".repeat(200) + &"]".repeat(200);
    let batch = alloc::format!("[1,{deep},\"\t\",2]");
    let of: Vec<_> = Frames::of(batch.as_bytes(), &limits).map(seen).collect();
    let elements = ["1", &deep, "\"\t\"", "2"].into_iter().enumerate();
    let expected: Vec<_> =
        elements.map(|(index, text)| Seen::Element(index as u32, 4, text.into())).collect();
    assert_eq!(of, expected);
}

#[test]
fn a_body_is_one_message_or_a_batch() {
    let of = |body: &[u8]| Frames::of(body, &limits()).map(seen).collect::<Vec<_>>();
    assert_eq!(of(b" {\"a\":\n1} \n"), [frame("{\"a\":\n1}")]);
    assert_eq!(of(b""), []);
    assert_eq!(of(b"[]"), [Seen::Empty]);
    assert_eq!(of(b"[1,\n2]"), [Seen::Element(0, 2, "1".into()), Seen::Element(1, 2, "2".into())]);
    assert_eq!(of(&[b'x'; 32]), [frame(&"x".repeat(32))]);
    assert_eq!(of(&[b'x'; 33]), [Seen::TooLong(33)]);
    assert_eq!(of(b"[1"), [Seen::Broken(JsonErrorKind::Ended)]);
}

#[test]
fn only_the_first_element_begins_a_batch() {
    let begins = |body: &[u8]| {
        Frames::of(body, &limits()).map(|frame| frame.begins_batch()).collect::<Vec<_>>()
    };
    assert_eq!(begins(b"[1,2,3]"), [true, false, false]);
    for body in [&b"{}"[..], b"[]", b"[1", b"[1,2,3,4]"] {
        assert_eq!(begins(body), [false]);
    }
}

#[test]
fn an_inbox_that_is_not_drained_offers_less_space_and_loses_nothing() {
    let mut inbox = Inbox::new(&limits());
    let mut fed = 0;
    loop {
        let taken = inbox.feed(b"{}\n{}\n{}");
        if taken == 0 {
            break;
        }
        fed += taken;
    }
    assert!(fed <= 32 + 4 + 8);
    let mut count = 0;
    while inbox.next().is_some() {
        count += 1;
    }
    assert_eq!(count, fed.div_ceil(8) * 2 - usize::from(fed % 8 < 6 && 0 < fed % 8), "{fed}");
}

#[test]
fn a_frame_can_be_looked_for_before_it_is_taken() {
    let mut inbox = Inbox::new(&limits());
    assert!(!inbox.has_next());
    _ = inbox.feed(b"[1,2]\n3\n");
    for expected in [b"1", b"2", b"3"] {
        assert!(inbox.has_next() && inbox.has_next());
        // Further reads move nothing.
        _ = inbox.feed(b"{");
        inbox.release();
        assert_eq!(inbox.next().expect("one").bytes(), expected);
    }
    inbox.finish();
    assert!(inbox.has_next() && !inbox.is_finished());
    assert_eq!(inbox.next().expect("the rest").bytes(), b"{{{");
    assert!(inbox.is_finished());
}

/// A peeked frame lies in front of the waiting bytes, where space would be reclaimed first.
#[test]
fn a_frame_that_was_looked_for_stays_where_it_is() {
    let mut inbox = Inbox::new(&limits());
    _ = inbox.feed(b"1\n2\n");
    assert!(inbox.has_next());
    assert_eq!(inbox.feed(b"3\n4\n5\n6\n"), 8);
    for expected in [b"1", b"2", b"3", b"4", b"5", b"6"] {
        assert_eq!(inbox.next().expect("one").bytes(), expected);
    }
    _ = inbox.feed(b"7\n");
    assert!(inbox.has_next() && inbox.is_empty());
    inbox.release();
    assert_eq!(inbox.next().expect("one").bytes(), b"7");
}

#[test]
fn an_inbox_says_how_many_bytes_wait() {
    let mut inbox = Inbox::new(&limits());
    assert_eq!(inbox.len(), 0);
    _ = inbox.feed(b"{}\n{\"a\"");
    assert_eq!(inbox.len(), 7);
    assert_eq!(inbox.next().expect("one").bytes(), b"{}");
    assert_eq!(inbox.len(), 4);
}

#[test]
fn an_idle_inbox_gives_its_buffer_back() {
    let mut inbox = Inbox::new(&limits());
    _ = inbox.feed(b"{\"a\"");
    inbox.release();
    _ = inbox.feed(b":1}\n");
    assert_eq!(inbox.next().expect("one").bytes(), b"{\"a\":1}", "what waits is kept");
    let bytes = inbox.buffer_length();
    assert_ne!(bytes, 0);
    inbox.release_above(bytes);
    assert_eq!(inbox.buffer_length(), bytes);
    inbox.release_above(bytes - 1);
    assert_eq!(inbox.buffer_length(), 0);
}

/// Space is made by moving the waiting bytes; the buffer grows only if that is not enough.
#[test]
fn a_buffer_with_room_in_front_does_not_grow() {
    let mut inbox = Inbox::new(&limits());
    _ = inbox.feed(b"12345678");
    _ = inbox.feed(b"1234567\n");
    assert_eq!(inbox.next().expect("one").bytes().len(), 15);
    assert_eq!(inbox.buffer_length(), 16);
    _ = inbox.feed(b"ab\ncdefg");
    assert_eq!(inbox.next().expect("one").bytes(), b"ab");
    _ = inbox.feed(b"hij");
    assert_eq!(inbox.space().len(), 8, "just enough for a chunk");
    assert_eq!(inbox.buffer_length(), 16);
    _ = inbox.feed(b"klmno\nx");
    assert_eq!(inbox.next().expect("one").bytes(), b"cdefghijklmno");
    assert_eq!(inbox.space().len(), 15, "more than enough");
    assert_eq!(inbox.buffer_length(), 16);
}

/// A line may be slightly longer than its frame.
#[cfg(target_pointer_width = "64")]
#[test]
fn offsets_within_a_line_have_32_bits() {
    assert_eq!(message::LONGEST_FRAME + 4, u32::MAX as usize);
}

#[test]
fn nothing_is_taken_after_the_end() {
    let mut inbox = Inbox::new(&limits());
    inbox.finish();
    _ = inbox.feed(b"{}\n");
    assert!(inbox.next().is_none());
    assert!(inbox.is_finished());
}

#[test]
fn debug_shows_lengths_only() {
    let frame = Frame::from(b"secret");
    assert_eq!(alloc::format!("{frame:?}"), "Frame { bytes: 6, origin: Message }");
    let mut inbox = Inbox::new(&Limits::default());
    _ = inbox.feed(b"secret");
    let debug = alloc::format!("{inbox:?}");
    assert_eq!(debug, "Inbox { waiting: 6, dropped: None, finished: false, .. }");
    let frames = Frames::of(b"secret", &Limits::default());
    assert_eq!(alloc::format!("{frames:?}"), "Frames { bytes: 6, .. }");
}
