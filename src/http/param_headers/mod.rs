//! [`ParamHeaders`]: the arguments of tools that are repeated in header fields, from 2026-07-28 on.
//!
//! A tool marks properties of its `inputSchema` with `x-mcp-header`
//! ([custom headers](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http)). A
//! client repeats their values in header fields, where a proxy can read them; a server checks that the header fields
//! match the body.

mod annotations;
mod decimal;
mod error;

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

pub use error::{AnnotationFlaw, IntegerOutOfRange, InvalidAnnotation, ParamCause, ParamMismatch};

use super::headers::{Field, Headers};
use super::value::{decode_value, encode_value};
use crate::json::{MemberTexts, Raw, Str};
use decimal::{Decimal, Integer};

/// The arguments of a tool that are repeated in `Mcp-Param-` headers, with the header of each.
///
/// Memory is linear in the length of the schema. The work of a call is linear in the length of the arguments, for
/// each level that has repeated properties. The default value has no headers and checks nothing: for tools without
/// annotations, and for revisions before 2026-07-28.
///
/// ```
/// use mcp_sansio::http::{Headers, ParamHeaders};
/// use mcp_sansio::json::Raw;
///
/// let schema = Raw::new(
///     r#"{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}"#,
/// )?;
/// let params = ParamHeaders::of(&schema)?;
/// let arguments = Raw::new(r#"{"region":"us-west1","query":"cats"}"#)?;
///
/// let headers = params.of_call(Some(&arguments))?;
/// assert_eq!(headers, [("Mcp-Param-Region".into(), "us-west1".into())]);
///
/// let fields = [("mcp-param-region", &b"eu-north1"[..])];
/// let refused = params.check(Some(&arguments), Headers::from(&fields[..])).unwrap_err();
/// assert_eq!(refused.to_string(), "Mcp-Param-Region is not what the arguments say");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ParamHeaders {
    /// The properties with headers, and the properties that contain them. The first node is the arguments object;
    /// each node comes after its parent.
    nodes: Vec<Node>,
    /// The index of each property, by the index of its parent and its name. A shared parent is stored once, so a long
    /// name costs no more than its text in the schema.
    children: BTreeMap<(usize, Str<'static>), usize>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Node {
    has_children: bool,
    param: Option<Param>,
}

/// A property that is repeated in a header.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Param {
    /// The name of the header: `Mcp-Param-Region`.
    header: String,
    kind: ParamKind,
}

/// The declared type of a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum ParamKind {
    Text,
    Integer,
    Boolean,
}

/// A value that a header can carry.
enum Value<'a> {
    Text(Str<'a>),
    Number(&'a str),
    /// The JSON text.
    Boolean(&'a str),
}

impl ParamHeaders {
    /// Reads the annotations in an `inputSchema`.
    ///
    /// One pass scans the whole schema. An annotation on a schema that property names alone do not reach makes the
    /// tool invalid. Only schemas are scanned; names of properties, defaults, examples and unknown keywords are not.
    ///
    /// # Errors
    ///
    /// [`InvalidAnnotation`] identifies the annotation and the rule that it breaks. The author of the tool is at
    /// fault: a server should not register the tool, and a client omits it from the list.
    pub fn of(schema: &Raw<'_>) -> Result<Self, InvalidAnnotation> {
        annotations::read(schema.as_json())
    }

    /// Whether no argument is repeated.
    pub const fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Returns the bytes of memory of the annotations.
    pub(crate) fn bytes(&self) -> usize {
        let params = self.nodes.iter().filter_map(|node| node.param.as_ref());
        let headers: usize = params.map(|param| param.header.len()).sum();
        let names: usize = self.children.keys().map(|(_, name)| name.as_wire().len()).sum();
        let child = size_of::<((usize, Str<'_>), usize)>();
        headers + names + self.nodes.len() * size_of::<Node>() + self.children.len() * child
    }

    /// Returns the headers of a call with these arguments: names and values, ready to be sent.
    ///
    /// An argument that is absent, `null`, an object or an array has no header. Text is encoded by [`encode_value`];
    /// an integer is written in digits, regardless of its form in JSON. Other values that do not match the declared
    /// type are written as their JSON text. [`check`](Self::check) accepts them; the tool has to refuse them.
    ///
    /// # Errors
    ///
    /// [`IntegerOutOfRange`] if an integer is beyond ±(2^53 − 1), which not every peer can read. The caller is at
    /// fault.
    pub fn of_call(
        &self,
        arguments: Option<&Raw<'_>>,
    ) -> Result<Vec<(String, String)>, IntegerOutOfRange> {
        let mut headers = Vec::new();
        for (param, value) in self.params(arguments) {
            let Some(value) = value else { continue };
            let Some(text) = value.header_text(param.kind) else {
                return Err(IntegerOutOfRange { header: param.header.clone() });
            };
            headers.push((param.header.clone(), encode_value(&text).into_owned()));
        }
        Ok(headers)
    }

    /// Checks that the headers of a call match its arguments.
    ///
    /// Integers are compared as numbers, so a header `42` matches an argument `42.0`; the header must have digits
    /// without an exponent. Headers without an annotation are ignored.
    ///
    /// # Errors
    ///
    /// [`ParamMismatch`] names the first header that does not match. The client or a proxy is at fault: a server
    /// responds with status 400 and `-32020`.
    pub fn check(
        &self,
        arguments: Option<&Raw<'_>>,
        headers: Headers<'_>,
    ) -> Result<(), ParamMismatch> {
        self.params(arguments).try_for_each(|(param, value)| {
            let field = headers.get(&param.header);
            compare(param.kind, value.as_ref(), field)
                .map_err(|cause| ParamMismatch { header: param.header.clone(), cause })
        })
    }

    /// Returns the repeated properties, with their values in a call.
    fn params<'v>(
        &self,
        arguments: Option<&'v Raw<'_>>,
    ) -> impl Iterator<Item = (&Param, Option<Value<'v>>)> {
        let values = self.values(arguments);
        self.nodes
            .iter()
            .zip(values)
            .filter_map(|(node, value)| Some((node.param.as_ref()?, value.and_then(Value::of))))
    }

    /// Returns the values of the properties, in order. Of several members of one name the last counts, as in
    /// [`Raw::get`].
    fn values<'v>(&self, arguments: Option<&'v Raw<'_>>) -> Vec<Option<&'v str>> {
        let mut values = alloc::vec![None; self.nodes.len()];
        if let (Some(first), Some(arguments)) = (values.first_mut(), arguments) {
            *first = Some(arguments.as_json());
        }
        for (index, node) in self.nodes.iter().enumerate() {
            let Some(object) = values.get(index).copied().flatten() else { continue };
            if !node.has_children {
                continue;
            }
            for (key, value) in MemberTexts::of(object) {
                let child = self.children.get(&(index, key.into_string()));
                if let Some(slot) = child.and_then(|child| values.get_mut(*child)) {
                    *slot = Some(value);
                }
            }
        }
        values
    }

    /// Returns the index of the property of this name in its parent, and adds the property if it is new.
    fn child(&mut self, parent: usize, name: &Str<'_>) -> usize {
        if let Some(child) = self.children.get(&(parent, name.clone())) {
            return *child;
        }
        let child = self.nodes.len();
        self.nodes.push(Node::default());
        if let Some(parent) = self.nodes.get_mut(parent) {
            parent.has_children = true;
        }
        self.children.insert((parent, name.clone().into_owned()), child);
        child
    }
}

impl<'a> Value<'a> {
    /// Returns `None` for `null`, objects and arrays.
    fn of(value: &'a str) -> Option<Self> {
        match value.as_bytes().first()? {
            b'"' => Str::from_literal(value).map(Self::Text),
            b't' | b'f' => Some(Self::Boolean(value)),
            b'-' | b'0'..=b'9' => Some(Self::Number(value)),
            _ => None,
        }
    }

    /// Returns the text of the header before encoding; `None` for an integer that is out of range.
    fn header_text(&self, kind: ParamKind) -> Option<Cow<'_, str>> {
        match self {
            Self::Text(text) => Some(text.to_str()),
            Self::Number(literal) if kind == ParamKind::Integer => {
                match Decimal::parse(literal).map(|number| number.integer()) {
                    Some(Integer::Safe(integer)) => {
                        Some(Cow::Owned(itoa::Buffer::new().format(integer).into()))
                    }
                    Some(Integer::TooLarge) => None,
                    Some(Integer::Fraction) | None => Some(Cow::Borrowed(literal)),
                }
            }
            Self::Number(literal) | Self::Boolean(literal) => Some(Cow::Borrowed(literal)),
        }
    }

    /// Whether a header with this text matches this value.
    fn is_encoded_by(&self, text: &str, kind: ParamKind) -> bool {
        match self {
            Self::Text(value) => *value == *text || value.chars().eq(text.chars()),
            Self::Boolean(value) => *value == text,
            Self::Number(value) => {
                let is_literal = *value == text && kind != ParamKind::Integer;
                let number = Decimal::parse_plain(text);
                is_literal || number.is_some_and(|number| Decimal::parse(value) == Some(number))
            }
        }
    }
}

fn compare(kind: ParamKind, value: Option<&Value<'_>>, field: Field<'_>) -> Result<(), ParamCause> {
    let text = match (value, field) {
        (None, Field::Absent) => return Ok(()),
        (Some(_), Field::Absent) => return Err(ParamCause::Missing),
        (_, Field::Repeated) => return Err(ParamCause::Repeated),
        (_, Field::NotText) => return Err(ParamCause::Invalid),
        (None, Field::Once(_)) => return Err(ParamCause::Unexpected),
        (Some(_), Field::Once(text)) => decode_value(text).map_err(|_| ParamCause::Invalid)?,
    };
    let is_encoded = value.is_some_and(|value| value.is_encoded_by(&text, kind));
    if is_encoded { Ok(()) } else { Err(ParamCause::Different) }
}

#[cfg(test)]
mod tests;
