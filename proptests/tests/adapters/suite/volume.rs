//! Much at once.

use mcp_sansio_driver::ConnectionOptions;

use crate::suite::kit::{World, client_config, server_config, text_of};
use crate::suite::runtimes::Adapter;

/// How many megabytes go through, both ways together, unless `MEGABYTES` says otherwise.
const MEGABYTES: usize = 2;

/// Pain 4: both sides write large messages through pipes of 64 bytes, and ask each other meanwhile.
pub(crate) fn large_messages_through_narrow_pipes<A: Adapter>() {
    let megabytes = std::env::var("MEGABYTES").ok().and_then(|text| text.parse().ok());
    let bytes = megabytes.unwrap_or(MEGABYTES) << 20;
    let options = ConnectionOptions::new();
    let world = World::<A>::with(64, server_config(), client_config(), options);
    // An echo goes there and back; what the tool asks for goes there, back, there and back.
    let size = (bytes / 12).min(8 << 20);
    let mut left = bytes;
    while size <= left {
        let text = "x".repeat(size);
        let asked = (4 * size <= left).then(|| world.start("ask", &text));
        let echoed = world.start("echo", &text);
        left = left.saturating_sub(if asked.is_some() { 6 * size } else { 2 * size });
        assert_eq!(text_of(&echoed.wait().unwrap()), text);
        if let Some(asked) = asked {
            assert!(text_of(&asked.wait().unwrap()).contains(&text));
        }
    }
    world.end();
}
