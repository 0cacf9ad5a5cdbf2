//! The server of `examples/hello_server.rs` on the official SDK: one tool, on standard input and output.

use std::sync::Arc;

use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData,
    Implementation, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
    Tool,
};
use rmcp::service::{RequestContext, RoleServer, serve_server};

const SCHEMA: &str = r#"{"type":"object","properties":{"name":{"type":"string"}}}"#;

#[derive(serde::Deserialize)]
struct Greeting {
    name: String,
}

pub(crate) struct Hello;

impl ServerHandler for Hello {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        ServerConfig::new(capabilities).with_server_info(Implementation::new("hello", "1.0.0"))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let schema = serde_json::from_str(SCHEMA).expect("it is JSON");
        let tool = Tool::new_with_raw("hello", None, Arc::new(schema));
        Ok(ListToolsResult::with_all_items(vec![tool]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if request.name != "hello" {
            return Err(ErrorData::invalid_params("unknown tool", None));
        }
        let arguments = request.arguments.unwrap_or_default();
        let text = |text: String| vec![ContentBlock::text(text)];
        let result = match serde_json::from_value(arguments.into()) {
            Ok(Greeting { name }) => CallToolResult::success(text(format!("Hello, {name}!"))),
            Err(error) => CallToolResult::error(text(error.to_string())),
        };
        Ok(result.into())
    }
}

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let service = serve_server(Hello, rmcp::transport::stdio()).await?;
        service.waiting().await?;
        Ok(())
    })
}
