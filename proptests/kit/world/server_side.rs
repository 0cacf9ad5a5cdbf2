//! The application of the server.

use std::time::Duration;

use mcp_sansio::model::{ElicitParams, InputRequired, ObjectSchema};
use mcp_sansio::progress::Progress;
use mcp_sansio::request::TaskMode;
use mcp_sansio::task::{NewTask, TaskEvent, TaskKey};
use mcp_sansio::testing::{Broken, Promise, WorkMeter};
use mcp_sansio::{
    CallOptions, Cause, ClientRequest, Era, ErrorCode, Frame, IncomingId, Limits, Outbox, Phase,
    Request, RespondError, Route, ServerEvent,
};
use serde_json::{Value, json};

use super::change_model::change;
use super::client_side::is_cancellation;
use super::progress_model::Report;
use super::setup::filter;
use super::{SECRET, Step, World, unchanged};

impl World {
    /// Performs the server's operation of a step.
    pub(super) fn by_server(&mut self, step: &Step) -> Result<(), Broken> {
        let Self { server, server_out: out, theirs, now, .. } = self;
        let (now, before) = (*now, (server.in_flight().counts(), out.len()));
        let failed = match *step {
            Step::CallByServer { method } => {
                let made = server.call_method(method, &(), CallOptions::new(), now, out);
                let failed = made.as_ref().err().map(|error| format!("{error:?}"));
                if let Ok(call) = made {
                    theirs.time.made(call, &self.setup.server.connection.timeouts, now);
                }
                theirs.made(made)?;
                failed
            }
            Step::CancelByServer { which } => {
                let Some(call) = theirs.a_call(which) else { return Ok(()) };
                match server.cancel(call, None, out) {
                    Ok(_) => {
                        theirs.monitor.cancelled(call)?;
                        theirs.time.given_up(call);
                        None
                    }
                    Err(error) => Some(format!("{error:?}")),
                }
            }
            Step::Answer { which, answer } => return self.answer(which, answer),
            Step::Require { which, what } => return self.require(which, what),
            Step::Grant { which, filter: what } => {
                let Some(id) = theirs.a_request(which) else { return Ok(()) };
                let some = filter(what);
                let some = (what & 4 == 0).then_some(&some);
                self.reference.grants(some);
                let granted = server.grant(id, some, out);
                granted.err().map(|error| format!("{error:?}"))
            }
            Step::Report { which, progress } => return self.report(which, progress),
            Step::Tell { what, about } => {
                let about = about.and_then(|which| theirs.a_request(which));
                let names = [
                    "tools/list_changed",
                    "prompts/list_changed",
                    "resources/updated",
                    "resources/updated",
                    "message",
                    "x",
                ];
                let name = format!("notifications/{}", names[usize::from(what) % names.len()]);
                let params =
                    json!({"uri": format!("a:/{}", what % 3), "level": "error", "data": SECRET});
                let written = out.written();
                let delivered = server.notify_method(&name, &params, about, out);
                let route = about.map(Route::Exchange);
                if route.is_some() && out.routes_after(written).any(|taken| Some(taken) != route) {
                    return Err(Broken::new(Promise::Order, format!("{name} is not on {route:?}")));
                }
                if let (Ok(delivery), Some(change)) = (delivered, change(&name, Some(&params))) {
                    self.changes.announced(change, about.is_none(), delivery);
                }
                delivered.err().map(|error| format!("{error:?}"))
            }
            _ => None,
        };
        failed.map_or(Ok(()), |error| unchanged(before, (server, out), error))
    }

    fn report(&mut self, which: u16, value: u8) -> Result<(), Broken> {
        let Self { server, server_out: out, theirs, now, .. } = self;
        let Some(id) = theirs.a_request(which) else { return Ok(()) };
        let before = (server.in_flight().counts(), out.len());
        let result = match server.progress(id, Progress::new(value), *now, out) {
            Ok(result) => result,
            Err(error) => return unchanged(before, (server, out), error),
        };
        let params = |request: &Request<'_>| request.params.as_ref()?.parse::<Value>().ok();
        let params = self.requests.get(&id).and_then(params);
        let serial = params.as_ref().and_then(|params| params["arguments"]["serial"].as_u64());
        let report = Report {
            id,
            value,
            serial: serial.map(|serial| serial as u32),
            is_wanted: params.map(|params| !params["_meta"]["progressToken"].is_null()),
            interval: self.setup.server.connection.progress_interval,
        };
        self.progress.reported(report, result, *now)
    }

    fn answer(&mut self, which: u16, answer: u8) -> Result<(), Broken> {
        let Self { server, server_out: out, theirs, lent, requests, .. } = self;
        let Some(id) = theirs.a_request(which).filter(|id| !lent.contains(id)) else {
            return Ok(());
        };
        let before = (server.in_flight().counts(), out.len());
        // The response repeats the serial number of the call.
        let params = requests.get(&id).and_then(|request| request.params.as_ref());
        let serial = params.and_then(|params| params.get("arguments")?.get("serial")?.parse().ok());
        let serial: Option<u32> = serial;
        let answered = if answer.is_multiple_of(4) {
            server.reject(id, ErrorCode::INTERNAL_ERROR, "no", out)
        } else {
            let text = SECRET.to_owned() + &"z".repeat(usize::from(answer) * 3);
            let result = json!({
                "content": [], "contents": [], "messages": [], "tools": [],
                "text": text, "serial": serial,
            });
            let answered = server.respond(id, &result, out);
            let mark = serial.map(|serial| format!("\"serial\":{serial}"));
            // A response to an element of a batch waits for the others.
            let waits = self.reference.is_in_batch(id);
            if answered.is_ok() && !waits && mark.is_some_and(|mark| !has(out, &mark)) {
                return Err(Broken::new(
                    Promise::OneAnswer,
                    format!("{id} is not answered at all"),
                ));
            }
            answered
        };
        match answered {
            Ok(()) => {
                theirs.monitor.answered(id)?;
                let limits = &self.setup.server.connection.limits;
                let has_room = limits.outbox_bytes == Limits::default().outbox_bytes;
                self.progress.answered(id, Some(&**out).filter(|_| has_room))
            }
            Err(error) => unchanged(before, (server, out), error),
        }
    }

    fn require(&mut self, which: u16, what: u8) -> Result<(), Broken> {
        let Self { server, server_out: out, theirs, requests, lent, now, .. } = self;
        let Some(id) = theirs.a_request(which).filter(|id| !lent.contains(id)) else {
            return Ok(());
        };
        let Some(request) = requests.get(&id) else { return Ok(()) };
        let before = (server.in_flight().counts(), out.len());
        let comes_again = request.context.era() != Era::Modern;
        match server.require_input(request, &required(what), *now, out) {
            Ok(()) if comes_again => theirs.monitor.answered_for_now(id),
            Ok(()) => theirs.monitor.answered(id),
            Err(error) => unchanged(before, (server, out), error),
        }
    }

    /// Performs the operation of a step on tasks.
    pub(super) fn by_tasks(&mut self, step: &Step) -> Result<(), Broken> {
        let Self { server, server_out: out, theirs, tasks, lent, requests, begun, now, .. } = self;
        match *step {
            Step::BeginTask { which, ttl } => {
                let Some(id) = theirs.a_request(which).filter(|id| !lent.contains(id)) else {
                    return Ok(());
                };
                if !requests
                    .get(&id)
                    .is_some_and(|request| matches!(request.kind, ClientRequest::CallTool(_)))
                {
                    return Ok(());
                }
                let was_open = theirs.monitor.requests().any(|open| open == id);
                let mode = server.task_mode(id, &self.setup.tasks, out);
                if let (Ok(Some(TaskMode::Task)), true) = (mode, was_open) {
                    *begun += 1;
                    let ttl = ttl.map(|ttl| Duration::from_millis(ttl.into()));
                    let task = NewTask::new(format!("task-{begun}")).ttl(ttl);
                    _ = server.tasks(tasks).begin(id, task, *now, out);
                }
            }
            Step::Work { which, what } => {
                let keys: Vec<TaskKey> = tasks.iter().map(|(key, _)| key).collect();
                let Some(key) = super::side::pick(&keys, which) else { return Ok(()) };
                let result = json!({"content": [], "text": SECRET});
                // `oracles::tasks` checks that a final task does not change.
                _ = match what % 6 {
                    0 | 1 => tasks.complete(key, &result, *now),
                    2 => tasks.fail(key, ErrorCode::new(-7), "broken", *now),
                    3 => tasks.require_input(key, &required(what | 2), *now),
                    4 => tasks.set_message(key, Some("going on"), *now),
                    _ => tasks.cancel(key, *now),
                };
            }
            _ => {}
        }
        self.server.tasks(&mut self.tasks).settle(self.now, &mut self.server_out);
        self.catch_up()
    }

    /// Registers requests that the machine has responded to by itself: for its tasks, or because they must not become
    /// tasks.
    fn catch_up(&mut self) -> Result<(), Broken> {
        let Self { server, server_out: out, theirs, lent, .. } = self;
        let open: Vec<IncomingId> = server.in_flight().requests().collect();
        let known = theirs.monitor.requests().chain(theirs.monitor.to_come_again());
        let over: Vec<IncomingId> = known.filter(|id| !open.contains(id)).collect();
        for id in over {
            // For other ended requests, the event is still due.
            match server.reject(id, ErrorCode::INTERNAL_ERROR, "", out) {
                Err(RespondError::Answered) => {
                    lent.remove(&id);
                    theirs.monitor.answered(id)?;
                }
                Ok(()) => {
                    return Err(Broken::new(Promise::OneAnswer, format!("{id} is answered twice")));
                }
                Err(_) => {}
            }
        }
        Ok(())
    }

    /// Receives a frame.
    pub(super) fn at_server(&mut self, frame: Frame<'_>) -> Result<(), Broken> {
        let bytes = frame.bytes();
        self.theirs.monitor.delivered(bytes);
        if let Ok(message) = serde_json::from_slice(bytes) {
            self.progress.delivered(&message);
        }
        let is_draining = self.server.phase() == Phase::Draining;
        let ping = self.theirs.silence.pending().filter(|ping| self.reference.server_waits(*ping));
        let expected = self.reference.before_server(&frame, &self.server, &self.server_out)?;
        let meter = WorkMeter::start();
        let event = self.server.receive(frame, self.now, &mut self.server_out);
        meter.check(bytes.len())?;
        let Self { reference, server, server_out, .. } = self;
        reference.after_server(&expected, event.as_ref(), server, server_out)?;
        let has_pong = ping.is_some_and(|ping| !reference.server_waits(ping));
        self.theirs.silence.received(bytes, has_pong, self.now);
        if let Some(ServerEvent::Request(request)) = &event
            && is_draining
            && !self.theirs.monitor.to_come_again().any(|id| id == request.id)
        {
            let what = format!("a request while the connection drains: {request:?}");
            return Err(Broken::new(Promise::OneAnswer, what));
        }
        match &event {
            Some(ServerEvent::Request(request)) => self.theirs.routes.received(bytes, request.id),
            Some(ServerEvent::Subscribed(open)) => self.theirs.routes.received(bytes, open.id),
            _ => {}
        }
        if let Some(event) = event {
            let is_cancelled = matches!(event, ServerEvent::Cancelled(_));
            self.server_event(event)?;
            if is_cancelled && is_cancellation(bytes) {
                self.theirs.monitor.cancelled_by(bytes);
            }
        }
        Ok(())
    }

    pub(super) fn server_is_due(&mut self) -> Result<bool, Broken> {
        if let Some(TaskEvent::Expired { .. }) = self.tasks.handle_timeout(self.now) {
            return Ok(true);
        }
        let before = self.theirs.silence.before(&self.server, &self.server_out);
        let event = self.server.handle_timeout(self.now, &mut self.server_out);
        let missed = match &event {
            Some(ServerEvent::Unresponsive { missed, .. }) => Some(*missed),
            _ => None,
        };
        self.theirs.silence.handled(before, missed, &self.server_out, self.now)?;
        let Some(event) = event else {
            self.compare_written()?;
            return Ok(false);
        };
        self.reference.server_event(&event, &self.server, &self.server_out)?;
        self.server_event(event)?;
        Ok(true)
    }

    fn server_event(&mut self, event: ServerEvent<'_>) -> Result<(), Broken> {
        self.note(false, &event)?;
        self.theirs.event::<mcp_sansio::Server>(&event)?;
        match event {
            ServerEvent::Request(request) => self.serve(request.into_owned()),
            ServerEvent::TaskAnswer(answer) => {
                _ = self.tasks.answered(&answer, self.now);
                Ok(())
            }
            ServerEvent::Cancelled(cancelled) => {
                self.lent.remove(&cancelled.id);
                Ok(())
            }
            ServerEvent::CallEnded(ended) => {
                self.theirs.time.ended(ended.call, &ended.outcome, self.now)
            }
            ServerEvent::Violation(_) => {
                self.changes.is_unreliable = true;
                Ok(())
            }
            ServerEvent::Progress(update) => {
                self.theirs.time.renewed(update.call, self.now);
                Ok(())
            }
            ServerEvent::Closed { cause, .. } => {
                if cause == Cause::Unresponsive {
                    self.theirs.silence.unresponsive(self.now)?;
                }
                self.tasks.disconnected(self.server.connection_number());
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Serves a request about a task immediately; later steps serve all others.
    fn serve(&mut self, request: Request<'static>) -> Result<(), Broken> {
        let Self { server, server_out: out, tasks, lent, requests, now, .. } = self;
        let id = request.id;
        if let ClientRequest::Task(call) = &request.kind {
            lent.insert(id);
            if server.tasks(tasks).serve(id, call, *now, out).is_err() {
                // There was no space for the response.
                lent.remove(&id);
            }
            return self.catch_up();
        }
        if requests.len() == super::REMEMBERED {
            requests.pop_first();
        }
        if requests.insert(id, request).is_some_and(|before| before.id != id) {
            return Err(Broken::new(Promise::OneAnswer, format!("{id} names two requests")));
        }
        Ok(())
    }
}

fn has(out: &Outbox, mark: &str) -> bool {
    out.unsent().windows(mark.len()).any(|window| window == mark.as_bytes())
}

fn required(what: u8) -> InputRequired<'static> {
    let mut required = InputRequired::new();
    if what & 1 != 0 {
        required = required.state(SECRET);
    }
    if what & 2 != 0 {
        required = required.roots("a");
    }
    if what & 4 != 0 {
        required = required.elicit("b", ElicitParams::form("m", ObjectSchema::default()));
    }
    if what & 24 == 24 {
        required = required.elicit("c", ElicitParams::url("m", "https://x/", "e"));
    }
    required
}
