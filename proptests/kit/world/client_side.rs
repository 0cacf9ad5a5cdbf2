//! The application of the client.

use std::time::Duration;

use mcp_sansio::call::{Cancellation, Paging, TaskOptions, Timeout};
use mcp_sansio::event::CallEnded;
use mcp_sansio::json::Raw;
use mcp_sansio::model::method;
use mcp_sansio::testing::{Broken, Promise, WorkMeter};
use mcp_sansio::{
    CallId, CallOptions, Cause, ClientEvent, ErrorCode, Frame, Outbox, Outcome, Phase,
};
use serde_json::json;

use super::setup::filter;
use super::{SECRET, Step, World, unchanged};

impl World {
    /// Performs the client's operation of a step.
    pub(super) fn by_client(&mut self, step: &Step) -> Result<(), Broken> {
        let Self { client, client_out: out, ours, now, .. } = self;
        let (now, before) = (*now, (client.in_flight().counts(), out.len()));
        match *step {
            Step::Connect => {
                let twin = client.clone();
                let refused = client.connect(now, out).is_err();
                if refused && twin != *client {
                    return Err(Broken::new(
                        Promise::OneOutcome,
                        "a refused connect has changed it",
                    ));
                }
                self.adopt()?;
            }
            Step::Call { method, size, options } => self.call(method, size, options)?,
            Step::List => {
                let made = client.list::<method::ListTools>(
                    Paging::default(),
                    CallOptions::new(),
                    now,
                    out,
                );
                match &made {
                    Ok(call) => ours.time.made(*call, &self.setup.client.connection.timeouts, now),
                    Err(error) => unchanged(before, (client, out), error)?,
                }
                ours.made(made)?;
            }
            Step::Subscribe(which) => {
                let is_quiet = self.downstream.is_empty() && self.server_out.is_empty();
                let made = client.subscribe(&filter(which), now, out);
                match &made {
                    Ok(call) => self.changes.began(*call, is_quiet),
                    Err(error) => unchanged(before, (client, out), error)?,
                }
                ours.made(made)?;
            }
            Step::CancelByClient { which } => {
                let Some(call) = ours.a_call(which) else { return Ok(()) };
                let mark = self.serials.get(&call).map(|serial| format!("\"serial\":{serial},"));
                let unsent = copies(out, mark.as_deref());
                match client.cancel(call, Some("why"), out) {
                    Err(error) => unchanged(before, (client, out), error)?,
                    Ok(cancellation) => {
                        let taken_back = unsent - copies(out, mark.as_deref());
                        ours.monitor.cancelled(call)?;
                        ours.time.given_up(call);
                        self.changes.given_up(call);
                        self.check_cancellation_notified(call, cancellation)?;
                        self.check_withdrawn(call, cancellation, (unsent, taken_back))?;
                    }
                }
            }
            Step::CancelTask { which } => {
                let Some(call) = ours.a_call(which) else { return Ok(()) };
                match client.cancel_task(call, now, out) {
                    Ok(_) => ours.time.changed(call),
                    Err(error) => unchanged(before, (client, out), error)?,
                }
            }
            Step::Give { which, answer } => self.give(which, answer)?,
            Step::Pause(paused) => {
                client.set_paused(paused, now);
                ours.time.paused(paused, now);
            }
            _ => {}
        }
        Ok(())
    }

    fn call(&mut self, method: &str, size: u16, bits: u8) -> Result<(), Broken> {
        let Self { client, client_out: out, ours, now, made: number, .. } = self;
        let before = (client.in_flight().counts(), out.len());
        let mut options = CallOptions::new();
        let mut timeouts = self.setup.client.connection.timeouts.clone();
        if bits & 1 != 0 {
            options = options.progress();
        }
        if bits & 6 == 6 {
            options = options.input_by_hand();
        }
        if bits & 8 != 0 {
            timeouts.idle = Some(Duration::from_secs(2));
            options = options.idle(Timeout::After(Duration::from_secs(2)));
        }
        if bits & 0x30 == 0x30 {
            options = options.task(TaskOptions::new());
        }
        *number += 1;
        let text = SECRET.to_owned() + &"x".repeat(size.into());
        let params = json!({"name": "t", "arguments": {"serial": *number, "text": text}});
        let made = client.call_method(method, &params, options, *now, out);
        match &made {
            Ok(call) => {
                self.serials.insert(*call, *number);
                self.progress.made(*call, bits & 1 != 0);
                ours.time.made(*call, &timeouts, *now);
            }
            Err(error) => unchanged(before, (client, out), error)?,
        }
        ours.made(made)
    }

    /// Checks that the cancellation of an unsent call withdraws it, even if the peer does not read. After forged
    /// messages the check is skipped: a response to an unsent call may have created further messages, or a task.
    fn check_withdrawn(
        &self,
        call: CallId,
        cancellation: Cancellation,
        (unsent, taken_back): (usize, usize),
    ) -> Result<(), Broken> {
        let is_known = |serial| self.left.contains(serial) || self.in_batches.contains(serial);
        let has_left = self.serials.get(&call).is_none_or(is_known);
        let is_wrong = match cancellation {
            Cancellation::Withdrawn => taken_back != unsent.min(1) && !self.is_deceived,
            Cancellation::Notified => 0 < unsent && !has_left && !self.is_deceived,
            _ => false,
        };
        if is_wrong {
            let what = format!("{call} is {cancellation:?}, {taken_back} of {unsent} taken back");
            return Err(Broken::new(Promise::NothingWaits, what));
        }
        Ok(())
    }

    /// Checks that the server is notified of the cancellation of a call that it has received, unless there is no
    /// space for the notification.
    fn check_cancellation_notified(
        &self,
        call: CallId,
        cancellation: Cancellation,
    ) -> Result<(), Broken> {
        let Some(id) = self.asked.iter().rev().find(|(_, asked)| **asked == call) else {
            return Ok(());
        };
        let cancels = format!(r#""requestId":{}"#, id.0);
        let out = String::from_utf8_lossy(self.client_out.unsent());
        let is_sent = out.contains(&cancels) || out.contains(r#""tasks/cancel""#);
        let is_over = self.client.phase() == Phase::Closed;
        if cancellation != Cancellation::Notified || is_sent || is_over || self.is_deceived {
            return Ok(());
        }
        Err(Broken::new(
            Promise::NothingWaits,
            format!("{call} is cancelled without a notification"),
        ))
    }

    /// Responds to a server's request for input.
    fn give(&mut self, which: u16, answer: u8) -> Result<(), Broken> {
        let Self { client, client_out: out, ours, .. } = self;
        let Some(id) = ours.a_request(which) else { return Ok(()) };
        let before = (client.in_flight().counts(), out.len());
        let content = json!({"secret": SECRET});
        let roots = json!([{"uri": format!("file:///{}", "x".repeat(1500))}]);
        let given = match answer % 8 {
            0 => client.reject(id, ErrorCode::INTERNAL_ERROR, "no", out),
            1 => client.respond(id, &json!({"wrong": 1}), out),
            2 => {
                let given = json!({"action": "accept", "content": content, "roots": roots});
                client.respond(id, &given, out)
            }
            _ => client.respond(id, &json!({"action": "decline", "roots": []}), out),
        };
        match given {
            Ok(()) => ours.monitor.answered(id),
            Err(error) => unchanged(before, (client, out), error),
        }
    }

    /// Receives a frame.
    pub(super) fn at_client(&mut self, frame: Frame<'_>) -> Result<(), Broken> {
        let bytes = frame.bytes();
        self.ours.monitor.delivered(bytes);
        self.note_wait(bytes);
        let answered = self.answered_by(bytes);
        let ping = self.ours.silence.pending().filter(|ping| self.reference.client_waits(*ping));
        let expected = self.reference.before_client(&frame, &self.client, &self.client_out)?;
        let meter = WorkMeter::start();
        let event = self.client.receive(frame, self.now, &mut self.client_out);
        meter.check(bytes.len())?;
        let Self { reference, client, client_out, .. } = self;
        reference.after_client(&expected, event.as_ref(), client, client_out)?;
        let has_pong = ping.is_some_and(|ping| !reference.client_waits(ping));
        self.ours.silence.received(bytes, has_pong, self.now);
        if let Some(ClientEvent::Request(request)) = &event {
            self.ours.routes.received(bytes, request.id);
        }
        if let Some(event) = event {
            let is_cancelled = matches!(event, ClientEvent::Cancelled(_));
            self.client_event(&event)?;
            if is_cancelled && is_cancellation(bytes) {
                self.ours.monitor.cancelled_by(bytes);
            }
        }
        // At the end of the connection, the outcomes follow later.
        let is_over = self.client.poll_timeout().is_some_and(|due| due <= self.now);
        let goes_on = |call: &CallId| self.ours.monitor.calls().any(|open| open == *call);
        if let Some(call) = answered.filter(|call| !is_over && goes_on(call)) {
            let what = format!("{call} goes on although an error has come for it");
            return Err(Broken::new(Promise::OneOutcome, what));
        }
        self.adopt()
    }

    /// Notes that a message may make a call wait for something else than its response.
    fn note_wait(&mut self, message: &[u8]) {
        let text = String::from_utf8_lossy(message);
        let asking = ["elicitation/create", "sampling/createMessage", "input_required"];
        if asking.iter().any(|asks| text.contains(asks)) {
            self.ours.time.asks_a_person();
        }
        if text.contains(&ErrorCode::UNSUPPORTED_PROTOCOL_VERSION.get().to_string()) {
            // Calls may be sent again in another revision, whichever they are.
            self.ours.time.all_change();
        }
        let Ok(message) = Raw::new(&text) else { return };
        let id = message.get("id").and_then(|id| id.parse::<u64>().ok());
        let Some(call) = id.and_then(|id| self.asked.get(&id)) else { return };
        let is_final = message.get("result").is_some_and(|result| {
            let kind = result.get("resultType");
            result.get("task").is_none() && kind.is_none_or(|kind| kind.as_json() == "\"complete\"")
        });
        if !is_final {
            self.ours.time.changed(*call);
            self.progress.begins_again(*call);
        }
    }

    /// Returns the pending call that a message must end: the first response to its id, with an error of the server.
    fn answered_by(&mut self, message: &[u8]) -> Option<CallId> {
        let message = Raw::new(std::str::from_utf8(message).ok()?).ok()?;
        if message.get("method").is_some() {
            return None;
        }
        let call = self.asked.remove(&message.get("id")?.parse::<u64>().ok()?)?;
        let code: i64 = message.get("error")?.get("code")?.parse().ok()?;
        let is_clear = code != ErrorCode::UNSUPPORTED_PROTOCOL_VERSION.get() && !self.is_deceived;
        let mut open = self.ours.monitor.calls();
        (is_clear && open.any(|open| open == call)).then_some(call)
    }

    pub(super) fn client_is_due(&mut self) -> Result<bool, Broken> {
        let before = self.ours.silence.before(&self.client, &self.client_out);
        let event = self.client.handle_timeout(self.now, &mut self.client_out);
        let missed = match &event {
            Some(ClientEvent::Unresponsive { missed, .. }) => Some(*missed),
            _ => None,
        };
        self.ours.silence.handled(before, missed, &self.client_out, self.now)?;
        let Some(event) = event else {
            self.compare_written()?;
            self.adopt()?;
            return Ok(false);
        };
        self.reference.client_event(&event, &self.client, &self.client_out)?;
        self.client_event(&event)?;
        self.adopt()?;
        Ok(true)
    }

    fn client_event(&mut self, event: &ClientEvent<'_>) -> Result<(), Broken> {
        if let ClientEvent::Subscription(update) = event
            && !self.ours.known.contains(&update.call)
        {
            // The machine made this subscription by itself, and it ended before `adopt` could register it.
            self.ours.made::<()>(Ok(update.call))?;
            self.changes.began(update.call, false);
        }
        self.note(true, event)?;
        match event {
            ClientEvent::CallEnded(ended) => {
                self.check_outcome(ended)?;
                self.ours.time.ended(ended.call, &ended.outcome, self.now)?;
            }
            ClientEvent::Progress(update) => {
                let serial = self.serials.get(&update.call).copied();
                let value = update.progress.as_f64();
                self.progress.updated(update.call, value, serial, self.is_deceived)?;
                self.ours.time.renewed(update.call, self.now);
            }
            ClientEvent::Subscription(update) => self.changes.event(update.call, &update.news)?,
            ClientEvent::Page(page) => self.ours.time.renewed(page.call, self.now),
            ClientEvent::ListRestarted(list) => self.ours.time.renewed(list.call, self.now),
            ClientEvent::Task(update) => self.ours.time.changed(update.call),
            // The message is not read, for example because it is too long.
            ClientEvent::Violation(_) => self.changes.is_unreliable = true,
            ClientEvent::Closed { cause: Cause::Unresponsive, .. } => {
                self.ours.silence.unresponsive(self.now)?;
            }
            _ => {}
        }
        self.ours.event::<mcp_sansio::Client>(event)
    }

    /// Checks that an outcome belongs to its call. At the end of the connection, it must reflect whether the call was
    /// sent.
    fn check_outcome(&self, ended: &CallEnded<'_>) -> Result<(), Broken> {
        let Some(serial) = self.serials.get(&ended.call).filter(|_| !self.is_deceived) else {
            return Ok(());
        };
        let has_left = self.left.contains(serial);
        let is_wrong = match &ended.outcome {
            Outcome::Result(result) => {
                let answered = result.get("serial").and_then(|serial| serial.parse::<u32>().ok());
                answered.is_some_and(|answered| answered != *serial)
            }
            Outcome::NotSent => has_left && !ended.needed_input,
            Outcome::Closed(_) => !has_left,
            _ => false,
        };
        if is_wrong {
            return Err(Broken::new(Promise::OneOutcome, format!("not its own: {ended:?}")));
        }
        Ok(())
    }

    /// Registers the subscriptions that the machine has made by itself.
    fn adopt(&mut self) -> Result<(), Broken> {
        let Self { client, ours, changes, .. } = self;
        let new = client.in_flight().subscriptions().filter(|call| !ours.known.contains(call));
        new.collect::<Vec<_>>().into_iter().try_for_each(|call| {
            changes.began(call, false);
            ours.made::<()>(Ok(call))
        })
    }
}

/// Returns the number of occurrences of a text among the unsent messages.
fn copies(out: &Outbox, mark: Option<&str>) -> usize {
    let Some(mark) = mark else { return 0 };
    out.unsent().windows(mark.len()).filter(|window| *window == mark.as_bytes()).count()
}

/// A call that is being sent.
pub(super) struct Leaving {
    pub(super) id: u64,
    /// The serial number in the call.
    pub(super) serial: u32,
    /// Whether the call need not wait for the handshake, because it is a ping.
    pub(super) may_overtake: bool,
}

/// Parses a message as a call of the application.
pub(super) fn leaving(message: &[u8]) -> Option<Leaving> {
    let message = Raw::new(std::str::from_utf8(message).ok()?).ok()?;
    let may_overtake = message.get("method")?.as_json() == "\"ping\"";
    let serial = message.get("params")?.get("arguments")?.get("serial")?.parse().ok()?;
    let id = message.get("id")?.parse().ok()?;
    Some(Leaving { id, serial, may_overtake })
}

pub(super) fn is_cancellation(message: &[u8]) -> bool {
    let text = String::from_utf8_lossy(message);
    text.contains("\"notifications/cancelled\"")
}
