//! Logging ([server/utilities/logging](https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/logging)).

use core::fmt;
use core::str::FromStr;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::text::Text;
use crate::json::Raw;
use crate::schema::shape::{Choices, Shape, choice, closed};
use crate::schema::{ModelWriter, Value, Written};

/// The severity of a log message, least severe first (RFC 5424).
///
/// The set is closed in every revision: any other level is an invalid params error.
///
/// ```
/// use mcp_sansio::model::LoggingLevel;
///
/// assert_eq!("warning".parse(), Ok(LoggingLevel::Warning));
/// assert!("Warning".parse::<LoggingLevel>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[allow(clippy::exhaustive_enums, reason = "RFC 5424 will not get another level")]
pub enum LoggingLevel {
    /// Details for debugging.
    Debug,
    /// Normal progress.
    Info,
    /// A normal but significant event.
    Notice,
    /// A possible problem.
    Warning,
    /// An operation failed.
    Error,
    /// A component failed.
    Critical,
    /// Immediate action is required.
    Alert,
    /// The system is unusable.
    Emergency,
}

impl LoggingLevel {
    const ALL: [Self; 8] = [
        Self::Debug,
        Self::Info,
        Self::Notice,
        Self::Warning,
        Self::Error,
        Self::Critical,
        Self::Alert,
        Self::Emergency,
    ];

    /// Returns the level of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name() == name)
    }

    /// Returns the name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Critical => "critical",
            Self::Alert => "alert",
            Self::Emergency => "emergency",
        }
    }
}

impl LoggingLevel {
    /// Returns the name on the wire, in quotes.
    pub(crate) const fn literal(self) -> &'static str {
        match self {
            Self::Debug => "\"debug\"",
            Self::Info => "\"info\"",
            Self::Notice => "\"notice\"",
            Self::Warning => "\"warning\"",
            Self::Error => "\"error\"",
            Self::Critical => "\"critical\"",
            Self::Alert => "\"alert\"",
            Self::Emergency => "\"emergency\"",
        }
    }
}

/// The error for an unknown level name. The author of the name is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("there is no log level of this name")]
#[non_exhaustive]
pub struct UnknownLevel;

impl FromStr for LoggingLevel {
    type Err = UnknownLevel;

    /// The same as [`from_name`](Self::from_name), for command lines and configurations.
    fn from_str(name: &str) -> Result<Self, UnknownLevel> {
        Self::from_name(name).ok_or(UnknownLevel)
    }
}

impl fmt::Display for LoggingLevel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

static LEVELS: Choices = closed(&[
    choice("debug"),
    choice("info"),
    choice("notice"),
    choice("warning"),
    choice("error"),
    choice("critical"),
    choice("alert"),
    choice("emergency"),
]);

impl Value for LoggingLevel {
    const SHAPE: Shape = Shape::OneOf(&LEVELS);

    fn write(&self, out: &mut ModelWriter<'_, '_>) -> Written {
        out.piece(self.literal())
    }
}

impl Serialize for LoggingLevel {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for LoggingLevel {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = Text::deserialize(deserializer)?;
        Self::from_name(&name).ok_or_else(|| Error::custom("unknown logging level"))
    }
}

record! {
    /// The params of `logging/setLevel`.
    #[doc(alias("logging/setLevel", "SetLevelRequestParams"))]
    pub struct SetLevelParams<'a> {
        /// The least severe level to send.
        pub level: LoggingLevel = "level";
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object;
    }
}

setters! { SetLevelParams { meta[Raw<'a>] } }

impl SetLevelParams<'_> {
    /// Creates a request for messages of this level and above.
    pub const fn new(level: LoggingLevel) -> Self {
        Self { level, meta: None }
    }
}
