//! The floor: the cost of only parsing and serializing the JSON of the same messages.
//!
//! Every message is parsed once, into a borrowing struct. Typed structs are serialized one after another into a
//! preallocated buffer. The floor does no framing, no validation and no routing: the responses are known beforehand.

mod json;
mod written;

use std::hint::black_box;

use serde::Serialize;

#[cfg(feature = "contenders")]
use self::json::Sonic;
use self::json::{Json, SerdeJson};
use self::written::{
    Empty, Implementation, ListToolsResult, Meta, Progress, Request, Response, StatelessEcho, Tool,
};
use crate::messages::{self, CallParams, Echo};
use crate::stage::{stage_driving, stage_reading, stage_writing};
use crate::{Case, Rounds, sent};

/// Returns the work of a case on serde_json.
pub(crate) fn serde_json(case: Case) -> Option<Rounds> {
    rounds::<SerdeJson>(case)
}

/// Returns the work of a case on sonic-rs.
#[cfg(feature = "contenders")]
pub(crate) fn sonic(case: Case) -> Option<Rounds> {
    rounds::<Sonic>(case)
}

fn rounds<J: Json>(case: Case) -> Option<Rounds> {
    let large = messages::large_text;
    let rounds = match case {
        Case::ScanPing => scans::<J>(messages::PING),
        Case::ScanCall => scans::<J>(&messages::call(messages::TEXT)),
        Case::ScanLargeCall => scans::<J>(&messages::call(&large())),
        Case::Ping => answers::<J, _>(messages::PING, Empty {}),
        Case::Call | Case::TypedCall => echoes::<J>(messages::TEXT.to_owned()),
        Case::StatelessCall | Case::TypedStatelessCall => {
            answers::<J, _>(&messages::stateless_call(messages::TEXT), stateless_echo())
        }
        Case::ListTools => answers::<J, _>(messages::LIST, tools::<J>()),
        Case::ListPreparedTools => answers::<J, _>(messages::LIST, J::keep(&tools::<J>())),
        Case::LargeCall => echoes::<J>(large()),
        Case::Progress => reports::<J>(),
        Case::ClientCall => calls::<J>(),
        Case::ClientProgress => progress::<J>(),
        Case::RoundTrip | Case::RoundTripOf64 => round_trips::<J>(case.batch()),
        _ => return None,
    };
    Some(rounds)
}

/// Parses a message and passes it to `with`.
fn read<J: Json, R>(message: &[u8], with: impl FnOnce(&json::Envelope<'_, J::Lazy<'_>>) -> R) -> R {
    let envelope = stage_reading(|| J::read(black_box(message)));
    with(black_box(&envelope))
}

/// Serializes a message as a line.
fn write<J: Json, T: Serialize>(message: &T, out: &mut Vec<u8>) {
    stage_writing(|| {
        J::write(black_box(message), out);
        out.push(b'\n');
    });
}

/// Parses a request and writes the response.
fn answer<J: Json, R: Serialize>(request: &[u8], result: &R, out: &mut Vec<u8>) {
    read::<J, _>(request, |request| {
        write::<J, _>(&Response { jsonrpc: "2.0", id: request.id.as_ref(), result }, out);
    });
}

/// Sends the contents of the buffer.
fn send(out: &mut Vec<u8>) {
    assert_ne!(sent::send(out), 0);
    out.clear();
}

fn scans<J: Json>(message: &str) -> Rounds {
    let message = message.to_owned();
    Box::new(move |rounds| {
        for _ in 0..rounds {
            read::<J, _>(message.as_bytes(), |_| ());
        }
    })
}

fn answers<J: Json, R: Serialize + 'static>(request: &str, result: R) -> Rounds {
    let (line, mut out) = (messages::line(request), Vec::new());
    Box::new(move |rounds| {
        for _ in 0..rounds {
            answer::<J, _>(&line, &result, &mut out);
            send(&mut out);
        }
    })
}

fn echoes<J: Json>(text: String) -> Rounds {
    let (line, mut out) = (messages::line(&messages::call(&text)), Vec::new());
    Box::new(move |rounds| {
        for _ in 0..rounds {
            answer::<J, _>(&line, &Echo::of(&text), &mut out);
            send(&mut out);
        }
    })
}

fn stateless_echo() -> StatelessEcho<'static> {
    StatelessEcho {
        result_type: "complete",
        content: Echo::of(messages::TEXT).content,
        meta: Meta { server_info: Implementation { name: "bench", version: "1" } },
    }
}

fn tools<J: Json>() -> ListToolsResult<J::Kept> {
    let tools = (0..messages::TOOLS).map(|index| Tool {
        name: messages::tool_name(index),
        description: messages::tool_description(index),
        input_schema: J::keep_raw(messages::SCHEMA),
    });
    ListToolsResult { tools: tools.collect() }
}

fn reports<J: Json>() -> Rounds {
    let (mut done, mut out) = (0, Vec::new());
    Box::new(move |rounds| {
        for _ in 0..rounds {
            done += 1;
            let params = Progress { progress_token: 1, progress: done };
            let method = "notifications/progress";
            write::<J, _>(&Request { jsonrpc: "2.0", id: None, method, params }, &mut out);
            send(&mut out);
        }
    })
}

/// Writes the tool call with this id.
fn call<J: Json>(id: u64, out: &mut Vec<u8>) {
    let (method, params) = ("tools/call", CallParams::of(messages::TEXT));
    write::<J, _>(&Request { jsonrpc: "2.0", id: Some(id), method, params }, out);
}

fn calls<J: Json>() -> Rounds {
    // Id 1 belongs to the first request of the session.
    let (mut id, mut out, mut response) = (1, Vec::new(), Vec::new());
    Box::new(move |rounds| {
        for _ in 0..rounds {
            id += 1;
            call::<J>(id, &mut out);
            send(&mut out);
            stage_driving(|| messages::answer(id, &mut response));
            read::<J, _>(&response, |_| ());
        }
    })
}

fn progress<J: Json>() -> Rounds {
    let (mut done, mut report) = (0, Vec::new());
    Box::new(move |rounds| {
        for _ in 0..rounds {
            done += 1;
            stage_driving(|| messages::report(2, done, &mut report));
            read::<J, _>(&report, |_| ());
        }
    })
}

fn round_trips<J: Json>(at_once: usize) -> Rounds {
    let (mut id, mut requests, mut responses) = (1, Vec::new(), Vec::new());
    let mut ends = Vec::with_capacity(at_once);
    Box::new(move |rounds| {
        assert_eq!(rounds % at_once, 0);
        for _ in 0..rounds / at_once {
            for _ in 0..at_once {
                id += 1;
                call::<J>(id, &mut requests);
                ends.push(requests.len());
            }
            let mut start = 0;
            for end in &mut ends {
                let request = &requests[start..*end];
                start = *end;
                answer::<J, _>(request, &Echo::of(messages::TEXT), &mut responses);
                *end = responses.len();
            }
            send(&mut requests);
            start = 0;
            for end in ends.drain(..) {
                read::<J, _>(&responses[start..end], |_| ());
                start = end;
            }
            send(&mut responses);
        }
    })
}
