use alloc::string::ToString;

use super::features::Feature;
use super::methods::{Declared, NotificationKind, RequestKind, Sender};
use super::*;
use crate::capability::{Capability, CapabilitySet, Owner};
use crate::json::{Raw, Str};
use crate::model::{
    ClientCapabilities, ElicitationCapability, EmptyCapability, ListChanged, ResourcesCapability,
    ServerCapabilities,
};
use crate::version::Revision;

fn server(json: &str) -> Option<CapabilitySet> {
    CapabilitySet::read(Owner::Server, json)
}

fn client(json: &str) -> Option<CapabilitySet> {
    CapabilitySet::read(Owner::Client, json)
}

fn set<const N: usize>(capabilities: [Capability; N]) -> Option<CapabilitySet> {
    Some(capabilities.into_iter().collect())
}

/// Proves L-CAP-07, L-CAP-08, L-CAP-09.
#[test]
fn a_capability_is_there_if_its_key_holds_an_object() {
    use Capability::{
        Completions, Logging, Resources, ResourcesSubscribe, Tools, ToolsListChanged,
    };
    assert_eq!(server("{}"), set([]));
    assert_eq!(server(r#"{"tools":{}}"#), set([Tools]));
    assert_eq!(server(r#"{"tools":{"listChanged":true}}"#), set([Tools, ToolsListChanged]));
    assert_eq!(server(r#"{"tools":{"listChanged":false}}"#), set([Tools]));
    assert_eq!(server(r#"{"tools":{"listChanged":null}}"#), set([Tools]));
    assert_eq!(
        server(r#"{"resources":{"subscribe":true},"logging":{},"completions":{}}"#),
        set([Resources, ResourcesSubscribe, Logging, Completions])
    );
    assert_eq!(server(r#"{"tools":null}"#), set([]));
    assert_eq!(server(r#"{"tools":true}"#), None);
    assert_eq!(server(r#"{"tools":[]}"#), None);
    assert_eq!(server(r#"[]"#), None);
    assert_eq!(server(r#"{"extensions":{"x":{}},"experimental":7,"roots":true}"#), set([]));
}

/// Proves L-ELIC-14.
#[test]
fn elicitation_without_a_mode_means_the_form() {
    use Capability::{
        Elicitation, ElicitationForm, ElicitationUrl, Roots, RootsListChanged, Sampling,
        SamplingContext, SamplingTools,
    };
    assert_eq!(client(r#"{"elicitation":{}}"#), set([Elicitation, ElicitationForm]));
    assert_eq!(client(r#"{"elicitation":{"form":{}}}"#), set([Elicitation, ElicitationForm]));
    assert_eq!(client(r#"{"elicitation":{"url":{}}}"#), set([Elicitation, ElicitationUrl]));
    assert_eq!(
        client(r#"{"elicitation":{"url":{},"form":{}}}"#),
        set([Elicitation, ElicitationForm, ElicitationUrl])
    );
    assert_eq!(
        client(r#"{"sampling":{"tools":{},"context":{}},"roots":{"listChanged":true}}"#),
        set([Sampling, SamplingTools, SamplingContext, Roots, RootsListChanged])
    );
}

#[test]
fn server_capabilities_convert_to_a_capability_set() {
    let mut declared = ServerCapabilities::default();
    declared.tools = Some(ListChanged::notified());
    declared.resources = Some(ResourcesCapability::notified());
    declared.prompts = Some(ListChanged::default());
    declared.completions = Some(EmptyCapability::default());
    let expected: CapabilitySet = [
        Capability::Tools,
        Capability::ToolsListChanged,
        Capability::Resources,
        Capability::ResourcesSubscribe,
        Capability::ResourcesListChanged,
        Capability::Prompts,
        Capability::Completions,
    ]
    .into_iter()
    .collect();
    assert_eq!(CapabilitySet::from(&declared), expected);
    assert_eq!(expected.iter().count(), 7);
    assert_eq!(Capability::ResourcesSubscribe.to_string(), "resources.subscribe");
}

/// A capability has no effect in an older session.
#[test]
fn capabilities_of_later_revisions_do_not_count() {
    let all = client(r#"{"elicitation":{"url":{},"form":{}},"sampling":{"tools":{}},"roots":{}}"#)
        .expect("readable");
    let count = |revision| all.known_to(revision).iter().count();
    assert_eq!(Revision::LEGACY.map(count), [2, 2, 4, 6]);
    let by_url = client(r#"{"elicitation":{"url":{}}}"#).expect("readable");
    assert_eq!(
        Revision::LEGACY.map(|revision| by_url.known_to(revision).is_empty()),
        [true, true, true, false],
        "2025-06-18 has only the form"
    );
    let completions = server(r#"{"completions":{}}"#).expect("readable");
    let known = Revision::LEGACY.map(|revision| !completions.known_to(revision).is_empty());
    assert_eq!(known, [false, true, true, true]);
}

/// The method table T1.1: name, direction, first revision, capability.
///
/// Proves L-CAP-12, L-CAP-20, L-COMP-01.
#[test]
fn the_methods_of_every_revision_and_direction() {
    use Capability::{
        Completions, Elicitation, Logging, Prompts, Resources, ResourcesSubscribe, Roots, Sampling,
        Tools,
    };
    use Revision::{V2024_11_05 as A, V2025_06_18 as C};
    let table = [
        ("initialize", Sender::Client, A, None),
        ("ping", Sender::Either, A, None),
        ("tools/list", Sender::Client, A, Some(Tools)),
        ("tools/call", Sender::Client, A, Some(Tools)),
        ("resources/list", Sender::Client, A, Some(Resources)),
        ("resources/templates/list", Sender::Client, A, Some(Resources)),
        ("resources/read", Sender::Client, A, Some(Resources)),
        ("resources/subscribe", Sender::Client, A, Some(ResourcesSubscribe)),
        ("resources/unsubscribe", Sender::Client, A, Some(ResourcesSubscribe)),
        ("prompts/list", Sender::Client, A, Some(Prompts)),
        ("prompts/get", Sender::Client, A, Some(Prompts)),
        ("completion/complete", Sender::Client, A, Some(Completions)),
        ("logging/setLevel", Sender::Client, A, Some(Logging)),
        ("roots/list", Sender::Server, A, Some(Roots)),
        ("sampling/createMessage", Sender::Server, A, Some(Sampling)),
        ("elicitation/create", Sender::Server, C, Some(Elicitation)),
    ];
    let (tasks, stateless) = (5, 2);
    assert_eq!(table.len() + tasks + stateless, RequestKind::ALL.len());
    for (name, direction, since, gate) in table {
        let kind = RequestKind::of(&Str::from(name)).expect(name);
        for revision in Revision::LEGACY {
            for sender in [Sender::Client, Sender::Server] {
                // Completion existed before its capability.
                let open = gate.is_none() || (name == "completion/complete" && revision == A);
                let declared = |set| Declared { client: set, server: set };
                let with = gate.map_or(CapabilitySet::NONE, |gate| CapabilitySet::NONE.with(gate));
                let check = |set| kind.rule().check(sender, revision, declared(set));
                let is_theirs = direction == sender || direction == Sender::Either;
                let expected = match (is_theirs, since <= revision) {
                    (false, _) => Err(NotAllowed::Direction),
                    (true, false) => Err(NotAllowed::Revision),
                    (true, true) => Ok(()),
                };
                assert_eq!(check(with), expected, "{name} {revision} {sender:?}");
                let bare = match (expected, gate) {
                    (Ok(()), Some(gate)) if !open => Err(NotAllowed::Capability(gate)),
                    _ => expected,
                };
                assert_eq!(check(CapabilitySet::NONE), bare, "{name} {revision}");
            }
        }
    }
    for strange in ["tools/lit", "Tools/list", "tools/list ", "", "server/discove", "initialized"] {
        assert_eq!(RequestKind::of(&Str::from(strange)), None, "{strange}");
    }
    assert_eq!(RequestKind::of(&Str::trusted(r"tools\/list")), Some(RequestKind::ListTools));
    let kind = NotificationKind::of(&Str::from("notifications/progress"));
    assert_eq!(kind, Some(NotificationKind::Progress));
    assert_eq!(NotificationKind::of(&Str::from("progress")), None);
}

/// A server of the modern era makes no requests, so no client reports progress to it.
#[test]
fn progress_of_the_modern_era_is_reported_by_servers() {
    let nothing = Declared { client: CapabilitySet::NONE, server: CapabilitySet::NONE };
    let check =
        |sender| NotificationKind::Progress.rule().check(sender, Revision::V2026_07_28, nothing);
    assert_eq!(check(Sender::Server), Ok(()));
    assert_eq!(check(Sender::Client), Err(NotAllowed::Direction));
}

/// The notification table T1.2.
///
/// Proves L-CAP-04, L-CAP-21, L-AMB-41 for the table.
#[test]
fn the_notifications_of_every_revision_and_direction() {
    use Capability::{
        ElicitationUrl, Logging, PromptsListChanged, ResourcesListChanged, ResourcesSubscribe,
        RootsListChanged, ToolsListChanged,
    };
    use Revision::{V2024_11_05 as A, V2025_11_25 as D};
    let table = [
        ("notifications/initialized", Sender::Client, A, None),
        ("notifications/cancelled", Sender::Either, A, None),
        ("notifications/progress", Sender::Either, A, None),
        ("notifications/message", Sender::Server, A, Some(Logging)),
        ("notifications/resources/updated", Sender::Server, A, Some(ResourcesSubscribe)),
        ("notifications/resources/list_changed", Sender::Server, A, Some(ResourcesListChanged)),
        ("notifications/tools/list_changed", Sender::Server, A, Some(ToolsListChanged)),
        ("notifications/prompts/list_changed", Sender::Server, A, Some(PromptsListChanged)),
        ("notifications/roots/list_changed", Sender::Client, A, Some(RootsListChanged)),
        ("notifications/tasks/status", Sender::Either, D, None),
        ("notifications/elicitation/complete", Sender::Server, D, Some(ElicitationUrl)),
    ];
    let stateless = 2;
    assert_eq!(table.len() + stateless, NotificationKind::ALL.len());
    for (name, direction, since, gate) in table {
        let kind = NotificationKind::named(name).expect(name);
        assert_eq!(kind.rule().name, name);
        for revision in Revision::LEGACY {
            for sender in [Sender::Client, Sender::Server] {
                let set = gate.map_or(CapabilitySet::NONE, |gate| CapabilitySet::NONE.with(gate));
                let check = |set| {
                    kind.rule().check(sender, revision, Declared { client: set, server: set })
                };
                let expected = if direction != sender && direction != Sender::Either {
                    Err(NotAllowed::Direction)
                } else if revision < since {
                    Err(NotAllowed::Revision)
                } else {
                    Ok(())
                };
                assert_eq!(check(set), expected, "{name} {revision} {sender:?}");
                let bare = match (expected, gate) {
                    (Ok(()), Some(gate)) => Err(NotAllowed::Capability(gate)),
                    _ => expected,
                };
                assert_eq!(check(CapabilitySet::NONE), bare, "{name} {revision} {sender:?}");
            }
        }
    }
}

#[test]
fn features_came_and_went() {
    let has = |feature: Feature| Revision::LEGACY.map(|revision| feature.is_in(revision));
    assert_eq!(has(Feature::Batches), [false, true, false, false]);
    assert_eq!(has(Feature::AbsentErrorId), [false, false, false, true]);
    assert_eq!(has(Feature::ElicitationIds), [false, false, false, true]);
    assert_eq!(has(Feature::ReservedBySecondLabel), [false, false, false, true]);
    assert_eq!(has(Feature::ArgumentsAreTheTools), [false, false, false, true]);
}

/// Proves L-ELIC-14 for the capabilities that a client declares.
#[test]
fn a_client_without_forms_offers_no_elicitation_where_there_are_only_forms() {
    let mut declared = ClientCapabilities::default();
    let mut by_url = ElicitationCapability::default();
    by_url.url = Some(EmptyCapability::default());
    declared.elicitation = Some(by_url);
    let declares = |declared: &ClientCapabilities<'_>| {
        Revision::LEGACY.map(|revision| declarable(declared, revision).elicitation.is_some())
    };
    assert_eq!(declares(&declared), [false, false, false, true]);
    declared.elicitation = Some(ElicitationCapability::both());
    assert_eq!(declares(&declared), [false, false, true, true]);
    declared.elicitation = Some(ElicitationCapability::default());
    assert_eq!(declares(&declared), [false, false, true, true]);
}

/// Proves M-TASKX-59: the header `Mcp-Name` of a request repeats the name in its params.
#[test]
fn the_mcp_name_header_repeats_the_name_in_the_params() {
    let params = r#"{"name":"n","uri":"u:/1","taskId":"t\u0031","cursor":"c"}"#;
    let params = Raw::new(params).expect("it is JSON");
    for (method, name) in [
        ("tools/call", Some("n")),
        ("prompts/get", Some("n")),
        ("resources/read", Some("u:/1")),
        ("tasks/get", Some("t1")),
        ("tasks/update", Some("t1")),
        ("tasks/cancel", Some("t1")),
        ("tools/list", None),
        ("tasks/result", None),
        ("server/discover", None),
        ("x/y", None),
    ] {
        let named = name_in(method, &params);
        assert_eq!(named.as_ref().map(Str::to_str).as_deref(), name, "{method}");
        assert_eq!(name_in(method, &Raw::EMPTY_OBJECT), None);
        assert_eq!(name_in(method, &Raw::NULL), None);
    }
}
