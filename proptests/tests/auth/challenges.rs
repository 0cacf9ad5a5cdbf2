//! `WWW-Authenticate` challenges: a table of values, and generated values in every form.

mod table;

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
