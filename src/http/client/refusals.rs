//! [`Refusal`], one refused HTTP request, and [`Refusals`], those of one connection until it is open.
//!
//! The first [`MOST`] refusals are kept.

use alloc::vec::Vec;

use crate::connection::TransportFailure;

/// The maximum number of refusals that are kept.
const MOST: usize = 8;

/// An HTTP request that was refused while the client determined the era and transport of the server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Refusal {
    /// The HTTP method.
    pub method: &'static str,
    /// The failure.
    pub failure: TransportFailure<'static>,
}

/// The requests that were refused before the connection was open, in order.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Refusals {
    kept: Vec<Refusal>,
}

impl Refusals {
    pub(super) fn note(&mut self, method: &'static str, failure: &TransportFailure<'static>) {
        if self.kept.len() < MOST {
            self.kept.push(Refusal { method, failure: failure.clone() });
        }
    }

    /// Returns the failure of the latest refused POST: the reason why Streamable HTTP cannot be used.
    pub(super) fn latest_of_post(&self) -> Option<&TransportFailure<'static>> {
        let latest = self.kept.iter().rfind(|refusal| refusal.method == "POST");
        latest.map(|refusal| &refusal.failure)
    }

    pub(super) fn as_slice(&self) -> &[Refusal] {
        &self.kept
    }

    pub(super) fn clear(&mut self) {
        self.kept.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::TransportFailureKind;

    #[test]
    fn the_first_refusals_are_kept() {
        let refused = |status| TransportFailure {
            status: Some(status),
            ..TransportFailure::new(TransportFailureKind::Refused)
        };
        let mut refusals = Refusals::default();
        for status in 400..410 {
            refusals.note(if status < 403 { "POST" } else { "GET" }, &refused(status));
        }
        let kept = refusals.as_slice().iter().filter_map(|refusal| refusal.failure.status);
        assert!(kept.eq(400..408));
        assert_eq!(refusals.latest_of_post(), Some(&refused(402)));
        refusals.clear();
        assert_eq!((refusals.as_slice(), refusals.latest_of_post()), (&[][..], None));
    }
}
