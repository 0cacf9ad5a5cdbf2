//! `attack`, in its shortest form.

use std::process::{Command, Output};

use crate::kit;

fn attack(arguments: &[&str]) -> (String, Option<i32>) {
    let Output { status, stdout, .. } =
        Command::new(kit::attack()).args(arguments).output().unwrap();
    (String::from_utf8(stdout).unwrap(), status.code())
}

/// This attack is the cheapest one, and its result does not depend on the speed of the machine.
#[test]
fn an_attack_is_made_and_measured() {
    let server = kit::example("everything_server");
    let mut arguments = vec!["stdio", "--only", "half-closed", "--seconds", "1"];
    arguments.extend(["--", server.to_str().unwrap(), "--drain", "0.1"]);
    let (table, code) = attack(&arguments);
    assert_eq!(code, Some(0), "{table}");
    let rows: Vec<&str> = table.lines().collect();
    let [.., heading, unloaded, row] = rows[..] else { panic!("{table}") };
    assert!(heading.contains("MiB < 256") && unloaded.starts_with("(no attack)"), "{table}");
    assert!(row.starts_with("half-closed") && row.ends_with("ok"), "{table}");
}

#[test]
fn a_server_that_does_not_serve_breaks_a_bound() {
    let no_server = kit::attack();
    let no_server = no_server.to_str().unwrap();
    let (_, code) = attack(&["stdio", "--only", "noise", "--", no_server, "stdio", "--list"]);
    assert_eq!(code, Some(1));
}

#[test]
fn mistakes_on_the_command_line_have_a_code_of_their_own() {
    for mistake in [
        &["stdio", "--only", "nothing"][..],
        &["http", "--url", "http://192.0.2.1/mcp"],
        &["stdio", "--url", "http://127.0.0.1:1/mcp"],
        &["transport"],
    ] {
        assert_eq!(attack(mistake).1, Some(2), "{mistake:?}");
    }
    let (list, code) = attack(&["http", "--list"]);
    assert_eq!((code, list.contains("\nsession-flood ")), (Some(0), true), "{list}");
}
