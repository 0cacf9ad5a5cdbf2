//! [`ScannedFrame`], the envelope of one frame, cached for a second reader of the same frame.

use core::fmt;

use super::envelope::Envelope;
use super::known::KnownMembers;

/// A cache of the [`Envelope`] of the last scanned frame.
///
/// The cache saves a scan if two readers process the same frame. Over HTTP these are
/// `RequestValidator::post_scanned`, which routes a body, and
/// [`Server::receive_scanned`](crate::Server::receive_scanned), which processes it.
///
/// The cache only affects the cost: the result is the same for any value of this type. The envelope is reused only
/// for the same bytes, at the same address, under the same depth limit. Any other frame is scanned, and its envelope
/// replaces the cached one.
///
/// The value owns no bytes, allocates nothing, and takes less than 512 bytes.
#[derive(Clone)]
pub struct ScannedFrame<'a> {
    envelope: Envelope<'a>,
    /// The depth limit of the scan; `None` if the frame was not scanned.
    depth: Option<u8>,
}

impl<'a> ScannedFrame<'a> {
    /// Creates an empty cache.
    pub const fn new() -> Self {
        Self::unread(&[])
    }

    /// Creates a cache for a frame with these bytes, which are scanned later. The envelope is large, so it is created
    /// in place.
    #[inline]
    pub(crate) const fn unread(bytes: &'a [u8]) -> Self {
        Self { envelope: Envelope::unread(bytes), depth: None }
    }

    /// Returns the envelope of a frame that may nest `depth` levels deep, see [`Envelope::scan`]. Members that are
    /// known from a frame under the same limit are not scanned again.
    #[inline]
    pub(crate) fn read(
        &mut self,
        bytes: &'a [u8],
        depth: u8,
        known: Option<&KnownMembers>,
    ) -> &Envelope<'a> {
        // Shared bytes do not change while they are borrowed, so bytes at the same address are the same.
        let is_same = core::ptr::eq(self.envelope.bytes(), bytes);
        if !is_same || self.depth.is_some_and(|known| known != depth) {
            *self = Self::unread(bytes);
        }
        if self.depth.is_none() {
            self.envelope.read(depth, known);
            self.depth = Some(depth);
        }
        &self.envelope
    }
}

impl Default for ScannedFrame<'_> {
    /// Same as [`ScannedFrame::new`].
    fn default() -> Self {
        Self::new()
    }
}

/// Shows the same as the envelope: kinds and lengths, and no payload.
impl fmt::Debug for ScannedFrame<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("ScannedFrame").field(&self.envelope).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{JsonErrorKind, Member};

    #[test]
    fn the_same_bytes_are_scanned_once() {
        let text = br#"{"id":1,"params":{"a":[[]]}}"#;
        let mut scanned = ScannedFrame::new();
        assert_eq!(*scanned.read(text, 128, None), Envelope::scan(text, 128));
        // The planted envelope shows that no second scan takes place.
        scanned.envelope = Envelope::scan(text, 1);
        assert_eq!(*scanned.read(text, 128, None), Envelope::scan(text, 1));
    }

    #[test]
    fn another_depth_is_another_scan() {
        let text = br#"{"id":1,"params":{"a":[[]]}}"#;
        let mut scanned = ScannedFrame::new();
        for depth in [128, 2, 2, 3, 128, 4, 0] {
            assert_eq!(*scanned.read(text, depth, None), Envelope::scan(text, depth), "{depth}");
        }
        let defect = |depth| {
            let mut scanned = ScannedFrame::new();
            assert_eq!(scanned.read(text, 128, None).defect(), None);
            scanned.read(text, depth, None).defect().map(|defect| defect.kind())
        };
        assert_eq!(defect(3), Some(JsonErrorKind::TooDeep));
        assert_eq!(defect(4), None);
    }

    #[test]
    fn other_bytes_are_another_scan() {
        let (first, second) = (*br#"{"id":1,"method":"a"}"#, *br#"{"id":2,"method":"a"}"#);
        let mut scanned = ScannedFrame::new();
        assert_eq!(scanned.read(&first, 128, None).get(Member::Id), Some("1"));
        assert_eq!(scanned.read(&second, 128, None).get(Member::Id), Some("2"));
        assert_eq!(scanned.read(&first, 128, None).get(Member::Id), Some("1"));
        // The same address, but shorter.
        let shorter = first.get(..first.len() - 1).unwrap_or_default();
        assert!(scanned.read(shorter, 128, None).defect().is_some());
        assert_eq!(*scanned.read(b"", 128, None), Envelope::scan(b"", 128));
        assert_eq!(*ScannedFrame::new().read(b"", 128, None), Envelope::scan(b"", 128));
    }

    #[test]
    fn it_is_small_and_shows_no_payload() {
        assert!(size_of::<ScannedFrame<'_>>() < 512, "{}", size_of::<ScannedFrame<'_>>());
        let mut scanned = ScannedFrame::default();
        scanned.read(br#"{"id":1,"method":"m","params":{"a":"secret"}}"#, 128, None);
        let shown = alloc::format!("{scanned:?}");
        assert!(shown.contains("\"m\"") && !shown.contains("secret"), "{shown}");
    }
}
