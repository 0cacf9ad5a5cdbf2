//! The execution of the actions on the real machines.

use mcp_sansio::call::{Cancellation, TaskOptions, Timeout};
use mcp_sansio::error::ViolationKind;
use mcp_sansio::event::CancelCause;
use mcp_sansio::progress::Progress;
use mcp_sansio::task::NewTask;
use mcp_sansio::testing::{Broken, Promise};
use mcp_sansio::{
    CallOptions, Cause, Client, ClientEvent, ClientRequest, Phase, Server, ServerEvent,
};
use serde_json::json;

use super::{DRAIN, GRACE, IDLE, POLL, Packet, Request, TICK, TOTAL, names};

impl Request {
    pub(super) fn happen(&mut self, action: &str) -> Result<(), Broken> {
        match action {
            "call" | "cancel" | "cancel task" => self.by_client(action)?,
            "respond" | "report" | "begin task" | "complete task" => self.by_server(action)?,
            "client: close" => {
                self.client.disconnected(Cause::ReadFailed, self.now);
                self.hang_up(true);
            }
            "server: close" => {
                self.server.disconnected(Cause::ReadFailed, self.now);
                self.hang_up(false);
            }
            "client: hang up" => self.hang_up(true),
            "server: hang up" => self.hang_up(false),
            "client: shut down" => self.client.shut_down(GRACE * TICK, self.now),
            "server: shut down" => self.server.shut_down(GRACE * TICK, self.now),
            "send up" => {
                for message in self.client_out.messages() {
                    self.ours.sent(message)?;
                    self.up.push_back(Packet::Message(message.to_vec()));
                }
            }
            "send down" => {
                for message in self.server_out.messages() {
                    self.theirs.sent(message)?;
                    self.down.push_back(Packet::Message(message.to_vec()));
                }
            }
            "deliver up" => self.deliver_up()?,
            "deliver down" => self.deliver_down()?,
            "client: settle" => self.settle_client()?,
            "server: settle" => self.settle_server()?,
            _ => {
                self.now = self.now + TICK;
                if self.call.is_some() {
                    self.call_ticks += 1;
                    self.quiet_ticks += 1;
                }
            }
        }
        self.server.tasks(&mut self.tasks).settle(self.now, &mut self.server_out);
        self.answered_by_machine()?;
        self.ours.check(&self.client, self.now)?;
        self.theirs.check(&self.server, self.now)
    }

    fn hang_up(&mut self, client: bool) {
        let (hung, link) = if client {
            (&mut self.client_hung, &mut self.up)
        } else {
            (&mut self.server_hung, &mut self.down)
        };
        if !*hung {
            *hung = true;
            link.push_back(Packet::End);
        }
    }

    fn by_client(&mut self, action: &str) -> Result<(), Broken> {
        let Self { client, client_out: out, ours, now, .. } = self;
        let Some(call) = self.call else {
            let options = CallOptions::new()
                .progress()
                .idle(Timeout::After(IDLE * TICK))
                .total(Timeout::After(TOTAL * TICK));
            let options = match self.variant.is_task {
                true => options.task(TaskOptions::new().poll_interval(POLL * TICK)),
                false => options,
            };
            let call = client.call_method("tools/call", &json!({"name": "t"}), options, *now, out);
            let call = call.map_err(|error| broken(format!("no call: {error}")))?;
            self.call = Some(call);
            return ours.called(call);
        };
        if action == "cancel task" {
            self.asked_to_cancel = true;
            let asked = client.cancel_task(call, *now, out);
            return asked.map_err(|error| broken(format!("the task is not cancelled: {error}")));
        }
        let cancelled = client.cancel(call, None, out);
        let cancelled = cancelled.map_err(|error| broken(format!("not cancelled: {error}")))?;
        ours.cancelled(call)?;
        self.outcome = Some("cancelled");
        // `cancel` takes no time, so the next `handle_timeout` starts the timer of a call that may become a task. A
        // driver calls it after every input.
        let starts = cancelled == Cancellation::Deferred && client.phase() == Phase::Ready;
        if starts && let Some(event) = client.handle_timeout(*now, out) {
            return Err(broken(format!("an event of a cancellation: {event:?}")));
        }
        Ok(())
    }

    fn by_server(&mut self, action: &str) -> Result<(), Broken> {
        let Self { server, server_out: out, theirs, tasks, now, .. } = self;
        let refused = |error: &dyn std::fmt::Display| broken(format!("{action}: {error}"));
        match (action, self.request, self.task) {
            ("respond", Some(id), _) => {
                server.respond(id, &json!({"content": []}), out).map_err(|it| refused(&it))?;
                self.state = "answered";
                theirs.answered(id)
            }
            ("report", Some(id), task) => {
                self.reports += 1;
                let progress = Progress::new(self.reports);
                let sent = match task {
                    Some(key) => server
                        .tasks(tasks)
                        .report_progress(key, progress, out)
                        .map_err(|it| refused(&it))?,
                    None => server.progress(id, progress, *now, out).map_err(|it| refused(&it))?,
                };
                if sent == mcp_sansio::progress::ProgressReport::Sent {
                    return Ok(());
                }
                Err(broken(format!("a report was not sent: {sent:?}")))
            }
            ("begin task", Some(id), _) => {
                let task = NewTask::new("task").ttl(None).poll_interval(POLL * TICK);
                let key = server.tasks(tasks).begin(id, task, *now, out);
                self.task = Some(key.map_err(|it| refused(&it))?);
                self.state = "answered";
                theirs.answered(id)
            }
            (_, _, Some(key)) => {
                let completed = tasks.complete(key, &json!({"content": []}), *now);
                completed.map_err(|it| refused(&it))
            }
            _ => Err(broken(format!("{action} without a request"))),
        }
    }

    fn deliver_up(&mut self) -> Result<(), Broken> {
        let Some(Packet::Message(message)) = self.up.pop_front() else {
            self.server.disconnected(Cause::EndOfInput, self.now);
            return Ok(());
        };
        let is_over = self.server.phase() == Phase::Closed;
        self.theirs.delivered(&message);
        let Some(event) = self.server.receive(&*message, self.now, &mut self.server_out) else {
            return Ok(());
        };
        if is_over {
            return Err(broken(format!("an event behind the end: {event:?}")));
        }
        let is_cancelled = matches!(event, ServerEvent::Cancelled(_));
        self.at_server(event)?;
        if is_cancelled {
            self.theirs.cancelled_by(&message);
        }
        Ok(())
    }

    fn deliver_down(&mut self) -> Result<(), Broken> {
        let Some(Packet::Message(message)) = self.down.pop_front() else {
            if self.client.phase() != Phase::Closed {
                self.client.disconnected(Cause::EndOfInput, self.now);
                self.hang_up(true);
            }
            return Ok(());
        };
        let is_over = self.client.phase() == Phase::Closed;
        self.ours.delivered(&message);
        let Some(event) = self.client.receive(&*message, self.now, &mut self.client_out) else {
            return Ok(());
        };
        if is_over {
            return Err(broken(format!("an event behind the end: {event:?}")));
        }
        let event = event.into_owned();
        self.at_client(&event)
    }

    fn settle_client(&mut self) -> Result<(), Broken> {
        while let Some(event) = self.client.handle_timeout(self.now, &mut self.client_out) {
            self.at_client(&event)?;
        }
        if self.ours.is_closed() && self.client_hung {
            self.client_out.messages().for_each(drop);
        }
        Ok(())
    }

    fn settle_server(&mut self) -> Result<(), Broken> {
        while let Some(event) = self.server.handle_timeout(self.now, &mut self.server_out) {
            self.at_server(event)?;
        }
        if self.theirs.is_closed() && self.server_hung {
            self.server_out.messages().for_each(drop);
        }
        Ok(())
    }

    fn at_client(&mut self, event: &ClientEvent<'_>) -> Result<(), Broken> {
        self.ours.event::<Client>(event)?;
        match event {
            ClientEvent::CallEnded(ended) => self.outcome = Some(names::of_outcome(&ended.outcome)),
            ClientEvent::Task(_) if self.outcome.is_some() => {
                return Err(broken(format!("news of a call behind its outcome: {event:?}")));
            }
            ClientEvent::Task(_) => self.is_followed = true,
            ClientEvent::Progress(_) if self.outcome.is_some() => {
                return Err(broken(format!("progress behind the outcome: {event:?}")));
            }
            ClientEvent::Progress(_) => self.quiet_ticks = 0,
            ClientEvent::Request(_) | ClientEvent::Violation(_) => {
                return Err(broken(format!("an event that the model does not have: {event:?}")));
            }
            _ => {}
        }
        Ok(())
    }

    fn at_server(&mut self, event: ServerEvent<'_>) -> Result<(), Broken> {
        self.theirs.event::<Server>(&event)?;
        match event {
            ServerEvent::Request(request) => {
                let id = request.id;
                if let ClientRequest::Task(call) = &request.kind {
                    let (tasks, out) = (&mut self.tasks, &mut self.server_out);
                    _ = self.server.tasks(tasks).serve(id, call, self.now, out);
                } else {
                    (self.request, self.state) = (Some(id), "processed");
                }
            }
            ServerEvent::Cancelled(cancelled) if self.request == Some(cancelled.id) => {
                let is_by_peer = cancelled.cause == CancelCause::Peer;
                self.state = if is_by_peer { "withdrawn" } else { "ended" };
            }
            ServerEvent::Closed { .. } => self.tasks.disconnected(self.server.connection_number()),
            // A request that arrives while the server shuts down gets an error at once.
            ServerEvent::Violation(violation)
                if violation.kind == ViolationKind::ShuttingDown && self.state == "none" =>
            {
                self.state = "answered";
            }
            // So does a request about a task.
            ServerEvent::Violation(violation) if violation.kind == ViolationKind::ShuttingDown => {}
            ServerEvent::Violation(_) => {
                return Err(broken(format!("an event that the model does not have: {event:?}")));
            }
            _ => {}
        }
        Ok(())
    }

    /// Registers the responses to requests about tasks.
    fn answered_by_machine(&mut self) -> Result<(), Broken> {
        let open: Vec<_> = self.server.in_flight().requests().collect();
        let over: Vec<_> = self.theirs.requests().filter(|id| !open.contains(id)).collect();
        let is_due = self.server.poll_timeout().is_some_and(|due| due <= self.now);
        for id in over.into_iter().filter(|id| !is_due || self.request != Some(*id)) {
            self.theirs.answered(id)?;
        }
        Ok(())
    }
}

fn broken(text: String) -> Broken {
    Broken::new(Promise::OneOutcome, text)
}

/// The grace of an end of input is shorter than that of a shutdown, as in the model.
const _: () = assert!(DRAIN < GRACE);
