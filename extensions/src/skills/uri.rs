//! URIs of skills and of their files: `skill://PATH/SKILL.md`, or any other scheme.

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

use super::SKILL_FILE;

/// The conventional scheme. It has no meaning of its own: a server says which resources are skills.
const SCHEME: &str = "skill://";

/// The characters that are encoded in a segment of a path.
const ENCODED: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'[')
    .add(b'\\')
    .add(b']')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// Returns the URI of a path with the conventional scheme. The first segment is in the place of an authority.
pub(super) fn uri_of(path: &str) -> String {
    let segments = path.split('/').map(|segment| utf8_percent_encode(segment, ENCODED).to_string());
    format!("{SCHEME}{}", segments.collect::<Vec<_>>().join("/"))
}

/// Returns the directory of a `SKILL.md`, without a slash at the end. `None` if the URI does not lead to one.
pub(super) fn directory_of(uri: &str) -> Option<&str> {
    let directory = uri.strip_suffix(SKILL_FILE)?.strip_suffix('/')?;
    let (scheme, path) = directory.split_once("://")?;
    let path = path.strip_prefix('/').unwrap_or(path);
    (is_scheme(scheme) && is_path(path)).then_some(directory)
}

/// Returns the last segment of the directory of a `SKILL.md`, decoded.
pub(super) fn name_in(uri: &str) -> Option<String> {
    let last = directory_of(uri)?.rsplit('/').next()?;
    Some(percent_decode_str(last).decode_utf8().ok()?.into_owned())
}

/// Whether the path of a URI has only segments that name a file or a directory: no empty one, no `.` and `..`, no encoded
/// separator or control character, and no query or fragment.
pub(super) fn is_path(path: &str) -> bool {
    path.split('/').all(|segment| {
        let decoded = percent_decode_str(segment).decode_utf8();
        decoded.is_ok_and(|name| is_segment(&name)) && !segment.contains(['?', '#'])
    })
}

/// Whether a decoded name can be a segment of a path.
pub(super) fn is_segment(name: &str) -> bool {
    !matches!(name, "" | "." | "..")
        && !name.contains(['/', '\\'])
        && !name.chars().any(char::is_control)
}

/// Whether a URI has a scheme of RFC 3986.
fn is_scheme(scheme: &str) -> bool {
    scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
}

/// Returns the last segment of a URI, decoded.
pub(super) fn last_of(uri: &str) -> String {
    let last = uri.rsplit('/').next().unwrap_or_default();
    percent_decode_str(last).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn a_uri_leads_to_the_name_of_the_skill() {
        for (uri, name) in [
            ("skill://refunds/SKILL.md", Some("refunds")),
            ("skill://acme/billing/refunds/SKILL.md", Some("refunds")),
            ("github://owner/repository/skills/refunds/SKILL.md", Some("refunds")),
            ("file:///skills/re%66unds/SKILL.md", Some("refunds")),
            ("skill://SKILL.md", None),
            ("skill:///SKILL.md", None),
            ("skill://refunds/skill.md", None),
            ("skill://refunds/aSKILL.md", None),
            ("skill://a/../refunds/SKILL.md", None),
            ("skill://a/%2e%2E/SKILL.md", None),
            ("skill://a%2Frefunds/SKILL.md", None),
            ("skill://a//SKILL.md", None),
            ("skill://a?b/SKILL.md", None),
            ("://a/SKILL.md", None),
            ("x?y#z://refunds/SKILL.md", None),
            ("skill://a\u{1b}/SKILL.md", None),
            ("skill://a%1b/SKILL.md", None),
            ("refunds/SKILL.md", None),
            ("", None),
        ] {
            assert_eq!(name_in(uri).as_deref(), name, "{uri}");
        }
    }

    #[test]
    fn paths_are_encoded() {
        assert_eq!(uri_of("a b/ü?#%/c"), "skill://a%20b/%C3%BC%3F%23%25/c");
        assert_eq!(percent_decode_str(&uri_of("x/ü?")).decode_utf8().unwrap(), "skill://x/ü?");
    }
}
