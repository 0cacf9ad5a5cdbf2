//! [`WorkMeter`], a check that work is linear in the input.

use alloc::format;

use super::promise::{Broken, Promise};
use crate::work::steps;

/// The maximum cost of one byte of a message: it is scanned, and read again by the check of its method, by the view
/// for the application, and by the copy that is kept.
const STEPS_PER_BYTE: u64 = 24;

/// The maximum cost of a message beside its bytes: table look-ups, each with at most sixteen steps and id
/// comparisons.
const STEPS_PER_MESSAGE: u64 = 8_192;

/// A counter of the steps that the machines of this thread take, which checks that they are linear in the input.
/// Feature `work`.
///
/// A step is a scanned or moved byte, a visited table entry, or a compared byte of an id. Steps are counted in loops
/// whose length the peer controls. The count is therefore the same on every platform, and nearly proportional to
/// time.
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
    /// Starts to count.
    pub fn start() -> Self {
        Self { begun: steps() }
    }

    /// Returns the number of steps since the start.
    pub fn steps(self) -> u64 {
        steps().wrapping_sub(self.begun)
    }

    /// Checks that the number of steps is within the limit for one message of this many bytes, or for one action of
    /// the application about such a message.
    ///
    /// # Errors
    ///
    /// The number of steps exceeds the limit.
    pub fn check(self, bytes: usize) -> Result<(), Broken> {
        let (steps, most) = (self.steps(), STEPS_PER_MESSAGE + STEPS_PER_BYTE * bytes as u64);
        if most < steps {
            let what = format!("{steps} steps for a message of {bytes} bytes, and not {most}");
            return Err(Broken::new(Promise::Total, what));
        }
        Ok(())
    }
}
