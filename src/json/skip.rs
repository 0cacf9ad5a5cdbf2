//! Steps over JSON text that is known to be valid, as long as it is one line.
//!
//! What is not JSON, because somebody only says that it is, is never taken for more than a line either.

use super::run::{first_mark, marks, plain_run};
use super::space::is_whitespace;

/// A string without escapes whose first quote has been passed, and what stands behind its last one.
#[inline]
pub(super) fn plain_string(text: &[u8]) -> Option<(&[u8], &[u8])> {
    match text.split_at_checked(plain_run(text))? {
        (inner, [b'"', behind @ ..]) => Some((inner, behind)),
        _ => None,
    }
}

/// What stands behind the value at the beginning.
#[inline]
pub(super) fn behind_value(text: &[u8]) -> Option<&[u8]> {
    match text {
        [b'"', inside @ ..] => behind_string(inside),
        [b'{' | b'[', inside @ ..] => behind_brackets(inside),
        _ => {
            let ends = |byte: &u8| is_whitespace(*byte) || matches!(byte, b',' | b']' | b'}');
            text.get(text.iter().position(ends).unwrap_or(text.len())..)
        }
    }
}

/// What stands behind an object of objects whose first bracket has been passed, if it is one.
pub(super) fn behind_objects(text: &[u8]) -> Option<&[u8]> {
    if let [b'}', behind @ ..] = text {
        return Some(behind);
    }
    let mut rest = text;
    loop {
        let [b'"', key @ ..] = rest else { return None };
        let [b':', b'{', inside @ ..] = behind_string(key)? else { return None };
        rest = match behind_brackets_inlined(inside)? {
            [b',', behind @ ..] => behind,
            [b'}', behind @ ..] => return Some(behind),
            _ => return None,
        };
    }
}

/// What stands behind an object or an array whose first bracket has been passed.
pub(super) fn behind_brackets(text: &[u8]) -> Option<&[u8]> {
    behind_brackets_inlined(text)
}

/// The same by counting brackets, where it is called so often that it had better be no call.
#[inline(always)]
fn behind_brackets_inlined(text: &[u8]) -> Option<&[u8]> {
    let (mut rest, mut depth) = (text, 1_usize);
    while let [byte, behind @ ..] = rest {
        rest = behind;
        if *byte == b'"' {
            rest = match behind_string(behind)? {
                // What comes next nearly always.
                [b':' | b',', behind @ ..] => behind,
                behind => behind,
            };
        } else if *byte | 0x20 == b'{' {
            depth += 1;
        } else if *byte | 0x20 == b'}' {
            depth -= 1;
            if depth == 0 {
                return Some(behind);
            }
        } else if matches!(byte, b'\n' | b'\r') {
            return None;
        }
    }
    None
}

/// What stands behind a string whose first quote has been passed.
#[inline(always)]
pub(super) fn behind_string(text: &[u8]) -> Option<&[u8]> {
    if let Some((word, behind)) = text.split_first_chunk() {
        if let Some(end) = first_marked(word) {
            return behind_quote(text, end);
        }
        if let Some((word, _)) = behind.split_first_chunk()
            && let Some(end) = first_marked(word)
        {
            return behind_quote(behind, end);
        }
    }
    behind_other_string(text)
}

/// Where the first byte of a word is that needs attention.
#[inline(always)]
fn first_marked(word: &[u8; 8]) -> Option<usize> {
    let marks = marks(u64::from_le_bytes(*word));
    if marks == 0 { None } else { Some(first_mark(marks)) }
}

/// What stands behind a string that goes on up to a byte that needs attention.
#[inline(always)]
fn behind_quote(text: &[u8], end: usize) -> Option<&[u8]> {
    match text.get(end..)? {
        [b'"', behind @ ..] => Some(behind),
        rest => behind_other_string(rest),
    }
}

/// The same for strings that are long, or not plain.
#[inline(never)]
fn behind_other_string(text: &[u8]) -> Option<&[u8]> {
    let mut rest = text;
    loop {
        rest = match rest.get(plain_run(rest)..)? {
            [b'"', behind @ ..] => return Some(behind),
            [b'\\', _, behind @ ..] => behind,
            _ => return None,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_stepped_over() {
        let values = [
            "-1.5e3",
            "null",
            "[]",
            r#""""#,
            r#""text""#,
            r#""\"a\" in a text that goes on for a while, and ends with a \\""#,
            r#"{"a":[1,{"b":"]"}],"c":"}\"","d e":" "}"#,
        ];
        for value in values {
            for behind in ["", ",1", "]", "}, and so on for a while"] {
                let text = alloc::format!("{value}{behind}");
                assert_eq!(behind_value(text.as_bytes()), Some(behind.as_bytes()), "{text}");
            }
        }
    }

    #[test]
    fn only_objects_are_taken_for_objects() {
        let behind = |text: &'static str| behind_objects(text.as_bytes());
        assert_eq!(behind("},1"), Some(&b",1"[..]));
        assert_eq!(behind(r#""a":{},"b":{"c":[{}]}},1"#), Some(&b",1"[..]));
        for text in [r#""a":1}"#, r#""a":{},"b":[]}"#, r#""a":null}"#, r#""a":{}"#, r#""a":{},}"#] {
            assert_eq!(behind(text), None, "{text}");
        }
    }

    #[test]
    fn more_than_a_line_is_left_alone() {
        let no_json = "\"a text that goes on for a while\nand is no JSON\"";
        for text in ["{\n}", "[1,\r2]", "{\"a\":\"\n\"}", "{\"\r\":1}", no_json] {
            assert_eq!(behind_value(text.as_bytes()), None, "{text:?}");
        }
    }
}
