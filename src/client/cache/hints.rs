//! The lifetime and scope that a result declares.

use core::time::Duration;

use crate::json::{Kind, MemberTexts, Number, Raw, Str};
use crate::schema::is_integral;
use crate::version::Revision;

/// The hints of a complete result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hints {
    /// How long the result is fresh. Zero if the result has no valid `ttlMs`.
    pub(super) ttl: Duration,
    /// Whether the result may be shared between principals.
    pub(super) is_public: bool,
}

impl Hints {
    /// Reads the hints of a result. `None` if it is not a complete result.
    ///
    /// An invalid hint counts as the most careful value: not fresh, not public
    /// ([time to live](https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching)).
    pub(super) fn of(result: &Raw<'_>, revision: Revision) -> Option<Self> {
        if result.kind() != Kind::Object {
            return None;
        }
        let mut is_complete = true;
        let mut milliseconds = 0;
        let mut is_public = false;
        for (name, value) in MemberTexts::of(result.as_json()) {
            if name == "resultType" {
                is_complete = is_text(value, "complete");
            } else if name == "ttlMs" {
                milliseconds = natural(value);
            } else if name == "cacheScope" {
                is_public = is_text(value, "public");
            }
        }
        // Results of the legacy era have no hints, and members with these names have no meaning.
        if !revision.rules().has_cache_hints {
            milliseconds = 0;
        }
        is_complete.then_some(Self { ttl: Duration::from_millis(milliseconds), is_public })
    }
}

fn is_text(literal: &str, text: &str) -> bool {
    Str::from_literal(literal).is_some_and(|string| string == *text)
}

/// Returns a whole number from 0 to 2^53, or 0 for any other value.
fn natural(literal: &str) -> u64 {
    /// Larger JSON numbers are not exact everywhere. In milliseconds it is 285,000 years.
    const MOST: u64 = 1 << 53;
    let number = Number::from_literal(literal).filter(|_| is_integral(literal));
    match number {
        Some(number) if Number::ZERO <= number && number <= Number::from(MOST) => {
            #[allow(clippy::cast_possible_truncation, reason = "it is an integer")]
            #[allow(clippy::cast_sign_loss, reason = "it is not negative")]
            let natural = number.as_f64() as u64;
            natural
        }
        _ => 0,
    }
}
