//! The caching members of results
//! ([server/utilities/caching](https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching)).
//!
//! An unreadable hint must not invalidate its result: it is read as absent.

use serde::{Deserialize, Deserializer};

use super::content::{borrowed_json, parse};
use super::open::open_enum;
use crate::json::Number;
use crate::schema::is_integral;

open_enum! {
    /// The users that a cached result may be served to (2026-07-28). Treat an absent or unknown scope as private.
    CacheScope {
        /// All users: the result does not depend on the user.
        Public = "public";
        /// Only the requester, with the authorization of the original request.
        Private = "private";
    }
}

/// The greatest integer that every JSON parser reads exactly.
const GREATEST: u64 = (1 << 53) - 1;

/// An integer from 0 to 2^53 - 1. Any other value is read as absent.
pub(super) struct LenientNatural(pub(super) Option<u64>);

impl<'de> Deserialize<'de> for LenientNatural {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = borrowed_json(deserializer)?;
        Ok(Self(natural(text).filter(|number| *number <= GREATEST)))
    }
}

/// A natural number that is only information. Any other value is read as absent.
pub(super) struct LenientCount(pub(super) Option<u64>);

impl<'de> Deserialize<'de> for LenientCount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        borrowed_json(deserializer).map(|text| Self(natural(text)))
    }
}

/// Returns the natural number that a literal denotes: `3`, and also `3.0`.
fn natural(literal: &str) -> Option<u64> {
    if let Ok(number) = literal.parse() {
        return Some(number);
    }
    let number = Number::from_literal(literal).filter(|_| is_integral(literal))?;
    let in_range = Number::ZERO <= number && number <= Number::from(GREATEST);
    // An integer of at most 53 bits is exact as an `f64`.
    in_range.then_some(number.as_f64() as u64)
}

/// A cache scope that is read leniently: any value but a string is read as absent.
pub(super) struct LenientScope<'a>(pub(super) Option<CacheScope<'a>>);

impl<'de: 'a, 'a> Deserialize<'de> for LenientScope<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = borrowed_json(deserializer)?;
        if text.starts_with('"') { parse(text).map(Some).map(Self) } else { Ok(Self(None)) }
    }
}
