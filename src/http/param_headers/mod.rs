//! Arguments of tools that are repeated in headers, from 2026-07-28 on.
//!
//! A tool marks properties of its `inputSchema` with `x-mcp-header`
//! ([custom headers](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http)).
//! A client repeats their values in headers, where a proxy can read them; a server makes sure that the
//! headers say what the body says.

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

/// Which arguments of a tool are repeated in `Mcp-Param-` headers, and in which.
///
/// Its memory is linear in the length of the schema, and the work of a call in the length of the
/// arguments, for each level at which properties are repeated. The default one has no headers, and checks nothing: for tools without annotations, and for those of revisions
/// before 2026-07-28.
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
    /// The properties with headers and those around them. The first one stands for all arguments, and
    /// each comes after the one it is in.
    nodes: Vec<Node>,
    /// Which property the name means within another one. Names that are shared are kept once, so a
    /// long one costs nobody but who sends it.
    children: BTreeMap<(usize, Str<'static>), usize>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Node {
    has_children: bool,
    param: Option<Param>,
}

/// A property that is repeated.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Param {
    /// The name of the header: `Mcp-Param-Region`.
    header: String,
    kind: ParamKind,
}

/// What a property is declared as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum ParamKind {
    Text,
    Integer,
    Boolean,
}

/// A value that a header can have.
enum Value<'a> {
    Text(Str<'a>),
    Number(&'a str),
    /// Its text in JSON.
    Boolean(&'a str),
}

impl ParamHeaders {
    /// What the annotations in an `inputSchema` say.
    ///
    /// The whole schema is looked through, in one pass: an annotation where a schema can stand, but not
    /// where a value can be found by the names of properties alone, makes the tool invalid. What is no
    /// schema is not looked at: names of properties, defaults, examples, keywords nobody knows.
    ///
    /// # Errors
    ///
    /// [`InvalidAnnotation`] says which one breaks a rule. The author of the tool is at fault: a server
    /// should not register it, and a client leaves it out of the list.
    pub fn of(schema: &Raw<'_>) -> Result<Self, InvalidAnnotation> {
        annotations::read(schema.as_json())
    }

    /// Whether nothing is repeated.
    pub const fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The headers of a call with these arguments: names and values, ready to be sent.
    ///
    /// An argument that is absent or `null`, and one that is an object or an array, has none. Text is
    /// as [`encode_value`] has it, an integer in digits, whatever it looks like in JSON. Other values
    /// that are not of the declared type are written as they are in JSON; it is for the server to
    /// refuse them.
    ///
    /// # Errors
    ///
    /// [`IntegerOutOfRange`] if an integer is one that not everybody can read. The caller is at fault.
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

    /// Whether the headers of a call say what its arguments say.
    ///
    /// Integers are compared as numbers, so `42.0` says `42`; a header has to have them in digits,
    /// without an exponent. Headers that belong to no annotation are ignored.
    ///
    /// # Errors
    ///
    /// [`ParamMismatch`] names the first header that is not as it has to be. The client is at fault, or
    /// a proxy is: a server answers with status 400 and `-32020`.
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

    /// What is repeated, with the value that it has in a call.
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

    /// The values of the properties, in their order. Of several members of one name the last counts, as
    /// in [`Raw::get`].
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

    /// The property of this name within another one.
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
    /// `None` for `null`, objects and arrays.
    fn of(value: &'a str) -> Option<Self> {
        match value.as_bytes().first()? {
            b'"' => Str::from_literal(value).map(Self::Text),
            b't' | b'f' => Some(Self::Boolean(value)),
            b'-' | b'0'..=b'9' => Some(Self::Number(value)),
            _ => None,
        }
    }

    /// What the header says, before it is encoded; `None` for an integer that is out of range.
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

    /// Whether a header with this text says this value.
    fn is_said_by(&self, text: &str, kind: ParamKind) -> bool {
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
    let is_said = value.is_some_and(|value| value.is_said_by(&text, kind));
    if is_said { Ok(()) } else { Err(ParamCause::Different) }
}

#[cfg(test)]
mod tests;
