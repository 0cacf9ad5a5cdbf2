//! A client of a server behind an MQTT broker, without any adapter.
//!
//! Lists the tools of the server, or calls one: prints its progress and its result. Ctrl-C cancels the call. The call fails
//! if the server or the broker is gone; the error says whether the server can have executed it.
//!
//! Usage: `cargo run -p mcp-sansio-tokio --example mqtt_client -- BROKER SERVER [TOOL [ARGUMENTS]]`, with the arguments as
//! JSON. See `mqtt_server.rs`. The variable `MCP_CLIENT` has the name of the client, by default `client-` and the number of
//! the process. A broker has one client of a name: another one ends the first.

#[path = "mqtt/link.rs"]
mod link;
#[path = "mqtt/topics.rs"]
mod topics;

use std::error::Error;
use std::pin::pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use mcp_sansio::json::Raw;
use mcp_sansio::model::{CallToolResult, ListToolsResult};
use mcp_sansio::{
    CallId, CallOptions, Cause, Client, ClientConfig, ClientEvent, ErrorCode, Frames, Framing,
    Instant, Outbox, Outcome, Phase,
};
use rumqttc::v5::mqttbytes::v5::Publish;
use serde::Serialize;

use self::link::{Announcement, Link, LinkError, LinkEvent, MESSAGE, Numbers, Order};
use self::topics::{Place, Presence, REQUESTS, RESPONSES, Session};

/// How long the client waits for the server to be present.
const PATIENCE: Duration = Duration::from_secs(10);

type Failure = Box<dyn Error>;

/// The params of the call.
#[derive(Serialize)]
struct ToolCall<'a> {
    name: &'a str,
    arguments: Raw<'a>,
}

/// The client, and its one call.
struct Caller {
    link: Link,
    place: Place,
    client: Client,
    outbox: Outbox,
    call: CallId,
    received: Numbers,
    sent: Numbers,
    /// The session of the server that the client has connected to.
    session: Session,
    outcome: Option<Result<(), String>>,
}

impl Caller {
    /// Runs until the call has its outcome.
    async fn run(&mut self, now: impl Fn() -> Instant) -> Result<(), Failure> {
        let mut interrupt = pin!(tokio::signal::ctrl_c());
        let mut is_interrupted = false;
        loop {
            while let Some(event) = self.client.handle_timeout(now(), &mut self.outbox) {
                self.handle(event);
            }
            while self.link.has_room()
                && let Some(message) = self.outbox.messages().next()
            {
                self.link.send(self.place.topic(REQUESTS), message, &mut self.sent)?;
            }
            if let Some(outcome) = self.outcome.take() {
                return Ok(outcome?);
            }
            let wait = self.client.poll_timeout().map_or(Duration::MAX, |due| due - now());
            tokio::select! {
                event = self.link.next() => self.on_link(event?, now())?,
                _ = interrupt.as_mut(), if !is_interrupted => {
                    is_interrupted = true;
                    self.cancel();
                }
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    fn on_link(&mut self, event: LinkEvent, now: Instant) -> Result<(), LinkError> {
        match event {
            LinkEvent::Received(message) => {
                self.receive(&message, now);
                self.link.acknowledge(&message)?;
            }
            LinkEvent::NotDelivered(topic) => {
                eprintln!("the broker has no receiver for {topic}");
                self.client.disconnected(Cause::WriteFailed, now);
            }
            LinkEvent::Sent => {}
        }
        Ok(())
    }

    fn receive(&mut self, message: &Publish, now: Instant) {
        if message.topic == topics::presence(&self.place.server) {
            // The server is gone, or has started again and does not know this connection. A late will of an earlier session
            // concerns no client.
            let is_over = match Presence::of(&message.payload) {
                Some(Presence::Present(session)) => session != self.session,
                Some(Presence::Gone(session)) => session == self.session,
                None => false,
            };
            if is_over {
                self.client.disconnected(Cause::EndOfInput, now);
            }
            return;
        }
        if Place::of(&message.topic).as_ref() != Some(&self.place) {
            return;
        }
        if message.payload.is_empty() {
            return self.client.disconnected(Cause::EndOfInput, now);
        }
        match self.received.check(message) {
            Order::Next => {}
            Order::Repeated => return,
            Order::AfterLoss => return self.client.disconnected(Cause::ReadFailed, now),
        }
        let limits = self.client.config().connection.limits.clone();
        for frame in Frames::of(&message.payload, &limits) {
            if let Some(event) = self.client.receive(frame, now, &mut self.outbox) {
                self.handle(event);
            }
        }
    }

    fn handle(&mut self, event: ClientEvent<'_>) {
        match event {
            ClientEvent::Progress(update) if update.call == self.call => {
                let total =
                    update.total.map_or(String::new(), |total| format!(" of {}", total.as_f64()));
                println!("{}{total}", update.progress.as_f64());
            }
            ClientEvent::CallEnded(ended) if ended.call == self.call => {
                self.outcome = Some(report(ended.outcome));
            }
            ClientEvent::Request(request) => {
                // The client declares no capability, so a server that keeps the rules sends no request but `ping`.
                let (code, text) = (ErrorCode::METHOD_NOT_FOUND, "method not found");
                _ = self.client.reject(request.id, code, text, &mut self.outbox);
            }
            ClientEvent::ConnectFailed(failure) => eprintln!("{failure}"),
            ClientEvent::Violation(violation) => eprintln!("{}", violation.kind),
            _ => {}
        }
    }

    fn cancel(&mut self) {
        // A call that has just ended has its outcome.
        if self.client.phase() != Phase::Closed
            && self.client.cancel(self.call, Some("interrupted"), &mut self.outbox).is_ok()
        {
            self.outcome = Some(Err("cancelled".into()));
        }
    }
}

/// Prints the result of a call. Returns the reason of a failure.
fn report(outcome: Outcome<'_>) -> Result<(), String> {
    let result = match outcome {
        Outcome::Result(result) => result,
        Outcome::PeerError(error) => return Err(error.to_string()),
        Outcome::Closed(cause) => return Err(format!("{cause}; it may have executed the call")),
        Outcome::NotSent => return Err("the connection ended before the call was sent".into()),
        // The others are shown by the names of their variants.
        other => return Err(format!("{other:?}")),
    };
    if let Ok(list) = result.parse::<ListToolsResult<'_>>() {
        list.tools.iter().for_each(|tool| println!("{}", tool.name));
        return Ok(());
    }
    let result: CallToolResult<'_> = result.parse().map_err(|error| error.to_string())?;
    let text = result.texts().collect::<Vec<_>>().join("\n");
    if result.failed() {
        return Err(text);
    }
    println!("{text}");
    Ok(())
}

/// Waits for the server to be present. Returns its session.
async fn present(link: &mut Link, topic: &str) -> Result<Session, LinkError> {
    loop {
        if let LinkEvent::Received(message) = link.next().await? {
            link.acknowledge(&message)?;
            if message.topic == topic
                && let Some(Presence::Present(session)) = Presence::of(&message.payload)
            {
                return Ok(session);
            }
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("mqtt_client: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (broker, server, tool) = match &*arguments {
        [broker, server] => (broker, server, None),
        [broker, server, tool] => (broker, server, Some((tool, "{}"))),
        [broker, server, tool, arguments] => (broker, server, Some((tool, &**arguments))),
        _ => return Err("usage: mqtt_client BROKER SERVER [TOOL [ARGUMENTS]]".into()),
    };
    let name = std::env::var("MCP_CLIENT");
    let name = name.unwrap_or_else(|_| format!("client-{}", std::process::id()));
    if !topics::is_name(server) || !topics::is_name(&name) {
        return Err("a name has letters, digits, '-', '_' and '.'".into());
    }
    let place = Place { server: server.clone(), client: name.clone(), session: Session::begin() };
    let presence = topics::presence(server);
    let will = Announcement::end(place.topic(REQUESTS));
    let wanted = vec![presence.clone(), place.topic(RESPONSES)];
    let mut link = Link::open(broker, &name, will, wanted).await?;
    let present = tokio::time::timeout(PATIENCE, present(&mut link, &presence)).await;
    let Ok(session) = present else { return Err(format!("there is no server {server}").into()) };

    let (begun, start) = (Instant::from(SystemTime::now()), std::time::Instant::now());
    let now = || begun + start.elapsed();
    let mut config = ClientConfig::new("mqtt_client", env!("CARGO_PKG_VERSION"));
    config.connection.limits.frame_bytes = MESSAGE;
    config.connection.limits.outbox_bytes = MESSAGE;
    let mut outbox = Outbox::new(Framing::Messages, &config.connection.limits);
    let mut client = Client::new(Arc::new(config));
    client.connect(now(), &mut outbox)?;
    let options = CallOptions::new().progress();
    let call = match tool {
        Some((name, arguments)) => {
            let call = ToolCall { name, arguments: Raw::new(arguments)? };
            let params = Raw::from_serialize(&call)?;
            client.call_method("tools/call", &params, options, now(), &mut outbox)?
        }
        None => {
            client.call_method("tools/list", &Raw::EMPTY_OBJECT, options, now(), &mut outbox)?
        }
    };
    let (received, sent) = (Numbers::default(), Numbers::default());
    let mut caller = Caller {
        link,
        place,
        client,
        outbox,
        call,
        received,
        sent,
        session: session?,
        outcome: None,
    };
    let outcome = caller.run(now).await;
    // Without a goodbye the broker would say it, by the will.
    let Caller { mut link, place, .. } = caller;
    if link.announce(Announcement::end(place.topic(REQUESTS))).is_ok() {
        _ = link.close().await;
    }
    outcome
}
