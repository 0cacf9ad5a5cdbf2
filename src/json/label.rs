//! The name of a member in the tables: quick to find, and quick to write.

/// How long a name can be with its quotes and its colon.
const ROOM: usize = 24;

/// The same with a comma in front of it, and as many zeros behind it as make copying it easy.
const ROOM_BEHIND_COMMA: usize = 32;

/// How many words that is.
const WORDS: usize = ROOM / 8;

/// What can be made of a name before the program runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Label {
    name: &'static str,
    mark: Mark,
    /// The name as it is written, `,"name":`, and zeros behind it.
    wire: [u8; ROOM_BEHIND_COMMA],
    /// The same without the comma, as words.
    words: [u64; WORDS],
    /// The bytes of these words that belong to it.
    masks: [u64; WORDS],
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
        let mut wire = [0; ROOM_BEHIND_COMMA];
        let (open, behind) = wire.split_at_mut(2);
        open.copy_from_slice(b",\"");
        let (text, behind) = behind.split_at_mut(name.len());
        text.copy_from_slice(name.as_bytes());
        behind.split_at_mut(2).0.copy_from_slice(b"\":");
        let mut mask = [0; ROOM];
        let (mut left, mut bytes): (_, &mut [u8]) = (name.len() + 3, &mut mask);
        while let ([byte, behind @ ..], 1..) = (bytes, left) {
            *byte = u8::MAX;
            (bytes, left) = (behind, left - 1);
        }
        let (words, masks) = (words(first_room(&wire)), words(&mask));
        Self { name, mark: Mark::of(name.as_bytes()), wire, words, masks }
    }

    /// Whether this is the name. The mark is that of the text.
    #[inline]
    pub(super) fn is(&self, text: &[u8], mark: Mark) -> bool {
        self.mark == mark && is_same_text(self.name.as_bytes(), text)
    }

    /// The name with its quotes and its colon, and zeros behind it: what has always the same length is
    /// copied without a call.
    #[inline]
    pub(super) const fn wire(&self) -> &[u8; ROOM] {
        first_room(&self.wire)
    }

    /// The same with a comma in front of it.
    #[inline]
    pub(super) const fn wire_behind_comma(&self) -> &[u8; ROOM_BEHIND_COMMA] {
        &self.wire
    }

    /// How long the name is with its quotes and its colon.
    #[inline]
    pub(super) const fn wire_length(&self) -> usize {
        self.name.len() + 3
    }

    /// What stands behind the name, its quotes and its colon, if a text begins with them.
    #[inline(always)]
    pub(super) fn behind<'t>(&self, text: &'t [u8]) -> Option<&'t [u8]> {
        let own = self.words.iter().zip(&self.masks);
        let Some(text_words) = text.first_chunk() else { return self.behind_short(text) };
        let differs = words(text_words)
            .iter()
            .zip(own)
            .fold(0, |differs, (word, (own, mask))| differs | (word ^ own) & mask);
        if differs == 0 { text.get(self.wire_length()..) } else { None }
    }

    /// The same for what is too short for words.
    #[inline(never)]
    fn behind_short<'t>(&self, text: &'t [u8]) -> Option<&'t [u8]> {
        text.strip_prefix(self.wire().get(..self.wire_length())?)
    }
}

/// What stands behind the comma.
const fn first_room(wire: &[u8; ROOM_BEHIND_COMMA]) -> &[u8; ROOM] {
    match wire {
        [_, room @ .., _, _, _, _, _, _, _] => room,
    }
}

/// The bytes as words.
#[inline(always)]
const fn words(bytes: &[u8; ROOM]) -> [u64; WORDS] {
    let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x] = *bytes;
    [
        u64::from_le_bytes([a, b, c, d, e, f, g, h]),
        u64::from_le_bytes([i, j, k, l, m, n, o, p]),
        u64::from_le_bytes([q, r, s, t, u, v, w, x]),
    ]
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
