//! Output to the terminal. A closed output is no error. Control characters in foreign text are shown and not
//! executed.

use std::borrow::Cow;
use std::io::{IsTerminal, Write};
use std::sync::{Mutex, PoisonError};

/// Prints a line to standard error, and ignores errors.
macro_rules! say {
    ($($argument:tt)*) => {{
        $crate::say::line(&format!($($argument)*));
    }};
}

pub(crate) use say;

/// A function that prints a line.
type Print = Box<dyn FnMut(String) + Send>;

/// The function that prints lines instead of standard error, while a line of the user is being read.
static PRINT: Mutex<Option<Print>> = Mutex::new(None);

/// Prints a line to standard error, or with the function of [`redirect`].
pub(crate) fn line(text: &str) {
    let mut stderr = std::io::stderr();
    let line = shown(text, stderr.is_terminal());
    match &mut *PRINT.lock().unwrap_or_else(PoisonError::into_inner) {
        Some(print) => print(line.into_owned()),
        None => _ = writeln!(stderr, "{line}"),
    }
}

/// Prints lines with this function from now on, or to standard error again.
#[allow(dead_code, reason = "only the interactive mode reads lines")]
pub(crate) fn redirect(print: Option<Print>) {
    *PRINT.lock().unwrap_or_else(PoisonError::into_inner) = print;
}

/// Returns the text for a terminal: it escapes characters that move the cursor, set the title, ring the bell or
/// change the direction of writing. For any other output, the text is unchanged.
pub(crate) fn shown(text: &str, on_terminal: bool) -> Cow<'_, str> {
    if !on_terminal || !text.contains(is_order) {
        return Cow::Borrowed(text);
    }
    let shown = text.chars().map(|character| match is_order(character) {
        true => character.escape_unicode().to_string(),
        false => character.to_string(),
    });
    Cow::Owned(shown.collect())
}

fn is_order(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        _ => character.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn orders_to_a_terminal_are_shown_and_not_followed() {
        let text = "a\u{1b}[2J\u{7}\tb\n\u{202e}c\u{9b}";
        assert_eq!(shown(text, true), "a\\u{1b}[2J\\u{7}\tb\n\\u{202e}c\\u{9b}");
        assert_eq!(shown(text, false), text);
    }
}
