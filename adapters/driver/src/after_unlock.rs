//! `AfterUnlock`: the side effects of an event that must not run under the lock of the connection.

use std::sync::{Arc, Weak};
use std::task::Waker;

use crate::requests::Permit;
use crate::signal::{Signal, Signalled};
use crate::tasks::{Link, send_task_news};
use crate::trace::Entries;

/// The side effects to run once the lock is free: wakers, signals, other connections.
#[derive(Default)]
pub(crate) struct AfterUnlock {
    /// The first waker. Usually it is the only one.
    waker: Option<Waker>,
    more: Option<Box<RareAfterUnlock>>,
    /// Whether the connection has just ended.
    pub(crate) ended: bool,
}

/// The less frequent side effects.
#[derive(Default)]
pub(crate) struct RareAfterUnlock {
    wakers: Vec<Waker>,
    /// Wakers that are no longer needed: the code that drops them is not of this crate.
    unneeded: Vec<Waker>,
    /// The signals of cancelled requests, with the reasons that the peer gave.
    pub(crate) signals: Vec<(Weak<dyn Signalled>, Option<String>)>,
    /// Other connections that have messages to send. Their locks are not taken while this one is held.
    pub(crate) links: Vec<Arc<dyn Link>>,
    /// Another connection whose deadline has changed.
    pub(crate) watching: Option<Arc<dyn Link>>,
    /// The permits of requests that no handler will get. They own values of the application, which are dropped.
    pub(crate) permits: Vec<Permit>,
    pub(crate) entries: Entries,
}

/// Calls a function when it is dropped.
pub(crate) struct OnDrop<F: Fn()>(pub(crate) F);

impl<F: Fn()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        self.0();
    }
}

impl AfterUnlock {
    pub(crate) fn wake(&mut self, wakers: impl IntoIterator<Item = Waker>) {
        for waker in wakers {
            match self.waker {
                None => self.waker = Some(waker),
                Some(_) => self.more().wakers.push(waker),
            }
        }
    }

    /// Drops a waker once the lock is free.
    #[cfg(feature = "http")]
    pub(crate) fn drop_waker(&mut self, unneeded: Option<Waker>) {
        if let Some(waker) = unneeded {
            self.more().unneeded.push(waker);
        }
    }

    pub(crate) fn more(&mut self) -> &mut RareAfterUnlock {
        self.more.get_or_insert_default()
    }

    /// Whether there are rare side effects.
    pub(crate) const fn has_more(&self) -> bool {
        self.more.is_some()
    }

    /// Takes the entries for the log out.
    pub(crate) fn take_entries(&mut self) -> Entries {
        self.more.as_mut().map(|more| std::mem::take(&mut more.entries)).unwrap_or_default()
    }

    /// Runs the side effects, and returns the entries for the log.
    #[inline]
    pub(crate) fn run(mut self, ended: &Signal) -> Entries {
        let entries = self.take_entries();
        if self.ended {
            ended.raise();
        }
        if let Some(more) = &self.more {
            for (signalled, reason) in &more.signals {
                if let Some(signalled) = signalled.upgrade() {
                    reason.iter().for_each(|reason| signalled.note_reason(reason));
                    signalled.signal().raise();
                }
            }
        }
        self.waker.into_iter().for_each(Waker::wake);
        if let Some(more) = self.more {
            more.wakers.into_iter().for_each(Waker::wake);
            send_task_news(more.links);
            more.watching.into_iter().for_each(Link::reschedule);
            drop((more.permits, more.unneeded));
        }
        entries
    }
}
