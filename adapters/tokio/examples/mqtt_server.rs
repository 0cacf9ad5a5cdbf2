//! A server for many clients behind an MQTT broker, without any adapter: one message of the protocol is one message of a
//! topic.
//!
//! - `mqtt/topics.rs`: the topics, and who may write to them.
//! - `mqtt/link.rs`: the connection to the broker, with the rules of delivery.
//! - `mqtt/tools.rs`: the tools; one takes time, reports progress, and can be cancelled.
//!
//! Each client has one MCP connection, which begins with its first message. A connection ends when one of the sides is
//! gone, which the other learns from a message: the last will of a client, or of the server. If the server loses the broker,
//! all connections end, and so do their calls. A client that then makes the calls again takes the risk of a second
//! execution, because a call that has failed in this way may have been executed.
//!
//! MQTT has no back pressure from a receiver to a sender. A broker keeps messages for a client that does not read, up to
//! its own limits (`max_queued_messages`, `max_queued_bytes` of mosquitto), and drops the rest. The client finds the gap
//! in the numbers of the messages, and ends the connection.
//!
//! To try it, with mosquitto on its usual port:
//!
//! ```sh
//! cargo run -p mcp-sansio-tokio --example mqtt_server -- localhost:1883 demo
//! cargo run -p mcp-sansio-tokio --example mqtt_client -- localhost:1883 demo count '{"to":3,"milliseconds":500}'
//! ```

#[path = "mqtt/link.rs"]
mod link;
#[path = "mqtt/tools.rs"]
mod tools;
#[path = "mqtt/topics.rs"]
mod topics;

use std::collections::{BTreeMap, VecDeque};
use std::error::Error;
use std::pin::pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use mcp_sansio::{ConnectionNumber, Frames, Framing, Instant, Outbox, Phase, Server, ServerConfig};
use rumqttc::v5::mqttbytes::v5::Publish;

use self::link::{Announcement, Link, LinkError, LinkEvent, Numbers, Order};
use self::tools::Calls;
use self::topics::{Place, Presence, REQUESTS, RESPONSES, Session};

/// The most clients at the same time. Each may hold the memory of its `Limits`.
const MOST_CLIENTS: usize = 100;

/// The most bytes that may wait for the output before them, of all clients.
const MOST_WAITING: usize = 64 << 20;

/// How long the server waits before it connects to the broker again.
const PAUSE: Duration = Duration::from_millis(500);

/// A client: the server behind its connection.
struct Client {
    place: Place,
    server: Server,
    outbox: Outbox,
    calls: Calls,
    received: Numbers,
    sent: Numbers,
    /// When it has sent its last message, as a number of the [`Turns`].
    heard: u64,
    /// When a message was sent to it, likewise.
    served: u64,
}

/// Counts the messages in both directions.
#[derive(Default)]
struct Turns(u64);

impl Turns {
    const fn next(&mut self) -> u64 {
        self.0 += 1;
        self.0
    }
}

/// The clients of one connection to the broker.
struct Clients {
    link: Link,
    presence: Presence,
    name: String,
    config: Arc<ServerConfig>,
    clients: BTreeMap<String, Client>,
    /// The messages that wait until the output before them is sent, in order, and their length.
    waiting: VecDeque<Publish>,
    waiting_bytes: usize,
    /// The connections whose end is to be announced.
    ended: VecDeque<Place>,
    turns: Turns,
    next_number: u32,
    /// Whether no connection begins any more.
    is_ending: bool,
    /// Raised by the tool `ticket`.
    tickets: u64,
}

impl Clients {
    /// Serves until the link is lost, or until the user interrupts the program and every client knows the end.
    async fn run(&mut self, now: impl Fn() -> Instant) -> Result<(), LinkError> {
        let mut interrupt = pin!(tokio::signal::ctrl_c());
        loop {
            self.proceed(now())?;
            if self.is_ending && self.clients.is_empty() && self.ended.is_empty() {
                return Ok(());
            }
            let wait = self.deadline().map_or(Duration::MAX, |due| due - now());
            tokio::select! {
                event = self.link.next() => match event? {
                    LinkEvent::Received(message) => self.keep(message)?,
                    LinkEvent::NotDelivered(topic) => self.on_not_delivered(&topic),
                    LinkEvent::Sent => {}
                },
                _ = interrupt.as_mut(), if !self.is_ending => {
                    self.is_ending = true;
                    self.clients.values_mut().for_each(|client| client.server.close());
                }
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    /// Keeps a message until it is its turn.
    fn keep(&mut self, message: Publish) -> Result<(), LinkError> {
        self.waiting_bytes += message.payload.len();
        self.waiting.push_back(message);
        if MOST_WAITING < self.waiting_bytes {
            return Err(LinkError::Lost("it sends more than agreed".into()));
        }
        Ok(())
    }

    /// Handles what has arrived and what is due, and sends what the broker has room for.
    fn proceed(&mut self, now: Instant) -> Result<(), LinkError> {
        // The broker takes the output of all clients, so it is the cause if the output of one does not leave.
        while !self.clients.values().any(|client| client.outbox.is_congested())
            && let Some(message) = self.waiting.pop_front()
        {
            self.waiting_bytes -= message.payload.len();
            if message.topic == topics::presence(&self.name) {
                self.on_presence(&message.payload)?;
            } else {
                self.receive(&message, now);
            }
            self.link.acknowledge(&message)?;
        }
        for client in self.clients.values_mut() {
            let Client { server, outbox, calls, .. } = client;
            while let Some(event) = server.handle_timeout(now, outbox) {
                calls.handle(event, server, outbox, &mut self.tickets, now);
            }
            calls.work(server, outbox, now);
        }
        self.clients.retain(|_, client| {
            let is_over = client.server.phase() == Phase::Closed && client.outbox.is_empty();
            if is_over {
                self.ended.push_back(client.place.clone());
            }
            !is_over
        });
        // Each message that leaves causes an event, and another look at its connection.
        self.send()
    }

    /// Sends one message to each client in turn.
    fn send(&mut self) -> Result<(), LinkError> {
        while self.link.has_room()
            && let Some(place) = self.ended.pop_front()
        {
            self.link.announce(Announcement::end(place.topic(RESPONSES)))?;
        }
        while self.link.has_room() {
            let unsent = self.clients.values_mut().filter(|client| !client.outbox.is_empty());
            let Some(client) = unsent.min_by_key(|client| client.served) else { break };
            if let Some(message) = client.outbox.messages().next() {
                self.link.send(client.place.topic(RESPONSES), message, &mut client.sent)?;
            }
            client.served = self.turns.next();
        }
        Ok(())
    }

    /// Compares the presence that the broker keeps with that of this server. The server that started last keeps the name.
    fn on_presence(&mut self, message: &[u8]) -> Result<(), LinkError> {
        let presence = Presence::of(message);
        if presence == Some(self.presence) || self.is_ending {
            return Ok(());
        }
        if let (Some(Presence::Present(other)), Presence::Present(own)) = (presence, self.presence)
            && own < other
        {
            return Err(LinkError::Refused(format!("another server has the name {}", self.name)));
        }
        // The will of an earlier connection, which the broker has noticed late.
        if self.link.has_room() {
            self.link.announce(announcement(&self.name, self.presence))?;
        }
        Ok(())
    }

    fn receive(&mut self, message: &Publish, now: Instant) {
        let Some(place) = Place::of(&message.topic) else { return };
        let known = self.clients.get(&place.client).map(|client| client.place.session);
        if message.payload.is_empty() {
            // The will of an earlier session does not concern the present one.
            if known == Some(place.session) {
                self.clients.remove(&place.client);
            }
            return;
        }
        match known {
            Some(session) if place.session < session => return,
            Some(session) if place.session == session => {}
            // The client has started again. Its earlier connection has no receiver any more.
            Some(_) => {
                self.clients.remove(&place.client);
                self.begin(&place);
            }
            None if self.has_room() => self.begin(&place),
            None => return self.announce_end(place),
        }
        let Some(client) = self.clients.get_mut(&place.client) else { return };
        client.heard = self.turns.next();
        match client.received.check(message) {
            Order::Next => {}
            Order::Repeated => return,
            Order::AfterLoss => {
                self.clients.remove(&place.client);
                return self.announce_end(place);
            }
        }
        let Client { server, outbox, calls, .. } = client;
        for frame in Frames::of(&message.payload, &self.config.connection.limits) {
            if let Some(event) = server.receive(frame, now, outbox) {
                calls.handle(event, server, outbox, &mut self.tickets, now);
            }
        }
    }

    /// Begins a connection. Its number is unique, so a handle of one client never names a request of another.
    fn begin(&mut self, place: &Place) {
        self.next_number = self.next_number.wrapping_add(1);
        let number = ConnectionNumber::new(self.next_number);
        let client = Client {
            place: place.clone(),
            server: Server::with_connection_number(Arc::clone(&self.config), number),
            outbox: Outbox::new(Framing::Messages, &self.config.connection.limits),
            calls: Calls::default(),
            received: Numbers::default(),
            sent: Numbers::default(),
            heard: 0,
            served: 0,
        };
        self.clients.insert(place.client.clone(), client);
    }

    /// Whether there is room for another client. If there is none, the connection ends whose client has been silent for
    /// the longest time, unless it waits for a response: a client without a last will may be gone long ago.
    fn has_room(&mut self) -> bool {
        if self.is_ending || self.clients.len() < MOST_CLIENTS {
            return !self.is_ending;
        }
        let idle = self.clients.values().filter(|client| {
            client.server.in_flight().counts().inbound == 0 && client.outbox.is_empty()
        });
        let Some(place) = idle.min_by_key(|client| client.heard).map(|client| client.place.clone())
        else {
            return false;
        };
        self.clients.remove(&place.client);
        self.announce_end(place);
        true
    }

    /// The client is gone, and has not left a will.
    fn on_not_delivered(&mut self, topic: &str) {
        if let Some(place) = Place::of(topic.as_bytes())
            && let Some(client) = self.clients.get(&place.client)
            && client.place.session == place.session
        {
            self.clients.remove(&place.client);
        }
    }

    /// Announces the end of a connection to its client. If too many wait for that, the client has to find out by itself.
    fn announce_end(&mut self, place: Place) {
        if self.ended.len() < MOST_CLIENTS {
            self.ended.push_back(place);
        }
    }

    fn deadline(&self) -> Option<Instant> {
        let due = |client: &Client| {
            client.server.poll_timeout().into_iter().chain(client.calls.deadline()).min()
        };
        self.clients.values().filter_map(due).min()
    }
}

/// Serves from the opening of a link to its loss, or to the end of the program.
async fn serve(
    broker: &str,
    name: &str,
    id: &str,
    config: &Arc<ServerConfig>,
    now: impl Fn() -> Instant,
) -> Result<(), LinkError> {
    let session = Session::begin();
    let (present, gone) = (Presence::Present(session), Presence::Gone(session));
    let topics = vec![topics::presence(name), format!("mcp/{name}/+/+/{REQUESTS}")];
    let mut link = Link::open(broker, id, announcement(name, gone), topics).await?;
    // The clients connect once they see it, and the requests are subscribed to.
    link.announce(announcement(name, present))?;
    println!("serving {name} at {broker}");
    let mut clients = Clients {
        link,
        presence: present,
        name: name.into(),
        config: Arc::clone(config),
        clients: BTreeMap::new(),
        waiting: VecDeque::new(),
        waiting_bytes: 0,
        ended: VecDeque::new(),
        turns: Turns::default(),
        next_number: 0,
        is_ending: false,
        tickets: 0,
    };
    let end = clients.run(now).await;
    if matches!(end, Err(LinkError::Lost(_))) {
        return end;
    }
    let Clients { mut link, .. } = clients;
    if end.is_ok() {
        link.announce(announcement(name, gone))?;
    }
    // Another server with this name is present: a will of this one must not end its clients.
    _ = link.close().await;
    end
}

fn announcement(name: &str, presence: Presence) -> Announcement {
    let (topic, message) = (topics::presence(name), presence.to_string());
    Announcement { topic, message, is_retained: true }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("mqtt_server: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [broker, name] = &*arguments else { return Err("usage: mqtt_server BROKER NAME".into()) };
    if !topics::is_name(name) {
        return Err(format!("{name} is not a name: letters, digits, '-', '_' and '.'").into());
    }
    // A later connection of this process replaces an earlier one at the broker, but not one of another process.
    let id = format!("mcp-server-{name}-{}", Session::begin());
    let config = Arc::new(tools::config());
    let (begun, start) = (Instant::from(SystemTime::now()), std::time::Instant::now());
    loop {
        match serve(broker, name, &id, &config, || begun + start.elapsed()).await {
            Ok(()) => return Ok(()),
            Err(refused @ LinkError::Refused(_)) => return Err(refused.into()),
            Err(lost) => eprintln!("{lost}"),
        }
        tokio::time::sleep(PAUSE).await;
    }
}
