//! The caching members of results
//! ([server/utilities/caching](https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching)).
//!
//! A hint must never cost the result that it comes with: one that cannot be read is read as absent.

use serde::{Deserialize, Deserializer};

use super::content::{borrowed_json, parse};
use super::open::open_enum;
use crate::json::Number;
use crate::schema::is_integral;

open_enum! {
    /// Who may use a result again (2026-07-28). Treat what is absent or unknown as private.
    CacheScope {
        /// Anybody: it is the same for all users.
        Public = "public";
        /// Only whoever asked, with the authorisation they had when they did.
        Private = "private";
    }
}

/// The greatest integer that every JSON parser reads exactly.
const GREATEST: u64 = (1 << 53) - 1;

/// An integer from 0 to 2^53 - 1: anything else is read as absent.
pub(super) struct LenientNatural(pub(super) Option<u64>);

impl<'de> Deserialize<'de> for LenientNatural {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = borrowed_json(deserializer)?;
        Ok(Self(natural(text).filter(|number| *number <= GREATEST)))
    }
}

/// The natural number that a literal stands for: `3`, and also `3.0`.
fn natural(literal: &str) -> Option<u64> {
    if let Ok(number) = literal.parse() {
        return Some(number);
    }
    let number = Number::from_literal(literal).filter(|_| is_integral(literal))?;
    let in_range = Number::ZERO <= number && number <= Number::from(GREATEST);
    // An integer of at most 53 bits is exact as an `f64`.
    in_range.then_some(number.as_f64() as u64)
}

/// Who may use a result again: anything but a string is read as absent.
pub(super) struct LenientScope<'a>(pub(super) Option<CacheScope<'a>>);

impl<'de: 'a, 'a> Deserialize<'de> for LenientScope<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = borrowed_json(deserializer)?;
        if text.starts_with('"') { parse(text).map(Some).map(Self) } else { Ok(Self(None)) }
    }
}
