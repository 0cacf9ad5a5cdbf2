//! Compares an inbox with a slow and simple line parser.

use mcp_sansio::testing::{Choices, WorkMeter};
use mcp_sansio::{Inbox, Limits};

/// Returns the bytes of each frame of an inbox; those of overlong frames are empty.
fn frames(bytes: &[u8], limits: &Limits, chunk: &mut dyn FnMut() -> usize) -> Vec<Vec<u8>> {
    let mut inbox = Inbox::new(limits);
    let mut frames = Vec::new();
    let mut rest = bytes;
    let meter = WorkMeter::start();
    let mut drain = |inbox: &mut Inbox| {
        loop {
            let is_finished = inbox.is_finished();
            let Some(frame) = inbox.next() else { break };
            assert!(!is_finished, "it goes on: {}", bytes.escape_ascii());
            frames.push(frame.bytes().to_vec());
        }
    };
    while !rest.is_empty() {
        let taken = inbox.feed(&rest[..rest.len().min(chunk())]);
        rest = &rest[taken..];
        drain(&mut inbox);
    }
    inbox.finish();
    drain(&mut inbox);
    assert!(inbox.is_finished(), "it never ends: {}", bytes.escape_ascii());
    assert_eq!(meter.check(bytes.len()), Ok(()), "{}", bytes.escape_ascii());
    frames
}

/// Returns the lines. Lines with an array are not supported, because an inbox splits them.
fn lines<'b>(bytes: &'b [u8], limits: &Limits) -> Vec<&'b [u8]> {
    let mut lines = Vec::new();
    let without_mark = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    for line in without_mark.split(|byte| *byte == b'\n') {
        let unended = line.strip_suffix(b"\r").unwrap_or(line);
        let is_space = |byte: &u8| b" \t\r\n".contains(byte);
        let begin = line.iter().position(|byte| !is_space(byte)).unwrap_or(line.len());
        let end = line.iter().rposition(|byte| !is_space(byte)).map_or(begin, |last| last + 1);
        if limits.frame_bytes < unended.len() {
            // An overlong line is reported without its bytes.
            lines.push(&line[..0]);
        } else if begin < end {
            lines.push(&line[begin..end]);
        }
    }
    lines
}

/// Checks that the chunking makes no difference, and that every line comes out once and whole.
pub fn check_frames(choices: &mut Choices, bytes: &[u8]) {
    let mut limits = Limits::default();
    limits.frame_bytes = 1 + choices.below(200) as usize;
    limits.chunk_bytes = 1 + choices.below(100) as usize;
    let whole = frames(bytes, &limits, &mut || usize::MAX);
    let bytewise = frames(bytes, &limits, &mut || 1);
    assert_eq!(whole, bytewise, "{}", bytes.escape_ascii());
    let some = frames(bytes, &limits, &mut || 1 + choices.below(50) as usize);
    assert_eq!(whole, some, "{}", bytes.escape_ascii());
    if !bytes.contains(&b'[') {
        assert_eq!(whole, lines(bytes, &limits), "{}", bytes.escape_ascii());
    }
}
