//! `mqtt_server` and `mqtt_client`, with a broker of each test's own.

mod kit;

use std::io::BufReader;

use rumqttc::v5::mqttbytes::QoS;
use rumqttc::v5::mqttbytes::v5::Publish;
use serde_json::{Value, json};

use self::kit::{
    Broker, IN_FLIGHT, MESSAGE, MOST_CLIENTS, Peer, QUEUED, Server, interrupt, line, texts,
};

/// A request of the modern era.
fn modern(id: impl Into<Value>, tool: &str, arguments: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "method": "tools/call", "params": {
        "name": tool, "arguments": arguments, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "progressToken": "counting",
        },
    }})
}

fn endless(id: impl Into<Value>) -> Value {
    modern(id, "count", &json!({"to": 1000, "milliseconds": 60_000}))
}

fn ticket(id: impl Into<Value>) -> Value {
    modern(id, "ticket", &json!({}))
}

fn initialize() -> Value {
    json!({"jsonrpc": "2.0", "id": "open", "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }})
}

#[test]
fn clients_and_a_server_behind_a_broker() {
    let Some(broker) = Broker::new() else { return };
    // A client may be there before its server.
    let early = broker.client(&["echo", r#"{"text":"early"}"#]).spawn().unwrap();
    let _server = Server::new(&broker);
    let early = early.wait_with_output().unwrap();
    assert_eq!(texts(&early), (Some(0), "early\n", ""));
    let long = "é".repeat(50_000);
    let table: [(&[&str], i32, &str, &str); 6] = [
        (&[], 0, "echo\nticket\ncount\n", ""),
        (&["count", r#"{"to":3,"milliseconds":1}"#], 0, "1 of 3\n2 of 3\ncounted to 3\n", ""),
        (&["echo", &json!({"text": long}).to_string()], 0, &format!("{long}\n"), ""),
        (
            &["count", r#"{"to":0,"milliseconds":1}"#],
            1,
            "",
            "mqtt_client: to is 1 to 1000, milliseconds is 1 to 60000\n",
        ),
        (&["nothing"], 1, "", "mqtt_client: -32602: unknown tool\n"),
        (&["echo", "{"], 1, "", "mqtt_client: "),
    ];
    for (arguments, code, stdout, stderr) in table {
        let output = broker.client(arguments).output().unwrap();
        let (ended, printed, error) = texts(&output);
        assert_eq!((ended, printed), (Some(code), stdout), "{error}");
        assert!(error.starts_with(stderr) && error.is_empty() == stderr.is_empty(), "{error}");
    }
    // A session of the legacy era, with a call of the modern era beside it.
    let mut peer = Peer::of_one_place(&broker, "legacy");
    peer.send(&initialize());
    assert_eq!(peer.message().unwrap()["result"]["protocolVersion"], "2025-11-25");
    peer.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let call = json!({"name": "echo", "arguments": {"text": "hi"}});
    peer.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}));
    assert_eq!(peer.text(), (1.into(), "hi".into()));
    let mut other = Peer::of_one_place(&broker, "modern");
    other.send(&modern(1, "echo", &json!({"text": "you"})));
    assert_eq!(other.text(), (1.into(), "you".into()));
}

#[test]
fn a_cancelled_call_over_mqtt_stops() {
    let Some(broker) = Broker::new() else { return };
    let _server = Server::new(&broker);
    let mut peer = Peer::of_one_place(&broker, "peer");
    let count = |id| modern(id, "count", &json!({"to": 1, "milliseconds": 1000}));
    peer.send(&count(1));
    let params = json!({"requestId": 1});
    peer.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}));
    peer.send(&count(2));
    assert_eq!(peer.text(), (2.into(), "counted to 1".into()));
    // Ctrl-C cancels the call of a client. Progress shows that the call has begun.
    let mut client = broker.client(&["count", r#"{"to":1000,"milliseconds":10}"#]).spawn().unwrap();
    let mut stdout = BufReader::new(client.stdout.take().unwrap());
    assert_eq!(line(&mut stdout), "1 of 1000");
    interrupt(&client);
    let output = client.wait_with_output().unwrap();
    assert_eq!(texts(&output), (Some(1), "", "mqtt_client: cancelled\n"));
}

#[test]
fn a_repeated_message_is_executed_once() {
    let Some(broker) = Broker::new() else { return };
    let _server = Server::new(&broker);
    let mut peer = Peer::of_one_place(&broker, "peer");
    // The number of a message reveals the repetition, also after the response.
    for _ in 0..3 {
        peer.send_as(&ticket("first"), Some(1));
    }
    assert_eq!(peer.text(), ("first".into(), "1".into()));
    peer.send_as(&ticket("first"), Some(1));
    peer.send_as(&ticket("second"), Some(2));
    assert_eq!(peer.text(), ("second".into(), "2".into()));
    // Without numbers, the rule of MCP applies: an id must not be in flight already.
    let count = modern("slow", "count", &json!({"to": 1, "milliseconds": 1000}));
    for message in [&count, &count, &ticket("slow"), &ticket("third")] {
        peer.send_as(message, None);
    }
    assert_eq!(peer.text(), ("third".into(), "3".into()));
    assert_eq!(peer.text(), ("slow".into(), "counted to 1".into()));
    // After its response the id is free, and only a number would help.
    peer.send_as(&ticket("third"), None);
    assert_eq!(peer.text(), ("third".into(), "4".into()));
    // A repeated handshake does not begin another session.
    peer.send_as(&initialize(), None);
    peer.send_as(&initialize(), None);
    assert_eq!(peer.message().unwrap()["result"]["protocolVersion"], "2025-11-25");
    assert_eq!(peer.message().unwrap()["error"]["code"], -32600);
    // A message that is missing ends the connection, and so does every later one.
    peer.send_as(&ticket("lost"), Some(9));
    assert_eq!(peer.message(), None);
    peer.send_as(&ticket("later"), Some(10));
    assert_eq!(peer.message(), None);
    // An end is no message. The place is free for a connection that begins with its first message.
    peer.send_as(&ticket("again"), Some(1));
    assert_eq!(peer.text(), ("again".into(), "5".into()));
}

#[test]
fn clients_that_vanish_make_room() {
    let Some(broker) = Broker::new() else { return };
    let _server = Server::new(&broker);
    // The will of a client frees its connection: the id of its call is not in flight any more.
    let mut watcher = Peer::new(&broker, "watcher", "mcp/demo/mortal/1/+");
    let mut mortal = Peer::of_one_place(&broker, "mortal");
    mortal.send(&endless("call"));
    mortal.send(&ticket("call"));
    mortal.send(&ticket("served"));
    assert_eq!(mortal.text(), ("served".into(), "1".into()));
    drop(mortal);
    while !watcher.next().payload.is_empty() {}
    let mut mortal = Peer::of_one_place(&broker, "mortal");
    mortal.send(&ticket("call"));
    assert_eq!(mortal.text(), ("call".into(), "2".into()));
    // So does a response without a receiver: this client has no will.
    let place = "mcp/demo/silent/1/requests";
    let bytes = |message: &Value| serde_json::to_vec(message).unwrap();
    mortal.publish(place.into(), &bytes(&endless("call")), None);
    mortal.publish(place.into(), &bytes(&ticket("unheard")), None);
    mortal.send(&ticket("served"));
    assert_eq!(mortal.text(), ("served".into(), "4".into()));
    let mut silent = Peer::new(&broker, "silent", "mcp/demo/silent/+/responses");
    silent.send(&ticket("call"));
    assert_eq!(silent.text(), ("call".into(), "5".into()));
    // A client that starts again has a higher session, and its earlier call is gone.
    let mut sends = |session: u32, message: &[u8], number: Option<&str>| {
        silent.publish(format!("mcp/demo/silent/{session}/requests"), message, number);
    };
    sends(5, &bytes(&endless("call")), Some("1"));
    sends(6, &bytes(&ticket("call")), Some("1"));
    // Late messages of earlier sessions, the will among them, change nothing.
    sends(5, &bytes(&ticket("late")), Some("1"));
    sends(5, b"", None);
    sends(6, &bytes(&ticket("on")), Some("2"));
    assert_eq!(silent.text(), ("call".into(), "6".into()));
    assert_eq!(silent.text(), ("on".into(), "7".into()));
}

#[test]
fn the_number_of_clients_is_bounded() {
    let Some(broker) = Broker::new() else { return };
    let _server = Server::new(&broker);
    let mut peer = Peer::new(&broker, "many", "mcp/demo/+/1/responses");
    let topic = |number| format!("mcp/demo/client-{number}/1/requests");
    let bytes = |message: &Value| serde_json::to_vec(message).unwrap();
    // Each client waits for a response, but for two.
    for number in 0..MOST_CLIENTS {
        let call = if number == 3 || number == 7 { ticket(number) } else { endless(number) };
        peer.publish(topic(number), &bytes(&call), Some("1"));
    }
    assert_eq!(peer.text(), (3.into(), "1".into()));
    assert_eq!(peer.text(), (7.into(), "2".into()));
    // The one that has been silent for longer makes room, then the other, and then a further client is refused.
    peer.publish(topic(3), &bytes(&ticket(3)), Some("2"));
    assert_eq!(peer.text(), (3.into(), "3".into()));
    let mut ended = |number: usize| {
        peer.publish(topic(number), &bytes(&endless(number)), Some("1"));
        let end = peer.next();
        assert!(end.payload.is_empty());
        String::from_utf8(end.topic.to_vec()).unwrap()
    };
    assert_eq!(ended(100), "mcp/demo/client-7/1/responses");
    assert_eq!(ended(101), "mcp/demo/client-3/1/responses");
    assert_eq!(ended(102), "mcp/demo/client-102/1/responses");
    // A client that ends makes room.
    peer.publish(topic(50), b"", None);
    peer.publish(topic(103), &bytes(&ticket("room")), Some("1"));
    assert_eq!(peer.text(), ("room".into(), "4".into()));
}

#[test]
fn a_client_over_mqtt_learns_that_its_server_is_gone() {
    let Some(broker) = Broker::new() else { return };
    let count = ["count", r#"{"to":1000,"milliseconds":10}"#];
    for is_killed in [true, false] {
        let mut server = Server::new(&broker);
        let mut client = broker.client(&count).spawn().unwrap();
        let mut stdout = BufReader::new(client.stdout.take().unwrap());
        assert_eq!(line(&mut stdout), "1 of 1000");
        if is_killed {
            server.process.kill().unwrap();
        } else {
            interrupt(&server.process);
            assert_eq!(server.end(), (Some(0), String::new()));
        }
        let output = client.wait_with_output().unwrap();
        let gone = "mqtt_client: the peer ended the connection; it may have executed the call\n";
        assert_eq!(texts(&output), (Some(1), "", gone));
        // A client that comes later sees that it is gone.
        let mut watcher = Peer::new(&broker, "watcher", "mcp/demo/presence");
        assert!(watcher.next().payload.starts_with(b"gone "));
    }
    // Two servers of one name do not take it from each other for ever.
    let mut first = Server::new(&broker);
    let _second = Server::new(&broker);
    let taken = "mqtt_server: another server has the name demo\n";
    assert_eq!(first.end(), (Some(1), taken.into()));
    let output = broker.client(&["ticket"]).output().unwrap();
    assert_eq!(texts(&output), (Some(0), "1\n", ""));
    // A presence that is wrong, such as a late will of an earlier session, does not stay.
    let mut watcher = Peer::new(&broker, "watcher", "mcp/demo/presence");
    let present = watcher.next().payload;
    assert!(present.starts_with(b"present "));
    for wrong in [&b"gone 1"[..], b"present 1", b"", b"\xff"] {
        watcher.unacknowledged += 1;
        let quality = QoS::AtLeastOnce;
        watcher.client.publish("mcp/demo/presence", quality, true, wrong.to_vec()).unwrap();
        assert_eq!(
            (watcher.next().payload, watcher.next().payload),
            (wrong.into(), present.clone())
        );
    }
}

#[test]
fn a_broker_starts_again() {
    let Some(mut broker) = Broker::new() else { return };
    let mut server = Server::new(&broker);
    for _ in 0..2 {
        let mut client =
            broker.client(&["count", r#"{"to":1000,"milliseconds":10}"#]).spawn().unwrap();
        let mut stdout = BufReader::new(client.stdout.take().unwrap());
        assert_eq!(line(&mut stdout), "1 of 1000");
        broker.kill();
        // The call fails at once, and the server goes on trying.
        let output = client.wait_with_output().unwrap();
        let (code, _, error) = texts(&output);
        assert_eq!(code, Some(1));
        assert!(error.starts_with("mqtt_client: the broker is lost: "), "{error}");
        assert!(line(&mut server.stderr).starts_with("the broker is lost: "));
        broker.start_again();
        server.is_serving(&broker);
        let output = broker.client(&["ticket"]).output().unwrap();
        assert_eq!(texts(&output), (Some(0), "1\n", ""));
    }
}

#[test]
fn garbage_over_mqtt_ends_nothing() {
    let Some(broker) = Broker::new() else { return };
    let server = Server::new(&broker);
    let mut peer = Peer::of_one_place(&broker, "peer");
    let mut too_long =
        serde_json::to_vec(&modern("long", "echo", &json!({"text": "x".repeat(MESSAGE)}))).unwrap();
    too_long.truncate(MESSAGE + 1);
    let garbage: [&[u8]; 10] = [
        b"not a message",
        b"\x00\xff\xfe",
        b"}{",
        b"[]",
        b"null",
        b"[1,2]",
        br#"{"jsonrpc":"2.0","id":1,"method":7}"#,
        br#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        &b"[".repeat(100_000),
        &too_long,
    ];
    for (id, garbage) in garbage.into_iter().enumerate() {
        let topic = format!("{}/requests", peer.place);
        peer.publish(topic, garbage, None);
        peer.send(&modern(id, "echo", &json!({"text": "on"})));
        loop {
            let message = peer.message().unwrap();
            if message["id"] == id && message["result"].is_object() {
                break;
            }
            assert!(message["error"].is_object(), "{message}");
        }
    }
    // Topics that belong to no connection, numbers that are none, and messages that the broker may lose.
    for topic in ["mcp/demo/peer/x/requests", "mcp/demo/peer/-1/requests", "mcp/demo//1/requests"] {
        peer.publish(topic.into(), b"not a message", Some("x"));
    }
    let unreliable = serde_json::to_vec(&ticket("unreliable")).unwrap();
    let topic = format!("{}/requests", peer.place);
    peer.client.publish(&topic, QoS::AtMostOnce, false, unreliable).unwrap();
    // The broker keeps a message for later subscribers: the next server is one.
    let retained = serde_json::to_vec(&ticket("retained")).unwrap();
    peer.unacknowledged += 1;
    peer.client.publish(&topic, QoS::AtLeastOnce, true, retained).unwrap();
    assert_eq!(peer.text(), ("retained".into(), "1".into()));
    drop(server);
    let _server = Server::new(&broker);
    peer.sent = 0;
    peer.send(&ticket("first"));
    assert_eq!(peer.text(), ("first".into(), "1".into()));
}

#[test]
fn a_client_that_does_not_read_loses_only_its_own_messages() {
    const ROUNDS: u64 = 30;
    const EACH: u64 = 10;
    let Some(broker) = Broker::new() else { return };
    let _server = Server::new(&broker);
    // It subscribes, and then reads nothing.
    let mut slow = Peer::of_one_place(&broker, "slow");
    let mut peer = Peer::of_one_place(&broker, "peer");
    let call = serde_json::to_vec(&modern(1, "echo", &json!({"text": "x".repeat(1000)}))).unwrap();
    for round in 1..=ROUNDS {
        for _ in 0..EACH {
            peer.publish("mcp/demo/slow/1/requests".into(), &call, None);
        }
        // The server reads in order, so it has handled these.
        peer.send(&ticket(round));
        assert_eq!(peer.text(), (round.into(), round.to_string()));
    }
    let numbers = |message: &Publish| {
        let properties = message.properties.as_ref().unwrap();
        properties.user_properties[0].1.parse::<u64>().unwrap()
    };
    let kept = IN_FLIGHT + QUEUED;
    assert!(kept < ROUNDS * EACH);
    for number in 1..=kept {
        assert_eq!(numbers(&slow.next()), number);
    }
    // The next message reveals the loss by its number.
    peer.publish("mcp/demo/slow/1/requests".into(), &call, None);
    peer.settle();
    assert_eq!(numbers(&slow.next()), ROUNDS * EACH + 1);
}
