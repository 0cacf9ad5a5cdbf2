//! `Violations`: what the peer does that it may not do. Each is reported once and briefly, and is never a reason to stop.

use alloc::collections::VecDeque;

use super::common_event::CommonEvent;
use super::cx::Cx;
use super::event::Violation;
use crate::codes::ViolationKind;
use crate::config::RepliesWithoutId;
use crate::frame::Origin;
use crate::lazy_box::{Empty, LazyBox};
use crate::time::Instant;

/// What is remembered of violations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Violations {
    total: u64,
    in_a_row: u32,
    /// Whether the last frame led to a violation.
    faulty: bool,
    /// Brackets that a JSON text which began on an earlier line has still open.
    open_brackets: u32,
    rest: LazyBox<Rest>,
}

/// What is remembered of violations that few peers commit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Rest {
    /// Violations of frames that had an event of their own.
    noted: VecDeque<ViolationKind>,
    /// When the period of answers without an id began, and how many there were.
    replies: Option<(Instant, u32)>,
}

impl Empty for Rest {
    const EMPTY: &'static Self = &Self { noted: VecDeque::new(), replies: None };
}

impl Violations {
    /// How many violations there have been.
    pub(super) const fn total(&self) -> u64 {
        self.total
    }

    /// Whether there are violations that have not been told.
    pub(super) fn has_noted(&self) -> bool {
        !self.rest.noted.is_empty()
    }

    /// Takes as little room as it can.
    pub(super) fn release(&mut self) {
        self.rest.release();
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

    /// Reports a notification that is wrong. It is never answered.
    pub(super) fn report_notification<'a>(
        &mut self,
        cx: &Cx<'_, '_>,
        kind: ViolationKind,
        bytes: &'a [u8],
    ) -> Option<CommonEvent<'a>> {
        self.report(cx, Violation::of(kind, None, bytes))
    }

    /// Whether an answer without an id may be given now. If so it counts.
    pub(super) fn may_reply(&mut self, policy: RepliesWithoutId, now: Instant) -> bool {
        let (since, given) =
            self.rest.replies.filter(|(since, _)| now - *since < policy.per).unwrap_or((now, 0));
        if policy.count <= given {
            return false;
        }
        self.rest.replies = Some((since, given + 1));
        true
    }

    /// Whether a frame belongs to a JSON text over several lines that has been reported already. It counts.
    pub(super) fn belongs_to_split_text(&mut self, bytes: &[u8]) -> bool {
        if self.open_brackets == 0 {
            return false;
        }
        self.total += 1;
        self.pass_over();
        self.open_brackets = open_brackets(bytes, self.open_brackets).unwrap_or_default();
        true
    }

    /// Looks closer at text that is not JSON.
    pub(super) fn refine(
        &mut self,
        kind: ViolationKind,
        bytes: &[u8],
        origin: Origin,
    ) -> ViolationKind {
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
        if kind == ViolationKind::SplitOverLines && self.begins_split_text(bytes) {
            return kind;
        }
        ViolationKind::NotJson
    }

    /// Notes a violation that comes out later, because the frame has an event of its own.
    pub(super) fn note(&mut self, kind: ViolationKind) {
        const MOST: usize = 64;
        if self.rest.noted.len() < MOST {
            self.rest.noted.push_back(kind);
        } else {
            self.total += 1;
        }
    }

    /// The next violation that was noted.
    pub(super) fn next_noted(&mut self) -> Option<CommonEvent<'static>> {
        if !self.has_noted() {
            return None;
        }
        let kind = self.rest.noted.pop_front()?;
        self.total += 1;
        Some(CommonEvent::Violation(Violation::of(kind, None, b"")))
    }

    /// Raises the event of a violation, unless there have been too many in a row.
    pub(super) fn report<'a>(
        &mut self,
        cx: &Cx<'_, '_>,
        violation: Violation<'a>,
    ) -> Option<CommonEvent<'a>> {
        self.count(cx.config.limits.violations_in_a_row)
            .then_some(CommonEvent::Violation(violation))
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
            b'}' | b']' if mutant!("more_brackets_close_than_open") => open -= 1,
            b'}' | b']' => open = open.checked_sub(1)?,
            _ => {}
        }
    }
    Some(open)
}
