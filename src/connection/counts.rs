//! `Counts`: the numbers of open requests, calls and bytes of a connection.

/// How much one side of a connection holds, for operators and for tests that nothing leaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Counts {
    /// Requests of the peer that have not been answered.
    pub inbound: usize,
    /// Calls of ours that have not ended.
    pub outbound: usize,
    /// Bytes that are kept of the peer: what [`Limits::connection_bytes`](crate::Limits::connection_bytes)
    /// bounds.
    pub kept_bytes: usize,
    /// Bytes of calls and notifications that wait for the handshake.
    pub held_bytes: usize,
    /// Violations so far, also those that raised no event.
    pub violations: u64,
}
