//! Colours on a terminal. They are added to text whose control characters were escaped.

use std::env;
use std::fmt::Write;

use anstyle::{AnsiColor, Style};

const TITLE: Style = Style::new().bold();
const NAME: Style = AnsiColor::Cyan.on_default();
const ERROR: Style = AnsiColor::Red.on_default().bold();

/// Whether the user wants colours on a terminal: see <https://no-color.org>.
pub(crate) fn is_wanted() -> bool {
    let is_set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
    !is_set("NO_COLOR") && env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Colours a list: its titles, and the names of its entries.
pub(crate) fn listing(text: &str) -> String {
    let mut coloured = String::new();
    for line in text.split_inclusive('\n') {
        let (style, part, rest) = match line.strip_prefix("  ") {
            // An argument, or a further line of a description.
            Some(entry) if entry.starts_with(' ') => {
                coloured.push_str(line);
                continue;
            }
            Some(entry) => {
                coloured.push_str("  ");
                let end = entry.find(": ").unwrap_or_else(|| entry.trim_end().len());
                let (name, rest) = entry.split_at(end);
                (NAME, name, rest)
            }
            None => {
                let end = line.find(':').unwrap_or_default();
                let (title, rest) = line.split_at(end);
                (TITLE, title, rest)
            }
        };
        push(&mut coloured, style, part);
        coloured.push_str(rest);
    }
    coloured
}

/// Colours the name of the program in front of an error.
pub(crate) fn error(line: &str) -> String {
    let Some(error) = line.strip_prefix("inspect: ") else { return line.to_owned() };
    let mut coloured = String::new();
    push(&mut coloured, ERROR, "inspect:");
    coloured + " " + error
}

fn push(text: &mut String, style: Style, part: &str) {
    if part.is_empty() {
        return;
    }
    // Writing to a string cannot fail.
    _ = write!(text, "{style}{part}{style:#}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_and_names_are_coloured() {
        let text =
            "revision: 2025-11-25 (x)\n\ntools: 2\n  echo: Says: it\n    text (string)\n  bare\n";
        let expected = "\u{1b}[1mrevision\u{1b}[0m: 2025-11-25 (x)\n\n\u{1b}[1mtools\u{1b}[0m: 2\n  \
                        \u{1b}[36mecho\u{1b}[0m: Says: it\n    text (string)\n  \u{1b}[36mbare\u{1b}[0m\n";
        assert_eq!(listing(text), expected);
        assert_eq!(listing(""), "");
        assert_eq!(error("inspect: no"), "\u{1b}[1m\u{1b}[31minspect:\u{1b}[0m no");
        assert_eq!(error("other"), "other");
    }
}
