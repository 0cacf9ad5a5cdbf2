//! Requests to authorization servers.

use std::sync::Weak;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use hyper::{Request, Response};
use mcp_sansio::auth::{Fetch, FetchError, FetchedResponse};
use mcp_sansio::http::name;

use super::authorization::Shared;
use super::resolver::ForbiddenAddresses;
use crate::transport_error::chain;
use crate::{SendError, Transport};

/// A response whose body was read.
struct Read {
    status: u16,
    retry_after: Option<String>,
    body: Bytes,
}

/// Sends a request and passes its response to the authorizer.
pub(super) async fn fetch<T: Transport>(shared: Weak<Shared>, transport: T, fetch: Fetch) {
    let outcome = match tokio::time::timeout(fetch.within, exchange(&transport, &fetch)).await {
        Ok(outcome) => outcome,
        Err(_) => Err(FetchError::Broken),
    };
    let Some(shared) = shared.upgrade() else { return };
    shared.with(|authorizer, now| match &outcome {
        Ok(Read { status, retry_after, body }) => {
            let response = FetchedResponse::new(*status, body).retry_after(retry_after.as_deref());
            authorizer.fetched(fetch.job, response, now);
        }
        Err(error) => authorizer.fetch_failed(fetch.job, *error, now),
    });
}

async fn exchange<T: Transport>(transport: &T, fetch: &Fetch) -> Result<Read, FetchError> {
    let mut builder =
        Request::builder().method(fetch.method).uri(&fetch.url).header(ACCEPT, "application/json");
    if let Some(kind) = fetch.content_type {
        builder = builder.header(CONTENT_TYPE, kind);
    }
    if let Some(field) = &fetch.authorization {
        let mut field = HeaderValue::from_str(field.expose()).map_err(|_| FetchError::NotSent)?;
        field.set_sensitive(true);
        builder = builder.header(AUTHORIZATION, field);
    }
    if let Some(version) = fetch.protocol_version {
        builder = builder.header(name::PROTOCOL_VERSION, version);
    }
    let body = Full::new(Bytes::from(fetch.body.expose().to_owned()));
    let request = builder.body(body).map_err(|_| FetchError::NotSent)?;
    let response = transport.send(request).await.map_err(|error| failure(&error))?;
    read(response, fetch.most_bytes).await
}

async fn read(response: Response<Incoming>, most_bytes: usize) -> Result<Read, FetchError> {
    let status = response.status().as_u16();
    let retry_after = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    let retry_after = retry_after.map(String::from);
    let body = Limited::new(response.into_body(), most_bytes).collect().await;
    let body = body.map_err(|error| match error.downcast_ref::<LengthLimitError>() {
        Some(_) => FetchError::TooLarge,
        None => FetchError::Broken,
    })?;
    Ok(Read { status, retry_after, body: body.to_bytes() })
}

/// Classifies a transport error.
fn failure(error: &SendError) -> FetchError {
    let SendError::Unreachable(cause) = error else { return FetchError::Broken };
    // The system denies connections as well, for other reasons: a sandbox, or a firewall.
    let is_forbidden = chain(&**cause).any(|link| link.is::<ForbiddenAddresses>());
    if is_forbidden { FetchError::NotAllowed } else { FetchError::NotSent }
}
