//! Tests that README's server is measured, and that the client finds the ends of responses.

use std::time::Duration;

use super::client::processor_time;
use super::http_client::is_whole;
use super::pairs::{Round, median, ratio};

/// Returns a function of a source file, or the lines up to the next unindented closing brace.
fn item<'a>(source: &'a str, begins: &str) -> &'a str {
    let start = source.find(begins).unwrap();
    let end = source[start..].find("\n}\n").unwrap();
    &source[start..start + end]
}

#[test]
fn the_handler_is_that_of_the_example() {
    let example = include_str!("../../../examples/hello_server.rs");
    let measured = include_str!("ours.rs");
    for begins in ["const SCHEMA", "#[derive(serde::Deserialize)]\nstruct", "fn serve("] {
        assert_eq!(item(example, begins), item(measured, begins));
    }
}

#[test]
fn a_response_is_whole_with_its_last_byte() {
    let responses: [&[u8]; 3] = [
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n12345",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n12345\r\n0\r\n\r\n",
        b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n",
    ];
    for response in responses {
        for cut in 0..response.len() {
            assert!(!is_whole(&response[..cut]), "{cut} bytes of {response:?}");
        }
        assert!(is_whole(response));
    }
}

#[test]
fn processor_time_is_read_behind_any_name() {
    let stat = "7 (a) b (c)) S 1 2 3 4 5 6 7 8 9 10 120 34 0 0 20 0 3 0 99";
    assert_eq!(processor_time(stat), Some(Duration::from_millis(1_540)));
    assert_eq!(processor_time("7 (hello) S 1 2"), None);
}

#[test]
fn rounds_are_compared_in_pairs() {
    assert_eq!(median([3.0, 1.0, 2.0]), 2.0);
    assert_eq!(median([4.0, 1.0, 2.0, 3.0]), 2.5);
    let rounds = |calls: [f64; 3]| {
        calls.map(|calls_per_second| Round { calls_per_second, processor_micros: 1.0 })
    };
    // The ratio of the medians would hide the difference.
    let (ours, theirs) = (rounds([2.0, 4.0, 6.0]), rounds([1.0, 4.0, 6.0]));
    assert_eq!(ratio(&ours, &theirs, |round| round.calls_per_second), 1.0);
    let theirs = rounds([4.0, 8.0, 3.0]);
    assert_eq!(ratio(&ours, &theirs, |round| round.calls_per_second), 0.5);
}
