//! Races between a client and a server on one wire, for both callers and both orders of arrival.

use std::time::Duration;

use mcp_sansio::call::Timeout;
use mcp_sansio::event::Expiry;
use mcp_sansio::progress::Progress;
use mcp_sansio::{CallId, CallOptions, Cause, Client, IncomingId, Outcome, RespondError, Server};
use mcp_sansio_proptests::{Machine, Meaning, Pair, Seen, config, ready};

/// The side that calls.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Caller {
    Client,
    Server,
}

const BOTH: [Caller; 2] = [Caller::Client, Caller::Server];

/// The result of a call that is answered in time.
const ANSWER: &str = r#"{"_meta":{"answer":1}}"#;

/// A pair in a session, from the perspective of the caller.
struct Link {
    pair: Pair,
    caller: Caller,
}

impl Link {
    fn ready(caller: Caller) -> Self {
        Self { pair: ready(config::client(), config::server()), caller }
    }

    /// Calls a method that the application of the peer answers.
    fn call(&mut self) -> CallId {
        let options = CallOptions::new().progress().total(Timeout::After(Duration::from_secs(1)));
        let Pair { client, server, client_out, server_out, now, .. } = &mut self.pair;
        match self.caller {
            Caller::Client => client.call_method("x/y", &(), options, *now, client_out).unwrap(),
            Caller::Server => server.call_method("x/y", &(), options, *now, server_out).unwrap(),
        }
    }

    fn cancel(&mut self, call: CallId) {
        let Pair { client, server, client_out, server_out, .. } = &mut self.pair;
        match self.caller {
            Caller::Client => client.cancel(call, None, client_out).unwrap(),
            Caller::Server => server.cancel(call, None, server_out).unwrap(),
        };
    }

    fn respond(&mut self, request: IncomingId) -> Result<(), RespondError> {
        let result = mcp_sansio::json::Raw::new(ANSWER).unwrap();
        let Pair { client, server, client_out, server_out, .. } = &mut self.pair;
        match self.caller {
            Caller::Client => server.respond(request, &result, server_out),
            Caller::Server => client.respond(request, &result, client_out),
        }
    }

    fn progress(&mut self, request: IncomingId) -> bool {
        let Pair { client, server, client_out, server_out, now, .. } = &mut self.pair;
        let progress = Progress::new(1_u8);
        match self.caller {
            Caller::Client => server.progress(request, progress, *now, server_out).is_ok(),
            Caller::Server => client.progress(request, progress, *now, client_out).is_ok(),
        }
    }

    /// Delivers the output of the caller.
    fn there(&mut self) -> Vec<Meaning> {
        let seen = match self.caller {
            Caller::Client => self.pair.to_server(usize::MAX),
            Caller::Server => self.pair.to_client(usize::MAX),
        };
        seen.iter().map(meaning).collect()
    }

    /// Delivers the output of the peer.
    fn back(&mut self) -> Vec<Meaning> {
        let seen = match self.caller {
            Caller::Client => self.pair.to_client(usize::MAX),
            Caller::Server => self.pair.to_server(usize::MAX),
        };
        seen.iter().map(meaning).collect()
    }

    /// Delivers the output of the caller, which must be one request.
    fn asked(&mut self) -> IncomingId {
        match self.there()[..] {
            [Meaning::Request(request)] => request,
            ref other => panic!("not one request: {other:?}"),
        }
    }

    /// Advances the time of the caller.
    fn elapse(&mut self) -> Vec<Meaning> {
        let Pair { client, server, client_out, server_out, now, .. } = &mut self.pair;
        *now = *now + Duration::from_secs(1);
        let mut seen = Vec::new();
        match self.caller {
            Caller::Client => {
                while let Some(event) = client.handle_timeout(*now, client_out) {
                    seen.push(Client::meaning_of(&event));
                }
            }
            Caller::Server => {
                while let Some(event) = server.handle_timeout(*now, server_out) {
                    seen.push(Server::meaning_of(&event));
                }
            }
        }
        seen
    }

    /// Ends the connection of the caller.
    fn end(&mut self) -> Vec<Meaning> {
        let Pair { client, server, client_out, server_out, now, .. } = &mut self.pair;
        let mut seen = Vec::new();
        match self.caller {
            Caller::Client => {
                client.disconnected(Cause::ReadFailed, *now);
                while let Some(event) = client.handle_timeout(*now, client_out) {
                    seen.push(Client::meaning_of(&event));
                }
            }
            Caller::Server => {
                server.disconnected(Cause::ReadFailed, *now);
                while let Some(event) = server.handle_timeout(*now, server_out) {
                    seen.push(Server::meaning_of(&event));
                }
            }
        }
        seen
    }

    fn pending(&self) -> (usize, usize) {
        let (client, server) = (&self.pair.client, &self.pair.server);
        match self.caller {
            Caller::Client => {
                (client.in_flight().calls().count(), server.in_flight().requests().count())
            }
            Caller::Server => {
                (server.in_flight().calls().count(), client.in_flight().requests().count())
            }
        }
    }
}

fn meaning(seen: &Seen) -> Meaning {
    match seen {
        Seen::Client(event) => Client::meaning_of(event),
        Seen::Server(event) => Server::meaning_of(event),
    }
}

#[track_caller]
fn is_answered(seen: &[Meaning], call: CallId) {
    match seen {
        [Meaning::CallEnded(ended, Outcome::Result(result))] => {
            assert_eq!((*ended, result.as_json()), (call, ANSWER));
        }
        other => panic!("not the answer: {other:?}"),
    }
}

/// Proves L-RACE-01, L-RACE-02, L-RACE-03, L-CANCEL-10.
#[test]
fn a_cancellation_and_an_answer_cross_in_both_directions() {
    for caller in BOTH {
        let mut link = Link::ready(caller);
        let call = link.call();
        let request = link.asked();
        link.respond(request).unwrap();
        link.cancel(call);
        assert_eq!(link.there(), [], "{caller:?}: it has been answered");
        assert_eq!(link.back(), [Meaning::Other], "{caller:?}: an answer nobody waits for");
        assert_eq!(link.pending(), (0, 0));

        let call = link.call();
        let request = link.asked();
        link.cancel(call);
        assert_eq!(link.there(), [Meaning::RequestEnded(request)]);
        assert_eq!(link.respond(request), Err(RespondError::Cancelled));
        assert!(!link.progress(request), "nothing is said of it any more");
        assert_eq!(link.back(), []);
        assert_eq!(link.pending(), (0, 0));
    }
}

/// Proves L-RACE-07: a response that has arrived counts, unless the call was over before.
#[test]
fn a_timeout_and_an_answer_cross_in_both_directions() {
    for caller in BOTH {
        let mut link = Link::ready(caller);
        let call = link.call();
        let request = link.asked();
        link.respond(request).unwrap();
        is_answered(&link.back(), call);
        assert_eq!(link.elapse(), []);

        let call = link.call();
        let request = link.asked();
        link.respond(request).unwrap();
        let expired = Outcome::TimedOut(Expiry::Total);
        assert_eq!(link.elapse(), [Meaning::CallEnded(call, expired)]);
        assert_eq!(link.back(), [Meaning::Other], "{caller:?}: an answer nobody waits for");
        assert_eq!(link.there(), [], "{caller:?}: the cancellation of what has been answered");
        assert_eq!(link.pending(), (0, 0));
    }
}

/// Proves L-RACE-08, L-RACE-09.
#[test]
fn progress_and_the_end_of_its_call_cross_in_both_directions() {
    for caller in BOTH {
        let mut link = Link::ready(caller);
        let call = link.call();
        let request = link.asked();
        assert!(link.progress(request));
        link.respond(request).unwrap();
        assert!(!link.progress(request), "{caller:?}: it has been answered");
        let mut seen = link.back();
        assert_eq!(seen.remove(0), Meaning::Other, "{caller:?}: the progress");
        is_answered(&seen, call);

        let call = link.call();
        let request = link.asked();
        assert!(link.progress(request));
        link.cancel(call);
        // The progress is late and produces no event that belongs to another call.
        let late = link.back();
        assert!(late.iter().all(|meaning| *meaning == Meaning::Other), "{late:?}");
        assert_eq!(link.there(), [Meaning::RequestEnded(request)]);
        assert_eq!(link.pending(), (0, 0));
    }
}

/// Proves L-RACE-13: each side cancels and answers only its own request, in both orders.
#[test]
fn calls_of_the_same_id_cross() {
    for caller in BOTH {
        let mut link = Link::ready(caller);
        let other = if caller == Caller::Client { Caller::Server } else { Caller::Client };
        // The client has called `initialize` already. From then on the ids of both sides are equal.
        link.caller = Caller::Server;
        let call = link.call();
        let request = link.asked();
        link.respond(request).unwrap();
        is_answered(&link.back(), call);
        link.caller = caller;
        let first = link.call();
        link.caller = other;
        let second = link.call();
        let asked_second = link.asked();
        link.caller = caller;
        let asked_first = link.asked();
        link.cancel(first);
        assert_eq!(link.there(), [Meaning::RequestEnded(asked_first)]);
        link.caller = other;
        link.respond(asked_second).unwrap();
        is_answered(&link.back(), second);
        assert_eq!(link.pending(), (0, 0));
    }
}

/// Proves L-RACE-31, L-RACE-58.
#[test]
fn the_end_of_a_connection_and_an_answer_cross_in_both_directions() {
    for caller in BOTH {
        let mut link = Link::ready(caller);
        let calls = [link.call(), link.call()];
        let [Meaning::Request(first), Meaning::Request(second)] = link.there()[..] else {
            panic!("not two requests");
        };
        let closed = |call| Meaning::CallEnded(call, Outcome::Closed(Cause::ReadFailed));
        assert_eq!(link.end(), [closed(calls[0]), closed(calls[1]), Meaning::Closed]);
        link.respond(first).unwrap();
        assert_eq!(link.back(), [], "{caller:?}: nobody is there");

        link.caller = if caller == Caller::Client { Caller::Server } else { Caller::Client };
        assert_eq!(link.end(), [Meaning::RequestEnded(second), Meaning::Closed]);
        link.caller = caller;
        assert_eq!(link.respond(second), Err(RespondError::Closed));
    }
}
