//! Finds the end of a run of string bytes that need no attention.
//!
//! Reading a string and writing one ask the same question: how far is it to the next quote,
//! backslash or control character? It is the hottest question of the crate: for short keys it is
//! answered word by word, for long texts (files, images as base64) by blocks that the compiler turns
//! into vector instructions.

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

/// The number of leading bytes that are neither `"`, nor `\`, nor below 0x20.
#[inline(always)]
pub(super) fn plain_run(bytes: &[u8]) -> usize {
    // Keys and short texts end in one of the first two words.
    let Some((first, rest)) = bytes.split_first_chunk::<8>() else { return short_run(bytes) };
    if let Some(end) = first_marked(first) {
        return end;
    }
    let Some((second, behind)) = rest.split_first_chunk() else {
        return first.len() + short_run(rest);
    };
    match first_marked(second) {
        Some(end) => first.len() + end,
        None => first.len() + second.len() + long_run(behind),
    }
}

/// The same for text between quotes that has been scanned, so that there is nothing else to find
/// than quotes and backslashes.
#[inline(always)]
pub(super) fn scanned_run(bytes: &[u8]) -> usize {
    if let Some((word, rest)) = bytes.split_first_chunk() {
        let marks = marks(u64::from_le_bytes(*word));
        if marks != 0 {
            return first_mark(marks);
        }
        return word.len() + memchr::memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
    }
    short_run(bytes)
}

#[inline(never)]
fn long_run(bytes: &[u8]) -> usize {
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
    bytes.len() - rest.len() + short_run(rest)
}

/// For what is shorter than a word.
#[inline]
fn short_run(bytes: &[u8]) -> usize {
    match (bytes.first_chunk(), bytes.last_chunk()) {
        (Some(first), Some(last)) => {
            // The halves of a word, which overlap unless they fill it. Zeros behind the end are marked.
            let low = u64::from(u32::from_le_bytes(*first));
            let high = u64::from(u32::from_le_bytes(*last));
            let word = low | high << ((8 * (bytes.len() - first.len())) & 63);
            first_mark(marks(word)).min(bytes.len())
        }
        _ => bytes.iter().position(|byte| is_marked(*byte)).unwrap_or(bytes.len()),
    }
}

const fn is_marked(byte: u8) -> bool {
    byte == b'"' || byte == b'\\' || byte < 0x20
}

fn block_is_marked(block: &[u8; 128]) -> bool {
    block
        .iter()
        .fold(false, |found, byte| found | (*byte == b'"') | (*byte == b'\\') | (*byte < 0x20))
}

/// Sets the high bit of each marked byte. A borrow can set bits above a marked byte by mistake, but
/// never below the first one, and never where there is none.
#[inline(always)]
pub(super) const fn marks(word: u64) -> u64 {
    // With this bit turned over a quote comes right behind the control characters.
    let quote_or_control = (word ^ (ONES * 0x02)).wrapping_sub(ONES * 0x21);
    let backslash = (word ^ (ONES * b'\\' as u64)).wrapping_sub(ONES);
    let found = quote_or_control | backslash;
    // A byte beyond ASCII is never marked.
    found & !word & HIGH_BITS
}

/// Where the first byte of a word is that is marked.
#[inline(always)]
pub(super) fn first_marked(word: &[u8; 8]) -> Option<usize> {
    let marks = marks(u64::from_le_bytes(*word));
    if marks == 0 { None } else { Some(first_mark(marks)) }
}

/// The index of the first marked byte of a little-endian word.
#[inline(always)]
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
            for distance in 0..300 {
                // The last three are the nearest to bytes that count.
                for plain in [b'a', b' ', b'#', b']'] {
                    let mut bytes = vec![plain; 301];
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
