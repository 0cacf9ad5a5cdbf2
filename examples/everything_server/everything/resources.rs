//! The resources.

use mcp_sansio::error::ErrorObject;
use mcp_sansio::json::Raw;
use mcp_sansio::model::{ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use mcp_sansio::{ErrorCode, RespondError, Server};
use mcp_sansio_std::Exchange;
use serde::Serialize;
use serde_json::json;

use super::media::PNG;

const TEXT: &str = "test://static-text";
const BINARY: &str = "test://static-binary";
pub(super) const WATCHED: &str = "test://watched-resource";

/// The contents of a resource of the template.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Data<'a> {
    id: &'a str,
    template_test: bool,
    data: String,
}

pub(super) fn list() -> [Resource<'static>; 3] {
    let resource = |uri, name, mime_type, description| {
        let mut resource = Resource::new(uri, name);
        resource.mime_type = Some(mime_type);
        resource.description = Some(description);
        resource
    };
    [
        resource(TEXT, "static-text", "text/plain".into(), "A text".into()),
        resource(BINARY, "static-binary", "image/png".into(), "A picture".into()),
        resource(WATCHED, "watched-resource", "text/plain".into(), "Subscribe to it".into()),
    ]
}

pub(super) fn templates() -> [ResourceTemplate<'static>; 1] {
    let mut template = ResourceTemplate::new("test://template/{id}/data", "template-data");
    template.mime_type = Some("application/json".into());
    template.description = Some("Data for any id".into());
    [template]
}

pub(super) fn read(exchange: &Exchange<Server>, uri: &str) -> Result<(), RespondError> {
    let contents = match uri {
        TEXT => {
            let text = "This is the content of the static text resource.";
            ResourceContents::text(uri, text).mime_type("text/plain")
        }
        BINARY => ResourceContents::blob(uri, PNG).mime_type("image/png"),
        WATCHED => ResourceContents::text(uri, "This one can be watched.").mime_type("text/plain"),
        _ => match uri.strip_prefix("test://template/").and_then(|id| id.strip_suffix("/data")) {
            Some(id) => {
                let data = Data { id, template_test: true, data: format!("Data for ID: {id}") };
                let text = Raw::from_serialize(&data)?.to_string();
                ResourceContents::text(uri, text).mime_type("application/json")
            }
            None => {
                let data = json!({ "uri": uri });
                let code = ErrorCode::RESOURCE_NOT_FOUND;
                let error = ErrorObject::with(code, "resource not found", &data)?;
                return exchange.reject_with(&error);
            }
        },
    };
    exchange.respond(&ReadResourceResult::from(contents))
}
