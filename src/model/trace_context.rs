//! The trace context of a request
//! ([`_meta`](https://modelcontextprotocol.io/specification/2026-07-28/basic#_meta),
//! [W3C Trace Context](https://www.w3.org/TR/trace-context/)).

use super::text::Text;
use crate::json::{Raw, Str};

/// The members of `_meta` that connect the spans of a distributed trace.
///
/// The machine neither writes nor reads them. A client adds them to the metadata of its params
/// ([`added_to`](Self::added_to)), a server finds them in the metadata of the request ([`of`](Self::of)), and a gateway
/// passes them on.
///
/// ```
/// use mcp_sansio::model::{CallToolParams, TraceContext};
///
/// let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
/// let trace = TraceContext::new(parent).ok_or("invalid")?.tracestate("vendor=1");
/// let params = CallToolParams::new("search").meta(trace.added_to(None));
///
/// let received = TraceContext::of(params.meta.as_ref()).ok_or("no trace context")?;
/// assert_eq!(received.trace_id(), Some("0af7651916cd43dd8448eb211c80319c"));
/// assert!(received.is_sampled());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct TraceContext<'a> {
    traceparent: Option<Text<'a>>,
    tracestate: Option<Text<'a>>,
    baggage: Option<Text<'a>>,
}

impl<'a> TraceContext<'a> {
    /// The name of the member with the trace and its parent span.
    pub const TRACEPARENT: &'static str = "traceparent";
    /// The name of the member with data of tracing systems.
    pub const TRACESTATE: &'static str = "tracestate";
    /// The name of the member with data of the application ([W3C Baggage](https://www.w3.org/TR/baggage/)).
    pub const BAGGAGE: &'static str = "baggage";

    /// Creates a trace context with this `traceparent`; `None` if that is not valid.
    pub fn new(traceparent: impl Into<Text<'a>>) -> Option<Self> {
        let traceparent = traceparent.into();
        let is_valid = is_traceparent(&traceparent);
        is_valid.then(|| Self { traceparent: Some(traceparent), ..Self::default() })
    }

    /// Sets the `tracestate`. A text that is not a valid one is left out: it must not be sent, and the trace does not
    /// need it.
    #[must_use]
    pub fn tracestate(mut self, tracestate: impl Into<Text<'a>>) -> Self {
        self.tracestate = Some(tracestate.into()).filter(|text| is_tracestate(text));
        self
    }

    /// Sets the `baggage`. A text that is not a valid one is left out, because it must not be sent.
    #[must_use]
    pub fn baggage(mut self, baggage: impl Into<Text<'a>>) -> Self {
        self.baggage = Some(baggage.into()).filter(|text| is_baggage(text));
        self
    }

    /// Returns the trace context in the metadata of a request; `None` without one. Members that are not valid are
    /// ignored, and without a `traceparent` the `tracestate` is.
    pub fn of(meta: Option<&Raw<'_>>) -> Option<TraceContext<'static>> {
        let text =
            |name| meta?.get(name)?.into_str().map(|text| Text::from(text.to_str().into_owned()));
        let traceparent = text(Self::TRACEPARENT).filter(|text| is_traceparent(text));
        let tracestate = traceparent.as_ref().and_then(|_| text(Self::TRACESTATE));
        let tracestate = tracestate.filter(|text| is_tracestate(text));
        let baggage = text(Self::BAGGAGE).filter(|text| is_baggage(text));
        let found = TraceContext { traceparent, tracestate, baggage };
        (found != TraceContext::default()).then_some(found)
    }

    /// Returns metadata with this trace context, and with the other members of `meta`.
    pub fn added_to(&self, meta: Option<&Raw<'_>>) -> Raw<'static> {
        let value = |text: &Option<Text<'_>>| {
            text.as_deref().map(|text| Raw::from(Str::from(text)).into_owned())
        };
        meta.unwrap_or(&Raw::EMPTY_OBJECT).edited(&[
            (Self::TRACEPARENT, value(&self.traceparent)),
            (Self::TRACESTATE, value(&self.tracestate)),
            (Self::BAGGAGE, value(&self.baggage)),
        ])
    }

    /// Returns the values for the headers or for a propagator, by the names of the members.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let all = [
            (Self::TRACEPARENT, &self.traceparent),
            (Self::TRACESTATE, &self.tracestate),
            (Self::BAGGAGE, &self.baggage),
        ];
        all.into_iter().filter_map(|(name, text)| Some((name, text.as_deref()?)))
    }

    /// Returns the id of the trace, 32 hexadecimal digits.
    pub fn trace_id(&self) -> Option<&str> {
        self.traceparent.as_deref()?.get(3..35)
    }

    /// Returns the id of the parent span, 16 hexadecimal digits.
    pub fn parent_id(&self) -> Option<&str> {
        self.traceparent.as_deref()?.get(36..52)
    }

    /// Whether the caller records the trace.
    pub fn is_sampled(&self) -> bool {
        let flags = self.traceparent.as_deref().and_then(|text| text.get(53..55));
        flags
            .and_then(|flags| u8::from_str_radix(flags, 16).ok())
            .is_some_and(|flags| flags & 1 != 0)
    }
}

/// Whether a text is a valid `traceparent`. A version after 00 may have more fields.
fn is_traceparent(text: &str) -> bool {
    let is_hex = |part: &str| part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let mut parts = text.split('-');
    let mut part = |length| {
        let part = parts.next().filter(|part| part.len() == length && is_hex(part));
        part.unwrap_or_default()
    };
    let (version, trace, span, flags) = (part(2), part(32), part(16), part(2));
    let is_zero = |id: &str| id.bytes().all(|byte| byte == b'0');
    let are_ids = !is_zero(trace) && !is_zero(span);
    let is_version = !version.is_empty() && version != "ff";
    let has_more = 55 < text.len();
    is_version && are_ids && !flags.is_empty() && (!has_more || version != "00")
}

/// Whether a text is a valid `tracestate`: at most 32 members `key=value`, each with a key of its own. Empty members
/// are allowed.
fn is_tracestate(text: &str) -> bool {
    let members = text.split(',').map(trimmed).filter(|member| !member.is_empty());
    let keys = members.clone().filter_map(|member| member.split_once('=').map(|(key, _)| key));
    let is_unique = |key: &str| keys.clone().filter(|other| *other == key).count() == 1;
    let is_member = |member: &str| {
        member.split_once('=').is_some_and(|(key, value)| {
            is_tracestate_key(key) && is_tracestate_value(value) && is_unique(key)
        })
    };
    let count = members.clone().take(MOST_TRACESTATE_MEMBERS + 1).count();
    (1..=MOST_TRACESTATE_MEMBERS).contains(&count) && members.clone().all(is_member)
}

/// The maximum number of members of a `tracestate`, by W3C Trace Context.
const MOST_TRACESTATE_MEMBERS: usize = 32;

fn is_tracestate_key(key: &str) -> bool {
    let is_alphanumeric = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let fits = |byte: &u8| is_alphanumeric(byte) || b"_-*/@".contains(byte);
    key.len() <= 256
        && key.as_bytes().first().is_some_and(is_alphanumeric)
        && key.as_bytes().iter().all(fits)
}

fn is_tracestate_value(value: &str) -> bool {
    let fits = |byte| matches!(byte, b' '..=b'~') && byte != b',' && byte != b'=';
    (1..=256).contains(&value.len()) && !value.ends_with(' ') && value.bytes().all(fits)
}

/// Whether a text is a valid `baggage`: members `key=value`, each with properties after semicolons.
fn is_baggage(text: &str) -> bool {
    let is_pair = |pair: &str| {
        pair.split_once('=').is_some_and(|(key, value)| {
            is_token(trimmed(key)) && trimmed(value).bytes().all(is_baggage_octet)
        })
    };
    text.split(',').all(|member| {
        let mut parts = member.split(';');
        parts.next().is_some_and(is_pair)
            && parts.all(|part| is_token(trimmed(part)) || is_pair(part))
    })
}

const fn is_baggage_octet(byte: u8) -> bool {
    matches!(byte, b'!'..=b'~') && !matches!(byte, b'"' | b',' | b';' | b'\\')
}

/// Whether a text is a token of HTTP.
fn is_token(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(fits)
}

/// Returns the text without the white space of HTTP around it.
fn trimmed(text: &str) -> &str {
    text.trim_matches([' ', '\t'])
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn an_invalid_traceparent_is_refused_on_this_side_and_ignored_from_the_peer() {
        let invalid = [
            "",
            "not one",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-1",
            "00-é0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        ];
        for text in invalid {
            assert_eq!(TraceContext::new(text), None, "{text}");
            let meta = Raw::from(Str::from(text)).into_owned();
            let meta = Raw::EMPTY_OBJECT.edited(&[
                ("traceparent", Some(meta)),
                ("tracestate", Some(Raw::from(Str::from("a=b")))),
            ]);
            assert_eq!(TraceContext::of(Some(&meta)), None, "{text}");
        }
        assert!(
            TraceContext::new("01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00-x")
                .is_some()
        );
    }

    /// Proves M-META-12.
    #[test]
    fn invalid_texts_are_neither_sent_nor_received() {
        let most: Vec<_> = (0..32).map(|number| alloc::format!("k{number}=v")).collect();
        let (most, long) = (most.join(","), "k".repeat(256));
        let long = alloc::format!("{long}={long}");
        let states = ["a=b", "a=b,c=d", " a=b ,, c=d\t", "0t@sys-*/_=a b", &most, &long];
        let too_many = alloc::format!("{most},a=b");
        let too_long = alloc::format!("a={long}v");
        let bad_states = [
            "", ",", "a", "a=", "=b", "A=b", "a b=c", "a=b=c", "a=\u{e9}", "a=b\n", "a=b,c",
            "a=b,a=c", "@a=b", &too_many, &too_long,
        ];
        let baggages = ["k=v", "k=", "a=1,b=2", " k = v ; p ; q = 1 ", "user%20=%22x%22", "k=a=b"];
        let bad_baggages =
            ["", "k", "=v", "k=\"x\"", "k=a b", "k=\\", "k=v;", "k=v,", "k\u{e9}=v", "k=v\n"];
        let all = [
            (TraceContext::TRACESTATE, &states[..], &bad_states[..]),
            (TraceContext::BAGGAGE, &baggages[..], &bad_baggages[..]),
        ];
        for (name, good, bad) in all {
            let texts = good.iter().map(|text| (text, true));
            for (text, is_valid) in texts.chain(bad.iter().map(|text| (text, false))) {
                let own = TraceContext::new(PARENT).unwrap();
                let own = match name {
                    TraceContext::BAGGAGE => own.baggage(*text),
                    _ => own.tracestate(*text),
                };
                let expected: Vec<_> = [(TraceContext::TRACEPARENT, PARENT)]
                    .into_iter()
                    .chain(is_valid.then_some((name, *text)))
                    .collect();
                assert_eq!(own.iter().collect::<Vec<_>>(), expected);
                let parent = Raw::from(Str::from(PARENT));
                let meta = Raw::EMPTY_OBJECT.edited(&[
                    (TraceContext::TRACEPARENT, Some(parent)),
                    (name, Some(Raw::from(Str::from(*text)))),
                ]);
                assert_eq!(TraceContext::of(Some(&meta)), Some(own.clone()), "{name} {text:?}");
            }
        }
    }

    #[test]
    fn a_trace_context_is_added_beside_other_members() {
        let trace = TraceContext::new(PARENT).unwrap().baggage("user=%22x%22");
        let meta = Raw::new(r#"{"a":1,"tracestate":"old"}"#).unwrap();
        let added = trace.added_to(Some(&meta));
        let expected =
            alloc::format!(r#"{{"a":1,"traceparent":"{PARENT}","baggage":"user=%22x%22"}}"#);
        assert_eq!(added.as_json(), expected);
        let received = TraceContext::of(Some(&added)).unwrap();
        assert_eq!(received, trace);
        let all: Vec<_> = received.iter().collect();
        assert_eq!(all, [("traceparent", PARENT), ("baggage", "user=%22x%22")]);
        assert_eq!(received.parent_id(), Some("b7ad6b7169203331"));
        for (flags, is_sampled) in [("00", false), ("01", true), ("02", false), ("03", true)] {
            let parent = alloc::format!("{}{flags}", PARENT.trim_end_matches("01"));
            assert_eq!(TraceContext::new(&*parent).unwrap().is_sampled(), is_sampled, "{flags}");
        }
        assert_eq!(TraceContext::of(None), None);
        assert_eq!(TraceContext::of(Some(&meta)), None);
        let alone = Raw::new(r#"{"baggage":"k=v"}"#).unwrap();
        assert_eq!(TraceContext::of(Some(&alone)).unwrap().trace_id(), None);
        let odd = Raw::new(r#"{"traceparent":7}"#).unwrap();
        assert_eq!(TraceContext::of(Some(&odd)), None);
    }
}
