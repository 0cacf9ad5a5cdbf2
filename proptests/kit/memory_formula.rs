//! [`MemoryFormula`]: the formula in the documentation of `Limits`.

use mcp_sansio::Limits;

/// The terms of the formula, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct MemoryFormula<'l>(&'l Limits);

impl<'l> MemoryFormula<'l> {
    const CLAIM: usize = 800;

    /// Creates the formula for these limits.
    pub const fn new(limits: &'l Limits) -> Self {
        Self(limits)
    }

    /// Returns the bytes of an inbox.
    pub const fn inbox(self) -> usize {
        2 * self.0.frame_bytes + self.0.chunk_bytes
    }

    /// Returns the bytes of an outbox, if calls carry no identity.
    pub const fn outbox(self) -> usize {
        4 * (self.0.outbox_bytes + self.0.reserve_bytes + self.0.held_bytes)
    }

    /// Returns the bytes of requests in flight, beside those that are kept.
    pub const fn inbound(self) -> usize {
        2 * self.0.inbound_requests as usize * (self.0.id_bytes + self.0.token_bytes + 360)
    }

    /// Returns the bytes of calls, if they keep nothing.
    pub const fn outbound(self) -> usize {
        2 * (self.0.outbound_calls as usize * 420 + self.0.remembered_calls as usize * 16)
    }

    /// Returns the bytes of calls that have become tasks.
    pub const fn tasks(self) -> usize {
        let Limits { uri_bytes, kept_bytes, outbound_calls, .. } = self.0;
        2 * *outbound_calls as usize * (4 * *uri_bytes + *kept_bytes + 1_500)
    }

    /// Returns the bytes of messages that wait for the session.
    pub const fn held(self) -> usize {
        4 * self.0.held_bytes
    }

    /// Returns the bytes of open subscriptions.
    pub const fn listens(self) -> usize {
        2 * self.0.listens as usize * self.0.subscriptions as usize * 64
    }

    /// Returns the bytes of batches, in addition to the kept bytes.
    pub const fn batches(self) -> usize {
        let Limits { batches, batch_elements, id_bytes, connection_bytes, .. } = self.0;
        *connection_bytes + 2 * (*batches * *batch_elements) as usize * (*id_bytes + 120)
    }

    /// Returns the bytes of open elicitations.
    pub const fn elicitations(self) -> usize {
        self.0.elicitations as usize * (self.0.uri_bytes + 64)
    }

    /// Returns the bytes of a machine without its inbox and its outbox, without calls that become tasks, and without
    /// batches.
    pub const fn machine(self) -> usize {
        self.0.connection_bytes
            + self.inbound()
            + self.outbound()
            + self.held()
            + self.listens()
            + self.elicitations()
            + Self::CLAIM
    }

    /// Returns the sum, for a connection without calls that become tasks and without batches.
    pub const fn all(self) -> usize {
        self.inbox() + self.outbox() + self.machine()
    }
}
