//! [`Refusal`], one refused request of HTTP, and [`Refusals`], those of one connection until it is open.
//!
//! At most [`MOST`] are kept, the first ones.

use alloc::vec::Vec;

use crate::connection::TransportFailure;

/// How many refusals are kept.
const MOST: usize = 8;

/// A request of HTTP that was refused while it was being found out how the server is to be spoken to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Refusal {
    /// The method of HTTP.
    pub method: &'static str,
    /// What came of it.
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

    /// The failure of the latest refused POST: it says why Streamable HTTP is not served.
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
