//! Arbitrary operations on tasks, and arbitrary queries: the tasks match a small model.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mcp_sansio::testing::Choices;
use mcp_sansio_proptests::oracles::tasks::check_tasks;

fuzz_target!(|bytes: &[u8]| check_tasks(&mut Choices::from_bytes(bytes), 200));
