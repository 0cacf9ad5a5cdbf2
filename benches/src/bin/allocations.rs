//! Counts the allocations of every case and contender. Prints one line for each, separated by tabs: the case, the
//! contender, and the allocations of one round.

use mcp_sansio_benches::allocations::{Counting, count};
use mcp_sansio_benches::{Case, Contender, rounds};

#[global_allocator]
static ALLOCATOR: Counting = Counting::new();

fn main() {
    for &case in Case::ALL {
        for &contender in Contender::ALL {
            let Some(mut work) = rounds(case, contender) else { continue };
            let ((), counted) = count(|| work(case.rounds()));
            let each = counted as f64 / case.rounds() as f64;
            // The buffers of the official SDK grow occasionally.
            let each = (each * 1_000.0).round() / 1_000.0;
            println!("{case}\t{contender}\t{each}");
        }
    }
}
