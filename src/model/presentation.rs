//! Checks of values that a client shows to its user, and the choice of models and default values.

use alloc::vec::Vec;

use super::elicitation::ElicitParams;
use super::forms::{ObjectSchema, PrimitiveSchema};
use super::lifecycle::Icon;
use super::map::Map;
use super::sampling::ModelPreferences;
use super::text::Text;
use crate::json::Raw;

/// The reason why a client should not open a URL of a server. The server is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum UnsafeUrl {
    /// There is no URL.
    #[error("there is no URL")]
    Missing,
    /// The text is no absolute URL with a host, or has characters that a URL cannot have.
    #[error("the URL is malformed")]
    Malformed,
    /// The scheme is neither `https`, nor `http` to this computer.
    #[error("the URL is neither https nor on this machine")]
    Scheme,
    /// The URL has a user name, which can pass for a host: `https://bank.example@evil.example`.
    #[error("the URL has a user name")]
    UserInfo,
}

/// Returns the host of an `https` URL, or of an `http` URL to this computer. What browsers read in another way than
/// RFC 3986 is refused: a backslash, other characters than ASCII, an encoded host.
fn host_of(url: &str) -> Result<&str, UnsafeUrl> {
    let is_odd = |c: char| {
        !c.is_ascii_graphic() || matches!(c, '\\' | '"' | '<' | '>' | '^' | '`' | '{' | '|' | '}')
    };
    if url.contains(is_odd) {
        return Err(UnsafeUrl::Malformed);
    }
    let (scheme, rest) = url.split_once("://").ok_or(UnsafeUrl::Malformed)?;
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return Err(UnsafeUrl::UserInfo);
    }
    let host_end = authority.find(']').map_or_else(|| authority.find(':'), |end| Some(end + 1));
    let (host, port) = authority.split_at(host_end.unwrap_or(authority.len()));
    let is_port = port
        .strip_prefix(':')
        .map_or(port.is_empty(), |port| port.bytes().all(|byte| byte.is_ascii_digit()));
    if !is_port || !is_host(host) {
        return Err(UnsafeUrl::Malformed);
    }
    let is_here =
        || matches!(host, "127.0.0.1" | "[::1]") || host.eq_ignore_ascii_case("localhost");
    match () {
        () if scheme.eq_ignore_ascii_case("https") => Ok(host),
        () if scheme.eq_ignore_ascii_case("http") && is_here() => Ok(host),
        () => Err(UnsafeUrl::Scheme),
    }
}

/// Whether a text is a name of labels, or an IPv6 address in brackets.
fn is_host(host: &str) -> bool {
    match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        Some(address) => address.parse::<core::net::Ipv6Addr>().is_ok(),
        None => host.strip_suffix('.').unwrap_or(host).split('.').all(|label| {
            let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
            !label.is_empty() && label.bytes().all(is_letter)
        }),
    }
}

impl ElicitParams<'_> {
    /// Returns the host of the URL that the user is asked to visit, for the question to the user: a client shows the
    /// whole URL, with the host highlighted, and opens it only after the user has agreed. A label of the host that
    /// begins with `xn--` is an encoded Unicode name, which can resemble another one: show it encoded. A host in Unicode
    /// is refused.
    ///
    /// ```
    /// use mcp_sansio::model::{ElicitParams, UnsafeUrl};
    ///
    /// let request = ElicitParams::visit("Please log in.", "https://login.example:8443/start");
    /// assert_eq!(request.url_host(), Ok("login.example"));
    /// let request = ElicitParams::visit("Please log in.", "https://bank.example@evil.example/");
    /// assert_eq!(request.url_host(), Err(UnsafeUrl::UserInfo));
    /// ```
    ///
    /// # Errors
    ///
    /// [`UnsafeUrl`] if a client should not open the URL.
    pub fn url_host(&self) -> Result<&str, UnsafeUrl> {
        host_of(self.url.as_deref().ok_or(UnsafeUrl::Missing)?)
    }
}

impl Icon<'_> {
    /// Whether the source of the icon is an `https` URL, or contains an image (`data:`) that is no SVG: an SVG can have
    /// scripts, so show one only where scripts do not run.
    ///
    /// A client also checks that the host is that of the server, or another one that it trusts. It loads the icon without
    /// credentials, and follows no redirect to another scheme or host.
    pub fn has_safe_source(&self) -> bool {
        let begins = |start: &str| {
            self.src.get(..start.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(start))
        };
        // Browsers remove tabs and line breaks from a URL before they read its media type.
        let is_plain =
            || !self.src.bytes().take_while(|byte| *byte != b',').any(|byte| byte < b' ');
        let is_image = begins("data:image/") && !begins("data:image/svg") && is_plain();
        is_image || (begins("https:") && host_of(&self.src).is_ok())
    }
}

impl ModelPreferences<'_> {
    /// Returns the first of these models that a hint matches: the hints are tried in order, and a hint matches a name
    /// that contains it, in any case of ASCII letters. Without a match the priorities decide, which only the client
    /// can weigh.
    ///
    /// ```
    /// use mcp_sansio::model::{ModelHint, ModelPreferences};
    ///
    /// let models = ["tiny-1", "Large-3-2026", "large-2"];
    /// let wanted = ModelPreferences::default().hints([ModelHint::new("huge"), ModelHint::new("large")]);
    /// assert_eq!(wanted.hinted_model(models), Some("Large-3-2026"));
    /// ```
    pub fn hinted_model<'m>(
        &self,
        models: impl IntoIterator<Item = &'m str, IntoIter: Clone>,
    ) -> Option<&'m str> {
        let models = models.into_iter();
        let names = self.hints.iter().flatten().filter_map(|hint| hint.name.as_deref());
        let mut matches = names
            .filter(|name| !name.is_empty())
            .filter_map(|name| models.clone().find(|model| contains_ignoring_case(model, name)));
        matches.next()
    }
}

fn contains_ignoring_case(text: &str, part: &str) -> bool {
    text.as_bytes().windows(part.len()).any(|window| window.eq_ignore_ascii_case(part.as_bytes()))
}

impl ObjectSchema<'_> {
    /// Returns the data of the form: these answers, and the default values of the fields without an answer. For
    /// [`ElicitResult::accept`](super::ElicitResult::accept).
    ///
    /// ```
    /// use mcp_sansio::json::Raw;
    /// use mcp_sansio::model::{BooleanSchema, Map, NumberSchema, ObjectSchema, PrimitiveSchema};
    ///
    /// let mut news = BooleanSchema::default();
    /// news.default = Some(true);
    /// let form = ObjectSchema::new(Map::from([
    ///     ("age".into(), PrimitiveSchema::Number(NumberSchema::integer())),
    ///     ("news".into(), PrimitiveSchema::Boolean(news)),
    /// ]));
    /// let answers = Map::from([("age".into(), Raw::new("44")?)]);
    /// assert_eq!(form.filled(&answers).as_json(), r#"{"age":44,"news":true}"#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn filled(&self, answers: &Map<'_, Raw<'_>>) -> Raw<'static> {
        let mut answered: Vec<&str> = answers.iter().map(|(name, _)| name).collect();
        answered.sort_unstable();
        let is_open = |name: &str| answered.binary_search(&name).is_err();
        let unanswered = self.properties.iter().filter(|(name, _)| is_open(name));
        let defaults =
            unanswered.filter_map(|(name, field)| Some((Text::from(name), default_of(field)?)));
        let all: Map<'_, Raw<'_>> = answers.clone().into_iter().chain(defaults).collect();
        // The members of an object of JSON always form an object.
        Raw::from_serialize(&all).unwrap_or(Raw::EMPTY_OBJECT)
    }
}

fn default_of(field: &PrimitiveSchema<'_>) -> Option<Raw<'static>> {
    match field {
        PrimitiveSchema::String(field) => Raw::from_serialize(field.default.as_ref()?),
        PrimitiveSchema::Number(field) => Raw::from_serialize(field.default.as_ref()?),
        PrimitiveSchema::Boolean(field) => Raw::from_serialize(field.default.as_ref()?),
        PrimitiveSchema::Array(field) => Raw::from_serialize(field.default.as_ref()?),
        PrimitiveSchema::Unknown(_) => return None,
    }
    .ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ModelHint;

    #[test]
    fn only_a_safe_url_has_a_host() {
        let table = [
            ("https://a.example", Ok("a.example")),
            ("HTTPS://a.example:1/?x@y", Ok("a.example")),
            ("http://localhost:3000/x", Ok("localhost")),
            ("http://127.0.0.1", Ok("127.0.0.1")),
            ("http://[::1]:80/", Ok("[::1]")),
            ("https://[2001:db8::1]:80/", Ok("[2001:db8::1]")),
            ("http://a.example", Err(UnsafeUrl::Scheme)),
            ("http://localhost.evil.example", Err(UnsafeUrl::Scheme)),
            ("file:///etc/passwd", Err(UnsafeUrl::Malformed)),
            ("javascript://a.example/%0aalert(1)", Err(UnsafeUrl::Scheme)),
            ("javascript:alert(1)", Err(UnsafeUrl::Malformed)),
            ("https://a.example\\@b.example", Err(UnsafeUrl::Malformed)),
            ("https://a.example@b.example", Err(UnsafeUrl::UserInfo)),
            ("https:// a.example", Err(UnsafeUrl::Malformed)),
            ("https://a.example\n", Err(UnsafeUrl::Malformed)),
            ("https://:80", Err(UnsafeUrl::Malformed)),
            ("", Err(UnsafeUrl::Malformed)),
            ("https://\u{430}pple.com", Err(UnsafeUrl::Malformed)),
            ("https://a.example/\u{202e}moc", Err(UnsafeUrl::Malformed)),
            ("https://bank\u{3002}example/", Err(UnsafeUrl::Malformed)),
            ("https://%65vil.example/", Err(UnsafeUrl::Malformed)),
            ("http://[::1]evil.example/", Err(UnsafeUrl::Malformed)),
            ("https://bank.example].evil.example/", Err(UnsafeUrl::Malformed)),
            ("https://a.example:443:evil.example/", Err(UnsafeUrl::Malformed)),
            ("https://.../", Err(UnsafeUrl::Malformed)),
            ("https://xn--80ak6aa92e.com./x%20y", Ok("xn--80ak6aa92e.com.")),
        ];
        for (url, host) in table {
            assert_eq!(ElicitParams::visit("", url).url_host(), host, "{url}");
        }
        assert_eq!(ElicitParams::default().url_host(), Err(UnsafeUrl::Missing));
    }

    #[test]
    fn an_icon_is_loaded_by_https_or_from_its_own_data() {
        let table = [
            ("https://a.example/i.png", true),
            ("data:image/png;base64,AAAA", true),
            ("DATA:IMAGE/WebP;base64,AAAA", true),
            ("data:image/png;base64,AA\nAA", true),
            ("DATA:IMAGE/svg+xml,x", false),
            ("data:image/s\tvg+xml,x", false),
            ("data:image/\nsvg+xml,x", false),
            ("data:text/html,x", false),
            ("http://localhost/i.png", false),
            ("javascript:alert(1)", false),
            ("file:///i.png", false),
            ("", false),
            ("ééééééé", false),
        ];
        for (src, is_safe) in table {
            assert_eq!(Icon::new(src).has_safe_source(), is_safe, "{src}");
        }
    }

    #[test]
    fn the_first_hint_that_matches_chooses_the_model() {
        let models = ["tiny-1", "large-3"];
        let chosen = |hints: &[&'static str]| {
            let hints: Vec<_> = hints.iter().map(|hint| ModelHint::new(*hint)).collect();
            ModelPreferences::default().hints(hints).hinted_model(models)
        };
        assert_eq!(chosen(&["LARGE", "tiny"]), Some("large-3"));
        assert_eq!(chosen(&["none", "tiny"]), Some("tiny-1"));
        assert_eq!(chosen(&["", "large-3-and-more"]), None);
        assert_eq!(ModelPreferences::default().hinted_model(models), None);
    }

    #[test]
    fn a_form_is_filled_with_defaults() {
        let form: ObjectSchema<'_> = serde_json::from_str(
            r#"{"type":"object","properties":{"a":{"type":"string","default":"x"},"b":{"type":"integer","default":2},"c":{"type":"array","items":{"type":"string","enum":["p"]},"default":["p"]},"d":{"type":"number"},"e":{"type":"odd","default":1}}}"#,
        )
        .unwrap();
        let answers = Map::from([("b".into(), Raw::new("null").unwrap())]);
        assert_eq!(form.filled(&answers).as_json(), r#"{"b":null,"a":"x","c":["p"]}"#);
        assert_eq!(form.filled(&Map::default()).as_json(), r#"{"a":"x","b":2,"c":["p"]}"#);
    }
}
