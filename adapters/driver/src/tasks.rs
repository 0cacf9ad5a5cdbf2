//! [`SharedTasks`]: tasks that several connections share.
//!
//! Lock order: the lock of a connection comes before the lock of the tasks, and no thread holds the locks of two
//! connections. So a change on one connection is sent on the others only after both locks are released.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, PoisonError, Weak};
use std::task::{Context, Poll, Waker};

use mcp_sansio::progress::{Progress, ProgressReport};
use mcp_sansio::request::Requestor;
use mcp_sansio::task::{
    NewTask, RestoreError, TaskError, TaskEvent, TaskKey, TaskNews, TaskRecord, TaskSharing, Tasks,
    TasksConfig,
};
use mcp_sansio::{ConnectionNumber, Instant, Principal};

use crate::clock::Clock;
use crate::expiry_watch::ExpiryWatch;
use crate::sync::{Mutex, MutexGuard};
use crate::task_handle::TaskHandle;
use crate::wakers::{WakerSlot, Wakers};

/// Tasks that outlive the connections on which they began. Clones share the tasks.
///
/// Pass it to [any number of connections](crate::ConnectionOptions::tasks): a task that began on one connection is
/// accessible on every other one of the same [principal](Self::on_behalf_of).
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

/// The state behind the lock.
#[derive(Default)]
pub(crate) struct Shared {
    pub(crate) tasks: Tasks,
    /// The futures that wait for changes of each task.
    waiting: HashMap<TaskKey, Wakers>,
    /// The wakers to wake after the lock is released.
    woken: Vec<Waker>,
    /// The futures that wait for a task that has changed.
    savers: Wakers,
    /// The number of the handle of each task that is worked on.
    handles: HashMap<TaskKey, u64>,
    next_handle: u64,
    expiry_watch: ExpiryWatch,
    /// The open connections.
    links: HashMap<ConnectionNumber, Weak<dyn Link>>,
    next_connection: u32,
}

/// A connection, in either role.
pub(crate) trait Link: Send + Sync {
    /// Sends the news of tasks. The caller must not hold a lock.
    fn send_task_news(self: Arc<Self>);

    /// Reschedules the timer, because a task is due earlier. The caller must not hold a lock.
    fn reschedule(self: Arc<Self>);

    /// Sends a progress notification for a task.
    fn report(
        self: Arc<Self>,
        key: TaskKey,
        progress: Progress<'_>,
    ) -> Result<ProgressReport, TaskError>;
}

impl SharedTasks {
    /// Creates an empty set of tasks.
    ///
    /// Up to 1,024 handlers that continue to work on tasks run beyond the handler limit of a connection; further
    /// ones count towards it. If a task is forgotten, its handler continues until it checks
    /// [`TaskHandle::is_cancelled`](crate::TaskHandle::is_cancelled).
    ///
    /// Tasks that were saved elsewhere can be restored with [`with`](Self::with), so that their results are
    /// accessible, and their work can continue ([`resume`](Self::resume)).
    pub fn new(config: TasksConfig) -> Self {
        Self::with_clock(config, Clock::default())
    }

    /// As [`new`](Self::new), with a clock that all connections share.
    pub fn with_clock(config: TasksConfig, clock: Clock) -> Self {
        let shared = Shared { tasks: Tasks::new(config), ..Shared::default() };
        let hub = Hub { clock, state: Mutex::new(shared) };
        Self { hub: Arc::new(hub), principal: Principal::default() }
    }

    /// Returns the same tasks for connections of this principal, which have access only to the tasks that began on
    /// its behalf. Without a principal, every client that knows the id of a task has access to it, and lists
    /// contain all tasks.
    ///
    /// Over HTTP the principal set here has no effect: each request names its own sender
    /// (`mcp_sansio::http::RequestSource`). There, a session without a principal owns its tasks,
    /// which are forgotten when it ends.
    #[must_use]
    pub fn on_behalf_of(&self, principal: Principal) -> Self {
        Self { hub: Arc::clone(&self.hub), principal }
    }

    /// Reads or changes the tasks: to save them, to restore saved tasks after a restart, or to cancel one. Changes
    /// are sent to all affected peers.
    ///
    /// All operations on tasks wait in the meantime. Do not block in `act`, and do not use a connection or a
    /// [`TaskHandle`](crate::TaskHandle) in it, which would deadlock.
    pub fn with<T>(&self, act: impl FnOnce(&mut Tasks, Instant) -> T) -> T {
        self.change(|shared, now| {
            let result = act(&mut shared.tasks, now);
            // The change may affect any task.
            let Shared { waiting, woken, .. } = shared;
            woken.extend(waiting.values_mut().flat_map(Wakers::take));
            result
        })
    }

    /// Reads the tasks, or takes note of their changes ([`TaskSharing::next_changed`]). All operations on tasks wait in the
    /// meantime, as for [`with`](Self::with); but no waiting work looks at its task afterwards, so `act` must change none.
    pub fn inspect<T>(&self, act: impl FnOnce(&mut Tasks, Instant) -> T) -> T {
        let (mut shared, now) = (self.lock(), self.now());
        act(&mut shared.tasks, now)
    }

    /// Brings the copy of a task of another process up to date ([`TaskSharing::refresh`]). The change is sent to all affected peers,
    /// and the work of the task looks at it.
    ///
    /// # Errors
    ///
    /// As for [`TaskSharing::refresh`].
    pub fn refresh(&self, record: TaskRecord) -> Result<TaskKey, RestoreError> {
        self.change(|shared, _| {
            let key = TaskSharing::of(&mut shared.tasks).refresh(record)?;
            shared.changed(key);
            Ok(key)
        })
    }

    /// Does what a requestor has done to the copy of a task in another process ([`TaskSharing::merge`]). The change is sent to all
    /// affected peers, and the work of the task looks at it.
    ///
    /// # Errors
    ///
    /// As for [`TaskSharing::merge`].
    pub fn merge(&self, copy: TaskRecord) -> Result<(), TaskError> {
        self.change(|shared, now| {
            if let Some(news) = TaskSharing::of(&mut shared.tasks).merge(copy, now)? {
                shared.on_task_news(news);
            }
            Ok(())
        })
    }

    /// Takes the work of a task away from its handle, because another process does it. Each command of the handle fails with
    /// [`TaskError::Unknown`] from now on, and dropping it has no effect. The task itself stays.
    pub fn revoke(&self, key: TaskKey) {
        self.change(|shared, _| shared.forget_work(key));
    }

    /// Removes the tasks that have expired. Connections do that as well, if there are any.
    pub fn expire(&self) {
        self.change(|_, _| ());
    }

    /// Forgets a task ([`Tasks::remove`]). Its work learns that it is not wanted. Returns whether the task existed.
    pub fn remove(&self, key: TaskKey) -> bool {
        self.change(|shared, _| {
            shared.changed(key);
            shared.tasks.remove(key)
        })
    }

    /// Waits until a task has changed that [`TaskSharing::next_changed`] returns. The tasks must be
    /// [shared](TaskSharing::begin).
    pub fn changed(&self) -> impl Future<Output = ()> + use<'_> {
        TasksChanged { tasks: self, place: WakerSlot::NONE }
    }

    /// Returns a handle for the work of a task that was [restored](Tasks::restore), so that this process continues it.
    /// `None` if there is no such task, or it has ended.
    ///
    /// A task has one handle: an earlier one is [revoked](Self::revoke).
    pub fn resume(&self, key: TaskKey) -> Option<TaskHandle> {
        let is_open =
            |tasks: &mut Tasks, _| tasks.get(key).is_some_and(|task| !task.status().is_final());
        self.inspect(is_open).then(|| TaskHandle::new(key, self, None))
    }

    /// Runs `act` on the tasks that have not expired, and then all side effects.
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

    /// Returns the time by which tasks expire.
    pub fn now(&self) -> Instant {
        self.hub.clock.now()
    }

    pub(crate) const fn principal(&self) -> Principal {
        self.principal
    }

    /// Returns a number that is unique among the connections that share these tasks.
    pub(crate) fn next_connection(&self) -> ConnectionNumber {
        let mut shared = self.lock();
        let number = shared.next_connection;
        shared.next_connection = number.wrapping_add(1);
        ConnectionNumber::new(number)
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Shared> {
        // A panic cannot separate two changes that belong together.
        self.hub.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Releases the lock, wakes waiting futures, and makes all connections send their news.
    pub(crate) fn release(&self, mut shared: MutexGuard<'_, Shared>) {
        shared.wake_savers();
        let (links, woken) = (shared.links_with_news(None), std::mem::take(&mut shared.woken));
        let watching = shared.link_to_watch(None, self.now());
        drop(shared);
        woken.into_iter().for_each(Waker::wake);
        send_task_news(links);
        watching.into_iter().for_each(Link::reschedule);
    }
}

/// Makes connections send their news of tasks. The caller must not hold a lock.
pub(crate) fn send_task_news(links: Vec<Arc<dyn Link>>) {
    for link in links {
        link.send_task_news();
    }
}

/// Returns a function that tells whether a connection is open.
fn is_open_in(
    links: &HashMap<ConnectionNumber, Weak<dyn Link>>,
) -> impl Fn(ConnectionNumber) -> bool + '_ {
    |connection| links.get(&connection).is_some_and(|link| 0 < link.strong_count())
}

impl Shared {
    /// Adds a connection.
    pub(crate) fn link(&mut self, connection: ConnectionNumber, link: Weak<dyn Link>) {
        self.links.insert(connection, link);
    }

    /// Removes a connection that has ended.
    pub(crate) fn unlink(&mut self, connection: ConnectionNumber) {
        self.links.remove(&connection);
        self.expiry_watch.remove(connection);
        self.tasks.disconnected(connection);
    }

    /// Returns the next time at which a task expires, if the timer of this connection has to cover it.
    pub(crate) fn expiry_for(&mut self, connection: ConnectionNumber) -> Option<Instant> {
        if !self.links.contains_key(&connection) {
            return None;
        }
        let (expiry, is_open) = (self.tasks.poll_timeout(), is_open_in(&self.links));
        self.expiry_watch.expiry_for(connection, expiry, is_open)
    }

    /// Removes the tasks of a requestor that no longer exists.
    pub(crate) fn forget_tasks_of(&mut self, requestor: Option<Requestor>) {
        let Some(requestor) = requestor else { return };
        let tasks: Vec<TaskKey> = self.tasks.tasks_of(requestor).collect();
        for task in tasks {
            self.tasks.remove(task);
            self.changed(task);
        }
    }

    /// Removes the expired tasks.
    pub(crate) fn sweep(&mut self, now: Instant) {
        while let Some(event) = self.tasks.handle_timeout(now) {
            if let TaskEvent::Expired { key, .. } = event {
                self.changed(key);
            }
        }
    }

    /// Returns the connections with news that they have not tried to send yet, except one.
    pub(crate) fn links_with_news(&mut self, but: Option<ConnectionNumber>) -> Vec<Arc<dyn Link>> {
        // The others had no room, and continue when they have room.
        let with_news = self.tasks.connections_with_untried_news();
        let with_news: Vec<_> = with_news.filter(|one| Some(*one) != but).collect();
        let mut links = Vec::new();
        for connection in with_news {
            match self.links.get(&connection).and_then(Weak::upgrade) {
                Some(link) => links.push(link),
                None => self.unlink(connection),
            }
        }
        links
    }

    /// Returns the connection that has to reschedule its timer: see [`ExpiryWatch::reschedules`].
    pub(crate) fn link_to_watch(
        &mut self,
        own: Option<ConnectionNumber>,
        now: Instant,
    ) -> Option<Arc<dyn Link>> {
        let (expiry, is_open) = (self.tasks.poll_timeout(), is_open_in(&self.links));
        let watcher = self.expiry_watch.reschedules(expiry, own, now, is_open)?;
        self.links.get(&watcher)?.upgrade()
    }

    /// Returns the wakers to wake after the lock is released.
    pub(crate) fn woken(&mut self) -> impl Iterator<Item = Waker> {
        self.wake_savers();
        self.woken.drain(..)
    }

    fn wake_savers(&mut self) {
        if TaskSharing::of(&mut self.tasks).has_changed() {
            self.woken.extend(self.savers.take());
        }
    }

    /// Registers the waker of `context` for changes of a running task. Returns the waker that it replaces.
    #[must_use = "drop it after the lock is released"]
    pub(crate) fn wait(
        &mut self,
        key: TaskKey,
        place: &mut WakerSlot,
        context: &Context<'_>,
    ) -> Option<Waker> {
        self.waiting.entry(key).or_default().register(place, context)
    }

    /// Removes the waker of a future that no longer waits.
    #[must_use = "drop it after the lock is released"]
    pub(crate) fn wait_no_more(&mut self, key: TaskKey, place: &WakerSlot) -> Option<Waker> {
        self.waiting.get_mut(&key)?.remove(place)
    }

    /// Returns the number of a new handle of a task, which is its only one.
    pub(crate) fn new_handle(&mut self, key: TaskKey) -> u64 {
        self.next_handle += 1;
        self.handles.insert(key, self.next_handle);
        self.changed(key);
        self.next_handle
    }

    /// Whether this is the handle of the task.
    pub(crate) fn is_handle(&self, key: TaskKey, number: u64) -> bool {
        self.handles.get(&key) == Some(&number)
    }

    /// Removes the handle and the waiting futures of a task whose work has ended.
    pub(crate) fn forget_work(&mut self, key: TaskKey) {
        self.handles.remove(&key);
        if let Some(mut waiting) = self.waiting.remove(&key) {
            self.woken.extend(waiting.take());
        }
    }

    /// Wakes the waiting futures of a task that a peer has changed.
    pub(crate) fn on_task_news(&mut self, news: TaskNews) {
        match news {
            TaskNews::Cancelled(key) | TaskNews::CancelRequested(key) | TaskNews::Input(key) => {
                self.changed(key);
            }
            _ => {}
        }
    }

    /// Wakes the waiting futures of a task, after the lock is released.
    pub(crate) fn changed(&mut self, key: TaskKey) {
        if let Some(waiting) = self.waiting.get_mut(&key) {
            self.woken.extend(waiting.take());
        }
    }
}

/// A future that is ready when a task has changed.
struct TasksChanged<'t> {
    tasks: &'t SharedTasks,
    place: WakerSlot,
}

impl Future for TasksChanged<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Self { tasks, place } = &mut *self;
        let mut shared = tasks.lock();
        if TaskSharing::of(&mut shared.tasks).has_changed() {
            return Poll::Ready(());
        }
        let old = shared.savers.register(place, context);
        drop(shared);
        drop(old);
        Poll::Pending
    }
}

impl Drop for TasksChanged<'_> {
    fn drop(&mut self) {
        let left = self.tasks.lock().savers.remove(&self.place);
        drop(left);
    }
}

impl fmt::Debug for SharedTasks {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = formatter.debug_struct("SharedTasks");
        debug.field("principal", &self.principal).finish_non_exhaustive()
    }
}

/// Returns unpredictable bytes from the operating system.
///
/// # Errors
///
/// The error of the operating system if it has no randomness.
pub fn random_bytes<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)?;
    Ok(bytes)
}

/// Returns the id and the defaults of a task that has not begun. The id is random, so that it cannot be guessed.
/// [`Exchange::begin_task`](crate::Exchange::begin_task) begins the task.
///
/// ```
/// let task = mcp_sansio_driver::new_task()?;
/// assert_eq!(task.id().len(), 32);
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// The error of the operating system if it has no randomness.
pub fn new_task() -> io::Result<NewTask> {
    Ok(NewTask::new(NewTask::id_of(random_bytes()?)))
}

#[cfg(test)]
#[path = "tasks_tests.rs"]
mod tests;
