//! Types of the model that an application builds have a setter for each optional member.

use std::collections::{BTreeMap, BTreeSet};

use crate::sources;

/// Types that only the machine builds, or whose members depend on one another and have constructors.
const BUILT_OTHERWISE: [&str; 23] = [
    "AcknowledgedParams",
    "CancelledParams",
    "ClientTaskRequests",
    "CompletionContext",
    "CreateTaskResult",
    "DetailedTask",
    "DiscoverResult",
    "ElicitationTaskRequests",
    "Empty",
    "InitializeParams",
    "InitializeResult",
    "ListTasksResult",
    "ModelHint",
    "ObjectSchema",
    "ProgressParams",
    "SamplingTaskRequests",
    "SelectItems",
    "ServerTaskRequests",
    "SubscriptionFilter",
    "Task",
    "TasksCapability",
    "ToolExecution",
    "ToolTaskRequests",
];

/// Members that a constructor or another method sets.
const SET_OTHERWISE: [&str; 15] = [
    "ClientCapabilities.experimental",
    "ClientCapabilities.extensions",
    "ClientCapabilities.tasks",
    "ElicitParams.mode",
    "ElicitParams.requested_schema",
    "ElicitParams.url",
    "InputRequired.requests",
    "InputRequired.state",
    "PromptArgument.required",
    "ServerCapabilities.experimental",
    "ServerCapabilities.extensions",
    "ServerCapabilities.tasks",
    "Tool.execution",
    "Tool.output_schema",
    "ToolChoice.mode",
];

/// Names of members that no setter can have: a setter would hide `Default::default`, and the machine writes the others.
const NO_SETTER: [&str; 3] = ["default", "input_responses", "request_state"];

/// Returns the names of the optional members in the rows of a type.
fn optional_members(body: &str) -> impl Iterator<Item = &str> {
    body.lines().filter_map(|line| {
        let (name, kind) = line.trim().strip_prefix("pub ")?.split_once(": ")?;
        kind.starts_with("Option<").then_some(name)
    })
}

#[test]
fn a_type_that_an_application_builds_has_all_setters() {
    let sources: BTreeMap<_, _> =
        sources().into_iter().filter(|(name, _)| name.starts_with("src/model/")).collect();
    let words: Vec<_> = sources.values().flat_map(|text| text.split_whitespace()).collect();
    let all = words.join(" ");
    let mut wanted = BTreeSet::new();
    for text in sources.values() {
        for record in text.split("record! {\n").skip(1) {
            let body = record.split("\n}\n").next().unwrap();
            let Some((_, after)) = body.split_once("pub struct ") else { continue };
            let name = after.split(|c: char| !c.is_alphanumeric()).next().unwrap();
            if BUILT_OTHERWISE.contains(&name) {
                continue;
            }
            let members = optional_members(body).filter(|member| !NO_SETTER.contains(member));
            wanted.extend(members.map(|member| format!("{name}.{member}")));
        }
    }
    assert!(100 < wanted.len(), "only {} members were found", wanted.len());
    for member in SET_OTHERWISE {
        assert!(wanted.remove(member), "{member} is no optional member");
    }
    for member in wanted {
        let (name, member) = member.split_once('.').unwrap();
        let of_type = all.split(&format!("setters! {{ {name} {{")).nth(1).unwrap_or_default();
        let of_type = of_type.split('}').next().unwrap();
        let mut words = of_type.split(|c: char| !c.is_alphanumeric() && c != '_');
        assert!(words.any(|word| word == member), "{name} has no setter for {member}");
    }
}
