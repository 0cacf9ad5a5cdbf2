//! [`Arbitrary`] implementations that `derive` cannot generate, or would generate too freely.
//!
//! Every value is one that a program could construct, and its encoding can be decoded again. A field whose type
//! admits more values than the protocol is filled by a function of its own, which the field names with
//! `#[arbitrary(with = …)]`.

mod json;

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use arbitrary::{Arbitrary, Error, Result, Unstructured};

use json::Json;

use crate::json::{Number, Raw, Str};
use crate::limits::Limits;
use crate::model::{CacheScope, Content, List, ListChanged, Map, Text, wire_types};
use crate::schema::Own;
use crate::time::Instant;
use crate::version::{Revision, RevisionSet};

/// The longest text in bytes, so that one text leaves input for the following ones.
const LONGEST_TEXT: usize = 63;

/// The greatest integer that every JSON parser reads exactly.
const GREATEST: u64 = (1 << 53) - 1;

/// A container of values: exactly one, an optional one, or a map of named ones.
pub(crate) trait Container<'u, T>: Sized {
    fn fill(
        bytes: &mut Unstructured<'u>,
        value: impl FnMut(&mut Unstructured<'u>) -> Result<T>,
    ) -> Result<Self>;
}

impl<'u, T> Container<'u, T> for T {
    fn fill(
        bytes: &mut Unstructured<'u>,
        mut value: impl FnMut(&mut Unstructured<'u>) -> Result<T>,
    ) -> Result<Self> {
        value(bytes)
    }
}

impl<'u, T> Container<'u, T> for Option<T> {
    fn fill(
        bytes: &mut Unstructured<'u>,
        value: impl FnMut(&mut Unstructured<'u>) -> Result<T>,
    ) -> Result<Self> {
        bytes.arbitrary::<bool>()?.then_some(bytes).map(value).transpose()
    }
}

impl<'u: 'a, 'a, T> Container<'u, T> for Map<'a, T> {
    fn fill(
        bytes: &mut Unstructured<'u>,
        mut value: impl FnMut(&mut Unstructured<'u>) -> Result<T>,
    ) -> Result<Self> {
        let mut map = Self::default();
        while bytes.arbitrary()? {
            map.insert(text(bytes)?, value(bytes)?);
        }
        Ok(map)
    }
}

impl<'u: 'a, 'a, T> Container<'u, T> for Option<Map<'a, T>> {
    fn fill(
        bytes: &mut Unstructured<'u>,
        value: impl FnMut(&mut Unstructured<'u>) -> Result<T>,
    ) -> Result<Self> {
        Option::<()>::fill(bytes, |_| Ok(()))?.map(|()| Map::fill(bytes, value)).transpose()
    }
}

/// A member of a wire type.
pub(crate) trait Sample<'u, T> {
    fn sample(bytes: &mut Unstructured<'u>) -> Result<T>;
}

impl<'u, T: Arbitrary<'u>> Sample<'u, T> for Own {
    fn sample(bytes: &mut Unstructured<'u>) -> Result<T> {
        bytes.arbitrary()
    }
}

impl<'u, T: Arbitrary<'u>> Sample<'u, T> for wire_types::Beforehand {
    fn sample(bytes: &mut Unstructured<'u>) -> Result<T> {
        bytes.arbitrary()
    }
}

/// Implements [`Sample`] for members of a wire type with a generator function, for required and optional members.
macro_rules! samples {
    ($($Wire:ident: $Type:ty = $sample:expr;)*) => {$(
        impl<'u: 'a, 'a> Sample<'u, $Type> for wire_types::$Wire {
            fn sample(bytes: &mut Unstructured<'u>) -> Result<$Type> {
                $sample(bytes)
            }
        }

        impl<'u: 'a, 'a> Sample<'u, Option<$Type>> for wire_types::$Wire {
            fn sample(bytes: &mut Unstructured<'u>) -> Result<Option<$Type>> {
                bytes.arbitrary::<bool>()?.then(|| $sample(bytes)).transpose()
            }
        }
    )*};
}

samples! {
    Any: Raw<'a> = id::<Raw<'static>>;
    Object: Raw<'a> = object::<Raw<'static>>;
    Object: Map<'a, Raw<'a>> = objects;
    Settings: Map<'a, Raw<'a>> = objects;
    ObjectSchema: Raw<'a> = object::<Raw<'static>>;
    AnySchema: Raw<'a> = object::<Raw<'static>>;
    Structured: Raw<'a> = Unstructured::arbitrary;
    Answers: Raw<'a> = object::<Raw<'static>>;
    Base64: Text<'a> = Unstructured::arbitrary;
    Uri: Text<'a> = Unstructured::arbitrary;
    FileUri: Text<'a> = Unstructured::arbitrary;
    Natural: u64 = exact::<u64>;
    Numeric: u64 = Unstructured::arbitrary;
    Share: Number = Unstructured::arbitrary;
    Hint: CacheScope<'a> = Unstructured::arbitrary;
    Roots: ListChanged = Unstructured::arbitrary;
    Proposals: Vec<Text<'a>> = Unstructured::arbitrary;
    Form: crate::model::ObjectSchema<'a> = Unstructured::arbitrary;
    Format: Text<'a> = Unstructured::arbitrary;
    NumberKind: Text<'a> = number_kind;
    ItemKind: Text<'a> = Unstructured::arbitrary;
    UrlElicitations: List<'a, crate::model::ElicitParams<'a>> = Unstructured::arbitrary;
    Blocks: Content<'a> = Unstructured::arbitrary;
    Blocks: List<'a, Content<'a>> = blocks;
}

impl Sample<'_, Option<u64>> for wire_types::OrNull {
    fn sample(bytes: &mut Unstructured<'_>) -> Result<Option<u64>> {
        bytes.arbitrary()
    }
}

fn objects<'u>(bytes: &mut Unstructured<'u>) -> Result<Map<'u, Raw<'u>>> {
    Map::fill(bytes, object::<Raw<'static>>)
}

/// Generates a JSON object. For an optional member, `null` would be read as an absent member.
pub(crate) fn object<'u, P: Container<'u, Raw<'static>>>(
    bytes: &mut Unstructured<'u>,
) -> Result<P> {
    P::fill(bytes, |bytes| Json::write(bytes, Json::object))
}

/// Generates the id of a request, or a progress token: a string or an integer.
pub(crate) fn id<'u, P: Container<'u, Raw<'static>>>(bytes: &mut Unstructured<'u>) -> Result<P> {
    P::fill(bytes, |bytes| {
        if bytes.arbitrary()? {
            Json::write(bytes, Json::string)
        } else {
            Json::write(bytes, Json::integer)
        }
    })
}

/// Generates a number that every JSON parser reads exactly; a greater one would be rejected as a number.
pub(crate) fn exact<'u, P: Container<'u, u64>>(bytes: &mut Unstructured<'u>) -> Result<P> {
    P::fill(bytes, |bytes| bytes.int_in_range(0..=GREATEST))
}

/// Generates a duration of up to a minute. It is never zero, because an operation that repeats without delay repeats
/// without end.
pub(crate) fn short<'u, P: Container<'u, Duration>>(bytes: &mut Unstructured<'u>) -> Result<P> {
    P::fill(bytes, |bytes| bytes.int_in_range(1..=60_000).map(Duration::from_millis))
}

/// Generates an object whose type has no variant in the model.
pub(crate) fn unknown_type(bytes: &mut Unstructured<'_>) -> Result<Raw<'static>> {
    Json::write(bytes, |json| json.unknown("type"))
}

/// Generates an object with a method that the protocol does not define.
pub(crate) fn unknown_method(bytes: &mut Unstructured<'_>) -> Result<Raw<'static>> {
    Json::write(bytes, |json| json.unknown("method"))
}

/// Generates one of the two types of a number field. Any other type would make it a different field.
fn number_kind(bytes: &mut Unstructured<'_>) -> Result<Text<'static>> {
    bytes.choose(&["number", "integer"]).map(|kind| Text::from(*kind))
}

/// Generates one of the names that an open enum knows, or any other.
pub(crate) fn name<'u>(bytes: &mut Unstructured<'u>, known: &[&'static str]) -> Result<Text<'u>> {
    match known.get(bytes.int_in_range(0..=known.len())?) {
        Some(name) => Ok(Text::from(*name)),
        None => bytes.arbitrary(),
    }
}

/// Generates the content of a tool result: any block except the result of another tool, which would nest without end.
pub(crate) fn blocks<'u>(bytes: &mut Unstructured<'u>) -> Result<List<'u, Content<'u>>> {
    let mut blocks = Vec::new();
    while bytes.arbitrary()? {
        blocks.push(match bytes.int_in_range(0..=5)? {
            0 => Content::Text(bytes.arbitrary()?),
            1 => Content::Image(bytes.arbitrary()?),
            2 => Content::Audio(bytes.arbitrary()?),
            3 => Content::Resource(bytes.arbitrary()?),
            4 => Content::ResourceLink(bytes.arbitrary()?),
            _ => Content::Unknown(unknown_type(bytes)?),
        });
    }
    Ok(blocks.into())
}

/// Generates text from any bytes, borrowed if they are UTF-8.
fn text<'u>(bytes: &mut Unstructured<'u>) -> Result<Cow<'u, str>> {
    let length = bytes.int_in_range(0..=LONGEST_TEXT)?.min(bytes.len());
    bytes.bytes(length).map(String::from_utf8_lossy)
}

impl<'u: 'a, 'a> Arbitrary<'u> for Text<'a> {
    fn arbitrary(bytes: &mut Unstructured<'u>) -> Result<Self> {
        text(bytes).map(Self::from)
    }
}

impl<'u: 'a, 'a, V: Arbitrary<'u>> Arbitrary<'u> for Map<'a, V> {
    fn arbitrary(bytes: &mut Unstructured<'u>) -> Result<Self> {
        Self::fill(bytes, V::arbitrary)
    }
}

impl<'u, T: Arbitrary<'u>> Arbitrary<'u> for List<'_, T> {
    fn arbitrary(bytes: &mut Unstructured<'u>) -> Result<Self> {
        bytes.arbitrary_iter()?.collect()
    }
}

/// Generates any JSON value of limited depth.
impl<'u> Arbitrary<'u> for Raw<'_> {
    fn arbitrary(bytes: &mut Unstructured<'u>) -> Result<Self> {
        Json::write(bytes, Json::value)
    }
}

impl<'u> Arbitrary<'u> for Str<'_> {
    fn arbitrary(bytes: &mut Unstructured<'u>) -> Result<Self> {
        Json::write(bytes, Json::any_string)?.into_str().ok_or(Error::IncorrectFormat)
    }
}

impl<'u> Arbitrary<'u> for Number {
    fn arbitrary(bytes: &mut Unstructured<'u>) -> Result<Self> {
        Ok(match bytes.int_in_range(0..=4)? {
            0 => Self::from(bytes.arbitrary::<i8>()?),
            1 => Self::from(bytes.arbitrary::<i64>()?),
            2 => Self::from(bytes.arbitrary::<u64>()?),
            3 => Self::try_from(f64::from(bytes.arbitrary::<i16>()?) / 64.0).unwrap_or(Self::ZERO),
            _ => Self::try_from(bytes.arbitrary::<f64>()?).unwrap_or(Self::ZERO),
        })
    }
}

/// Generates an instant close enough to the epoch, and to other instants, that timers expire.
impl<'u> Arbitrary<'u> for Instant {
    fn arbitrary(bytes: &mut Unstructured<'u>) -> Result<Self> {
        bytes.arbitrary::<u32>().map(|milliseconds| Self::from_millis(milliseconds.into()))
    }
}

impl<'u> Arbitrary<'u> for RevisionSet {
    fn arbitrary(bytes: &mut Unstructured<'u>) -> Result<Self> {
        let mut set = Self::NONE;
        for revision in Revision::ALL {
            set = if bytes.arbitrary()? { set.with(revision) } else { set };
        }
        Ok(set)
    }
}

/// Generates limits low enough to be reached with short inputs, and high enough for a session to open.
impl<'u> Arbitrary<'u> for Limits {
    fn arbitrary(bytes: &mut Unstructured<'u>) -> Result<Self> {
        Ok(Self {
            frame_bytes: bytes.int_in_range(512..=65_536)?,
            chunk_bytes: bytes.int_in_range(1..=8_192)?,
            depth: bytes.int_in_range(8..=128)?,
            id_bytes: bytes.int_in_range(8..=256)?,
            method_bytes: bytes.int_in_range(64..=256)?,
            token_bytes: bytes.int_in_range(8..=256)?,
            batch_elements: bytes.int_in_range(1..=16)?,
            batches: bytes.int_in_range(0..=4)?,
            connection_bytes: bytes.int_in_range(512..=65_536)?,
            inbound_requests: bytes.int_in_range(1..=16)?,
            outbound_calls: bytes.int_in_range(1..=16)?,
            held_bytes: bytes.int_in_range(0..=4_096)?,
            outbox_bytes: bytes.int_in_range(512..=65_536)?,
            reserve_bytes: bytes.int_in_range(256..=4_096)?,
            congestion_bytes: bytes.int_in_range(0..=65_536)?,
            subscriptions: bytes.int_in_range(0..=16)?,
            listens: bytes.int_in_range(0..=16)?,
            early_notifications: bytes.int_in_range(0..=16)?,
            uri_bytes: bytes.int_in_range(1..=256)?,
            elicitations: bytes.int_in_range(0..=16)?,
            input_rounds: bytes.int_in_range(0..=16)?,
            input_requests: bytes.int_in_range(0..=16)?,
            kept_bytes: bytes.int_in_range(0..=4_096)?,
            remembered_calls: bytes.int_in_range(0..=16)?,
            violations_in_a_row: bytes.int_in_range(1..=16)?,
        })
    }
}
