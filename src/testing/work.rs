//! Checks that work is linear in the input.

use alloc::format;

use super::promise::{Broken, Promise};
use crate::work::steps;

/// What one byte of a message may cost: it is scanned, and looked at again by the check of its method, by the view
/// that the application gets, and by what is kept.
const STEPS_PER_BYTE: u64 = 24;

/// What a message may cost beside its bytes: what is looked up in tables, at most
/// sixteen steps each time, with ids to compare.
const STEPS_PER_MESSAGE: u64 = 8_192;

/// Counts the steps that the machines of this thread take, to check that these are linear in what they are given.
/// Feature `work`.
///
/// A step is a byte that is scanned or moved, a look at an entry of a table, or at a byte of an id that is compared.
/// It is counted where a loop is as long as a peer has it, so the count is the same on every machine, and nearly
/// proportional to time.
///
/// ```
/// use std::sync::Arc;
///
/// use mcp_sansio::testing::WorkMeter;
/// use mcp_sansio::{Framing, Instant, Limits, Outbox, Server, ServerConfig};
///
/// let mut server = Server::new(Arc::new(ServerConfig::new("doc", "1.0")));
/// let mut out = Outbox::new(Framing::Lines, &Limits::default());
/// let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
/// let meter = WorkMeter::start();
/// assert!(server.receive(ping, Instant::EPOCH, &mut out).is_none());
/// assert!(0 < meter.steps());
/// meter.check(ping.len()).expect("it is little work");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct WorkMeter {
    begun: u64,
}

impl WorkMeter {
    /// Counts from here on.
    pub fn start() -> Self {
        Self { begun: steps() }
    }

    /// How many steps have been taken since.
    pub fn steps(self) -> u64 {
        steps().wrapping_sub(self.begun)
    }

    /// Checks that it was no more than one message of so many bytes may cost, or an action of the application about
    /// one.
    ///
    /// # Errors
    ///
    /// It was more.
    pub fn check(self, bytes: usize) -> Result<(), Broken> {
        let (steps, most) = (self.steps(), STEPS_PER_MESSAGE + STEPS_PER_BYTE * bytes as u64);
        if most < steps {
            let what = format!("{steps} steps for a message of {bytes} bytes, and not {most}");
            return Err(Broken::new(Promise::Total, what));
        }
        Ok(())
    }
}
