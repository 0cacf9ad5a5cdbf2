//! [`Wakers`]: a set of registered wakers.

use std::mem::{replace, take};
use std::task::{Context, Waker};

/// The registration of a waiting future. The future owns it and removes it when dropped.
#[derive(Debug, Default)]
pub(crate) struct WakerSlot(Option<u64>);

impl WakerSlot {
    pub(crate) const NONE: Self = Self(None);
}

/// The wakers of waiting futures, one per future. An empty set allocates no memory.
///
/// The set returns wakers instead of waking or dropping them, because either can run foreign code, and the caller
/// holds a lock around the set.
#[derive(Debug, Default)]
pub(crate) struct Wakers {
    waiting: Option<Box<Waiting>>,
}

#[derive(Debug, Default)]
struct Waiting {
    next: u64,
    /// Sorted by registration number. Numbers increase, so a new waker is appended.
    wakers: Vec<(u64, Waker)>,
}

impl Waiting {
    /// Returns the index of the waker with this number, or its insertion point.
    fn find(&self, place: u64) -> Result<usize, usize> {
        self.wakers.binary_search_by_key(&place, |(name, _)| *name)
    }
}

impl Wakers {
    pub(crate) const fn new() -> Self {
        Self { waiting: None }
    }

    /// Registers the waker of `context`. Returns the waker that it replaces.
    #[must_use = "drop it after the lock is released"]
    pub(crate) fn register(
        &mut self,
        place: &mut WakerSlot,
        context: &Context<'_>,
    ) -> Option<Waker> {
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

    /// Removes the waker of a future that no longer waits.
    #[must_use = "drop it after the lock is released"]
    pub(crate) fn remove(&mut self, place: &WakerSlot) -> Option<Waker> {
        let waiting = self.waiting.as_mut()?;
        let at = waiting.find(place.0?).ok()?;
        Some(waiting.wakers.remove(at).1)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.as_ref().is_none_or(|waiting| waiting.wakers.is_empty())
    }

    /// Removes and returns all wakers. The caller wakes them without a lock.
    pub(crate) fn take(&mut self) -> impl Iterator<Item = Waker> + use<> {
        // The numbers are not reused: their owners may still wait.
        let wakers = self.waiting.as_mut().map(|waiting| take(&mut waiting.wakers));
        wakers.into_iter().flatten().map(|(_, waker)| waker)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use super::*;

    #[derive(Default)]
    struct Counter(AtomicUsize);

    impl Wake for Counter {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A future can move to another task while it waits.
    #[test]
    fn a_wait_wakes_the_task_that_polled_it_last() {
        let counters = [Arc::new(Counter::default()), Arc::new(Counter::default())];
        let (mut wakers, mut place) = (Wakers::new(), WakerSlot::NONE);
        for counter in [&counters[0], &counters[1], &counters[1]] {
            let waker = Waker::from(Arc::clone(counter));
            drop(wakers.register(&mut place, &Context::from_waker(&waker)));
        }
        wakers.take().for_each(Waker::wake);
        let woken = counters.map(|counter| counter.0.load(Ordering::Relaxed));
        assert_eq!(woken, [0, 1]);
        assert!(wakers.is_empty() && wakers.remove(&place).is_none());
    }
}
