//! What is not a message: told once, told briefly, and never a reason to stop.

use super::event::{PeerEvent, Violation};
use super::outlets::{Arrival, Outlets};
use super::{ConnectionConfig, Peer, RepliesWithoutId, Role};
use crate::dialect::features::Feature;
use crate::error::ViolationKind;
use crate::frame::Origin;
use crate::rpc::{Answer, Defective, Id, Shape};
use crate::time::Instant;

/// What is remembered of violations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Noise {
    total: u64,
    in_a_row: u32,
    /// Whether the last frame led to a violation.
    faulty: bool,
    /// Brackets that a JSON text which began on an earlier line has still open.
    open_brackets: u32,
    /// When the period of answers without an id began, and how many there were.
    replies: Option<(Instant, u32)>,
}

impl Noise {
    pub(super) const fn violations(&self) -> u64 {
        self.total
    }

    /// A frame comes. What went before is only known to have been good when it is over.
    pub(super) fn begin_frame(&mut self) {
        if !self.faulty {
            self.in_a_row = 0;
        }
        self.faulty = false;
    }

    /// The frame is a message, so it belongs to no text that stands on several lines.
    pub(super) fn is_message(&mut self) {
        self.open_brackets = 0;
    }

    /// The frame belongs to an offence that has been reported.
    pub(super) fn pass_over(&mut self) {
        self.faulty = true;
    }

    /// Notes that a JSON text which this line begins goes on in the next one, if it does.
    pub(super) fn begins_split_text(&mut self, line: &[u8]) -> bool {
        self.open_brackets = open_brackets(line, 0).unwrap_or_default();
        0 < self.open_brackets
    }

    /// Counts a violation. Says whether it may raise an event.
    fn count(&mut self, most_in_a_row: u32) -> bool {
        self.total += 1;
        self.faulty = true;
        self.in_a_row = self.in_a_row.saturating_add(1);
        self.in_a_row <= most_in_a_row
    }

    /// Whether an answer without an id may be given now. If so it counts.
    fn may_reply(&mut self, policy: RepliesWithoutId, now: Instant) -> bool {
        let (since, given) =
            self.replies.filter(|(since, _)| now - *since < policy.per).unwrap_or((now, 0));
        if policy.count <= given {
            return false;
        }
        self.replies = Some((since, given + 1));
        true
    }
}

impl Peer {
    /// Deals with a frame that is no well-formed message and ends no call.
    pub(super) fn defective<'a>(
        &mut self,
        config: &ConnectionConfig,
        defective: Defective<'a>,
        bytes: &'a [u8],
        origin: Origin,
        arrival: Arrival,
        out: &mut dyn Outlets,
    ) -> Option<PeerEvent<'a>> {
        let Defective { kind, id, meant, shape } = defective;
        let id = id.filter(|_| meant);
        let fragment = matches!(
            kind,
            ViolationKind::NotJson | ViolationKind::SplitOverLines | ViolationKind::NotAMessage
        );
        if 0 < self.noise.open_brackets && fragment && id.is_none() {
            // The next line of a text that has been reported already.
            self.noise.total += 1;
            self.noise.pass_over();
            self.noise.open_brackets =
                open_brackets(bytes, self.noise.open_brackets).unwrap_or_default();
            return None;
        }
        let kind = self.refine(kind, bytes, origin);
        if matches!(shape, Shape::Notification | Shape::Response) {
            return self.report(config, Violation::of(kind, id, bytes));
        }
        self.violation(config, kind, id, bytes, arrival, out)
    }

    /// Looks closer at text that is not JSON.
    fn refine(&mut self, kind: ViolationKind, bytes: &[u8], origin: Origin) -> ViolationKind {
        let is_json = match kind {
            ViolationKind::NotJson | ViolationKind::SplitOverLines => false,
            ViolationKind::NotAMessage => bytes.starts_with(b"{"),
            _ => true,
        };
        if origin == Origin::LastLine && !is_json {
            return ViolationKind::Truncated;
        }
        if !matches!(kind, ViolationKind::NotJson | ViolationKind::SplitOverLines) {
            return kind;
        }
        const HEADER: &[u8] = b"content-length:";
        if bytes.get(..HEADER.len()).is_some_and(|start| start.eq_ignore_ascii_case(HEADER)) {
            return ViolationKind::ContentLength;
        }
        if kind == ViolationKind::SplitOverLines && self.noise.begins_split_text(bytes) {
            return kind;
        }
        ViolationKind::NotJson
    }

    /// Reports a violation, and answers it where that is due.
    pub(crate) fn violation<'a>(
        &mut self,
        config: &ConnectionConfig,
        kind: ViolationKind,
        id: Option<Id<'a>>,
        bytes: &'a [u8],
        arrival: Arrival,
        out: &mut dyn Outlets,
    ) -> Option<PeerEvent<'a>> {
        let answered = match (kind.code(), &id) {
            (None, _) => false,
            (Some(code), Some(id)) => {
                self.send_error(arrival.lane, Answer::To(id), code, kind.text(), out)
            }
            (Some(code), None) => {
                self.may_reply_without_id(config, arrival.now)
                    && self.send_error(arrival.lane, self.no_id(), code, kind.text(), out)
            }
        };
        self.report(config, Violation { answered, ..Violation::of(kind, id, bytes) })
    }

    /// Raises the event of a violation, unless there have been too many in a row.
    pub(super) fn report<'a>(
        &mut self,
        config: &ConnectionConfig,
        violation: Violation<'a>,
    ) -> Option<PeerEvent<'a>> {
        self.noise
            .count(config.limits.violations_in_a_row)
            .then_some(PeerEvent::Violation(violation))
    }

    fn may_reply_without_id(&mut self, config: &ConnectionConfig, now: Instant) -> bool {
        match config.replies_without_id {
            Some(policy) if self.role == Role::Server => self.noise.may_reply(policy, now),
            _ => false,
        }
    }

    /// What stands for the id that could not be read.
    fn no_id(&self) -> Answer<'static> {
        match self.session {
            Some(session) if !Feature::AbsentErrorId.is_in(session.revision) => Answer::Null,
            _ => Answer::Absent,
        }
    }
}

/// How many brackets are open at the end of a line that began with `open` of them; `None` if more
/// are closed than were open.
fn open_brackets(line: &[u8], open: u32) -> Option<u32> {
    let mut open = open;
    let mut in_string = false;
    let mut bytes = line.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' if in_string => {
                bytes.next();
            }
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' | b'[' => open = open.saturating_add(1),
            b'}' | b']' => open = open.checked_sub(1)?,
            _ => {}
        }
    }
    Some(open)
}
