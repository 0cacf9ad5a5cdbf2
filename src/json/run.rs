//! Finds the end of a run of string bytes that need no attention.
//!
//! Reading a string and writing one ask the same question: how far is it to the next quote,
//! backslash or control character? Long strings (files, images as base64) make it the hottest loop
//! of the crate, so it goes word by word at first and then by blocks that the compiler turns into
//! vector instructions.

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

/// The number of leading bytes that are neither `"`, nor `\`, nor below 0x20.
pub(super) fn plain_run(bytes: &[u8]) -> usize {
    let mut rest = bytes;
    for _ in 0..4 {
        let Some((word, tail)) = rest.split_first_chunk() else { break };
        let marks = marks(u64::from_le_bytes(*word));
        if marks != 0 {
            return bytes.len() - rest.len() + first_mark(marks);
        }
        rest = tail;
    }
    while let Some((block, tail)) = rest.split_first_chunk() {
        if block_is_marked(block) {
            break;
        }
        rest = tail;
    }
    while let Some((word, tail)) = rest.split_first_chunk() {
        let marks = marks(u64::from_le_bytes(*word));
        if marks != 0 {
            return bytes.len() - rest.len() + first_mark(marks);
        }
        rest = tail;
    }
    let last = rest.iter().position(|byte| is_marked(*byte)).unwrap_or(rest.len());
    bytes.len() - rest.len() + last
}

const fn is_marked(byte: u8) -> bool {
    byte == b'"' || byte == b'\\' || byte < 0x20
}

fn block_is_marked(block: &[u8; 32]) -> bool {
    block
        .iter()
        .fold(false, |found, byte| found | (*byte == b'"') | (*byte == b'\\') | (*byte < 0x20))
}

/// Sets the high bit of each marked byte. A borrow can set bits above a marked byte by mistake, but
/// never below the first one, and never where there is none.
const fn marks(word: u64) -> u64 {
    let quote = word ^ (ONES * b'"' as u64);
    let backslash = word ^ (ONES * b'\\' as u64);
    let found = (quote.wrapping_sub(ONES) & !quote)
        | (backslash.wrapping_sub(ONES) & !backslash)
        | (word.wrapping_sub(ONES * 0x20) & !word);
    found & HIGH_BITS
}

/// The index of the first marked byte of a little-endian word.
const fn first_mark(marks: u64) -> usize {
    marks.trailing_zeros() as usize / 8
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;

    #[test]
    fn every_byte_is_found_at_every_distance() {
        for byte in 0..=u8::MAX {
            for distance in 0..140 {
                // A space is the smallest of the bytes that do not count.
                for plain in [b'a', b' '] {
                    let mut bytes = vec![plain; 141];
                    bytes[distance] = byte;
                    let expected = if is_marked(byte) { distance } else { bytes.len() };
                    assert_eq!(plain_run(&bytes), expected, "byte {byte:#x} at {distance}");
                }
            }
        }
    }

    #[test]
    fn bytes_beyond_ascii_never_end_a_run() {
        let bytes: Vec<u8> = (0x80..=0xff).cycle().take(1000).collect();
        for start in 0..100 {
            assert_eq!(plain_run(&bytes[start..]), bytes.len() - start);
        }
    }
}
