//! Libraries that know JSON, and nothing of what is in it.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sonic_rs::{LazyValue, OwnedLazyValue};

/// What every message can have. Payloads stay the bytes that they came in as.
#[derive(Deserialize)]
#[expect(dead_code, reason = "it is read into, as anybody would who goes on from here")]
pub(super) struct Envelope<'a, L> {
    pub(super) jsonrpc: &'a str,
    pub(super) id: Option<L>,
    pub(super) method: Option<&'a str>,
    pub(super) params: Option<L>,
    pub(super) result: Option<L>,
    pub(super) error: Option<L>,
}

/// A library.
pub(super) trait Json: 'static {
    /// A value that stays the bytes it came in as.
    type Lazy<'a>: Serialize;

    /// The same, and kept.
    type Kept: Serialize + 'static;

    /// Reads a message, in one pass.
    fn read(message: &[u8]) -> Envelope<'_, Self::Lazy<'_>>;

    /// Writes a message behind what is there.
    fn write<T: Serialize>(message: &T, out: &mut Vec<u8>);

    /// Keeps a value as JSON.
    fn keep<T: Serialize>(value: &T) -> Self::Kept;

    /// Keeps what is JSON.
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

/// sonic-rs, with what instructions every processor of the target has: as mcp-sansio is built.
pub(super) struct Sonic;

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
