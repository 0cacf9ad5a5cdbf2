//! The checks of the fuzz targets with seeds instead of bytes, so that every test run covers them.

use mcp_sansio::testing::Choices;
use mcp_sansio_proptests::oracles;
use mcp_sansio_proptests::oracles::frames::check_frames;
use mcp_sansio_proptests::oracles::tasks::check_tasks;
use mcp_sansio_proptests::oracles::texts::{EXAMPLES, check_text};
use mcp_sansio_proptests::world::hostile;

fn seeds() -> std::ops::Range<u64> {
    let seeds = std::env::var("PROPTEST_CASES").ok().and_then(|seeds| seeds.parse().ok());
    0..seeds.unwrap_or(500)
}

/// Promise 5 for the inbox alone: chunking makes no difference, and every line is returned once and complete.
#[test]
fn every_line_comes_out_once() {
    for seed in seeds() {
        let mut choices = Choices::seeded(seed);
        let mut bytes = Vec::new();
        for _ in 0..choices.below(12) {
            match choices.below(7) {
                0 => bytes.extend(hostile::to_server(&mut choices).bytes()),
                1 => bytes.extend((0..choices.below(30)).map(|_| choices.below(256) as u8)),
                2 => bytes.extend(b"\xef\xbb\xbf"),
                3 => bytes.extend(b" \t\r"),
                4 => bytes.extend(b"{\"a\":1}\r"),
                5 => bytes.extend(vec![b' '; choices.below(300) as usize]),
                _ => bytes.extend(vec![b'x'; choices.below(300) as usize]),
            }
            if !choices.one_in(4) {
                bytes.push(b'\n');
            }
        }
        check_frames(&mut choices, &bytes);
    }
}

/// Tasks behave like a model of them under any operations and requests.
#[test]
fn tasks_agree_with_their_model() {
    for seed in seeds() {
        check_tasks(&mut Choices::seeded(seed), 60);
    }
}

/// Reusing the state of a client's repeated metadata does not change its meaning.
#[test]
fn reused_client_metadata_keeps_its_meaning() {
    seeds().for_each(|seed| oracles::repeated::check_repeated(&mut Choices::seeded(seed)));
}

/// A call is judged as in any other form, although the usual form takes a short path.
#[test]
fn usual_calls_are_judged_like_others() {
    seeds().for_each(|seed| oracles::calls::check_call(&mut Choices::seeded(seed)));
}

/// A server responds to any sequence of HTTP requests in order, and keeps nothing.
#[test]
fn any_request_of_http_is_answered_in_order() {
    seeds().for_each(|seed| oracles::http::ask_anything(&mut Choices::seeded(seed)));
}

/// Any HTTP responses end every call of a client once.
#[test]
fn any_response_of_http_ends_calls_once() {
    seeds().for_each(|seed| oracles::http::answer_anything(&mut Choices::seeded(seed)));
}

/// The functions that read a text of the peer accept what was made for them, also after random changes.
#[test]
fn texts_of_the_peer_are_read_as_they_were_made() {
    for seed in seeds() {
        let mut choices = Choices::seeded(seed);
        for (kind, text) in EXAMPLES {
            check_text(*kind, text);
            let mut letters: Vec<char> = text.chars().collect();
            for _ in 0..=choices.below(3) {
                let at = choices.below(letters.len() as u64 + 1) as usize;
                let until = (at + choices.below(3) as usize).min(letters.len());
                let other = choices.pick(&['\n', ' ', '"', '-', '0', '=', 'a', 'é']);
                letters.splice(at..until, other.filter(|_| !choices.one_in(3)));
            }
            check_text(choices.below(256) as u8, &letters.iter().collect::<String>());
            check_text(*kind, &letters.into_iter().collect::<String>());
        }
    }
}

proptest::proptest! {
    /// Proves H-HTTP-235 for any text, cut anywhere.
    #[test]
    fn events_are_read_as_the_standard_says(
        lines in proptest::collection::vec("(data|event|id|retry|x|):? ?[ -~é\0]{0,6}(\n|\r|\r\n|\n\n|\r\r|)", 0..12),
        cuts in proptest::collection::vec(1_u8..9, 1..6),
    ) {
        oracles::sse::check(lines.concat().as_bytes(), &cuts);
    }
}
