use alloc::string::ToString;
use alloc::vec::Vec;

use super::capabilities::Owner;
use super::features::Feature;
use super::methods::{NotificationKind, RequestKind, Sender};
use super::*;
use crate::json::Str;
use crate::model::{
    ClientCapabilities, ElicitationCapability, EmptyCapability, Icon, Implementation, ListChanged,
    ResourcesCapability, SamplingCapability, ServerCapabilities,
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
fn what_a_configuration_declares_is_what_a_peer_reads() {
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
    assert_eq!(Revision::ALL.map(count), [2, 2, 4, 6]);
    let by_url = client(r#"{"elicitation":{"url":{}}}"#).expect("readable");
    assert_eq!(
        Revision::ALL.map(|revision| by_url.known_to(revision).is_empty()),
        [true, true, true, false],
        "2025-06-18 has only the form"
    );
    let completions = server(r#"{"completions":{}}"#).expect("readable");
    let known = Revision::ALL.map(|revision| !completions.known_to(revision).is_empty());
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
    for (name, direction, since, gate) in table {
        let kind = RequestKind::of(&Str::from(name)).expect(name);
        for revision in Revision::ALL {
            for sender in [Sender::Client, Sender::Server] {
                let exists =
                    (direction == sender || direction == Sender::Either) && since <= revision;
                // Completion came without a capability.
                let open = gate.is_none() || (name == "completion/complete" && revision == A);
                let offered =
                    gate.map_or(CapabilitySet::NONE, |gate| CapabilitySet::NONE.with(gate));
                let served = |set| kind.is_served(sender, revision, set);
                assert_eq!(served(offered), exists, "{name} {revision} {sender:?}");
                assert_eq!(served(CapabilitySet::NONE), exists && open, "{name} {revision}");
            }
        }
    }
    for strange in ["tools/lit", "Tools/list", "tools/list ", "", "server/discover", "initialized"]
    {
        assert_eq!(RequestKind::of(&Str::from(strange)), None, "{strange}");
    }
    assert_eq!(RequestKind::of(&Str::trusted(r"tools\/list")), Some(RequestKind::ListTools));
    let kind = NotificationKind::of(&Str::from("notifications/progress"));
    assert_eq!(kind, Some(NotificationKind::Progress));
    assert_eq!(NotificationKind::of(&Str::from("progress")), None);
}

/// Proves L-TASK-15 for requests: before tasks are served, nobody may ask for them.
#[test]
fn tasks_are_known_and_not_served() {
    for name in ["tasks/get", "tasks/result", "tasks/list", "tasks/cancel"] {
        let kind = RequestKind::of(&Str::from(name)).expect(name);
        for revision in Revision::ALL {
            let everything: CapabilitySet =
                server(r#"{"tools":{},"resources":{},"prompts":{},"logging":{}}"#).expect("set");
            assert!(!kind.is_served(Sender::Client, revision, everything));
        }
    }
}

#[test]
fn features_came_and_went() {
    let has = |feature: Feature| Revision::ALL.map(|revision| feature.is_in(revision));
    assert_eq!(has(Feature::Batches), [false, true, false, false]);
    assert_eq!(has(Feature::ProgressMessage), [false, true, true, true]);
    assert_eq!(has(Feature::ImplementationTitle), [false, false, true, true]);
    assert_eq!(has(Feature::ImplementationDetails), [false, false, false, true]);
    assert_eq!(has(Feature::AbsentErrorId), [false, false, false, true]);
}

/// Proves L-VER-13 for the handshake: what leaves fits the revision (table T2.2).
#[test]
fn the_handshake_says_only_what_the_revision_has_words_for() {
    let mut info = Implementation::new("name", "1");
    info.title = Some("Title".into());
    info.description = Some("Text".into());
    info.icons = Some(alloc::vec![Icon::new("data:,")]);
    info.website_url = Some("https://example.com".into());
    let keys = |value: serde_json::Value| -> Vec<_> {
        value.as_object().expect("object").keys().cloned().collect()
    };
    let written = Revision::ALL.map(|revision| {
        keys(serde_json::to_value(outgoing::implementation(&info, revision)).expect("JSON"))
            .join(" ")
    });
    let full = "description icons name title version websiteUrl";
    assert_eq!(written, ["name version", "name version", "name title version", full]);

    let mut declared = ClientCapabilities::default();
    declared.elicitation = Some(ElicitationCapability::both());
    declared.sampling = Some(SamplingCapability::default());
    let written = Revision::ALL.map(|revision| {
        serde_json::to_string(&outgoing::client_capabilities(&declared, revision)).expect("JSON")
    });
    assert_eq!(
        written,
        [
            r#"{"sampling":{}}"#,
            r#"{"sampling":{}}"#,
            r#"{"sampling":{},"elicitation":{}}"#,
            r#"{"sampling":{},"elicitation":{"form":{},"url":{}}}"#,
        ]
    );
    let mut url_only = ElicitationCapability::default();
    url_only.url = Some(EmptyCapability::default());
    declared.elicitation = Some(url_only);
    let written = outgoing::client_capabilities(&declared, Revision::V2025_06_18);
    assert_eq!(written.elicitation, None, "there is only the form in 2025-06-18");

    let mut declared = ServerCapabilities::default();
    declared.completions = Some(EmptyCapability::default());
    let written = Revision::ALL
        .map(|revision| outgoing::server_capabilities(&declared, revision).completions.is_some());
    assert_eq!(written, [false, true, true, true]);
}
