//! The words of a command line.

/// A word, without its quotes, and the place where it starts in the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: String,
    pub(super) start: usize,
}

/// Splits a line into words at white space. Single and double quotes keep white space; a backslash within double quotes
/// escapes a quote or a backslash.
pub(super) fn words(line: &str) -> Result<Vec<Word>, String> {
    let (words, is_open) = split(line);
    // JSON has quotes of its own, which may span words.
    if is_open { Err("a quote is not closed".into()) } else { Ok(words) }
}

/// Splits the beginning of a line. The last word is the one that is being written, possibly empty.
pub(super) fn words_before(line: &str) -> (Vec<Word>, Word) {
    let (mut words, is_open) = split(line);
    if !is_open && line.ends_with(char::is_whitespace) || words.is_empty() {
        return (words, Word { text: String::new(), start: line.len() });
    }
    let last = words.pop().unwrap_or(Word { text: String::new(), start: line.len() });
    (words, last)
}

fn split(line: &str) -> (Vec<Word>, bool) {
    let mut words: Vec<Word> = Vec::new();
    let (mut quote, mut is_in_word, mut is_escaped) = (None, false, false);
    for (at, character) in line.char_indices() {
        if !is_in_word && quote.is_none() && !character.is_whitespace() {
            words.push(Word { text: String::new(), start: at });
            is_in_word = true;
        }
        let Some(word) = words.last_mut() else { continue };
        match (quote, character) {
            _ if is_escaped => {
                is_escaped = false;
                if !matches!(character, '"' | '\\') {
                    word.text.push('\\');
                }
                word.text.push(character);
            }
            (Some('"'), '\\') => is_escaped = true,
            (Some(open), _) if open == character => quote = None,
            (None, '"' | '\'') => quote = Some(character),
            (None, _) if character.is_whitespace() => is_in_word = false,
            _ => word.text.push(character),
        }
    }
    (words, quote.is_some())
}

/// Returns a value as it must be written in a line.
pub(super) fn quoted(value: &str) -> String {
    let is_plain = |character: char| !character.is_whitespace() && !matches!(character, '"' | '\'');
    if !value.is_empty() && value.chars().all(is_plain) {
        return value.to_owned();
    }
    let mut text = String::from('"');
    for character in value.chars() {
        if matches!(character, '"' | '\\') {
            text.push('\\');
        }
        text.push(character);
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(line: &str) -> Vec<String> {
        words(line).unwrap().into_iter().map(|word| word.text).collect()
    }

    #[test]
    fn quotes_keep_white_space() {
        assert_eq!(texts(r#" a  b="c d" 'e "f"' g\h "#), ["a", "b=c d", r#"e "f""#, r"g\h"]);
        assert_eq!(texts(r#""a\"b\\c\d""#), [r#"a"b\c\d"#]);
        assert_eq!(texts("''"), [""]);
        assert!(texts("  ").is_empty());
        let starts: Vec<usize> =
            words("ab  \"c\" d").unwrap().iter().map(|word| word.start).collect();
        assert_eq!(starts, [0, 4, 8]);
    }

    #[test]
    fn a_quoted_value_is_read_again() {
        for value in ["", "a", "a b", "a\"b", "a'b", r"a\b", "a \\\" b", "ä ö"] {
            assert_eq!(texts(&quoted(value)), [value]);
        }
    }

    #[test]
    fn the_word_at_the_end_is_being_written() {
        let last = |line| {
            let (before, last) = words_before(line);
            (before.len(), last.text, last.start)
        };
        assert_eq!(last(""), (0, String::new(), 0));
        assert_eq!(last("ca"), (0, "ca".into(), 0));
        assert_eq!(last("call "), (1, String::new(), 5));
        assert_eq!(last("call t a=\"b "), (2, "a=b ".into(), 7));
    }
}
