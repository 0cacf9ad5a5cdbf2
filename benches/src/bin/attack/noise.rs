//! Pseudorandom bytes, the same in each run.

/// Returns this many pseudorandom bytes, including newlines and invalid UTF-8.
pub(crate) fn noise(bytes: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut noise = Vec::with_capacity(bytes + 8);
    while noise.len() < bytes {
        // Xorshift.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        noise.extend_from_slice(&state.to_le_bytes());
    }
    noise.truncate(bytes);
    noise
}
