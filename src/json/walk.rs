//! Walks JSON text that has been scanned before, so there is nothing left to check.

use super::scan::is_whitespace;

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
    pub(crate) fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        if found {
            self.at += 1;
        }
        found
    }

    /// The next byte that is not white space.
    pub(crate) fn peek(&mut self) -> Option<u8> {
        while self.byte().is_some_and(is_whitespace) {
            self.at += 1;
        }
        self.byte()
    }

    /// Steps over the next value and lends its text.
    pub(crate) fn value(&mut self) -> Option<&'a str> {
        let first = self.peek()?;
        let start = self.at;
        match first {
            b'"' => self.string()?,
            b'{' | b'[' => self.brackets()?,
            _ => {
                while self
                    .byte()
                    .is_some_and(|byte| !is_whitespace(byte) && !matches!(byte, b',' | b']' | b'}'))
                {
                    self.at += 1;
                }
            }
        }
        self.text.get(start..self.at)
    }

    fn string(&mut self) -> Option<()> {
        self.at += 1;
        loop {
            let rest = self.text.as_bytes().get(self.at..)?;
            let run = memchr::memchr2(b'"', b'\\', rest)?;
            self.at += run;
            if self.byte() == Some(b'"') {
                self.at += 1;
                return Some(());
            }
            self.at += 2;
        }
    }

    fn brackets(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            match self.byte()? {
                b'"' => {
                    self.string()?;
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth = depth.checked_sub(1)?,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return Some(());
            }
        }
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }
}
