//! The work for one message in which a peer repeats a member: in proportion to the length.

use mcp_sansio::testing::WorkMeter;
use mcp_sansio::{ClientEvent, Revision, ServerEvent};
use mcp_sansio_proptests::{ClientSide, ServerSide, config};

/// Returns an object with a member of the wrong type, so many times, in front of others.
fn repeated(name: &str, times: usize, others: &str) -> String {
    format!("{{{}{others}}}", format!(r#""{name}":1,"#).repeat(times))
}

/// The steps for a completion whose reference repeats a member that its kind does not have.
fn completion(times: usize) -> u64 {
    let mut config = config::server();
    config.capabilities.completions = Some(Default::default());
    let mut side = ServerSide::ready_with(config, Revision::V2025_06_18);
    let reference = repeated("name", times, r#""uri":"x","type":"ref/resource""#);
    let params = format!(r#"{{"argument":{{"name":"a","value":""}},"ref":{reference}}}"#);
    let frame =
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{params}}}"#);
    let meter = WorkMeter::start();
    let event = side.receive(&frame);
    assert!(matches!(event, Some(ServerEvent::Request(_))), "{event:?}");
    meter.steps()
}

/// The steps for a request to a client with these params.
fn asked(method: &str, params: &str) -> u64 {
    let mut side = ClientSide::ready(Revision::V2025_11_25);
    let frame = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
    let meter = WorkMeter::start();
    let event = side.receive(&frame);
    assert!(matches!(event, Some(ClientEvent::Request(_))), "{event:?}");
    meter.steps()
}

fn sample(times: usize) -> u64 {
    let content = repeated("data", times, r#""text":"x","type":"text""#);
    let messages = format!(r#"[{{"role":"user","content":{content}}}]"#);
    asked("sampling/createMessage", &format!(r#"{{"maxTokens":1,"messages":{messages}}}"#))
}

fn form(times: usize) -> u64 {
    let schema = r#""message":"m","requestedSchema":{"type":"object","properties":{}}"#;
    asked("elicitation/create", &repeated("url", times, &format!(r#"{schema},"mode":"form""#)))
}

/// Twice as many members take about twice the work. The kind that decides about them comes last.
#[test]
fn promise_1_repeated_members_take_linear_work() {
    for (what, steps) in
        [("completion", completion as fn(usize) -> u64), ("sample", sample), ("form", form)]
    {
        let (few, many) = (steps(2_000), steps(4_000));
        assert!(0 < few && many < few * 5 / 2, "{what}: {few}, {many}");
    }
}
