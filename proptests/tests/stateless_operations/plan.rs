//! What can happen, and how both sides can be configured.

use mcp_sansio::model::SubscriptionFilter;
use mcp_sansio::{
    ClientConfig, ConnectionConfig, DuplicateIds, Listening, Revision, RevisionSet, ServerConfig,
};
use mcp_sansio_proptests::config;
use proptest::prelude::*;
use proptest::sample::Index;

/// One thing that an application, the wire, the peer or time does. Sizes are in bytes.
#[derive(Clone, Debug)]
pub(crate) enum Operation {
    Connect,
    Call { method: &'static str, size: usize, options: u8 },
    List,
    Subscribe(u8),
    CancelOfClient(Index),
    GiveInput { need: Index, answer: u8 },
    CallOfServer,
    CancelOfServer(Index),
    Answer { request: Index, answer: u8 },
    Require { request: Index, what: u8 },
    Grant { request: Index, filter: u8 },
    Report { request: Index, step: u8 },
    Notify { method: u8, related: Option<Index> },
    Send { to_server: bool },
    Deliver { to_server: bool, count: u8 },
    Lose { to_server: bool },
    Repeat { to_server: bool },
    Swap { to_server: bool },
    Forge { to_server: bool, text: String },
    Pause(bool),
    Settle,
    Wait(u64),
    End { side: bool, how: u8 },
    Reconnect,
}

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{},"url":{}},"roots":{}}}"#;

fn to_server() -> impl Strategy<Value = String> {
    let id = prop::sample::select(&["1", "2", "3", "\"1\"", "\"a\""][..]);
    (0..9_u8, id).prop_map(|(kind, id)| match kind {
        0 | 1 => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"subscriptions/listen","params":{{"notifications":{{"toolsListChanged":true,"resourceSubscriptions":["a:/0","a:/1"]}},{META}}}}}"#),
        2 => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"t",{META}}}}}"#),
        3 => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"t"}}}}"#),
        4 => format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#),
        5 => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"roots":[]}}}}"#),
        6 => format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-1,"message":"m"}}}}"#),
        7 => r#"{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{"roots":{},"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}}"#.into(),
        _ => r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.into(),
    })
}

fn to_client() -> impl Strategy<Value = String> {
    let method = prop::sample::select(
        &["subscriptions/acknowledged", "tools/list_changed", "resources/updated"][..],
    );
    (0..12_u8, 1..9_u8, method).prop_map(|(kind, id, method)| match kind {
        0 => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"input_required","requestState":"s"}}}}"#),
        1 | 2 => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"input_required","requestState":"s","inputRequests":{{"a":{{"method":"roots/list"}},"b":{{"method":"elicitation/create","params":{{"message":"m","requestedSchema":{{"type":"object","properties":{{}}}}}}}}}}}}}}"#),
        3 => format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32022,"message":"m","data":{{"supported":["2026-07-28"],"requested":"x"}}}}}}"#),
        4 => format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"m"}}}}"#),
        5 => format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#),
        6 | 7 => format!(r#"{{"jsonrpc":"2.0","method":"notifications/{method}","params":{{"uri":"a:/0","notifications":{{"toolsListChanged":true}},"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}}}"#),
        8 => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{{}}}}}}"#),
        9 => format!(r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{id},"progress":{id}}}}}"#),
        10 => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[],"nextCursor":"{id}"}}}}"#),
        _ => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"protocolVersion":"2025-11-25","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"s","version":"1"}}}}}}"#),
    })
}

pub(crate) fn operation() -> impl Strategy<Value = Operation> {
    use Operation as Op;
    let index = any::<Index>;
    let methods = &["tools/call", "tools/call", "prompts/get", "tools/list", "x/y", "ping"][..];
    let call = (
        prop::sample::select(methods),
        prop_oneof![3 => 0..50_usize, 1 => 50..900_usize],
        any::<u8>(),
    );
    prop_oneof![
        2 => Just(Op::Connect),
        6 => call.prop_map(|(method, size, options)| Op::Call { method, size, options }),
        1 => Just(Op::List),
        3 => any::<u8>().prop_map(Op::Subscribe),
        2 => index().prop_map(Op::CancelOfClient),
        5 => (index(), any::<u8>()).prop_map(|(need, answer)| Op::GiveInput { need, answer }),
        1 => Just(Op::CallOfServer),
        1 => index().prop_map(Op::CancelOfServer),
        4 => (index(), any::<u8>()).prop_map(|(request, answer)| Op::Answer { request, answer }),
        5 => (index(), any::<u8>()).prop_map(|(request, what)| Op::Require { request, what }),
        3 => (index(), any::<u8>()).prop_map(|(request, filter)| Op::Grant { request, filter }),
        1 => (index(), 0..5_u8).prop_map(|(request, step)| Op::Report { request, step }),
        4 => (0..6_u8, prop::option::weighted(0.3, index())).prop_map(|(method, related)| Op::Notify { method, related }),
        6 => any::<bool>().prop_map(|to_server| Op::Send { to_server }),
        12 => (any::<bool>(), 1..6_u8).prop_map(|(to_server, count)| Op::Deliver { to_server, count }),
        1 => any::<bool>().prop_map(|to_server| Op::Lose { to_server }),
        1 => any::<bool>().prop_map(|to_server| Op::Repeat { to_server }),
        1 => any::<bool>().prop_map(|to_server| Op::Swap { to_server }),
        2 => to_server().prop_map(|text| Op::Forge { to_server: true, text }),
        3 => to_client().prop_map(|text| Op::Forge { to_server: false, text }),
        1 => any::<bool>().prop_map(Op::Pause),
        5 => Just(Op::Settle),
        3 => prop_oneof![Just(1), Just(60), Just(11_000), Just(61_000)].prop_map(Op::Wait),
        1 => (any::<bool>(), 0..12_u8).prop_map(|(side, how)| Op::End { side, how }),
        1 => Just(Op::Reconnect),
    ]
}

fn connection() -> impl Strategy<Value = ConnectionConfig> {
    let bytes = (
        prop::option::of((600..3000_usize, 0..500_usize)),
        prop::option::of(0..2000_usize),
        prop::option::of(0..400_usize),
    );
    let tables = (1..6_u32, 1..8_u32, 0..4_u32, 0..3_u32, 0..3_u32);
    let inputs = (0..4_u32, 1..4_u32, 0..3_u32);
    (bytes, tables, inputs, any::<bool>()).prop_map(|(bytes, tables, inputs, serves_duplicates)| {
        let mut connection = ConnectionConfig::default();
        let limits = &mut connection.limits;
        if let Some((outbox, reserve)) = bytes.0 {
            (limits.outbox_bytes, limits.reserve_bytes) = (outbox, reserve);
        }
        limits.held_bytes = bytes.1.unwrap_or(limits.held_bytes);
        limits.kept_bytes = bytes.2.unwrap_or(limits.kept_bytes);
        (limits.inbound_requests, limits.outbound_calls, limits.remembered_calls, ..) = tables;
        (limits.listens, limits.subscriptions) = (tables.3, tables.4);
        (limits.input_rounds, limits.input_requests, limits.early_notifications) = inputs;
        if serves_duplicates {
            connection.duplicate_ids = DuplicateIds::Serve;
        }
        connection
    })
}

fn revisions() -> impl Strategy<Value = RevisionSet> {
    prop::sample::select(&[RevisionSet::ALL, RevisionSet::STATELESS, RevisionSet::HANDSHAKE][..])
}

pub(crate) fn configs() -> impl Strategy<Value = (ClientConfig, ServerConfig)> {
    let known = prop::option::weighted(
        0.3,
        prop::sample::select(&[Revision::V2026_07_28, Revision::V2025_11_25][..]),
    );
    let client = (connection(), revisions(), known, any::<bool>(), any::<bool>());
    let server = (connection(), revisions(), any::<bool>());
    (client, server).prop_map(|(ours, theirs)| {
        let mut client = config::client_of_both_eras();
        (client.connection, client.revisions, client.known, client.probe, _) = ours;
        client.listen = ours.4.then(|| filter(1));
        let mut server = config::server_of_both_eras();
        (server.connection, server.revisions, _) = theirs;
        server.listening = if theirs.2 { Listening::Asked } else { Listening::Granted };
        (client, server)
    })
}

pub(crate) fn filter(which: u8) -> SubscriptionFilter<'static> {
    let mut filter = SubscriptionFilter::new();
    filter.tools_list_changed = (which & 1 != 0).then_some(true);
    filter.prompts_list_changed = (which & 2 != 0).then_some(true);
    (0..which & 3).fold(filter, |filter, n| filter.with_resource(format!("a:/{n}")))
}
