//! Races: in every order of messages, each call has one outcome and each request at most one response. All orders,
//! for both roles.

use mcp_sansio::call::Cancellation;
use mcp_sansio::error::CancelError;
use mcp_sansio::json::Raw;
use mcp_sansio::progress::{Progress, ProgressReport};
use mcp_sansio::{
    CallId, CallOptions, Client, ConnectionConfig, Framing, IncomingId, Instant, Limits, Outbox,
    Phase, RespondError, RevisionSet, Server,
};
use mcp_sansio_proptests::Machine;

/// A machine in a session, whose next call has id 2.
#[derive(Clone)]
struct Side<M> {
    machine: M,
    out: Outbox,
    now: Instant,
}

impl<M: Machine> Side<M> {
    fn begun() -> Self {
        let machine = M::with(ConnectionConfig::default(), RevisionSet::LEGACY);
        let out = Outbox::new(Framing::Messages, &Limits::default());
        let mut side = Self { machine, out, now: Instant::from_millis(1_000_000) };
        side.machine.begin(side.now, &mut side.out);
        side
    }

    fn ready() -> Self {
        let mut side = Self::begun();
        if side.sent().is_empty() {
            assert_eq!(side.event_kind(INITIALIZE), "Opened");
            assert_eq!(side.event_kind(INITIALIZED), "Ready");
            side.call_method("ping");
            assert_eq!(
                side.event_kind(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#),
                "CallEnded Result"
            );
        } else {
            assert_eq!(side.event_kind(CONNECTED), "Connected");
        }
        _ = side.sent();
        side
    }

    fn sent(&mut self) -> Vec<String> {
        self.out.messages().map(|message| String::from_utf8(message.to_vec()).unwrap()).collect()
    }

    /// Receives a frame. Returns the kind of the event, and the kind of its outcome or cause.
    fn event_kind(&mut self, frame: &str) -> String {
        let event = self.machine.receive(frame.into(), self.now, &mut self.out);
        event.map_or_else(|| "nothing".to_string(), |event| shown(&event))
    }

    /// Receives a request that must reach the application.
    fn asked(&mut self, frame: &str) -> IncomingId {
        assert_eq!(self.event_kind(frame), "Request");
        self.machine.in_flight().requests().last().unwrap()
    }

    /// Advances the time until any call has expired.
    fn waits(&mut self) -> String {
        self.now = self.now + ConnectionConfig::default().timeouts.idle.unwrap();
        let event = self.machine.handle_timeout(self.now, &mut self.out);
        let shown = event.map_or_else(|| "nothing".to_string(), |event| shown(&event));
        let more = self.machine.handle_timeout(self.now, &mut self.out);
        assert!(more.is_none(), "{more:?}");
        shown
    }

    fn call_method(&mut self, method: &str) -> CallId {
        let options = CallOptions::new().progress();
        self.machine.call_method(method, &(), options, self.now, &mut self.out).unwrap()
    }
}

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const CONNECTED: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"s","version":"1"}}}"#;

/// The kind of an event, and the kind of the outcome or cause in it.
fn shown(event: &impl std::fmt::Debug) -> String {
    let text = format!("{event:?}");
    let word = |text: &str| -> String {
        text.chars().take_while(|character| character.is_alphanumeric()).collect()
    };
    let detail = ["outcome: ", "cause: ", "kind: "]
        .iter()
        .find_map(|name| text.split_once(name))
        .filter(|_| !text.starts_with("Request"))
        .map(|(_, rest)| format!(" {}", word(rest)));
    word(&text) + &detail.unwrap_or_default()
}

/// Every order of the elements.
fn orders<T: Copy>(things: &[T]) -> Vec<Vec<T>> {
    if things.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (at, first) in things.iter().enumerate() {
        let others = [&things[..at], &things[at + 1..]].concat();
        all.extend(orders(&others).into_iter().map(|rest| [vec![*first], rest].concat()));
    }
    all
}

/// An event in the life of a call with id 2 and a request of the peer with the same id.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Act {
    Answer,
    Refusal,
    Progress,
    Cancel,
    Timeout,
    TheirCancel,
    Report,
    Respond,
}

/// The end of a call or request.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Open,
    Answered,
    Cancelled,
    TimedOut,
}

/// An independent call and request with equal ids, and the expected effect of each act.
struct Race<M> {
    side: Side<M>,
    call: CallId,
    request: IncomingId,
    call_end: End,
    request_end: End,
}

impl<M: Machine> Race<M> {
    fn begin(mut side: Side<M>) -> Self {
        let call = side.call_method("x/own");
        assert_eq!(
            side.sent(),
            [r#"{"jsonrpc":"2.0","id":2,"method":"x/own","params":{"_meta":{"progressToken":2}}}"#]
        );
        let request = side.asked(
            r#"{"jsonrpc":"2.0","id":2,"method":"x/own","params":{"_meta":{"progressToken":2}}}"#,
        );
        Self { side, call, request, call_end: End::Open, request_end: End::Open }
    }

    fn act(&mut self, act: Act) {
        match act {
            Act::Answer => self.answer(r#"{"jsonrpc":"2.0","id":2,"result":{}}"#, "Result"),
            Act::Refusal => self.answer(
                r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"m"}}"#,
                "PeerError",
            ),
            Act::Progress => {
                let frame = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":1}}"#;
                let expected = if self.call_end == End::Open { "Progress" } else { "nothing" };
                assert_eq!(self.side.event_kind(frame), expected);
                assert_eq!(self.side.sent(), [""; 0]);
            }
            Act::Cancel => self.cancel(),
            Act::Timeout => self.time_out(),
            Act::TheirCancel => {
                let frame = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#;
                let is_open = self.request_end == End::Open;
                let expected = if is_open { "Cancelled Peer" } else { "nothing" };
                assert_eq!(self.side.event_kind(frame), expected);
                assert_eq!(self.side.sent(), [""; 0]);
                if is_open {
                    self.request_end = End::Cancelled;
                }
            }
            Act::Report => self.report(),
            Act::Respond => self.respond(),
        }
    }

    fn answer(&mut self, frame: &str, outcome: &str) {
        let expected = match self.call_end {
            End::Open => format!("CallEnded {outcome}"),
            End::Answered => "UnmatchedResponse Completed".to_string(),
            End::Cancelled => "UnmatchedResponse Cancelled".to_string(),
            End::TimedOut => "UnmatchedResponse TimedOut".to_string(),
        };
        assert_eq!(self.side.event_kind(frame), expected);
        assert_eq!(self.side.sent(), [""; 0], "nobody answers an answer");
        if self.call_end == End::Open {
            self.call_end = End::Answered;
        }
    }

    fn cancel(&mut self) {
        let cancelled = self.side.machine.cancel(self.call, None, &mut self.side.out);
        if self.call_end == End::Open {
            assert_eq!(cancelled, Ok(Cancellation::Notified));
            assert_eq!(
                self.side.sent(),
                [
                    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#
                ]
            );
            self.call_end = End::Cancelled;
        } else {
            assert_eq!(cancelled, Err(CancelError::NotInFlight));
            assert_eq!(self.side.sent(), [""; 0]);
        }
    }

    fn time_out(&mut self) {
        if self.call_end == End::Open {
            assert_eq!(self.side.waits(), "CallEnded TimedOut");
            assert_eq!(
                self.side.sent(),
                [
                    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2,"reason":"the request timed out"}}"#
                ]
            );
            self.call_end = End::TimedOut;
        } else {
            assert_eq!(self.side.waits(), "nothing");
            assert_eq!(self.side.sent(), [""; 0]);
        }
    }

    fn report(&mut self) {
        let Side { machine, out, now } = &mut self.side;
        let reported = machine.progress(self.request, Progress::new(1_u8), *now, out);
        if let Some(error) = self.too_late() {
            assert_eq!(reported, Err(error));
            assert_eq!(self.side.sent(), [""; 0]);
        } else {
            assert_eq!(reported, Ok(ProgressReport::Sent));
            assert_eq!(
                self.side.sent(),
                [
                    r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":1}}"#
                ]
            );
        }
    }

    fn respond(&mut self) {
        let answer = Raw::new(r#"{"a":1}"#).unwrap();
        let responded = self.side.machine.respond(self.request, &answer, &mut self.side.out);
        if let Some(error) = self.too_late() {
            assert_eq!(responded, Err(error));
            assert_eq!(self.side.sent(), [""; 0]);
        } else {
            assert_eq!(responded, Ok(()));
            assert_eq!(self.side.sent(), [r#"{"jsonrpc":"2.0","id":2,"result":{"a":1}}"#]);
            self.request_end = End::Answered;
        }
    }

    fn too_late(&self) -> Option<RespondError> {
        match self.request_end {
            End::Open => None,
            End::Cancelled => Some(RespondError::Cancelled),
            _ => Some(RespondError::Answered),
        }
    }

    /// Asserts that no state remains and the connection works.
    fn end(mut self) {
        let counts = self.side.machine.in_flight().counts();
        assert_eq!((counts.outbound, counts.inbound), (0, 0));
        assert_eq!(self.side.machine.poll_timeout(), None);
        assert_eq!(self.side.event_kind(r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#), "nothing");
        assert_eq!(self.side.sent(), [r#"{"jsonrpc":"2.0","id":2,"result":{}}"#]);
    }
}

fn run<M: Machine>(acts: &[Act]) {
    let start = Side::<M>::ready();
    for order in orders(acts) {
        let mut race = Race::begin(start.clone());
        for act in &order {
            race.act(*act);
        }
        race.end();
    }
}

/// Proves L-RACE-01, L-RACE-03, L-RACE-07, L-RACE-09, L-RACE-12: the first of these acts that ends the call is its
/// outcome, and later ones are dropped.
#[test]
fn a_call_has_one_outcome_in_every_order() {
    let acts = [Act::Answer, Act::Refusal, Act::Progress, Act::Cancel, Act::Timeout, Act::Respond];
    run::<Client>(&acts);
    run::<Server>(&acts);
}

/// Proves L-RACE-01, L-RACE-02, L-RACE-03, L-RACE-09, L-RACE-13: a request has one end and no message follows it. A
/// call with the same id and token is independent of it.
#[test]
fn calls_and_requests_of_one_id_never_meet_in_any_order() {
    let acts =
        [Act::Answer, Act::Progress, Act::Cancel, Act::TheirCancel, Act::Report, Act::Respond];
    run::<Client>(&acts);
    run::<Server>(&acts);
    let acts = [Act::Timeout, Act::Answer, Act::TheirCancel, Act::TheirCancel, Act::Respond];
    run::<Client>(&acts);
    run::<Server>(&acts);
}

fn cancels_absent_requests<M: Machine>() {
    const REQUEST: &str = r#"{"jsonrpc":"2.0","id":7,"method":"x/own"}"#;
    const CANCEL: &str =
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#;
    let start = Side::<M>::ready();
    // The cancellation overtakes the request, which runs as usual and can still be cancelled.
    let mut side = start.clone();
    assert_eq!(side.event_kind(CANCEL), "nothing");
    let request = side.asked(REQUEST);
    side.machine.respond(request, &(), &mut side.out).unwrap();
    assert_eq!(side.sent(), [r#"{"jsonrpc":"2.0","id":7,"result":{}}"#]);
    assert_eq!(side.event_kind(CANCEL), "nothing", "it has been answered");
    side.asked(REQUEST);
    assert_eq!(side.event_kind(CANCEL), "Cancelled Peer");
    assert_eq!(side.event_kind(CANCEL), "nothing", "it has been cancelled");
    assert_eq!(side.sent(), [""; 0]);
    // The other order.
    let mut side = start;
    let request = side.asked(REQUEST);
    assert_eq!(side.event_kind(CANCEL), "Cancelled Peer");
    let answered = side.machine.respond(request, &(), &mut side.out);
    assert_eq!(answered, Err(RespondError::Cancelled));
    assert_eq!(side.sent(), [""; 0]);
}

/// Proves L-RACE-03, L-RACE-04.
#[test]
fn a_cancellation_that_overtakes_its_request_is_not_remembered() {
    cancels_absent_requests::<Client>();
    cancels_absent_requests::<Server>();
}

/// Messages on different streams arrive in any order: each call ends once, with its own response, and each request
/// arrives once.
fn streams_overtake_each_other<M: Machine>() {
    let messages = [
        (
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":1}}"#,
            2,
        ),
        (r#"{"jsonrpc":"2.0","id":2,"result":{"n":2}}"#, 2),
        (
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":3,"progress":1}}"#,
            3,
        ),
        (r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"m"}}"#, 3),
        (r#"{"jsonrpc":"2.0","id":2,"method":"x/own"}"#, 0),
        (
            concat!(
                r#"{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"t","#,
                r#""status":"working","createdAt":"2025-11-25T10:30:00Z","#,
                r#""lastUpdatedAt":"2025-11-25T10:30:00Z","ttl":null}}"#
            ),
            0,
        ),
    ];
    let mut start = Side::<M>::ready();
    for _ in 0..2 {
        start.call_method("x/own");
    }
    _ = start.sent();
    for order in orders(&[0, 1, 2, 3, 4, 5]) {
        let mut side = start.clone();
        let mut ended = [false; 4];
        for at in order {
            let (frame, call) = messages[at];
            let expected = match at {
                0 | 2 if ended[call] => "nothing",
                0 | 2 => "Progress",
                1 => "CallEnded Result",
                3 => "CallEnded PeerError",
                4 => "Request",
                _ => "Notification",
            };
            assert_eq!(side.event_kind(frame), expected);
            ended[call] = ended[call] || matches!(at, 1 | 3);
        }
        assert_eq!(side.sent(), [""; 0]);
        let counts = side.machine.in_flight().counts();
        assert_eq!((counts.outbound, counts.inbound), (0, 1));
        assert_eq!(side.machine.phase(), Phase::Ready);
    }
}

/// Proves L-RACE-34, L-HTTP-09: also progress after its response.
#[test]
fn no_rule_needs_an_order_between_streams() {
    streams_overtake_each_other::<Client>();
    streams_overtake_each_other::<Server>();
}

/// Messages before the session is open are reported or accepted, and the session opens nevertheless.
fn overtakes_the_handshake<M: Machine>(handshake: &[&str], early: [(&str, &str); 4]) {
    for order in orders(&[0, 1, 2, 3]) {
        for before in 0..=order.len() {
            let mut side = Side::<M>::begun();
            _ = side.sent();
            for at in &order[..before] {
                let (frame, expected) = early[*at];
                assert_eq!(side.event_kind(frame), expected, "{frame}");
                assert_eq!(side.sent(), [""; 0], "{frame}");
            }
            for frame in handshake {
                _ = side.event_kind(frame);
            }
            assert_eq!(side.machine.phase(), Phase::Ready);
            assert_eq!(side.sent().len(), 1, "the answer of a server, or `initialized`");
            for at in &order[before..] {
                let shown = side.event_kind(early[*at].0);
                assert!(!shown.starts_with("Closed"), "{shown}");
            }
            assert_eq!(side.machine.phase(), Phase::Ready);
            assert_eq!(side.sent(), [""; 0]);
        }
    }
}

/// Proves L-RACE-34, L-HTTP-09: notifications overtake the result of `initialize`, or `initialize` itself.
#[test]
fn a_notification_may_overtake_the_handshake() {
    const PROGRESS: &str = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":9,"progress":1}}"#;
    const CANCELLED: &str =
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}"#;
    overtakes_the_handshake::<Client>(
        &[CONNECTED],
        [
            (
                r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"d"}}"#,
                "Notification",
            ),
            (
                r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
                "Violation UnexpectedNotification",
            ),
            (PROGRESS, "Violation UnknownToken"),
            (CANCELLED, "nothing"),
        ],
    );
    overtakes_the_handshake::<Server>(
        &[INITIALIZE, INITIALIZED],
        [
            (
                r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#,
                "Violation UnexpectedNotification",
            ),
            (r#"{"jsonrpc":"2.0","method":"x/own"}"#, "Violation UnexpectedNotification"),
            (PROGRESS, "Violation UnknownToken"),
            (CANCELLED, "nothing"),
        ],
    );
}
