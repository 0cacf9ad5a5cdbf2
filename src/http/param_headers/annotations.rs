//! The scan of an `inputSchema` for `x-mcp-header` annotations.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::error::{AnnotationFlaw, InvalidAnnotation};
use super::{Node, Param, ParamHeaders, ParamKind};
use crate::http::name;
use crate::json::{Str, Walk};

const ANNOTATION: &str = "x-mcp-header";

/// The keyword that contains the properties.
const PROPERTIES: &str = "properties";

/// The kind of value that a keyword holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holds {
    /// A schema.
    Schema,
    /// A list of schemas.
    List,
    /// Either of both.
    SchemaOrList,
    /// An object whose members are schemas.
    Map,
}

/// The keywords of JSON Schema 2020-12 and of draft 7 that contain schemas. Everything else is data.
const KEYWORDS: [(&str, Holds); 22] = [
    (PROPERTIES, Holds::Map),
    ("patternProperties", Holds::Map),
    ("$defs", Holds::Map),
    ("definitions", Holds::Map),
    ("dependentSchemas", Holds::Map),
    ("dependencies", Holds::Map),
    ("allOf", Holds::List),
    ("anyOf", Holds::List),
    ("oneOf", Holds::List),
    ("prefixItems", Holds::List),
    ("items", Holds::SchemaOrList),
    ("additionalItems", Holds::Schema),
    ("unevaluatedItems", Holds::Schema),
    ("contains", Holds::Schema),
    ("additionalProperties", Holds::Schema),
    ("unevaluatedProperties", Holds::Schema),
    ("propertyNames", Holds::Schema),
    ("not", Holds::Schema),
    ("if", Holds::Schema),
    ("then", Holds::Schema),
    ("else", Holds::Schema),
    ("contentSchema", Holds::Schema),
];

/// Reads the annotations of a schema, in one pass without recursion.
///
/// # Errors
///
/// [`InvalidAnnotation`] for the first invalid one, in the order in which the annotated schemas end.
pub(super) fn read(schema: &str) -> Result<ParamHeaders, InvalidAnnotation> {
    let mut survey = Survey {
        walk: Walk::new(schema),
        open: Vec::new(),
        found: ParamHeaders::default(),
        names: BTreeSet::new(),
    };
    if survey.walk.take(b'{') {
        survey.open.push(Open::new(Room::Schema, Step::Top, true));
    }
    while let Some(open) = survey.open.last() {
        if survey.walk.take(open.room.end()) {
            survey.close()?;
        } else if survey.step().is_none() {
            // Only invalid JSON ends here.
            break;
        }
    }
    Ok(survey.found)
}

struct Survey<'a> {
    walk: Walk<'a>,
    /// The open brackets, from the outermost to the innermost.
    open: Vec<Open<'a>>,
    found: ParamHeaders,
    /// The names so far, in lower case.
    names: BTreeSet<String>,
}

/// An open bracket.
struct Open<'a> {
    room: Room,
    step: Step<'a>,
    /// Whether the path from the top to here consists of properties only.
    is_reachable: bool,
    /// The number of members or elements that have started.
    count: usize,
    /// The values of `x-mcp-header` and `type`, as JSON.
    annotation: Option<&'a str>,
    kind: Option<&'a str>,
    /// The index of this property in `found`, if it was added.
    node: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Room {
    Schema,
    /// An object whose members are schemas.
    Map,
    /// An array of schemas.
    List,
}

/// The step from the enclosing bracket to a value.
#[derive(Clone)]
enum Step<'a> {
    Top,
    Member(Str<'a>),
    Element(usize),
}

impl Room {
    const fn end(self) -> u8 {
        match self {
            Self::Schema | Self::Map => b'}',
            Self::List => b']',
        }
    }
}

impl<'a> Open<'a> {
    const fn new(room: Room, step: Step<'a>, is_reachable: bool) -> Self {
        let (annotation, kind, node) = (None, None, None);
        Self { room, step, is_reachable, count: 0, annotation, kind, node }
    }
}

impl<'a> Survey<'a> {
    /// Skips a value, or enters it if it contains schemas. Returns `None` if there is no value.
    fn step(&mut self) -> Option<()> {
        self.walk.take(b',');
        let open = self.open.last_mut()?;
        let (room, index) = (open.room, open.count);
        open.count += 1;
        if room == Room::List {
            return self.enter(Room::Schema, Step::Element(index), false);
        }
        let key = Str::from_literal(self.walk.value()?)?;
        self.walk.take(b':');
        let is_reachable = open.is_reachable;
        if room == Room::Map {
            return self.enter(Room::Schema, Step::Member(key), is_reachable);
        }
        if key == ANNOTATION {
            open.annotation = Some(self.walk.value()?);
            return Some(());
        }
        if key == "type" {
            open.kind = Some(self.walk.value()?);
            return Some(());
        }
        let is_list = self.walk.peek()? == b'[';
        let keyword = KEYWORDS.iter().find(|(name, _)| key == *name);
        let room = match keyword.map(|(_, holds)| (*holds, is_list)) {
            Some((Holds::Map, false)) => Room::Map,
            Some((Holds::List | Holds::SchemaOrList, true)) => Room::List,
            Some((Holds::Schema | Holds::SchemaOrList, false)) => Room::Schema,
            _ => return self.walk.value().map(|_| ()),
        };
        let is_reachable = is_reachable && key == PROPERTIES;
        self.enter(room, Step::Member(key), is_reachable)
    }

    /// Opens the bracket of this kind. A value that starts otherwise, such as the schema `true`, contains no schemas
    /// and is skipped.
    fn enter(&mut self, room: Room, step: Step<'a>, is_reachable: bool) -> Option<()> {
        let begin = if room == Room::List { b'[' } else { b'{' };
        if self.walk.take(begin) {
            self.open.push(Open::new(room, step, is_reachable));
            return Some(());
        }
        self.walk.value().filter(|value| !value.is_empty()).map(|_| ())
    }

    fn close(&mut self) -> Result<(), InvalidAnnotation> {
        let Some(closed) = self.open.pop() else { return Ok(()) };
        let Some(annotation) = closed.annotation else { return Ok(()) };
        match self.param(&closed, annotation) {
            Ok(param) => {
                self.add(&closed, param);
                Ok(())
            }
            Err(flaw) => {
                let place = self.open.iter().chain([&closed]).map(|open| open.step.pointer());
                Err(InvalidAnnotation { place: place.collect(), flaw })
            }
        }
    }

    fn param(&mut self, schema: &Open<'a>, annotation: &str) -> Result<Param, AnnotationFlaw> {
        // The top schema itself is not a property.
        if !schema.is_reachable || self.open.is_empty() {
            return Err(AnnotationFlaw::Misplaced);
        }
        let name = Str::from_literal(annotation).ok_or(AnnotationFlaw::NotText)?;
        let name = name.to_str();
        if name.is_empty() || !name.bytes().all(is_token) {
            return Err(AnnotationFlaw::NotToken);
        }
        let kind = match schema.kind.and_then(Str::from_literal) {
            Some(kind) if kind == "string" => ParamKind::Text,
            Some(kind) if kind == "integer" => ParamKind::Integer,
            Some(kind) if kind == "boolean" => ParamKind::Boolean,
            _ => return Err(AnnotationFlaw::WrongType),
        };
        if !self.names.insert(name.to_ascii_lowercase()) {
            return Err(AnnotationFlaw::Duplicate);
        }
        Ok(Param { header: format!("{}{name}", name::PARAM_PREFIX), kind })
    }

    /// Adds a property, and those of its parents that are missing.
    fn add(&mut self, schema: &Open<'a>, param: Param) {
        let found = &mut self.found;
        if found.nodes.is_empty() {
            found.nodes.push(Node::default());
        }
        let known = self.open.iter().rposition(|open| open.node.is_some());
        let mut node = known.and_then(|at| self.open.get(at)?.node).unwrap_or(0);
        let unknown = self.open.iter_mut().skip(known.map_or(0, |at| at + 1));
        for open in unknown.filter(|open| open.room == Room::Schema) {
            if let Step::Member(name) = &open.step {
                node = found.child(node, name);
            }
            open.node = Some(node);
        }
        if let Step::Member(name) = &schema.step {
            let child = found.child(node, name);
            if let Some(child) = found.nodes.get_mut(child) {
                child.param = Some(param);
            }
        }
    }
}

impl Step<'_> {
    /// Returns this step as part of a JSON Pointer.
    fn pointer(&self) -> String {
        match self {
            Step::Top => String::new(),
            Step::Member(name) => {
                format!("/{}", name.to_str().replace('~', "~0").replace('/', "~1"))
            }
            Step::Element(index) => format!("/{index}"),
        }
    }
}

/// Whether the byte may occur in the name of a header
/// ([RFC 9110, section 5.6.2](https://www.rfc-editor.org/rfc/rfc9110#section-5.6.2)).
const fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'!' | b'#'
                | b'$'
                | b'%'
                | b'&'
                | b'\''
                | b'*'
                | b'+'
                | b'-'
                | b'.'
                | b'^'
                | b'_'
                | b'`'
                | b'|'
                | b'~'
        )
}
