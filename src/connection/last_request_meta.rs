//! `LastRequestMeta`: a cache of the parsed `_meta` of the last modern request.

use alloc::boxed::Box;
use core::fmt;
use core::hash::{Hash, Hasher};

use super::identity::key;
use super::request_meta::{ModernMeta, RequestMeta};
use crate::json::{KnownMembers, Object};

/// A cache of the reserved `_meta` members of the last modern request, and of their parsed form.
///
/// A client repeats the same members in every modern request. A `_meta` with the same reserved members and no others
/// is neither scanned nor parsed again. The cache holds at most [`KnownMembers::LONGEST`] bytes of text and the
/// positions of the members. The box is allocated with the first cached `_meta`. The cache takes at most the 800
/// bytes in the formula of [`Limits`](crate::Limits).
///
/// The cache is no state: the response to a request is the same with and without it. Two connections that differ only
/// in their caches are equal, and `Debug` does not print the text of the peer.
#[derive(Clone, Default)]
pub(crate) struct LastRequestMeta(Option<Box<Known>>);

#[derive(Clone)]
struct Known {
    members: KnownMembers,
    modern: ModernMeta,
}

impl LastRequestMeta {
    /// The empty cache.
    pub(crate) const NONE: Self = Self(None);

    /// Returns the cached members, which need not be scanned again.
    #[inline]
    pub(crate) fn members(&self) -> Option<&KnownMembers> {
        self.0.as_ref().map(|known| &known.members)
    }

    /// Returns the parsed form of this `_meta`: cached, or else from `read`. Only a valid modern `_meta` is cached.
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
