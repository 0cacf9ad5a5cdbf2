//! Arbitrary operations of both applications, of the wire and of a hostile peer, on a client and a server of any
//! eras: every promise holds at each step.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mcp_sansio::testing::Choices;
use mcp_sansio_proptests::world::{Trial, schedule};

fuzz_target!(|bytes: &[u8]| {
    let (setup, steps) = schedule(&mut Choices::from_bytes(bytes), 300);
    if let Err(failure) = Trial::run(&setup, &steps) {
        panic!("{failure}");
    }
});
