//! The validating scanner: one pass over JSON text, without recursion and without allocation.

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
    const fn new(start: usize, end: usize) -> Self {
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
    at: usize,
    depth: u8,
    flaw: Option<JsonError>,
}

/// The walk has ended where the scanner is, because what stands there has no place in the grammar.
///
/// What is wrong is worked out afterwards, by [`Scanner::error`], so that going on costs nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Broken;

type Walked<T = ()> = Result<T, Broken>;

impl<'a> Scanner<'a> {
    /// A scanner at the start of the text, which allows `depth` levels of nesting.
    pub(crate) fn new(bytes: &'a [u8], depth: u8) -> Self {
        Self { bytes, at: 0, depth: depth.min(Brackets::CAPACITY), flaw: None }
    }

    /// Where the scanner is.
    pub(crate) const fn offset(&self) -> usize {
        self.at
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
    pub(crate) fn error(&self) -> JsonError {
        let kind = match self.byte() {
            Some(_) => JsonErrorKind::Unexpected,
            None => JsonErrorKind::Ended,
        };
        JsonError::new(kind, self.at)
    }

    /// Checks that nothing but white space is left.
    pub(crate) fn end(&mut self) -> Result<(), JsonError> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(JsonError::new(JsonErrorKind::Trailing, self.at)),
        }
    }

    /// The next byte that is not white space, which stays unread.
    #[inline(always)]
    pub(crate) fn peek(&mut self) -> Option<u8> {
        self.at = behind_space(self.bytes, self.at);
        self.byte()
    }

    /// Passes over one value, which stands inside `level` open brackets. Gives where it is.
    #[inline]
    pub(crate) fn value(&mut self, level: u8) -> Walked<Span> {
        let first = self.peek();
        let start = self.at;
        match first {
            Some(b'"') => {
                self.string()?;
            }
            Some(b'{' | b'[') => self.nested(level)?,
            Some(b'0'..=b'9') => self.number()?,
            _ => self.scalar()?,
        }
        Ok(Span::new(start, self.at))
    }

    /// Passes over one object, which stands inside `level` open brackets. `member` is called after
    /// each key, with the key, and must pass over the value.
    #[inline(always)]
    pub(crate) fn object<F>(&mut self, level: u8, member: F) -> Walked<Span>
    where
        F: FnMut(&mut Self, Key) -> Walked,
    {
        self.peek();
        let start = self.at;
        if self.enter_object(level)? {
            let mut member = member;
            self.members(|scanner| {
                let key = scanner.key()?;
                member(scanner, key)
            })?;
        }
        Ok(Span::new(start, self.at))
    }

    /// Passes over the beginning of an object and says whether a member comes next. If none does, that was
    /// all of it.
    #[inline(always)]
    pub(super) fn enter_object(&mut self, level: u8) -> Walked<bool> {
        if self.peek() != Some(b'{') {
            return Err(Broken);
        }
        if self.depth <= level {
            self.skip_too_deep()?;
            return Ok(false);
        }
        self.at += 1;
        let has_members = self.peek() != Some(b'}');
        if !has_members {
            self.at += 1;
        }
        Ok(has_members)
    }

    /// Passes over the rest of an object from the next member on, of which there is at least one. `member`
    /// must pass over its key and its value.
    #[inline(always)]
    pub(super) fn members<F>(&mut self, mut member: F) -> Walked
    where
        F: FnMut(&mut Self) -> Walked,
    {
        loop {
            member(self)?;
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => break,
                _ => return Err(Broken),
            }
        }
        self.at += 1;
        Ok(())
    }

    /// The next eight bytes behind white space, if there are so many, which stay unread.
    #[inline(always)]
    pub(super) fn peek_word(&mut self) -> Option<u64> {
        self.peek();
        let word = self.bytes.get(self.at..)?.first_chunk()?;
        Some(u64::from_le_bytes(*word))
    }

    /// Passes over a key that takes so many bytes with its quotes, and over its colon.
    #[inline(always)]
    pub(super) fn pass_key(&mut self, length: usize) -> Walked {
        self.at += length;
        if self.peek() != Some(b':') {
            return Err(Broken);
        }
        self.at += 1;
        Ok(())
    }

    /// Steps over this text if it is what comes next, byte for byte.
    #[inline]
    pub(super) fn take(&mut self, text: &[u8]) -> bool {
        let is_next = self.bytes.get(self.at..).is_some_and(|rest| rest.starts_with(text));
        if is_next {
            self.at += text.len();
        }
        is_next
    }

    /// Passes over one array at the outermost level. `element` must pass over each element.
    pub(crate) fn array<F>(&mut self, mut element: F) -> Walked
    where
        F: FnMut(&mut Self) -> Walked,
    {
        if self.peek() != Some(b'[') {
            return Err(Broken);
        }
        self.at += 1;
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
        loop {
            element(self)?;
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(Broken),
            }
        }
    }

    /// Passes over a value that begins with the bracket which is the next byte.
    fn nested(&mut self, level: u8) -> Walked {
        let mut open = Brackets::default();
        loop {
            if self.step(&mut open, level)? == Step::Opened {
                continue;
            }
            // A value has ended. What can follow it depends on what is around it.
            while let Some(bracket) = open.innermost() {
                match (bracket, self.peek()) {
                    (Bracket::Object, Some(b',')) => {
                        self.at += 1;
                        self.key()?;
                        break;
                    }
                    (Bracket::Array, Some(b',')) => {
                        self.at += 1;
                        self.peek();
                        break;
                    }
                    (Bracket::Object, Some(b'}')) | (Bracket::Array, Some(b']')) => {
                        self.at += 1;
                        open.pop();
                    }
                    _ => return Err(Broken),
                }
            }
            if open.depth == 0 {
                return Ok(());
            }
        }
    }

    /// Passes over the value that begins with the next byte, or over its bracket.
    #[inline(always)]
    fn step(&mut self, open: &mut Brackets, level: u8) -> Walked<Step> {
        let bracket = match self.byte() {
            Some(b'"') => {
                self.string()?;
                return Ok(Step::Passed);
            }
            Some(b'{') => Bracket::Object,
            Some(b'[') => Bracket::Array,
            _ => {
                self.scalar()?;
                return Ok(Step::Passed);
            }
        };
        if self.depth <= level.saturating_add(open.depth) {
            self.skip_too_deep()?;
            return Ok(Step::Passed);
        }
        self.at += 1;
        match (bracket, self.peek()) {
            (Bracket::Object, Some(b'}')) | (Bracket::Array, Some(b']')) => {
                self.at += 1;
                return Ok(Step::Passed);
            }
            (Bracket::Object, _) => {
                self.key()?;
            }
            (Bracket::Array, _) => {}
        }
        open.push(bracket);
        Ok(Step::Opened)
    }

    /// Passes over a key, its colon and the white space behind it.
    #[inline(always)]
    pub(super) fn key(&mut self) -> Walked<Key> {
        if self.peek() != Some(b'"') {
            return Err(Broken);
        }
        let start = self.at + 1;
        let has_escapes = self.string()?;
        let span = Span::new(start, self.at - 1);
        if self.peek() != Some(b':') {
            return Err(Broken);
        }
        self.at += 1;
        self.peek();
        Ok(Key { span, has_escapes })
    }

    /// Passes over a string whose opening quote is the next byte. Says whether it has escapes.
    #[inline(always)]
    fn string(&mut self) -> Walked<bool> {
        self.at += 1;
        self.at += plain_run(self.bytes.get(self.at..).unwrap_or_default());
        if self.byte() == Some(b'"') {
            self.at += 1;
            return Ok(false);
        }
        self.rest_of_string()
    }

    /// Passes over what is left of a string from something that is not plain.
    #[inline(never)]
    fn rest_of_string(&mut self) -> Walked<bool> {
        let mut has_escapes = false;
        loop {
            match self.byte() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(has_escapes);
                }
                Some(b'\\') => {
                    has_escapes = true;
                    self.escape()?;
                }
                Some(_) => {
                    self.note(JsonErrorKind::ControlCharacter, self.at);
                    self.at += 1;
                }
                None => return Err(Broken),
            }
            self.at += plain_run(self.bytes.get(self.at..).unwrap_or_default());
        }
    }

    fn escape(&mut self) -> Walked {
        let start = self.at;
        self.at += 1;
        match self.byte() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
            Some(b'u') => {
                self.at += 1;
                for _ in 0..4 {
                    match self.byte() {
                        Some(digit) if digit.is_ascii_hexdigit() => self.at += 1,
                        // Whatever it is belongs to the string, or ends it.
                        Some(_) => {
                            self.note(JsonErrorKind::Escape, start);
                            return Ok(());
                        }
                        None => return Err(Broken),
                    }
                }
            }
            Some(_) => self.note(JsonErrorKind::Escape, start),
            None => return Err(Broken),
        }
        Ok(())
    }

    /// Passes over a number, `true`, `false` or `null`.
    fn scalar(&mut self) -> Walked {
        match self.byte() {
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.literal(b"true"),
            Some(b'f') => self.literal(b"false"),
            Some(b'n') => self.literal(b"null"),
            _ => Err(Broken),
        }
    }

    fn number(&mut self) -> Walked {
        if self.byte() == Some(b'-') {
            self.at += 1;
        }
        if self.byte() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.byte() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.byte() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.byte() {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    #[inline]
    fn digits(&mut self) -> Walked {
        let start = self.at;
        while self.byte().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at == start { Err(Broken) } else { Ok(()) }
    }

    fn literal(&mut self, word: &'static [u8]) -> Walked {
        for expected in word {
            if self.byte() != Some(*expected) {
                return Err(Broken);
            }
            self.at += 1;
        }
        Ok(())
    }

    /// Passes over a bracket and all it holds by counting brackets. The frame will be refused
    /// whatever is in there; what matters is to find the end of it.
    #[cold]
    fn skip_too_deep(&mut self) -> Walked {
        self.note(JsonErrorKind::TooDeep, self.at);
        let mut depth = 0_usize;
        loop {
            match self.byte() {
                Some(b'{' | b'[') => depth += 1,
                Some(b'}' | b']') => depth -= 1,
                Some(b'"') => {
                    self.string()?;
                    continue;
                }
                Some(_) => {}
                None => return Err(Broken),
            }
            self.at += 1;
            if depth == 0 {
                return Ok(());
            }
        }
    }

    /// Remembers the first flaw.
    #[cold]
    fn note(&mut self, kind: JsonErrorKind, offset: usize) {
        self.flaw.get_or_insert_with(|| JsonError::new(kind, offset));
    }

    #[inline(always)]
    fn byte(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }
}

/// The key of a member, between its quotes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    pub(crate) span: Span,
    /// It stands for another text than it is.
    pub(crate) has_escapes: bool,
}

/// What one look at the start of a value did.
#[derive(PartialEq, Eq)]
enum Step {
    /// The whole value was passed over.
    Passed,
    /// A bracket was opened and its first value comes next.
    Opened,
}
