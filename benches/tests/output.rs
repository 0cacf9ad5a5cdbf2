//! Everybody sends the same.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use mcp_sansio_benches::{Case, Contender, output};

/// Cases in which nothing is sent.
const SILENT: [Case; 4] =
    [Case::ScanPing, Case::ScanCall, Case::ScanLargeCall, Case::ClientProgress];

fn sent(case: Case, contender: Contender) -> String {
    String::from_utf8(output(case, contender).unwrap()).unwrap()
}

#[test]
fn the_floor_sends_the_same_bytes() {
    for &case in Case::ALL {
        let ours = sent(case, Contender::Core);
        assert_eq!(ours.is_empty(), SILENT.contains(&case), "{case}");
        for contender in [Contender::SerdeJson, Contender::Sonic] {
            assert!(sent(case, contender) == ours, "{contender} sends something else in {case}");
        }
    }
}
