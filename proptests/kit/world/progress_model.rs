//! A model of progress: which reports of the server are sent, delayed or dropped, and which of them reach the caller.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use mcp_sansio::progress::ProgressReport;
use mcp_sansio::testing::{Broken, Promise};
use mcp_sansio::{CallId, IncomingId, Instant, Outbox};
use serde_json::Value;

/// The reports of the server, and the updates of the client.
#[derive(Debug, Default)]
pub(super) struct ProgressModel {
    reports: BTreeMap<IncomingId, Reports>,
    /// The values that were reported for the call with this serial number.
    of_serial: BTreeMap<u32, BTreeSet<u8>>,
    /// The calls that ask for progress, and the last value that each has received.
    calls: BTreeMap<CallId, Option<f64>>,
    /// The progress tokens of the requests that the server has received and not answered, by the id of the request,
    /// each with the last value that was sent.
    tokens: BTreeMap<String, (String, Option<f64>)>,
    /// The number of requests with each id that have no response yet.
    unanswered: BTreeMap<String, u32>,
}

/// The accepted reports for one request.
#[derive(Clone, Copy, Debug, Default)]
struct Reports {
    last: Option<u8>,
    is_delayed: bool,
    /// The time before which no report is sent.
    next: Option<Instant>,
}

/// A report of the application.
#[derive(Clone, Copy, Debug)]
pub(super) struct Report {
    pub(super) id: IncomingId,
    pub(super) value: u8,
    /// The serial number in the call, if it has one.
    pub(super) serial: Option<u32>,
    /// Whether the request asks for progress; `None` if that is not known any more.
    pub(super) is_wanted: Option<bool>,
    pub(super) interval: Option<Duration>,
}

impl ProgressModel {
    /// Records a call, which may ask for progress.
    pub(super) fn made(&mut self, call: CallId, asks_for_progress: bool) {
        if asks_for_progress {
            self.calls.insert(call, None);
        }
    }

    /// Records that a call may be sent again, with a progress of its own.
    pub(super) fn begins_again(&mut self, call: CallId) {
        if let Some(last) = self.calls.get_mut(&call) {
            *last = None;
        }
    }

    /// Compares the result of a report with the expected one.
    pub(super) fn reported(
        &mut self,
        report: Report,
        result: ProgressReport,
        now: Instant,
    ) -> Result<(), Broken> {
        let Report { id, value, serial, is_wanted, interval } = report;
        let known = self.reports.entry(id).or_default();
        let expected = if is_wanted == Some(false)
            || is_wanted.is_none() && result == ProgressReport::NotWanted
        {
            ProgressReport::NotWanted
        } else if known.last.is_some_and(|last| value <= last) {
            ProgressReport::NotIncreasing
        } else if known.next.is_some_and(|next| now < next) {
            (known.last, known.is_delayed) = (Some(value), true);
            ProgressReport::Delayed
        } else {
            let next = interval.map(|interval| now + interval);
            *known = Reports { last: Some(value), is_delayed: false, next };
            ProgressReport::Sent
        };
        if let Some(serial) = serial {
            self.of_serial.entry(serial).or_default().insert(value);
        }
        if result == expected {
            return Ok(());
        }
        let what = format!("{report:?} is {result:?} and should be {expected:?}: {known:?}");
        Err(Broken::new(Promise::Order, what))
    }

    /// Records that the server has handled everything that was due. If the outbox has room, the delayed reports that
    /// were due are in it.
    pub(super) fn settled(
        &mut self,
        interval: Option<Duration>,
        now: Instant,
        with_room: Option<&Outbox>,
    ) -> Result<(), Broken> {
        let unsent = with_room.map(|outbox| String::from_utf8_lossy(outbox.unsent()));
        for (id, reports) in &mut self.reports {
            if reports.next.is_none_or(|next| now < next) {
                continue;
            }
            let report = reports.last.filter(|_| reports.is_delayed);
            let next = report.and(interval).map(|interval| now + interval);
            (reports.is_delayed, reports.next) = (false, next);
            let report = report.map(|value| format!("\"progress\":{value}"));
            if let (Some(report), Some(unsent)) = (report, &unsent)
                && !unsent.contains(&report)
            {
                let what = format!("the delayed report {report} of {id} is not sent");
                return Err(Broken::new(Promise::NothingWaits, what));
            }
        }
        Ok(())
    }

    /// Records that the server has responded to a request. If the outbox has room, a delayed report is in it, too.
    pub(super) fn answered(
        &mut self,
        id: IncomingId,
        with_room: Option<&Outbox>,
    ) -> Result<(), Broken> {
        let known = self.reports.remove(&id).filter(|known| known.is_delayed);
        let (Some(value), Some(outbox)) = (known.and_then(|known| known.last), with_room) else {
            return Ok(());
        };
        let report = format!("\"progress\":{value}");
        if String::from_utf8_lossy(outbox.unsent()).contains(&report) {
            return Ok(());
        }
        let what = format!("the delayed report {report} of {id} is lost with its response");
        Err(Broken::new(Promise::NothingWaits, what))
    }

    /// Forgets the reports of all requests but the open ones.
    pub(super) fn keep_open(&mut self, open: &BTreeSet<IncomingId>) {
        self.reports.retain(|id, _| open.contains(id));
    }

    /// Counts a response to an id. Returns whether it is the last one that can be expected: a forged request may have
    /// had the same id.
    fn is_last(&mut self, id: &str) -> bool {
        let Some(left) = self.unanswered.get_mut(id) else { return true };
        *left = left.saturating_sub(1);
        *left == 0
    }

    /// Records a message that the server receives.
    pub(super) fn delivered(&mut self, message: &Value) {
        if message.get("method").is_some() && message.get("id").is_some() {
            *self.unanswered.entry(message["id"].to_string()).or_default() += 1;
        }
        let token = &message["params"]["_meta"]["progressToken"];
        if !token.is_null() && message.get("id").is_some() {
            self.tokens.insert(message["id"].to_string(), (token.to_string(), None));
        }
    }

    /// Checks a message that the server has sent: no progress follows the response. An error may be about a forged
    /// message with the same id.
    pub(super) fn sent(&mut self, message: &Value, is_reliable: bool) -> Result<(), Broken> {
        if message.get("method").is_none() {
            let id = message.get("id").filter(|_| is_reliable || message.get("result").is_some());
            // The token of a task lives longer than its call (L-PROG-16).
            let id = id.filter(|_| !message["result"]["task"].is_object());
            if let Some(id) = id.map(ToString::to_string).filter(|id| self.is_last(id)) {
                self.tokens.remove(&id);
            }
            return Ok(());
        }
        if message["method"] != "notifications/progress" {
            return Ok(());
        }
        let token = message["params"]["progressToken"].to_string();
        let value = message["params"]["progress"].as_f64();
        let mut known = self.tokens.values_mut().filter(|(known, _)| *known == token);
        let fault = match (known.next(), known.next()) {
            (None, _) => "of a request that is over",
            (Some((_, last)), None) if *last >= value => "that does not grow",
            (Some((_, last)), _) => {
                *last = value;
                return Ok(());
            }
        };
        Err(Broken::new(Promise::Order, format!("progress {fault}: {message}")))
    }

    /// Checks an update of a call: it grows, was asked for, and is a report on this very call. After a forged message,
    /// anything can have been reported.
    pub(super) fn updated(
        &mut self,
        call: CallId,
        value: f64,
        serial: Option<u32>,
        is_deceived: bool,
    ) -> Result<(), Broken> {
        let fault = |what: &str| {
            Err(Broken::new(Promise::Order, format!("{call}: progress {value} {what}")))
        };
        match self.calls.get_mut(&call) {
            None => return fault("was not asked for"),
            Some(Some(last)) if value <= *last => return fault("does not grow"),
            Some(last) => *last = Some(value),
        }
        let reports = serial.and_then(|serial| self.of_serial.get(&serial));
        let is_own =
            reports.is_some_and(|values| values.iter().any(|own| f64::from(*own) == value));
        if serial.is_some() && !is_own && !is_deceived {
            return fault("was not reported");
        }
        Ok(())
    }
}
