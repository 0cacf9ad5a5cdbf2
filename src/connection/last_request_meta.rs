//! `LastRequestMeta`: what the last request without a session said of its sender.

use alloc::boxed::Box;
use core::fmt;
use core::hash::{Hash, Hasher};

use super::identity::key;
use super::request_meta::{ModernMeta, RequestMeta};
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
pub(crate) struct LastRequestMeta(Option<Box<Known>>);

#[derive(Clone)]
struct Known {
    members: KnownMembers,
    modern: ModernMeta,
}

impl LastRequestMeta {
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
        read: impl FnOnce() -> RequestMeta<'a>,
    ) -> RequestMeta<'a> {
        if let (Some(known), Some(meta)) = (&self.0, meta)
            && known.members.are_all_in(meta, is_reserved)
        {
            return RequestMeta::Modern(known.modern);
        }
        let request_meta = read();
        if let (RequestMeta::Modern(modern), Some(meta)) = (&request_meta, meta) {
            self.remember(meta, *modern);
        }
        request_meta
    }

    #[cold]
    fn remember(&mut self, meta: &Object<'_, '_>, modern: ModernMeta) {
        match &mut self.0 {
            Some(known) => {
                if known.members.learn(meta, is_reserved) {
                    known.modern = modern;
                }
            }
            None => {
                let mut members = KnownMembers::NONE;
                if members.learn(meta, is_reserved) {
                    self.0 = Some(Box::new(Known { members, modern }));
                }
            }
        }
    }
}

fn is_reserved(key: &str) -> bool {
    key.starts_with(key::RESERVED)
}

impl PartialEq for LastRequestMeta {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for LastRequestMeta {}

impl Hash for LastRequestMeta {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl fmt::Debug for LastRequestMeta {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(known) => write!(formatter, "LastRequestMeta({} bytes)", known.members.len()),
            None => formatter.write_str("LastRequestMeta(none)"),
        }
    }
}

#[cfg(test)]
#[path = "last_request_meta_tests.rs"]
mod tests;
