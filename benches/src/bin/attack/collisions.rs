//! Ids that collide in the table of requests in flight.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The number of low bits of the table index that have to be equal. The table has 2,048 cells for 1,024 requests.
const BITS: u32 = 14;

/// Returns this many ids with the same table index, or the largest set that is found in about two seconds.
///
/// The hash is that of `src/rpc/id.rs` (FNV-1a, folded to 32 bits) with the spreading of `src/rpc/index.rs`. If
/// that hash depends on a key, the ids do not collide.
pub(crate) fn colliding_ids(count: usize) -> Vec<String> {
    let began = Instant::now();
    let mut sets: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    // Only a few indexes, so that the search fits into memory and one set is complete soon.
    for number in 0_u64.. {
        let place = place(&format!("{number:x}"));
        if place < 4 {
            let set = sets.entry(place).or_default();
            set.push(number);
            if set.len() == count {
                break;
            }
        }
        if number % 4096 == 0 && Duration::from_secs(2) < began.elapsed() {
            break;
        }
    }
    let largest = sets.into_values().max_by_key(Vec::len).unwrap_or_default();
    largest.into_iter().map(|number| format!("{number:x}")).collect()
}

/// Returns the table index of an ASCII string.
fn place(id: &str) -> u32 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in std::iter::once(b'"').chain(id.bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    let folded = (hash ^ (hash >> 32)) as u32;
    let spread = u64::from(folded).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    spread as u32 & ((1 << BITS) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_collide() {
        let ids = colliding_ids(20);
        assert!(1 < ids.len());
        assert!(ids.iter().all(|id| place(id) == place(&ids[0])));
    }
}
