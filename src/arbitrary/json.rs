//! [`Json`], a generator of JSON text from fuzzer input, in all valid spellings.

use alloc::string::{String, ToString};

use arbitrary::{Error, Result, Unstructured};

use super::text;
use crate::json::{Number, Raw};

/// The maximum nesting depth of a generated value. The enclosing message takes a few of the 127 levels that can be
/// decoded.
const DEEPEST: u8 = 4;

/// Numbers that are difficult for programs: they fit no integer, or no `f64`, or have an unusual spelling.
const ODD_NUMBERS: [&str; 8] =
    ["-0", "1.0", "1e2", "1E+2", "0.1e-7", "18446744073709551616", "1e400", "1e-400"];

/// A builder of JSON text.
pub(super) struct Json<'b, 'u> {
    bytes: &'b mut Unstructured<'u>,
    text: String,
    /// The white space before keys, values and elements.
    space: &'static str,
    /// The number of levels that remain for the next value.
    levels: u8,
}

impl<'b, 'u> Json<'b, 'u> {
    /// Returns the value that `value` writes.
    pub(super) fn write(
        bytes: &'b mut Unstructured<'u>,
        value: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<Raw<'static>> {
        let space = bytes.choose(&["", " ", "\n\t"])?;
        let mut json = Self { bytes, text: String::new(), space, levels: DEEPEST };
        value(&mut json)?;
        Raw::try_from(json.text).map_err(|_| Error::IncorrectFormat)
    }

    pub(super) fn value(&mut self) -> Result<()> {
        match self.bytes.int_in_range(0..=if self.levels == 0 { 4 } else { 6 })? {
            0 => self.text.push_str("null"),
            1 => self.text.push_str("false"),
            2 => self.text.push_str("true"),
            3 => self.number()?,
            4 => self.any_string()?,
            5 => self.array()?,
            _ => self.object()?,
        }
        Ok(())
    }

    fn number(&mut self) -> Result<()> {
        if self.bytes.ratio(1, 4)? {
            self.text.push_str(self.bytes.choose(&ODD_NUMBERS)?);
        } else {
            self.text.push_str(&self.bytes.arbitrary::<Number>()?.to_string());
        }
        Ok(())
    }

    pub(super) fn integer(&mut self) -> Result<()> {
        self.text.push_str(&self.bytes.arbitrary::<i64>()?.to_string());
        Ok(())
    }

    fn array(&mut self) -> Result<()> {
        self.nested('[', ']', Self::value)
    }

    pub(super) fn object(&mut self) -> Result<()> {
        self.nested('{', '}', |json| {
            json.string()?;
            json.text.push(':');
            json.text.push_str(json.space);
            json.value()
        })
    }

    /// Writes any number of items, one level deeper.
    fn nested(
        &mut self,
        open: char,
        close: char,
        mut item: impl FnMut(&mut Self) -> Result<()>,
    ) -> Result<()> {
        self.levels = self.levels.saturating_sub(1);
        self.text.push(open);
        let mut separator = "";
        while self.bytes.arbitrary()? {
            self.text.extend([separator, self.space]);
            item(self)?;
            separator = ",";
        }
        self.text.push(close);
        self.levels = self.levels.saturating_add(1);
        Ok(())
    }

    /// Writes an object whose member of this name is an unknown string.
    pub(super) fn unknown(&mut self, member: &str) -> Result<()> {
        self.object()?;
        self.text.pop();
        // The member comes last, because the last of several members of one name counts.
        let separator = if self.text == "{" { "" } else { "," };
        self.text.extend([separator, "\"", member, "\":\"unknown/"]);
        let name = text(self.bytes)?;
        self.characters(&name, false);
        self.text.push_str("\"}");
        Ok(())
    }

    /// Writes a string, which may end with a lone surrogate.
    pub(super) fn any_string(&mut self) -> Result<()> {
        self.string()?;
        if self.bytes.ratio(1, 16)? && self.text.pop().is_some() {
            self.text.push_str("\\ud83d\"");
        }
        Ok(())
    }

    pub(super) fn string(&mut self) -> Result<()> {
        let characters = text(self.bytes)?;
        let escaped = self.bytes.ratio(1, 4)?;
        self.text.push('"');
        self.characters(&characters, escaped);
        self.text.push('"');
        Ok(())
    }

    /// Writes the characters of a string, all of them as escapes or only the mandatory ones.
    fn characters(&mut self, characters: &str, escaped: bool) {
        for character in characters.chars() {
            match character {
                '"' | '\\' => self.text.extend(['\\', character]),
                '/' if escaped => self.text.push_str("\\/"),
                '\n' => self.text.push_str("\\n"),
                '\0'..='\x1f' => self.escape(character),
                _ if escaped => self.escape(character),
                _ => self.text.push(character),
            }
        }
    }

    fn escape(&mut self, character: char) {
        for unit in character.encode_utf16(&mut [0; 2]) {
            self.text.push_str(&alloc::format!("\\u{unit:04x}"));
        }
    }
}
