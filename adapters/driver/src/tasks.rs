//! Tasks that several connections share.
//!
//! There are two kinds of locks: that of a connection and that of the tasks. Whoever holds both has taken
//! that of the connection first, and nobody holds those of two connections. So what changes on one
//! connection and is to be told on others is told there after both have been given back.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Waker};

use mcp_sansio::progress::{Progress, ProgressReport};
use mcp_sansio::request::Requestor;
use mcp_sansio::task::{NewTask, TaskError, TaskEvent, TaskKey, TaskNews, Tasks, TasksConfig};
use mcp_sansio::{ConnectionNumber, Instant, Principal};

use crate::clock::Clock;
use crate::wakers::{Place, Wakers};

/// Work that outlives the connections it was asked for on. Clones share it.
///
/// Give it to [as many connections](crate::ConnectionOptions::tasks) as you like: what was begun on one connection can be asked for on every other one of the same
/// [principal](Self::on_behalf_of).
///
/// ```
/// use mcp_sansio::task::TasksConfig;
/// use mcp_sansio_driver::SharedTasks;
///
/// let mut config = TasksConfig::default();
/// config.tasks = 50;
/// let tasks = SharedTasks::new(config);
/// assert_eq!(tasks.with(|tasks, _| tasks.len()), 0);
/// ```
#[derive(Clone, Default)]
pub struct SharedTasks {
    hub: Arc<Hub>,
    principal: Principal,
}

#[derive(Default)]
struct Hub {
    clock: Clock,
    state: Mutex<Shared>,
}

/// What the lock guards.
#[derive(Default)]
pub(crate) struct Shared {
    pub(crate) tasks: Tasks,
    /// Those who wait for something about a task.
    waiting: HashMap<TaskKey, Wakers>,
    /// Those of them who are to be woken where no lock is held.
    woken: Vec<Waker>,
    /// The first time at which a task is to be forgotten, as far as the connections know.
    watched: Option<Instant>,
    /// The connections that have not ended.
    links: HashMap<ConnectionNumber, Weak<dyn Link>>,
    /// Those of them that have no room for what they have to tell, and go on when there is some.
    stuck: HashSet<ConnectionNumber>,
    next_connection: u32,
}

/// A connection, whichever role it has.
pub(crate) trait Link: Send + Sync {
    /// Sends the news of tasks. The caller holds no lock.
    fn send_task_news(self: Arc<Self>);

    /// Reschedules the timers, because a task is due sooner. The caller holds no lock.
    fn reschedule(self: Arc<Self>);

    /// Tells how far the work on a task is.
    fn report(
        self: Arc<Self>,
        key: TaskKey,
        progress: Progress<'_>,
    ) -> Result<ProgressReport, TaskError>;
}

impl SharedTasks {
    /// No tasks yet.
    ///
    /// Each handler that goes on with a task runs beside those of other requests as long as there are no more
    /// than 1,024; further ones count among those. One whose task is forgotten goes on until it looks whether
    /// anybody wants it ([`TaskHandle::is_cancelled`](crate::TaskHandle::is_cancelled)).
    ///
    /// What was saved elsewhere can be brought back with [`with`](Self::with), so that its results can be
    /// asked for. Work goes on only with tasks that were begun in this process.
    pub fn new(config: TasksConfig) -> Self {
        Self::with_clock(config, Clock::default())
    }

    /// The same with a clock, which is that of every connection that shares them.
    pub fn with_clock(config: TasksConfig, clock: Clock) -> Self {
        let shared = Shared { tasks: Tasks::new(config), ..Shared::default() };
        let hub = Hub { clock, state: Mutex::new(shared) };
        Self { hub: Arc::new(hub), principal: Principal::default() }
    }

    /// The same tasks, for connections of this principal, who sees only those that were begun for it.
    /// Without this, everybody who knows the id of a task can ask for it, and lists show all of them.
    ///
    /// Behind HTTP that makes no difference: each request says who sends it
    /// ([`RequestSource`](mcp_sansio::http::RequestSource)). There a session without a principal owns its tasks, which
    /// are forgotten when it ends.
    #[must_use]
    pub fn on_behalf_of(&self, principal: Principal) -> Self {
        Self { hub: Arc::clone(&self.hub), principal }
    }

    /// Looks at the tasks, or changes them, at this time: to save them, to bring back what was saved
    /// before the program was started, to cancel one. What has changed is told to whoever has to know.
    ///
    /// Everything about tasks waits meanwhile, so do nothing here that takes its time, and nothing with a
    /// connection or a [`TaskHandle`](crate::TaskHandle): that would wait for ever.
    pub fn with<T>(&self, act: impl FnOnce(&mut Tasks, Instant) -> T) -> T {
        self.change(|shared, now| {
            let result = act(&mut shared.tasks, now);
            // It can have been about any of them.
            let Shared { waiting, woken, .. } = shared;
            woken.extend(waiting.values_mut().flat_map(Wakers::take));
            result
        })
    }

    /// Does something with the tasks whose time is not over, and tells what follows from it.
    pub(crate) fn change<T>(&self, act: impl FnOnce(&mut Shared, Instant) -> T) -> T {
        let (mut shared, now) = (self.lock(), self.now());
        shared.sweep(now);
        let result = act(&mut shared, now);
        self.release(shared);
        result
    }

    pub(crate) fn clock(&self) -> Clock {
        self.hub.clock.clone()
    }

    pub(crate) fn now(&self) -> Instant {
        self.hub.clock.now()
    }

    pub(crate) const fn principal(&self) -> Principal {
        self.principal
    }

    /// A number that no other connection has which shares these tasks.
    pub(crate) fn next_connection(&self) -> ConnectionNumber {
        let mut shared = self.lock();
        let number = shared.next_connection;
        shared.next_connection = number.wrapping_add(1);
        ConnectionNumber::new(number)
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Shared> {
        // Nothing panics between two changes that belong together.
        self.hub.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the lock back, and tells what there is to tell on every connection.
    pub(crate) fn release(&self, mut shared: MutexGuard<'_, Shared>) {
        let (links, woken) = (shared.links_with_news(None), std::mem::take(&mut shared.woken));
        let watching = shared.links_to_watch(None);
        drop(shared);
        woken.into_iter().for_each(Waker::wake);
        send_task_news(links);
        watch(watching);
    }
}

/// Makes connections send their news of tasks. The caller holds no lock.
pub(crate) fn send_task_news(links: Vec<Arc<dyn Link>>) {
    for link in links {
        link.send_task_news();
    }
}

/// Makes connections reschedule their timers. The caller holds no lock.
pub(crate) fn watch(links: Vec<Arc<dyn Link>>) {
    for link in links {
        link.reschedule();
    }
}

impl Shared {
    /// A connection is there.
    pub(crate) fn link(&mut self, connection: ConnectionNumber, link: Weak<dyn Link>) {
        self.links.insert(connection, link);
    }

    /// A connection has ended.
    pub(crate) fn unlink(&mut self, connection: ConnectionNumber) {
        self.links.remove(&connection);
        self.stuck.remove(&connection);
        // It may be the one that looked at the time.
        self.watched = None;
        self.tasks.disconnected(connection);
    }

    /// Forgets the tasks of a requestor that has gone for good.
    pub(crate) fn forget_tasks_of(&mut self, requestor: Option<Requestor>) {
        let Some(requestor) = requestor else { return };
        let tasks: Vec<TaskKey> = self.tasks.tasks_of(requestor).collect();
        for task in tasks {
            self.tasks.remove(task);
            self.changed(task);
        }
    }

    /// Forgets the tasks whose time is over.
    pub(crate) fn sweep(&mut self, now: Instant) {
        while let Some(event) = self.tasks.handle_timeout(now) {
            if let TaskEvent::Expired { key, .. } = event {
                self.changed(key);
            }
        }
    }

    /// A connection has told what there was room for.
    pub(crate) fn has_told(&mut self, connection: ConnectionNumber) {
        if self.tasks.has_news_for(connection) {
            self.stuck.insert(connection);
        } else {
            self.stuck.remove(&connection);
        }
    }

    /// The connections that have something to tell and have not tried, but for one.
    pub(crate) fn links_with_news(&mut self, but: Option<ConnectionNumber>) -> Vec<Arc<dyn Link>> {
        let is_other = |one: &_| Some(*one) != but && !self.stuck.contains(one);
        let with_news = self.tasks.connections_with_news().filter(is_other);
        let with_news: Vec<_> = with_news.collect();
        let mut links = Vec::new();
        for connection in with_news {
            match self.links.get(&connection).and_then(Weak::upgrade) {
                Some(link) => links.push(link),
                None => self.unlink(connection),
            }
        }
        links
    }

    /// The connections that have to look at the time because a task is to be forgotten sooner than they know,
    /// but for one.
    pub(crate) fn links_to_watch(&mut self, but: Option<ConnectionNumber>) -> Vec<Arc<dyn Link>> {
        let expiry = self.tasks.poll_timeout();
        let known = std::mem::replace(&mut self.watched, expiry);
        if expiry.is_none_or(|expiry| known.is_some_and(|known| known <= expiry)) {
            return Vec::new();
        }
        let others = self.links.iter().filter(|(one, _)| Some(**one) != but);
        others.filter_map(|(_, link)| link.upgrade()).collect()
    }

    /// Those who are to be woken where no lock is held.
    pub(crate) fn woken(&mut self) -> impl Iterator<Item = Waker> {
        self.woken.drain(..)
    }

    /// Whoever polls with this context is woken when something about a task that is worked on may have
    /// changed. Gives back the waker that it had before.
    #[must_use = "it is to be dropped without the lock"]
    pub(crate) fn wait(
        &mut self,
        key: TaskKey,
        place: &mut Place,
        context: &Context<'_>,
    ) -> Option<Waker> {
        self.waiting.entry(key).or_default().register(place, context)
    }

    /// Somebody does not wait any more.
    #[must_use = "it is to be dropped without the lock"]
    pub(crate) fn wait_no_more(&mut self, key: TaskKey, place: &Place) -> Option<Waker> {
        self.waiting.get_mut(&key)?.remove(place)
    }

    /// A task is not worked on any more.
    pub(crate) fn forget_work(&mut self, key: TaskKey) {
        if let Some(mut waiting) = self.waiting.remove(&key) {
            self.woken.extend(waiting.take());
        }
    }

    /// A peer has changed something about a task.
    pub(crate) fn on_task_news(&mut self, news: TaskNews) {
        match news {
            TaskNews::Cancelled(key) | TaskNews::CancelRequested(key) | TaskNews::Input(key) => {
                self.changed(key);
            }
            _ => {}
        }
    }

    fn changed(&mut self, key: TaskKey) {
        if let Some(waiting) = self.waiting.get_mut(&key) {
            self.woken.extend(waiting.take());
        }
    }
}

impl fmt::Debug for SharedTasks {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = formatter.debug_struct("SharedTasks");
        debug.field("principal", &self.principal).finish_non_exhaustive()
    }
}

/// Bytes from the operating system that nobody can guess.
///
/// # Errors
///
/// What the system says if it has none.
pub fn random_bytes<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)?;
    Ok(bytes)
}

/// A task to begin, with an id that nobody can guess.
///
/// ```
/// let task = mcp_sansio_driver::new_task()?;
/// assert_eq!(task.id().len(), 32);
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// What the system says if it has no randomness.
pub fn new_task() -> io::Result<NewTask> {
    Ok(NewTask::new(NewTask::id_of(random_bytes()?)))
}
