//! Responses of the peer: which call they end, and how.

use super::call::{Call, Purpose};
use super::cx::Cx;
use super::event::{CallEnded, Outcome, Stray};
use super::gather::Gathered;
use super::incoming::Incoming;
use super::late_probe::LateProbe;
use super::outlets::Lane;
use super::peer_event::PeerEvent;
use super::reception::Reception;
use super::rules::required_elicitations;
use super::{Peer, Role};
use crate::dialect::forms::is_refusal;
use crate::dialect::methods::RequestKind;
use crate::error::ViolationKind;
use crate::handle::CallId;
use crate::json::{Elements, Misfit, Object, Str, fits, member};
use crate::rpc::{ErrorObject, Id, ResultType, StrayCause};

impl Peer {
    pub(super) fn response<'e, 'a>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        id: Id<'a>,
        outcome: Outcome<'a>,
        bytes: &'a [u8],
        reception: &Reception,
    ) -> Option<Incoming<'e, 'a>> {
        match self.pending(cx, &id) {
            Some(call) => self.ended(cx, call, outcome, bytes, reception),
            None if self.is_late_probe(cx, &id) => {
                Some(Incoming::LateProbe(LateProbe { outcome, id }))
            }
            None => {
                let cause = self.stray_cause(cx, &id);
                Some(Incoming::Event(PeerEvent::Stray(Stray { id, cause })))
            }
        }
    }

    /// An error that names no request. If the carrier knows which call it answers, it ends that
    /// call; before the session is open it can only mean `initialize`.
    pub(super) fn idless_error<'e, 'a>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        error: ErrorObject<'a>,
        bytes: &'a [u8],
        reception: &Reception,
    ) -> Option<Incoming<'e, 'a>> {
        let by_lane = match reception.arrival.lane {
            Lane::Call(call) if self.awaits_answer(call) => Some(call),
            _ => None,
        };
        let is_of_another =
            matches!(reception.arrival.lane, Lane::Call(call) if Some(call) != self.initialize);
        match by_lane.or_else(|| self.initialize.filter(|_| !is_of_another)) {
            Some(call) => self.ended(cx, call, Outcome::PeerError(error), bytes, reception),
            None => Some(Incoming::Event(PeerEvent::PeerFault(error))),
        }
    }

    /// The call that this id belongs to. One that is still held cannot have been answered.
    pub(super) fn pending(&self, cx: &Cx<'_, '_>, id: &Id<'_>) -> Option<CallId> {
        let place = self.outbound.find(id.number(cx.config.match_stringified_ids)?)?;
        let is_there = self.outbound.get(place).is_some_and(Call::awaits_answer);
        is_there.then_some(CallId(place))
    }

    /// Whether the peer may have heard of a call and has not answered it.
    pub(super) fn has_heard_of(&self, call: CallId) -> bool {
        self.outbound.get(call.0).is_some_and(Call::awaits_answer)
    }

    /// Whether a call of the application, or a question about a task, can be answered.
    fn awaits_answer(&self, call: CallId) -> bool {
        let is_step = |entry: &Call| entry.purpose == Purpose::TaskStep;
        let entry = self.outbound.get(call.0);
        entry.is_some_and(Call::awaits_answer)
            && (self.is_pending(call) || entry.is_some_and(is_step))
    }

    /// Whether a call of ours with this id was cancelled or timed out not long ago.
    pub(super) fn was_given_up(&self, cx: &Cx<'_, '_>, id: &Id<'_>) -> bool {
        matches!(self.stray_cause(cx, id), StrayCause::Cancelled | StrayCause::TimedOut)
    }

    /// Why an id belongs to no call that could be answered.
    fn stray_cause(&self, cx: &Cx<'_, '_>, id: &Id<'_>) -> StrayCause {
        let number = id.number(cx.config.match_stringified_ids);
        let pending = number.and_then(|number| self.outbound.find(number));
        match pending.and_then(|place| self.outbound.get(place)) {
            // Its id stays in use as the progress token of the task.
            Some(entry) if entry.tracked().is_some_and(|task| task.was_answered) => {
                StrayCause::Completed
            }
            // The request has not been sent, or not under this id.
            Some(_) => StrayCause::NeverIssued,
            None => self.outbound.stray(number),
        }
    }

    /// The answer to a call has come.
    pub(super) fn ended<'e, 'a>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        call: CallId,
        outcome: Outcome<'a>,
        bytes: &'a [u8],
        reception: &Reception,
    ) -> Option<Incoming<'e, 'a>> {
        let entry = self.outbound.get(call.0)?;
        match entry.purpose {
            Purpose::Initialize | Purpose::Probe => {
                self.end_call(call);
                Some(Incoming::HandshakeEnded(outcome))
            }
            Purpose::KeepAlive => {
                self.ping_answered(&outcome);
                self.end_call(call);
                None
            }
            Purpose::Input => {
                let outcome = self.judged(cx, call, outcome, bytes);
                let going_on = self.input_answered(cx, call, &outcome)?;
                Some(match going_on {
                    Ok(resumed) => Incoming::Resumed(resumed),
                    Err(event) => Incoming::Event(event),
                })
            }
            Purpose::Interest => {
                self.interest_ended(call, &outcome);
                None
            }
            Purpose::TaskQuestion => {
                let outcome = self.judged(cx, call, outcome, bytes);
                self.task_question_ended(call, outcome).map(Incoming::Event)
            }
            Purpose::TaskStep => {
                self.step_ended(cx, call, outcome, bytes, reception).map(Incoming::Event)
            }
            Purpose::Abandoned => {
                self.abandoned_answered(cx, call, &outcome, reception).map(Incoming::Event)
            }
            Purpose::Subscription => {
                let outcome = match self.interim(cx, call, outcome, bytes, reception) {
                    Gathered::Ends(outcome) => outcome,
                    Gathered::Asked(input) => return Some(Incoming::Input(input)),
                    Gathered::Waits => return None,
                    Gathered::Became(event) => return Some(Incoming::Event(event)),
                };
                let outcome = self.judged(cx, call, outcome, bytes);
                let event = self.subscription_ended(call, outcome);
                self.end_call(call);
                Some(Incoming::Event(event))
            }
            Purpose::Application => {
                let outcome = match self.interim(cx, call, outcome, bytes, reception) {
                    Gathered::Ends(outcome) => outcome,
                    Gathered::Asked(input) => return Some(Incoming::Input(input)),
                    Gathered::Waits => return None,
                    Gathered::Became(event) => return Some(Incoming::Event(event)),
                };
                let outcome = self.judged(cx, call, outcome, bytes);
                let event = match self.next_page(cx, call, outcome, reception) {
                    Ok(event) => event,
                    Err(outcome) => {
                        let stale = self.is_stale(call);
                        let needed_input = self.needed_input(call);
                        self.end_call(call);
                        let ended = CallEnded::new(call, outcome);
                        PeerEvent::CallEnded(CallEnded { stale, needed_input, ..ended })
                    }
                };
                Some(Incoming::Event(event))
            }
        }
    }

    /// Looks whether what has come is the outcome of a call, or only a step on the way to it.
    fn interim<'a>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        call: CallId,
        outcome: Outcome<'a>,
        bytes: &'a [u8],
        reception: &Reception,
    ) -> Gathered<'a> {
        if let Outcome::Result(result) = &outcome
            && let Some(task) = self.becomes_task(cx, call, result, bytes, reception)
        {
            return task;
        }
        if !self.rules().reads_result_types {
            return Gathered::Ends(outcome);
        }
        let is_known = self.outbound.get(call.0).is_some_and(|entry| entry.kind.is_some());
        match outcome {
            Outcome::PeerError(error) if self.is_repeated(cx, call, &error) => Gathered::Waits,
            Outcome::Result(result) if is_known => match reception.result_type {
                ResultType::Complete => Gathered::Ends(Outcome::Result(result)),
                ResultType::Absent => {
                    self.note(ViolationKind::NoResultType);
                    Gathered::Ends(Outcome::Result(result))
                }
                ResultType::InputRequired => {
                    let _now = cx.now();
                    self.gather(cx, call, (result, bytes))
                }
                ResultType::Task | ResultType::Other => {
                    let kind = ViolationKind::InvalidResult;
                    Gathered::Ends(Outcome::Malformed { kind, message: bytes.into() })
                }
            },
            outcome => Gathered::Ends(outcome),
        }
    }

    /// The outcome of a call, once what the peer answered has been looked at.
    pub(super) fn judged<'a>(
        &mut self,
        cx: &Cx<'_, '_>,
        call: CallId,
        outcome: Outcome<'a>,
        bytes: &'a [u8],
    ) -> Outcome<'a> {
        match &outcome {
            Outcome::Result(result) => {
                let result = result.borrowed().unwrap_or_default();
                if self.check_result(cx, call, result).is_err() {
                    let kind = ViolationKind::InvalidResult;
                    return Outcome::Malformed { kind, message: bytes.into() };
                }
            }
            Outcome::PeerError(error) if self.role == Role::Client => {
                self.register_elicitations(cx, error);
            }
            _ => {}
        }
        outcome
    }

    /// Whether a result is what the method asks for. What a person has filled in is compared with the
    /// form in any case, and so is everything that was asked for on behalf of a request: its handler could do
    /// nothing with what it cannot read but ask again. Everything else is if the configuration wants it.
    fn check_result(&mut self, cx: &Cx<'_, '_>, call: CallId, result: &str) -> Result<(), Misfit> {
        let (Some(entry), Some(session)) = (self.outbound.get(call.0), self.session) else {
            return Ok(());
        };
        let Some(kind) = entry.kind else { return Ok(()) };
        let is_answer = kind == RequestKind::Elicit && !is_refusal(result);
        let is_wanted = cx.config.check_results || entry.purpose == Purpose::Input;
        if is_answer || (is_wanted && kind != RequestKind::Elicit) {
            fits(kind.rule().result(session.revision), Some(&Object::of(result)))?;
            entry.kept.check_result(kind, result)?;
        }
        if kind == RequestKind::ListRoots && has_strange_root(result) {
            self.note(ViolationKind::RootNotAFile);
        }
        Ok(())
    }

    /// Remembers the elicitations by URL that an error asks for, so that their completion is known.
    fn register_elicitations(&mut self, cx: &Cx<'_, '_>, error: &ErrorObject<'_>) {
        let Some(session) = self.session else { return };
        for id in required_elicitations(error, session.revision) {
            self.elicitations.add(&id, &cx.config.limits);
        }
    }
}

/// Whether a list of roots has one that is no file.
fn has_strange_root(result: &str) -> bool {
    Elements::of(member(result, "roots").unwrap_or_default())
        .filter_map(|root| member(root.borrowed()?, "uri").and_then(Str::from_literal))
        .any(|uri| !uri.chars().take(FILE.len()).eq(FILE.chars()))
}

const FILE: &str = "file://";
