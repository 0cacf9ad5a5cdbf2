//! MCP beside the other routes of an axum application.
//!
//! Shows an [`Endpoint`] as a service of `tower`, behind layers: one checks bearer tokens, another one is CORS for
//! browsers. The user that the token belongs to is an extension of the HTTP request, which the tools read, and the
//! principal that owns sessions and tasks. A health check on another path needs no token.
//!
//! Usage: `cargo run -p mcp-sansio-http --example axum_server -- --port 3000`, then connect a client to
//! `http://127.0.0.1:3000/mcp` with the header field `Authorization: Bearer alice-secret`. `--origin
//! https://app.example.com` allows the web pages of that origin to use the server.

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::time::Duration;

use axum::extract::{ConnectInfo, Request};
use axum::http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use clap::Parser;
use mcp_sansio::Principal;
use mcp_sansio::http::{OriginPolicy, Reply};
use mcp_sansio_http::schemars::{self, JsonSchema};
use mcp_sansio_http::{
    Endpoint, EndpointOptions, Exchange, HttpRequest, PeerAddress, Router, bearer_token,
};
use serde::Deserialize;
use tokio::net::TcpListener;
use tower_http::cors::{AllowHeaders, CorsLayer};

/// An MCP server in an axum application, on http://127.0.0.1:PORT/mcp.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// The port to listen on; 0 for any free port
    #[arg(long, default_value_t = 3000)]
    port: u16,
    /// Allow the web pages of this origin to use the server, for example https://app.example.com
    #[arg(long)]
    origin: Option<String>,
}

/// A user of the application. The number identifies the user as an owner of sessions and tasks.
#[derive(Clone, Copy)]
struct User {
    number: u64,
    name: &'static str,
}

/// How long open requests may take after Ctrl-C.
const GRACE: Duration = Duration::from_secs(5);

/// The users and their tokens. Numbers begin at 1, because 0 is the number of every unknown client.
const USERS: [(&str, User); 2] = [
    ("alice-secret", User { number: 1, name: "Alice" }),
    ("bob-secret", User { number: 2, name: "Bob" }),
];

fn user_of(headers: &HeaderMap) -> Option<User> {
    let token = bearer_token(headers)?;
    USERS.iter().find(|(known, _)| *known == token).map(|(_, user)| *user)
}

/// Lets requests with a known token pass, with their user and their address as extensions.
async fn authenticate(
    ConnectInfo(address): ConnectInfo<SocketAddr>,
    mut request: Request,
    next: Next,
) -> Response {
    let Some(user) = user_of(request.headers()) else {
        return (StatusCode::UNAUTHORIZED, [(WWW_AUTHENTICATE, "Bearer")]).into_response();
    };
    request.extensions_mut().insert(user);
    // The endpoint limits requests per client by this address.
    request.extensions_mut().insert(PeerAddress::new(address));
    next.run(request).await
}

#[derive(Deserialize, JsonSchema)]
struct Greeting {
    /// The first word of the greeting, for example `Hello`.
    word: String,
}

/// Greets the user of the request.
fn greet(greeting: Greeting, exchange: &Exchange) -> String {
    let request = exchange.extension::<HttpRequest>();
    let user = request.and_then(|request| request.parts().extensions.get::<User>());
    format!("{}, {}!", greeting.word, user.map_or("guest", |user| user.name))
}

fn endpoint(origins: OriginPolicy) -> Endpoint {
    let router = Router::new();
    router.tool("greet", "Greets the user", greet);
    let mut options = EndpointOptions::new().identify(|head| match head.extensions.get::<User>() {
        Some(user) => Ok(Principal::new(user.number)),
        None => Err(Reply::unauthorized("Bearer")),
    });
    options.http.origins = origins;
    Endpoint::with(router.config("axum_server", env!("CARGO_PKG_VERSION")), options, router)
}

/// The CORS rules for web pages of an origin. A preflight request carries no token, so this layer is the outermost.
fn cors(origin: Option<HeaderValue>) -> CorsLayer {
    let exposed = [WWW_AUTHENTICATE, RETRY_AFTER, HeaderName::from_static("mcp-session-id")];
    CorsLayer::new()
        .allow_origin(origin.into_iter().collect::<Vec<_>>())
        .allow_methods([Method::GET, Method::POST, Method::DELETE])
        // Fields named `Mcp-Param-…` depend on the tools, so no list is complete.
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers(exposed)
}

async fn run(arguments: Arguments) -> Result<(), Box<dyn std::error::Error>> {
    let mut origins = OriginPolicy::local();
    let mut origin = None;
    if let Some(text) = &arguments.origin {
        origins = origins.allow(text)?;
        origin = Some(HeaderValue::from_str(text)?);
    }
    let endpoint = endpoint(origins);
    let app = axum::Router::new()
        .route_service("/mcp", endpoint.clone())
        .route_layer(from_fn(authenticate))
        .route("/health", get("ok"))
        .layer(cors(origin));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, arguments.port)).await?;
    // Standard output may be closed.
    _ = writeln!(std::io::stdout(), "http://{}/mcp", listener.local_addr()?);
    let app = app.into_make_service_with_connect_info::<SocketAddr>();
    let (stopped, when_stopped) = tokio::sync::oneshot::channel();
    let stop = async move {
        _ = tokio::signal::ctrl_c().await;
        // Event streams do not end by themselves.
        endpoint.shut_down(GRACE);
        _ = stopped.send(());
    };
    let serving = async { axum::serve(listener, app).with_graceful_shutdown(stop).await };
    // A client that does not finish its request must not keep the server running: axum waits for it.
    let late = async {
        _ = when_stopped.await;
        tokio::time::sleep(GRACE).await;
    };
    tokio::select! {
        served = serving => Ok(served?),
        () = late => Ok(()),
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            _ = writeln!(std::io::stderr(), "axum_server: {error}");
            ExitCode::FAILURE
        }
    }
}
