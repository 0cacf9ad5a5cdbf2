//! `Counts`: the numbers of open requests, calls and bytes of a connection.

/// The amount of state that one side of a connection holds, for operators and for tests of leaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Counts {
    /// The requests of the peer that have not been answered.
    pub inbound: usize,
    /// The requests of this side that have not ended, including those of the machine itself, such as pings and polls.
    pub outbound: usize,
    /// The bytes that are kept for the peer, limited by
    /// [`Limits::connection_bytes`](crate::Limits::connection_bytes).
    pub kept_bytes: usize,
    /// The bytes of calls and notifications that wait for the handshake.
    pub held_bytes: usize,
    /// The violations so far, including those without an event.
    pub violations: u64,
}
