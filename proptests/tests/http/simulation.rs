//! Clients and servers with HTTP in between, under faults, from seeds.

use std::hash::Hasher;
use std::sync::Arc;

use mcp_sansio::http::{
    Action, Headers, HttpClient, HttpClientConfig, HttpServer, HttpServerConfig,
};
use mcp_sansio::testing::{Choices, Digest};
use mcp_sansio::{ClientConfig, Frames, Instant, Principal, ServerConfig};
use mcp_sansio_proptests::http_world::{HttpTrial, trace};

/// The number of seeds, unless `HTTP_SEEDS` sets another one.
fn seeds() -> u64 {
    std::env::var("HTTP_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(300)
}

fn run(first: u64, seeds: u64) -> (u64, u64) {
    let (mut digest, mut events) = (Digest::new(), 0);
    for seed in first..first + seeds {
        match HttpTrial::run(&mut Choices::seeded(seed), 150) {
            Ok(trial) => {
                digest.write_u64(trial.digest.finish());
                events += trial.events;
            }
            Err(failure) => panic!("seed {seed}: {failure}"),
        }
    }
    (digest.finish(), events)
}

/// Every call has one outcome, the parts of responses arrive in order with the right content, and nothing is left at
/// the end.
///
/// Proves M-ARCH-10.
#[test]
fn nothing_goes_wrong_over_http() {
    let (_, events) = run(1, seeds());
    assert!(seeds() * 20 < events, "too little happens: {events}");
}

/// Without these occurrences the simulation would prove little.
#[test]
fn everything_comes_about_over_http() {
    let lines: Vec<String> =
        (0..1_200).flat_map(|seed| trace(&mut Choices::seeded(seed), 150)).collect();
    for wanted in [
        "> GET [\"Mcp-Session-Id\"]",
        "> GET [\"Mcp-Session-Id\", \"Last-Event-ID\"]",
        "> DELETE",
        "Mcp-Name",
        "content: Json",
        "retry: 1000",
        "< Body \": \\n\\n\"",
        "kind: BrokenOff",
        "kind: Unreachable",
        "elicitation/create",
        "input_required",
        "notifications/progress",
        "notifications/subscriptions/acknowledged",
        "list_changed",
        "notifications/cancelled",
        "cause: Closed",
        "cause: Peer",
        "broken",
        "client: Task(",
        "outcome: TaskCancelled",
        "outcome: TaskNotFound",
        "outcome: Task(",
        "done 1.",
        ": failed",
        "no such task",
        "too many tasks",
        "server: Expired",
        "tasks/update",
        "tasks/result",
        "tasks/list",
        "notifications/tasks/status",
        "notifications/tasks",
        "is to be cancelled",
        "stranger 1",
        "refused 401 for its token",
        "refused 403 for its token",
        "login: Release",
        "all tokens are revoked",
        "session lost",
        "> copy of",
        "refused 503 on the way",
        "refused 429 on the way",
        "> POST [\"Mcp-Session-Id\"] [{",
        "[] {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"",
        "\"method\":\"ping\"",
        "client: Unresponsive",
        "Violation(",
    ] {
        let often = lines.iter().filter(|line| line.contains(wanted)).count();
        assert!(5 < often, "{wanted}: {often}");
    }
}

/// Promise 10, over HTTP: `Debug` shows no header values, no session ids and no messages.
#[test]
fn promise_10_debug_shows_no_payload_over_http() {
    let now = Instant::from_millis(1);
    let mut config = HttpClientConfig::new("http://localhost/mcp?key=SECRET");
    config.header("Authorization", "Bearer SECRET").unwrap();
    let client = Arc::new(ClientConfig::new("client", "1"));
    let mut client = HttpClient::new(Arc::new(config.clone()), client);
    client.connect(now).unwrap();
    let action = client.poll_action(now).unwrap();
    let server = ServerConfig::new("server", "1");
    let mut http = HttpServer::new(Arc::new(HttpServerConfig::default()), Arc::new(server));
    let Action::Send { exchange, request } = &action else { panic!("{action:?}") };
    let mut fields: Vec<(&str, &[u8])> =
        request.headers.iter().map(|(name, value)| (&**name, value.as_bytes())).collect();
    fields.push(("Host", b"localhost"));
    let headers = Headers::from(&*fields);
    let random = [7; 16];
    let posted =
        http.post(headers, &request.body, Principal::default(), random, now, &|_| None).unwrap();
    let limits = http.limits().clone();
    for frame in Frames::of(&request.body, &limits) {
        assert_eq!(http.receive(posted.unwrap(), frame, now), None);
    }
    let mut reported = Vec::new();
    _ = http.next(posted.unwrap(), now, &mut reported);
    let refused = http.post(headers, b"{SECRET", Principal::default(), random, now, &|_| None);
    let fields: [(&str, &[u8]); 2] =
        [("Content-Type", b"application/json"), ("Mcp-Session-Id", b"SECRET")];
    let mut reader = client.head(*exchange, 200, Headers::from(&fields[..]), now).unwrap();
    assert_eq!(client.chunk(&mut reader, &mut &b"SECRET"[..], now), None);
    let shown = format!("{config:?}{client:?}{action:?}{http:?}{refused:?}{reader:?}{headers:?}");
    assert!(!shown.contains("SECRET") && !shown.contains("83, 69, 67"), "{shown}");
}

/// The same seeds produce the same events.
#[test]
fn http_is_deterministic() {
    assert_eq!(run(7, 30), run(7, 30));
}
