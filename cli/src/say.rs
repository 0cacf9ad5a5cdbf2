//! Output to the terminal. A closed output is no error. Control characters in foreign text are shown and not
//! executed.

use std::borrow::Cow;
use std::io::{IsTerminal, Write};
use std::sync::mpsc::Sender;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Prints a line to standard error, and ignores errors.
macro_rules! say {
    ($($argument:tt)*) => {{
        $crate::say::line(&format!($($argument)*));
    }};
}

pub(crate) use say;

/// Shows progress: on a terminal in one line, which the next line replaces; elsewhere in a line of its own.
#[allow(unused_macros, reason = "the gateway shows no progress")]
macro_rules! show_progress {
    ($($argument:tt)*) => {{
        $crate::say::progress(&format!($($argument)*));
    }};
}

#[allow(unused_imports, reason = "the gateway shows no progress")]
pub(crate) use show_progress;

/// The output of lines.
struct Lines {
    /// Receives lines instead of standard error, while a line of the user is being read. Sending never blocks.
    reader: Option<Sender<String>>,
    /// Changes an escaped line for a terminal.
    style: fn(&str) -> String,
    /// Whether the last line on the terminal shows progress.
    has_progress: bool,
}

static LINES: Mutex<Lines> =
    Mutex::new(Lines { reader: None, style: |line| line.to_owned(), has_progress: false });

/// The control sequence that clears the line of the cursor.
const CLEARED: &str = "\r\u{1b}[K";

/// The most characters of progress, so that it fits on a line of any terminal.
const MOST: usize = 78;

/// Prints a line to standard error, or passes it to the receiver of [`redirect`].
pub(crate) fn line(text: &str) {
    let mut stderr = std::io::stderr();
    let mut lines = lines();
    if let Some(reader) = &lines.reader {
        // It is printed on the terminal, wherever standard error goes.
        let line = (lines.style)(&shown(text, true));
        _ = reader.send(line);
        return;
    }
    let clear = if std::mem::take(&mut lines.has_progress) { CLEARED } else { "" };
    let line = shown(text, stderr.is_terminal());
    let line = if stderr.is_terminal() { (lines.style)(&line) } else { line.into_owned() };
    // In one write: a server writes to standard error as well, and its text would split the line.
    _ = stderr.write_all(format!("{clear}{line}\n").as_bytes());
}

/// Shows progress: see `show_progress`.
#[allow(dead_code, reason = "the gateway shows no progress")]
pub(crate) fn progress(text: &str) {
    let mut stderr = std::io::stderr();
    if !stderr.is_terminal() || is_redirected() {
        return line(text);
    }
    let mut lines = lines();
    let line = shown(text, true).replace('\n', " ");
    let line: String = line.chars().take(MOST).collect();
    lines.has_progress = true;
    _ = stderr.write_all(format!("{CLEARED}{line}").as_bytes());
}

/// Removes the line of progress, if there is one.
#[allow(dead_code, reason = "the gateway shows no progress")]
pub(crate) fn end_progress() {
    let mut lines = lines();
    if std::mem::take(&mut lines.has_progress) {
        let mut stderr = std::io::stderr();
        _ = stderr.write_all(CLEARED.as_bytes());
    }
}

/// Passes lines to this receiver from now on, or prints them to standard error again.
#[allow(dead_code, reason = "only the interactive mode reads lines")]
pub(crate) fn redirect(reader: Option<Sender<String>>) {
    lines().reader = reader;
}

/// Whether a line of the user is being read.
#[allow(dead_code, reason = "only the interactive mode reads lines")]
pub(crate) fn is_redirected() -> bool {
    lines().reader.is_some()
}

/// Sets the style of lines on a terminal.
#[allow(dead_code, reason = "the gateway has no colours")]
pub(crate) fn set_style(style: fn(&str) -> String) {
    lines().style = style;
}

fn lines() -> MutexGuard<'static, Lines> {
    LINES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the text for a terminal: it escapes characters that move the cursor, set the title, ring the bell or
/// change the direction of writing. For any other output, the text is unchanged.
pub(crate) fn shown(text: &str, on_terminal: bool) -> Cow<'_, str> {
    if !on_terminal || !text.contains(is_control) {
        return Cow::Borrowed(text);
    }
    let shown = text.chars().map(|character| match is_control(character) {
        true => character.escape_unicode().to_string(),
        false => character.to_string(),
    });
    Cow::Owned(shown.collect())
}

/// Whether a terminal would execute the character instead of showing it.
pub(crate) fn is_control(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            true
        }
        _ => character.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn orders_to_a_terminal_are_shown_and_not_followed() {
        let text = "a\u{1b}[2J\u{7}\tb\n\u{202e}c\u{9b}\u{61c}";
        assert_eq!(shown(text, true), "a\\u{1b}[2J\\u{7}\tb\n\\u{202e}c\\u{9b}\\u{61c}");
        assert_eq!(shown(text, false), text);
    }
}
