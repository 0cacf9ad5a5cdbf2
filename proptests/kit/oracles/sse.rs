//! Compares two parsers of server-sent events: the decoder, fed in chunks, and the rules of [the
//! standard](https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation), applied to
//! the whole text.

use std::time::Duration;

use mcp_sansio::http::{SseDecoder, SseError};

/// An event: its type, its data, the last id, and the reconnection delay.
type Event = (String, Option<Vec<u8>>, String, Option<Duration>);

/// Compares both parsers on a text. `cuts` contains the chunk lengths, which repeat.
///
/// # Panics
///
/// Panics if the parsers differ.
pub fn check(text: &[u8], cuts: &[u8]) {
    let mut decoder = SseDecoder::new(usize::MAX);
    let (mut events, mut rest, mut cuts) = (Vec::new(), text, cuts.iter().cycle());
    while !rest.is_empty() {
        let length = usize::from(*cuts.next().unwrap_or(&255)).clamp(1, rest.len());
        let (mut chunk, tail) = rest.split_at(length);
        rest = tail;
        loop {
            match decoder.next(&mut chunk) {
                None => break,
                Some(Ok(event)) => events.push((
                    event.event_type.to_owned(),
                    event.data.map(<[u8]>::to_vec),
                    event.last_event_id.to_owned(),
                    event.retry,
                )),
                Some(Err(SseError::TooLong)) => panic!("nothing is too long"),
                Some(Err(error)) => panic!("{error}"),
            }
        }
        assert!(chunk.is_empty(), "everything is taken");
    }
    assert_eq!(events, model(text), "{:?}", String::from_utf8_lossy(text));
}

/// Returns all events of a text. The text after the last blank line is not an event.
fn model(text: &[u8]) -> Vec<Event> {
    let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
    let (mut events, mut id) = (Vec::new(), String::new());
    let (mut kind, mut data, mut retry, mut is_known) =
        (String::new(), None::<Vec<u8>>, None, false);
    for line in lines(text) {
        if line.is_empty() {
            if is_known {
                let kind = if kind.is_empty() { "message".into() } else { kind };
                events.push((kind, data, id.clone(), retry));
            }
            (kind, data, retry, is_known) = (String::new(), None, None, false);
            continue;
        }
        let at = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let (name, value) = line.split_at(at);
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        // Invalid UTF-8 is replaced with U+FFFD.
        let text = String::from_utf8_lossy(value);
        match name {
            b"data" => {
                match &mut data {
                    Some(data) => {
                        data.push(b'\n');
                        data.extend_from_slice(value);
                    }
                    None => data = Some(value.to_vec()),
                }
                is_known = true;
            }
            b"event" => {
                kind = text.into();
                is_known = true;
            }
            b"id" if !text.contains('\0') => {
                id = text.into();
                is_known = true;
            }
            b"retry" if !value.is_empty() && value.iter().all(u8::is_ascii_digit) => {
                retry = Some(Duration::from_millis(text.parse().unwrap_or(u64::MAX)));
                is_known = true;
            }
            _ => {}
        }
    }
    events
}

/// Returns the terminated lines, with any of the three line endings.
fn lines(mut text: &[u8]) -> Vec<&[u8]> {
    let mut lines = Vec::new();
    while let Some(end) = text.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
        lines.push(&text[..end]);
        let is_pair = text[end..].starts_with(b"\r\n");
        text = &text[end + if is_pair { 2 } else { 1 }..];
    }
    lines
}
