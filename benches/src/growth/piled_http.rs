//! The cost of a message of a client over HTTP, beside state that the client can pile up.

use std::hint::black_box;
use std::sync::Arc;

use mcp_sansio::http::{
    HttpServerConfig, RequestValidator, ResponseId, ResponsePart, SessionId, Streams,
};
use mcp_sansio::model::ListChanged;
use mcp_sansio::{ConnectionNumber, Frame, Instant, Principal, Server, ServerConfig, ServerEvent};

use super::piled_server::{INITIALIZE, INITIALIZED, MESSAGES, request};
use super::{Meter, Round, Work, limits};

// The streams of a session are an ordered map.
pub(super) const ALL: &[Work] =
    &[Work::piled("http: beside open requests of a session", open).logarithmic()];

/// A session and its streams.
struct Session {
    server: Server,
    streams: Streams,
}

impl Session {
    fn new() -> Self {
        let mut config = ServerConfig::new("bench", "1");
        config.capabilities.tools = Some(ListChanged::notified());
        config.connection.limits = limits();
        let http = Arc::new(HttpServerConfig::default());
        let validator = RequestValidator::new(http, Arc::new(config));
        let id = SessionId::from_random([7; 16]);
        let (server, streams) = validator.session(ConnectionNumber::new(1), id);
        let mut session = Self { server, streams };
        for message in [INITIALIZE, INITIALIZED] {
            let response = session.post(message);
            session.read(response);
        }
        session
    }

    /// Passes a message in as the body of a POST. Returns its response.
    fn post(&mut self, message: &str) -> ResponseId {
        let Self { server, streams } = self;
        let response = streams.begin(Instant::EPOCH);
        let received = streams.message_context(response, Principal::default(), Instant::EPOCH);
        let event: Option<ServerEvent<'_>> =
            server.receive(Frame::from(message), received, streams);
        event.iter().for_each(|event| streams.watch(event));
        streams.received(response);
        response
    }

    /// Reads a response as far as it is there.
    fn read(&mut self, response: ResponseId) {
        let mut buffer = Vec::new();
        while let ResponsePart::Head(_) | ResponsePart::Body =
            self.streams.next(response, Instant::EPOCH, &mut buffer)
        {}
    }

    fn round(mut self) -> Round {
        Box::new(move |meter: &Meter| {
            meter.count(|| {
                for message in MESSAGES {
                    let response = self.post(black_box(message));
                    self.read(response);
                    black_box(self.streams.is_in_use());
                    black_box((self.streams.poll_timeout(), self.server.poll_timeout()));
                    self.streams.woken().for_each(drop);
                }
            });
            MESSAGES.len() as u64
        })
    }
}

fn open(count: usize) -> Round {
    let mut session = Session::new();
    for id in 0..count {
        let call = request(&id.to_string(), "tools/call", r#""name":"t""#);
        session.post(&call);
    }
    session.streams.woken().for_each(drop);
    session.round()
}
