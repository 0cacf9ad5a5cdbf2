//! `Violations`: counts and reports protocol violations of the peer. Each is reported once, and none closes the
//! connection.

use alloc::collections::VecDeque;

use super::common_event::CommonEvent;
use super::cx::Cx;
use super::event::Violation;
use crate::codes::ViolationKind;
use crate::config::RepliesWithoutId;
use crate::frame::Origin;
use crate::lazy_box::{Empty, LazyBox};
use crate::time::Instant;

/// The counters and pending reports of violations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Violations {
    total: u64,
    in_a_row: u32,
    /// Whether the last frame led to a violation.
    faulty: bool,
    /// The number of open brackets of a JSON text that began on an earlier line.
    open_brackets: u32,
    rest: LazyBox<Rest>,
}

/// The state for violations that few peers commit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Rest {
    /// Violations whose events follow later, because their frames had other events.
    noted: VecDeque<ViolationKind>,
    /// The start of the current period of responses without an id, and their number in it.
    replies: Option<(Instant, u32)>,
}

impl Empty for Rest {
    const EMPTY: &'static Self = &Self { noted: VecDeque::new(), replies: None };
}

impl Violations {
    /// Returns the total number of violations.
    pub(super) const fn total(&self) -> u64 {
        self.total
    }

    /// Whether violations have been noted but not reported.
    pub(super) fn has_noted(&self) -> bool {
        self.rest.allocated().is_some_and(|rest| !rest.noted.is_empty())
    }

    /// Releases unused memory.
    pub(super) fn release(&mut self) {
        self.rest.release();
    }

    /// Begins a frame. Only now is it certain that the previous frame had no violation.
    pub(super) fn begin_frame(&mut self) {
        if !self.faulty {
            self.in_a_row = 0;
        }
        self.faulty = false;
    }

    /// Notes that the frame is a message, so it is no part of a JSON text over several lines.
    pub(super) fn is_message(&mut self) {
        self.open_brackets = 0;
    }

    /// Marks the frame as part of a violation that has been reported.
    pub(super) fn pass_over(&mut self) {
        self.faulty = true;
    }

    /// Notes that a JSON text begins on this line and continues on the next one. Returns whether it does.
    pub(super) fn begins_split_text(&mut self, line: &[u8]) -> bool {
        self.open_brackets = open_brackets(line, 0).unwrap_or_default();
        0 < self.open_brackets
    }

    /// Counts a violation. Returns whether it may be reported as an event.
    fn count(&mut self, most_in_a_row: u32) -> bool {
        self.total += 1;
        self.faulty = true;
        self.in_a_row = self.in_a_row.saturating_add(1);
        self.in_a_row <= most_in_a_row
    }

    /// Reports an invalid notification, which never gets a response.
    pub(super) fn report_notification<'a>(
        &mut self,
        cx: &Cx<'_, '_>,
        kind: ViolationKind,
        bytes: &'a [u8],
    ) -> Option<CommonEvent<'a>> {
        self.report(cx, Violation::of(kind, None, bytes))
    }

    /// Whether a response without an id may be sent now. If so, it is counted.
    pub(super) fn may_reply(&mut self, policy: RepliesWithoutId, now: Instant) -> bool {
        let (since, given) =
            self.rest.replies.filter(|(since, _)| now - *since < policy.per).unwrap_or((now, 0));
        if policy.count <= given {
            return false;
        }
        self.rest.replies = Some((since, given + 1));
        true
    }

    /// Whether a frame belongs to a reported JSON text over several lines. If so, it is counted.
    pub(super) fn belongs_to_split_text(&mut self, bytes: &[u8]) -> bool {
        if self.open_brackets == 0 {
            return false;
        }
        self.total += 1;
        self.pass_over();
        self.open_brackets = open_brackets(bytes, self.open_brackets).unwrap_or_default();
        true
    }

    /// Refines the violation of a text that is not JSON.
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

    /// Notes a violation to report later, because the frame has an event of its own.
    pub(super) fn note(&mut self, kind: ViolationKind) {
        const MOST: usize = 64;
        if self.rest.noted.len() < MOST {
            self.rest.noted.push_back(kind);
        } else {
            self.total += 1;
        }
    }

    /// Returns the next noted violation.
    pub(super) fn next_noted(&mut self) -> Option<CommonEvent<'static>> {
        if !self.has_noted() {
            return None;
        }
        let kind = self.rest.noted.pop_front()?;
        self.total += 1;
        Some(CommonEvent::Violation(Violation::of(kind, None, b"")))
    }

    /// Returns the event of a violation, unless there were too many in a row.
    pub(super) fn report<'a>(
        &mut self,
        cx: &Cx<'_, '_>,
        violation: Violation<'a>,
    ) -> Option<CommonEvent<'a>> {
        self.count(cx.config.limits.violations_in_a_row)
            .then_some(CommonEvent::Violation(violation))
    }
}

/// Returns the number of brackets that are open at the end of a line that began with `open` of them. Returns `None`
/// if the line closes more brackets than are open.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_count_outside_of_strings_only() {
        for (line, open) in [
            (&br#"{"a":[1"#[..], Some(2)),
            (br#"{"[\"{":1"#, Some(1)),
            (br"\{", Some(1)),
            (b"}", None),
            (b"text", Some(0)),
        ] {
            assert_eq!(open_brackets(line, 0), open, "{line:?}");
        }
        let mut violations = Violations::default();
        assert!(violations.begins_split_text(b"{"));
        assert!(!violations.begins_split_text(b"\"text"));
    }

    #[test]
    fn every_line_of_a_split_text_is_counted() {
        let mut violations = Violations { total: 1, ..Violations::default() };
        assert!(violations.begins_split_text(b"{"));
        for line in [&br#""a":1"#[..], b"}"] {
            assert!(violations.belongs_to_split_text(line));
        }
        assert!(!violations.belongs_to_split_text(b"{"), "the text has ended");
        assert_eq!(violations.total(), 3);
    }

    #[test]
    fn noted_violations_are_counted_and_their_number_is_bounded() {
        let mut violations = Violations::default();
        for _ in 0..67 {
            violations.note(ViolationKind::MixedBatch);
        }
        assert_eq!(violations.total(), 3, "those without an event of their own");
        let events = core::iter::from_fn(|| violations.next_noted()).count();
        assert_eq!((events, violations.total()), (64, 67));
        violations.release();
        assert!(violations.rest.allocated().is_none());
    }
}
