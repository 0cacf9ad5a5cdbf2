//! Ids that collide in the table of requests in flight.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How many low bits of the place in the table have to be the same. The table has 2,048 cells for 1,024 requests.
const BITS: u32 = 14;

/// So many ids with the same place in the table, or the largest set that is found in about a second.
///
/// The hash is that of `src/rpc/id.rs` (FNV-1a, folded to 32 bits) with the spreading of `src/rpc/index.rs`. Ids found
/// here are ordinary ids as soon as that hash depends on a key.
pub(crate) fn colliding_ids(count: usize) -> Vec<String> {
    let began = Instant::now();
    let mut sets: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    // A few places only, so that the search fits into memory and one of them is full soon.
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

/// Where a string of ASCII comes to lie in the table.
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
