use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::*;
use crate::handle::{CallId, ConnectionNumber, IncomingId, SlotKey};
use crate::limits::Limits;
use crate::schema::{EncodeError, Writer};

fn call(index: u32) -> CallId {
    CallId(SlotKey { connection: ConnectionNumber::default(), index, generation: 0 })
}

fn append(outbox: &mut Outbox, text: &str, tag: Option<CallId>) -> Serial {
    outbox
        .append(Room::Limit, tag.map_or(Tag::Nothing, Tag::Call), |writer| {
            writer.push(text.as_bytes())
        })
        .expect("there is room")
}

fn id(index: u32) -> IncomingId {
    IncomingId(call(index).0)
}

/// Appends a message that concerns a request of the peer.
fn about(outbox: &mut Outbox, text: &str, index: u32) {
    let write = |writer: &mut Writer<'_>| writer.push(text.as_bytes());
    outbox.append(Room::Limit, Tag::Exchange(id(index)), write).expect("there is room");
}

fn unsent(outbox: &Outbox) -> &str {
    core::str::from_utf8(outbox.unsent()).expect("text")
}

#[test]
fn an_append_is_all_or_nothing() {
    let mut outbox = Outbox::new(Framing::Lines, &Limits::default());
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
    let mut limits = Limits::default();
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

/// A driver can change the limit: queued messages stay, and the reserve of the machine moves with the limit.
#[test]
fn the_limit_can_be_moved() {
    let mut limits = Limits::default();
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

/// Compares an outbox with a list of messages, over every short history.
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
        // Each entry: (serial, index of the call, text with newline, bytes sent)
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

/// Sent bytes are dropped once there are many, and no other bytes are.
#[test]
fn an_outbox_drops_only_sent_bytes_to_make_room() {
    let mut outbox = Outbox::new(Framing::Lines, &Limits::default());
    append(&mut outbox, &"x".repeat(5_000), None);
    append(&mut outbox, "waits", Some(call(1)));
    let serial = append(&mut outbox, "goes", Some(call(2)));
    outbox.sent(5_003);
    append(&mut outbox, "comes", None);
    assert_eq!(unsent(&outbox), "its\ngoes\ncomes\n");
    assert!(outbox.withdraw(serial, call(2)));
    assert_eq!(unsent(&outbox), "its\ncomes\n");
    outbox.sent(4);
    assert_eq!(unsent(&outbox), "comes\n");
}

/// The sent part of a long message may already be out of the buffer when other messages are withdrawn.
#[test]
fn calls_behind_a_message_that_is_leaving_can_be_taken_back() {
    let mut outbox = Outbox::new(Framing::Lines, &Limits::default());
    append(&mut outbox, &"x".repeat(9_999), None);
    outbox.sent(9_000);
    // The new message takes the space of the sent bytes.
    append(&mut outbox, "two", Some(call(2)));
    append(&mut outbox, "three", Some(call(3)));
    append(&mut outbox, "four", Some(call(4)));
    outbox.withdraw_calls(|other| other != call(3));
    assert_eq!(unsent(&outbox), "x".repeat(999) + "\nthree\n");
    outbox.sent(1_000);
    assert_eq!(outbox.messages().collect::<Vec<_>>(), vec![b"three"]);
}

/// A peer can trigger withdrawals without limit, so only the latest messages are searched. Among these, all matching
/// messages are withdrawn, and a partly sent message stays.
#[test]
fn messages_about_a_request_are_taken_back_if_they_are_among_the_latest() {
    let mut outbox = Outbox::new(Framing::Lines, &Limits::default());
    about(&mut outbox, "leaving", 1);
    about(&mut outbox, "old", 1);
    (0..60).for_each(|_| _ = append(&mut outbox, "-", None));
    about(&mut outbox, "one", 1);
    about(&mut outbox, "other", 2);
    about(&mut outbox, "two", 1);
    append(&mut outbox, "end", None);
    outbox.sent(3);
    let mut whole = outbox.clone();
    outbox.withdraw_exchange(id(1));
    let rest = "-\n".repeat(60) + "other\nend\n";
    assert_eq!(unsent(&outbox), String::from("ving\nold\n") + &rest);
    // With one message less in front, the oldest is among the latest.
    outbox.withdraw_exchange(id(1));
    assert_eq!(unsent(&outbox), String::from("ving\n") + &rest);
    // Long messages are not moved.
    append(&mut whole, &"x".repeat(100_000), None);
    let before = whole.clone();
    whole.withdraw_exchange(id(1));
    assert_eq!(whole, before);
    outbox.sent(usize::MAX);
    about(&mut outbox, "all", 1);
    outbox.withdraw_exchange(id(1));
    assert!(outbox.is_empty());
}

/// Only the bytes that would move count, whatever waits in front of them.
#[test]
fn messages_about_a_request_are_searched_up_to_64_kib() {
    for (length, is_withdrawn) in [(10, true), (64 << 10, true), ((64 << 10) + 1, false)] {
        let mut outbox = Outbox::new(Framing::Messages, &Limits::default());
        append(&mut outbox, &"x".repeat(100_000), None);
        about(&mut outbox, &"y".repeat(length), 1);
        outbox.withdraw_exchange(id(1));
        assert_eq!(outbox.len(), 100_000 + if is_withdrawn { 0 } else { length });
    }
}

#[test]
fn a_call_that_is_leaving_is_not_withdrawn() {
    let mut outbox = Outbox::new(Framing::Lines, &Limits::default());
    append(&mut outbox, "first", Some(call(1)));
    append(&mut outbox, "second", Some(call(2)));
    outbox.sent(2);
    outbox.withdraw_calls(|_| true);
    assert_eq!(unsent(&outbox), "rst\n");
}

#[test]
fn a_cleared_queue_has_nothing_to_send() {
    let mut queue = Queue::new();
    let append = |queue: &mut Queue<()>, text: &str| {
        queue.append(99, (), b"", |writer| writer.push(text.as_bytes())).expect("there is room");
    };
    append(&mut queue, "one");
    append(&mut queue, "two");
    queue.sent(1);
    queue.clear();
    assert!(queue.is_empty() && !queue.is_begun());
    assert_eq!(queue.len(), 0);
    append(&mut queue, "three");
    assert_eq!(queue.drain().map(|(text, ())| text).collect::<Vec<_>>(), [b"three"]);
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

/// A withdrawn message leaves its bytes in front of the others.
#[cfg(feature = "http")]
#[test]
fn the_only_message_is_taken_without_withdrawn_bytes() {
    let mut outbox = Outbox::new(Framing::Messages, &Limits::default());
    let serial = append(&mut outbox, "one", Some(call(1)));
    append(&mut outbox, "longer", None);
    assert!(outbox.withdraw(serial, call(1)));
    assert_eq!(outbox.pop_only(), None, "its bytes do not begin the buffer");
    assert_eq!(outbox.messages().next(), Some(b"longer".as_slice()));
    append(&mut outbox, "two", None);
    assert_eq!(outbox.pop_only(), Some(b"two".to_vec()));
    assert!(outbox.is_empty());
}

/// Of the bytes in front of a withdrawn message and those behind it, the fewer ones move. Only bytes that begin the
/// buffer can be taken with it.
#[cfg(feature = "http")]
#[test]
fn a_withdrawal_moves_the_shorter_side() {
    for (behind, first_stays) in [(5, true), (10, true), (25, false)] {
        let mut outbox = Outbox::new(Framing::Messages, &Limits::default());
        append(&mut outbox, "in front: ", None);
        let middle = append(&mut outbox, &"x".repeat(10), Some(call(1)));
        let last = append(&mut outbox, &"y".repeat(behind), Some(call(2)));
        assert!(outbox.withdraw(middle, call(1)));
        assert_eq!(unsent(&outbox), String::from("in front: ") + &"y".repeat(behind));
        assert!(outbox.withdraw(last, call(2)));
        assert_eq!(unsent(&outbox), "in front: ");
        assert_eq!(outbox.pop_only().is_some(), first_stays, "{behind} bytes behind");
    }
}

/// Sent bytes are dropped by the next append if they are more than 4 KiB and more than the unsent ones.
#[cfg(feature = "http")]
#[test]
fn sent_bytes_are_dropped_once_they_are_many() {
    let table = [
        (100, 4, false),
        (4_096, 4, false),
        (4_097, 4, true),
        (5_000, 4_999, true),
        (5_000, 5_000, false),
    ];
    for (sent, left, are_dropped) in table {
        let mut outbox = Outbox::new(Framing::Messages, &Limits::default());
        append(&mut outbox, &"x".repeat(sent), None);
        append(&mut outbox, &"y".repeat(left), None);
        outbox.sent(sent);
        let serial = append(&mut outbox, "z", Some(call(1)));
        assert!(outbox.withdraw(serial, call(1)));
        assert_eq!(unsent(&outbox), "y".repeat(left));
        assert_eq!(outbox.pop_only().is_some(), are_dropped, "{left} left of {sent}");
    }
}

/// The bytes of a withdrawn message become sent ones if the bytes in front of it move, however many were sent before.
#[cfg(feature = "http")]
#[test]
fn sent_bytes_are_not_moved_by_a_withdrawal() {
    let mut outbox = Outbox::new(Framing::Messages, &Limits::default());
    append(&mut outbox, &"x".repeat(3_000), None);
    append(&mut outbox, "in front", None);
    let middle = append(&mut outbox, &"y".repeat(2_000), Some(call(1)));
    let last = append(&mut outbox, &"z".repeat(1_500), Some(call(2)));
    outbox.sent(3_000);
    assert!(outbox.withdraw(middle, call(1)));
    // 5,000 bytes are dropped.
    let more = append(&mut outbox, "more", Some(call(3)));
    assert!(outbox.withdraw(more, call(3)) && outbox.withdraw(last, call(2)));
    assert_eq!(outbox.pop_only(), Some(b"in front".to_vec()));
}

/// A partly sent message was written before the repeated event, so the repetition is kept.
#[test]
fn a_message_is_repeated_only_while_nothing_of_the_first_one_has_left() {
    let mut outbox = Outbox::new(Framing::Lines, &Limits::default());
    append(&mut outbox, "same", None);
    assert!(!outbox.drop_repeated(), "there is only one");
    append(&mut outbox, "same", None);
    assert!(outbox.drop_repeated());
    assert_eq!(unsent(&outbox), "same\n");
    outbox.sent(1);
    append(&mut outbox, "same", None);
    assert!(!outbox.drop_repeated(), "the first one has begun to leave");
    append(&mut outbox, "same", None);
    assert!(outbox.drop_repeated(), "it is not the first one that is repeated");
    append(&mut outbox, "some", None);
    assert!(!outbox.drop_repeated());
    assert_eq!(unsent(&outbox), "ame\nsame\nsome\n");
}

/// Sent bytes do not count, but message boundaries do.
#[test]
fn outboxes_are_equal_if_the_same_is_left_to_do() {
    use core::hash::{Hash, Hasher};
    use std::hash::DefaultHasher;

    let with = |texts: &[&str], sent: usize| {
        let mut outbox = Outbox::new(Framing::Messages, &Limits::default());
        for text in texts {
            append(&mut outbox, text, None);
        }
        outbox.sent(sent);
        let mut hasher = DefaultHasher::new();
        outbox.hash(&mut hasher);
        (outbox, hasher.finish())
    };
    let first = with(&["x", "ab", "c"], 1);
    assert_eq!(first, with(&["y", "ab", "c"], 1));
    let others: [(&[&str], usize); 5] = [
        (&["x", "xy", "c"], 1),
        (&["x", "a", "bc"], 1),
        (&["xab", "c"], 3),
        (&["xy", "b", "c"], 1),
        (&["x", "ab", "c"], 0),
    ];
    for (texts, sent) in others {
        let other = with(texts, sent);
        assert!(first.0 != other.0 && first.1 != other.1, "{texts:?}");
    }
}

#[test]
fn debug_of_an_outbox_shows_lengths_only() {
    let mut outbox = Outbox::new(Framing::Lines, &Limits::default());
    append(&mut outbox, "secret", None);
    assert_eq!(alloc::format!("{outbox:?}"), "Outbox { messages: 1, bytes: 7, .. }");
    append(&mut outbox, "another", None);
    assert_eq!(alloc::format!("{outbox:?}"), "Outbox { messages: 2, bytes: 15, .. }");
    assert_eq!(alloc::format!("{:?}", outbox.messages()), "Messages { left: 2, .. }");
    outbox.sent(1);
    assert_eq!(alloc::format!("{:?}", outbox.messages()), "Messages { left: 0, .. }");
    let mut queue = Queue::new();
    queue.append(9, (), b"", |writer| writer.push(b"secret")).expect("there is room");
    assert_eq!(alloc::format!("{queue:?}"), "Queue { messages: 1, bytes: 6, .. }");
}
