//! Those who wait for something.

use std::mem::{replace, take};
use std::task::{Context, Waker};

/// The name of somebody who waits, which is kept by the future that does, and given back when that is dropped.
#[derive(Debug, Default)]
pub(crate) struct Place(Option<u64>);

impl Place {
    pub(crate) const NONE: Self = Self(None);
}

/// Wakers of those who wait, one for each. Mostly nobody does, which takes no memory.
///
/// Wakers are given back rather than dropped or woken here, because either can run what is somebody else's, and
/// there is a lock around this.
#[derive(Debug, Default)]
pub(crate) struct Wakers {
    waiting: Option<Box<Waiting>>,
}

#[derive(Debug, Default)]
struct Waiting {
    next: u64,
    /// By their names, which count up: a new one stands last.
    wakers: Vec<(u64, Waker)>,
}

impl Waiting {
    /// Where the waker with this name is, or would be.
    fn find(&self, place: u64) -> Result<usize, usize> {
        self.wakers.binary_search_by_key(&place, |(name, _)| *name)
    }
}

impl Wakers {
    pub(crate) const fn new() -> Self {
        Self { waiting: None }
    }

    /// Whoever polls with this context is to be woken. Gives back the waker that it had before.
    #[must_use = "it is to be dropped without the lock"]
    pub(crate) fn register(&mut self, place: &mut Place, context: &Context<'_>) -> Option<Waker> {
        let waiting = self.waiting.get_or_insert_default();
        let place = *place.0.get_or_insert_with(|| {
            waiting.next += 1;
            waiting.next
        });
        let at = waiting.find(place);
        match at.ok().and_then(|at| waiting.wakers.get_mut(at)) {
            Some((_, waker)) if waker.will_wake(context.waker()) => None,
            Some((_, waker)) => Some(replace(waker, context.waker().clone())),
            None => {
                waiting.wakers.insert(at.unwrap_or_else(|at| at), (place, context.waker().clone()));
                None
            }
        }
    }

    /// Somebody does not wait any more.
    #[must_use = "it is to be dropped without the lock"]
    pub(crate) fn remove(&mut self, place: &Place) -> Option<Waker> {
        let waiting = self.waiting.as_mut()?;
        let at = waiting.find(place.0?).ok()?;
        Some(waiting.wakers.remove(at).1)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.as_ref().is_none_or(|waiting| waiting.wakers.is_empty())
    }

    /// Takes out all of them, to be woken where no lock is held.
    pub(crate) fn take(&mut self) -> impl Iterator<Item = Waker> + use<> {
        // Their names are not given to others: those who have them may still wait.
        let wakers = self.waiting.as_mut().map(|waiting| take(&mut waiting.wakers));
        wakers.into_iter().flatten().map(|(_, waker)| waker)
    }
}
