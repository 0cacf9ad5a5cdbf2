//! The methods that both roles have, written once.

/// Implements them for a struct with the fields `config: Arc<…>`, in which `connection` is a
/// [`ConnectionConfig`](crate::ConnectionConfig), and `peer: Peer`.
macro_rules! peer_face {
    ($face:ident) => {
        /// # Looking
        ///
        /// None of these changes anything.
        impl $face {
            /// Where the connection is in its life.
            pub const fn phase(&self) -> Phase {
                self.peer.phase()
            }

            /// The number of the connection, which every handle carries.
            pub fn connection(&self) -> ConnectionNumber {
                self.peer.messages().connection()
            }

            /// The revision of the session; `None` before there is one.
            pub fn revision(&self) -> Option<Revision> {
                self.peer.messages().session.terms.map(|session| session.revision)
            }

            /// What the peer offers, as far as the revision knows it; empty before the session.
            pub fn peer_capabilities(&self) -> CapabilitySet {
                self.peer.messages().session.terms.map(|session| session.theirs).unwrap_or_default()
            }

            /// How much is going on.
            pub fn counts(&self) -> Counts {
                self.peer.messages().counts()
            }

            /// Whether a request in this frame would be taken in now, while its outbox holds `unsent` bytes. Also true
            /// if the request would be refused for good, because waiting does not help then.
            ///
            /// A driver that leaves the frame in its [`Inbox`](crate::Inbox) and stops reading while this is false has
            /// no request refused that could be served later: because of
            /// [`Limits::inbound_requests`](crate::Limits::inbound_requests),
            /// [`batches`](crate::Limits::batches) or [`connection_bytes`](crate::Limits::connection_bytes).
            /// [`Inbox::peek`](crate::Inbox::peek) gives the frame. Ask again after an answer, after a cancellation, and
            /// when something has left the outbox.
            pub fn has_room_for(&self, frame: &Frame<'_>, unsent: usize) -> bool {
                self.peer.serving.has_room_for(&self.config.connection.limits, frame, unsent)
            }

            /// The requests of the peer that can still be answered, in the order they came.
            pub fn open_requests(&self) -> impl Iterator<Item = InboundId> {
                self.peer.serving.open_requests()
            }

            /// The rules of a request; `None` if it cannot be answered any more.
            pub fn context(&self, request: InboundId) -> Option<RequestContext> {
                self.peer.serving.context(request)
            }

            /// The calls of this side that have not ended, in the order they were made.
            pub fn pending_calls(&self) -> impl Iterator<Item = CallId> {
                self.peer.serving.calls.pending_calls()
            }

            /// Those of them that were made because of a request.
            pub fn calls_made_for(&self, request: InboundId) -> impl Iterator<Item = CallId> {
                self.peer.serving.calls.calls_made_for(request)
            }

            /// Whether a call has not ended.
            pub fn is_pending(&self, call: CallId) -> bool {
                self.peer.serving.calls.is_pending(call)
            }

            /// When to call [`handle_timeout`](Self::handle_timeout) next: in the past if outcomes
            /// wait to be handed out, `None` if nothing can expire.
            ///
            /// Every other method can change it.
            pub fn poll_timeout(&self) -> Option<Instant> {
                self.peer.poll_timeout()
            }
        }

        /// # Memory
        impl $face {
            /// Gives memory back to the allocator that nothing is in, such as the tables if no request and
            /// no call is in flight. Harmless at any time: what is needed again is taken again.
            ///
            /// For connections that stay idle, together with [`Inbox::release`](crate::Inbox::release) and
            /// [`Outbox::release`](crate::Outbox::release). Handles of what has ended stay stale; how it
            /// has ended is forgotten ([`RespondError`] is [`Stale`](RespondError::Stale) then), so a
            /// machine that has been released need not be equal to one that has not.
            pub fn release(&mut self) {
                self.peer.release_memory();
            }
        }

        /// # Answering
        impl $face {
            /// Answers a request. The result serialises to an object; `()` is an empty one.
            ///
            /// # Errors
            ///
            /// [`RespondError`] says why the answer was not sent. After
            /// [`RespondError::Encode`] the request is still open.
            pub fn respond<T: Serialize + ?Sized>(
                &mut self,
                request: InboundId,
                result: &T,
                out: &mut impl Outlets,
            ) -> Result<(), RespondError> {
                self.peer.serving.respond(
                    &mut Cx::undated(&self.config.connection, out),
                    request,
                    result,
                )
            }

            /// Answers a request with a result that was prepared, which is copied if it was prepared for
            /// this method in the revision of the request.
            ///
            /// # Errors
            ///
            /// As for [`respond`](Self::respond).
            pub fn respond_prepared(
                &mut self,
                request: InboundId,
                result: &Prepared,
                out: &mut impl Outlets,
            ) -> Result<(), RespondError> {
                self.peer.serving.respond_prepared(
                    &mut Cx::undated(&self.config.connection, out),
                    request,
                    result,
                )
            }

            /// Answers a request with a result that was written for it, by copying.
            ///
            /// # Errors
            ///
            /// As for [`respond`](Self::respond).
            pub fn respond_written(
                &mut self,
                request: InboundId,
                result: &WrittenResult<'_>,
                out: &mut impl Outlets,
            ) -> Result<(), RespondError> {
                self.peer.serving.respond_written(
                    &mut Cx::undated(&self.config.connection, out),
                    request,
                    result,
                )
            }

            /// Answers a request with an error. The message is one short sentence.
            ///
            /// # Errors
            ///
            /// As for [`respond`](Self::respond).
            pub fn reject(
                &mut self,
                request: InboundId,
                code: ErrorCode,
                message: &str,
                out: &mut impl Outlets,
            ) -> Result<(), RespondError> {
                self.peer.serving.reject(
                    &mut Cx::undated(&self.config.connection, out),
                    request,
                    Fault::plain(code, &message),
                )
            }

            /// Answers a request with an error and something more to say, any JSON.
            ///
            /// # Errors
            ///
            /// As for [`respond`](Self::respond).
            pub fn reject_with<T: Serialize + ?Sized>(
                &mut self,
                request: InboundId,
                code: ErrorCode,
                message: &str,
                data: &T,
                out: &mut impl Outlets,
            ) -> Result<(), RespondError> {
                let fault = Fault { code, message: &message, data: Some(data) };
                self.peer.serving.reject(
                    &mut Cx::undated(&self.config.connection, out),
                    request,
                    fault,
                )
            }

            /// Answers a request with an error as it came from elsewhere: code, message and data. For gateways.
            ///
            /// # Errors
            ///
            /// As for [`respond`](Self::respond).
            pub fn reject_as(
                &mut self,
                request: InboundId,
                error: &ErrorObject<'_>,
                out: &mut impl Outlets,
            ) -> Result<(), RespondError> {
                self.peer.serving.reject(
                    &mut Cx::undated(&self.config.connection, out),
                    request,
                    Fault::of(error),
                )
            }

            /// Tells the peer how far the work on its request is, if it asked for that.
            ///
            /// # Errors
            ///
            /// As for [`respond`](Self::respond): there is no progress after the end.
            pub fn progress(
                &mut self,
                request: InboundId,
                progress: Progress<'_>,
                now: Instant,
                out: &mut impl Outlets,
            ) -> Result<ProgressReport, RespondError> {
                self.peer.serving.report_progress(
                    &mut Cx::at(&self.config.connection, now, out),
                    request,
                    progress,
                )
            }
        }

        /// # Asking
        impl $face {
            /// Makes a call. Its one outcome comes as an event, now or later.
            ///
            /// Before the session is open the call is held, within
            /// [`Limits::held_bytes`](crate::Limits::held_bytes), and its timers run; only `ping` goes
            /// out at once.
            ///
            /// # Errors
            ///
            /// [`CallError`] says why there is no call.
            pub fn call<M: Method>(
                &mut self,
                params: &M::Params<'_>,
                options: CallOptions,
                now: Instant,
                out: &mut impl Outlets,
            ) -> Result<CallId, CallError> {
                self.call_method(M::NAME, params, options, now, out)
            }

            /// Makes a call of a method by name. The params serialise to an object, or to nothing:
            /// `()`.
            ///
            /// # Errors
            ///
            /// As for [`call`](Self::call).
            pub fn call_method<T: Serialize + ?Sized>(
                &mut self,
                method: &str,
                params: &T,
                options: CallOptions,
                now: Instant,
                out: &mut impl Outlets,
            ) -> Result<CallId, CallError> {
                self.peer.serving.calls.call(
                    &mut Cx::at(&self.config.connection, now, out),
                    method,
                    params,
                    options,
                )
            }

            /// Asks for a list, page by page, under one handle. All pages but the last come as events;
            /// the last is the outcome of the call. Progress, timeouts and cancellation are those of
            /// any call: the idle timeout begins anew with each page, the total one does not.
            ///
            /// # Errors
            ///
            /// As for [`call`](Self::call).
            pub fn list<M: PagedMethod>(
                &mut self,
                paging: Paging,
                options: CallOptions,
                now: Instant,
                out: &mut impl Outlets,
            ) -> Result<CallId, CallError> {
                let method = (M::NAME, M::ITEMS);
                self.peer.serving.calls.list(
                    &mut Cx::at(&self.config.connection, now, out),
                    method,
                    paging,
                    options,
                )
            }

            /// Sends what `fill` adds as one JSON-RPC batch, or nothing at all if it fails or panics.
            ///
            /// # Errors
            ///
            /// [`BatchError`] says why nothing was sent; so does what `fill` returns.
            pub fn batch<R, E: From<BatchError>>(
                &mut self,
                now: Instant,
                out: &mut impl Outlets,
                fill: impl FnOnce(&mut Batch<'_>) -> Result<R, E>,
            ) -> Result<R, E> {
                self.peer.serving.calls.batch(&mut Cx::at(&self.config.connection, now, out), fill)
            }

            /// Ends a call because its answer is not wanted any more. It is over at once, without an
            /// event; the peer is told unless nothing had been sent yet.
            ///
            /// # Errors
            ///
            /// [`CancelError`] if the call is over already. Nothing was sent.
            pub fn cancel(
                &mut self,
                call: CallId,
                reason: Option<&str>,
                out: &mut impl Outlets,
            ) -> Result<Cancellation, CancelError> {
                self.peer.serving.calls.cancel(
                    &mut Cx::undated(&self.config.connection, out),
                    call,
                    reason,
                )
            }

            /// Ends every call that was made because of a request
            /// ([`CallOptions::parent`]), as is due when the request has been cancelled. Says how many
            /// they were.
            pub fn cancel_calls_made_for(
                &mut self,
                request: InboundId,
                reason: Option<&str>,
                out: &mut impl Outlets,
            ) -> usize {
                self.peer.serving.calls.cancel_calls_made_for(
                    &mut Cx::undated(&self.config.connection, out),
                    request,
                    reason,
                )
            }

            /// Goes on with a task that a call on another connection has become. The call that stands for it
            /// ends like any other.
            ///
            /// # Errors
            ///
            /// [`CallError`] says why the task is not asked about.
            pub fn resume_task(
                &mut self,
                ticket: &TaskTicket,
                options: TaskOptions,
                now: Instant,
                out: &mut impl Outlets,
            ) -> Result<CallId, CallError> {
                self.peer.serving.calls.resume_task(
                    &mut Cx::at(&self.config.connection, now, out),
                    ticket,
                    options,
                )
            }

            /// Asks the peer to cancel the task that a call has become, and waits for what comes of that: the
            /// call ends with [`Outcome::TaskCancelled`](crate::Outcome::TaskCancelled), or as the task does
            /// if that is sooner. [`cancel`](Self::cancel) does not wait.
            ///
            /// # Errors
            ///
            /// [`CallError::NotATask`] if the call is none; [`CallError::NotAllowed`] if the peer does not let
            /// its tasks be cancelled; [`CallError::Closed`], [`CallError::TooManyCalls`] and
            /// [`CallError::Encode`] as for any call. Nothing was sent, and the call goes on.
            pub fn cancel_task(
                &mut self,
                call: CallId,
                now: Instant,
                out: &mut impl Outlets,
            ) -> Result<(), CallError> {
                self.peer
                    .serving
                    .calls
                    .cancel_task(&mut Cx::at(&self.config.connection, now, out), call)
            }

            /// Stops the timers of all calls, for as long as
            /// [`Timeouts::person`](crate::Timeouts::person) at most: somebody is thinking about
            /// something. On a client this happens by itself while a request that asks a person is
            /// open.
            pub fn pause(&mut self, now: Instant) {
                self.peer.messages_mut().set_paused(true, now);
            }

            /// Lets the timers go on that [`pause`](Self::pause) has stopped.
            pub fn resume(&mut self, now: Instant) {
                self.peer.messages_mut().set_paused(false, now);
            }

            /// Sends a notification. Before the session is open it is held; only log messages go out as soon as a server has answered `initialize`.
            ///
            /// # Errors
            ///
            /// [`NotifyError`] says why it was not sent.
            pub fn notify<N: Notifies>(
                &mut self,
                params: &N::Params<'_>,
                out: &mut impl Outlets,
            ) -> Result<Delivery, NotifyError> {
                self.notify_method(N::NAME, params, None, out)
            }

            /// Sends a notification about a request: on the lane of its exchange, before its answer. Where
            /// requests stand alone a server can send only such notifications, and those that somebody has
            /// subscribed to.
            ///
            /// # Errors
            ///
            /// As for [`notify`](Self::notify).
            pub fn notify_about<N: Notifies>(
                &mut self,
                request: InboundId,
                params: &N::Params<'_>,
                out: &mut impl Outlets,
            ) -> Result<Delivery, NotifyError> {
                self.notify_method(N::NAME, params, Some(request), out)
            }

            /// Sends a notification by name. `related` is the request it is about, if any: it goes
            /// out on the lane of that exchange.
            ///
            /// # Errors
            ///
            /// As for [`notify`](Self::notify).
            pub fn notify_method<T: Serialize + ?Sized>(
                &mut self,
                method: &str,
                params: &T,
                related: Option<InboundId>,
                out: &mut impl Outlets,
            ) -> Result<Delivery, NotifyError> {
                let change = None;
                let notice = Notice { method, params, related, wanted: None, change };
                self.peer.serving.notify(&mut Cx::undated(&self.config.connection, out), notice)
            }
        }

        /// # Ending
        ///
        /// These only mark. What was in flight comes out of [`handle_timeout`](Self::handle_timeout),
        /// and `Closed` last.
        impl $face {
            /// Bytes of the peer have come in, if only a part of a message: it is still there. Receiving a
            /// frame says so by itself. Only [`ConnectionConfig::keep_alive`](crate::ConnectionConfig)
            /// asks for this.
            pub fn heard(&mut self, now: Instant) {
                self.peer.heard(&self.config.connection, now);
            }

            /// The carrier has ended or failed.
            ///
            /// At [`Cause::EndOfInput`] a server may still answer what is in flight, until
            /// [`Timeouts::drain`](crate::Timeouts::drain) has passed; in every other case the
            /// connection is closed at once.
            pub fn disconnected(&mut self, cause: Cause, now: Instant) {
                self.peer.disconnected(&self.config.connection, cause, now);
            }

            /// Takes no new work and ends when nothing is in flight, at the latest after `grace`.
            ///
            /// MCP has no message for this: once closed, close the carrier.
            pub fn shut_down(&mut self, grace: Duration, now: Instant) {
                self.peer.drain(Cause::ShutDown, grace, now);
            }

            /// Ends it now.
            pub fn close(&mut self) {
                self.peer.close(Cause::ShutDown);
            }
        }
    };
}

pub(crate) use peer_face;
