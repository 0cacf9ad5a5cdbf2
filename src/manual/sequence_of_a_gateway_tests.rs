//! Draws a call through a gateway: three participants, four machines.

use alloc::vec::Vec;

use super::compare;
use crate::config::Relay;
use crate::drawing::Sequence;
use crate::json::Raw;
use crate::model::{CallToolParams, CallToolResult, ListChanged, method};
use crate::testing::{draw, summary};
use crate::{
    CallOptions, Client, ClientConfig, ClientEvent, Framing, Instant, Limits, Outbox, Outcome,
    Revision, Server, ServerConfig, ServerEvent,
};

const NOW: Instant = Instant::EPOCH;

fn client(relay: Relay) -> Client {
    let mut config = ClientConfig::new("client", "1.0");
    config.known = Some(Revision::V2025_11_25);
    config.connection.relay = relay;
    Client::new(config.into())
}

fn server(relay: Relay) -> Server {
    let mut config = ServerConfig::new("server", "1.0");
    config.capabilities.tools = Some(ListChanged::default());
    config.connection.relay = relay;
    Server::new(config.into())
}

/// A client and a server with their outboxes.
struct Link {
    client: Client,
    server: Server,
    client_out: Outbox,
    server_out: Outbox,
}

impl Link {
    fn open(client: Client, server: Server) -> Self {
        let outbox = || Outbox::new(Framing::Messages, &Limits::default());
        let mut link = Self { client, server, client_out: outbox(), server_out: outbox() };
        link.client.connect(NOW, &mut link.client_out).unwrap();
        while !(link.client_out.is_empty() && link.server_out.is_empty()) {
            _ = link.up(&mut Sequence::new(&["", ""]), 0);
            _ = link.down(&mut Sequence::new(&["", ""]), 0);
        }
        link
    }

    /// Carries the messages of the client, which is the participant `at`, to the server.
    fn up(&mut self, sequence: &mut Sequence, at: usize) -> Option<ServerEvent<'static>> {
        let messages: Vec<_> = self.client_out.messages().map(|message| message.to_vec()).collect();
        messages.into_iter().fold(None, |_, message| {
            draw(sequence, (at, at + 1), &summary(&message));
            self.server.receive(&*message, NOW, &mut self.server_out).map(ServerEvent::into_owned)
        })
    }

    /// Carries the messages of the server to the client, which is the participant `at`.
    fn down(&mut self, sequence: &mut Sequence, at: usize) -> Option<ClientEvent<'static>> {
        let messages: Vec<_> = self.server_out.messages().map(|message| message.to_vec()).collect();
        messages.into_iter().fold(None, |_, message| {
            draw(sequence, (at + 1, at), &summary(&message));
            self.client.receive(&*message, NOW, &mut self.client_out).map(ClientEvent::into_owned)
        })
    }
}

fn sequence() -> Sequence {
    let mut sequence = Sequence::new(&["client", "gateway", "server"]);
    let mut below = Link::open(client(Relay::Nothing), server(Relay::Everything));
    let mut above = Link::open(client(Relay::Everything), server(Relay::Nothing));
    // An earlier call of the gateway, so that the ids of the two sides differ.
    let (params, options) = (CallToolParams::new("build"), CallOptions::new());
    let earlier = above
        .client
        .call::<method::CallTool>(&params, options, NOW, &mut above.client_out)
        .unwrap();
    above.client.cancel(earlier, None, &mut above.client_out).unwrap();

    sequence.note(0, "call()");
    below.client.call::<method::CallTool>(&params, options, NOW, &mut below.client_out).unwrap();
    let Some(ServerEvent::Request(request)) = below.up(&mut sequence, 0) else { panic!() };
    sequence.note(1, "event Request: call_method(), and the pair of handles is stored");
    let (method, params) = (request.method.to_str(), request.params.as_ref());
    let params = params.cloned().unwrap_or(Raw::EMPTY_OBJECT);
    let call = above.client.call_method(&method, &params, options, NOW, &mut above.client_out);
    let Some(ServerEvent::Request(served)) = above.up(&mut sequence, 1) else { panic!() };
    sequence.note(2, "event Request: respond()");
    let result = CallToolResult::text("done");
    above.server.respond(served.id, &result, &mut above.server_out).unwrap();
    let Some(ClientEvent::CallEnded(ended)) = above.down(&mut sequence, 1) else { panic!() };
    assert_eq!(call, Ok(ended.call));
    let Outcome::Result(result) = ended.outcome else { panic!() };
    sequence.note(1, "event CallEnded: respond() with the same result");
    below.server.respond(request.id, &result, &mut below.server_out).unwrap();
    let Some(ClientEvent::CallEnded(_)) = below.down(&mut sequence, 0) else { panic!() };
    sequence.note(0, "event CallEnded: Result");
    sequence
}

/// The exchange of the chapter is that of the machines.
#[test]
fn the_gateway_sequence_diagram_matches_the_machines() {
    compare("sequence_gateway.svg", &sequence().svg("A call through a gateway"));
}
