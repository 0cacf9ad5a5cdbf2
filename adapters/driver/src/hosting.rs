//! Shared tasks on a connection: serves the peer's requests about tasks and sends task news.

use std::sync::{Arc, Weak};

use mcp_sansio::event::TaskAnswer;
use mcp_sansio::progress::{Progress, ProgressReport};
use mcp_sansio::schema::EncodeError;
use mcp_sansio::task::{NewTask, TaskError, TaskKey};
use mcp_sansio::{IncomingId, Instant, Outboxes, Phase, RespondError, Route};

use crate::machine::Machine;
use crate::out::Out;
use crate::task_handle::TaskHandle;
use crate::tasks::{Link, Shared};
use crate::wire::{State, UNANSWERED, Wire};

impl<M: Machine> Wire<M> {
    /// Registers the connection with its [`SharedTasks`](crate::SharedTasks).
    pub(crate) fn link(self: &Arc<Self>) {
        if let Some(tasks) = &self.tasks {
            let connection = self.lock().machine.connection_number();
            tasks.lock().link(connection, self.weak());
        }
    }

    pub(crate) fn weak(self: &Arc<Self>) -> Weak<dyn Link> {
        Arc::<Self>::downgrade(self)
    }

    /// Begins a task for a request and responds with it, as [`answer`](Self::answer) does.
    pub(crate) fn begin_task(
        self: &Arc<Self>,
        id: IncomingId,
        new: NewTask,
    ) -> Result<TaskHandle, TaskError> {
        let tasks = self.tasks.as_ref().ok_or(TaskError::NotWanted)?;
        let key = self.answer(|machine, now, out| {
            let mut shared = tasks.lock();
            shared.sweep(now);
            machine.tasks(&mut shared.tasks).begin(id, new, now, out)
        })?;
        Ok(TaskHandle::new(key, tasks, Some(self.weak())))
    }

    /// Passes the answer to a request of a task, or the failure of that request, to the task.
    pub(crate) fn task_answered(&self, answer: &TaskAnswer<'_>) {
        let Some(tasks) = &self.tasks else { return };
        let mut shared = tasks.lock();
        if let Some(news) = shared.tasks.answered(answer, self.clock.now()) {
            shared.on_task_news(news);
        }
    }

    /// Serves the waiting requests about tasks, and collects the other connections that have task news to send.
    pub(crate) fn settle_tasks(&self, state: &mut State<M>) {
        let Some(tasks) = &self.tasks else { return };
        let (mut shared, now) = (tasks.lock(), self.clock.now());
        shared.sweep(now);
        serve_tasks(state, &mut shared, now);
        let connection = state.machine.connection_number();
        if state.machine.phase() == Phase::Closed {
            shared.unlink(connection);
            // The session has ended, so these tasks are no longer reachable, unless it continues in another process.
            if !state.output.is_suspended {
                shared.forget_tasks_of(state.out.session_requestor());
            }
        }
        let more = state.after.more();
        more.links.extend(shared.links_with_news(Some(connection)));
        if let Some(link) = shared.link_to_watch(Some(connection), now) {
            more.watching = Some(link);
        }
        state.after.wake(shared.woken());
    }

    /// The next time at which a task expires, if the timer of this connection has to cover it.
    pub(crate) fn next_expiry(&self, state: &State<M>) -> Option<Instant> {
        self.tasks.as_ref()?.lock().expiry_for(state.machine.connection_number())
    }
}

/// The maximum number of requests about tasks that are served without success at once.
const MOST_ATTEMPTS: usize = 64;

/// Serves the waiting requests about tasks and sends task news, as far as there is room.
fn serve_tasks<M: Machine>(state: &mut State<M>, shared: &mut Shared, now: Instant) {
    // Over HTTP, another request may have room, because its response has another route.
    let mut attempts = match &state.out {
        // While the connection drains, the outbox has no limit.
        Out::Stream(outbox) => {
            usize::from(!state.is_open() || !state.host_requests.is_stuck(outbox.len()))
        }
        Out::Http(_) => state.host_requests.len().min(MOST_ATTEMPTS),
    };
    while 0 < attempts
        && let Some((id, host_request)) = state.host_requests.pop()
    {
        let State { machine, out, .. } = state;
        match machine.serve_chore(id, &host_request, &mut shared.tasks, now, out) {
            Ok(news) => {
                news.into_iter().for_each(|news| shared.on_task_news(news));
                if let Some((event, bytes)) = M::served(host_request) {
                    state.events.push(event, bytes);
                }
            }
            Err(RespondError::Encode(EncodeError::Full))
                if !out.outbox(Route::Exchange(id)).is_empty() =>
            {
                attempts -= 1;
                match out {
                    Out::Stream(outbox) => {
                        state.host_requests.push_back(id, host_request, outbox.len());
                    }
                    Out::Http(_) => state.host_requests.push(id, host_request),
                }
            }
            // The response will never fit.
            Err(RespondError::Encode(_)) => state.unanswered.push((id, UNANSWERED.into())),
            // The request is no longer open.
            Err(_) => {}
        }
    }
    state.refuse_all();
    let connection = state.machine.connection_number();
    if shared.tasks.has_news_for(connection) {
        state.machine.tasks(&mut shared.tasks).settle(now, &mut state.out);
    }
}

impl<M: Machine> Link for Wire<M> {
    fn send_task_news(self: Arc<Self>) {
        let Some(tasks) = &self.tasks else { return };
        let mut state = self.lock();
        let mut shared = tasks.lock();
        serve_tasks(&mut state, &mut shared, self.clock.now());
        state.after.wake(shared.woken());
        drop(shared);
        // A subscription that has been granted is an event.
        self.start(&mut state);
        self.release(state);
    }

    fn reschedule(self: Arc<Self>) {
        let waker = self.lock().timer.take().map(|(waker, _)| waker);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn report(
        self: Arc<Self>,
        key: TaskKey,
        progress: Progress<'_>,
    ) -> Result<ProgressReport, TaskError> {
        let tasks = self.tasks.as_ref().ok_or(TaskError::Unknown)?;
        self.with(|machine, out, _| {
            machine.tasks(&mut tasks.lock().tasks).report_progress(key, progress, out)
        })
    }
}
