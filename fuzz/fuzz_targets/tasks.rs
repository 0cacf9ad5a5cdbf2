//! Any work on tasks, and any questions about them: they are what a small model says.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mcp_sansio::testing::Choices;
use mcp_sansio_proptests::oracles::tasks::check_tasks;

fuzz_target!(|bytes: &[u8]| check_tasks(&mut Choices::from_bytes(bytes), 200));
