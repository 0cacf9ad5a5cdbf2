//! What follows from what has happened on a connection, and cannot be done under its lock.

use std::sync::{Arc, Weak};
use std::task::Waker;

use crate::signal::{Signal, Signalled};
use crate::tasks::{Link, tell, watch};

/// What is to be done once the lock is free.
#[derive(Default)]
pub(crate) struct Follow {
    /// Those who are woken. Mostly there is one.
    waker: Option<Waker>,
    more: Option<Box<MoreToFollow>>,
    /// It has ended just now.
    pub(crate) ended: bool,
}

/// What rarely is to be done.
#[derive(Default)]
pub(crate) struct MoreToFollow {
    wakers: Vec<Waker>,
    pub(crate) signals: Vec<Weak<dyn Signalled>>,
    /// Other connections that have something to tell. They cannot while this one is locked.
    pub(crate) links: Vec<Arc<dyn Link>>,
    /// Other connections that have to look at the time.
    pub(crate) watching: Vec<Arc<dyn Link>>,
}

impl Follow {
    pub(crate) fn wake(&mut self, wakers: impl IntoIterator<Item = Waker>) {
        for waker in wakers {
            match self.waker {
                None => self.waker = Some(waker),
                Some(_) => self.more().wakers.push(waker),
            }
        }
    }

    pub(crate) fn more(&mut self) -> &mut MoreToFollow {
        self.more.get_or_insert_default()
    }

    /// Does it.
    #[inline]
    pub(crate) fn run(self, ended: &Signal) {
        if self.ended {
            ended.raise();
        }
        if let Some(more) = &self.more {
            let signalled = more.signals.iter().filter_map(Weak::upgrade);
            signalled.for_each(|signalled| signalled.signal().raise());
        }
        self.waker.into_iter().for_each(Waker::wake);
        if let Some(more) = self.more {
            more.wakers.into_iter().for_each(Waker::wake);
            tell(more.links);
            watch(more.watching);
        }
    }
}
