//! Resolution of the URL that a server of 2024-11-05 announces in its `endpoint` event.

use alloc::format;
use alloc::string::String;

/// Resolves a reference against the URL of an event stream; `None` if it is invalid or leads to another origin.
///
/// A party that can write to the event stream must not be able to redirect messages and their credentials.
pub(super) fn resolve(base: &str, reference: &str) -> Option<String> {
    let reference = reference.trim();
    if reference.is_empty() || !reference.bytes().all(|byte| matches!(byte, b'!'..=b'~')) {
        return None;
    }
    let (origin, path) = split(base)?;
    let reference = reference.split('#').next()?;
    if let Some(authority) = reference.strip_prefix("//") {
        let scheme = origin.split(':').next()?;
        return same_origin(base, format!("{scheme}://{authority}"));
    }
    if has_scheme(reference) {
        return same_origin(base, reference.into());
    }
    if reference.starts_with('/') {
        return Some(format!("{origin}{reference}"));
    }
    let path = path.split(['?', '#']).next().unwrap_or_default();
    if reference.starts_with('?') {
        return Some(format!("{origin}{path}{reference}"));
    }
    let folder = path.rfind('/').and_then(|end| path.get(..=end)).unwrap_or("/");
    Some(format!("{origin}{folder}{reference}"))
}

fn same_origin(base: &str, url: String) -> Option<String> {
    (origin_of(base)? == origin_of(&url)?).then_some(url)
}

/// Returns scheme, host and port, without the default port.
fn origin_of(url: &str) -> Option<(String, String)> {
    let (origin, _) = split(url)?;
    let (scheme, authority) = origin.split_once("://")?;
    // User name and password are not part of the origin, and are not accepted in an endpoint.
    if authority.contains('@') {
        return None;
    }
    let scheme = scheme.to_ascii_lowercase();
    let default = match &*scheme {
        "http" => ":80",
        "https" => ":443",
        _ => return None,
    };
    let authority = authority.to_ascii_lowercase();
    let authority = authority.strip_suffix(default).unwrap_or(&authority).into();
    Some((scheme, authority))
}

/// Splits a URL into its origin and the rest.
fn split(url: &str) -> Option<(&str, &str)> {
    let authority = url.find("://")? + 3;
    let length = url.get(authority..)?.find(['/', '?', '#']);
    let end = length.map_or(url.len(), |length| authority + length);
    if end == authority {
        return None;
    }
    url.split_at_checked(end)
}

fn has_scheme(reference: &str) -> bool {
    let scheme = reference.split_once(':').map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves H-HTTP-213.
    #[test]
    fn messages_go_to_the_origin_of_the_stream_only() {
        let table = [
            ("/messages?id=1", Some("http://a.b:8/messages?id=1")),
            ("messages", Some("http://a.b:8/x/messages")),
            ("?id=1", Some("http://a.b:8/x/sse?id=1")),
            ("1:2", Some("http://a.b:8/x/1:2")),
            ("m/a:b", Some("http://a.b:8/x/m/a:b")),
            ("http://a.b:8/m#part", Some("http://a.b:8/m")),
            ("HTTP://A.B:8/m", Some("HTTP://A.B:8/m")),
            ("//a.b:8/m", Some("http://a.b:8/m")),
            ("https://a.b:8/m", None),
            ("http://a.b/m", None),
            ("http://evil/m", None),
            ("//evil/m", None),
            ("http://a.b:8@evil/m", None),
            ("http://me@a.b:8/m", None),
            ("ftp://a.b:8/m", None),
            ("javascript:1", None),
            ("", None),
            ("/a b", None),
            ("/\u{e9}", None),
        ];
        for (reference, expected) in table {
            let resolved = resolve("http://a.b:8/x/sse?y#z", reference);
            assert_eq!(resolved.as_deref(), expected, "{reference}");
        }
        assert_eq!(resolve("https://a", "x").as_deref(), Some("https://a/x"));
        assert_eq!(resolve("https://a:443/", "https://A/x").as_deref(), Some("https://A/x"));
        assert_eq!(resolve("nonsense", "/x"), None);
    }
}
