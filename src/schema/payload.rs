//! [`Payload`]: a value that can be the params or the result of a message.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use serde::de::{Deserialize, Deserializer};
use serde::ser::{Serialize, Serializer};

use super::additions::Additions;
use super::encode_error::EncodeError;
use super::payload_writer::{Empty, PayloadWriter};
use super::writer::Writer;
use crate::json::Raw;

/// A value that can be the params or the result of a message.
///
/// Every type of [`model`](crate::model) is a payload and writes itself at about the cost of copying its bytes.
/// [`Raw`], `serde_json::Value` and `()` are payloads too; `()` stands for absent params and for an empty result. To
/// use a type of your own, wrap it in [`Json`].
///
/// ```
/// use mcp_sansio::schema::Json;
/// use mcp_sansio::{IncomingId, Outbox, RespondError, Server};
///
/// #[derive(serde::Serialize)]
/// struct Weather {
///     celsius: i8,
/// }
///
/// /// Answers a request of a method that MCP does not have.
/// fn answer(server: &mut Server, id: IncomingId, out: &mut Outbox) -> Result<(), RespondError> {
///     server.respond(id, &Json(Weather { celsius: -3 }), out)
/// }
/// # _ = answer;
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no payload",
    note = "a type of your own that is `serde::Serialize` is one inside `Json`: `&Json(&value)`"
)]
pub trait Payload {
    /// Writes the value as an object.
    #[doc(hidden)]
    fn write(&self, payload: PayloadWriter<'_, '_, '_>) -> Result<(), EncodeError>;
}

/// A [`Payload`] wrapper for any type that implements `serde::Serialize`.
///
/// The value must serialize to an object: a struct or a map. `None` and `()` stand for absent params or an empty
/// result. For a method of MCP, the object is compared with the schema of the method.
///
/// The JSON form is that of the value alone, so the wrapper can be the params or the result of a custom
/// [`Method`](crate::model::method::Method).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_structs, reason = "it is the value and nothing else")]
pub struct Json<T: ?Sized>(pub T);

impl<T: Serialize + ?Sized> Payload for Json<T> {
    fn write(&self, payload: PayloadWriter<'_, '_, '_>) -> Result<(), EncodeError> {
        payload.serialize(&self.0)
    }
}

impl<T: Serialize + ?Sized> Serialize for Json<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Json<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self)
    }
}

impl<T: Payload + ?Sized> Payload for &T {
    fn write(&self, payload: PayloadWriter<'_, '_, '_>) -> Result<(), EncodeError> {
        (**self).write(payload)
    }
}

impl<T: Payload + ?Sized> Payload for Box<T> {
    fn write(&self, payload: PayloadWriter<'_, '_, '_>) -> Result<(), EncodeError> {
        (**self).write(payload)
    }
}

impl<T: Payload> Payload for Option<T> {
    fn write(&self, payload: PayloadWriter<'_, '_, '_>) -> Result<(), EncodeError> {
        match self {
            Some(value) => value.write(payload),
            None => payload.nothing(),
        }
    }
}

impl Payload for () {
    fn write(&self, payload: PayloadWriter<'_, '_, '_>) -> Result<(), EncodeError> {
        payload.nothing()
    }
}

impl Payload for Raw<'_> {
    fn write(&self, payload: PayloadWriter<'_, '_, '_>) -> Result<(), EncodeError> {
        payload.raw(self.as_json())
    }
}

impl Raw<'static> {
    /// Creates the JSON text of a payload with all its members, regardless of the revision.
    ///
    /// # Errors
    ///
    /// The same as for [`from_serialize`](Raw::from_serialize).
    pub fn from_payload(payload: &(impl Payload + ?Sized)) -> Result<Self, EncodeError> {
        text_of(&payload).map(Self::owned)
    }
}

/// Returns the JSON text of a payload.
pub(crate) fn text_of(payload: &dyn Payload) -> Result<String, EncodeError> {
    let mut buffer = Vec::new();
    let mut writer = Writer::new(&mut buffer, usize::MAX);
    payload.write(PayloadWriter::new(&mut writer, "", Empty::Braces, &Additions::NONE, None))?;
    // Everything the writer appends is UTF-8.
    String::from_utf8(buffer).map_err(|_| EncodeError::Payload)
}

/// Implements [`Payload`] for types through their `Serialize`.
macro_rules! serialized {
    ($($Type:ty),* $(,)?) => {$(
        impl $crate::schema::Payload for $Type {
            fn write(
                &self,
                payload: $crate::schema::PayloadWriter<'_, '_, '_>,
            ) -> Result<(), $crate::schema::EncodeError> {
                payload.serialize(self)
            }
        }
    )*};
}

pub(crate) use serialized;

serialized! { serde_json::Value, serde_json::Map<String, serde_json::Value> }
