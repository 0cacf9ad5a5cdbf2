//! Those who wait for something.

use std::collections::BTreeMap;
use std::task::{Context, Waker};

/// The name of somebody who waits, which is kept by the future that does, and given back when that is dropped.
#[derive(Debug, Default)]
pub(crate) struct Place(Option<u64>);

impl Place {
    pub(crate) const NONE: Self = Self(None);
}

/// Wakers of those who wait, one for each.
///
/// Wakers are given back rather than dropped or woken here, because either can run what is somebody else's, and
/// there is a lock around this.
#[derive(Debug, Default)]
pub(crate) struct Wakers {
    next: u64,
    wakers: BTreeMap<u64, Waker>,
}

impl Wakers {
    pub(crate) const fn new() -> Self {
        Self { next: 0, wakers: BTreeMap::new() }
    }

    /// Whoever polls with this context is to be woken. Gives back the waker that it had before.
    #[must_use = "it is to be dropped without the lock"]
    pub(crate) fn register(&mut self, place: &mut Place, context: &Context<'_>) -> Option<Waker> {
        let place = *place.0.get_or_insert_with(|| {
            self.next += 1;
            self.next
        });
        match self.wakers.get(&place) {
            Some(waker) if waker.will_wake(context.waker()) => None,
            _ => self.wakers.insert(place, context.waker().clone()),
        }
    }

    /// Somebody does not wait any more.
    #[must_use = "it is to be dropped without the lock"]
    pub(crate) fn remove(&mut self, place: &Place) -> Option<Waker> {
        self.wakers.remove(&place.0?)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.wakers.is_empty()
    }

    /// Takes out all of them, to be woken where no lock is held.
    pub(crate) fn take(&mut self) -> impl Iterator<Item = Waker> + use<> {
        std::mem::take(&mut self.wakers).into_values()
    }
}
