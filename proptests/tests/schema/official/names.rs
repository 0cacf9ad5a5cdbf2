//! Every name of the specification can be found in the documentation and leads to its type.

use std::fs;
use std::path::Path;

use mcp_sansio::Revision;

use super::closed::Schemas;

/// Collects the sources of the core.
fn sources(folder: &Path, text: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, text);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            text.push_str(&fs::read_to_string(path).unwrap());
        }
    }
}

/// Every definition of every schema is a public type of its name, or an alias of one.
#[test]
fn every_name_of_the_schemas_leads_to_a_type() {
    let mut text = String::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../src"), &mut text);
    let declared = |name: &str| {
        let types = ["struct", "enum", "trait", "type"].map(|kind| format!("pub {kind} {name}"));
        let is_whole = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        types.iter().any(|start| text.split(start.as_str()).skip(1).any(is_whole))
    };
    let aliases: Vec<&str> = text
        .split("doc(alias")
        .skip(1)
        .flat_map(|rest| rest.split(']').next().unwrap().split('"').skip(1).step_by(2))
        .collect();
    let mut names = 0;
    for revision in Revision::ALL {
        let Some(schemas) = Schemas::of(revision) else { return };
        for name in schemas.names() {
            assert!(aliases.contains(&name) || declared(name), "{revision}: {name}");
            names += 1;
        }
    }
    assert!(500 < names, "only {names} names were looked up");
}
