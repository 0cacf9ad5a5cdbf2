use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::*;
use crate::handle::{CallId, ConnectionNumber, Place};
use crate::json::{EncodeError, JsonErrorKind};
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

/// Feeds bytes in chunks and gives what comes out.
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

/// Feeds bytes whole, one by one, and in two chunks at every place.
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
}

/// Proves L-STDIO-07: the limit is exact, counts one line at a time, and costs only that line.
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

    let mut text = b"{\"a\":1}\n".to_vec();
    text.extend(core::iter::repeat_n(b'z', 3072));
    text.extend(b"\n{\"b\":2}\n");
    let chunks: Vec<&[u8]> = text.chunks(7).collect();
    assert_eq!(frames(&chunks), [frame("{\"a\":1}"), Seen::TooLong(3072), frame("{\"b\":2}")]);
}

#[test]
fn what_stands_behind_the_last_newline_comes_out_at_the_end() {
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

/// What is wrong inside an element is the fault of that element.
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
    assert_eq!(of(&[b'x'; 33]), [Seen::TooLong(33)]);
    assert_eq!(of(b"[1"), [Seen::Broken(JsonErrorKind::Ended)]);
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
        // Reading on meanwhile moves nothing.
        _ = inbox.feed(b"{");
        inbox.release();
        assert_eq!(inbox.next().expect("one").bytes(), expected);
    }
    inbox.finish();
    assert!(inbox.has_next() && !inbox.is_finished());
    assert_eq!(inbox.next().expect("the rest").bytes(), b"{{{");
    assert!(inbox.is_finished());
}

#[test]
fn nothing_is_taken_after_the_end() {
    let mut inbox = Inbox::new(&limits());
    inbox.finish();
    _ = inbox.feed(b"{}\n");
    assert!(inbox.next().is_none());
    assert!(inbox.is_finished());
}

fn call(index: u32) -> CallId {
    CallId(Place { connection: ConnectionNumber::default(), index, generation: 0 })
}

fn append(outbox: &mut Outbox, text: &str, tag: Option<CallId>) -> Serial {
    outbox
        .append(Room::Limit, tag.map_or(Tag::Nothing, Tag::Call), |writer| {
            writer.push(text.as_bytes())
        })
        .expect("there is room")
}

fn unsent(outbox: &Outbox) -> &str {
    core::str::from_utf8(outbox.unsent()).expect("text")
}

#[test]
fn an_append_is_all_or_nothing() {
    let mut outbox = Outbox::new(Framing::Lines, &limits());
    append(&mut outbox, "one", None);
    let failed = outbox.append(Room::Limit, Tag::Nothing, |writer| {
        writer.push(b"half a mess")?;
        Err(EncodeError::Payload)
    });
    assert_eq!(failed, Err(EncodeError::Payload));
    let panicked = std::panic::catch_unwind(core::panic::AssertUnwindSafe(|| {
        outbox.append(Room::Limit, Tag::Nothing, |writer| {
            writer.push(b"half a mess")?;
            panic!("in the middle");
        })
    }));
    assert!(panicked.is_err());
    append(&mut outbox, "two", None);
    assert_eq!(unsent(&outbox), "one\ntwo\n");
}

#[test]
fn the_limit_is_exact_and_the_reserve_is_for_the_machine() {
    let mut limits = limits();
    (limits.outbox_bytes, limits.reserve_bytes, limits.congestion_bytes) = (10, 4, 5);
    let mut outbox = Outbox::new(Framing::Lines, &limits);
    let write = |outbox: &mut Outbox, room, text: &str| {
        outbox.append(room, Tag::Nothing, |writer| writer.push(text.as_bytes())).map(|_| ())
    };
    assert_eq!(write(&mut outbox, Room::Limit, "123"), Ok(()));
    assert!(!outbox.is_congested());
    assert_eq!(write(&mut outbox, Room::Limit, "123456"), Err(EncodeError::Full));
    assert_eq!(write(&mut outbox, Room::Limit, "12345"), Ok(()));
    assert!(outbox.is_congested());
    assert_eq!(write(&mut outbox, Room::Limit, ""), Err(EncodeError::Full));
    assert_eq!(write(&mut outbox, Room::Reserve, "123"), Ok(()));
    assert_eq!(write(&mut outbox, Room::Reserve, ""), Err(EncodeError::Full));
    assert_eq!(unsent(&outbox), "123\n12345\n123\n");
    outbox.sent(4);
    assert_eq!(write(&mut outbox, Room::Reserve, "123"), Ok(()));
}

/// A driver can move the limit: what is in it stays, and the reserve of the machine moves along.
#[test]
fn the_limit_can_be_moved() {
    let mut limits = limits();
    (limits.outbox_bytes, limits.reserve_bytes) = (4, 4);
    let mut outbox = Outbox::new(Framing::Lines, &limits);
    let write = |outbox: &mut Outbox, room, text: &str| {
        outbox.append(room, Tag::Nothing, |writer| writer.push(text.as_bytes())).map(|_| ())
    };
    outbox.set_limit(usize::MAX);
    assert_eq!(write(&mut outbox, Room::Limit, "1234567"), Ok(()));
    outbox.set_limit(8);
    assert_eq!(write(&mut outbox, Room::Limit, ""), Err(EncodeError::Full));
    assert_eq!(write(&mut outbox, Room::Reserve, "123"), Ok(()));
    assert_eq!(write(&mut outbox, Room::Reserve, ""), Err(EncodeError::Full));
    outbox.set_limit(0);
    assert_eq!(write(&mut outbox, Room::Reserve, ""), Err(EncodeError::Full));
    assert_eq!(unsent(&outbox), "1234567\n123\n");
    outbox.sent(12);
    assert_eq!(write(&mut outbox, Room::Reserve, "123"), Ok(()));
}

/// Compares an outbox with a list of messages, over every small history.
#[test]
fn an_outbox_is_a_queue_from_which_unsent_calls_can_be_taken() {
    let mut random = 1_u64;
    let mut next = |below: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) % below
    };
    for _ in 0..300 {
        let mut limits = Limits::default();
        limits.outbox_bytes = 1_000_000;
        let mut outbox = Outbox::new(Framing::Lines, &limits);
        // (serial, index of the call, text with newline, bytes sent)
        let mut model: Vec<(Serial, u32, String, usize)> = Vec::new();
        for index in 0..60_u32 {
            match next(4) {
                0 | 1 => {
                    let text = alloc::format!("{index}{}", "-".repeat(next(200) as usize));
                    let serial = append(&mut outbox, &text, Some(call(index)));
                    model.push((serial, index, text + "\n", 0));
                }
                2 => {
                    let mut count = (next(250) as usize).min(outbox.len());
                    outbox.sent(count);
                    while 0 < count {
                        let (_, _, text, sent) = &mut model[0];
                        let part = count.min(text.len() - *sent);
                        *sent += part;
                        count -= part;
                        if *sent == text.len() {
                            model.remove(0);
                        }
                    }
                }
                _ if model.is_empty() => {}
                _ => {
                    let at = next(model.len() as u64) as usize;
                    let (serial, index, _, sent) = &model[at];
                    assert!(!outbox.withdraw(*serial, call(*index + 1)), "of another call");
                    assert_eq!(outbox.withdraw(*serial, call(*index)), *sent == 0);
                    if *sent == 0 {
                        model.remove(at);
                    }
                }
            }
            let expected: String = model.iter().map(|(_, _, text, sent)| &text[*sent..]).collect();
            assert_eq!(unsent(&outbox), expected);
            assert_eq!(outbox.is_empty(), model.is_empty());
        }
    }
}

#[test]
fn messages_are_taken_one_by_one() {
    let mut outbox = Outbox::new(Framing::Lines, &Limits::default());
    append(&mut outbox, "one", None);
    append(&mut outbox, "two", None);
    append(&mut outbox, "three", None);
    outbox.sent(2);
    assert_eq!(outbox.messages().count(), 0, "the first one is half sent");
    outbox.sent(2);
    assert_eq!(outbox.messages().next(), Some(b"two".as_slice()));
    assert_eq!(unsent(&outbox), "three\n");
    assert_eq!(outbox.messages().collect::<Vec<_>>(), vec![b"three"]);
    assert!(outbox.is_empty());
    assert_eq!(outbox.len(), 0);

    let mut outbox = Outbox::new(Framing::Messages, &Limits::default());
    append(&mut outbox, "one", None);
    assert_eq!(outbox.messages().collect::<Vec<_>>(), vec![b"one"]);
}

#[test]
fn debug_shows_lengths_only() {
    let frame = Frame::from(b"secret");
    assert_eq!(alloc::format!("{frame:?}"), "Frame { bytes: 6, origin: Message }");
    let mut outbox = Outbox::new(Framing::Lines, &Limits::default());
    append(&mut outbox, "secret", None);
    assert_eq!(alloc::format!("{outbox:?}"), "Outbox { messages: 1, bytes: 7, .. }");
    let mut inbox = Inbox::new(&Limits::default());
    _ = inbox.feed(b"secret");
    assert!(!alloc::format!("{inbox:?}").contains("secret"));
}
