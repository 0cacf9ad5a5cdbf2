//! [`Misfit`]: the reason why a value does not fit the protocol, and its path in the payload.

use core::fmt::{self, Display, Write};

/// The reason why a value does not fit the protocol.
///
/// The author of the value is at fault: the application for a value to be sent, the peer for a received one. The text
/// contains the path of the value: `tools[0].inputSchema.type is missing`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Misfit {
    /// The innermost member on the path of the value; empty if the payload itself does not fit.
    pub field: &'static str,
    /// The kind of the problem.
    pub problem: Problem,
    /// The path of the value; `None` if the field is a member of the payload itself.
    ///
    /// Writing `None` costs one byte, and some errors are built without being needed.
    path: Option<Path>,
}

/// The kind of a problem with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Problem {
    /// A required value is missing.
    Missing,
    /// The value has the wrong type.
    WrongType,
    /// The value has the right type, but the protocol does not allow it.
    NotAllowed,
    /// The revision in use does not have the value, and omitting it would change the meaning of the message.
    NotInRevision,
}

impl Misfit {
    pub(super) const fn new(problem: Problem) -> Self {
        Self::at("", problem)
    }

    pub(crate) const fn at(field: &'static str, problem: Problem) -> Self {
        Self { field, problem, path: None }
    }

    /// Returns the path of the value in the params, the result or the error data: `tools[0].inputSchema.type`. Empty
    /// for the payload itself.
    ///
    /// A path of more than 61 bytes is cut and lacks its innermost steps.
    ///
    /// A key of a map is shown as `*` if it is long or contains characters other than ASCII letters, digits, `_`,
    /// `-`, `.` and `/`. Keys of received maps are always shown as `*`.
    pub fn path(&self) -> &str {
        self.path.as_ref().map_or(self.field, Path::as_str)
    }

    /// Returns the misfit in an outer payload that holds this payload in the named member.
    #[cold]
    pub(crate) fn inside(self, member: &'static str) -> Self {
        let field = if self.field.is_empty() { member } else { self.field };
        if self.path().is_empty() {
            return Self { field, ..self };
        }
        Self { field, ..self.behind(member) }
    }

    /// Returns the misfit in an array that holds this payload at the index.
    #[cold]
    pub(crate) fn in_element(self, index: usize) -> Self {
        self.behind(format_args!("[{index}]"))
    }

    /// Returns the misfit in a map that holds this payload under the key.
    #[cold]
    pub(crate) fn in_entry(self, key: &str) -> Self {
        const LONGEST: usize = 24;
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte);
        let is_shown = (1..=LONGEST).contains(&key.len()) && key.bytes().all(is_plain);
        self.behind(if is_shown { key } else { "*" })
    }

    /// Returns the misfit with a step added at the front of its path.
    fn behind(self, step: impl Display) -> Self {
        let mut path = Path::EMPTY;
        let inner = self.path();
        let dot = if inner.is_empty() || inner.starts_with('[') { "" } else { "." };
        // Writing to a path cannot fail.
        _ = write!(path, "{step}{dot}{inner}");
        path.is_cut |= self.path.is_some_and(|path| path.is_cut);
        Self { path: Some(path), ..self }
    }
}

impl Display for Misfit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path() {
            "" => formatter.write_str("the value")?,
            path => formatter.write_str(path)?,
        }
        if self.path.is_some_and(|path| path.is_cut) {
            write!(formatter, "….{}", self.field)?;
        }
        formatter.write_str(match self.problem {
            Problem::Missing => " is missing",
            Problem::WrongType => " has the wrong type",
            Problem::NotAllowed => " has a value that is not allowed",
            Problem::NotInRevision => " does not exist in this revision",
        })
    }
}

/// The text of a path, stored inline so that errors are `Copy` and need no allocation.
///
/// The path grows while an error is passed up, one leading step at a time. Invariant: the text is ASCII, and all
/// bytes behind it are 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Path {
    /// The length makes a [`Misfit`] 80 bytes large on 64-bit targets.
    text: [u8; 61],
    length: u8,
    /// Whether the innermost steps were cut off.
    is_cut: bool,
}

impl Path {
    const EMPTY: Self = Self { text: [0; 61], length: 0, is_cut: false };

    /// Returns the text, which ends with a whole step.
    fn as_str(&self) -> &str {
        let text = self.text.get(..usize::from(self.length));
        let text = text.and_then(|text| core::str::from_utf8(text).ok()).unwrap_or_default();
        match text.rfind(['.', '[']) {
            Some(end) if self.is_cut => text.get(..end).unwrap_or_default(),
            _ => text,
        }
    }
}

impl Write for Path {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            match self.text.get_mut(usize::from(self.length)) {
                Some(place) => (*place, self.length) = (byte, self.length + 1),
                None => self.is_cut = true,
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Path {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), formatter)
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn a_path_is_written_from_the_outside_in() {
        let missing = Misfit::at("type", Problem::Missing);
        assert_eq!(missing.to_string(), "type is missing");
        let tool = missing.inside("inputSchema").in_element(0);
        assert_eq!(tool.to_string(), "[0].inputSchema.type is missing");
        let list = tool.inside("tools");
        assert_eq!((list.path(), list.field), ("tools[0].inputSchema.type", "type"));
        let element = Misfit::new(Problem::WrongType).in_element(12).inside("required");
        assert_eq!(element.to_string(), "required[12] has the wrong type");
        assert_eq!((element.path(), element.field), ("required[12]", "required"));
        assert_eq!(Misfit::new(Problem::Missing).to_string(), "the value is missing");
    }

    #[test]
    fn a_step_that_changes_nothing_leaves_the_misfit_as_it_was_made() {
        let made = Misfit::at("uri", Problem::Missing);
        assert_eq!(Misfit::new(Problem::Missing).inside("uri"), made);
    }

    /// Keys come from the application or the peer, and appear in texts for people and terminals.
    #[test]
    fn only_short_and_plain_keys_are_shown() {
        let table = [
            ("city", "city"),
            ("io.example/a_b-1", "io.example/a_b-1"),
            ("abcdefghijklmnopqrstuvwxyz", "*"),
            ("", "*"),
            ("\u{1b}[2J", "*"),
            ("Straße", "*"),
        ];
        for (key, shown) in table {
            let misfit = Misfit::at("type", Problem::Missing).in_entry(key).inside("properties");
            assert_eq!(misfit.path(), alloc::format!("properties.{shown}.type"));
        }
    }

    #[test]
    fn a_long_path_keeps_its_outermost_steps_and_the_field() {
        let mut misfit = Misfit::at("uri", Problem::Missing).inside("resource");
        for _ in 0..20 {
            misfit = misfit.in_element(1000).inside("content");
        }
        let outer = "content[1000].content[1000].content[1000].content[1000]";
        assert_eq!((misfit.path(), misfit.field), (outer, "uri"));
        assert_eq!(misfit.to_string(), alloc::format!("{outer}….uri is missing"));
        assert_eq!(size_of::<Misfit>(), 64 + size_of::<&str>());
    }
}
