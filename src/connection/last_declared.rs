//! `LastDeclared`: what the capabilities of the last request without a session meant.

use alloc::boxed::Box;
use alloc::string::String;
use core::fmt;
use core::hash::{Hash, Hasher};

use crate::capability::{CapabilitySet, ExtensionSet};

/// The text of the capabilities that a client declared last, and what it means.
///
/// A client declares the same capabilities in every request that belongs to no session. Text that equals the
/// remembered text means the same, so it is compared instead of read again. The memory is at most
/// [`LONGEST`](Self::LONGEST) bytes of text, in a box that is allocated when there is something to remember.
///
/// It is a cache and no state: the answer to a request is the same with and without it. So two machines that differ
/// only here are equal, and `Debug` does not show the text of the peer.
#[derive(Clone, Default)]
pub(crate) struct LastDeclared(Option<Box<Declaration>>);

/// What a `capabilities` member means to this side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Meaning {
    pub(crate) capabilities: CapabilitySet,
    /// Those extensions that this side has, too.
    pub(crate) extensions: ExtensionSet,
}

#[derive(Clone)]
struct Declaration {
    text: String,
    meaning: Meaning,
}

impl LastDeclared {
    /// Nothing has been declared.
    pub(crate) const NONE: Self = Self(None);

    /// The longest text in bytes that is remembered. Capabilities of today's clients are shorter than 200 bytes.
    const LONGEST: usize = 512;

    /// What this text means: remembered, or else read now. Text that cannot be read is not remembered.
    #[inline]
    pub(crate) fn meaning_of(
        &mut self,
        text: &str,
        read: impl FnOnce(&str) -> Option<Meaning>,
    ) -> Option<Meaning> {
        if let Some(last) = &self.0
            && last.text == text
        {
            return Some(last.meaning);
        }
        let meaning = read(text)?;
        if text.len() <= Self::LONGEST {
            self.remember(text, meaning);
        }
        Some(meaning)
    }

    #[cold]
    fn remember(&mut self, text: &str, meaning: Meaning) {
        match &mut self.0 {
            Some(last) => {
                last.text.clear();
                last.text.push_str(text);
                last.meaning = meaning;
            }
            None => self.0 = Some(Box::new(Declaration { text: String::from(text), meaning })),
        }
    }
}

impl PartialEq for LastDeclared {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for LastDeclared {}

impl Hash for LastDeclared {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl fmt::Debug for LastDeclared {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(last) => write!(formatter, "LastDeclared({} bytes)", last.text.len()),
            None => formatter.write_str("LastDeclared(none)"),
        }
    }
}

#[cfg(test)]
#[path = "last_declared_tests.rs"]
mod tests;
