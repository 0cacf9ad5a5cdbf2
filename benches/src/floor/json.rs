//! The JSON libraries of the floor.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
#[cfg(feature = "contenders")]
use sonic_rs::{LazyValue, OwnedLazyValue};

/// The members of any message. Payloads remain unparsed bytes.
#[derive(Deserialize)]
#[expect(dead_code, reason = "parsing fills the fields, as for an application that uses them")]
pub(super) struct Envelope<'a, L> {
    pub(super) jsonrpc: &'a str,
    pub(super) id: Option<L>,
    pub(super) method: Option<&'a str>,
    pub(super) params: Option<L>,
    pub(super) result: Option<L>,
    pub(super) error: Option<L>,
}

/// A JSON library.
pub(super) trait Json: 'static {
    /// A value that remains in its received bytes.
    type Lazy<'a>: Serialize;

    /// The owned form of [`Self::Lazy`].
    type Kept: Serialize + 'static;

    /// Parses a message in one pass.
    fn read(message: &[u8]) -> Envelope<'_, Self::Lazy<'_>>;

    /// Appends a serialized message to `out`.
    fn write<T: Serialize>(message: &T, out: &mut Vec<u8>);

    /// Serializes a value into an owned one.
    fn keep<T: Serialize>(value: &T) -> Self::Kept;

    /// Stores JSON text as an owned value.
    fn keep_raw(json: &'static str) -> Self::Kept;
}

/// serde_json.
pub(super) struct SerdeJson;

impl Json for SerdeJson {
    type Lazy<'a> = &'a RawValue;
    type Kept = Box<RawValue>;

    fn read(message: &[u8]) -> Envelope<'_, &RawValue> {
        serde_json::from_slice(message).unwrap()
    }

    fn write<T: Serialize>(message: &T, out: &mut Vec<u8>) {
        serde_json::to_writer(out, message).unwrap();
    }

    fn keep<T: Serialize>(value: &T) -> Box<RawValue> {
        serde_json::value::to_raw_value(value).unwrap()
    }

    fn keep_raw(json: &'static str) -> Box<RawValue> {
        RawValue::from_string(json.to_owned()).unwrap()
    }
}

/// sonic-rs, with the baseline instruction set of the target, like mcp-sansio.
#[cfg(feature = "contenders")]
pub(super) struct Sonic;

#[cfg(feature = "contenders")]
impl Json for Sonic {
    type Lazy<'a> = LazyValue<'a>;
    type Kept = OwnedLazyValue;

    fn read(message: &[u8]) -> Envelope<'_, LazyValue<'_>> {
        sonic_rs::from_slice(message).unwrap()
    }

    fn write<T: Serialize>(message: &T, out: &mut Vec<u8>) {
        sonic_rs::to_writer(out, message).unwrap();
    }

    fn keep<T: Serialize>(value: &T) -> OwnedLazyValue {
        sonic_rs::to_lazyvalue(value).unwrap()
    }

    fn keep_raw(json: &'static str) -> OwnedLazyValue {
        sonic_rs::from_str::<LazyValue<'_>>(json).unwrap().into()
    }
}
