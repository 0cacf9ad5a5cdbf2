//! The words of a command line.

/// Splits a command into words as shells do, with support for quotes and backslashes only.
pub(crate) fn words(command: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = command.chars();
    while let Some(character) = characters.next() {
        match (character, quote) {
            ('\'' | '"', None) => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (_, Some(open)) if character == open => quote = None,
            ('\\', None | Some('"')) => {
                let escaped = characters.next().ok_or("nothing follows the last backslash")?;
                let word = word.get_or_insert_default();
                // Within double quotes, a shell keeps the backslash in front of any other character.
                if quote.is_some() && !matches!(escaped, '"' | '\\' | '$' | '`') {
                    word.push('\\');
                }
                word.push(escaped);
            }
            (space, None) if space.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    match quote {
        Some(quote) => Err(format!("there is a {quote} that is not closed")),
        None => Ok(words),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_taken_apart_like_in_a_shell() {
        let table = [
            ("a  b\tc", Ok(vec!["a", "b", "c"])),
            (r#"'a b' "c d"e \f\ g """#, Ok(vec!["a b", "c de", "f g", ""])),
            (r"'\n'", Ok(vec![r"\n"])),
            (r#""\d+\.txt" "\"\\\$\`""#, Ok(vec![r"\d+\.txt", r#""\$`"#])),
            (" ", Ok(vec![])),
            ("'a", Err(())),
            ("a\\", Err(())),
        ];
        for (command, expected) in table {
            let expected = expected.map(|words| words.into_iter().map(String::from).collect());
            assert_eq!(words(command).map_err(drop), expected, "{command}");
        }
    }
}
