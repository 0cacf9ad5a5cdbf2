//! [`Integer`], the reader of integer members.

use serde::de::{Error, Unexpected};
use serde::{Deserialize, Deserializer};

use crate::json::Number;

/// An integer that is read in any form of JSON: to JSON Schema, `3.0` and `3e0` are the integer 3, and some peers write
/// all numbers with a fraction.
pub(super) struct Integer<T>(pub(super) T);

impl<'de, T: TryFrom<i128>> Deserialize<'de> for Integer<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = Number::deserialize(deserializer)?;
        let integer = number.as_integer().and_then(|integer| T::try_from(integer).ok());
        let unexpected = Unexpected::Float(number.as_f64());
        integer.map(Self).ok_or_else(|| Error::invalid_value(unexpected, &"an integer in range"))
    }
}

/// An optional integer, in any form of JSON. `null` counts as absent.
pub(super) struct OptionalInteger<T>(pub(super) Option<T>);

impl<'de, T: TryFrom<i128>> Deserialize<'de> for OptionalInteger<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let integer = Option::<Integer<T>>::deserialize(deserializer)?;
        Ok(Self(integer.map(|integer| integer.0)))
    }
}
