//! Challenges of `WWW-Authenticate`: a table of values, and values that are written in every form.

mod table;

use mcp_sansio::testing::Choices;
use mcp_sansio_proptests::oracles::challenges::{challenges, written};

use table::{MALFORMED, table};

/// The oracle reads the table, which is written by hand.
#[test]
fn the_oracle_reads_the_table() {
    for (fields, expected) in table() {
        assert_eq!(challenges(&fields).as_ref(), Some(&expected), "{fields:?}");
    }
    for fields in MALFORMED {
        assert_eq!(challenges(fields), None, "{fields:?}");
    }
}

proptest::proptest! {
    /// The oracle reads whatever the grammar allows to be written.
    #[test]
    fn the_oracle_reads_every_form(
        choices in proptest::collection::vec(proptest::num::u8::ANY, 0..400),
    ) {
        let (fields, expected) = written(&mut Choices::from_bytes(&choices));
        let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
        assert_eq!(challenges(&fields), Some(expected), "{fields:?}");
    }
}
