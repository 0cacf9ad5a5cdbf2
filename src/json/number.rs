//! JSON numbers that keep their kind and compare exactly.

use alloc::borrow::Cow;
use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};

use serde::de::Error;
use serde::ser::{Serialize, Serializer};
use serde::{Deserialize, Deserializer};

/// The name by which `serde_json::Number` tells a serializer that it is a number already, if somebody
/// in the build has switched on `arbitrary_precision`.
pub(super) const NUMBER: &str = "$serde_json::private::Number";

/// A finite number as JSON has it: an integer stays an integer, a fraction a fraction.
///
/// `1` and `1.0` are written differently but compare equal. Comparing is exact, also between an
/// integer beyond 2^53 and a fraction.
///
/// ```
/// use mcp_sansio::json::Number;
///
/// let half = Number::try_from(0.5)?;
/// assert!(half < Number::from(1_u64));
/// assert_eq!(Number::from(1_u64), Number::try_from(1.0)?);
/// assert!(Number::try_from(f64::NAN).is_err());
/// # Ok::<(), mcp_sansio::json::NumberError>(())
/// ```
#[derive(Clone, Copy)]
pub struct Number {
    repr: Repr,
}

#[derive(Clone, Copy)]
enum Repr {
    /// Everything from `i64::MIN` to `u64::MAX`.
    Integer(i128),
    /// Finite.
    Fraction(f64),
}

/// The number is not finite: JSON has no NaN and no infinity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("JSON has no number that is not finite")]
#[non_exhaustive]
pub struct NumberError;

impl Number {
    /// Zero.
    pub const ZERO: Self = Self { repr: Repr::Integer(0) };

    /// The number nearest to this one as an `f64`.
    #[allow(clippy::cast_precision_loss, reason = "that is what the method is for")]
    pub const fn as_f64(self) -> f64 {
        match self.repr {
            Repr::Integer(integer) => integer as f64,
            Repr::Fraction(fraction) => fraction,
        }
    }

    /// The number of a scanned JSON number literal, `None` if it is no number or overflows an `f64`.
    pub(crate) fn from_literal(literal: &str) -> Option<Self> {
        if !matches!(literal.as_bytes().first(), Some(b'-' | b'0'..=b'9')) {
            return None;
        }
        // Negative zero is a fraction: no integer has its sign.
        if literal != "-0"
            && let Ok(integer) = literal.parse::<i128>()
            && (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&integer)
        {
            return Some(Self { repr: Repr::Integer(integer) });
        }
        Self::try_from(literal.parse::<f64>().ok()?).ok()
    }
}

macro_rules! from_integer {
    ($($integer:ty),*) => {$(
        impl From<$integer> for Number {
            fn from(integer: $integer) -> Self {
                Self { repr: Repr::Integer(i128::from(integer)) }
            }
        }
    )*};
}

from_integer!(u8, u16, u32, u64, i8, i16, i32, i64);

impl TryFrom<f64> for Number {
    type Error = NumberError;

    fn try_from(number: f64) -> Result<Self, NumberError> {
        if number.is_finite() {
            Ok(Self { repr: Repr::Fraction(number) })
        } else {
            Err(NumberError)
        }
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.repr, other.repr) {
            (Repr::Integer(left), Repr::Integer(right)) => left.cmp(&right),
            (Repr::Integer(left), Repr::Fraction(right)) => compare(left, right),
            (Repr::Fraction(left), Repr::Integer(right)) => compare(right, left).reverse(),
            (Repr::Fraction(left), Repr::Fraction(right)) => {
                // Both are finite, so there always is an order.
                left.partial_cmp(&right).unwrap_or(Ordering::Equal)
            }
        }
    }
}

/// Compares an integer of at most 65 bits with a finite fraction, exactly.
fn compare(integer: i128, fraction: f64) -> Ordering {
    // A cast to an integer truncates towards zero and saturates, both of which keep the order
    // against an integer of at most 65 bits; what it cuts off decides a tie.
    let truncated = fraction as i128;
    integer.cmp(&truncated).then_with(|| {
        #[allow(clippy::cast_precision_loss, reason = "the integer came from this f64")]
        let cut = fraction - truncated as f64;
        0.0.partial_cmp(&cut).unwrap_or(Ordering::Equal)
    })
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Number {}

impl Hash for Number {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // Numbers that compare equal are equal as f64 too. Adding zero makes one zero of two.
        (self.as_f64() + 0.0).to_bits().hash(state);
    }
}

impl fmt::Display for Number {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.repr {
            Repr::Integer(integer) => formatter.pad_integral(
                integer >= 0,
                "",
                itoa::Buffer::new().format(integer.unsigned_abs()),
            ),
            Repr::Fraction(fraction) => formatter.pad(zmij::Buffer::new().format_finite(fraction)),
        }
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.repr {
            Repr::Integer(integer) => match (u64::try_from(integer), i64::try_from(integer)) {
                (Ok(integer), _) => serializer.serialize_u64(integer),
                (_, Ok(integer)) => serializer.serialize_i64(integer),
                (Err(_), Err(_)) => serializer.serialize_i128(integer),
            },
            Repr::Fraction(fraction) => serializer.serialize_f64(fraction),
        }
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NumberVisitor)
    }
}

struct NumberVisitor;

impl<'de> serde::de::Visitor<'de> for NumberVisitor {
    type Value = Number;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a number")
    }

    fn visit_u64<E>(self, integer: u64) -> Result<Number, E> {
        Ok(Number::from(integer))
    }

    fn visit_i64<E>(self, integer: i64) -> Result<Number, E> {
        Ok(Number::from(integer))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Number, E> {
        Number::try_from(number).map_err(E::custom)
    }

    /// How serde_json hands numbers out if somebody has switched on its `arbitrary_precision`.
    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Number, A::Error> {
        let number = match map.next_entry::<Cow<'de, str>, Cow<'de, str>>()? {
            Some((key, literal)) if key == NUMBER => Number::from_literal(&literal),
            _ => None,
        };
        number.ok_or_else(|| Error::invalid_type(serde::de::Unexpected::Map, &self))
    }
}
