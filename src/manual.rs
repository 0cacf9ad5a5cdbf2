//! Chapters for those who want to know more than what each item does.

/// What it costs: instructions, allocations and memory, beside what nobody can avoid and beside the
/// official SDK.
#[doc = include_str!("manual/performance.md")]
#[doc = include_str!("manual/growth_in_flight.svg")]
#[doc = ""]
#[doc = include_str!("manual/growth.md")]
#[doc = include_str!("manual/growth_size.svg")]
#[doc = ""]
#[doc = include_str!("manual/footprint.md")]
pub mod performance {}
