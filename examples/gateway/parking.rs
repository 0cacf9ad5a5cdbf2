//! Calls of legacy upstreams that require input of a modern client.
//!
//! The upstream waits for a response. The client only gets an input-required result, and repeats its request at any
//! later time. In between, the call is parked, and the state in the client's request is the number of the call. A
//! number can be guessed, but there is only one client here.

use std::collections::BTreeMap;

use mcp_sansio::json::Raw;
use mcp_sansio::{CallId, ErrorCode, IncomingId, Outcome, Request, RequestFromServer};
use serde::Serialize;

use crate::forward::{Forwarded, Job};
use crate::gateway::Gateway;
use crate::inputs::{input_required, params};
use crate::upstream::Purpose;

/// A request of an upstream that has to wait for the next request of the client.
pub(crate) struct Need {
    request: IncomingId,
    /// The method and the params.
    asked: Raw<'static>,
}

impl Need {
    fn new(request: &RequestFromServer<'_>) -> Option<Self> {
        let method = request.method.to_str();
        let asked = Asked { method: &method, params: params(request) };
        Some(Self { request: request.id, asked: Raw::from_serialize(&asked).ok()? })
    }

    /// The key of the answer.
    fn key(&self) -> String {
        format!("need-{}", self.request.index())
    }
}

#[derive(Serialize)]
struct Asked<'a> {
    method: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<Raw<'a>>,
}

/// The parked calls, whose clients have received the required inputs and have not repeated their requests yet.
#[derive(Default)]
pub(crate) struct Parking {
    parked: BTreeMap<u64, Parked>,
    last: u64,
}

struct Parked {
    upstream: usize,
    call: CallId,
    needs: Vec<Need>,
    /// The outcome, if the upstream has ended the call in the meantime.
    outcome: Option<Outcome<'static>>,
}

/// The number of ended calls whose outcomes are kept.
const KEPT: usize = 64;

impl Parking {
    fn park(&mut self, parked: Parked) -> u64 {
        self.last += 1;
        self.parked.insert(self.last, parked);
        self.last
    }

    /// Stores the outcome of a parked call.
    pub(crate) fn ended(&mut self, number: u64, outcome: Outcome<'static>) {
        if let Some(parked) = self.parked.get_mut(&number) {
            parked.outcome = Some(outcome);
        }
        let over = self.parked.iter().filter(|(_, parked)| parked.outcome.is_some());
        let oldest: Vec<u64> = over.map(|(number, _)| *number).collect();
        for number in oldest.iter().rev().skip(KEPT) {
            self.parked.remove(number);
        }
    }

    /// Removes the parked call with this state, if it belongs to this upstream.
    fn take(&mut self, state: &str, upstream: usize) -> Option<Parked> {
        let number = state.parse().ok()?;
        self.parked.get(&number).filter(|parked| parked.upstream == upstream)?;
        self.parked.remove(&number)
    }
}

impl Gateway {
    /// Notes that an upstream requires input for a request of a modern client.
    pub(crate) fn note_need(
        &mut self,
        from: usize,
        newest: IncomingId,
        request: &RequestFromServer<'_>,
    ) {
        let Some(need) = Need::new(request) else { return };
        if let Some(Job::Forwarded(forwarded)) = self.jobs.get_mut(newest)
            && forwarded.upstream == from
        {
            forwarded.needs.push(need);
            // More requests may follow, and are sent in the same result.
            if !self.needy.contains(&newest) {
                self.needy.push(newest);
            }
        }
    }

    /// As [`note_need`](Self::note_need), for a call that is already parked.
    pub(crate) fn note_later(&mut self, number: u64, request: &RequestFromServer<'_>) {
        if let (Some(parked), Some(need)) =
            (self.parking.parked.get_mut(&number), Need::new(request))
        {
            parked.needs.push(need);
        }
    }

    /// Returns the newest parked call of an upstream that has not ended.
    pub(crate) fn newest_parked(&self, from: usize) -> Option<u64> {
        let is_it = |parked: &Parked| parked.upstream == from && parked.outcome.is_none();
        let mut parked = self.parking.parked.iter().rev();
        parked.find(|(_, parked)| is_it(parked)).map(|(number, _)| *number)
    }

    /// Responds to requests with the inputs that upstreams require for them.
    pub(crate) fn settle_needs(&mut self) {
        for id in std::mem::take(&mut self.needy) {
            if let Some(Job::Forwarded(forwarded)) = self.jobs.take(id) {
                self.park(*forwarded);
            }
        }
    }

    fn park(&mut self, forwarded: Forwarded) {
        let Forwarded { request, upstream, call, needs, .. } = forwarded;
        let number = self.parking.last + 1;
        let asked = needs.iter().map(|need| (need.key(), need.asked.clone()));
        let required = input_required(asked, Some(number.to_string()));
        let sent = self.server.require_input(&request, &required, self.now, &mut self.outbox);
        if sent.is_ok() {
            let parked = Parked { upstream, call, needs, outcome: None };
            let number = self.parking.park(parked);
            self.upstreams[upstream].purposes.insert(call, Purpose::Parked(number));
            return;
        }
        self.upstreams[upstream].cancel(call, None);
        self.drop_needs(upstream, needs);
        self.explain(request.id, upstream, sent);
    }

    /// Handles a repeated request of a client, with the input for an upstream.
    pub(crate) fn come_back(&mut self, request: Request<'static>, upstream: usize) {
        let state = request.state.as_ref().map(|state| state.to_str()).unwrap_or_default();
        let Some(parked) = self.parking.take(&state, upstream) else {
            let message = "this request has been answered, or was never made";
            return self.reject(request.id, ErrorCode::INVALID_PARAMS, message);
        };
        let Parked { call, needs, outcome, .. } = parked;
        let mut missing = Vec::new();
        for need in needs {
            match request.input(&need.key()) {
                Some(answer) => self.hand_answer(upstream, need.request, &answer),
                None => missing.push(need),
            }
        }
        let id = request.id;
        let is_needy = !missing.is_empty() && outcome.is_none();
        let forwarded = Forwarded { request, upstream, call, is_search: false, needs: missing };
        if let Some(outcome) = outcome {
            return self.answer(forwarded, outcome);
        }
        self.upstreams[upstream].purposes.insert(call, Purpose::Answer(id));
        self.jobs.insert(id, Job::Forwarded(Box::new(forwarded)));
        if is_needy {
            self.needy.push(id);
        }
    }

    /// Rejects requests of an upstream that will get no answer.
    pub(crate) fn drop_needs(&mut self, upstream: usize, needs: Vec<Need>) {
        for need in needs {
            let (code, message) = (ErrorCode::INTERNAL_ERROR, "the client cannot be asked");
            self.turn_down(upstream, need.request, code, message);
        }
    }
}
