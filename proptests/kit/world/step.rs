//! The steps of a world.

use mcp_sansio::testing::Choices;

use super::hostile;

/// A direction or a side: `true` is towards the server, or the client's side.
pub type Way = bool;

/// A step of an application, the wire, a hostile peer or the clock.
///
/// `which` selects one of the current candidates. So a step is meaningful at any position of a schedule, and does
/// nothing without candidates.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, clippy::exhaustive_enums, reason = "the names of the fields say it")]
pub enum Step {
    /// The client opens the connection.
    Connect,
    /// The client calls a method.
    Call { method: &'static str, size: u16, options: u8 },
    /// The client lists tools page by page.
    List,
    /// The client subscribes to changes.
    Subscribe(u8),
    /// The client cancels a call.
    CancelByClient { which: u16 },
    /// The client cancels a call, and the task that the call has become.
    CancelTask { which: u16 },
    /// The client responds to a request for input.
    Give { which: u16, answer: u8 },
    /// The client pauses while its user is asked, or resumes.
    Pause(bool),
    /// The server calls the client.
    CallByServer { method: &'static str },
    /// The server cancels a call.
    CancelByServer { which: u16 },
    /// The server responds to a request.
    Answer { which: u16, answer: u8 },
    /// The server requires input for a request.
    Require { which: u16, what: u8 },
    /// The server grants a subscription.
    Grant { which: u16, filter: u8 },
    /// The server reports progress of a request.
    Report { which: u16, progress: u8 },
    /// The server sends a notification, related to a request or not.
    Tell { what: u8, about: Option<u16> },
    /// The server responds to a request with a task.
    BeginTask { which: u16, ttl: Option<u16> },
    /// A task advances or ends.
    Work { which: u16, what: u8 },
    /// At most `bytes` bytes are written.
    Write { way: Way, bytes: u16, delay: u8 },
    /// At most `bytes` bytes are read, or one message on a message transport.
    Read { way: Way, bytes: u16 },
    /// Everything is written and read.
    Flow,
    /// A message is lost, on transports that can lose whole messages.
    Lose { way: Way, which: u16 },
    /// A message is duplicated.
    Repeat { way: Way, which: u16 },
    /// A message overtakes others.
    Hurry { way: Way, which: u16 },
    /// Noise or a forged message arrives.
    Forge { way: Way, text: String },
    /// Both sides handle their due timeouts.
    Settle,
    /// Time passes.
    Wait { milliseconds: u32 },
    /// Time passes until the next timeout.
    WaitUntilDue,
    /// A side ends in some way.
    End { way: Way, how: u8 },
    /// The transport breaks.
    Break,
    /// A new connection replaces one that has ended.
    Reconnect,
    /// A side releases unused memory.
    Release { way: Way },
    /// A side sends a batch.
    Batch { way: Way, what: u8 },
    /// Both sides are replaced by copies.
    Copy,
    /// The session of the server moves into another process.
    Restart,
}

impl Step {
    /// Whether messages may be lost, forged, repeated or reordered by the step.
    pub(super) const fn is_fault(&self) -> bool {
        matches!(
            self,
            Self::Lose { .. }
                | Self::Repeat { .. }
                | Self::Hurry { .. }
                | Self::Forge { .. }
                | Self::End { .. }
                | Self::Break
        )
    }

    /// Returns a random step, weighted by frequency.
    pub fn choose(choices: &mut Choices) -> Self {
        const METHODS: [&str; 7] =
            ["tools/call", "tools/call", "tools/call", "prompts/get", "tools/list", "x/y", "ping"];
        let which = |choices: &mut Choices| choices.below(1 << 16) as u16;
        let byte = |choices: &mut Choices| choices.below(256) as u8;
        let way = |choices: &mut Choices| !choices.one_in(2);
        let amount = |choices: &mut Choices| {
            let most = if choices.one_in(2) { 20 } else { 2000 };
            1 + choices.below(most) as u16
        };
        // Ordered so that a fuzzer without remaining bytes chooses `Flow`.
        match choices.below(105) {
            0..12 => Self::Flow,
            12..20 => Self::Settle,
            20..29 => Self::Call {
                method: choices.pick(&METHODS).unwrap_or("ping"),
                size: if choices.one_in(5) { choices.below(900) } else { choices.below(50) } as u16,
                options: byte(choices),
            },
            29..31 => Self::Connect,
            31 => Self::List,
            32..34 => Self::Subscribe(byte(choices)),
            34..36 => Self::CancelByClient { which: which(choices) },
            36 => Self::CancelTask { which: which(choices) },
            37..41 => Self::Give { which: which(choices), answer: byte(choices) },
            41 => Self::Pause(choices.one_in(2)),
            42 => Self::CallByServer {
                method: choices.pick(&["roots/list", "ping", "x/y"]).unwrap_or("ping"),
            },
            43 => Self::CancelByServer { which: which(choices) },
            44..49 => Self::Answer { which: which(choices), answer: byte(choices) },
            49..53 => Self::Require { which: which(choices), what: byte(choices) },
            53 => Self::Grant { which: which(choices), filter: byte(choices) },
            54 | 55 => Self::Report { which: which(choices), progress: choices.below(5) as u8 },
            56..59 => Self::Tell {
                what: choices.below(6) as u8,
                about: choices.one_in(3).then(|| which(choices)),
            },
            59..62 => Self::BeginTask {
                which: which(choices),
                ttl: choices.one_in(3).then(|| choices.below(5000) as u16),
            },
            62..65 => Self::Work { which: which(choices), what: byte(choices) },
            65..74 => Self::Write {
                way: way(choices),
                bytes: amount(choices),
                delay: if choices.one_in(4) { byte(choices) } else { 0 },
            },
            74..84 => Self::Read { way: way(choices), bytes: amount(choices) },
            84 => Self::Lose { way: way(choices), which: which(choices) },
            85 => Self::Repeat { way: way(choices), which: which(choices) },
            86 => Self::Hurry { way: way(choices), which: which(choices) },
            87 | 88 => Self::Forge { way: true, text: hostile::to_server(choices) },
            89..91 => Self::Forge { way: false, text: hostile::to_client(choices) },
            91..94 => Self::Wait {
                milliseconds: choices.pick(&[1, 60, 700, 2_000, 11_000, 61_000]).unwrap_or(1),
            },
            94..96 => Self::WaitUntilDue,
            96 => Self::End { way: way(choices), how: choices.below(6) as u8 },
            97 if choices.one_in(3) => Self::Break,
            97 | 98 => Self::Reconnect,
            99 => Self::Release { way: way(choices) },
            100 => Self::Restart,
            101 => Self::Batch { way: way(choices), what: byte(choices) },
            _ => Self::Copy,
        }
    }
}
