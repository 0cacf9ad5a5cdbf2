//! The validating scanner: one pass over JSON text, without recursion and without allocation.
//!
//! Where it is in the text is no state of the scanner: every step is told where it begins and gives where it
//! ends. So the place stays in a register instead of going to memory and back with every byte, which would cost
//! more than the byte.

use super::brackets::{Bracket, Brackets};
use super::error::{JsonError, JsonErrorKind};
use super::run::plain_run;
use super::space::behind_space;

/// The bytes from `start` up to `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Span {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl Span {
    pub(crate) const EMPTY: Self = Self { start: 0, end: 0 };

    /// A span of a text that is no longer than `u32::MAX`, which its owner has checked.
    #[inline]
    pub(super) const fn new(start: usize, end: usize) -> Self {
        Self { start: start as u32, end: end as u32 }
    }

    #[inline]
    pub(crate) const fn range(self) -> core::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// Walks JSON text and checks its grammar on the way.
///
/// What does not hide the structure does not end the walk, so that the members behind it are still
/// found: a raw control character or a wrong escape in a string, and a value that nests too deep,
/// whose brackets are counted instead of checked. [`Scanner::flaw`] remembers the first of them.
pub(crate) struct Scanner<'a> {
    bytes: &'a [u8],
    depth: u8,
    flaw: Option<JsonError>,
}

/// The walk has ended at this byte, because what stands there has no place in the grammar.
///
/// What is wrong is worked out afterwards, by [`Scanner::error`], so that going on costs nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Broken(usize);

/// Where a step ends, unless it has ended the walk.
pub(crate) type Walked<T = usize> = Result<T, Broken>;

impl<'a> Scanner<'a> {
    /// A scanner of the text, which allows `depth` levels of nesting.
    pub(crate) fn new(bytes: &'a [u8], depth: u8) -> Self {
        Self { bytes, depth: depth.min(Brackets::CAPACITY), flaw: None }
    }

    /// Whether values may nest so many levels deep.
    pub(super) const fn allows(&self, levels: u8) -> bool {
        levels <= self.depth
    }

    /// What is wrong with the text although its structure could be read.
    pub(crate) const fn flaw(&self) -> Option<JsonError> {
        self.flaw
    }

    /// What is wrong with the text if a walk has been [`Broken`].
    #[cold]
    pub(crate) fn error(&self, broken: Broken) -> JsonError {
        let kind = match self.bytes.get(broken.0) {
            Some(_) => JsonErrorKind::Unexpected,
            None => JsonErrorKind::Ended,
        };
        JsonError::new(kind, broken.0)
    }

    /// Checks that nothing but white space is left.
    pub(crate) fn end(&self, at: usize) -> Result<(), JsonError> {
        if at == self.bytes.len() {
            return Ok(());
        }
        match self.next(at) {
            (_, None) => Ok(()),
            (at, Some(_)) => Err(JsonError::new(JsonErrorKind::Trailing, at)),
        }
    }

    /// The next byte that is not white space, and where it is.
    #[inline(always)]
    pub(crate) fn next(&self, at: usize) -> (usize, Option<u8>) {
        match self.byte(at) {
            Some(byte) if b' ' < byte => (at, Some(byte)),
            _ => {
                let at = behind_space(self.bytes, at);
                (at, self.byte(at))
            }
        }
    }

    /// Passes over one value, which begins here and stands inside `level` open brackets.
    #[inline]
    pub(crate) fn value(&mut self, at: usize, level: u8) -> Walked {
        match self.byte(at) {
            Some(b'"') => Ok(self.string(at)?.behind),
            Some(b'{' | b'[') => self.nested(at, level),
            Some(b'0'..=b'9') => self.number(at),
            _ => self.scalar(at),
        }
    }

    /// Passes over one object, which begins here and stands inside `level` open brackets. `member` is called
    /// after each key, with the key, and must pass over the value.
    #[inline(always)]
    pub(crate) fn object<F>(&mut self, at: usize, level: u8, member: F) -> Walked
    where
        F: FnMut(&mut Self, Key) -> Walked,
    {
        let mut member = member;
        match self.enter_object(at, level)? {
            Entered::Member(at) => self.members(at, |scanner, at| {
                let key = scanner.key(at)?;
                member(scanner, key)
            }),
            Entered::Behind(at) => Ok(at),
        }
    }

    /// Passes over the beginning of an object.
    #[inline(always)]
    pub(super) fn enter_object(&mut self, at: usize, level: u8) -> Walked<Entered> {
        if self.byte(at) != Some(b'{') {
            return Err(Broken(at));
        }
        if self.depth <= level {
            return self.skip_too_deep(at).map(Entered::Behind);
        }
        Ok(match self.next(at + 1) {
            (at, Some(b'}')) => Entered::Behind(at + 1),
            (at, _) => Entered::Member(at),
        })
    }

    /// Passes over the rest of an object from the next member on, of which there is at least one. `member`
    /// must pass over its key and its value.
    #[inline(always)]
    pub(super) fn members<F>(&mut self, at: usize, mut member: F) -> Walked
    where
        F: FnMut(&mut Self, usize) -> Walked,
    {
        let mut at = at;
        loop {
            at = member(self, at)?;
            match self.next(at) {
                (comma, Some(b',')) => at = self.next(comma + 1).0,
                (last, Some(b'}')) => return Ok(last + 1),
                (at, _) => return Err(Broken(at)),
            }
        }
    }

    /// The next eight bytes, if there are so many.
    #[inline(always)]
    pub(super) fn word(&self, at: usize) -> Option<u64> {
        Some(u64::from_le_bytes(*self.bytes.get(at..)?.first_chunk()?))
    }

    /// Passes over the colon behind a key. Gives where the value begins.
    #[inline(always)]
    pub(super) fn colon(&self, at: usize) -> Walked {
        match self.next(at) {
            (at, Some(b':')) => Ok(self.next(at + 1).0),
            (at, _) => Err(Broken(at)),
        }
    }

    /// Passes over one array at the outermost level, which begins here. `element` must pass over each
    /// element.
    pub(crate) fn array<F>(&mut self, at: usize, mut element: F) -> Walked
    where
        F: FnMut(&mut Self, usize) -> Walked,
    {
        if self.byte(at) != Some(b'[') {
            return Err(Broken(at));
        }
        let (mut at, first) = self.next(at + 1);
        if first == Some(b']') {
            return Ok(at + 1);
        }
        loop {
            at = element(self, at)?;
            match self.next(at) {
                (comma, Some(b',')) => at = self.next(comma + 1).0,
                (last, Some(b']')) => return Ok(last + 1),
                (at, _) => return Err(Broken(at)),
            }
        }
    }

    /// Passes over a value that begins with the bracket which stands here.
    fn nested(&mut self, start: usize, level: u8) -> Walked {
        let allowed = self.depth.saturating_sub(level);
        let mut open = Brackets::default();
        let mut at = start;
        loop {
            // A value begins here.
            match self.byte(at) {
                Some(b'"') => at = self.string(at)?.behind,
                Some(bracket @ (b'{' | b'[')) if open.depth < allowed => {
                    let (inside, next) = self.next(at + 1);
                    at = inside;
                    // Each closing bracket comes two behind its opening one.
                    if next == Some(bracket + 2) {
                        at += 1;
                    } else {
                        if bracket == b'{' {
                            at = self.key(at)?.value;
                            open.push(Bracket::Object);
                        } else {
                            open.push(Bracket::Array);
                        }
                        continue;
                    }
                }
                Some(b'{' | b'[') => at = self.skip_too_deep(at)?,
                _ => at = self.scalar(at)?,
            }
            // It has ended. What can follow depends on what is around it.
            while let Some(bracket) = open.innermost() {
                let (next, byte) = self.next(at);
                match (bracket, byte) {
                    (Bracket::Object, Some(b',')) => {
                        at = self.key(self.next(next + 1).0)?.value;
                        break;
                    }
                    (Bracket::Array, Some(b',')) => {
                        at = self.next(next + 1).0;
                        break;
                    }
                    (Bracket::Object, Some(b'}')) | (Bracket::Array, Some(b']')) => {
                        at = next + 1;
                        open.pop();
                    }
                    _ => return Err(Broken(next)),
                }
            }
            if open.depth == 0 {
                return Ok(at);
            }
        }
    }

    /// Passes over the key that begins here, its colon and the white space behind it.
    #[inline(always)]
    pub(super) fn key(&mut self, at: usize) -> Walked<Key> {
        if self.byte(at) != Some(b'"') {
            return Err(Broken(at));
        }
        let text = self.string(at)?;
        let span = Span::new(at + 1, text.behind - 1);
        let value = self.colon(text.behind)?;
        Ok(Key { span, has_escapes: text.has_escapes, value })
    }

    /// Passes over a string whose opening quote stands here.
    #[inline(always)]
    fn string(&mut self, at: usize) -> Walked<Text> {
        let inside = at + 1;
        let end = inside + plain_run(self.bytes.get(inside..).unwrap_or_default());
        if self.byte(end) == Some(b'"') {
            return Ok(Text { behind: end + 1, has_escapes: false });
        }
        self.rest_of_string(end)
    }

    /// Passes over what is left of a string from something that is not plain.
    #[inline(never)]
    fn rest_of_string(&mut self, at: usize) -> Walked<Text> {
        let mut at = at;
        let mut has_escapes = false;
        loop {
            match self.byte(at) {
                Some(b'"') => return Ok(Text { behind: at + 1, has_escapes }),
                Some(b'\\') => {
                    has_escapes = true;
                    at = self.escape(at)?;
                }
                Some(_) => {
                    self.note(JsonErrorKind::ControlCharacter, at);
                    at += 1;
                }
                None => return Err(Broken(at)),
            }
            at += plain_run(self.bytes.get(at..).unwrap_or_default());
        }
    }

    fn escape(&mut self, start: usize) -> Walked {
        let mut at = start + 1;
        match self.byte(at) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => at += 1,
            Some(b'u') => {
                at += 1;
                for _ in 0..4 {
                    match self.byte(at) {
                        Some(digit) if digit.is_ascii_hexdigit() => at += 1,
                        // Whatever it is belongs to the string, or ends it.
                        Some(_) => {
                            self.note(JsonErrorKind::Escape, start);
                            return Ok(at);
                        }
                        None => return Err(Broken(at)),
                    }
                }
            }
            Some(_) => self.note(JsonErrorKind::Escape, start),
            None => return Err(Broken(at)),
        }
        Ok(at)
    }

    /// Passes over a number, `true`, `false` or `null`.
    fn scalar(&self, at: usize) -> Walked {
        match self.byte(at) {
            Some(b'-' | b'0'..=b'9') => self.number(at),
            Some(b't') => self.literal(at, b"true"),
            Some(b'f') => self.literal(at, b"false"),
            Some(b'n') => self.literal(at, b"null"),
            _ => Err(Broken(at)),
        }
    }

    #[inline]
    fn number(&self, at: usize) -> Walked {
        let first = if self.byte(at) == Some(b'-') { at + 1 } else { at };
        let end = if self.byte(first) == Some(b'0') { first + 1 } else { self.digits(first)? };
        match self.byte(end) {
            Some(b'.' | b'e' | b'E') => self.rest_of_number(end),
            _ => Ok(end),
        }
    }

    /// Passes over the fraction and the exponent of a number, which has one of them.
    #[inline(never)]
    fn rest_of_number(&self, at: usize) -> Walked {
        let mut at = at;
        if self.byte(at) == Some(b'.') {
            at = self.digits(at + 1)?;
        }
        if let Some(b'e' | b'E') = self.byte(at) {
            at += 1;
            if let Some(b'+' | b'-') = self.byte(at) {
                at += 1;
            }
            at = self.digits(at)?;
        }
        Ok(at)
    }

    #[inline]
    fn digits(&self, start: usize) -> Walked {
        let mut at = start;
        while let Some(b'0'..=b'9') = self.byte(at) {
            at += 1;
        }
        if at == start { Err(Broken(at)) } else { Ok(at) }
    }

    fn literal(&self, at: usize, word: &'static [u8]) -> Walked {
        let mut at = at;
        for expected in word {
            if self.byte(at) != Some(*expected) {
                return Err(Broken(at));
            }
            at += 1;
        }
        Ok(at)
    }

    /// Passes over a bracket and all it holds by counting brackets. The frame will be refused
    /// whatever is in there; what matters is to find the end of it.
    #[cold]
    #[inline(never)]
    fn skip_too_deep(&mut self, at: usize) -> Walked {
        self.note(JsonErrorKind::TooDeep, at);
        let (mut at, mut depth) = (at, 0_usize);
        loop {
            match self.byte(at) {
                Some(b'{' | b'[') => depth += 1,
                Some(b'}' | b']') => depth -= 1,
                Some(b'"') => {
                    at = self.string(at)?.behind;
                    continue;
                }
                Some(_) => {}
                None => return Err(Broken(at)),
            }
            at += 1;
            if depth == 0 {
                return Ok(at);
            }
        }
    }

    /// Remembers the first flaw.
    #[cold]
    fn note(&mut self, kind: JsonErrorKind, offset: usize) {
        self.flaw.get_or_insert_with(|| JsonError::new(kind, offset));
    }

    #[inline(always)]
    fn byte(&self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied()
    }
}

/// The key of a member.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    /// Where it is, between its quotes.
    pub(crate) span: Span,
    /// It stands for another text than it is.
    pub(crate) has_escapes: bool,
    /// Where the value begins.
    pub(crate) value: usize,
}

/// A string that has been passed over.
struct Text {
    behind: usize,
    has_escapes: bool,
}

/// What stands behind the beginning of an object.
pub(super) enum Entered {
    /// A member, which begins here.
    Member(usize),
    /// Nothing of it any more.
    Behind(usize),
}
