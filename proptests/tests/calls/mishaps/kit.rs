//! Client and server sides, and messages for them.

use mcp_sansio::model::{ElicitParams, ObjectSchema};
use mcp_sansio::{ClientConfig, Request, Revision, RevisionSet, ServerConfig, ServerEvent};
use mcp_sansio_proptests::{ClientSide, ServerSide, config};

pub(super) const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}}}"#;

/// A modern client that sends no probe.
pub(super) fn stateless_client(change: impl FnOnce(&mut ClientConfig)) -> ClientSide {
    let mut config = config::client_of_both_eras();
    config.revisions = RevisionSet::MODERN;
    config.probe = false;
    change(&mut config);
    let mut side = ClientSide::with(config);
    side.client.connect(side.now, &mut side.out).unwrap();
    _ = side.outcomes();
    side
}

/// A server of both eras without any messages so far.
pub(super) fn dual_server(change: impl FnOnce(&mut ServerConfig)) -> ServerSide {
    let mut config = config::server_of_both_eras();
    change(&mut config);
    ServerSide::with(config)
}

/// A server in a session.
pub(super) fn session(change: impl FnOnce(&mut ServerConfig)) -> ServerSide {
    let mut config = config::server_of_both_eras();
    change(&mut config);
    ServerSide::ready_with(config, Revision::V2025_11_25)
}

/// A tool call in a session.
pub(super) fn request(side: &mut ServerSide, id: &str) -> Request<'static> {
    let frame =
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"t"}}}}"#);
    match side.receive(&frame) {
        Some(ServerEvent::Request(request)) => request,
        other => panic!("{other:?}"),
    }
}

/// A form.
pub(super) fn form() -> ElicitParams<'static> {
    ElicitParams::form("m", ObjectSchema::default())
}

/// A `subscriptions/listen` request.
pub(super) fn listen(id: &str, filter: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"subscriptions/listen","params":{{"notifications":{filter},{META}}}}}"#
    )
}

/// An interim result that asks for the roots.
pub(super) fn needs_roots(id: u64) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"input_required","inputRequests":{{"k":{{"method":"roots/list"}}}}}}}}"#
    )
}

/// An interim result with a state only.
pub(super) fn state_only(id: u64) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"input_required","requestState":"s"}}}}"#
    )
}
