//! The application of the client.

use mcp_sansio::event::SubscriptionNews;
use mcp_sansio::http::Arrived;
use mcp_sansio::json::Raw;
use mcp_sansio::model::{CallToolParams, ElicitResult, SubscriptionFilter, method};
use mcp_sansio::testing::WorkMeter;
use mcp_sansio::{CallId, CallOptions, Cause, ClientEvent, ConnectionNumber, Frames, Phase};
use serde_json::json;

use super::{HttpWorld, Step};

impl HttpWorld {
    pub(super) fn connect(&mut self) -> Result<(), String> {
        self.client.connect(self.now, &mut self.transport).map_err(|error| error.to_string())?;
        self.act()
    }

    pub(super) fn by_client(&mut self, step: Step) -> Result<(), String> {
        let (now, transport) = (self.now, &mut self.transport);
        match step {
            Step::Call { progress } => {
                let options = CallOptions::new();
                let options = if progress { options.progress() } else { options };
                let params = CallToolParams::new("tool");
                let made = self.client.call::<method::CallTool>(&params, options, now, transport);
                self.calls.extend(made.ok().map(|call| (call, false)));
            }
            Step::List => {
                let params = Default::default();
                let made = self.client.call::<method::ListTools>(
                    &params,
                    CallOptions::new(),
                    now,
                    transport,
                );
                self.calls.extend(made.ok().map(|call| (call, false)));
            }
            Step::Subscribe => {
                let mut filter = SubscriptionFilter::default();
                filter.tools_list_changed = Some(true);
                let made = self.client.subscribe(&filter, now, transport);
                self.calls.extend(made.ok().map(|call| (call, false)));
            }
            Step::Cancel(which) => {
                let pending: Vec<CallId> = self.client.in_flight().calls().collect();
                let Some(index) = which.checked_rem(pending.len() as u64) else { return Ok(()) };
                let call = pending[index as usize];
                if self.client.cancel(call, Some("why"), transport).is_ok() {
                    self.note(format_args!("cancelled {call}"));
                    self.ended(call)?;
                }
            }
            Step::Give(which) => {
                let Some(index) = which.checked_rem(self.asked.len() as u64) else { return Ok(()) };
                let id = self.asked.remove(index as usize);
                let answer = ElicitResult::accept(Raw::from_serialize(&json!({})).unwrap());
                // The request may already be over.
                _ = self.client.respond(id, &answer, transport);
            }
            _ => {}
        }
        Ok(())
    }

    /// Records the outcome of a call, which must be its only one.
    pub(super) fn ended(&mut self, call: CallId) -> Result<(), String> {
        match self.calls.get_mut(&call) {
            Some(ended) if !*ended => *ended = true,
            Some(_) => return Err(format!("outcome: {call} has ended twice")),
            None => return Err(format!("outcome: {call} was never made")),
        }
        Ok(())
    }

    pub(super) fn client_saw(&mut self, event: Option<ClientEvent<'static>>) -> Result<(), String> {
        let Some(event) = event else { return Ok(()) };
        self.transport.watch(&event);
        self.note_value(format_args!("client: {event:?}"), &event);
        match event {
            ClientEvent::CallEnded(ended) => self.ended(ended.call),
            ClientEvent::Subscription(update) => match update.news {
                SubscriptionNews::Ended(_) => self.ended(update.call),
                // The client has resubscribed by itself in the session that replaces the lost one.
                SubscriptionNews::Granted { .. } if update.call.connection().get() != 0 => {
                    self.calls.entry(update.call).or_insert(false);
                    Ok(())
                }
                _ => Ok(()),
            },
            ClientEvent::Request(request) => {
                self.asked.push(request.id);
                Ok(())
            }
            ClientEvent::Cancelled(cancelled) => {
                self.asked.retain(|id| *id != cancelled.id);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Passes the received parts of an exchange to the machine.
    pub(super) fn arrived(arrived: Arrived<'_>, world: &mut Self) -> Result<(), String> {
        let now = world.now;
        match arrived {
            Arrived::Messages { text, received } => {
                let limits = world.http.limits().clone();
                for frame in Frames::of(text, &limits) {
                    let (meter, length) = (WorkMeter::start(), frame.bytes().len());
                    let event = world.client.receive(frame, received, &mut world.transport);
                    meter.check(length).map_err(|broken| broken.to_string())?;
                    world.client_saw(event.map(ClientEvent::into_owned))?;
                }
            }
            Arrived::Ended { call, end } => {
                let event = world.client.exchange_ended(call, end, now, &mut world.transport);
                world.client_saw(event.map(ClientEvent::into_owned))?;
            }
            Arrived::SessionLost => world.renew()?,
            Arrived::ConnectionLost => world.client.disconnected(Cause::EndOfInput, now),
            other => world.note_value(format_args!("client: {other:?}"), &other),
        }
        Ok(())
    }

    /// Opens a new session in place of the lost one.
    fn renew(&mut self) -> Result<(), String> {
        self.note(format_args!("session lost"));
        let was_connected = self.client.basis().is_some();
        self.client.disconnected(Cause::SessionLost, self.now);
        while let Some(event) = self.client.handle_timeout(self.now, &mut self.transport) {
            if !(was_connected && matches!(event, ClientEvent::Closed { .. })) {
                self.client_saw(Some(event))?;
            }
        }
        self.asked.clear();
        if !was_connected {
            return Ok(());
        }
        let number = self.client.connection_number().get() + 1;
        self.client = self.client.reconnect(ConnectionNumber::new(number));
        self.transport.renew();
        self.client.connect(self.now, &mut self.transport).map_err(|error| error.to_string())
    }

    /// Handles the due timeouts of both sides.
    pub(super) fn elapse(&mut self) -> Result<(), String> {
        while let Some(event) = self.client.handle_timeout(self.now, &mut self.transport) {
            self.client_saw(Some(event))?;
        }
        for _ in 0..100_000 {
            match self.http.handle_timeout(self.now) {
                Some(event) => self.server_saw(Some(event))?,
                None => return Ok(()),
            }
        }
        Err("endless: time never passes".into())
    }

    /// Ends everything, and checks that nothing is left.
    pub(super) fn finish(&mut self) -> Result<(), String> {
        self.client.shut_down(std::time::Duration::ZERO, self.now);
        self.elapse()?;
        self.settle()?;
        if self.client.phase() != Phase::Closed {
            return Err("end: the client goes on".into());
        }
        for (number, request) in std::mem::take(&mut self.open) {
            self.http.with(number, self.now, |server, out| {
                // The request may already be over.
                _ = server.respond(request.id, &json!({ "content": [] }), out);
            });
        }
        for _ in 0..4 {
            self.now = self.now + std::time::Duration::from_secs(3_600);
            self.elapse()?;
            self.settle()?;
        }
        if let Some((call, _)) = self.calls.iter().find(|(_, ended)| !**ended) {
            return Err(format!("outcome: {call} has none"));
        }
        if !self.carried.is_empty() || self.transport.exchanges() != 0 {
            let exchanges = self.transport.exchanges();
            return Err(format!("end: {} carried, {exchanges} known", self.carried.len()));
        }
        if self.http.connections().next().is_some() || self.http.sessions() != 0 {
            let connections = self.http.connections().count();
            return Err(format!(
                "end: {connections} connections, {} sessions",
                self.http.sessions()
            ));
        }
        Ok(())
    }
}
