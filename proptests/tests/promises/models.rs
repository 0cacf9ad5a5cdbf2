//! The model of a request, `proptests/models`, and the real machines have the same abstract states and transitions.
//! `.ci/run models` checks the model, and compares the larger lists.

use std::fs;
use std::path::Path;

use mcp_sansio_proptests::exploration::request::VARIANTS;

/// Proves L-CANCEL-06, L-CANCEL-09, L-CANCEL-10, L-CANCEL-14, L-CANCEL-16, L-LIFE-28, L-PROG-06, L-PROG-09, L-RACE-01,
/// L-RACE-02, L-RACE-07, L-RACE-09, L-RACE-10, L-RACE-35, L-RACE-36, L-RACE-38, L-TIME-02, L-TIME-03, L-TIME-05,
/// L-TIME-06, L-TIME-07, M-CANC-05, M-CANC-06, M-CANC-09, M-CANC-16, M-PROG-04, M-PROG-06: the model has these rules,
/// and the machines do what the model does, in every order.
#[test]
fn the_machines_have_the_states_of_the_model() {
    for variant in VARIANTS.into_iter().filter(|variant| variant.is_quick) {
        for era in variant.eras() {
            let explored =
                variant.explore(*era).unwrap_or_else(|path| panic!("{variant:?}:\n{path}"));
            let compared = explored.compare(&variant.recorded());
            compared.unwrap_or_else(|difference| panic!("{variant:?}: {difference}"));
        }
    }
}

#[test]
fn the_lists_have_the_choices_of_the_worlds() {
    let table = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/lists.txt");
    let table = fs::read_to_string(table).unwrap();
    let lists: Vec<&str> = table.lines().filter(|line| !line.starts_with('#')).collect();
    let variants: Vec<String> =
        VARIANTS.iter().map(|variant| format!("{} {}", variant.name, variant.macros())).collect();
    assert_eq!(lists, variants);
}

#[test]
fn a_difference_names_a_state() {
    let [variant, ..] = VARIANTS;
    let explored = variant.explore(variant.eras()[0]).unwrap();
    let recorded = variant.recorded();
    let other = recorded.replace("open:0:0 ready 2 [request] ()", "open:0:0 ready 3 [request] ()");
    let difference = explored.compare(&other).unwrap_err();
    assert!(
        difference.contains("only the machines: open:0:0 ready 2 [request] ()"),
        "{difference}"
    );
    assert!(difference.contains("only the model: open:0:0 ready 3 [request] ()"), "{difference}");
    let other = recorded.replace("\ncall: ", "\ncall: 1");
    let difference = explored.compare(&other).unwrap_err();
    assert!(difference.contains("other transitions of the machines: call: "), "{difference}");
}
