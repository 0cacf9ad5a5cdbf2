//! `LastClaim`: what the last request without a session said of its sender.

use alloc::boxed::Box;
use core::fmt;
use core::hash::{Hash, Hasher};

use super::claim::{Claim, Facts};
use super::identity::key;
use crate::json::{KnownMembers, Object};

/// The reserved members of the `_meta` of the last request without a session, and what they say.
///
/// A client says the same in every request that belongs to no session. Where the same members stand again, and no other
/// reserved ones, they are neither scanned nor read again. The memory is at most [`KnownMembers::LONGEST`] bytes of text
/// and where the members are in it, in a box that is allocated when there is something to remember: at most the 800 bytes
/// that the formula of [`Limits`](crate::Limits) names.
///
/// It is a cache and no state: the answer to a request is the same with and without it. So two machines that differ
/// only here are equal, and `Debug` does not show the text of the peer.
#[derive(Clone, Default)]
pub(crate) struct LastClaim(Option<Box<Known>>);

#[derive(Clone)]
struct Known {
    members: KnownMembers,
    facts: Facts,
}

impl LastClaim {
    /// Nothing has been said.
    pub(crate) const NONE: Self = Self(None);

    /// The members, which need not be scanned again.
    #[inline]
    pub(crate) fn members(&self) -> Option<&KnownMembers> {
        self.0.as_ref().map(|known| &known.members)
    }

    /// What this `_meta` says: remembered, or else read now. Only what is sound is remembered.
    #[inline]
    pub(crate) fn of<'a>(
        &mut self,
        meta: Option<&Object<'_, 'a>>,
        read: impl FnOnce() -> Claim<'a>,
    ) -> Claim<'a> {
        if let (Some(known), Some(meta)) = (&self.0, meta)
            && known.members.are_all_in(meta, is_reserved)
        {
            return Claim::Sound(known.facts);
        }
        let claim = read();
        if let (Claim::Sound(facts), Some(meta)) = (&claim, meta) {
            self.remember(meta, *facts);
        }
        claim
    }

    #[cold]
    fn remember(&mut self, meta: &Object<'_, '_>, facts: Facts) {
        match &mut self.0 {
            Some(known) => {
                if known.members.learn(meta, is_reserved) {
                    known.facts = facts;
                }
            }
            None => {
                let mut members = KnownMembers::NONE;
                if members.learn(meta, is_reserved) {
                    self.0 = Some(Box::new(Known { members, facts }));
                }
            }
        }
    }
}

fn is_reserved(key: &str) -> bool {
    key.starts_with(key::RESERVED)
}

impl PartialEq for LastClaim {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for LastClaim {}

impl Hash for LastClaim {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl fmt::Debug for LastClaim {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(known) => write!(formatter, "LastClaim({} bytes)", known.members.len()),
            None => formatter.write_str("LastClaim(none)"),
        }
    }
}

#[cfg(test)]
#[path = "last_claim_tests.rs"]
mod tests;
