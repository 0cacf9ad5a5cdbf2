//! The methods about tasks that both roles have, written once.

/// Implements them for a struct with the fields that [`peer_face`](super::face::peer_face) asks for.
macro_rules! task_face {
    ($face:ident) => {
        /// # Tasks of this side
        ///
        /// See [`task`](crate::task).
        impl $face {
            /// Begins a task for a request that [may become one](RequestContext::task), and answers the
            /// request with it.
            ///
            /// # Errors
            ///
            /// [`TaskError`] says why there is no task. The request is still open.
            pub fn begin_task(
                &mut self,
                request: InboundId,
                new: NewTask,
                tasks: &mut Tasks,
                now: Instant,
                out: &mut impl Outlets,
            ) -> Result<TaskKey, TaskError> {
                TaskHost::new(&mut self.peer.serving, tasks).begin_task(
                    &mut Cx::at(&self.config.connection, now, out),
                    request,
                    new,
                )
            }

            /// Begins a task without answering the request: for those who write it down first
            /// ([`Tasks::save`]). Then [`announce_task`](Self::announce_task), or
            /// [`Tasks::remove`] and [`reject`](Self::reject).
            ///
            /// # Errors
            ///
            /// As for [`begin_task`](Self::begin_task).
            pub fn create_task(
                &self,
                request: InboundId,
                new: NewTask,
                tasks: &mut Tasks,
                now: Instant,
            ) -> Result<TaskKey, TaskError> {
                create_task(&self.peer.serving, tasks, request, new, now)
            }

            /// Answers a request with the task that has been begun for it. `immediate_response` is what the
            /// model may be told until the result is there (2025-11-25).
            ///
            /// # Errors
            ///
            /// As for [`begin_task`](Self::begin_task).
            pub fn announce_task(
                &mut self,
                request: InboundId,
                task: TaskKey,
                immediate_response: Option<&str>,
                tasks: &mut Tasks,
                out: &mut impl Outlets,
            ) -> Result<(), TaskError> {
                let about = (request, task);
                let config = &self.config.connection;
                TaskHost::new(&mut self.peer.serving, tasks).announce_task(
                    &mut Cx::undated(config, out),
                    about,
                    immediate_response,
                )
            }

            /// Answers a request about tasks, or lets it wait until the task has ended. Whoever asks sees
            /// only the tasks that were begun for the same [`Requestor`](crate::Requestor).
            ///
            /// It also does what [`settle_tasks`](Self::settle_tasks) does.
            ///
            /// # Errors
            ///
            /// As for [`respond`](Self::respond).
            pub fn serve_task(
                &mut self,
                request: InboundId,
                call: &TaskCall<'_>,
                tasks: &mut Tasks,
                now: Instant,
                out: &mut impl Outlets,
            ) -> Result<Option<TaskNews>, RespondError> {
                let config = &self.config.connection;
                let news = TaskHost::new(&mut self.peer.serving, tasks)
                    .serve_task(&mut Cx::at(config, now, out), (request, call))?;
                TaskHost::new(&mut self.peer.serving, tasks)
                    .settle_tasks(&mut Cx::at(config, now, out));
                Ok(news)
            }

            /// Tells on this connection what there is to tell of tasks, as far as there is room: results
            /// that somebody waits for, changes, and what tasks ask for in a session. Call it after a task
            /// has changed, for every connection that [`Tasks::connections_with_news`] names; what has found
            /// no room is told the next time.
            pub fn settle_tasks(
                &mut self,
                tasks: &mut Tasks,
                now: Instant,
                out: &mut impl Outlets,
            ) {
                TaskHost::new(&mut self.peer.serving, tasks).settle_tasks(&mut Cx::at(
                    &self.config.connection,
                    now,
                    out,
                ));
            }

            /// Says how far the work on a task is, if whoever asked for it wants to know, is connected here,
            /// and has a session. Elsewhere nobody is told: see [`Tasks::set_message`].
            ///
            /// # Errors
            ///
            /// [`TaskError::Final`] if the task has ended.
            pub fn report_task_progress(
                &mut self,
                task: TaskKey,
                progress: Progress<'_>,
                tasks: &mut Tasks,
                out: &mut impl Outlets,
            ) -> Result<ProgressReport, TaskError> {
                TaskHost::new(&mut self.peer.serving, tasks).report_task_progress(
                    &mut Cx::undated(&self.config.connection, out),
                    task,
                    progress,
                )
            }
        }
    };
}

pub(crate) use task_face;
