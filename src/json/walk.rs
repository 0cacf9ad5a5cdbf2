//! Walks JSON text that has been scanned before, so there is nothing left to check.

use super::name::Name;
use super::run::scanned_run;
use super::space::{behind_space, is_whitespace};

/// A position in text that is known to be valid JSON. On text that is not, it ends early.
#[derive(Clone, Copy)]
pub(crate) struct Walk<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Walk<'a> {
    pub(crate) const fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// Steps over the next byte if it is this one, after white space.
    #[inline]
    pub(crate) fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        if found {
            self.at += 1;
        }
        found
    }

    /// Steps into an object or an array. Says whether there is something in it; if there is not, it has
    /// been stepped over.
    #[inline]
    pub(super) fn enter(&mut self, open: u8, close: u8) -> bool {
        self.take(open) && !self.take(close)
    }

    /// Steps over what stands behind a member or an element. Says whether another one follows.
    #[inline]
    pub(super) fn goes_on(&mut self, close: u8) -> bool {
        let next = self.peek();
        let goes_on = next == Some(b',');
        if goes_on || next == Some(close) {
            self.at += 1;
        }
        goes_on
    }

    /// The next byte that is not white space.
    #[inline(always)]
    pub(crate) fn peek(&mut self) -> Option<u8> {
        self.at = behind_space(self.text.as_bytes(), self.at);
        self.byte()
    }

    /// What is still to come.
    pub(super) fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Steps over so many bytes and lends them.
    pub(super) fn advance(&mut self, bytes: usize) -> &'a str {
        let start = self.at;
        self.at = start.saturating_add(bytes);
        self.text.get(start..self.at).unwrap_or_default()
    }

    /// Steps over the next value and lends its text.
    #[inline]
    pub(crate) fn value(&mut self) -> Option<&'a str> {
        let first = self.peek()?;
        let start = self.at;
        match first {
            b'"' => {
                self.string()?;
            }
            b'{' | b'[' => self.at += brackets_length(self.text.as_bytes().get(start..)?)?,
            _ => self.scalar(),
        }
        self.text.get(start..self.at)
    }

    /// Steps over a key and its colon.
    #[inline]
    pub(super) fn key(&mut self) -> Option<Name<'a>> {
        if self.peek() != Some(b'"') {
            return None;
        }
        let start = self.at + 1;
        let has_escapes = self.string()?;
        let text = self.text.get(start..self.at - 1)?;
        self.take(b':');
        Some(Name::new(text, has_escapes))
    }

    /// Steps over a number, `true`, `false` or `null`.
    fn scalar(&mut self) {
        let ends = |byte| is_whitespace(byte) || matches!(byte, b',' | b']' | b'}');
        while self.byte().is_some_and(|byte| !ends(byte)) {
            self.at += 1;
        }
    }

    /// Steps over a string. Says whether it has escapes.
    #[inline(always)]
    fn string(&mut self) -> Option<bool> {
        self.at += 1;
        let mut has_escapes = false;
        loop {
            self.at += scanned_run(self.text.as_bytes().get(self.at..)?);
            match self.byte()? {
                b'"' => {
                    self.at += 1;
                    return Some(has_escapes);
                }
                b'\\' => {
                    has_escapes = true;
                    self.at += 2;
                }
                // What else is raw in a string has been reported when it was scanned.
                _ => self.at += 1,
            }
        }
    }

    #[inline(always)]
    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }
}

/// The length of the value at the beginning of text that is known to be valid JSON.
#[inline]
pub(super) fn value_length(text: &[u8]) -> Option<usize> {
    match text.first()? {
        b'"' => Some(text.len() - behind_string(text.get(1..)?)?.len()),
        b'{' | b'[' => brackets_length(text),
        _ => {
            let ends = |byte: &u8| is_whitespace(*byte) || matches!(byte, b',' | b']' | b'}');
            Some(text.iter().position(ends).unwrap_or(text.len()))
        }
    }
}

/// The length of the object or array at the beginning, by counting brackets.
fn brackets_length(text: &[u8]) -> Option<usize> {
    let (mut rest, mut depth) = (text, 0_usize);
    loop {
        let (byte, behind) = rest.split_first()?;
        rest = behind;
        match byte {
            b'"' => rest = behind_string(behind)?,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(text.len() - behind.len());
                }
            }
            _ => {}
        }
    }
}

/// What stands behind a string whose first quote has been passed.
#[inline(always)]
fn behind_string(text: &[u8]) -> Option<&[u8]> {
    let mut rest = text;
    loop {
        rest = match rest.get(scanned_run(rest)..)? {
            [b'"', behind @ ..] => return Some(behind),
            // What is raw in a string has been reported when it was scanned.
            [b'\\', _, behind @ ..] | [_, behind @ ..] => behind,
            [] => return None,
        };
    }
}
