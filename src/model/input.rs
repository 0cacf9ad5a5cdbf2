//! `InputRequired`: the requests that a server needs the client to answer before it can respond
//! ([basic/patterns/mrtr](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr)).

use serde::de::Error;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::content::{Present, borrowed_json, parse};
use super::elicitation::ElicitParams;
use super::map::Map;
use super::method::{CreateMessage, Elicit, ListRoots, Method};
use super::sampling::CreateMessageParams;
use super::text::Text;
use crate::json::Raw;
use crate::schema::shape::Shape;
use crate::schema::{ModelWriter, Value, Written};

/// One input request of a server: a method and its params, without an envelope (2026-07-28).
#[doc(alias("InputRequests", "InputResponse", "InputResponses", "InputResponseRequestParams"))]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
#[allow(clippy::large_enum_variant, reason = "there are few of them, and they do not live long")]
pub enum InputRequest<'a> {
    /// `elicitation/create`: a question to the user.
    Elicit(ElicitParams<'a>),
    /// `sampling/createMessage`: a request to a model.
    CreateMessage(CreateMessageParams<'a>),
    /// `roots/list`: a request for the locations in the file system that the server may work in. This request is
    /// written without params, and params are dropped when it is read.
    ListRoots,
    /// A request that is not decoded.
    ///
    /// Reading produces this variant for a method that the protocol does not have, which a server must not send. For
    /// gateways, a request of one of the methods above can be sent in this form unchanged, including members that no
    /// type of this crate has.
    Unknown(
        #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::unknown_method))]
        Raw<'a>,
    ),
}

impl InputRequest<'_> {
    /// Returns the method, or `None` for a request that is not decoded.
    pub const fn method(&self) -> Option<&'static str> {
        match self {
            Self::Elicit(_) => Some(Elicit::NAME),
            Self::CreateMessage(_) => Some(CreateMessage::NAME),
            Self::ListRoots => Some(ListRoots::NAME),
            Self::Unknown(_) => None,
        }
    }
}

impl Serialize for InputRequest<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Self::Unknown(raw) = self {
            return raw.serialize(serializer);
        }
        let mut request = serializer.serialize_map(None)?;
        request.serialize_entry("method", &self.method())?;
        match self {
            Self::Elicit(params) => request.serialize_entry("params", params)?,
            Self::CreateMessage(params) => request.serialize_entry("params", params)?,
            Self::ListRoots | Self::Unknown(_) => {}
        }
        request.end()
    }
}

impl Value for InputRequest<'_> {
    const SHAPE: Shape = Shape::Object;

    fn write(&self, out: &mut ModelWriter<'_, '_>) -> Written {
        // The params are filtered when the input request is prepared for sending.
        out.need_filter()?;
        match self {
            Self::Elicit(params) => {
                out.piece(r#"{"method":"elicitation/create","params":"#)?;
                params.write(out)?;
            }
            Self::CreateMessage(params) => {
                out.piece(r#"{"method":"sampling/createMessage","params":"#)?;
                params.write(out)?;
            }
            Self::ListRoots => out.piece(r#"{"method":"roots/list""#)?,
            Self::Unknown(raw) => return out.raw(raw.as_json()),
        }
        out.piece("}")
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for InputRequest<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Parts<'a> {
            #[serde(borrow)]
            method: Text<'a>,
            #[serde(borrow)]
            params: Option<Raw<'a>>,
        }
        let text = borrowed_json(deserializer)?;
        let Parts { method, params } = parse(text)?;
        let params = params.as_ref().and_then(Raw::borrowed);
        let needed = || params.ok_or_else(|| Error::missing_field("params"));
        match method.as_str() {
            Elicit::NAME => parse(needed()?).map(Self::Elicit),
            CreateMessage::NAME => parse(needed()?).map(Self::CreateMessage),
            ListRoots::NAME => Ok(Self::ListRoots),
            _ => Ok(Self::Unknown(Raw::trusted(text))),
        }
    }
}

record! {
    /// The result of a request that needs client input first. The client repeats the request with the input responses
    /// and the state (2026-07-28).
    ///
    /// At least one of `requests` and `state` must be present. Each input request has a key, under which the client
    /// sends its response.
    ///
    /// ```
    /// use mcp_sansio::json::Raw;
    /// use mcp_sansio::model::InputRequired;
    ///
    /// let needed = InputRequired::new().roots("places").state("step 2");
    /// assert_eq!(
    ///     Raw::from_serialize(&needed)?.as_json(),
    ///     r#"{"inputRequests":{"places":{"method":"roots/list"}},"requestState":"step 2"}"#,
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "ResultType")]
    #[doc(alias("InputRequiredResult", "input_required"))]
    #[derive(Default)]
    pub struct InputRequired<'a> {
        /// The input requests of the server, by keys of its choice.
        #[doc(alias = "inputRequests")]
        pub requests: Option<Map<'a, InputRequest<'a>>> = "inputRequests";
        /// An opaque state that the client returns unchanged. An empty string is a valid state; `null` cannot be
        /// read.
        ///
        /// A client can return any value, so protect the integrity of a state that must not be forged.
        #[doc(alias = "requestState")]
        pub state: Option<Text<'a>> = "requestState" by Present<_>;
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object;
    }
}

setters! { InputRequired { meta[Raw<'a>] } }

impl<'a> InputRequired<'a> {
    /// Creates a result without requests and state.
    pub const fn new() -> Self {
        Self { requests: None, state: None, meta: None }
    }

    /// Returns the result with a question to the user.
    #[must_use]
    pub fn elicit(self, key: impl Into<Text<'a>>, params: ElicitParams<'a>) -> Self {
        self.request(key, InputRequest::Elicit(params))
    }

    /// Returns the result with a request to a model.
    #[must_use]
    pub fn sample(self, key: impl Into<Text<'a>>, params: CreateMessageParams<'a>) -> Self {
        self.request(key, InputRequest::CreateMessage(params))
    }

    /// Returns the result with a request for the roots.
    #[must_use]
    pub fn roots(self, key: impl Into<Text<'a>>) -> Self {
        self.request(key, InputRequest::ListRoots)
    }

    /// Returns the result with this request. An earlier request with the same key is replaced.
    #[must_use]
    pub fn request(mut self, key: impl Into<Text<'a>>, request: InputRequest<'a>) -> Self {
        self.requests.get_or_insert_default().insert(key, request);
        self
    }

    /// Returns the result with a state.
    #[must_use]
    pub fn state(mut self, state: impl Into<Text<'a>>) -> Self {
        self.state = Some(state.into());
        self
    }
}
