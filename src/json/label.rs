//! The name of a member in the tables: quick to find, and quick to write.

/// How long a name can be with its quotes and its colon.
const ROOM: usize = 24;

/// What can be made of a name before the program runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Label {
    name: &'static str,
    mark: Mark,
    /// The name as it is written, `"name":`, and zeros behind it.
    wire: [u8; ROOM],
}

/// The length and the ends of a text, which is nearly always enough to tell it from another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark(u32);

impl Mark {
    #[inline]
    pub(super) const fn of(text: &[u8]) -> Self {
        Self(match text {
            [first, .., last] => (text.len() as u32) << 16 | (*first as u32) << 8 | *last as u32,
            [only] => 1 << 16 | *only as u32,
            [] => 0,
        })
    }
}

impl Label {
    /// A name without anything to escape. Tables are made before the program runs, so one that is too
    /// long does not compile.
    pub(super) const fn of(name: &'static str) -> Self {
        let mut wire = [0; ROOM];
        let (open, behind) = wire.split_at_mut(1);
        open.copy_from_slice(b"\"");
        let (text, behind) = behind.split_at_mut(name.len());
        text.copy_from_slice(name.as_bytes());
        behind.split_at_mut(2).0.copy_from_slice(b"\":");
        Self { name, mark: Mark::of(name.as_bytes()), wire }
    }

    /// Whether this is the name. The mark is that of the text.
    #[inline]
    pub(super) fn is(&self, text: &[u8], mark: Mark) -> bool {
        self.mark == mark && is_same_text(self.name.as_bytes(), text)
    }

    /// The name with its quotes and its colon, how long that is, and zeros behind it: what has always
    /// the same length is copied without a call.
    #[inline]
    pub(super) const fn wire(&self) -> (&[u8; ROOM], usize) {
        (&self.wire, self.name.len() + 3)
    }
}

/// Whether two texts are the same. The names of members are short, so that calling
/// something that compares texts of any length would cost more than comparing.
#[inline]
pub(super) fn is_same_text(text: &[u8], other: &[u8]) -> bool {
    if text.len() != other.len() {
        return false;
    }
    let is_same_word = |word: Option<&[u8; 8]>, other: Option<&[u8; 8]>| {
        word.map(|word| u64::from_le_bytes(*word)) == other.map(|word| u64::from_le_bytes(*word))
    };
    match text.len() {
        8..=16 => {
            is_same_word(text.first_chunk(), other.first_chunk())
                && is_same_word(text.last_chunk(), other.last_chunk())
        }
        4..8 => {
            let ends =
                |text: &[u8]| (text.first_chunk::<4>().copied(), text.last_chunk::<4>().copied());
            ends(text) == ends(other)
        }
        _ => text == other,
    }
}
