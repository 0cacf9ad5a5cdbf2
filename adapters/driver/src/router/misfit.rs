//! Describes invalid arguments and their position.

use std::error::Error;

use mcp_sansio::json::ParseError;

/// Returns a description of invalid arguments with the path of the error. The usual reader is a model that tries
/// again.
pub(super) fn misfit(arguments: &str, error: &ParseError) -> String {
    let Some(cause) = error.source().and_then(|source| source.downcast_ref::<serde_json::Error>())
    else {
        return format!("the arguments do not fit: {error}");
    };
    let (line, column) = (cause.line(), cause.column());
    let text = cause.to_string();
    // The caller wrote the arguments on one line of its own, so a path is more useful than line and column.
    let text = text.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&text);
    let before = arguments.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len);
    let path = path_at(arguments, before.sum::<usize>() + column);
    match path.as_str() {
        "" => format!("the arguments do not fit: {text}"),
        path => format!("the arguments do not fit: {path}: {text}"),
    }
}

/// The position of a decoder within one level of nesting.
enum DecoderPosition<'a> {
    /// The object or array as a whole.
    Whole,
    Member(&'a str),
    Element(usize),
}

/// Returns the path of the value at which a decoder stopped after `read` bytes: `orders[2].price`.
fn path_at(text: &str, read: usize) -> String {
    let mut places = Vec::new();
    // The last string, which may be the name of a member.
    let mut string = "";
    let mut string_start = None;
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate().take(read) {
        if let Some(start) = string_start {
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' => is_escaped = true,
                b'"' => {
                    string = text.get(start..at).unwrap_or_default();
                    string_start = None;
                }
                _ => {}
            }
            continue;
        }
        match (byte, places.last_mut()) {
            (b'"', _) => string_start = Some(at + 1),
            (b'{', _) => places.push(DecoderPosition::Whole),
            (b'[', _) => places.push(DecoderPosition::Element(0)),
            (b':', Some(place)) => *place = DecoderPosition::Member(string),
            (b',', Some(DecoderPosition::Element(index))) => *index += 1,
            (b',', Some(place)) => *place = DecoderPosition::Whole,
            // An error at the end of a value concerns the whole value.
            (b'}' | b']', Some(place)) if at + 1 == read => *place = DecoderPosition::Whole,
            (b'}' | b']', _) => _ = places.pop(),
            _ => {}
        }
    }
    let mut path = String::new();
    for place in places {
        match place {
            DecoderPosition::Whole => {}
            DecoderPosition::Member(name) if path.is_empty() => path.push_str(name),
            DecoderPosition::Member(name) => path.extend([".", name]),
            DecoderPosition::Element(index) => path.push_str(&format!("[{index}]")),
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use mcp_sansio::json::Raw;
    use serde::de::DeserializeOwned;
    use serde_json::Value;

    use super::*;

    type Orders = std::collections::BTreeMap<String, Vec<(u8, Option<String>)>>;

    fn misfit_text<T: DeserializeOwned>(arguments: &str) -> String {
        let raw = Raw::new(arguments).unwrap();
        let text = misfit(arguments, &raw.parse::<T>().map(|_| ()).unwrap_err());
        text.strip_prefix("the arguments do not fit: ").unwrap().to_owned()
    }

    #[test]
    fn the_place_is_named() {
        let table = [
            ("[]", "invalid type: sequence, expected a map"),
            (r#"{"a\",b" : 1}"#, r#"a\",b: invalid type: integer `1`, expected a sequence"#),
            (r#"{"a":[],"b":{"c":[]}}"#, "b: invalid type: map, expected a sequence"),
            (r#"{"a":[[1,"x"],[2]]}"#, "a[1]: invalid length 1, expected a tuple of size 2"),
            (
                "{\n\"a\":\n[[1, null], [\"é\", null]]}",
                r#"a[1][0]: invalid type: string "é", expected u8"#,
            ),
            (r#"{"a":[[1,[]]]}"#, "a[0][1]: invalid type: sequence, expected a string"),
            (r#"{"a":[[256,null]]}"#, "a[0][0]: invalid value: integer `256`, expected u8"),
        ];
        for (arguments, text) in table {
            assert_eq!(misfit_text::<Orders>(arguments), text, "{arguments}");
        }
    }

    #[derive(Debug, serde::Deserialize)]
    #[allow(dead_code, reason = "it is only decoded")]
    struct Outer {
        inner: Inner,
    }

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code, reason = "it is only decoded")]
    struct Inner {
        wanted: Value,
    }

    #[test]
    fn a_member_that_is_missing_is_named_with_the_object_that_misses_it() {
        assert_eq!(misfit_text::<Outer>("{}"), "missing field `inner`");
        assert_eq!(misfit_text::<Outer>(r#"{"inner":{}}"#), "inner: missing field `wanted`");
        let more = r#"{"inner":{"wanted":1,"more":{}}}"#;
        assert_eq!(misfit_text::<Outer>(more), "inner: unknown field `more`, expected `wanted`");
    }
}
