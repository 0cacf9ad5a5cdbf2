//! The smaller of the small worlds. `cargo run --release -p mcp-sansio-proptests --bin explore` explores all of them.

use mcp_sansio_proptests::exploration::scenarios;

/// Promises 1 to 4, for all events in any order.
#[test]
fn nothing_goes_wrong_in_any_order() {
    let mut explored = 0;
    for scenario in scenarios().iter().filter(|scenario| scenario.is_quick) {
        match scenario.explore() {
            Ok(size) => explored += size.states,
            Err(counterexample) => panic!("{scenario:?}:\n{counterexample}"),
        }
    }
    assert!(20_000 < explored, "{explored} states are fewer than there are");
}
