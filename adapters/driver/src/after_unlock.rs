//! `AfterUnlock`: the side effects of an event that must not run under the lock of the connection.

use std::sync::{Arc, Weak};
use std::task::Waker;

use crate::signal::{Signal, Signalled};
use crate::tasks::{Link, send_task_news};

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
    /// The signals of cancelled requests, with the reasons that the peer gave.
    pub(crate) signals: Vec<(Weak<dyn Signalled>, Option<String>)>,
    /// Other connections that have messages to send. Their locks are not taken while this one is held.
    pub(crate) links: Vec<Arc<dyn Link>>,
    /// Another connection whose deadline has changed.
    pub(crate) watching: Option<Arc<dyn Link>>,
    #[cfg(feature = "tracing")]
    pub(crate) entries: Vec<crate::trace::Entry>,
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

    pub(crate) fn more(&mut self) -> &mut RareAfterUnlock {
        self.more.get_or_insert_default()
    }

    /// Whether there are rare side effects.
    pub(crate) const fn has_more(&self) -> bool {
        self.more.is_some()
    }

    /// Runs the side effects.
    #[inline]
    pub(crate) fn run(self, ended: &Signal) {
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
            #[cfg(feature = "tracing")]
            more.entries.into_iter().for_each(crate::trace::Entry::emit);
        }
    }
}
