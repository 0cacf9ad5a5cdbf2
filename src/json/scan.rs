//! The validating scanner: one pass over JSON text, without recursion and without allocation.

use super::error::{JsonError, JsonErrorKind};
use super::run::plain_run;

/// The bytes from `start` up to `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Span {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl Span {
    /// A span of a text that is no longer than `u32::MAX`, which its owner has checked.
    const fn new(start: usize, end: usize) -> Self {
        Self { start: start as u32, end: end as u32 }
    }

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

impl<'a> Scanner<'a> {
    /// A scanner at the start of the text, which allows `depth` levels of nesting.
    pub(crate) fn new(bytes: &'a [u8], depth: u8) -> Self {
        Self { bytes, at: 0, depth: depth.min(Brackets::CAPACITY), flaw: None }
    }

    /// Where the scanner is.
    pub(crate) const fn offset(&self) -> usize {
        self.at
    }

    /// What is wrong with the text although its structure could be read.
    pub(crate) const fn flaw(&self) -> Option<JsonError> {
        self.flaw
    }

    /// The next byte that is not white space, which stays unread.
    pub(crate) fn peek(&mut self) -> Option<u8> {
        self.whitespace();
        self.byte()
    }

    /// Passes over one value, which stands inside `level` open brackets.
    pub(crate) fn value(&mut self, level: u8) -> Result<Span, JsonError> {
        self.whitespace();
        let start = self.at;
        let mut open = Brackets::default();
        loop {
            if self.scalar_or_open(&mut open, level)? == Step::Opened {
                continue;
            }
            while let Some(bracket) = open.innermost() {
                self.whitespace();
                match (bracket, self.byte()) {
                    (Bracket::Object, Some(b',')) => {
                        self.at += 1;
                        self.key()?;
                        break;
                    }
                    (Bracket::Array, Some(b',')) => {
                        self.at += 1;
                        self.whitespace();
                        break;
                    }
                    (Bracket::Object, Some(b'}')) | (Bracket::Array, Some(b']')) => {
                        self.at += 1;
                        open.pop();
                    }
                    _ => return Err(self.unexpected()),
                }
            }
            if open.depth == 0 {
                return Ok(Span::new(start, self.at));
            }
        }
    }

    /// Passes over one object, which stands inside `level` open brackets. `member` is called after
    /// each key, with the key, and must pass over the value.
    pub(crate) fn object<F>(&mut self, level: u8, mut member: F) -> Result<Span, JsonError>
    where
        F: FnMut(&mut Self, Span) -> Result<(), JsonError>,
    {
        self.whitespace();
        let start = self.at;
        if self.byte() != Some(b'{') {
            return Err(self.unexpected());
        }
        if self.depth <= level {
            return self.skip_too_deep();
        }
        self.at += 1;
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Span::new(start, self.at));
        }
        loop {
            let key = self.key()?;
            member(self, key)?;
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(Span::new(start, self.at));
                }
                _ => return Err(self.unexpected()),
            }
        }
    }

    /// Passes over one array at the outermost level. `element` must pass over each element.
    pub(crate) fn array<F>(&mut self, mut element: F) -> Result<(), JsonError>
    where
        F: FnMut(&mut Self) -> Result<(), JsonError>,
    {
        if self.peek() != Some(b'[') {
            return Err(self.unexpected());
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
                _ => return Err(self.unexpected()),
            }
        }
    }

    /// Checks that nothing but white space is left.
    pub(crate) fn end(&mut self) -> Result<(), JsonError> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(JsonError::new(JsonErrorKind::Trailing, self.at)),
        }
    }

    fn scalar_or_open(&mut self, open: &mut Brackets, level: u8) -> Result<Step, JsonError> {
        let bracket = match self.byte() {
            Some(b'"') => {
                self.string()?;
                return Ok(Step::Passed);
            }
            Some(b'{') => Bracket::Object,
            Some(b'[') => Bracket::Array,
            Some(b'-' | b'0'..=b'9') => return self.number().map(|()| Step::Passed),
            Some(b't') => return self.literal(b"true").map(|()| Step::Passed),
            Some(b'f') => return self.literal(b"false").map(|()| Step::Passed),
            Some(b'n') => return self.literal(b"null").map(|()| Step::Passed),
            _ => return Err(self.unexpected()),
        };
        if self.depth <= level.saturating_add(open.depth) {
            return self.skip_too_deep().map(|_| Step::Passed);
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

    /// Passes over a key, its colon and the white space behind it. Gives the key without quotes.
    fn key(&mut self) -> Result<Span, JsonError> {
        self.whitespace();
        if self.byte() != Some(b'"') {
            return Err(self.unexpected());
        }
        let key = self.string()?;
        if self.peek() != Some(b':') {
            return Err(self.unexpected());
        }
        self.at += 1;
        self.whitespace();
        Ok(key)
    }

    /// Passes over a string whose opening quote is the next byte. Gives it without quotes.
    fn string(&mut self) -> Result<Span, JsonError> {
        self.at += 1;
        let start = self.at;
        loop {
            self.at += plain_run(self.bytes.get(self.at..).unwrap_or_default());
            match self.byte() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(Span::new(start, self.at - 1));
                }
                Some(b'\\') => self.escape()?,
                Some(_) => {
                    self.note(JsonErrorKind::ControlCharacter, self.at);
                    self.at += 1;
                }
                None => return Err(self.unexpected()),
            }
        }
    }

    fn escape(&mut self) -> Result<(), JsonError> {
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
                        None => return Err(self.unexpected()),
                    }
                }
            }
            Some(_) => self.note(JsonErrorKind::Escape, start),
            None => return Err(self.unexpected()),
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), JsonError> {
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

    fn digits(&mut self) -> Result<(), JsonError> {
        let start = self.at;
        while self.byte().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at == start { Err(self.unexpected()) } else { Ok(()) }
    }

    fn literal(&mut self, word: &'static [u8]) -> Result<(), JsonError> {
        for expected in word {
            if self.byte() != Some(*expected) {
                return Err(self.unexpected());
            }
            self.at += 1;
        }
        Ok(())
    }

    /// Passes over a bracket and all it holds by counting brackets. The frame will be refused
    /// whatever is in there; what matters is to find the end of it.
    fn skip_too_deep(&mut self) -> Result<Span, JsonError> {
        let start = self.at;
        self.note(JsonErrorKind::TooDeep, start);
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
                None => return Err(self.unexpected()),
            }
            self.at += 1;
            if depth == 0 {
                return Ok(Span::new(start, self.at));
            }
        }
    }

    /// Remembers the first flaw.
    fn note(&mut self, kind: JsonErrorKind, offset: usize) {
        self.flaw.get_or_insert_with(|| JsonError::new(kind, offset));
    }

    fn whitespace(&mut self) {
        while self.byte().is_some_and(is_whitespace) {
            self.at += 1;
        }
    }

    fn byte(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn unexpected(&self) -> JsonError {
        let kind = match self.byte() {
            Some(_) => JsonErrorKind::Unexpected,
            None => JsonErrorKind::Ended,
        };
        JsonError::new(kind, self.at)
    }
}

/// What one look at the start of a value did.
#[derive(PartialEq, Eq)]
enum Step {
    /// The whole value was passed over.
    Passed,
    /// A bracket was opened and its first value comes next.
    Opened,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Bracket {
    Object,
    Array,
}

/// The open brackets, one bit each, the innermost in the lowest bit: set for an object.
#[derive(Default)]
struct Brackets {
    bits: u128,
    depth: u8,
}

impl Brackets {
    const CAPACITY: u8 = 128;

    fn push(&mut self, bracket: Bracket) {
        self.bits = self.bits << 1 | u128::from(bracket == Bracket::Object);
        self.depth += 1;
    }

    fn pop(&mut self) {
        self.bits >>= 1;
        self.depth -= 1;
    }

    fn innermost(&self) -> Option<Bracket> {
        match (self.depth, self.bits & 1) {
            (0, _) => None,
            (_, 0) => Some(Bracket::Array),
            (_, _) => Some(Bracket::Object),
        }
    }
}

/// White space as JSON has it.
pub(super) const fn is_whitespace(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// The bytes without the white space around them.
pub(crate) fn trim(bytes: &[u8]) -> &[u8] {
    let Some(start) = bytes.iter().position(|byte| !is_whitespace(*byte)) else { return &[] };
    let end = bytes.iter().rposition(|byte| !is_whitespace(*byte)).map_or(start, |last| last + 1);
    bytes.get(start..end).unwrap_or_default()
}
