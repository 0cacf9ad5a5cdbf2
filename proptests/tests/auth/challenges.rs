//! `WWW-Authenticate` challenges: a table of values, and generated values in every form.

mod table;

use mcp_sansio::auth::Challenges;
use mcp_sansio::testing::Choices;
use mcp_sansio_proptests::oracles::challenges::{challenges, check, written};

use table::{MALFORMED, table};

/// The oracle parses the hand-written table.
#[test]
fn the_oracle_reads_the_table() {
    for (fields, expected) in table() {
        assert_eq!(challenges(&fields).as_ref(), Some(&expected), "{fields:?}");
    }
    for fields in MALFORMED {
        assert_eq!(challenges(fields), None, "{fields:?}");
    }
}

/// Proves A-CHAL-12 for the table. Malformed values do not cause a panic or an endless loop.
#[test]
fn the_parser_agrees_on_the_table() {
    let table = table().into_iter().map(|(fields, _)| fields);
    for fields in table.chain(MALFORMED.iter().map(|fields| fields.to_vec())) {
        let fields: Vec<&[u8]> = fields.iter().map(|field| field.as_bytes()).collect();
        check(&fields);
    }
}

/// Returns the schemes of the challenges, with their parameters.
fn read(text: &str) -> Vec<String> {
    let challenges = Challenges::parse(text);
    let shown = challenges.iter().map(|challenge| {
        let params: Vec<_> =
            challenge.params().map(|(name, value)| format!("{name}={value}")).collect();
        let token68 = challenge.token68().into_iter().map(str::to_owned);
        let parts = std::iter::once(challenge.scheme().to_owned()).chain(token68).chain(params);
        parts.collect::<Vec<_>>().join(" ")
    });
    shown.collect()
}

/// An element that the grammar does not allow is skipped up to its comma, and the others are read.
#[test]
fn an_element_that_means_nothing_is_skipped() {
    for (text, expected) in [
        (r#"Bearer a="b" c, Basic"#, &["Basic"][..]),
        (r#"Bearer a="b, Digest, c" d, Basic"#, &["Basic"]),
        (r#"Bearer a="\",Digest,\"" b, Basic"#, &["Basic"]),
        (r"Bearer a b\, Basic", &["Basic"]),
        // A challenge with a single value has no parameters.
        ("Negotiate ab==, realm=c, Basic realm=d", &["Negotiate ab==", "Basic realm=d"]),
    ] {
        assert_eq!(read(text), expected, "{text}");
    }
}

/// The challenges of other schemes say nothing about a token.
#[test]
fn only_bearer_challenges_are_about_a_token() {
    assert_eq!(Challenges::parse("Basic scope=a, Digest").bearer(), None);
    let both = Challenges::parse("Basic error=a, bearer error=b");
    assert_eq!(both.bearer().and_then(|bearer| bearer.error()), Some("b"));
}

/// The first 1024 challenges of a response are read, and as many parameters of each.
#[test]
fn challenges_are_bounded() {
    let [schemes, params] = ["s{} a=b", "p{}=b"].map(|form| {
        let all = (0..1030).map(|number: u32| form.replace("{}", &number.to_string()));
        all.collect::<Vec<_>>().join(", ")
    });
    let challenges = Challenges::parse(&schemes);
    assert_eq!(challenges.iter().count(), 1024);
    assert_eq!(challenges.iter().last().map(|challenge| challenge.scheme()), Some("s1023"));
    let challenges = Challenges::parse(&format!("Bearer {params}, Basic"));
    let counts: Vec<_> = challenges.iter().map(|challenge| challenge.params().count()).collect();
    assert_eq!(counts, [1024, 0]);
}

proptest::proptest! {
    /// The oracle parses every value that the grammar allows.
    #[test]
    fn the_oracle_reads_every_form(
        choices in proptest::collection::vec(proptest::num::u8::ANY, 0..400),
    ) {
        let (fields, expected) = written(&mut Choices::from_bytes(&choices));
        let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
        assert_eq!(challenges(&fields), Some(expected), "{fields:?}");
    }

    /// Proves A-CHAL-12 for every form that the grammar allows.
    #[test]
    fn the_parser_agrees_on_every_form(
        choices in proptest::collection::vec(proptest::num::u8::ANY, 0..400),
    ) {
        let (fields, _) = written(&mut Choices::from_bytes(&choices));
        let fields: Vec<&[u8]> = fields.iter().map(String::as_bytes).collect();
        check(&fields);
    }

    /// Proves A-CHAL-12 for any text, well-formed or not.
    #[test]
    fn the_parser_agrees_on_any_text(
        fields in proptest::collection::vec("(Bearer|Basic|a|=|\"|\\\\|,|/|;|[ \t]|é|\u{85}|\\PC){0,16}", 0..3),
    ) {
        let fields: Vec<&[u8]> = fields.iter().map(String::as_bytes).collect();
        check(&fields);
    }
}
