//! The messages that the floor writes.

use serde::Serialize;

use crate::messages::Text;

/// A request, or a notification if it has no id.
#[derive(Serialize)]
pub(super) struct Request<P> {
    pub(super) jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<u64>,
    pub(super) method: &'static str,
    pub(super) params: P,
}

/// The response to a request.
#[derive(Serialize)]
pub(super) struct Response<I, R> {
    pub(super) jsonrpc: &'static str,
    pub(super) id: I,
    pub(super) result: R,
}

/// The result of a ping.
#[derive(Serialize)]
pub(super) struct Empty {}

/// The result of a tool call in the modern era.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StatelessEcho<'a> {
    pub(super) result_type: &'static str,
    pub(super) content: [Text<'a>; 1],
    #[serde(rename = "_meta")]
    pub(super) meta: Meta,
}

/// The `_meta` of a result: the server's description of itself.
#[derive(Serialize)]
pub(super) struct Meta {
    #[serde(rename = "io.modelcontextprotocol/serverInfo")]
    pub(super) server_info: Implementation,
}

/// The name and the version of a program.
#[derive(Serialize)]
pub(super) struct Implementation {
    pub(super) name: &'static str,
    pub(super) version: &'static str,
}

/// A list of tools.
#[derive(Serialize)]
pub(super) struct ListToolsResult<K> {
    pub(super) tools: Vec<Tool<K>>,
}

/// A tool.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Tool<K> {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) input_schema: K,
}

/// The parameters of a progress notification.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Progress {
    pub(super) progress_token: u64,
    pub(super) progress: u64,
}
