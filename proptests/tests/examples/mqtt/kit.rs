//! A broker of each test's own, its server, and a client that keeps no rules.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdout, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rumqttc::v5::mqttbytes::QoS;
use rumqttc::v5::mqttbytes::v5::{LastWill, Publish, PublishProperties};
use rumqttc::v5::{Client, Connection, Event, Incoming, MqttOptions};
use serde_json::Value;

use crate::kit::example;

/// A timeout longer than any operation of these tests takes.
pub(super) const A_LONG_TIME: Duration = Duration::from_secs(120);

/// The longest message, and the most clients, of the server.
pub(super) const MESSAGE: usize = 1 << 20;
pub(super) const MOST_CLIENTS: usize = 100;

/// The messages that the broker keeps for a subscriber: those on the way, and those in its queue.
pub(super) const IN_FLIGHT: u64 = 20;
pub(super) const QUEUED: u64 = 200;

/// A broker on a port of its own, which is killed on drop.
pub(super) struct Broker {
    pub(super) process: Child,
    pub(super) folder: PathBuf,
    pub(super) address: String,
}

impl Broker {
    /// Returns none if mosquitto is missing. CI has it.
    pub(super) fn new() -> Option<Self> {
        static BROKERS: AtomicU32 = AtomicU32::new(0);
        let number = BROKERS.fetch_add(1, Ordering::Relaxed);
        let name = format!("mcp-sansio-mqtt-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let configuration = format!(
            "listener {port} 127.0.0.1\nallow_anonymous true\npersistence false\nset_tcp_nodelay true\n\
             max_inflight_messages {IN_FLIGHT}\nmax_queued_messages {QUEUED}\n"
        );
        fs::write(folder.join("mosquitto.conf"), configuration).unwrap();
        drop(listener);
        let address = format!("127.0.0.1:{port}");
        let Some(process) = run_broker(&folder, &address) else {
            assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "mosquitto is missing");
            eprintln!("NOT RUN: mosquitto is missing");
            return None;
        };
        Some(Self { process, folder, address })
    }

    pub(super) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    pub(super) fn start_again(&mut self) {
        self.process = run_broker(&self.folder, &self.address).unwrap();
    }

    pub(super) fn client(&self, arguments: &[&str]) -> Command {
        let mut client = Command::new(example("mqtt_client"));
        client.args([&*self.address, "demo"]).args(arguments);
        client.stdout(Stdio::piped()).stderr(Stdio::piped());
        client
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        self.kill();
        _ = fs::remove_dir_all(&self.folder);
    }
}

/// Debian has the broker where not every user looks for programs.
fn run_broker(folder: &std::path::Path, address: &str) -> Option<Child> {
    let mut process = ["mosquitto", "/usr/sbin/mosquitto"].into_iter().find_map(|program| {
        let mut command = Command::new(program);
        command.arg("-c").arg(folder.join("mosquitto.conf"));
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()
    })?;
    while TcpStream::connect(address).is_err() {
        assert_eq!(process.try_wait().unwrap(), None, "mosquitto has ended");
        std::thread::yield_now();
    }
    Some(process)
}

/// A server with the name `demo`, which is killed on drop.
pub(super) struct Server {
    pub(super) process: Child,
    pub(super) stdout: BufReader<ChildStdout>,
    pub(super) stderr: BufReader<ChildStderr>,
}

impl Server {
    /// Returns once the server is subscribed to its requests.
    pub(super) fn new(broker: &Broker) -> Self {
        let mut command = Command::new(example("mqtt_server"));
        command.args([&*broker.address, "demo"]).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let stdout = BufReader::new(process.stdout.take().unwrap());
        let stderr = BufReader::new(process.stderr.take().unwrap());
        let mut server = Self { process, stdout, stderr };
        server.is_serving(broker);
        server
    }

    pub(super) fn is_serving(&mut self, broker: &Broker) {
        let expected = format!("serving demo at {}", broker.address);
        assert_eq!(line(&mut self.stdout), expected);
    }

    /// Waits for the end of the process. Returns its exit code and the rest of its standard error.
    pub(super) fn end(&mut self) -> (Option<i32>, String) {
        let mut rest = String::new();
        self.stderr.read_to_string(&mut rest).unwrap();
        (self.process.wait().unwrap().code(), rest)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

pub(super) fn line(reader: &mut impl BufRead) -> String {
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    line.trim_end().to_owned()
}

pub(super) fn interrupt(process: &Child) {
    let status = Command::new("kill").args(["-INT", &process.id().to_string()]).status().unwrap();
    assert!(status.success());
}

pub(super) fn texts(output: &Output) -> (Option<i32>, &str, &str) {
    let text = |bytes| str::from_utf8(bytes).unwrap();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// A client that keeps no rules: it sends any message with any number to any topic.
pub(super) struct Peer {
    pub(super) client: Client,
    pub(super) connection: Connection,
    /// The topic of the connection without its last level.
    pub(super) place: String,
    pub(super) sent: u64,
    /// The messages that the broker has not acknowledged.
    pub(super) unacknowledged: usize,
}

impl Peer {
    /// The peer listens to `responses`. Its will ends the connection of its place.
    pub(super) fn new(broker: &Broker, name: &str, responses: &str) -> Self {
        let place = format!("mcp/demo/{name}/1");
        let (host, port) = broker.address.rsplit_once(':').unwrap();
        let mut options = MqttOptions::new(name, host, port.parse().unwrap());
        options.set_max_packet_size(Some(2 * MESSAGE as u32));
        let requests = format!("{place}/requests");
        options.set_last_will(LastWill::new(requests, "", QoS::AtLeastOnce, false, None));
        let (client, connection) = Client::new(options, 1000);
        let mut peer = Self { client, connection, place, sent: 0, unacknowledged: 0 };
        peer.client.subscribe(responses, QoS::AtLeastOnce).unwrap();
        while !matches!(peer.step(), Event::Incoming(Incoming::SubAck(_))) {}
        peer
    }

    pub(super) fn of_one_place(broker: &Broker, name: &str) -> Self {
        Self::new(broker, name, &format!("mcp/demo/{name}/1/responses"))
    }

    pub(super) fn step(&mut self) -> Event {
        let event = self.connection.recv_timeout(A_LONG_TIME).unwrap().unwrap();
        if matches!(event, Event::Incoming(Incoming::PubAck(_))) {
            self.unacknowledged -= 1;
        }
        event
    }

    /// Waits until the broker has every message. A message that arrives meanwhile is an error.
    pub(super) fn settle(&mut self) {
        while 0 < self.unacknowledged {
            let event = self.step();
            assert!(!matches!(event, Event::Incoming(Incoming::Publish(_))), "{event:?}");
        }
    }

    /// Waits for the next message of any topic.
    pub(super) fn next(&mut self) -> Publish {
        loop {
            if let Event::Incoming(Incoming::Publish(message)) = self.step() {
                return message;
            }
        }
    }

    /// Waits for the next message. Returns nothing if it ends the connection.
    pub(super) fn message(&mut self) -> Option<Value> {
        let message = self.next();
        (!message.payload.is_empty()).then(|| serde_json::from_slice(&message.payload).unwrap())
    }

    /// Waits for the result of a tool. Returns the id of the request and the text.
    pub(super) fn text(&mut self) -> (Value, String) {
        let message = self.message().unwrap();
        let text = message["result"]["content"][0]["text"].as_str();
        (message["id"].clone(), text.unwrap_or_else(|| panic!("{message}")).to_owned())
    }

    pub(super) fn send(&mut self, message: &Value) {
        self.sent += 1;
        self.send_as(message, Some(self.sent));
    }

    pub(super) fn send_as(&mut self, message: &Value, number: Option<u64>) {
        let number = number.map(|number| number.to_string());
        let topic = format!("{}/requests", self.place);
        self.publish(topic, &serde_json::to_vec(message).unwrap(), number.as_deref());
    }

    pub(super) fn publish(&mut self, topic: String, payload: &[u8], number: Option<&str>) {
        let number = number.map(|number| ("number".to_owned(), number.to_owned()));
        let properties = PublishProperties {
            user_properties: Vec::from_iter(number),
            ..PublishProperties::default()
        };
        self.unacknowledged += 1;
        let (payload, quality) = (payload.to_vec(), QoS::AtLeastOnce);
        self.client.publish_with_properties(topic, quality, false, payload, properties).unwrap();
    }
}
