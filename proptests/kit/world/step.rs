//! What can happen.

use mcp_sansio::testing::Choices;

use super::hostile;

/// Which way, or which side: `true` is towards the server, or the client's side.
pub type Way = bool;

/// One thing that an application, the wire, a hostile peer or time does.
///
/// `which` picks one of what there is at that time, so a step means something wherever it stands in a
/// schedule, and nothing if there is nothing to pick.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, clippy::exhaustive_enums, reason = "the names of the fields say it")]
pub enum Step {
    /// The client opens the connection.
    Connect,
    /// The client calls a method.
    Call { method: &'static str, size: u16, options: u8 },
    /// It reads a list page by page.
    List,
    /// It subscribes to something.
    Subscribe(u8),
    /// It gives up a call.
    CancelByClient { which: u16 },
    /// It gives up a call, and the task that the call has become.
    CancelTask { which: u16 },
    /// It answers what a server needs.
    Give { which: u16, answer: u8 },
    /// Its user is being asked, or has answered.
    Pause(bool),
    /// The server calls the client.
    CallByServer { method: &'static str },
    /// It gives up a call.
    CancelByServer { which: u16 },
    /// It answers a request.
    Answer { which: u16, answer: u8 },
    /// It says what it needs first.
    Require { which: u16, what: u8 },
    /// It grants a subscription.
    Grant { which: u16, filter: u8 },
    /// It says how far a request is.
    Report { which: u16, progress: u8 },
    /// It tells something, because of a request or not.
    Tell { what: u8, about: Option<u16> },
    /// It answers a request with a task.
    BeginTask { which: u16, ttl: Option<u16> },
    /// A task goes on, or ends.
    Work { which: u16, what: u8 },
    /// Bytes are written: at most so many.
    Write { way: Way, bytes: u16, delay: u8 },
    /// Bytes are read: at most so many. On a transport of messages, one message.
    Read { way: Way, bytes: u16 },
    /// Everything is written and read.
    Flow,
    /// A message is lost, on transports that lose whole ones.
    Lose { way: Way, which: u16 },
    /// A message comes twice.
    Repeat { way: Way, which: u16 },
    /// A message overtakes others.
    Hurry { way: Way, which: u16 },
    /// Something else arrives: noise, or a message that is not of the peer.
    Forge { way: Way, text: String },
    /// Both do what is due.
    Settle,
    /// Time passes.
    Wait { milliseconds: u32 },
    /// Time passes until something is due.
    WaitUntilDue,
    /// A side ends in some way.
    End { way: Way, how: u8 },
    /// The transport breaks.
    Break,
    /// There is another connection, if this one has ended.
    Reconnect,
    /// A side gives back the memory that it does not need.
    Release { way: Way },
}

impl Step {
    /// Any step, frequent ones more often.
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
        // Ordered so that a fuzzer that has run out of bytes lets things flow.
        match choices.below(100) {
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
            53..55 => Self::Grant { which: which(choices), filter: byte(choices) },
            55 => Self::Report { which: which(choices), progress: choices.below(5) as u8 },
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
                milliseconds: choices.pick(&[1, 60, 700, 11_000, 61_000]).unwrap_or(1),
            },
            94..96 => Self::WaitUntilDue,
            96 => Self::End { way: way(choices), how: choices.below(6) as u8 },
            97 if choices.one_in(3) => Self::Break,
            97 | 98 => Self::Reconnect,
            _ => Self::Release { way: way(choices) },
        }
    }
}
