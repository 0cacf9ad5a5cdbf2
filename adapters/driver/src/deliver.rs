//! What comes in.

use std::sync::Arc;
use std::task::{Context, Poll};

use mcp_sansio::{Arrival, Cause, Frame, InboundId, Inbox};

use crate::machine::Machine;
use crate::machine::sealed::Happening;
use crate::tasks::SharedTasks;
use crate::trace;
use crate::wire::{Opening, State, Wire};

impl<M: Machine> Wire<M> {
    /// Hands everything that is in an inbox to the machine.
    pub(crate) fn take(self: &Arc<Self>, inbox: &mut Inbox) {
        while let Some(frame) = inbox.next() {
            self.receive(frame);
        }
    }

    fn receive(self: &Arc<Self>, frame: Frame<'_>) {
        let (now, bytes) = (self.clock.now(), frame.bytes().len());
        let principal = self.tasks.as_ref().map(SharedTasks::principal).unwrap_or_default();
        let arrival = Arrival::from(now).principal(principal);
        self.act(|state| {
            if let Some(happening) = state.machine.receive(frame, arrival, &mut state.out) {
                self.deliver(state, happening, bytes);
            }
        });
    }

    /// The connection is over, or its input is.
    pub(crate) fn disconnected(self: &Arc<Self>, cause: Cause) {
        trace::disconnected(cause);
        self.with(|machine, _, now| machine.disconnected(cause, now));
    }

    /// Passes on what has happened. It holds so many bytes of the peer.
    pub(crate) fn deliver(
        self: &Arc<Self>,
        state: &mut State<M>,
        happening: Happening<M>,
        bytes: usize,
    ) {
        match happening {
            Happening::Request(id, request) => self.ask(state, id, request, bytes),
            Happening::Cancelled(id) => cancelled(state, id),
            Happening::Progress(update) => state.follow.wakers.extend(state.calls.step(update)),
            Happening::Page(page) => state.calls.page(page.call, page.result),
            Happening::Restarted(restarted) => state.calls.restart(restarted.call),
            Happening::Ended(ended) => {
                trace::call_ended(ended.call, &ended.outcome);
                let waker = state.calls.end(ended.call, ended.outcome, ended.stale);
                state.follow.wakers.extend(waker);
            }
            Happening::TaskAnswer(answer) => self.task_answered(&answer),
            Happening::Opening(event) => match &mut state.opening {
                Opening::Waited(waker) => {
                    state.follow.wakers.extend(waker.take());
                    state.opening = Opening::Done(Box::new(event));
                }
                Opening::Told | Opening::Done(_) => state.events.push(event, bytes),
            },
            Happening::Event(event) if state.responses.is_last_word_known::<M>(&event) => {}
            Happening::Event(event) => {
                trace::event::<M>(&event);
                state.events.push(event, bytes);
            }
        }
    }

    /// Has a request served, if there is room for it.
    fn ask(&self, state: &mut State<M>, id: InboundId, request: M::Request, bytes: usize) {
        if let Some(chore) = M::chore(&request).filter(|_| self.tasks.is_some()) {
            if !state.chores.push(id, chore, bytes) {
                state.unanswered.push(id);
            }
        } else if !state.requests.push(id, request, bytes) {
            state.unanswered.push(id);
        }
    }

    /// How opening the connection went, told once.
    pub(crate) fn poll_opening(&self, context: &Context<'_>) -> Poll<M::Event> {
        let mut state = self.lock();
        let waiting = Opening::Waited(Some(context.waker().clone()));
        let old = match std::mem::replace(&mut state.opening, waiting) {
            Opening::Done(event) => {
                let waiting = std::mem::replace(&mut state.opening, Opening::Told);
                drop(state);
                drop(waiting);
                return Poll::Ready(*event);
            }
            old => old,
        };
        drop(state);
        drop(old);
        Poll::Pending
    }
}

/// The answer to a request is not wanted any more, so neither are those to the calls that were made because
/// of it.
fn cancelled<M: Machine>(state: &mut State<M>, id: InboundId) {
    state.follow.signals.extend(state.requests.cancel(id));
    for call in state.machine.calls_made_for(id) {
        let reason = Some("the request that it was made for was cancelled");
        if state.machine.cancel(call, reason, &mut state.out).is_ok() {
            state.follow.wakers.extend(state.calls.cancelled(call));
        }
    }
}
