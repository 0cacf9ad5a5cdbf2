//! Tests that all contenders send the same messages.

use crate::{Case, Contender, output};
use serde_json::{Value, json};

/// Cases that send nothing.
const SILENT: [Case; 4] =
    [Case::ScanPing, Case::ScanCall, Case::ScanLargeCall, Case::ClientProgress];

fn sent(case: Case, contender: Contender) -> String {
    String::from_utf8(output(case, contender).unwrap()).unwrap()
}

#[test]
fn the_floor_sends_the_same_bytes() {
    for case in Case::of_machines() {
        let ours = sent(case, Contender::Core);
        assert_eq!(ours.is_empty(), SILENT.contains(&case), "{case}");
        for contender in [Contender::SerdeJson, Contender::Sonic] {
            assert!(sent(case, contender) == ours, "{contender} sends something else in {case}");
        }
    }
}

/// Returns a message without its implementation-defined parts: the id, `_meta`, and the format of the progress
/// number.
fn essence(message: &str) -> Value {
    let mut message: Value = serde_json::from_str(message).unwrap();
    message["id"].take();
    for part in ["params", "result"] {
        if let Some(part) = message.get_mut(part).and_then(Value::as_object_mut) {
            part.remove("_meta");
            if let Some(progress) = part.get_mut("progress") {
                *progress = json!(progress.as_f64());
            }
        }
    }
    message
}

/// The traffic between the client and the server of the official SDK is not captured.
#[test]
fn the_official_sdk_sends_the_same_messages() {
    let mut compared = 0;
    for case in Case::of_machines() {
        let ours = sent(case, Contender::Core);
        let Some(theirs) = output(case, Contender::Rmcp) else { continue };
        let theirs = String::from_utf8(theirs).unwrap();
        let linked = matches!(case, Case::RoundTrip | Case::RoundTripOf64);
        assert_eq!(theirs.is_empty(), linked || SILENT.contains(&case), "{case}");
        if !theirs.is_empty() {
            assert!(essence(&ours) == essence(&theirs), "{case}: {theirs}");
            compared += 1;
        }
    }
    assert_eq!(compared, 9);
}
