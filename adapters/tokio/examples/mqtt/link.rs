//! [`Link`]: a connection to an MQTT broker, from its opening to its loss. It is never resumed.
//!
//! - All messages have quality of service 1. Each message of an MCP connection carries its [number](Numbers), so a
//!   repeated message is dropped, and a lost one is noticed. A broker drops messages for a subscriber that is too slow.
//! - At most [`WINDOW`] messages are at the broker without its acknowledgement. The other output stays in the outbox of its
//!   MCP connection, where a call can still be withdrawn.
//! - The broker should send at most [`RECEIVED`] messages ahead of the acknowledgements of this side. Mosquitto 2.0.11 has
//!   been seen to send 55 instead of 32, so nothing relies on the exact number.
//! - After a loss the unacknowledged messages are discarded: the topics of the next connection are others. This also
//!   avoids a defect of `rumqttc` 0.25, which sends them again in the order of their packet ids and not in their own.

use std::collections::VecDeque;
use std::fmt::{self, Display, Formatter};
use std::pin::Pin;
use std::time::Duration;

use futures_util::{Stream, StreamExt, stream};
use rumqttc::NetworkOptions;
use rumqttc::v5::mqttbytes::QoS;
use rumqttc::v5::mqttbytes::v5::{
    Filter, LastWill, PubAckReason, Publish, PublishProperties, RetainForwardRule,
    SubscribeReasonCode,
};
use rumqttc::v5::{AsyncClient, ConnectionError, Event, Incoming, MqttOptions};
use tokio::time::Instant;

/// The most messages that the broker has without having acknowledged them.
const WINDOW: usize = 16;

/// The most messages that the broker sends without an acknowledgement of this side.
const RECEIVED: u16 = 32;

/// The longest message of MCP in bytes.
pub(crate) const MESSAGE: usize = 1 << 20;

/// The longest packet that this side accepts: the machine answers a message that is a little too long. The broker drops
/// longer ones, which leaves a gap in the numbers.
const PACKET: u32 = 2 * MESSAGE as u32;

/// The longest packet that this side sends: a message with its topic and its number.
const OWN_PACKET: u32 = MESSAGE as u32 + 1024;

/// The broker ends a connection that is silent for one and a half of these.
const KEEP_ALIVE: Duration = Duration::from_secs(5);

/// Without a step for so long the broker neither answers nor reads: there is a ping for each [`KEEP_ALIVE`].
const PATIENCE: Duration = Duration::from_secs(15);

/// The property of a message with its number.
const NUMBER: &str = "number";

/// The end of a link.
#[derive(Debug)]
pub(crate) enum LinkError {
    /// The broker is unreachable, or the connection to it is lost. Another attempt may succeed.
    Lost(String),
    /// The broker does not accept this program, or another one has its place. Another attempt would fail or do harm.
    Refused(String),
}

impl Display for LinkError {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost(reason) => write!(formatter, "the broker is lost: {reason}"),
            Self::Refused(reason) => formatter.write_str(reason),
        }
    }
}

impl std::error::Error for LinkError {}

impl From<ConnectionError> for LinkError {
    fn from(error: ConnectionError) -> Self {
        match error {
            ConnectionError::ConnectionRefused(code) => {
                Self::Refused(format!("the broker refuses the connection: {code:?}"))
            }
            error => Self::Lost(error.to_string()),
        }
    }
}

/// A message about a connection or a server.
pub(crate) struct Announcement {
    pub(crate) topic: String,
    pub(crate) message: String,
    /// Whether the broker keeps it for later subscribers.
    pub(crate) is_retained: bool,
}

impl Announcement {
    /// The end of an MCP connection, on one of its topics.
    pub(crate) fn end(topic: String) -> Self {
        Self { topic, message: String::new(), is_retained: false }
    }
}

/// A step of a link.
pub(crate) enum LinkEvent {
    /// A message, which has to be [acknowledged](Link::acknowledge) in the order of arrival.
    Received(Publish),
    /// The broker has taken a message: there is room for another one.
    Sent,
    /// A message on this topic had no receiver, or the broker has refused it.
    NotDelivered(String),
}

/// A connection to a broker.
pub(crate) struct Link {
    client: AsyncClient,
    /// The stream keeps a step that has begun, so [`next`](Self::next) can be dropped at any time.
    events: Pin<Box<dyn Stream<Item = Result<Event, ConnectionError>>>>,
    /// The topics of the messages that the broker has not acknowledged, in order.
    unacknowledged: VecDeque<String>,
    last_step: Instant,
}

impl Link {
    /// Connects to the broker at `HOST:PORT` and subscribes to the topics. When this program ends in any way, the broker
    /// sends the will.
    pub(crate) async fn open(
        broker: &str,
        name: &str,
        will: Announcement,
        topics: Vec<String>,
    ) -> Result<Self, LinkError> {
        let address =
            broker.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse().ok()?)));
        let Some((host, port)) = address else {
            return Err(LinkError::Refused(format!("{broker} is not HOST:PORT")));
        };
        let mut options = MqttOptions::new(name, host, port);
        options.set_keep_alive(KEEP_ALIVE).set_clean_start(true).set_manual_acks(true);
        options.set_max_packet_size(Some(PACKET)).set_receive_maximum(Some(RECEIVED));
        let mut network = NetworkOptions::new();
        network.set_tcp_nodelay(true);
        options.set_network_options(network);
        let Announcement { topic, message, is_retained } = will;
        options.set_last_will(LastWill::new(topic, message, QoS::AtLeastOnce, is_retained, None));
        // The channel grows with its content. It has room for an acknowledgement of each packet id.
        let (client, event_loop) = AsyncClient::new(options, WINDOW + usize::from(u16::MAX) + 4);
        let events = stream::unfold(event_loop, |mut event_loop| async {
            let event = event_loop.poll().await;
            Some((event, event_loop))
        });
        let (events, unacknowledged) = (Box::pin(events), VecDeque::new());
        let mut link = Self { client, events, unacknowledged, last_step: Instant::now() };
        link.subscribe(topics).await?;
        Ok(link)
    }

    async fn subscribe(&mut self, topics: Vec<String>) -> Result<(), LinkError> {
        let filter = |topic: String| {
            let mut filter = Filter::new(&topic, QoS::AtLeastOnce);
            // A message of a connection is no state. The broker must not deliver one that a peer has made it retain.
            if !topic.ends_with("/presence") {
                filter.retain_forward_rule = RetainForwardRule::Never;
            }
            filter
        };
        let filters: Vec<Filter> = topics.into_iter().map(filter).collect();
        self.client.try_subscribe_many(filters).map_err(lost)?;
        loop {
            match self.step().await? {
                Event::Incoming(Incoming::ConnAck(accepted)) => {
                    let longest =
                        accepted.properties.and_then(|properties| properties.max_packet_size);
                    if let Some(longest) = longest.filter(|longest| *longest < OWN_PACKET) {
                        let text = format!(
                            "the broker takes packets of at most {longest} bytes, not {OWN_PACKET}"
                        );
                        return Err(LinkError::Refused(text));
                    }
                }
                Event::Incoming(Incoming::SubAck(subscribed)) => {
                    let is_granted = |code: &SubscribeReasonCode| {
                        matches!(code, SubscribeReasonCode::Success(QoS::AtLeastOnce))
                    };
                    let refused = subscribed.return_codes.iter().find(|code| !is_granted(code));
                    return refused.map_or(Ok(()), |code| {
                        Err(LinkError::Refused(format!(
                            "the broker refuses the subscription: {code:?}"
                        )))
                    });
                }
                _ => {}
            }
        }
    }

    async fn step(&mut self) -> Result<Event, LinkError> {
        let event = tokio::time::timeout_at(self.last_step + PATIENCE, self.events.next()).await;
        self.last_step = Instant::now();
        match event {
            Ok(Some(event)) => Ok(event?),
            Ok(None) | Err(_) => Err(LinkError::Lost("it does not answer".into())),
        }
    }

    /// Waits for the next step. Output leaves, and pings, only while the caller waits.
    pub(crate) async fn next(&mut self) -> Result<LinkEvent, LinkError> {
        loop {
            match self.step().await? {
                // The receive maximum does not bound messages with quality of service 0.
                Event::Incoming(Incoming::Publish(message)) if message.qos == QoS::AtLeastOnce => {
                    return Ok(LinkEvent::Received(message));
                }
                Event::Incoming(Incoming::PubAck(acknowledged)) => {
                    let topic = self.unacknowledged.pop_front().unwrap_or_default();
                    return Ok(match acknowledged.reason {
                        PubAckReason::Success => LinkEvent::Sent,
                        _ => LinkEvent::NotDelivered(topic),
                    });
                }
                _ => {}
            }
        }
    }

    /// Whether [`publish`](Self::publish) may be called.
    pub(crate) fn has_room(&self) -> bool {
        self.unacknowledged.len() < WINDOW
    }

    /// Sends a message of an MCP connection, with its number.
    pub(crate) fn send(
        &mut self,
        topic: String,
        message: &[u8],
        numbers: &mut Numbers,
    ) -> Result<(), LinkError> {
        numbers.0 += 1;
        let number = (NUMBER.to_owned(), numbers.0.to_string());
        let properties =
            PublishProperties { user_properties: vec![number], ..PublishProperties::default() };
        self.publish(topic, message, false, properties)
    }

    /// Sends a message about a connection or a server, without a number.
    pub(crate) fn announce(&mut self, announcement: Announcement) -> Result<(), LinkError> {
        let Announcement { topic, message, is_retained } = announcement;
        self.publish(topic, message.as_bytes(), is_retained, PublishProperties::default())
    }

    fn publish(
        &mut self,
        topic: String,
        message: &[u8],
        is_retained: bool,
        properties: PublishProperties,
    ) -> Result<(), LinkError> {
        self.unacknowledged.push_back(topic.clone());
        let (client, message) = (&self.client, message.to_vec());
        client
            .try_publish_with_properties(topic, QoS::AtLeastOnce, is_retained, message, properties)
            .map_err(lost)
    }

    pub(crate) fn acknowledge(&self, message: &Publish) -> Result<(), LinkError> {
        self.client.try_ack(message).map_err(lost)
    }

    /// Waits until the broker has everything, and says goodbye: there will be no will. Messages that arrive meanwhile are
    /// discarded.
    pub(crate) async fn close(mut self) -> Result<(), LinkError> {
        while !self.unacknowledged.is_empty() {
            self.next().await?;
        }
        self.client.try_disconnect().map_err(lost)?;
        while self.step().await.is_ok() {}
        Ok(())
    }
}

fn lost(error: impl Display) -> LinkError {
    LinkError::Lost(error.to_string())
}

/// The numbers of the messages in one direction of a connection: 1, 2, and so on.
#[derive(Default)]
pub(crate) struct Numbers(u64);

/// The place of a message among the others of its direction.
pub(crate) enum Order {
    Next,
    /// It has arrived before.
    Repeated,
    /// A message before it is lost.
    AfterLoss,
}

impl Numbers {
    /// Counts a message that has arrived. A peer that numbers nothing gets neither check.
    pub(crate) fn check(&mut self, message: &Publish) -> Order {
        let properties =
            message.properties.iter().flat_map(|properties| &properties.user_properties);
        let number = properties
            .filter(|(name, _)| name == NUMBER)
            .find_map(|(_, number)| number.parse::<u64>().ok());
        match number {
            Some(number) if number <= self.0 => Order::Repeated,
            Some(number) if self.0 + 1 < number => Order::AfterLoss,
            Some(number) => {
                self.0 = number;
                Order::Next
            }
            None => Order::Next,
        }
    }
}
