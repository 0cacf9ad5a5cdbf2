//! TLS by [rustls]: hyper clients for `https`, and the certificate of a server.

use std::io;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use http_body_util::Full;
use hyper_rustls::{ConfigBuilderExt, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
#[cfg(feature = "auth")]
use mcp_sansio::auth::FetchPolicy;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, ConfigBuilder, ConfigSide, ServerConfig, WantsVerifier, WantsVersions};

#[cfg(feature = "auth")]
use crate::authorize::CheckedResolver;
use crate::connect::pooled;

/// A hyper client for `https` and `http` URLs.
pub type HttpsClient<R = legacy::connect::dns::GaiResolver> =
    legacy::Client<HttpsConnector<HttpConnector<R>>, Full<Bytes>>;

/// Returns a hyper client that accepts the certificates which the system accepts: [`tls_with`] of [`system_roots`].
///
/// # Errors
///
/// As for [`system_roots`].
pub fn tls() -> io::Result<HttpsClient> {
    system_roots().map(tls_with)
}

/// As [`tls`], but reads the root certificates without blocking the executor, and only until it has succeeded once.
///
/// # Errors
///
/// As for [`system_roots`], and if the runtime shuts down.
pub(crate) async fn shared_tls() -> io::Result<HttpsClient> {
    static CONFIG: OnceLock<ClientConfig> = OnceLock::new();
    let config = match CONFIG.get() {
        Some(config) => config,
        None => {
            let config = tokio::task::spawn_blocking(system_roots).await??;
            CONFIG.get_or_init(|| config)
        }
    };
    Ok(tls_with(config.clone()))
}

/// Returns a hyper client with a TLS configuration: with other root certificates, for example, or with a certificate
/// of the client.
///
/// # Panics
///
/// The configuration names ALPN protocols: the client sets them itself.
pub fn tls_with(config: ClientConfig) -> HttpsClient {
    client(config, HttpConnector::new())
}

/// As [`tls_with`], for a client that connects only to addresses which the policy allows: see
/// [`checked`](crate::checked).
#[cfg(feature = "auth")]
pub fn checked_tls(policy: FetchPolicy, config: ClientConfig) -> HttpsClient<CheckedResolver> {
    client(config, HttpConnector::new_with_resolver(CheckedResolver::new(policy)))
}

/// Returns a TLS configuration with the root certificates of the system. On Linux the environment variables
/// `SSL_CERT_FILE` and `SSL_CERT_DIR` name others. It reads files: load it once.
///
/// # Errors
///
/// The system has no root certificates, or they cannot be read.
pub fn system_roots() -> io::Result<ClientConfig> {
    let builder = supported(ClientConfig::builder_with_provider(default_provider().into()))?;
    Ok(builder.with_native_roots()?.with_no_client_auth())
}

/// Returns the TLS configuration of a server with this certificate chain and its key, both in PEM, for
/// [`serve_tls`](crate::serve_tls). The certificate of the server comes first. The configuration offers HTTP/2 and
/// HTTP/1.1 to clients.
///
/// # Errors
///
/// A text is not PEM, the chain is empty, or the key does not belong to the certificate.
pub fn server_certificate(chain: &[u8], key: &[u8]) -> io::Result<Arc<ServerConfig>> {
    let invalid = |error: String| io::Error::new(io::ErrorKind::InvalidInput, error);
    let chain: Vec<_> = CertificateDer::pem_slice_iter(chain)
        .collect::<Result<_, _>>()
        .map_err(|error| invalid(format!("the certificate chain is not PEM: {error}")))?;
    if chain.is_empty() {
        return Err(invalid("there is no certificate in the chain".into()));
    }
    let key = PrivateKeyDer::from_pem_slice(key)
        .map_err(|error| invalid(format!("the key is not PEM: {error}")))?;
    let builder = supported(ServerConfig::builder_with_provider(default_provider().into()))?;
    let config = builder.with_no_client_auth().with_single_cert(chain, key);
    let mut config =
        config.map_err(|error| invalid(format!("the certificate cannot be used: {error}")))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// Adds the versions of TLS that are considered safe.
fn supported<S: ConfigSide>(
    builder: ConfigBuilder<S, WantsVersions>,
) -> io::Result<ConfigBuilder<S, WantsVerifier>> {
    builder.with_safe_default_protocol_versions().map_err(io::Error::other)
}

fn client<R>(config: ClientConfig, mut connector: HttpConnector<R>) -> HttpsClient<R>
where
    R: Clone,
    HttpsConnector<HttpConnector<R>>: legacy::connect::Connect + Clone,
{
    connector.set_nodelay(true);
    // The TLS connector sees `https` URLs first, and passes them on.
    connector.enforce_http(false);
    let connector = HttpsConnectorBuilder::new()
        .with_tls_config(config)
        .https_or_http()
        .enable_all_versions()
        .wrap_connector(connector);
    pooled(connector)
}
